/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skewed-clock: to be preloaded into a program, whose wall clock is then wrong by as many
 * seconds as SKEWED_CLOCK_SECONDS says, 0 where it says nothing. Clocks that only count
 * stay right, as they do on a computer whose clock is set wrong. No state, no locks.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

#define SHOWN __attribute__((visibility("default")))

static time_t skew(void)
{
    const char *text = getenv("SKEWED_CLOCK_SECONDS");
    return text != NULL ? (time_t)strtol(text, NULL, 10) : 0;
}

SHOWN int clock_gettime(clockid_t clock, struct timespec *ret)
{
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(clock, ret);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        ret->tv_sec += skew();
    }
    return status;
}

SHOWN int gettimeofday(struct timeval *restrict ret, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    int status = clock_gettime(CLOCK_REALTIME, &now);
    ret->tv_sec = now.tv_sec;
    ret->tv_usec = now.tv_nsec / 1000;
    return status;
}

SHOWN time_t time(time_t *ret)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (ret != NULL) {
        *ret = now.tv_sec;
    }
    return now.tv_sec;
}
