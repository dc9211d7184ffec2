/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Durations as text, in the form that Kubernetes' own flags and HAMi's variables have.
 * Pure.
 */
#include "flags.h"

#include <stdio.h>
#include <string.h>

#define NANOSECONDS_MAX (10000ull * 3600 * 1000000000)

struct unit {
    const char *name;
    uint64_t nanoseconds;
};

/* Longer names before their own beginnings. */
static const struct unit units[] = {
    {"ns", 1},          {"us", 1000},          {"\xc2\xb5s", 1000},     {"ms", 1000000},
    {"s", 1000000000u}, {"m", 60000000000ull}, {"h", 3600000000000ull},
};

static const struct unit *read_unit(const char **text)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        size_t length = strlen(units[i].name);
        if (strncmp(*text, units[i].name, length) == 0) {
            *text += length;
            return &units[i];
        }
    }
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits, at most 15 of them, so that nothing overflows; false if there is none. */
static bool read_digits(const char **text, uint64_t *ret, uint64_t *ret_scale)
{
    uint64_t value = 0;
    uint64_t scale = 1;
    int count = 0;
    for (; is_digit(**text); (*text)++) {
        if (++count > 15) {
            return false;
        }
        value = value * 10 + (uint64_t)(**text - '0');
        scale *= 10;
    }
    *ret = value;
    *ret_scale = scale;
    return count > 0;
}

/* One "12.5s". */
static bool read_part(const char **text, uint64_t *ret_ns)
{
    uint64_t whole = 0;
    uint64_t fraction = 0;
    uint64_t scale = 1;
    bool has_digits = read_digits(text, &whole, &scale);
    scale = 1;
    if (**text == '.') {
        (*text)++;
        if (!read_digits(text, &fraction, &scale) && !has_digits) {
            return false;
        }
        has_digits = true;
    }
    const struct unit *unit = has_digits ? read_unit(text) : NULL;
    if (unit == NULL || whole > NANOSECONDS_MAX / unit->nanoseconds) {
        return false;
    }
    *ret_ns =
        whole * unit->nanoseconds +
        (uint64_t)((double)fraction / (double)scale * (double)unit->nanoseconds + 0.5);
    return true;
}

int hamid_duration_parse(const char *text, uint64_t *ret_ns)
{
    uint64_t total = 0;
    if (strcmp(text, "0") == 0) {
        *ret_ns = 0;
        return 0;
    }
    if (*text == '+') {
        text++;
    }
    do {
        uint64_t part = 0;
        if (!read_part(&text, &part)) {
            return -1;
        }
        total += part;
        if (total > NANOSECONDS_MAX) {
            return -1;
        }
    } while (*text != '\0');
    *ret_ns = total;
    return 0;
}

void hamid_duration_format(uint64_t milliseconds, char *buffer, size_t size)
{
    char seconds[32];
    uint64_t whole = milliseconds / 1000;
    unsigned rest = (unsigned)(milliseconds % 1000);
    if (milliseconds > 0 && whole == 0) {
        (void)snprintf(buffer, size, "%ums", rest);
        return;
    }
    if (rest == 0) {
        (void)snprintf(seconds, sizeof(seconds), "%us", (unsigned)(whole % 60));
    } else {
        (void)snprintf(seconds, sizeof(seconds), "%u.%03u", (unsigned)(whole % 60), rest);
        size_t end = strlen(seconds);
        while (seconds[end - 1] == '0') {
            end--;
        }
        seconds[end] = 's';
        seconds[end + 1] = '\0';
    }
    if (whole < 60) {
        (void)snprintf(buffer, size, "%s", seconds);
    } else if (whole < 3600) {
        (void)snprintf(buffer, size, "%um%s", (unsigned)(whole / 60), seconds);
    } else {
        (void)snprintf(buffer, size, "%lluh%um%s", (unsigned long long)(whole / 3600),
                       (unsigned)(whole / 60 % 60), seconds);
    }
}
