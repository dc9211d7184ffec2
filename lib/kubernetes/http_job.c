/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs: how they get onto the client's thread, are cancelled from anywhere, and are
 * forgotten.
 *
 * Lock: client->mutex, for a few pointers and counters each time. A cancel only marks its
 * job: ending it is the thread's business, so that a job can't end twice. A job that was
 * cancelled stays in client->cancelled until its memory goes, which is after its
 * callback: a cancel that comes before the callback was entered always finds valid
 * memory.
 */
#include "http_client.h"

#include <stdlib.h>

/* With the mutex held: does the thread have to be woken? Its own work it finds by itself.
 */
static bool wants_wakeup(hami_kubernetes *client)
{
    if (client->is_woken) {
        return false;
    }
    client->is_woken = true;
    return true;
}

/* With the mutex held: counts a new job, or says why it can't come in. */
static int admit(hami_kubernetes *client, const struct hami_internal_http_job *job)
{
    if (client->is_closing) {
        return HAMI_E_CLOSED;
    }
    if (job->kind == HAMI_INTERNAL_HTTP_REQUEST) {
        if (client->stats.waiting >= HAMI_INTERNAL_HTTP_WAITING_MAX) {
            return HAMI_E_LIMIT;
        }
        client->stats.waiting++;
    } else if (job->kind == HAMI_INTERNAL_HTTP_STREAM) {
        if (client->stream_count >= HAMI_INTERNAL_HTTP_STREAMS_MAX) {
            return HAMI_E_LIMIT;
        }
        client->stream_count++;
    }
    return 0;
}

int hami_internal_http_job_enter(hami_kubernetes *client,
                                 struct hami_internal_http_job *job)
{
    bool wake = false;
    int code;

    if (hami_internal_http_is_forked(client)) {
        return HAMI_E_FORKED;
    }
    pthread_mutex_lock(&client->mutex);
    code = admit(client, job);
    if (code == 0) {
        TAILQ_INSERT_TAIL(&client->inbox, job, entry);
        wake = wants_wakeup(client);
    }
    pthread_mutex_unlock(&client->mutex);
    if (wake) {
        (void)curl_multi_wakeup(client->multi);
    }
    return code;
}

void hami_internal_http_job_cancel(hami_kubernetes *client,
                                   struct hami_internal_http_job *job)
{
    bool wake = false;

    if (hami_internal_http_is_forked(client)) {
        return;
    }
    pthread_mutex_lock(&client->mutex);
    if (!job->is_cancelled) {
        job->is_cancelled = true;
        LIST_INSERT_HEAD(&client->cancelled, job, cancelled);
        wake = wants_wakeup(client);
    }
    pthread_mutex_unlock(&client->mutex);
    if (wake) {
        (void)curl_multi_wakeup(client->multi);
    }
}

void hami_internal_http_job_free(hami_kubernetes *client,
                                 struct hami_internal_http_job *job)
{
    pthread_mutex_lock(&client->mutex);
    if (job->is_cancelled) {
        LIST_REMOVE(job, cancelled);
    }
    if (job->kind == HAMI_INTERNAL_HTTP_STREAM) {
        client->stream_count--;
    }
    pthread_mutex_unlock(&client->mutex);
    free(job);
}
