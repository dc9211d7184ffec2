/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a lock is held, of late, and what that means for whoever waits. Pure: the
 * caller has the clock and the lock.
 *
 * The pace is the mean of the middle half of the last holds: a stalled owner, or a bind
 * that failed at once, moves it by nothing. It is not known before a few holds were
 * seen, nor long after the last: then nobody is refused for it.
 */
#ifndef HAMI_LIB_PACE_H
#define HAMI_LIB_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define HAMI_INTERNAL_PACE_HOLDS 16
#define HAMI_INTERNAL_PACE_LEAST 4 /* fewer holds are no pace */
#define HAMI_INTERNAL_PACE_LIFE_NS UINT64_C(600000000000)

struct hami_internal_pace {
    uint32_t holds_us[HAMI_INTERNAL_PACE_HOLDS]; /* the last, in a ring */
    uint32_t count;                              /* ever seen, up to UINT32_MAX */
    uint32_t average_us; /* 0 = not measured; `stale`: to be made anew */
    bool stale;
    uint64_t last_ns; /* when the last hold ended */
};

/* A hold has ended. */
void hami_internal_pace_add(struct hami_internal_pace *pace, uint64_t held_ns,
                            uint64_t now_ns);

/* How long a hold lasts; 0 = not measured. */
uint64_t hami_internal_pace_hold(struct hami_internal_pace *pace, uint64_t now_ns);

/*
 * How long it takes until somebody's turn comes.
 * @hold_ns    from hami_internal_pace_hold(); 0 gives 0
 * @ahead      how many are served before
 * @permits    owners at a time
 * @standing   permits that are held now
 * @oldest_ns  for how long the oldest of these is held; means nothing where none is
 */
uint64_t hami_internal_pace_expect(uint64_t hold_ns, uint64_t ahead, uint64_t permits,
                                   uint64_t standing, uint64_t oldest_ns);

#endif
