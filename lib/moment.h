/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until a moment of the system's monotonic clock: the conditions that all waits
 * of this library use, and deadlines in the form that they take. Pure.
 */
#ifndef HAMI_LIB_MOMENT_H
#define HAMI_LIB_MOMENT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include "internal.h"

/* A condition whose waits end by CLOCK_MONOTONIC. Returns 0, or -1 without memory. */
static inline int moment_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    if (pthread_condattr_init(&attributes) != 0) {
        return -1;
    }
    int failed = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    failed = failed ? failed : pthread_cond_init(condition, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    return failed ? -1 : 0;
}

/* A moment in nanoseconds; one far away stays within time_t. */
static inline struct timespec moment_timespec(uint64_t ns)
{
    uint64_t seconds = ns / NS_PER_S;

    return (struct timespec){.tv_sec =
                                 (time_t)(seconds < INT32_MAX ? seconds : INT32_MAX),
                             .tv_nsec = (long)(ns % NS_PER_S)};
}

#endif
