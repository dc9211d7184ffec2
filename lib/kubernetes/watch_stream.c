/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stream of events, with or without the list as its beginning, and what its end
 * means. Lock: see watch_loop.h.
 */
#include "watch_loop.h"

#include <stdio.h>

#include "object.h"
#include "paths.h"
#include "support.h"

#define LASTED_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)

static void opened(void *data)
{
    struct hami_internal_watch *watch = data;
    watch->opened_ns = hami_kubernetes_now();
    if (hami_internal_watch_is_over(watch)) {
        return;
    }
    if (watch->initial) {
        watch->sink.list_begins(watch->sink.data);
    } else {
        hami_internal_watch_set_synced(watch, true, true);
    }
}

/* Ends the stream because of what it said. */
static void give_up(struct hami_internal_watch *watch, const char *reason)
{
    watch->broken = true;
    snprintf(watch->reason, sizeof(watch->reason), "%s", reason);
    hami_internal_watch_cancel(watch);
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
    hami_internal_watch_replace(&watch->version, event->version);
    if (watch->initial) {
        watch->initial = false;
        watch->sink.list_complete(watch->sink.data);
        hami_internal_watch_set_synced(watch, true, true);
    }
}

static void take_event(struct hami_internal_watch *watch,
                       const struct hami_internal_event *event)
{
    switch (event->kind) {
    case HAMI_INTERNAL_EVENT_CHANGED:
        if (event->version != NULL) {
            hami_internal_http_count_sight(watch->client, event->version);
        }
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
        hami_internal_watch_replace(&watch->version, event->version);
    }
}

static void line_came(void *data, const char *line, size_t length)
{
    struct hami_internal_watch *watch = data;
    struct hami_internal_event event;
    if (hami_internal_watch_is_over(watch) || watch->broken) {
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

/* What the end of a stream means, and what comes next. */
static void settle(struct hami_internal_watch *watch,
                   const struct hami_kubernetes_answer *answer)
{
    /* Initial events that break off are no success, however many came. */
    bool lasted =
        !watch->initial &&
        (watch->progress || (watch->opened_ns != 0 &&
                             hami_kubernetes_now() - watch->opened_ns >= LASTED_NS));
    bool expired = watch->expired || (answer->code == 0 && answer->status == 410);
    bool orderly = answer->code == 0 && answer->status == 200 && !watch->broken;
    if (lacks_watch_list(watch, answer) ||
        (watch->initial && watch->without_watch_list)) {
        watch->without_watch_list = true;
        hami_internal_watch_turn(watch);
        return;
    }
    watch->failures = lasted ? 0 : watch->failures;
    if (expired || (answer->code == HAMI_E_TIMEDOUT && !watch->progress)) {
        hami_internal_watch_forget_version(watch);
    }
    if (lasted && (orderly || expired)) {
        hami_internal_watch_pause(
            watch, hami_internal_watch_random(watch, watch->retry_ms / 2 + 1));
        return;
    }
    if (!orderly) {
        pthread_mutex_lock(&watch->mutex);
        watch->standing = false;
        pthread_mutex_unlock(&watch->mutex);
    }
    hami_internal_watch_pause_after_failure(watch, answer);
}

static void stream_ended(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_watch *watch = data;
    hami_internal_watch_enter(watch);
    if (hami_internal_watch_is_over(watch)) {
        hami_internal_watch_turn(watch);
    } else if (answer->code != HAMI_E_CLOSED) {
        settle(watch, answer);
    }
    hami_internal_watch_leave(watch);
}

int hami_internal_watch_open_stream(struct hami_internal_watch *watch)
{
    struct hami_internal_text path = {0};
    char version[256] = "";
    struct hami_internal_http_stream_options options = {
        .accept = watch->whole ? NULL : HAMI_INTERNAL_OBJECT_METADATA_ONLY,
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
        watch->path, 300 + (unsigned)hami_internal_watch_random(watch, 300),
        watch->selector[0] != '\0' ? "&fieldSelector=" : "", watch->selector,
        watch->initial ? "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
                       : "&resourceVersion=",
        version);
    options.path = path.text;
    int code = path.failed ? HAMI_E_NOMEM : 0;
    pthread_mutex_lock(&watch->mutex);
    if (code == 0 && !watch->stopped) {
        code = hami_internal_http_stream_start(watch->client, &options, &watch->stream);
        watch->activity =
            code == 0 ? HAMI_INTERNAL_WATCH_STREAM : HAMI_INTERNAL_WATCH_NOTHING;
    }
    pthread_mutex_unlock(&watch->mutex);
    hami_internal_text_done(&path);
    if (code == 0 && watch->streams++ > 0) {
        hami_internal_http_count_watch_restart(watch->client);
    }
    return code;
}
