/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the list-and-watch loop share.
 *
 *   watch.c         life, pauses, and what comes next
 *   watch_list.c    pages of a list
 *   watch_stream.c  the stream of events, and what its end means
 *
 * `mutex` guards what is so marked; everything else belongs to the client's thread. It is
 * held over starting and cancelling requests (no callback runs inside these), never over
 * the sink.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_WATCH_LOOP_H
#define HAMI_INTERNAL_KUBERNETES_WATCH_LOOP_H

#include <pthread.h>

#include "watch.h"

enum hami_internal_watch_activity {
    HAMI_INTERNAL_WATCH_NOTHING =
        0, /* only inside a callback of ours, or for good once the client is closed */
    HAMI_INTERNAL_WATCH_PAUSE,
    HAMI_INTERNAL_WATCH_PAGE,
    HAMI_INTERNAL_WATCH_STREAM
};

struct hami_internal_watch {
    hami_kubernetes *client;
    char *path;
    char *selector; /* escaped; "" = none */
    bool whole;     /* ask for whole objects */
    uint64_t idle_ms;
    uint64_t retry_ms;
    uint64_t retry_most_ms;
    struct hami_internal_watch_sink sink;

    pthread_mutex_t mutex;
    enum hami_internal_watch_activity activity; /* mutex */
    struct hami_internal_http_timer *timer; /* mutex; with HAMI_INTERNAL_WATCH_PAUSE */
    struct hami_internal_http_request *request; /* mutex; with HAMI_INTERNAL_WATCH_PAGE */
    struct hami_internal_http_stream *stream; /* mutex; with HAMI_INTERNAL_WATCH_STREAM */
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

/* ---- watch.c ---- */

uint64_t hami_internal_watch_random(struct hami_internal_watch *watch, uint64_t bound);
void hami_internal_watch_replace(char **target, const char *text);
void hami_internal_watch_set_synced(struct hami_internal_watch *watch, bool listed,
                                    bool standing);

/* True once nobody wants what the activity still tells. */
bool hami_internal_watch_is_over(struct hami_internal_watch *watch);

/* Ends the activity soon. */
void hami_internal_watch_cancel(struct hami_internal_watch *watch);

/* Every last callback of an activity begins and ends with these two; the watch may be
 * gone afterwards. */
void hami_internal_watch_enter(struct hami_internal_watch *watch);
void hami_internal_watch_leave(struct hami_internal_watch *watch);

/* Starts the next activity: a page, or a stream. */
void hami_internal_watch_turn(struct hami_internal_watch *watch);

/* The next turn comes after a pause; after a failure a longer one each time. */
void hami_internal_watch_pause(struct hami_internal_watch *watch, uint64_t delay_ms);
void hami_internal_watch_pause_after_failure(struct hami_internal_watch *watch,
                                             const struct hami_kubernetes_answer *answer);

/* ---- watch_list.c, watch_stream.c: start an activity; 0, or NOMEM, CLOSED, FORKED,
 * LIMIT ---- */

int hami_internal_watch_ask_page(struct hami_internal_watch *watch);
int hami_internal_watch_open_stream(struct hami_internal_watch *watch);

/* Forgets the version: the next turn lists. */
void hami_internal_watch_forget_version(struct hami_internal_watch *watch);

#endif
