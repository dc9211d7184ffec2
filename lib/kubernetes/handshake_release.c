/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job frees the lock: what the answers to the node's patch and reads mean. Client's
 * thread.
 *
 * Which lock may be removed: the very pair that was read. After a refusal: the pair as it
 * is then, if its lease names our pod's uid, or it has no lease but names our pod, whose
 * uid a later read confirms. Among pods beside each other it is the permit whose lease
 * has our pod's uid, and the cover with it as handshake_lock.h says.
 */
#include "handshake_job.h"

#include <string.h>

#include "object.h"

static void lock_is_free(struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;

    hami_internal_handshake_count(handshake, &handshake->stats.released);
    if (job->is_told) {
        hami_internal_handshake_count(handshake, &handshake->stats.released_behind);
    }
    hami_internal_handshake_end(job);
}

/* In doubt: the caller need not wait for it. */
void hami_internal_handshake_lock_in_doubt(struct hami_handshake_job *job,
                                           enum hami_internal_handshake_stage stage,
                                           const char *text)
{
    job->stage = stage;
    if (hami_internal_handshake_go_behind(job)) {
        hami_internal_handshake_retry(job, text);
    }
}

void hami_internal_handshake_lock_answered(struct hami_handshake_job *job, int code,
                                           const char *text)
{
    switch (code) {
    case 0:
        lock_is_free(job);
        return;
    case HAMI_E_NODE:
        hami_internal_handshake_end(job);
        return;
    case HAMI_E_ACCESS:
    case HAMI_E_PROTO:
        hami_internal_handshake_give_up(job, text);
        return;
    case HAMI_E_HELD:
        job->stage = HAMI_INTERNAL_HANDSHAKE_NODE_READ;
        hami_internal_handshake_retry(job, text);
        return;
    default:
        hami_internal_handshake_lock_in_doubt(job, HAMI_INTERNAL_HANDSHAKE_NODE_READ,
                                              text);
    }
}

static bool is_same(const struct hami_internal_handshake_pair *one,
                    const struct hami_internal_handshake_pair *other)
{
    return one->permit == other->permit &&
           hami_internal_handshake_same_text(one->lock, other->lock) &&
           hami_internal_handshake_same_text(one->lease, other->lease);
}

/* Whose is the lock now? */
void hami_internal_handshake_node_was_read(struct hami_handshake_job *job,
                                           const json_t *node)
{
    struct hami_internal_handshake_lock lock;
    const struct hami_lock_record *record = &lock.own.record;
    bool same, is_named;

    if (hami_internal_handshake_lock_find(job->handshake->names, node, job->owner.uid,
                                          &lock) < 0) {
        hami_internal_handshake_retry(job, "out of memory");
        return;
    }
    same = is_same(&lock.own, &job->lock.own);
    is_named = record->kind == HAMI_LOCK_OWNED &&
               strcmp(record->name, job->owner.name) == 0 &&
               strcmp(record->namespace_name, job->owner.namespace_name) == 0;
    if (record->kind == HAMI_LOCK_FREE) {
        hami_internal_handshake_lock_done(&lock);
        if (job->is_left) {
            hami_internal_handshake_end(job);
        } else {
            lock_is_free(job);
        }
        return;
    }
    if (same ||
        (is_named && (!record->has_lease || strcmp(record->uid, job->owner.uid) == 0))) {
        bool must_ask = !same && !record->has_lease;

        hami_internal_handshake_lock_done(&job->lock);
        job->lock = lock;
        job->stage = must_ask ? HAMI_INTERNAL_HANDSHAKE_OWNER_READ
                              : HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE;
        hami_internal_handshake_retry(job, "its patch was refused");
        return;
    }
    hami_internal_handshake_lock_done(&lock);
    hami_internal_handshake_end(job); /* another's: ours is gone */
}

void hami_internal_handshake_owner_was_read(struct hami_handshake_job *job,
                                            const json_t *pod)
{
    const char *uid = hami_internal_object_metadata(pod, "uid");

    if (uid == NULL || strcmp(uid, job->owner.uid) != 0) {
        hami_internal_handshake_end(
            job); /* the lock names a pod of the same name that is not ours */
        return;
    }
    job->stage = HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE;
    hami_internal_handshake_retry(job, "");
}
