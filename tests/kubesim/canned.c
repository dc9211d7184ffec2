/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that a test gave in advance, for paths of which kubesim itself knows nothing:
 * versions, access reviews, policies, ConfigMaps. The newest that fits is given. Server's
 * thread only, no lock.
 */
#include "server.h"

#include <string.h>

static bool is_text(const json_t *value, const char *text)
{
    return json_is_string(value) && strcmp(json_string_value(value), text) == 0;
}

/* True where the request has this text: the query and the body are looked at. */
static bool contains(const struct sim_exchange *exchange, const json_t *text)
{
    if (!json_is_string(text)) {
        return true;
    }
    const char *wanted = json_string_value(text);
    return (exchange->query != NULL && strstr(exchange->query, wanted) != NULL) ||
           (exchange->body != NULL && memmem(exchange->body, exchange->body_length,
                                             wanted, strlen(wanted)) != NULL);
}

const char *sim_canned_add(struct kubesim *sim, json_t *request)
{
    if (!json_is_string(json_object_get(request, "method")) ||
        !json_is_string(json_object_get(request, "path")) ||
        !json_is_integer(json_object_get(request, "status")) ||
        json_object_get(request, "answer") == NULL) {
        return "method, path, status and answer are required";
    }
    if (sim->canned == NULL) {
        sim->canned = json_array();
    }
    (void)json_array_insert(sim->canned, 0, request);
    return NULL;
}

bool sim_canned_answer(struct sim_exchange *exchange, const char *path)
{
    size_t index = 0;
    const json_t *canned = NULL;
    json_array_foreach(exchange->server->canned, index, canned)
    {
        if (is_text(json_object_get(canned, "method"), exchange->method) &&
            is_text(json_object_get(canned, "path"), path) &&
            contains(exchange, json_object_get(canned, "contains"))) {
            sim_answer_json(exchange,
                            (int)json_integer_value(json_object_get(canned, "status")),
                            json_deep_copy(json_object_get(canned, "answer")));
            return true;
        }
    }
    return false;
}
