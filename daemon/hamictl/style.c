/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See style.h. */
#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *sequence;
    const char *colour;
} tones[] = {
    [TONE_PLAIN] = {"", NULL},
    [TONE_GOOD] = {"\033[32m", "green"},
    [TONE_WARNING] = {"\033[33m", "brown"},
    [TONE_BAD] = {"\033[1;31m", "red"},
    [TONE_QUIET] = {"\033[2m", "darkgray"},
    [TONE_STRONG] = {"\033[1m", NULL},
};

bool style_is_coloured(FILE *out)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    return isatty(fileno(out)) == 1 && (no_colour == NULL || no_colour[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

const char *style_begin(FILE *out, enum style_tone tone)
{
    return style_is_coloured(out) ? tones[tone].sequence : "";
}

const char *style_end(FILE *out, enum style_tone tone)
{
    return tone != TONE_PLAIN && style_is_coloured(out) ? "\033[0m" : "";
}

const char *style_colour(enum style_tone tone)
{
    return tones[tone].colour;
}
