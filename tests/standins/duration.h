/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Times of the stand-ins: duration texts, and milliseconds of the monotonic clock. */
#ifndef STANDIN_DURATION_H
#define STANDIN_DURATION_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline int64_t duration_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* "250ms", "1.5s", "30s", "2m"; -1: not such a text, or not between 1 ms and a day. */
static inline int64_t duration_parse_ms(const char *text)
{
    char *unit;
    double number = strtod(text, &unit);
    double factor = strcmp(unit, "ms") == 0  ? 1
                    : strcmp(unit, "s") == 0 ? 1000
                    : strcmp(unit, "m") == 0 ? 60000
                                             : 0;
    double result = number * factor;
    if (unit == text || !(result >= 1) || !(result <= 86400000)) {
        return -1;
    }
    return (int64_t)result;
}

#endif
