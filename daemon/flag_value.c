/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One option's value out of its text, wherever the text stood: command line, file or
 * environment. What is wrong is said without the option's name, which the caller knows.
 */
#include "flags.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool set_duration(const struct hamid_flag *flag, const char *text, char *error)
{
    uint64_t nanoseconds = 0;
    char minimum[32];
    char maximum[32];
    int status = hamid_duration_parse(text, &nanoseconds);
    uint64_t milliseconds = nanoseconds / 1000000;
    if (status == 0 && milliseconds >= flag->minimum &&
        (flag->maximum == 0 || milliseconds <= flag->maximum)) {
        *(uint64_t *)flag->value = milliseconds;
        return true;
    }
    hamid_duration_format(flag->minimum, minimum, sizeof(minimum));
    hamid_duration_format(flag->maximum, maximum, sizeof(maximum));
    (void)snprintf(
        error, HAMID_FLAG_ERROR_MAX,
        "'%.64s' is no duration such as 30s, 200ms or 1m30s of at least %s%s%s", text,
        minimum, flag->maximum != 0 ? " and at most " : "",
        flag->maximum != 0 ? maximum : "");
    return false;
}

static bool set_number(const struct hamid_flag *flag, const char *text, char *error)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    bool is_number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
    if (is_number && value >= flag->minimum &&
        (flag->maximum == 0 || value <= flag->maximum)) {
        *(uint64_t *)flag->value = value;
        return true;
    }
    uint64_t maximum = flag->maximum != 0 ? flag->maximum : UINT64_MAX;
    (void)snprintf(error, HAMID_FLAG_ERROR_MAX,
                   "'%.64s' is no whole number from %llu to %llu", text,
                   (unsigned long long)flag->minimum, (unsigned long long)maximum);
    return false;
}

static bool set_boolean(const struct hamid_flag *flag, const char *text, char *error)
{
    bool is_true = text == NULL || strcmp(text, "true") == 0;
    if (!is_true && strcmp(text, "false") != 0) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "'%.64s' is neither true nor false",
                       text);
        return false;
    }
    *(bool *)flag->value = is_true;
    return true;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t length = strlen(text);
    while (*choices != '\0') {
        size_t word = strcspn(choices, "|");
        if (word == length && strncmp(choices, text, length) == 0) {
            return true;
        }
        choices += word + strspn(choices + word, "|");
    }
    return false;
}

/* "a|b|c" as "a, b nor c". */
static void write_choices(const char *choices, char *buffer, size_t size)
{
    size_t length = 0;
    while (*choices != '\0' && length < size) {
        size_t word = strcspn(choices, "|");
        bool is_last = choices[word] == '\0';
        bool is_next_to_last = !is_last && strchr(choices + word + 1, '|') == NULL;
        int count = snprintf(buffer + length, size - length, "%.*s%s", (int)word, choices,
                             is_last           ? ""
                             : is_next_to_last ? " nor "
                                               : ", ");
        length += count > 0 ? (size_t)count : 0;
        choices += word + strspn(choices + word, "|");
    }
}

static bool set_text(const struct hamid_flag *flag, const char *text, char *error)
{
    char choices[128] = "";
    if (flag->choices != NULL && !is_choice(flag->choices, text)) {
        write_choices(flag->choices, choices, sizeof(choices));
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "'%.64s' is neither %s", text,
                       choices);
        return false;
    }
    *(const char **)flag->value = text;
    return true;
}

static bool append(struct hamid_flag_list *list, const char *text, char *error)
{
    if (list->count == HAMID_FLAG_LIST_MAX) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "given more than %d times",
                       HAMID_FLAG_LIST_MAX);
        return false;
    }
    list->values[list->count++] = text;
    return true;
}

static bool append_pair(const struct hamid_flag *flag, const char *text, char *error)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "'%.128s' is no %s", text,
                       flag->argument);
        return false;
    }
    return append(flag->value, text, error);
}

bool hamid_flag_set(const struct hamid_flag *flag, const char *text, char *error)
{
    if (flag->ret_given != NULL) {
        *flag->ret_given = true;
    }
    switch (flag->kind) {
    case HAMID_FLAG_TEXT:
        return set_text(flag, text, error);
    case HAMID_FLAG_LIST:
        return append(flag->value, text, error);
    case HAMID_FLAG_PAIRS:
        return append_pair(flag, text, error);
    case HAMID_FLAG_DURATION:
        return set_duration(flag, text, error);
    case HAMID_FLAG_NUMBER:
        return set_number(flag, text, error);
    case HAMID_FLAG_BOOLEAN:
        return set_boolean(flag, text, error);
    case HAMID_FLAG_IGNORED:
        return flag->value == NULL || append(flag->value, flag->name, error);
    }
    return false;
}
