/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer about an annotated object means to a transport, and how a call ends with
 * it. Runs wherever a call ends: in submit, or on the client's thread. No lock.
 */
#include "annotation.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "status.h"

/* ---- codes ---- */

/* A 404 counts as "no such node" only as the API server's own word. */
static int judge_missing(int code, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_status status;
    if (code == HAMI_E_NODE &&
        !hami_internal_status_read(answer->body, answer->body_length, &status)) {
        return HAMI_E_PROTO;
    }
    return code;
}

/* Codes of a client's answer as those of a transport. */
int hami_internal_annotation_judge_write(const struct hami_kubernetes_answer *answer)
{
    int code = judge_missing(hami_internal_status_of_write(answer), answer);
    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_CLOSED) {
        return HAMI_E_TRANSPORT;
    }
    return code == HAMI_E_LIMIT ? HAMI_E_IN_DOUBT : code;
}

int hami_internal_annotation_judge_read(const struct hami_kubernetes_answer *answer)
{
    int code = judge_missing(hami_internal_status_of_read(answer), answer);
    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_CLOSED || code == HAMI_E_CANCELED) {
        return HAMI_E_TRANSPORT;
    }
    return code == HAMI_E_LIMIT || code == HAMI_E_HELD ? HAMI_E_PROTO : code;
}

/* ---- objects ---- */

json_t *hami_internal_annotation_object_of(
    const struct hami_internal_annotation_operation *operation,
    const struct hami_kubernetes_answer *answer)
{
    json_t *object = hami_internal_object_parse(answer->body, answer->body_length);
    const char *name = hami_internal_object_metadata(object, "name");
    if (name == NULL || strcmp(name, hami_call_node(operation->call)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

bool hami_internal_annotation_is_as_expected(const struct hami_transport_edit *edits,
                                             size_t count, const json_t *object)
{
    for (size_t i = 0; i < count; i++) {
        const char *value = hami_internal_object_annotation(object, edits[i].key);
        if (edits[i].action != HAMI_EDIT_READ &&
            (value == NULL || edits[i].expect == NULL
                 ? value != edits[i].expect
                 : strcmp(value, edits[i].expect) != 0)) {
            return false;
        }
    }
    return true;
}

/* ---- the end of a call ---- */

static void complete(struct hami_internal_annotation_operation *operation,
                     const struct hami_transport_result *result)
{
    hami_call *call = operation->call;
    hami_internal_annotation_end(operation);
    hami_call_done(call, result);
}

void hami_internal_annotation_fail(struct hami_internal_annotation_operation *operation,
                                   int code, const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    char text[320];
    result.code = code;
    result.server_time_us = answer->server_time_us;
    result.status = answer->status;
    result.text = hami_internal_annotation_text(answer, text, sizeof(text));
    complete(operation, &result);
}

void hami_internal_annotation_refuse(struct hami_internal_annotation_operation *operation,
                                     int code, const char *text)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    result.code = code;
    result.text = text;
    complete(operation, &result);
}

void hami_internal_annotation_finish(struct hami_internal_annotation_operation *operation,
                                     int code, const json_t *object, const char *version,
                                     const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(operation->call, &count);
    const char **values = calloc(count, sizeof(*values));
    result.code = code;
    if (values == NULL) {
        /* Without values there is no success to tell; the write itself may well stand. */
        if (code == 0) {
            result.code = operation->writes > 0 ? HAMI_E_IN_DOUBT : HAMI_E_NOMEM;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            values[i] = hami_internal_object_annotation(object, edits[i].key);
        }
        result.values = values;
        result.value_count = count;
        result.version = version;
    }
    result.server_time_us = answer->server_time_us;
    result.status = answer->status;
    complete(operation, &result);
    free(values);
}
