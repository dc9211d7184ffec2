/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list-and-watch loop (rules W1 to W4 in the header).
 *
 * Happy path: turn -> a stream with initial events, or pages of a list and then a stream
 * -> events -> the server ends the stream -> pause -> turn, from the last version seen.
 * What else may happen: 410, as a status or as an event -> the version is forgotten, so
 * the next turn lists; a server without WatchList refuses the first stream (400, 422) or
 * never closes its initial events -> pages from then on; a line that is no event, a lost
 * connection, silence -> pause, longer each time, then on from the last version; three
 * failures in a row, or silence without a single event
 * -> list, since the version itself may be what is wrong (a store restored from a
 * backup).
 *
 * Lock: see watch_loop.h.
 */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"
#include "status.h"
#include "watch_loop.h"

#define IDLE_DEFAULT_MS 150000u
#define RETRY_DEFAULT_MS 100u
#define RETRY_MOST_DEFAULT_MS 10000u
#define RETRY_AFTER_MOST_MS 60000u
#define FAILURES_TO_LIST 3u

/* ---- small things ---- */

uint64_t hami_internal_watch_random(struct hami_internal_watch *watch, uint64_t bound)
{
    /* xorshift64*: jitter only has to differ between processes. */
    watch->random ^= watch->random >> 12;
    watch->random ^= watch->random << 25;
    watch->random ^= watch->random >> 27;
    return bound == 0 ? 0 : (watch->random * UINT64_C(2685821657736338717)) % bound;
}

void hami_internal_watch_replace(char **target, const char *text)
{
    char *copy = text != NULL && text[0] != '\0' ? strdup(text) : NULL;
    free(*target);
    *target = copy;
}

void hami_internal_watch_set_synced(struct hami_internal_watch *watch, bool listed,
                                    bool standing)
{
    pthread_mutex_lock(&watch->mutex);
    watch->listed = listed && !watch->stopped && !watch->restart;
    watch->standing = standing;
    pthread_mutex_unlock(&watch->mutex);
}

/* True once nobody wants what the activity still tells. */
bool hami_internal_watch_is_over(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool over = watch->stopped || watch->restart;
    pthread_mutex_unlock(&watch->mutex);
    return over;
}

static void cancel_locked(struct hami_internal_watch *watch)
{
    switch (watch->activity) {
    case HAMI_INTERNAL_WATCH_PAUSE:
        hami_internal_http_timer_cancel(watch->client, watch->timer);
        break;
    case HAMI_INTERNAL_WATCH_PAGE:
        hami_internal_http_request_cancel(watch->client, watch->request);
        break;
    case HAMI_INTERNAL_WATCH_STREAM:
        hami_internal_http_stream_cancel(watch->client, watch->stream);
        break;
    case HAMI_INTERNAL_WATCH_NOTHING:
        break;
    }
}

void hami_internal_watch_cancel(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    cancel_locked(watch);
    pthread_mutex_unlock(&watch->mutex);
}

static void free_watch(struct hami_internal_watch *watch)
{
    pthread_mutex_destroy(&watch->mutex);
    free(watch->path);
    free(watch->selector);
    free(watch->version);
    free(watch->token);
    free(watch);
}

/* The activity's last callback was entered: its handle is gone. */
void hami_internal_watch_enter(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->activity = HAMI_INTERNAL_WATCH_NOTHING;
    watch->running = true;
    pthread_mutex_unlock(&watch->mutex);
}

/* Such a callback ends: if it started nothing and the watch was stopped, that was all. */
void hami_internal_watch_leave(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->running = false;
    bool last = watch->stopped && watch->activity == HAMI_INTERNAL_WATCH_NOTHING;
    pthread_mutex_unlock(&watch->mutex);
    if (last) {
        watch->sink.ended(watch->sink.data);
        free_watch(watch);
    }
}

/* ---- pauses ---- */

static void paused(void *data, int code)
{
    struct hami_internal_watch *watch = data;
    hami_internal_watch_enter(watch);
    if (code == 0 || code == HAMI_E_CANCELED) {
        hami_internal_watch_turn(watch);
    }
    hami_internal_watch_leave(watch);
}

void hami_internal_watch_pause(struct hami_internal_watch *watch, uint64_t delay_ms)
{
    int code = 0;
    pthread_mutex_lock(&watch->mutex);
    if (!watch->stopped) {
        code = hami_internal_http_timer_start(watch->client, delay_ms, paused, watch,
                                              &watch->timer);
        watch->activity =
            code == 0 ? HAMI_INTERNAL_WATCH_PAUSE : HAMI_INTERNAL_WATCH_NOTHING;
    }
    pthread_mutex_unlock(&watch->mutex);
    if (code == HAMI_E_NOMEM) {
        hami_internal_watch_set_synced(watch, false, false);
        hami_internal_http_log(
            watch->client, HAMI_LOG_ERROR,
            "Watch of %s has ended for lack of memory; restart this process",
            watch->path);
    }
}

static uint64_t failure_delay(struct hami_internal_watch *watch, uint64_t retry_after_ms)
{
    uint64_t delay = watch->retry_ms;
    for (unsigned i = 1; i < watch->failures && delay < watch->retry_most_ms; i++) {
        delay *= 2;
    }
    if (delay > watch->retry_most_ms) {
        delay = watch->retry_most_ms;
    }
    delay = delay / 2 + hami_internal_watch_random(watch, delay / 2 + 1);
    if (retry_after_ms > RETRY_AFTER_MOST_MS) {
        retry_after_ms = RETRY_AFTER_MOST_MS;
    }
    return delay > retry_after_ms ? delay : retry_after_ms;
}

void hami_internal_watch_pause_after_failure(struct hami_internal_watch *watch,
                                             const struct hami_kubernetes_answer *answer)
{
    char text[256];
    watch->failures++;
    if ((watch->failures & (watch->failures - 1)) == 0 &&
        !hami_internal_watch_is_over(watch)) {
        const char *reason = watch->reason[0] != '\0'
                                 ? watch->reason
                                 : hami_internal_status_text(answer, text, sizeof(text));
        hami_internal_http_log(watch->client, HAMI_LOG_WARNING,
                               "Watch of %s is started again after failure %u: %s",
                               watch->path, watch->failures, reason);
    }
    if (watch->failures >= FAILURES_TO_LIST) {
        hami_internal_watch_replace(&watch->version, NULL);
    }
    hami_internal_watch_pause(watch, failure_delay(watch, answer->retry_after_ms));
}

/* ---- the loop ---- */

void hami_internal_watch_forget_version(struct hami_internal_watch *watch)
{
    hami_internal_watch_replace(&watch->version, NULL);
    hami_internal_watch_set_synced(watch, false, false);
}

void hami_internal_watch_turn(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool stopped = watch->stopped;
    bool restart = watch->restart;
    watch->restart = false;
    pthread_mutex_unlock(&watch->mutex);
    if (stopped) {
        return;
    }
    if (restart) {
        hami_internal_watch_forget_version(watch);
        hami_internal_watch_replace(&watch->token, NULL);
    }
    bool pages =
        watch->version == NULL && (watch->without_watch_list || watch->token != NULL);
    int code = pages ? hami_internal_watch_ask_page(watch)
                     : hami_internal_watch_open_stream(watch);
    if (code == HAMI_E_LIMIT) {
        hami_internal_watch_replace(&watch->version, NULL);
    }
    if (code < 0 && code != HAMI_E_CLOSED && code != HAMI_E_FORKED) {
        struct hami_kubernetes_answer none = {
            .size = sizeof(none), .code = code, .body = "", .text = hami_strerror(code)};
        hami_internal_watch_pause_after_failure(watch, &none);
    }
}

/* ---- for the other files ---- */

static struct hami_internal_watch *
new_watch(const struct hami_internal_watch_options *options)
{
    char selector[2048] = "";
    struct hami_internal_watch *watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        return NULL;
    }
    if (options->field_selector == NULL ||
        hami_internal_paths_escape(options->field_selector, selector, sizeof(selector))) {
        watch->selector = strdup(selector);
    }
    watch->path = strdup(options->path);
    watch->whole = options->whole;
    watch->client = options->client;
    watch->sink = options->sink;
    watch->idle_ms = options->idle_ms != 0 ? options->idle_ms : IDLE_DEFAULT_MS;
    watch->retry_ms = options->retry_ms != 0 ? options->retry_ms : RETRY_DEFAULT_MS;
    watch->retry_most_ms =
        options->retry_most_ms != 0 ? options->retry_most_ms : RETRY_MOST_DEFAULT_MS;
    watch->random = (hami_kubernetes_now() ^ (uint64_t)(uintptr_t)watch) | 1;
    pthread_mutex_init(&watch->mutex, NULL);
    if (watch->path == NULL || watch->selector == NULL) {
        free_watch(watch);
        return NULL;
    }
    return watch;
}

int hami_internal_watch_start(const struct hami_internal_watch_options *options,
                              struct hami_internal_watch **ret)
{
    struct hami_internal_watch *watch = new_watch(options);
    if (watch == NULL) {
        return HAMI_E_NOMEM;
    }
    *ret = watch;
    pthread_mutex_lock(&watch->mutex);
    int code =
        hami_internal_http_timer_start(watch->client, 0, paused, watch, &watch->timer);
    watch->activity = code == 0 ? HAMI_INTERNAL_WATCH_PAUSE : HAMI_INTERNAL_WATCH_NOTHING;
    pthread_mutex_unlock(&watch->mutex);
    if (code < 0) {
        free_watch(watch);
    }
    return code;
}

void hami_internal_watch_restart(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->restart = true;
    watch->listed = false;
    cancel_locked(watch);
    pthread_mutex_unlock(&watch->mutex);
}

void hami_internal_watch_stop(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->stopped = true;
    watch->listed = false;
    cancel_locked(watch);
    bool idle = watch->activity == HAMI_INTERNAL_WATCH_NOTHING && !watch->running;
    pthread_mutex_unlock(&watch->mutex);
    if (idle) {
        watch->sink.ended(watch->sink.data);
        free_watch(watch);
    }
}

bool hami_internal_watch_is_synced(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool synced = watch->listed && watch->standing;
    pthread_mutex_unlock(&watch->mutex);
    return synced;
}
