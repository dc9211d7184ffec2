/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict whom an Allocate is for, from the two reads of handshake_begin.c. Client's
 * thread; writes nothing.
 *
 * The set of possible callers decides whom to serve; the lock can only forbid. A lock
 * with a lease of its own names its owner by uid; one without (HAMi wrote it) by
 * namespace and name; a bare time, or none, names nobody: then the one possible caller is
 * served by HAMi's rules, unless a fence is required. Where pods are beside each other,
 * the pod's lock is the permit whose lease has its uid (handshake_lock.h); without one it
 * is not served.
 */
#include "handshake_begin.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "support.h"

/* May this pod be served under this lock? */
static int judge_lock(const hami_handshake *handshake,
                      const struct hami_internal_handshake_pair *pair,
                      const struct hami_owner *owner, char *text, size_t size)
{
    const struct hami_lock_record *record = &pair->record;

    if (pair->permit == HAMI_INTERNAL_HANDSHAKE_NO_LOCK) {
        (void)snprintf(text, size,
                       "node %s is locked for pods beside each other, and none of its "
                       "permits is for the caller %s/%s with uid %s",
                       handshake->node, owner->namespace_name, owner->name, owner->uid);
        return HAMI_E_HELD;
    }
    if (record->kind == HAMI_LOCK_MALFORMED) {
        (void)snprintf(text, size, "%s of node %s can't be read: pod %s/%s is not served",
                       handshake->names[0].lock, handshake->node, owner->namespace_name,
                       owner->name);
        return HAMI_E_HELD;
    }
    if (record->has_lease && strcmp(record->uid, owner->uid) != 0) {
        (void)snprintf(
            text, size,
            "node %s is locked for pod %s/%s with uid %s, not for the caller %s/%s with "
            "uid %s",
            handshake->node, record->namespace_name, record->name, record->uid,
            owner->namespace_name, owner->name, owner->uid);
        return HAMI_E_HELD;
    }
    if (record->kind == HAMI_LOCK_OWNED &&
        (strcmp(record->name, owner->name) != 0 ||
         strcmp(record->namespace_name, owner->namespace_name) != 0)) {
        (void)snprintf(text, size,
                       "node %s is locked for pod %s/%s, not for the caller %s/%s",
                       handshake->node, record->namespace_name, record->name,
                       owner->namespace_name, owner->name);
        return HAMI_E_HELD;
    }
    if (!record->has_lease && (handshake->flags & HAMI_HANDSHAKE_REQUIRE_FENCE) != 0) {
        (void)snprintf(
            text, size,
            "no lock with a lease of its own names pod %s/%s on node %s, and one is "
            "required",
            owner->namespace_name, owner->name, handshake->node);
        return HAMI_E_HELD;
    }
    return 0;
}

/*
 * A pod that an earlier call refused, and onto which phase failed is still being written:
 * its lock goes with that, so that nothing is to be handed out to it any more.
 */
static int judge_refused(const hami_handshake *handshake, const struct hami_owner *owner,
                         char *text, size_t size)
{
    for (const struct hami_handshake_job *job = handshake->behind; job != NULL;
         job = job->next) {
        if (job->failing && strcmp(job->owner.uid, owner->uid) == 0) {
            (void)snprintf(text, size,
                           "pod %s/%s was refused its devices, and phase failed is being "
                           "written onto it",
                           owner->namespace_name, owner->name);
            return HAMI_E_LOST;
        }
    }
    return 0;
}

/* Would it be clear who calls, if no pod that was refused could call again? */
static bool is_one_without_refused(const struct hami_internal_handshake_begin *begin,
                                   const struct hami_internal_handshake_ask *ask)
{
    struct hami_internal_handshake_ask narrower = *ask;
    struct hami_internal_handshake_share share = {0};
    char text[256];
    int code;

    narrower.count_refused = false;
    code = hami_internal_handshake_find(
        begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_PODS].object, &narrower, &share, text,
        sizeof(text));
    if (code == 0) {
        hami_internal_handshake_share_done(&share);
    }
    return code == 0;
}

/* Names the job's owner and finds its lock; may it be served under that? */
static int judge_node(struct hami_handshake_job *job, const json_t *node, char *text,
                      size_t size)
{
    const json_t *metadata = json_object_get(job->share.pod, "metadata");
    int code;

    job->owner.namespace_name = json_string_value(json_object_get(metadata, "namespace"));
    job->owner.name = json_string_value(json_object_get(metadata, "name"));
    job->owner.uid = json_string_value(json_object_get(metadata, "uid"));
    code = hami_internal_handshake_lock_find(job->handshake->names, node, job->owner.uid,
                                             &job->lock);
    if (code < 0) {
        return code;
    }
    job->fence = job->lock.own.record.fence;
    return judge_lock(job->handshake, &job->lock.own, &job->owner, text, size);
}

int hami_internal_handshake_verdict(struct hami_internal_handshake_begin *begin,
                                    struct hami_handshake_job **ret, char *text,
                                    size_t size)
{
    hami_handshake *handshake = begin->handshake;
    struct hami_internal_handshake_ask ask = hami_internal_handshake_ask(
        handshake, begin->vendor, begin->counts, begin->count);
    struct hami_handshake_job *job = calloc(1, sizeof(*job));
    int code;

    if (job == NULL) {
        return HAMI_E_NOMEM;
    }
    ask.books = begin->has_books ? &begin->books : NULL;
    ask.count_refused = true;
    job->handshake = handshake;
    job->vendor = begin->vendor;
    code = hami_internal_handshake_find(
        begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_PODS].object, &ask, &job->share, text,
        size);
    if (code == HAMI_E_BUSY) {
        begin->waits_for_kubelet = is_one_without_refused(begin, &ask);
    }
    if (code == 0) {
        code = judge_node(job, begin->reads[HAMI_INTERNAL_HANDSHAKE_READ_NODE].object,
                          text, size);
    }
    if (code == 0) {
        code = judge_refused(handshake, &job->owner, text, size);
    }
    if (code < 0) {
        hami_internal_handshake_job_free(job);
        return code;
    }
    *ret = job;
    return 0;
}

void hami_internal_handshake_note_unusual(const struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;
    const char *text =
        hami_internal_object_annotation(job->share.pod, HAMI_HANDSHAKE_FENCE_KEY);
    uint64_t fence = text != NULL ? strtoull(text, NULL, 10) : 0;

    if (job->share.is_again) {
        hami_internal_handshake_count(handshake, &handshake->stats.again);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_WARNING,
            "Served pod %s/%s the same devices once more: the kubelet of node %s has "
            "lost what it was answered",
            job->owner.namespace_name, job->owner.name, handshake->node);
    }
    if (!job->lock.own.record.has_lease) {
        hami_internal_handshake_count(handshake, &handshake->stats.without_fence);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_WARNING,
            "Served pod %s/%s by HAMi's rules: the lock of node %s has no lease "
            "of its own (HAMi wrote it, or there is none)",
            job->owner.namespace_name, job->owner.name, handshake->node);
    } else if (fence < job->fence) {
        hami_internal_handshake_count(handshake, &handshake->stats.fence_rose);
        hami_internal_http_log(
            handshake->client, HAMI_LOG_INFO,
            "Served pod %s/%s with fence %" PRIu64 " under its lock's fence "
            "%" PRIu64 ": the lock was granted to it again",
            job->owner.namespace_name, job->owner.name, fence, job->fence);
    }
}
