/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The --help text, made from a command's table.
 */
#include "flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 88
#define HELP_INDENT 8

static void write_wrapped(FILE *out, const char *text, int indent)
{
    int column = 0;
    while (*text != '\0') {
        int word = (int)strcspn(text, " ");
        if (column != 0 && column + 1 + word > HELP_WIDTH) {
            (void)fputc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%*s%.*s", column == 0 ? indent : 1, "", word, text);
        text += word;
        text += strspn(text, " ");
    }
    (void)fputc('\n', out);
}

/* "(1s to 1m0s)" behind what has a range. */
static void write_range(FILE *out, const struct hamid_flag *flag)
{
    char minimum[32];
    char maximum[32];
    if (flag->minimum == 0 && flag->maximum == 0) {
        return;
    }
    if (flag->kind == HAMID_FLAG_DURATION) {
        hamid_duration_format(flag->minimum, minimum, sizeof(minimum));
        hamid_duration_format(flag->maximum, maximum, sizeof(maximum));
    } else if (flag->kind == HAMID_FLAG_NUMBER) {
        (void)snprintf(minimum, sizeof(minimum), "%llu",
                       (unsigned long long)flag->minimum);
        (void)snprintf(maximum, sizeof(maximum), "%llu",
                       (unsigned long long)flag->maximum);
    } else {
        return;
    }
    if (flag->maximum != 0) {
        (void)fprintf(out, "  (%s to %s)", minimum, maximum);
    } else {
        (void)fprintf(out, "  (at least %s)", minimum);
    }
}

static void write_flag(FILE *out, const struct hamid_flag *flag)
{
    const char *dashes = strlen(flag->name) == 1 ? "-" : "--";
    (void)fprintf(out, "  %s%s", dashes, flag->name);
    if (flag->argument != NULL) {
        (void)fprintf(out, "%s%s", strlen(flag->name) == 1 ? "=" : " ", flag->argument);
    }
    if (flag->kind == HAMID_FLAG_LIST || flag->kind == HAMID_FLAG_PAIRS) {
        (void)fputs("  (may be repeated)", out);
    }
    for (const char *alias = flag->aliases; alias != NULL && *alias != '\0';) {
        int word = (int)strcspn(alias, " ");
        (void)fprintf(out, ", %s%.*s", word == 1 ? "-" : "--", word, alias);
        alias += word;
        alias += strspn(alias, " ");
    }
    write_range(out, flag);
    (void)fputc('\n', out);
    write_wrapped(out, flag->help, HELP_INDENT);
    if ((flag->traits & HAMID_FLAG_RELOADABLE) != 0) {
        write_wrapped(out, "A new value counts from SIGHUP on.", HELP_INDENT);
    }
}

char *hamid_flags_help(const struct hamid_command *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    (void)fprintf(out, "usage: %s %s\n\n", command->name, command->usage);
    write_wrapped(out, command->summary, 0);
    (void)fputs("\nFlags (durations are written as 30s, 200ms or 1m30s):\n", out);
    for (const struct hamid_flag *flag = command->flags; flag->name != NULL; flag++) {
        if (flag->kind != HAMID_FLAG_IGNORED) {
            write_flag(out, flag);
        }
    }
    (void)fputs("  --help\n        Shows this text.\n", out);
    if (command->closing != NULL) {
        (void)fprintf(out, "\n%s\n", command->closing);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
