/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finishes what a crash cut off: a pod that was served wholly, and whose lock still
 * stands. Two reads (the node's lock, then the pod that it names), a verdict, and the
 * guarded release of handshake_release.c. Where pods are beside each other, each permit
 * is looked at in turn; the node is read anew after each that was freed. Client's thread.
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
    json_t *node;  /* as read; NULL = to be read */
    size_t permit; /* the first lock that was not looked at yet */
    struct hami_internal_handshake_lock lock; /* the one whose pod is asked for */
    struct hami_internal_http_timer *timer;
};

static void end(struct recover *recover, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;

    if (code < 0) {
        (void)hami_internal_support_fail(&error, code, "%s", text);
    }
    recover->callback(recover->data, code, code < 0 ? &error : NULL);
    hami_internal_handshake_lock_done(&recover->lock);
    json_decref(recover->node);
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
    const struct hami_lock_record *record = &recover->lock.own.record;
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

static void go_on(struct recover *recover);

/* One lock's release is over; what goes on behind needs nobody. */
static void released(void *data, int code, const struct hami_error *error)
{
    struct recover *recover = data;

    if (code < 0) {
        end(recover, code, error != NULL ? error->text : "");
        return;
    }
    go_on(recover);
}

/* Is this one to be looked at: owned, and not the copy of a permit's? */
static bool is_candidate(const struct hami_internal_handshake_pair *pair)
{
    if (pair->permit == 0) {
        return pair->record.kind == HAMI_LOCK_OWNED &&
               !hami_internal_handshake_pair_is_beside(pair);
    }
    return pair->record.kind == HAMI_LOCK_OWNED && pair->record.has_lease;
}

/* Moves on to the next lock that is to be looked at. Returns 1, or 0 (there is none),
 * NOMEM. */
static int next_lock(struct recover *recover)
{
    const struct hami_internal_handshake_names *names = recover->handshake->names;

    while (recover->permit < HAMI_INTERNAL_HANDSHAKE_LOCKS) {
        int code;

        hami_internal_handshake_lock_done(&recover->lock);
        code = hami_internal_handshake_lock_read(names, recover->node, recover->permit++,
                                                 &recover->lock);
        if (code < 0) {
            return code;
        }
        if (is_candidate(&recover->lock.own)) {
            return 1;
        }
    }
    return 0;
}

/* Is any lock left to be looked at, as far as the node was read? */
static bool has_more(const struct recover *recover)
{
    struct recover rest = {.handshake = recover->handshake,
                           .node = recover->node,
                           .permit = recover->permit};
    int code = next_lock(&rest);

    hami_internal_handshake_lock_done(&rest.lock);
    return code != 0;
}

/* Hands lock and pod over to a job that has only its lock left to free. */
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
        recover->handshake->node, recover->lock.own.record.namespace_name,
        recover->lock.own.record.name);
    job->handshake = recover->handshake;
    job->share.pod = json_incref(pod);
    job->owner.namespace_name = json_string_value(json_object_get(metadata, "namespace"));
    job->owner.name = json_string_value(json_object_get(metadata, "name"));
    job->owner.uid = json_string_value(json_object_get(metadata, "uid"));
    job->lock = recover->lock;
    job->fence = job->lock.own.record.fence;
    job->stage = HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE;
    job->deadline_ns = recover->deadline_ns;
    job->callback = released;
    job->data = recover;
    memset(&recover->lock, 0, sizeof(recover->lock));
    if (!has_more(recover)) {
        recover->permit = HAMI_INTERNAL_HANDSHAKE_LOCKS;
    } else {
        json_decref(recover->node); /* the release changes it */
        recover->node = NULL;
    }
    hami_internal_handshake_run(job);
}

static int ask(struct recover *recover);

/* Asks for the next lock's pod, or for the node; ends where there is none. */
static void go_on(struct recover *recover)
{
    int code = 1;

    if (recover->permit >= HAMI_INTERNAL_HANDSHAKE_LOCKS) {
        code = 0;
    } else if (recover->node != NULL) {
        code = next_lock(recover);
    }
    if (code == 1) {
        code = ask(recover);
        if (code == 0) {
            return;
        }
    }
    end(recover, code, code < 0 ? hami_strerror(code) : "");
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct recover *recover = data;
    int code = hami_internal_status_of_read(answer);
    json_t *object = NULL;
    char text[256];

    if (code == HAMI_E_NODE && recover->node != NULL) {
        go_on(recover); /* the pod is gone: the takeover rules know what to do */
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
    if (recover->node == NULL) {
        recover->node = json_incref(object);
        go_on(recover);
    } else if (was_served(recover, object)) {
        release(recover, object);
    } else {
        go_on(recover);
    }
    json_decref(object);
}

static int ask(struct recover *recover)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    const struct hami_lock_record *record = &recover->lock.own.record;
    char path[HAMI_INTERNAL_PATHS_MAX];

    request.path = path;
    request.deadline_ns = recover->deadline_ns;
    if (recover->node == NULL) {
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
