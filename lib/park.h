/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a blocking call sleeps until another thread has ended what it waits for. Who ends
 * it marks that under the node's mutex and wakes the sleeper when the mutex is free
 * again: one switch of threads, where a condition variable, which has to be signalled
 * while its memory is sure to be there, costs three. What is slept on is therefore a word
 * of the manager, which outlives the call: several sleepers may share one, and look once
 * more when it was not for them. A word is raised under the mutex of whoever sleeps, and
 * only ever raised; the kernel compares it with what the sleeper read under that mutex,
 * so that no waking is missed.
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
    parking->word = &lock->parking_words[atomic_fetch_add(&lock->parkings, 1) %
                                         HAMI_INTERNAL_PARKING_WORDS];
    parking->asleep = false;
}

/* With the mutex on entry and on return; it is free meanwhile. Returns true if `until_ns`
 * (of CLOCK_MONOTONIC; HAMI_DEADLINE_NEVER = no end) has come; may also return early. */
static inline bool park_sleep(struct hami_internal_parking *parking,
                              pthread_mutex_t *mutex, uint64_t until_ns)
{
    struct timespec until = moment_timespec(until_ns);
    unsigned seen = atomic_load(parking->word);

    parking->asleep = true;
    (void)pthread_mutex_unlock(mutex);
    long failed = syscall(PARK_FUTEX, parking->word, FUTEX_WAIT_BITSET_PRIVATE, seen,
                          until_ns == HAMI_DEADLINE_NEVER ? NULL : &until, NULL,
                          FUTEX_BITSET_MATCH_ANY);
    bool late = failed != 0 && errno == ETIMEDOUT;
    (void)pthread_mutex_lock(mutex);
    parking->asleep = false;
    return late;
}

/* With the mutex. Returns the word to be woken when it is free; NULL = nobody sleeps. */
static inline atomic_uint *park_end(struct hami_internal_parking *parking)
{
    if (!parking->asleep) {
        return NULL;
    }
    atomic_fetch_add(parking->word, 1);
    return parking->word;
}

/* With or without the mutex. */
static inline void park_wake(atomic_uint *word)
{
    (void)syscall(PARK_FUTEX, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
