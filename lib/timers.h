/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which deadline is next: a pairing heap with its links inside the elements, so that
 * arming a timer never allocates. Pure: no clock, no lock; whoever owns the heap says
 * which lock guards it.
 */
#ifndef HAMI_LIB_TIMERS_H
#define HAMI_LIB_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hami_internal_timer {
    uint64_t due_ns;
    bool armed;
    uint8_t kind; /* the owner's mark: what the timer is embedded in */
    struct hami_internal_timer *child, *next,
        *previous; /* previous: left sibling, or parent */
};

struct hami_internal_heap {
    struct hami_internal_timer *root;
};

/* Arms a timer, or moves an armed one. HAMI_DEADLINE_NEVER disarms it. */
void hami_internal_timers_set(struct hami_internal_heap *heap,
                              struct hami_internal_timer *timer, uint64_t due_ns);

/* Disarms a timer; nothing if it is not armed. */
void hami_internal_timers_clear(struct hami_internal_heap *heap,
                                struct hami_internal_timer *timer);

/* When the next timer is due; UINT64_MAX if none is armed. */
uint64_t hami_internal_timers_next(const struct hami_internal_heap *heap);

/* Takes out the earliest timer if it is due at now_ns; NULL if none is. */
struct hami_internal_timer *hami_internal_timers_pop(struct hami_internal_heap *heap,
                                                     uint64_t now_ns);

#endif
