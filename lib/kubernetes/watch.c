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
 * `mutex` guards what is so marked; everything else belongs to the client's thread. It is
 * held over starting and cancelling requests (no callback runs inside these), never over
 * the sink.
 */
#include "watch.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "status.h"
#include "support.h"

#define IDLE_DEFAULT_MS 150000u
#define RETRY_DEFAULT_MS 100u
#define RETRY_MOST_DEFAULT_MS 10000u
#define RETRY_AFTER_MOST_MS 60000u
#define PAGE_SIZE 500
#define PAGE_TIMEOUT_MS 30000u
#define LASTED_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define FAILURES_TO_LIST 3u

enum activity {
    NOTHING =
        0, /* only inside a callback of ours, or for good once the client is closed */
    PAUSE,
    PAGE,
    STREAM
};

struct hami_internal_watch {
    hami_kubernetes *client;
    char *path;
    char *selector; /* escaped; "" = none */
    uint64_t idle_ms;
    uint64_t retry_ms;
    uint64_t retry_most_ms;
    struct hami_internal_watch_sink sink;

    pthread_mutex_t mutex;
    enum activity activity;                     /* mutex */
    struct hami_internal_http_timer *timer;     /* mutex; with PAUSE */
    struct hami_internal_http_request *request; /* mutex; with PAGE */
    struct hami_internal_http_stream *stream;   /* mutex; with STREAM */
    bool running;  /* mutex: one of our callbacks is under way */
    bool stopped;  /* mutex */
    bool restart;  /* mutex: list again */
    bool listed;   /* mutex: a complete list was seen, no 410 since */
    bool standing; /* mutex: the watch after it is open */

    bool without_watch_list;
    bool initial;  /* the stream carries initial events that are not complete */
    bool progress; /* the stream gave an event */
    bool expired;  /* the stream said 410 */
    bool broken;   /* the stream said something that is no event */
    char *version; /* to go on from; NULL = list */
    char *token;   /* to go on with the next page; NULL = first page */
    uint64_t opened_ns;
    uint64_t random;
    char reason[128];  /* why the stream is no good, where its answer can't tell; "" = it
                          can */
    unsigned failures; /* in a row */
    unsigned streams;
};

static void turn(struct hami_internal_watch *watch);

/* ---- small things
 * ----------------------------------------------------------------------------- */

static uint64_t random_below(struct hami_internal_watch *watch, uint64_t bound)
{
    /* xorshift64*: jitter only has to differ between processes. */
    watch->random ^= watch->random >> 12;
    watch->random ^= watch->random << 25;
    watch->random ^= watch->random >> 27;
    return bound == 0 ? 0 : (watch->random * UINT64_C(2685821657736338717)) % bound;
}

static void replace_text(char **target, const char *text)
{
    char *copy = text != NULL && text[0] != '\0' ? strdup(text) : NULL;
    free(*target);
    *target = copy;
}

static void set_synced(struct hami_internal_watch *watch, bool listed, bool standing)
{
    pthread_mutex_lock(&watch->mutex);
    watch->listed = listed && !watch->stopped && !watch->restart;
    watch->standing = standing;
    pthread_mutex_unlock(&watch->mutex);
}

/* True once nobody wants what the activity still tells. */
static bool is_over(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    bool over = watch->stopped || watch->restart;
    pthread_mutex_unlock(&watch->mutex);
    return over;
}

static void cancel_locked(struct hami_internal_watch *watch)
{
    switch (watch->activity) {
    case PAUSE:
        hami_internal_http_timer_cancel(watch->client, watch->timer);
        break;
    case PAGE:
        hami_internal_http_request_cancel(watch->client, watch->request);
        break;
    case STREAM:
        hami_internal_http_stream_cancel(watch->client, watch->stream);
        break;
    case NOTHING:
        break;
    }
}

static void cancel(struct hami_internal_watch *watch)
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
static void enter(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->activity = NOTHING;
    watch->running = true;
    pthread_mutex_unlock(&watch->mutex);
}

/* Such a callback ends: if it started nothing and the watch was stopped, that was all. */
static void leave(struct hami_internal_watch *watch)
{
    pthread_mutex_lock(&watch->mutex);
    watch->running = false;
    bool last = watch->stopped && watch->activity == NOTHING;
    pthread_mutex_unlock(&watch->mutex);
    if (last) {
        watch->sink.ended(watch->sink.data);
        free_watch(watch);
    }
}

/* ---- pauses
 * ----------------------------------------------------------------------------------- */

static void paused(void *data, int code)
{
    struct hami_internal_watch *watch = data;
    enter(watch);
    if (code == 0 || code == HAMI_E_CANCELED) {
        turn(watch);
    }
    leave(watch);
}

static void pause_for(struct hami_internal_watch *watch, uint64_t delay_ms)
{
    pthread_mutex_lock(&watch->mutex);
    if (!watch->stopped && hami_internal_http_timer_start(watch->client, delay_ms, paused,
                                                          watch, &watch->timer) == 0) {
        watch->activity = PAUSE;
    }
    pthread_mutex_unlock(&watch->mutex);
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
    delay = delay / 2 + random_below(watch, delay / 2 + 1);
    if (retry_after_ms > RETRY_AFTER_MOST_MS) {
        retry_after_ms = RETRY_AFTER_MOST_MS;
    }
    return delay > retry_after_ms ? delay : retry_after_ms;
}

static void pause_after_failure(struct hami_internal_watch *watch,
                                const struct hami_kubernetes_answer *answer)
{
    char text[256];
    watch->failures++;
    if ((watch->failures & (watch->failures - 1)) == 0 && !is_over(watch)) {
        const char *reason = watch->reason[0] != '\0'
                                 ? watch->reason
                                 : hami_internal_status_text(answer, text, sizeof(text));
        hami_internal_http_log(watch->client, HAMI_LOG_WARNING,
                               "Watch of %s is started again after failure %u: %s",
                               watch->path, watch->failures, reason);
    }
    if (watch->failures >= FAILURES_TO_LIST) {
        replace_text(&watch->version, NULL);
    }
    pause_for(watch, failure_delay(watch, answer->retry_after_ms));
}

/* ---- pages of a list
 * -------------------------------------------------------------------------- */

static bool read_page(struct hami_internal_watch *watch, const json_t *list)
{
    const json_t *items = json_object_get(list, "items");
    const char *version = hami_internal_object_metadata(list, "resourceVersion");
    size_t at;
    json_t *item;
    if (version == NULL ||
        (items != NULL && !json_is_array(items) && !json_is_null(items))) {
        return false;
    }
    if (watch->token == NULL) {
        watch->sink.list_begins(watch->sink.data);
    }
    json_array_foreach(items, at, item)
    {
        watch->sink.changed(watch->sink.data, item);
    }
    replace_text(&watch->token, hami_internal_object_metadata(list, "continue"));
    if (watch->token == NULL) {
        watch->sink.list_complete(watch->sink.data);
        replace_text(&watch->version, version);
        set_synced(watch, true, false);
    }
    return true;
}

static void page_answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_watch *watch = data;
    json_t *list = NULL;
    enter(watch);
    if (answer->code == 0 && answer->status == 200 && !is_over(watch)) {
        list = hami_internal_object_parse(answer->body, answer->body_length);
    }
    if (is_over(watch) || (list != NULL && read_page(watch, list))) {
        turn(watch);
    } else {
        replace_text(&watch->token, NULL);
        watch->reason[0] = '\0';
        pause_after_failure(watch, answer);
    }
    json_decref(list);
    leave(watch);
}

static int ask_page(struct hami_internal_watch *watch)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_internal_text path = {0};
    char token[4096] = "";
    if (watch->token != NULL &&
        !hami_internal_paths_escape(watch->token, token, sizeof(token))) {
        /* Not a token that a server of ours would give: begin again without. */
        replace_text(&watch->token, NULL);
        token[0] = '\0';
    }
    hami_internal_text_format(&path, "%s?limit=%d%s%s%s%s", watch->path, PAGE_SIZE,
                              watch->selector[0] != '\0' ? "&fieldSelector=" : "",
                              watch->selector, token[0] != '\0' ? "&continue=" : "",
                              token);
    request.path = path.text;
    request.accept = HAMI_INTERNAL_OBJECT_METADATA_LIST;
    request.deadline_ns = hami_kubernetes_in_ms(PAGE_TIMEOUT_MS);
    int code = path.failed ? HAMI_E_NOMEM : 0;
    pthread_mutex_lock(&watch->mutex);
    if (code == 0 && !watch->stopped) {
        code = hami_internal_http_request_start(watch->client, &request, page_answered,
                                                watch, &watch->request);
        watch->activity = code == 0 ? PAGE : NOTHING;
    }
    pthread_mutex_unlock(&watch->mutex);
    hami_internal_text_done(&path);
    return code;
}

/* ---- streams
 * ---------------------------------------------------------------------------------- */

static void opened(void *data)
{
    struct hami_internal_watch *watch = data;
    watch->opened_ns = hami_kubernetes_now();
    if (is_over(watch)) {
        return;
    }
    if (watch->initial) {
        watch->sink.list_begins(watch->sink.data);
    } else {
        set_synced(watch, true, true);
    }
}

/* Ends the stream because of what it said. */
static void give_up(struct hami_internal_watch *watch, const char *reason)
{
    watch->broken = true;
    snprintf(watch->reason, sizeof(watch->reason), "%s", reason);
    cancel(watch);
}

static void take_bookmark(struct hami_internal_watch *watch,
                          const struct hami_internal_event *event)
{
    if (watch->initial && !event->initial_end) {
        /* A server that knows bookmarks but not initial events would never close them. */
        watch->without_watch_list = true;
        give_up(watch, "the initial events are not closed");
        return;
    }
    replace_text(&watch->version, event->version);
    if (watch->initial) {
        watch->initial = false;
        watch->sink.list_complete(watch->sink.data);
        set_synced(watch, true, true);
    }
}

static void take_event(struct hami_internal_watch *watch,
                       const struct hami_internal_event *event)
{
    switch (event->kind) {
    case HAMI_INTERNAL_EVENT_CHANGED:
        watch->sink.changed(watch->sink.data, event->object);
        break;
    case HAMI_INTERNAL_EVENT_DELETED:
        watch->sink.gone(watch->sink.data, event->object);
        break;
    case HAMI_INTERNAL_EVENT_BOOKMARK:
        take_bookmark(watch, event);
        return;
    case HAMI_INTERNAL_EVENT_ERROR:
        watch->expired = event->error_code == 410;
        give_up(watch, event->error_text);
        return;
    case HAMI_INTERNAL_EVENT_UNKNOWN:
        return;
    }
    /* A list that breaks off has no version to go on from. */
    if (!watch->initial && event->version != NULL) {
        replace_text(&watch->version, event->version);
    }
}

static void line_came(void *data, const char *line, size_t length)
{
    struct hami_internal_watch *watch = data;
    struct hami_internal_event event;
    if (is_over(watch) || watch->broken) {
        return;
    }
    if (hami_internal_event_parse(line, length, &event) < 0) {
        give_up(watch, "a line that is no event");
        return;
    }
    watch->progress = watch->progress || event.kind != HAMI_INTERNAL_EVENT_ERROR;
    take_event(watch, &event);
    hami_internal_event_done(&event);
}

/* A server that does not know WatchList says so at once. */
static bool lacks_watch_list(const struct hami_internal_watch *watch,
                             const struct hami_kubernetes_answer *answer)
{
    return watch->initial && answer->code == 0 &&
           (answer->status == 400 || answer->status == 422);
}

static void forget_version(struct hami_internal_watch *watch)
{
    replace_text(&watch->version, NULL);
    set_synced(watch, false, false);
}

/* What the end of a stream means, and what comes next. */
static void settle(struct hami_internal_watch *watch,
                   const struct hami_kubernetes_answer *answer)
{
    bool lasted =
        watch->progress ||
        (watch->opened_ns != 0 && hami_kubernetes_now() - watch->opened_ns >= LASTED_NS);
    bool expired = watch->expired || (answer->code == 0 && answer->status == 410);
    bool orderly = answer->code == 0 && answer->status == 200 && !watch->broken;
    if (lacks_watch_list(watch, answer) ||
        (watch->initial && watch->without_watch_list)) {
        watch->without_watch_list = true;
        turn(watch);
        return;
    }
    watch->failures = lasted ? 0 : watch->failures;
    if (expired || (answer->code == HAMI_E_TIMEDOUT && !watch->progress)) {
        forget_version(watch);
    }
    if (lasted && (orderly || expired)) {
        pause_for(watch, random_below(watch, watch->retry_ms / 2 + 1));
        return;
    }
    if (!orderly) {
        pthread_mutex_lock(&watch->mutex);
        watch->standing = false;
        pthread_mutex_unlock(&watch->mutex);
    }
    pause_after_failure(watch, answer);
}

static void stream_ended(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_watch *watch = data;
    enter(watch);
    if (is_over(watch)) {
        turn(watch);
    } else if (answer->code != HAMI_E_CLOSED) {
        settle(watch, answer);
    }
    leave(watch);
}

static int open_stream(struct hami_internal_watch *watch)
{
    struct hami_internal_text path = {0};
    char version[256] = "";
    struct hami_internal_http_stream_options options = {
        .accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY,
        .idle_timeout_ms = watch->idle_ms,
        .on_open = opened,
        .on_line = line_came,
        .on_end = stream_ended,
        .data = watch,
    };
    watch->initial = watch->version == NULL;
    watch->progress = watch->expired = watch->broken = false;
    watch->reason[0] = '\0';
    watch->opened_ns = 0;
    if (watch->version != NULL &&
        !hami_internal_paths_escape(watch->version, version, sizeof(version))) {
        return HAMI_E_LIMIT;
    }
    hami_internal_text_format(
        &path, "%s?watch=true&allowWatchBookmarks=true&timeoutSeconds=%u%s%s%s%s",
        watch->path, 300 + (unsigned)random_below(watch, 300),
        watch->selector[0] != '\0' ? "&fieldSelector=" : "", watch->selector,
        watch->initial ? "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                       : "&resourceVersion=",
        version);
    options.path = path.text;
    int code = path.failed ? HAMI_E_NOMEM : 0;
    pthread_mutex_lock(&watch->mutex);
    if (code == 0 && !watch->stopped) {
        code = hami_internal_http_stream_start(watch->client, &options, &watch->stream);
        watch->activity = code == 0 ? STREAM : NOTHING;
    }
    pthread_mutex_unlock(&watch->mutex);
    hami_internal_text_done(&path);
    if (code == 0 && watch->streams++ > 0) {
        hami_internal_http_count_watch_restart(watch->client);
    }
    return code;
}

/* ---- the loop
 * --------------------------------------------------------------------------------- */

static void turn(struct hami_internal_watch *watch)
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
        forget_version(watch);
        replace_text(&watch->token, NULL);
    }
    bool pages =
        watch->version == NULL && (watch->without_watch_list || watch->token != NULL);
    int code = pages ? ask_page(watch) : open_stream(watch);
    if (code == HAMI_E_LIMIT) {
        replace_text(&watch->version, NULL);
    }
    if (code < 0 && code != HAMI_E_CLOSED && code != HAMI_E_FORKED) {
        struct hami_kubernetes_answer none = {
            .size = sizeof(none), .code = code, .body = "", .text = hami_strerror(code)};
        pause_after_failure(watch, &none);
    }
}

/* ---- for the other files
 * ------------------------------------------------------------------------ */

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
    watch->activity = code == 0 ? PAUSE : NOTHING;
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
    bool idle = watch->activity == NOTHING && !watch->running;
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
