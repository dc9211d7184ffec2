/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines and their --help, both made from one table. No output, no exit: the
 * caller decides.
 */
#include "flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HELP_WIDTH 88
#define HELP_INDENT 8

/* ---- reading -------------------------------------------------------------------- */

static bool is_alias(const char *aliases, const char *name, size_t length)
{
    while (aliases != NULL && *aliases != '\0') {
        size_t word = strcspn(aliases, " ");
        if (word == length && strncmp(aliases, name, length) == 0) {
            return true;
        }
        aliases += word + strspn(aliases + word, " ");
    }
    return false;
}

static const struct hamid_flag *find_flag(const struct hamid_flag *flags,
                                          const char *name, size_t length)
{
    for (; flags->name != NULL; flags++) {
        if ((strlen(flags->name) == length && strncmp(flags->name, name, length) == 0) ||
            is_alias(flags->aliases, name, length)) {
            return flags;
        }
    }
    return NULL;
}

static enum hamid_flags_result read_duration(const struct hamid_flag *flag,
                                             const char *text, char *error)
{
    uint64_t nanoseconds = 0;
    char minimum[32];
    char maximum[32];
    int status = hamid_duration_parse(text, &nanoseconds);
    uint64_t milliseconds = nanoseconds / 1000000;
    if (status == 0 && milliseconds >= flag->minimum &&
        (flag->maximum == 0 || milliseconds <= flag->maximum)) {
        *(uint64_t *)flag->value = milliseconds;
        return HAMID_FLAGS_OK;
    }
    hamid_duration_format(flag->minimum, minimum, sizeof(minimum));
    hamid_duration_format(flag->maximum, maximum, sizeof(maximum));
    (void)snprintf(
        error, HAMID_FLAG_ERROR_MAX,
        "--%s: '%.64s' is no duration such as 30s, 200ms or 1m30s of at least %s%s%s",
        flag->name, text, minimum, flag->maximum != 0 ? " and at most " : "",
        flag->maximum != 0 ? maximum : "");
    return HAMID_FLAGS_WRONG;
}

static enum hamid_flags_result read_number(const struct hamid_flag *flag,
                                           const char *text, char *error)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
    if (is_number && value >= flag->minimum &&
        (flag->maximum == 0 || value <= flag->maximum)) {
        *(uint64_t *)flag->value = value;
        return HAMID_FLAGS_OK;
    }
    uint64_t maximum = flag->maximum != 0 ? flag->maximum : UINT64_MAX;
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                   "--%s: '%.64s' is no whole number from %llu to %llu", flag->name, text,
                   (unsigned long long)flag->minimum, (unsigned long long)maximum);
    return HAMID_FLAGS_WRONG;
}

static enum hamid_flags_result read_boolean(const struct hamid_flag *flag,
                                            const char *text, char *error)
{
    if (text == NULL || strcmp(text, "true") == 0) {
        *(bool *)flag->value = true;
        return HAMID_FLAGS_OK;
    }
    if (strcmp(text, "false") == 0) {
        *(bool *)flag->value = false;
        return HAMID_FLAGS_OK;
    }
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "--%s: '%.64s' is neither true nor false",
                   flag->name, text);
    return HAMID_FLAGS_WRONG;
}

static enum hamid_flags_result append(const struct hamid_flag *flag,
                                      struct hamid_flag_list *list, const char *text,
                                      char *error)
{
    if (list->count == HAMID_FLAG_LIST_MAX) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "--%s: given more than %d times",
                       flag->name, HAMID_FLAG_LIST_MAX);
        return HAMID_FLAGS_WRONG;
    }
    list->values[list->count++] = text;
    return HAMID_FLAGS_OK;
}

static enum hamid_flags_result read_value(const struct hamid_flag *flag, const char *text,
                                          char *error)
{
    if (flag->ret_given != NULL) {
        *flag->ret_given = true;
    }
    switch (flag->kind) {
    case HAMID_FLAG_TEXT:
        *(const char **)flag->value = text;
        return HAMID_FLAGS_OK;
    case HAMID_FLAG_LIST:
        return append(flag, flag->value, text, error);
    case HAMID_FLAG_DURATION:
        return read_duration(flag, text, error);
    case HAMID_FLAG_NUMBER:
        return read_number(flag, text, error);
    case HAMID_FLAG_BOOLEAN:
        return read_boolean(flag, text, error);
    case HAMID_FLAG_IGNORED:
        if (flag->value != NULL) {
            return append(flag, flag->value, flag->name, error);
        }
        return HAMID_FLAGS_OK;
    }
    return HAMID_FLAGS_WRONG;
}

/* A flag's value stands after '=' or is the next word; an ignored one may have none at
 * all. */
static const char *find_value(const struct hamid_flag *flag, const char *equals, int argc,
                              char *const *argv, int *at)
{
    if (equals != NULL) {
        return equals + 1;
    }
    if (flag->kind == HAMID_FLAG_BOOLEAN || *at + 1 >= argc) {
        return NULL;
    }
    if (flag->kind == HAMID_FLAG_IGNORED && argv[*at + 1][0] == '-') {
        return NULL;
    }
    return argv[++*at];
}

static enum hamid_flags_result read_flag(const struct hamid_command *command, int argc,
                                         char *const *argv, int *at, char *error)
{
    const char *word = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct hamid_flag *flag = find_flag(command->flags, word, length);
    if (flag == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                       "--%.*s is not known here; '%s --help' lists the flags",
                       length < 64 ? (int)length : 64, word, command->name);
        return HAMID_FLAGS_WRONG;
    }
    const char *value = find_value(flag, equals, argc, argv, at);
    if (value == NULL && flag->kind != HAMID_FLAG_BOOLEAN &&
        flag->kind != HAMID_FLAG_IGNORED) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "--%s needs a value: %s", flag->name,
                       flag->argument != NULL ? flag->argument : "a text");
        return HAMID_FLAGS_WRONG;
    }
    return read_value(flag, value, error);
}

/* ---- help ----------------------------------------------------------------------- */

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

static void write_flag(FILE *out, const struct hamid_flag *flag)
{
    const char *dashes = strlen(flag->name) == 1 ? "-" : "--";
    (void)fprintf(out, "  %s%s", dashes, flag->name);
    if (flag->argument != NULL) {
        (void)fprintf(out, "%s%s", strlen(flag->name) == 1 ? "=" : " ", flag->argument);
    }
    if (flag->kind == HAMID_FLAG_LIST) {
        (void)fputs("  (may be repeated)", out);
    }
    for (const char *alias = flag->aliases; alias != NULL && *alias != '\0';) {
        int word = (int)strcspn(alias, " ");
        (void)fprintf(out, ", %s%.*s", word == 1 ? "-" : "--", word, alias);
        alias += word;
        alias += strspn(alias, " ");
    }
    (void)fputc('\n', out);
    write_wrapped(out, flag->help, HELP_INDENT);
}

/* ---- public --------------------------------------------------------------------- */

enum hamid_flags_result hamid_flags_parse(const struct hamid_command *command, int argc,
                                          char *const *argv,
                                          struct hamid_flag_list *arguments, char *error)
{
    bool only_arguments = false;
    for (int i = 0; i < argc; i++) {
        enum hamid_flags_result result = HAMID_FLAGS_OK;
        if (!only_arguments && strcmp(argv[i], "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
                return HAMID_FLAGS_HELP;
            }
            result = read_flag(command, argc, argv, &i, error);
        } else if (arguments == NULL || arguments->count == HAMID_FLAG_LIST_MAX) {
            (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "'%.64s' is one word too many",
                           argv[i]);
            result = HAMID_FLAGS_WRONG;
        } else {
            arguments->values[arguments->count++] = argv[i];
        }
        if (result != HAMID_FLAGS_OK) {
            return result;
        }
    }
    return HAMID_FLAGS_OK;
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
