/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How text looks: colours on a terminal alone, and not where NO_COLOR is set.
 */
#ifndef HAMICTL_STYLE_H
#define HAMICTL_STYLE_H

#include <stdbool.h>
#include <stdio.h>

enum style_tone {
    TONE_PLAIN = 0,
    TONE_GOOD,
    TONE_WARNING,
    TONE_BAD,
    TONE_QUIET,
    TONE_STRONG
};

/* True if what goes there may be coloured: a terminal, not TERM=dumb, NO_COLOR not set.
 */
bool style_is_coloured(FILE *out);

/* The sequence that begins a tone, and the one that ends each: "" where there is none. */
const char *style_begin(FILE *out, enum style_tone tone);
const char *style_end(FILE *out, enum style_tone tone);

/* The tone's name for libsmartcols; NULL for plain. */
const char *style_colour(enum style_tone tone);

#endif
