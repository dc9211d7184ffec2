/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a blocking call sleeps until another thread has ended what it waits for. Who ends
 * it marks that under the node's mutex and wakes the sleeper when the mutex is free
 * again: one switch of threads, where a condition variable, which has to be signalled
 * while its memory is sure to be there, costs three. A futex may be woken although its
 * memory is gone or serves something else by then: at worst somebody looks once more.
 * That is why it is used bare here. `state` is written with the node's mutex held only;
 * the kernel reads it without.
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

enum { PARKING_AWAKE = 0, PARKING_ASLEEP, PARKING_ENDED };

/* With the mutex on entry and on return; it is free meanwhile. Returns true if `until_ns`
 * (of CLOCK_MONOTONIC; HAMI_DEADLINE_NEVER = no end) has come; may also return early. */
static inline bool park_sleep(struct hami_internal_parking *parking,
                              pthread_mutex_t *mutex, uint64_t until_ns)
{
    struct timespec until = moment_timespec(until_ns);

    atomic_store(&parking->state, PARKING_ASLEEP);
    (void)pthread_mutex_unlock(mutex);
    long failed = syscall(SYS_futex, &parking->state, FUTEX_WAIT_BITSET_PRIVATE,
                          PARKING_ASLEEP, until_ns == HAMI_DEADLINE_NEVER ? NULL : &until,
                          NULL, FUTEX_BITSET_MATCH_ANY);
    bool late = failed != 0 && errno == ETIMEDOUT;
    (void)pthread_mutex_lock(mutex);
    return late;
}

/* With the mutex. Returns true if somebody sleeps there, to be woken when it is free. */
static inline bool park_end(struct hami_internal_parking *parking)
{
    return atomic_exchange(&parking->state, PARKING_ENDED) == PARKING_ASLEEP;
}

/* With or without the mutex; nothing else is done with this address. */
static inline void park_wake(atomic_uint *state)
{
    (void)syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

#endif
