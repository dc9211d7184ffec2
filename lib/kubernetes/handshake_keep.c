/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Repairs an early release. Some plugins that do HAMi's handshake themselves free the
 * lock after a pod's first container or vendor, with others still to come. The pair that
 * stood when the call began is then put back, guarded by what stands now: only onto a
 * node whose lock is free, and was nobody else's since: the old lease would hide a fence
 * that was granted after it. If another owner has it by now it stays his, and the rule of
 * the possible callers is what keeps the two apart. Nothing is put
 * back for a pod that others may be beside: one with the same calls may have come by then.
 * Client's thread.
 */
#include "handshake_job.h"

#include <string.h>

#define LOOKS_MAX 3

/* Was the lock granted once more between the two? */
static bool is_later(const struct hami_internal_handshake_pair *now,
                     const struct hami_internal_handshake_pair *before)
{
    return before->lease != NULL && now->record.last_fence > before->record.last_fence;
}

/* The devices are handed out whatever becomes of the lock: the caller is told 0. */
static void leave(struct hami_handshake_job *job, const char *why)
{
    hami_internal_http_log(
        job->handshake->client, HAMI_LOG_WARNING,
        "The lock of node %s was freed although pod %s/%s has containers to come, and "
        "could not be put back (%s)",
        job->handshake->node, job->owner.namespace_name, job->owner.name, why);
    hami_internal_handshake_end(job);
}

static void look(struct hami_handshake_job *job, const char *why)
{
    if (job->tries >= LOOKS_MAX || hami_kubernetes_now() >= job->deadline_ns) {
        leave(job, why);
        return;
    }
    job->tries++;
    job->stage = HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK;
    hami_internal_handshake_run(job);
}

void hami_internal_handshake_keep_lock(struct hami_handshake_job *job)
{
    job->tries = 0;
    look(job, "");
}

void hami_internal_handshake_look_answered(struct hami_handshake_job *job, int code,
                                           const json_t *node, const char *text)
{
    struct hami_internal_handshake_pair now;

    if (code == 0) {
        code = hami_internal_handshake_pair_read(job->handshake->names, node, 0, &now);
        text = code < 0 ? hami_strerror(code) : text;
    }
    if (code == HAMI_E_NODE) {
        hami_internal_handshake_end(job);
        return;
    }
    if (code < 0) {
        look(job, text);
        return;
    }
    if (now.record.kind == HAMI_LOCK_FREE && !is_later(&now, &job->lock.own)) {
        hami_internal_handshake_pair_done(&job->now);
        job->now = now;
        job->stage = HAMI_INTERNAL_HANDSHAKE_LOCK_RESTORE;
        hami_internal_handshake_run(job);
        return;
    }
    if (hami_internal_handshake_same_text(now.lock, job->lock.own.lock)) {
        hami_internal_handshake_end(job); /* it stands */
    } else {
        leave(job, "another owner has it, or had it since");
    }
    hami_internal_handshake_pair_done(&now);
}

void hami_internal_handshake_restore_answered(struct hami_handshake_job *job, int code,
                                              const char *text)
{
    hami_handshake *handshake = job->handshake;

    if (code < 0) {
        look(job, text); /* also where it may have landed */
        return;
    }
    hami_internal_handshake_count(handshake, &handshake->stats.restored);
    hami_internal_http_log(
        handshake->client, HAMI_LOG_WARNING,
        "Put the lock of node %s back: it was freed although pod %s/%s has containers to "
        "come",
        handshake->node, job->owner.namespace_name, job->owner.name);
    hami_internal_handshake_end(job);
}
