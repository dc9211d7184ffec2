/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job's caller is told, and the jobs that go on behind it afterwards: at most
 * BEHIND_MAX at a time, each for at most a minute. Client's thread.
 */
#include "handshake_job.h"

#include <stdio.h>
#include <string.h>

#include "support.h"

#define BEHIND_MAX 64                         /* jobs behind at a time */
#define BEHIND_NS (60 * UINT64_C(1000000000)) /* how long one goes on */

void hami_internal_handshake_set_result(struct hami_handshake_job *job, int code,
                                        const char *text)
{
    job->result = code;
    (void)snprintf(job->text, sizeof(job->text), "%s",
                   *text != '\0' ? text : hami_strerror(code));
}

static void tell(struct hami_handshake_job *job)
{
    struct hami_error error = HAMI_ERROR_INIT;

    if (job->is_told) {
        return;
    }
    job->is_told = true;
    if (job->result == 0) {
        job->callback(job->data, 0, NULL);
        return;
    }
    (void)hami_internal_support_fail(&error, job->result, "pod %s/%s: %s",
                                     job->owner.namespace_name, job->owner.name,
                                     job->text);
    job->callback(job->data, job->result, &error);
}

void hami_internal_handshake_end(struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;
    bool was_behind = job->link != NULL;

    handshake->refusals += job->failing;
    tell(job);
    if (was_behind) {
        *job->link = job->next;
        if (job->next != NULL) {
            job->next->link = job->link;
        }
    }
    hami_internal_handshake_job_free(job);
    if (was_behind) {
        (void)pthread_mutex_lock(&handshake->mutex);
        handshake->behind_count--;
        (void)pthread_cond_broadcast(&handshake->changed);
        (void)pthread_mutex_unlock(&handshake->mutex);
    }
}

/* Nobody will free this lock but the takeover rules. */
void hami_internal_handshake_give_up(struct hami_handshake_job *job, const char *why)
{
    hami_handshake *handshake = job->handshake;

    hami_internal_handshake_count(handshake, &handshake->stats.given_up);
    hami_internal_http_log(
        handshake->client, HAMI_LOG_WARNING,
        "Left the lock of node %s to the takeover rules: it could not be freed "
        "for pod %s/%s (%s)",
        handshake->node, job->owner.namespace_name, job->owner.name, why);
    hami_internal_handshake_end(job);
}

/* Tells the caller now; the rest goes on behind. False where the job is gone: too many
 * do. */
bool hami_internal_handshake_go_behind(struct hami_handshake_job *job)
{
    hami_handshake *handshake = job->handshake;
    bool is_full;

    if (job->is_told) {
        return true;
    }
    (void)pthread_mutex_lock(&handshake->mutex);
    is_full = handshake->behind_count >= BEHIND_MAX;
    handshake->behind_count += !is_full;
    (void)pthread_mutex_unlock(&handshake->mutex);
    if (is_full || handshake->closing) {
        if (!is_full) {
            (void)pthread_mutex_lock(&handshake->mutex);
            handshake->behind_count--;
            (void)pthread_mutex_unlock(&handshake->mutex);
        }
        hami_internal_handshake_give_up(job, is_full ? "too many such releases"
                                                     : "shutting down");
        return false;
    }
    job->next = handshake->behind;
    job->link = &handshake->behind;
    if (job->next != NULL) {
        job->next->link = &job->next;
    }
    handshake->behind = job;
    job->deadline_ns = hami_kubernetes_now() + BEHIND_NS;
    tell(job);
    return true;
}

void hami_internal_handshake_close_behind(hami_handshake *handshake)
{
    handshake->closing = true;
    for (struct hami_handshake_job *job = handshake->behind; job != NULL;
         job = job->next) {
        if (job->request != NULL) {
            hami_internal_http_request_cancel(handshake->client, job->request);
        } else if (job->timer != NULL) {
            hami_internal_http_timer_cancel(handshake->client, job->timer);
        }
    }
}
