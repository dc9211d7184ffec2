/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an answer of the API server means. No state, no lock.
 */
#include "status.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define STATUS_TEXT_MAX 65536u

/* Copies a text member as one line, cut where it does not fit. */
static void copy_line(const json_t *object, const char *key, char *buffer, size_t size)
{
    const char *text = json_string_value(json_object_get(object, key));

    if (text == NULL) {
        return;
    }
    (void)snprintf(buffer, size, "%s", text);
    for (char *at = buffer; *at != '\0'; at++) {
        if ((unsigned char)*at < ' ' || *at == 0x7f) {
            *at = ' ';
        }
    }
}

bool hami_internal_status_read(const char *text, size_t length,
                               struct hami_internal_status *ret)
{
    const json_t *details;
    json_t *root;
    const char *kind;
    json_int_t seconds;

    memset(ret, 0, sizeof(*ret));
    if (text == NULL || length > STATUS_TEXT_MAX) {
        return false;
    }
    root = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
    kind = json_string_value(json_object_get(root, "kind"));
    if (kind == NULL || strcmp(kind, "Status") != 0) {
        json_decref(root);
        return false;
    }
    ret->code = (int)json_integer_value(json_object_get(root, "code"));
    copy_line(root, "reason", ret->reason, sizeof(ret->reason));
    copy_line(root, "message", ret->message, sizeof(ret->message));
    details = json_object_get(root, "details");
    copy_line(details, "kind", ret->kind, sizeof(ret->kind));
    ret->cause_count = json_array_size(json_object_get(details, "causes"));
    seconds = json_integer_value(json_object_get(details, "retryAfterSeconds"));
    ret->retry_seconds = seconds > 0 ? (uint64_t)seconds : 0;
    json_decref(root);
    return true;
}

/* The code of an HTTP status, as if the write was sent once. */
static int code_of_status(const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_status status;

    if (answer->status >= 200 && answer->status < 300) {
        return 0;
    }
    switch (answer->status) {
    case 401:
    case 403:
        return HAMI_E_ACCESS;
    case 404:
        return HAMI_E_NODE;
    case 408:
        return HAMI_E_IN_DOUBT;
    case 409:
        return HAMI_E_HELD;
    case 422:
        /* With causes the object is refused, without a Status it was not the API server.
         */
        if (!hami_internal_status_read(answer->body, answer->body_length, &status)) {
            return HAMI_E_PROTO;
        }
        return status.cause_count > 0 ? HAMI_E_PROTO : HAMI_E_HELD;
    case 429:
        return HAMI_E_TRANSPORT;
    default:
        return answer->status >= 500 ? HAMI_E_IN_DOUBT : HAMI_E_PROTO;
    }
}

int hami_internal_status_of_write(const struct hami_kubernetes_answer *answer)
{
    int code;

    if (answer->code == HAMI_E_TIMEDOUT) {
        return HAMI_E_TRANSPORT;
    }
    if (answer->code == HAMI_E_LIMIT) {
        return HAMI_E_IN_DOUBT;
    }
    if (answer->code != 0) {
        return answer->code;
    }
    code = code_of_status(answer);
    return code != 0 && answer->maybe_resent ? HAMI_E_IN_DOUBT : code;
}

int hami_internal_status_of_read(const struct hami_kubernetes_answer *answer)
{
    int code;

    if (answer->code == HAMI_E_TIMEDOUT || answer->code == HAMI_E_IN_DOUBT) {
        return HAMI_E_TRANSPORT;
    }
    if (answer->code == HAMI_E_LIMIT) {
        return HAMI_E_PROTO;
    }
    if (answer->code != 0) {
        return answer->code;
    }
    code = code_of_status(answer);
    return code == HAMI_E_IN_DOUBT ? HAMI_E_TRANSPORT : code;
}

const char *hami_internal_status_text(const struct hami_kubernetes_answer *answer,
                                      char *buffer, size_t size)
{
    struct hami_internal_status status;

    if (answer->code != 0) {
        (void)snprintf(buffer, size, "%s", answer->text);
    } else if (hami_internal_status_read(answer->body, answer->body_length, &status)) {
        (void)snprintf(buffer, size, "%d %s: %s", answer->status, status.reason,
                       status.message);
    } else {
        (void)snprintf(buffer, size, "HTTP status %d", answer->status);
    }
    return buffer;
}
