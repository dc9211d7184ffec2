/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes texts and numbers into a buffer, one behind the other: what is written at each
 * take and release, where printf would cost more than the lock. What does not fit is cut,
 * and the text ends with NUL all the same. Pure.
 */
#ifndef HAMI_LIB_PEN_H
#define HAMI_LIB_PEN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct hami_internal_pen {
    char *at, *end; /* end: the buffer's last byte, for the NUL */
};

/* @size  of the buffer, at least 1 */
static inline struct hami_internal_pen pen_on(char *buffer, size_t size)
{
    return (struct hami_internal_pen){buffer, buffer + size - 1};
}

static inline void pen_bytes(struct hami_internal_pen *pen, const char *bytes,
                             size_t count)
{
    size_t room = (size_t)(pen->end - pen->at);

    count = count < room ? count : room;
    memcpy(pen->at, bytes, count);
    pen->at += count;
    *pen->at = '\0';
}

static inline void pen_text(struct hami_internal_pen *pen, const char *text)
{
    pen_bytes(pen, text, strlen(text));
}

/* A text whose length the compiler knows. */
#define pen_literal(pen, text) pen_known((pen), (text), sizeof(text) - 1)
static inline __attribute__((always_inline)) void
pen_known(struct hami_internal_pen *pen, const char *text, size_t length)
{
    if (__builtin_expect((size_t)(pen->end - pen->at) >= length, 1)) {
        memcpy(pen->at, text, length);
        pen->at += length;
        *pen->at = '\0';
    } else {
        pen_bytes(pen, text, length);
    }
}

static inline void pen_number(struct hami_internal_pen *pen, uint64_t number)
{
    char digits[20];
    size_t first = sizeof(digits);

    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    pen_bytes(pen, digits + first, sizeof(digits) - first);
}

/* Cuts a text to a buffer. */
static inline void pen_copy(char *buffer, size_t size, const char *text)
{
    struct hami_internal_pen pen = pen_on(buffer, size);

    pen_text(&pen, text);
}

#endif
