/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads pods from the API server: one consistent GET each, for the transport, the Binding
 * and the public hami_kubernetes_read_pod_start(). No state but one allocation a read,
 * owned by the request.
 */
#include "pod.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "status.h"
#include "support.h"

struct reading {
    hami_internal_pod_fn callback;
    void *data;
};

static int judge(const struct hami_kubernetes_answer *answer, json_t **ret)
{
    struct hami_internal_status status;
    int code = hami_internal_status_of_read(answer);
    if (code == HAMI_E_NODE) {
        /* Only the API server's own word counts: a proxy's 404 says nothing about the
         * pod. */
        return hami_internal_status_read(answer->body, answer->body_length, &status)
                   ? 0
                   : HAMI_E_PROTO;
    }
    if (code < 0) {
        return code == HAMI_E_HELD ? HAMI_E_PROTO : code;
    }
    *ret = hami_internal_object_parse(answer->body, answer->body_length);
    if (*ret != NULL && hami_internal_object_metadata(*ret, "uid") == NULL) {
        json_decref(*ret);
        *ret = NULL;
    }
    return *ret != NULL ? 0 : HAMI_E_PROTO;
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct reading reading = *(struct reading *)data;
    char text[256] = "";
    json_t *pod = NULL;
    struct hami_internal_pod_answer told = {.code = judge(answer, &pod),
                                            .status = answer->status};
    free(data);
    told.pod = pod;
    told.text = text;
    if (told.code < 0) {
        hami_internal_status_text(answer, text, sizeof(text));
    }
    reading.callback(reading.data, &told);
    json_decref(pod);
}

int hami_internal_pod_read(hami_kubernetes *client, const char *namespace_name,
                           const char *name, uint64_t deadline_ns,
                           hami_internal_pod_fn callback, void *data,
                           struct hami_internal_http_request **ret)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char path[HAMI_INTERNAL_PATHS_MAX];
    if (!hami_internal_paths_pod_path(namespace_name, name, "", path, sizeof(path))) {
        return HAMI_E_INVAL;
    }
    struct reading *reading = malloc(sizeof(*reading));
    if (reading == NULL) {
        return HAMI_E_NOMEM;
    }
    reading->callback = callback;
    reading->data = data;
    request.method = HAMI_KUBERNETES_GET;
    request.path = path;
    request.deadline_ns = deadline_ns;
    int code = hami_internal_http_request_start(client, &request, answered, reading, ret);
    if (code < 0) {
        free(reading);
    }
    return code;
}

/* ---- public ---- */

struct describing {
    hami_kubernetes_pod_fn callback;
    void *data;
};

static void describe(void *data, const struct hami_internal_pod_answer *answer)
{
    struct describing describing = *(struct describing *)data;
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod pod = {.size = sizeof(pod)};
    free(data);
    if (answer->pod != NULL) {
        hami_internal_pod_describe(answer->pod, &texts, &pod);
    } else {
        hami_internal_pod_facts_absent(&pod.facts);
    }
    describing.callback(describing.data, answer->code, answer->code == 0 ? &pod : NULL,
                        answer->text);
}

int hami_kubernetes_read_pod_start(hami_kubernetes *client, const char *namespace_name,
                                   const char *name, uint64_t deadline_ns,
                                   hami_kubernetes_pod_fn callback, void *data)
{
    if (client == NULL || callback == NULL || namespace_name == NULL || name == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    struct describing *describing = malloc(sizeof(*describing));
    if (describing == NULL) {
        return HAMI_E_NOMEM;
    }
    describing->callback = callback;
    describing->data = data;
    /* To a request 0 means "as configured"; here it is a moment long past. */
    int code = hami_internal_pod_read(client, namespace_name, name,
                                      deadline_ns > 0 ? deadline_ns : 1, describe,
                                      describing, NULL);
    if (code < 0) {
        free(describing);
    }
    return code;
}
