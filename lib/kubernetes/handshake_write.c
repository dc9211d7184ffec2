/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that end a job: the guarded patches of the pod and of the node, and the
 * reads that tell what became of them. Client's thread; builds and sends, decides
 * nothing.
 */
#include "handshake_job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"
#include "object.h"
#include "paths.h"

#define BEHIND_REQUEST_NS                                                                \
    (2 * UINT64_C(1000000000)) /* deadline of requests that go on behind */

static int send(struct hami_handshake_job *job, struct hami_kubernetes_request *request,
                hami_kubernetes_answered_fn answered)
{
    uint64_t soon = hami_kubernetes_now() + BEHIND_REQUEST_NS;

    request->deadline_ns =
        job->is_told && soon < job->deadline_ns ? soon : job->deadline_ns;
    return hami_internal_http_request_start(job->handshake->client, request, answered,
                                            job, &job->request);
}

static int send_patch(struct hami_handshake_job *job, const char *path, const char *body,
                      hami_kubernetes_answered_fn answered)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

    request.method = HAMI_KUBERNETES_PATCH;
    request.path = path;
    request.accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY;
    request.content_type = HAMI_INTERNAL_JSONPATCH_TYPE;
    request.body = body;
    request.body_length = strlen(body);
    return send(job, &request, answered);
}

static int send_read(struct hami_handshake_job *job, const char *path, const char *accept,
                     hami_kubernetes_answered_fn answered)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

    request.path = path;
    request.accept = accept;
    return send(job, &request, answered);
}

/* Adds an operation on one annotation; consumes nothing. */
static int put(json_t *operations, const char *verb, const char *key, const char *value)
{
    char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
    int code = hami_internal_jsonpatch_pointer(key, path, sizeof(path));

    if (code < 0) {
        return code;
    }
    json_t *operation =
        json_pack("{s:s, s:s, s:s}", "op", verb, "path", path, "value", value);
    return json_array_append_new(operations, operation) < 0 ? HAMI_E_NOMEM : 0;
}

static int test_annotation(json_t *operations, const char *key, const char *expect)
{
    char path[HAMI_INTERNAL_JSONPATCH_POINTER_MAX];
    int code = hami_internal_jsonpatch_pointer(key, path, sizeof(path));

    return code < 0 ? code : hami_internal_jsonpatch_test(operations, path, expect);
}

/* Success with the grant's fence; a lock without a fence leaves none to write. */
static int put_success(const struct hami_handshake_job *job, json_t *operations)
{
    char fence[24];
    int code = put(operations, "add", HAMI_HANDSHAKE_PHASE_KEY, "success");

    if (code == 0 && job->fence > 0) {
        (void)snprintf(fence, sizeof(fence), "%" PRIu64, job->fence);
        code = put(operations, "add", HAMI_HANDSHAKE_DONE_KEY, fence);
    }
    return code;
}

/* Every test stands before the first change. */
static int pod_operations(const struct hami_handshake_job *job, json_t *operations)
{
    const char *key = job->handshake->vendors[job->vendor].to_allocate_key;
    int code = hami_internal_jsonpatch_test(operations, "/metadata/uid", job->owner.uid);

    if (code == 0) {
        code = test_annotation(operations, HAMI_HANDSHAKE_PHASE_KEY, job->phase);
    }
    if (code < 0 || job->failing) {
        return code < 0 ? code
                        : put(operations, "add", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    }
    code = test_annotation(operations, key, job->step.old_text);
    if (code == 0 && strcmp(job->step.old_text, job->step.new_text) != 0) {
        code = put(operations, "replace", key, job->step.new_text);
    }
    if (code == 0 && job->step.is_last) {
        code = put_success(job, operations);
    }
    return code;
}

static int write_pod(struct hami_handshake_job *job, hami_kubernetes_answered_fn answered)
{
    char path[HAMI_INTERNAL_PATHS_MAX];
    json_t *operations = json_array();
    char *body = NULL;
    int code = operations != NULL ? pod_operations(job, operations) : HAMI_E_NOMEM;

    if (code == 0 &&
        !hami_internal_paths_pod_path(job->owner.namespace_name, job->owner.name, "",
                                      path, sizeof(path))) {
        code = HAMI_E_PROTO;
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, &body);
    }
    if (code == 0) {
        code = send_patch(job, path, body, answered);
    }
    free(body);
    json_decref(operations);
    return code;
}

/* Sends edits of the Node, each guarded by what was read. */
static int send_edits(struct hami_handshake_job *job,
                      const struct hami_transport_edit *edits, size_t count,
                      hami_kubernetes_answered_fn answered)
{
    char path[HAMI_INTERNAL_PATHS_MAX];
    char *body = NULL;
    int code = hami_internal_jsonpatch_edits(edits, count, NULL,
                                             HAMI_INTERNAL_JSONPATCH_BY_KEY, &body);

    if (code == 0) {
        (void)hami_internal_paths_node_path(job->handshake->node, path, sizeof(path));
        code = send_patch(job, path, body, answered);
    }
    free(body);
    return code;
}

/* Removes the lock, by the pair as read; its own lease keeps the fence's memory. */
static int write_lock(struct hami_handshake_job *job,
                      hami_kubernetes_answered_fn answered)
{
    struct hami_transport_edit edits[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX];
    struct hami_internal_handshake_memories memories;
    size_t count;
    int code = hami_internal_handshake_lock_free_edits(job->handshake->names, &job->lock,
                                                       &memories, edits, &count);

    return code < 0 ? code : send_edits(job, edits, count, answered);
}

/* Puts the pair of the call's beginning back, onto a lock that is free. */
static int restore_lock(struct hami_handshake_job *job,
                        hami_kubernetes_answered_fn answered)
{
    struct hami_transport_edit edits[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX];
    size_t count = hami_internal_handshake_lock_restore_edits(
        job->handshake->names, &job->lock.own, &job->now, edits);

    return send_edits(job, edits, count, answered);
}

static int read_pod(struct hami_handshake_job *job, const char *accept,
                    hami_kubernetes_answered_fn answered)
{
    char path[HAMI_INTERNAL_PATHS_MAX];

    if (!hami_internal_paths_pod_path(job->owner.namespace_name, job->owner.name, "",
                                      path, sizeof(path))) {
        return HAMI_E_PROTO;
    }
    return send_read(job, path, accept, answered);
}

static int read_node(struct hami_handshake_job *job, hami_kubernetes_answered_fn answered)
{
    char path[HAMI_INTERNAL_PATHS_MAX];

    (void)hami_internal_paths_node_path(job->handshake->node, path, sizeof(path));
    return send_read(job, path, HAMI_INTERNAL_OBJECT_METADATA_ONLY, answered);
}

int hami_internal_handshake_send(struct hami_handshake_job *job,
                                 hami_kubernetes_answered_fn answered)
{
    switch (job->stage) {
    case HAMI_INTERNAL_HANDSHAKE_POD_WRITE:
        return write_pod(job, answered);
    case HAMI_INTERNAL_HANDSHAKE_POD_READ:
        return read_pod(job, NULL, answered);
    case HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE:
        return write_lock(job, answered);
    case HAMI_INTERNAL_HANDSHAKE_LOCK_RESTORE:
        return restore_lock(job, answered);
    case HAMI_INTERNAL_HANDSHAKE_NODE_READ:
    case HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK:
        return read_node(job, answered);
    case HAMI_INTERNAL_HANDSHAKE_OWNER_READ:
        return read_pod(job, HAMI_INTERNAL_OBJECT_METADATA_ONLY, answered);
    }
    return HAMI_E_PROTO;
}
