/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's thread: takes jobs from the inbox, ends those that are cancelled or due,
 * hands the rest to libcurl, tells what libcurl is done with, and sleeps when nothing is
 * left to do.
 *
 * Lock: client->mutex, while the inbox is emptied and when the thread decides to sleep.
 * Callbacks run with no lock held; what they start is taken in the next turn, before the
 * thread sleeps.
 *
 * Sockets of ours are close-on-exec. The pair that libcurl wakes its poll by is not, and
 * nobody can get at it: a program that execs without closing hands two idle sockets on.
 */
#include "http_client.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define POLL_MS_MAX 60000

static void end_job(hami_kubernetes *client, struct hami_internal_http_job *job, int code)
{
    switch (job->kind) {
    case HAMI_INTERNAL_HTTP_REQUEST:
        hami_internal_http_request_end(client, (struct hami_internal_http_request *)job,
                                       code);
        break;
    case HAMI_INTERNAL_HTTP_STREAM:
        hami_internal_http_stream_end(client, (struct hami_internal_http_stream *)job,
                                      code);
        break;
    case HAMI_INTERNAL_HTTP_TIMER:
        hami_internal_http_timer_end(client, (struct hami_internal_http_timer *)job,
                                     code);
        break;
    }
}

/* A job that has just come in: into the heap, and on to its kind. */
static void enter_job(hami_kubernetes *client, struct hami_internal_http_job *job,
                      uint64_t now)
{
    bool has_room = hami_internal_http_heap_reserve(&client->heap);

    if (has_room) {
        hami_internal_http_heap_push(&client->heap, job);
    }
    if (job->kind == HAMI_INTERNAL_HTTP_REQUEST) {
        hami_internal_http_request_enter(client, (struct hami_internal_http_request *)job,
                                         now);
    }
    if (!has_room) {
        job->heap_index = SIZE_MAX;
        end_job(client, job, HAMI_E_NOMEM);
        return;
    }
    if (job->kind == HAMI_INTERNAL_HTTP_STREAM) {
        hami_internal_http_stream_enter(client, (struct hami_internal_http_stream *)job,
                                        now);
    }
}

static void take_inbox(hami_kubernetes *client)
{
    struct hami_internal_http_jobs jobs = TAILQ_HEAD_INITIALIZER(jobs);
    struct hami_internal_http_job *job;
    uint64_t now = hami_kubernetes_now();

    pthread_mutex_lock(&client->mutex);
    TAILQ_CONCAT(&jobs, &client->inbox, entry);
    pthread_mutex_unlock(&client->mutex);
    while ((job = TAILQ_FIRST(&jobs)) != NULL) {
        TAILQ_REMOVE(&jobs, job, entry);
        enter_job(client, job, now);
    }
}

/* A cancelled job that the thread has taken already; NULL if none. Its end takes it off
 * the list. */
static struct hami_internal_http_job *next_cancelled(hami_kubernetes *client)
{
    struct hami_internal_http_job *job;

    pthread_mutex_lock(&client->mutex);
    LIST_FOREACH(job, &client->cancelled, cancelled)
    {
        if (job->heap_index != SIZE_MAX) {
            break;
        }
    }
    pthread_mutex_unlock(&client->mutex);
    return job;
}

static void end_cancelled(hami_kubernetes *client)
{
    struct hami_internal_http_job *job;

    while ((job = next_cancelled(client)) != NULL) {
        end_job(client, job, HAMI_E_CANCELED);
    }
}

static void do_due(hami_kubernetes *client)
{
    struct hami_internal_http_job *job;
    uint64_t now = hami_kubernetes_now();

    while ((job = hami_internal_http_heap_first(&client->heap)) != NULL &&
           job->due_ns <= now) {
        switch (job->kind) {
        case HAMI_INTERNAL_HTTP_REQUEST:
            hami_internal_http_request_due(client,
                                           (struct hami_internal_http_request *)job, now);
            break;
        case HAMI_INTERNAL_HTTP_STREAM:
            hami_internal_http_stream_due(client, (struct hami_internal_http_stream *)job,
                                          now);
            break;
        case HAMI_INTERNAL_HTTP_TIMER:
            hami_internal_http_timer_end(client, (struct hami_internal_http_timer *)job,
                                         0);
            break;
        }
    }
}

static void tell_done(hami_kubernetes *client)
{
    struct hami_internal_http_transfer *transfer = NULL;
    CURLMsg *message;
    int left;

    while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
        CURLcode result = message->data.result;

        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        (void)curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE,
                                (char **)&transfer);
        if (transfer->job->kind == HAMI_INTERNAL_HTTP_STREAM) {
            hami_internal_http_stream_done(
                client, (struct hami_internal_http_stream *)transfer->job, result);
        } else {
            hami_internal_http_request_done(
                client, (struct hami_internal_http_request *)transfer->job, result);
        }
    }
}

/* True if nothing has come in: the thread may sleep, and the next job will wake it. */
static bool may_sleep(hami_kubernetes *client, bool *ret_closing)
{
    bool idle;

    pthread_mutex_lock(&client->mutex);
    *ret_closing = client->is_closing;
    idle = TAILQ_EMPTY(&client->inbox) && LIST_EMPTY(&client->cancelled) &&
           !client->is_closing;
    if (idle) {
        client->is_woken = false;
    }
    pthread_mutex_unlock(&client->mutex);
    return idle &&
           (TAILQ_EMPTY(&client->waiting) || !hami_internal_http_request_may_go(client));
}

/* Milliseconds until there may be something to do without being woken, rounded up. */
static int poll_ms(const hami_kubernetes *client)
{
    const struct hami_internal_http_job *job =
        hami_internal_http_heap_first(&client->heap);
    uint64_t longest = hami_internal_http_nudge_wait_ms(client);
    uint64_t plugin_ms = hami_internal_http_exec_wait_ms(client);
    uint64_t now = hami_kubernetes_now();
    uint64_t ms;

    longest = longest < plugin_ms ? longest : plugin_ms;
    longest = longest < POLL_MS_MAX ? longest : POLL_MS_MAX;
    if (job == NULL) {
        return (int)longest;
    }
    if (job->due_ns <= now) {
        return 0;
    }
    ms = (job->due_ns - now - 1) / HAMI_INTERNAL_NANOSECONDS_PER_MS + 1;
    return (int)(ms < longest ? ms : longest);
}

/* True if the thread may sleep, as far as libcurl is concerned.
 *
 * libcurl (7.88 was seen to) forgets that a transfer has something to read if that came
 * with another transfer's bytes in a round that began with a timer of the first one due:
 * the timer that is to wake it goes together with the one that was due, and it stands
 * still until its next one, seconds later. Only a round that begins with no timer due
 * forgets nothing.
 */
static bool transfer_all(hami_kubernetes *client)
{
    long due_ms = -1;
    int running;

    (void)curl_multi_timeout(client->multi, &due_ms);
    (void)curl_multi_perform(client->multi, &running);
    return due_ms != 0;
}

/* True if the thread may sleep unless something has come in. */
static bool turn(hami_kubernetes *client)
{
    bool is_quiet;

    hami_internal_http_renew_look(client);
    hami_internal_http_exec_look(client);
    take_inbox(client);
    end_cancelled(client);
    do_due(client);
    hami_internal_http_request_pump(client);
    is_quiet = transfer_all(client);
    tell_done(client);
    hami_internal_http_nudge_look(client);
    return is_quiet;
}

/* Nothing comes in any more: what is left ends with CLOSED. Callbacks may still try to
 * start things. */
static void close_all(hami_kubernetes *client)
{
    struct hami_internal_http_transfer *transfer;
    struct hami_internal_http_job *job;

    hami_internal_http_exec_close(client);
    take_inbox(client);
    end_cancelled(client);
    while ((job = hami_internal_http_heap_first(&client->heap)) != NULL) {
        end_job(client, job, HAMI_E_CLOSED);
    }
    while ((transfer = LIST_FIRST(&client->free_transfers)) != NULL) {
        LIST_REMOVE(transfer, entry);
        hami_internal_http_transfer_destroy(transfer);
    }
    free(client->heap.jobs);
}

static void *run(void *data)
{
    hami_kubernetes *client = data;
    bool is_closing = false;

    while (!is_closing) {
        bool is_quiet = turn(client);

        if (may_sleep(client, &is_closing) && is_quiet) {
            (void)curl_multi_poll(client->multi, NULL, 0, poll_ms(client), NULL);
        }
    }
    close_all(client);
    return NULL;
}

int hami_internal_http_loop_start(hami_kubernetes *client, struct hami_error *reterr)
{
    sigset_t all;
    sigset_t before;
    int result;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    result = pthread_create(&client->thread, NULL, run, client);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        return hami_internal_support_fail(
            reterr, HAMI_E_NOMEM, "No thread could be made: %s", strerrordesc_np(result));
    }
    return 0;
}

void hami_internal_http_loop_stop(hami_kubernetes *client)
{
    pthread_mutex_lock(&client->mutex);
    client->is_closing = true;
    pthread_mutex_unlock(&client->mutex);
    (void)curl_multi_wakeup(client->multi);
    (void)pthread_join(client->thread, NULL);
}
