/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows one collection of objects, metadata only unless asked for more: a list, then a
 * watch from the list's version, for as long as nobody stops it. Where the server streams
 * the list (WatchList) that is used.
 *
 *  W1  All functions of the sink run on the client's thread, one at a time, with no lock
 * held. W2  One request is open at a time, so no result of an older one can come after a
 * newer one's. W3  A list asks for no version: only such a list is the truth.
 * list_complete comes only when a whole list of one version was seen after list_begins.
 *  W4  After stop a function of the sink may still be running, or about to; then comes
 * `ended`, once, and nothing after it.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_WATCH_H
#define HAMI_INTERNAL_KUBERNETES_WATCH_H

#include <jansson.h>

#include "http.h"

struct hami_internal_watch;

struct hami_internal_watch_sink {
    void (*list_begins)(void *data);
    void (*changed)(void *data, const json_t *object); /* also each object of a list */
    void (*gone)(void *data, const json_t *object); /* deleted, or no longer selected */
    void (*list_complete)(void *data); /* what was not named since list_begins is gone */
    void (*ended)(void *data);
    void *data;
};

struct hami_internal_watch_options {
    hami_kubernetes *client;
    const char *path;           /* copied: "/api/v1/nodes" */
    const char *field_selector; /* copied; NULL = all */
    bool whole;                 /* whole objects, not their metadata alone */
    uint64_t
        idle_ms; /* a watch without a byte for this long is begun again; 0 = 150000 */
    uint64_t retry_ms;      /* first pause after a failure, doubled by each; 0 = 100 */
    uint64_t retry_most_ms; /* 0 = 10000 */
    struct hami_internal_watch_sink sink;
};

/* Starts. Returns 0, or NOMEM, CLOSED, FORKED, LIMIT (path and selector are too long): no
 * `ended` then. */
int hami_internal_watch_start(const struct hami_internal_watch_options *options,
                              struct hami_internal_watch **ret);

/* Lists again from the start, as after a 410. MT-Safe; a lock may be held. */
void hami_internal_watch_restart(struct hami_internal_watch *watch);

/* Ends it; the watch must not be used afterwards. MT-Safe. A lock may be held unless
 * `ended` takes it: where nothing is in flight `ended` comes from within. */
void hami_internal_watch_stop(struct hami_internal_watch *watch);

/* True while a complete list was seen and the watch that follows it stands. MT-Safe. */
bool hami_internal_watch_is_synced(struct hami_internal_watch *watch);

#endif
