/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a blocking call sleeps until another thread has ended what it waits for. Neither
 * side needs the node's mutex for it: who ends it collects the sleeper
 * (hami_internal_after_wake) and makes its state DONE as the very last that it does with
 * the sleeper's memory, which is in the frame of the blocked call. The sleeper sleeps on
 * a word of the manager, which outlives the call: several sleepers may share one, and
 * look once more when it was not for them. (To look for it a while before going to sleep
 * makes nothing faster: a holder that is about to release is mostly not on a processor
 * then, and waits for this very one.) A word is raised after a sleeper is DONE; the
 * kernel compares it with what the sleeper read before it said that it sleeps, so that no
 * waking is missed.
 */
#ifndef HAMI_LIB_PARK_H
#define HAMI_LIB_PARK_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "moment.h"

/* The call whose moments are those of struct timespec: on 32 bits there may be two. */
#if defined(SYS_futex_time64) && (!defined(SYS_futex) || defined(__USE_TIME_BITS64))
#define PARK_FUTEX SYS_futex_time64
#else
#define PARK_FUTEX SYS_futex
#endif

/* Before it is slept on. */
static inline void park_init(struct hami_internal_parking *parking,
                             struct hami_nodelock *lock)
{
    uint64_t spread = (uint64_t)(uintptr_t)parking * UINT64_C(0x9e3779b97f4a7c15);

    /* Frames of different threads are far apart. */
    parking->word = &lock->parking_words[(spread >> 32) % HAMI_INTERNAL_PARKING_WORDS];
    atomic_init(&parking->state, PARK_AWAKE);
    parking->next = NULL;
}

/* What it waits for has ended, and belongs to the caller alone. */
static inline bool park_is_done(struct hami_internal_parking *parking)
{
    return atomic_load_explicit(&parking->state, memory_order_acquire) == PARK_DONE;
}

/* Sleeps until it is done. Returns true if `until_ns` (of CLOCK_MONOTONIC;
 * HAMI_DEADLINE_NEVER = no end) came before; may also return early. No lock is held. */
static inline bool park_sleep(struct hami_internal_parking *parking, uint64_t until_ns)
{
    struct timespec until = moment_timespec(until_ns);
    unsigned seen = atomic_load(parking->word);
    int awake = PARK_AWAKE;

    if (!atomic_compare_exchange_strong(&parking->state, &awake, PARK_ASLEEP)) {
        return false;
    }
    long failed = syscall(PARK_FUTEX, parking->word, FUTEX_WAIT_BITSET_PRIVATE, seen,
                          until_ns == HAMI_DEADLINE_NEVER ? NULL : &until, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    bool late = failed != 0 && errno == ETIMEDOUT;
    int asleep = PARK_ASLEEP;
    return atomic_compare_exchange_strong(&parking->state, &asleep, PARK_AWAKE) && late;
}

/* Ends it; the sleeper's memory may be gone at once. Returns the word to be woken;
 * NULL = it does not sleep. */
static inline atomic_uint *park_end(struct hami_internal_parking *parking)
{
    atomic_uint *word = parking->word;

    if (atomic_exchange(&parking->state, PARK_DONE) != PARK_ASLEEP) {
        return NULL;
    }
    atomic_fetch_add(word, 1);
    return word;
}

static inline void park_wake(atomic_uint *word)
{
    (void)syscall(PARK_FUTEX, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
