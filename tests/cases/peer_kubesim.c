/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* kubesim as a peer sees it: a GET, then a PUT of the whole node or a merge patch, both
 * with the resourceVersion that was read. */
#include "peer_kubesim.h"

#include <kubesim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool read_kubesim(void *data, const char *node, struct peer_node *ret)
{
    struct kubesim *sim = data;
    json_t *object = kubesim_get(sim, "nodes", NULL, node);

    memset(ret, 0, sizeof(*ret));
    if (object == NULL) {
        return false;
    }
    const json_t *metadata = json_object_get(object, "metadata");
    const char *value = json_string_value(
        json_object_get(json_object_get(metadata, "annotations"), PEER_KEY));
    ret->has_value = value != NULL;
    (void)snprintf(ret->value, sizeof(ret->value), "%s", value != NULL ? value : "");
    (void)snprintf(ret->version, sizeof(ret->version), "%s",
                   json_string_value(json_object_get(metadata, "resourceVersion")));
    json_decref(object);
    return true;
}

static json_t *value_of(const char *value)
{
    return value != NULL ? json_string(value) : json_null();
}

/* Everything that was read goes back, the version included. */
static json_t *whole_object(struct kubesim *sim, const char *node, const char *version,
                            const char *value)
{
    json_t *object = kubesim_get(sim, "nodes", NULL, node);
    json_t *metadata = json_object_get(object, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");

    if (annotations == NULL) {
        annotations = json_object();
        json_object_set_new(metadata, "annotations", annotations);
    }
    json_object_set_new(metadata, "resourceVersion", json_string(version));
    if (value != NULL) {
        json_object_set_new(annotations, PEER_KEY, json_string(value));
    } else {
        json_object_del(annotations, PEER_KEY);
    }
    return object;
}

static bool write_kubesim(void *data, const char *node, const char *version,
                          const char *value, bool whole)
{
    struct kubesim *sim = data;
    char uri[300];
    json_t *body = whole ? whole_object(sim, node, version, value)
                         : json_pack("{s:{s:s, s:{s:o}}}", "metadata", "resourceVersion",
                                     version, "annotations", PEER_KEY, value_of(value));
    char *text = json_dumps(body, JSON_COMPACT);

    (void)snprintf(uri, sizeof(uri), "/api/v1/nodes/%s", node);
    int code = kubesim_request(
        sim, whole ? "PUT" : "PATCH", uri,
        whole ? "application/json" : "application/merge-patch+json", text, NULL);
    free(text);
    json_decref(body);
    return code == 200;
}

struct peer_store peer_kubesim_store(struct kubesim *sim)
{
    return (struct peer_store){read_kubesim, write_kubesim, sim};
}
