/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A role's options out of their sources. All that is wrong is found at once, so that
 * nobody mends a configuration in rounds. No output, no exit.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hamid_config_text {
    struct hamid_config_text *next;
    char text[];
};

/* ---- problems ------------------------------------------------------------------- */

void hamid_problems_add(struct hamid_problems *problems, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof(problems->text) - problems->length;
    problems->count++;
    if (problems->count > HAMID_PROBLEMS_MAX || room < 2) {
        return;
    }
    va_start(arguments, format);
    int length =
        vsnprintf(problems->text + problems->length, room - 1, format, arguments);
    va_end(arguments);
    if (length > 0) {
        size_t written = (size_t)length < room - 1 ? (size_t)length : room - 2;
        problems->length += written;
        problems->text[problems->length++] = '\n';
        problems->text[problems->length] = '\0';
    }
}

/* ---- values --------------------------------------------------------------------- */

/* The same text in memory of our own, kept once however often it is said. */
static const char *keep(struct hamid_config *config, const char *text)
{
    for (const struct hamid_config_text *known = config->texts; known != NULL;
         known = known->next) {
        if (strcmp(known->text, text) == 0) {
            return known->text;
        }
    }
    size_t size = strlen(text) + 1;
    struct hamid_config_text *fresh = malloc(sizeof(*fresh) + size);
    if (fresh == NULL) {
        return NULL;
    }
    memcpy(fresh->text, text, size);
    fresh->next = config->texts;
    config->texts = fresh;
    return fresh->text;
}

static bool is_list(const struct hamid_flag *flag)
{
    return flag->kind == HAMID_FLAG_LIST || flag->kind == HAMID_FLAG_PAIRS;
}

bool hamid_config_set(struct hamid_config *config, const struct hamid_flag *flag,
                      const char *text, struct hamid_origin origin, char *error)
{
    struct hamid_origin *now = &config->origins[flag - config->flags];
    const char *kept = text != NULL ? keep(config, text) : NULL;
    if (text != NULL && kept == NULL) {
        (void)snprintf(error, HAMID_FLAG_ERROR_MAX, "out of memory");
        return false;
    }
    if (is_list(flag) && now->source != origin.source) {
        ((struct hamid_flag_list *)flag->value)->count = 0;
    }
    *now = origin;
    return hamid_flag_set(flag, kept, error);
}

/* ---- the environment ------------------------------------------------------------- */

/* Only where nothing else said it. A variable belongs to whoever set it, perhaps for
 * another program: one that makes no sense is told and left out. */
static void read_environment(struct hamid_config *config)
{
    for (size_t i = 0; i < config->flag_count; i++) {
        const struct hamid_flag *flag = &config->flags[i];
        bool is_said = config->origins[i].source != HAMID_SOURCE_DEFAULT;
        const char *text =
            flag->environment != NULL && !is_said ? getenv(flag->environment) : NULL;
        struct hamid_origin origin = {HAMID_SOURCE_ENVIRONMENT, 0};
        char error[HAMID_FLAG_ERROR_MAX] = "";
        if (text == NULL || hamid_config_set(config, flag, text, origin, error)) {
            continue;
        }
        config->origins[i].source = HAMID_SOURCE_DEFAULT;
        size_t length = strlen(config->warning);
        (void)snprintf(config->warning + length, sizeof(config->warning) - length,
                       "%s%s: %s", length > 0 ? "; " : "", flag->environment, error);
    }
}

/* ---- the command line ------------------------------------------------------------ */

struct reading {
    struct hamid_config *config;
    struct hamid_problems *problems;
};

static void read_value(void *data, const struct hamid_flag *flag, const char *text)
{
    struct reading *reading = data;
    struct hamid_origin origin = {HAMID_SOURCE_FLAG, 0};
    char error[HAMID_FLAG_ERROR_MAX] = "";
    if (!hamid_config_set(reading->config, flag, text, origin, error)) {
        hamid_problems_add(reading->problems, "--%s: %s", flag->name, error);
    }
}

static void read_argument(void *data, const char *word)
{
    struct reading *reading = data;
    hamid_problems_add(reading->problems, "'%.64s' is one word too many", word);
}

static void read_problem(void *data, const char *text)
{
    struct reading *reading = data;
    hamid_problems_add(reading->problems, "%s", text);
}

/* Before the file can be read, its name has to be known. */
static void find_file(void *data, const struct hamid_flag *flag, const char *text)
{
    struct reading *reading = data;
    if (flag->value == &reading->config->file) {
        reading->config->file = text;
    }
}

static void pass_over(void *data, const char *text)
{
    (void)data;
    (void)text;
}

/* ---- public --------------------------------------------------------------------- */

void hamid_config_begin(struct hamid_config *config, const struct hamid_command *command)
{
    const struct hamid_flag rows[] = {
        {"config", NULL, HAMID_FLAG_TEXT, &config->file, "FILE",
         "A YAML file with these options under the same names, without the dashes. What "
         "is said here counts more. SIGHUP reads it again.",
         0, 0, NULL, NULL, NULL, HAMID_FLAG_NOT_IN_FILE},
        {"print-config", NULL, HAMID_FLAG_BOOLEAN, &config->wants_print, NULL,
         "Prints what all of this comes to, as such a file, and where each value is "
         "from; "
         "then ends.",
         0, 0, NULL, NULL, NULL, HAMID_FLAG_NOT_IN_FILE},
    };
    memset(config, 0, sizeof(*config));
    config->command = *command;
    config->command.flags = config->flags;
    hamid_config_add(config, rows, sizeof(rows) / sizeof(rows[0]));
}

void hamid_config_add(struct hamid_config *config, const struct hamid_flag *rows,
                      size_t count)
{
    for (size_t i = 0; i < count && config->flag_count < HAMID_CONFIG_OPTIONS_MAX; i++) {
        config->flags[config->flag_count++] = rows[i];
    }
}

enum hamid_flags_result hamid_config_read(struct hamid_config *config, int argc,
                                          char *const *argv,
                                          struct hamid_problems *problems)
{
    struct reading reading = {config, problems};
    struct hamid_flags_reader first = {&reading, find_file, pass_over, pass_over};
    struct hamid_flags_reader second = {&reading, read_value, read_argument,
                                        read_problem};
    if (!hamid_flags_walk(&config->command, argc, argv, &first)) {
        return HAMID_FLAGS_HELP;
    }
    if (config->file != NULL) {
        hamid_config_read_file(config, problems);
    }
    (void)hamid_flags_walk(&config->command, argc, argv, &second);
    read_environment(config);
    return problems->count == 0 ? HAMID_FLAGS_OK : HAMID_FLAGS_WRONG;
}

static size_t row_of(const struct hamid_config *config, const void *value)
{
    size_t row = 0;
    while (row < config->flag_count && config->flags[row].value != value) {
        row++;
    }
    return row;
}

const char *hamid_config_place(const struct hamid_config *config, const void *value,
                               char *buffer, size_t size)
{
    size_t row = row_of(config, value);
    const char *name = row < config->flag_count ? config->flags[row].name : "?";
    const struct hamid_origin *origin = &config->origins[row];
    if (row == config->flag_count || origin->source != HAMID_SOURCE_FILE) {
        (void)snprintf(buffer, size, "--%s", name);
    } else {
        (void)snprintf(buffer, size, "%s:%u: %s", config->file, origin->line, name);
    }
    return buffer;
}

enum hamid_source hamid_config_source(const struct hamid_config *config,
                                      const void *value)
{
    size_t row = row_of(config, value);
    return row < config->flag_count ? config->origins[row].source : HAMID_SOURCE_DEFAULT;
}

/* ---- a reload ------------------------------------------------------------------- */

static bool are_equal_texts(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool are_equal_lists(const struct hamid_flag_list *a,
                            const struct hamid_flag_list *b)
{
    bool equal = a->count == b->count;
    for (size_t i = 0; equal && i < a->count; i++) {
        equal = strcmp(a->values[i], b->values[i]) == 0;
    }
    return equal;
}

static bool are_equal(const struct hamid_flag *a, const struct hamid_flag *b)
{
    switch (a->kind) {
    case HAMID_FLAG_TEXT:
        return are_equal_texts(*(const char **)a->value, *(const char **)b->value);
    case HAMID_FLAG_LIST:
    case HAMID_FLAG_PAIRS:
        return are_equal_lists(a->value, b->value);
    case HAMID_FLAG_DURATION:
    case HAMID_FLAG_NUMBER:
        return *(uint64_t *)a->value == *(uint64_t *)b->value;
    case HAMID_FLAG_BOOLEAN:
        return *(bool *)a->value == *(bool *)b->value;
    case HAMID_FLAG_IGNORED:
        return true;
    }
    return true;
}

/* False without memory; the old value stays then. */
static bool copy_value(struct hamid_config *config, const struct hamid_flag *to,
                       const struct hamid_flag *from)
{
    struct hamid_flag_list list = {.count = 0};
    if (is_list(to)) {
        const struct hamid_flag_list *given = from->value;
        for (; list.count < given->count; list.count++) {
            list.values[list.count] = keep(config, given->values[list.count]);
            if (list.values[list.count] == NULL) {
                return false;
            }
        }
        *(struct hamid_flag_list *)to->value = list;
    } else if (to->kind == HAMID_FLAG_TEXT) {
        const char *given = *(const char **)from->value;
        const char *kept = given != NULL ? keep(config, given) : NULL;
        if (given != NULL && kept == NULL) {
            return false;
        }
        *(const char **)to->value = kept;
    } else if (to->kind == HAMID_FLAG_BOOLEAN) {
        *(bool *)to->value = *(bool *)from->value;
    } else {
        *(uint64_t *)to->value = *(uint64_t *)from->value;
    }
    return true;
}

/* A short form for the log. */
static void describe(const struct hamid_flag *flag, char *buffer, size_t size)
{
    const struct hamid_flag_list *list = is_list(flag) ? flag->value : NULL;
    buffer[0] = '\0';
    if ((flag->traits & HAMID_FLAG_SECRET) != 0) {
        (void)snprintf(buffer, size, "(secret)");
    } else if (flag->kind == HAMID_FLAG_TEXT) {
        const char *text = *(const char **)flag->value;
        (void)snprintf(buffer, size, "%s", text != NULL ? text : "");
    } else if (flag->kind == HAMID_FLAG_DURATION) {
        hamid_duration_format(*(uint64_t *)flag->value, buffer, size);
    } else if (flag->kind == HAMID_FLAG_NUMBER) {
        (void)snprintf(buffer, size, "%llu",
                       (unsigned long long)*(uint64_t *)flag->value);
    } else if (flag->kind == HAMID_FLAG_BOOLEAN) {
        (void)snprintf(buffer, size, "%s", *(bool *)flag->value ? "true" : "false");
    }
    size_t length = 0;
    for (size_t i = 0; list != NULL && i < list->count && length < size; i++) {
        int count = snprintf(buffer + length, size - length, "%s%s", i > 0 ? " " : "",
                             list->values[i]);
        length += count > 0 ? (size_t)count : 0;
    }
}

bool hamid_config_take(struct hamid_config *config, struct hamid_config *fresh,
                       hamid_config_tell_fn tell, void *data)
{
    bool is_complete = true;
    for (size_t i = 0; i < config->flag_count; i++) {
        const struct hamid_flag *flag = &config->flags[i];
        bool is_reloadable = (flag->traits & HAMID_FLAG_RELOADABLE) != 0;
        char text[512];
        if ((flag->traits & HAMID_FLAG_NOT_IN_FILE) != 0) {
            continue;
        }
        if (are_equal(flag, &fresh->flags[i])) {
            config->origins[i] = fresh->origins[i];
            continue;
        }
        if (is_reloadable && copy_value(config, flag, &fresh->flags[i])) {
            config->origins[i] = fresh->origins[i];
        } else if (is_reloadable) {
            is_complete = false;
            continue;
        }
        describe(&fresh->flags[i], text, sizeof(text));
        tell(data, flag, text, is_reloadable);
    }
    hamid_config_done(fresh);
    return is_complete;
}

void hamid_config_done(struct hamid_config *config)
{
    while (config->texts != NULL) {
        struct hamid_config_text *text = config->texts;
        config->texts = text->next;
        free(text);
    }
}
