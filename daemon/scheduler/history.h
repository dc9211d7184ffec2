/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of binds lately: a ring of the last happenings, for people who look.
 * Bounded, in memory alone; all of it runs on the loop's thread.
 */
#ifndef HAMID_SCHEDULER_HISTORY_H
#define HAMID_SCHEDULER_HISTORY_H

#include <stdint.h>

#include "request.h"

#define HISTORY_MAX 512
#define HISTORY_TEXT_MAX 256

enum happening_kind {
    HAPPENING_GRANTED = 0, /* the pod got its node's lock */
    HAPPENING_BOUND,       /* its Binding is written; Allocate is next */
    HAPPENING_REFUSED,     /* its bind ended without */
    HAPPENING_LOST         /* the lock that it held vanished */
};

/* One happening. Texts are "" where there are none. */
struct happening {
    uint64_t sequence; /* from 1, without gaps */
    uint64_t at_ns;    /* of the manager's clock */
    uint64_t span_ns;  /* from the bind's arrival until then */
    enum happening_kind kind;
    struct bind_request about;
    char text[HISTORY_TEXT_MAX]; /* why; cut to what has room */
};

struct history;

/* @told     called after each happening; NULL = nobody. NULL without memory. */
struct history *history_new(void (*told)(void *data), void *data);

/* Takes NULL, returns NULL. */
struct history *history_free(struct history *history);

/*
 * Adds one; the oldest gives way. Takes NULL for history.
 * @text     NULL = none
 */
void history_add(struct history *history, enum happening_kind kind,
                 const struct bind_request *about, uint64_t arrival_ns, const char *text);

/* The same about whoever owned what; names that do not fit are cut. */
void history_add_owner(struct history *history, enum happening_kind kind,
                       const struct hami_owner *owner, const char *node,
                       const char *text);

/* The sequence of the latest one; 0 before the first. */
uint64_t history_last(const struct history *history);

/* Borrowed until the next history_add(); NULL where it isn't, or is no longer, there. */
const struct happening *history_at(const struct history *history, uint64_t sequence);

/* "granted", "bound", "refused", "lost". */
const char *happening_name(enum happening_kind kind);

#endif
