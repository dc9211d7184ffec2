/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaves a lock to the scheduler side, whose lease says that it frees it: the success on
 * the pod is the last write. If the very same pair still stands a while later, nobody of
 * that side is there, and it is removed as any other lock is. Client's thread.
 *
 * Of each lock only the last that was left needs a look: where another pod was served
 * under it since, the earlier one is gone. So is an exclusive pod's lock where one that
 * may be beside others was served. Not the other way round: a permit may stand, done,
 * while an exclusive pod is served.
 */
#include "handshake_job.h"

#define LEFT_MS 2000

static void look(void *data, int code)
{
    struct hami_handshake_job *job = data;
    hami_handshake *handshake = job->handshake;

    job->timer = NULL;
    for (size_t i = 0; i < HAMI_INTERNAL_HANDSHAKE_LOCKS; i++) {
        if (handshake->left[i] == job) {
            handshake->left[i] = NULL;
        }
    }
    if (code < 0 || handshake->closing || job->is_superseded) {
        hami_internal_handshake_end(job);
        return;
    }
    job->stage = HAMI_INTERNAL_HANDSHAKE_NODE_READ;
    job->tries = 0;
    hami_internal_handshake_run(job);
}

static void supersede(hami_handshake *handshake, size_t permit)
{
    struct hami_handshake_job *job = handshake->left[permit];

    handshake->left[permit] = NULL;
    if (job != NULL) {
        job->is_superseded = true;
        hami_internal_http_timer_cancel(handshake->client, job->timer);
    }
}

void hami_internal_handshake_leave_lock(struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;
    size_t permit = job->lock.own.permit;

    hami_internal_handshake_count(handshake, &handshake->stats.left);
    supersede(handshake, permit);
    supersede(handshake, 0);
    job->is_left = true;
    if (!hami_internal_handshake_go_behind(job)) {
        return;
    }
    if (hami_internal_http_timer_start(handshake->client, LEFT_MS, look, job,
                                       &job->timer) < 0) {
        hami_internal_handshake_give_up(job, "out of memory");
        return;
    }
    handshake->left[permit] = job;
}
