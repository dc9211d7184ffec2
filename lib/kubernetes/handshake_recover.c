/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishes what a crash cut off: a pod that was served wholly, and whose lock still
 * stands. Two reads (the node's lock, then the pod that it names), a verdict, and the
 * guarded release of handshake_release.c. Client's thread.
 *
 * Served is a pod that our success write marked: its uid is the lease's, and
 * hami.io/mutex.done has the lease's fence. A lock without a lease says less, so more is
 * asked of its pod: bound here, phase success, and no string of devices left in any
 * vendor's annotation.
 */
#include "handshake_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "status.h"
#include "support.h"

struct recover {
    hami_handshake *handshake;
    uint64_t deadline_ns;
    hami_done_fn callback;
    void *data;
    bool has_pair; /* the node was read; the pod is what is asked for */
    struct hami_internal_handshake_pair pair;
    struct hami_internal_http_timer *timer;
};

static void end(struct recover *recover, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;

    if (code < 0) {
        (void)hami_internal_support_fail(&error, code, "%s", text);
    }
    recover->callback(recover->data, code, code < 0 ? &error : NULL);
    hami_internal_handshake_pair_done(&recover->pair);
    free(recover);
}

/* No annotation of the pod holds a device, and one at least is there: somebody erased it.
 */
static bool has_nothing_left(const json_t *pod)
{
    const json_t *annotations =
        json_object_get(json_object_get(pod, "metadata"), "annotations");
    const size_t suffix = strlen(HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX);
    size_t strings = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)annotations, key, value)
    {
        const char *text = json_string_value(value);
        size_t length = strlen(key);

        if (text == NULL || length <= suffix ||
            strcmp(key + length - suffix, HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX) != 0) {
            continue;
        }
        if (strspn(text, ";") != strlen(text)) {
            return false;
        }
        strings++;
    }
    return strings > 0;
}

static bool was_served(const struct recover *recover, const json_t *pod)
{
    const struct hami_lock_record *record = &recover->pair.record;
    const char *uid = hami_internal_object_metadata(pod, "uid");
    const char *node =
        json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName"));
    const char *done = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_DONE_KEY);
    const char *phase = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_PHASE_KEY);
    char fence[24];

    if (uid == NULL || node == NULL || strcmp(node, recover->handshake->node) != 0) {
        return false;
    }
    if (record->has_lease) {
        (void)snprintf(fence, sizeof(fence), "%" PRIu64, record->fence);
        return strcmp(uid, record->uid) == 0 && done != NULL && strcmp(done, fence) == 0;
    }
    return hami_bind_phase_parse(phase) == HAMI_BIND_PHASE_SUCCESS &&
           has_nothing_left(pod);
}

/* Hands pair, pod and caller over to a job that has only its lock left to free. */
static void release(struct recover *recover, json_t *pod)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    struct hami_handshake_job *job = calloc(1, sizeof(*job));

    if (job == NULL) {
        end(recover, HAMI_E_NOMEM, "out of memory");
        return;
    }
    hami_internal_http_log(
        recover->handshake->client, HAMI_LOG_WARNING,
        "Frees the lock of node %s: its pod %s/%s was served, and the release "
        "was cut off",
        recover->handshake->node, recover->pair.record.namespace_name,
        recover->pair.record.name);
    job->handshake = recover->handshake;
    job->share.pod = json_incref(pod);
    job->owner.namespace_name = json_string_value(json_object_get(metadata, "namespace"));
    job->owner.name = json_string_value(json_object_get(metadata, "name"));
    job->owner.uid = json_string_value(json_object_get(metadata, "uid"));
    job->pair = recover->pair;
    job->fence = recover->pair.record.fence;
    job->stage = HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE;
    job->deadline_ns = recover->deadline_ns;
    job->callback = recover->callback;
    job->data = recover->data;
    free(recover);
    hami_internal_handshake_run(job);
}

static int ask(struct recover *recover);

static void pair_was_read(struct recover *recover, const json_t *node)
{
    int code =
        hami_internal_handshake_pair_read(recover->handshake, node, &recover->pair);

    if (code < 0) {
        end(recover, code, hami_strerror(code));
        return;
    }
    recover->has_pair = true;
    if (recover->pair.record.kind != HAMI_LOCK_OWNED) {
        end(recover, 0, "");
        return;
    }
    code = ask(recover);
    if (code < 0) {
        end(recover, code, hami_strerror(code));
    }
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct recover *recover = data;
    int code = hami_internal_status_of_read(answer);
    json_t *object = NULL;
    char text[256];

    if (code == HAMI_E_NODE && recover->has_pair) {
        end(recover, 0, ""); /* the pod is gone: the takeover rules know what to do */
        return;
    }
    if (code == 0) {
        object = hami_internal_object_parse(answer->body, answer->body_length);
        code = object != NULL ? 0 : HAMI_E_PROTO;
    }
    if (code < 0) {
        end(recover, code, hami_internal_status_text(answer, text, sizeof(text)));
        return;
    }
    if (!recover->has_pair) {
        pair_was_read(recover, object);
    } else if (was_served(recover, object)) {
        release(recover, object);
    } else {
        end(recover, 0, "");
    }
    json_decref(object);
}

static int ask(struct recover *recover)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    const struct hami_lock_record *record = &recover->pair.record;
    char path[HAMI_INTERNAL_PATHS_MAX];

    request.path = path;
    request.deadline_ns = recover->deadline_ns;
    if (!recover->has_pair) {
        request.accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY;
        (void)hami_internal_paths_node_path(recover->handshake->node, path, sizeof(path));
    } else if (!hami_internal_paths_pod_path(record->namespace_name, record->name, "",
                                             path, sizeof(path))) {
        return HAMI_E_PROTO;
    }
    return hami_internal_http_request_start(recover->handshake->client, &request,
                                            answered, recover, NULL);
}

static void begin(void *data, int code)
{
    struct recover *recover = data;

    recover->timer = NULL;
    code = code < 0 ? HAMI_E_CLOSED : ask(recover);
    if (code < 0) {
        end(recover, code, hami_strerror(code));
    }
}

int hami_handshake_recover_start(hami_handshake *handshake, uint64_t deadline_ns,
                                 hami_done_fn callback, void *data)
{
    struct recover *recover;
    int code;

    if (handshake == NULL || callback == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(handshake->client)) {
        return HAMI_E_FORKED;
    }
    recover = calloc(1, sizeof(*recover));
    if (recover == NULL) {
        return HAMI_E_NOMEM;
    }
    recover->handshake = handshake;
    recover->deadline_ns = deadline_ns;
    recover->callback = callback;
    recover->data = data;
    code = hami_internal_http_timer_start(handshake->client, 0, begin, recover,
                                          &recover->timer);
    if (code < 0) {
        free(recover);
    }
    return code;
}
