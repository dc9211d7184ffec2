/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: which words are flags, and which are their values. No output, no exit:
 * the caller decides.
 */
#include "flags.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---------------------------------------------------------------------- */

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

const struct hamid_flag *hamid_flags_find(const struct hamid_flag *flags,
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

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters are to be put in, taken out or changed; both shorter than
 * HAMID_FLAG_NAME_MAX. '_' and '-' count as the same. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[HAMID_FLAG_NAME_MAX + 1];
    for (size_t j = 0; j <= b_length; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            char x = a[i - 1] == '_' ? '-' : a[i - 1];
            char y = b[j - 1] == '_' ? '-' : b[j - 1];
            size_t changed = diagonal + (x == y ? 0 : 1);
            diagonal = row[j];
            row[j] = least(changed, least(row[j], row[j - 1]) + 1);
        }
    }
    return row[b_length];
}

/* Compares with one word; keeps it if it is nearer than what was found. */
static void keep_nearer(const char *name, size_t length, const char *word,
                        size_t word_length, size_t *nearest, char *ret)
{
    if (word_length < 3 || word_length >= HAMID_FLAG_NAME_MAX) {
        return;
    }
    size_t found = distance(name, length, word, word_length);
    if (found < *nearest) {
        *nearest = found;
        memcpy(ret, word, word_length);
        ret[word_length] = '\0';
    }
}

bool hamid_flags_suggest(const struct hamid_flag *flags, const char *name, size_t length,
                         bool in_file, char *ret)
{
    size_t limit = length < 5 ? 1 : length < 8 ? 2 : 3;
    size_t nearest = limit + 1;
    if (length >= HAMID_FLAG_NAME_MAX) {
        return false;
    }
    for (; flags->name != NULL; flags++) {
        bool is_no_use = flags->kind == HAMID_FLAG_IGNORED ||
                         (flags->traits & HAMID_FLAG_NOT_IN_FILE) != 0;
        if (in_file && is_no_use) {
            continue;
        }
        keep_nearer(name, length, flags->name, strlen(flags->name), &nearest, ret);
        const char *alias = flags->aliases;
        while (alias != NULL && *alias != '\0') {
            size_t word = strcspn(alias, " ");
            keep_nearer(name, length, alias, word, &nearest, ret);
            alias += word + strspn(alias + word, " ");
        }
    }
    return nearest <= limit;
}

/* ---- words ---------------------------------------------------------------------- */

/* A command line that is being walked through. */
struct walk {
    const struct hamid_command *command;
    int argc;
    char *const *argv;
    int at;
    const struct hamid_flags_reader *reader;
};

/* A flag's value stands after '=' or is the next word; an ignored one may have none at
 * all. */
static const char *find_value(struct walk *walk, const struct hamid_flag *flag,
                              const char *equals)
{
    if (equals != NULL) {
        return equals + 1;
    }
    if (flag->kind == HAMID_FLAG_BOOLEAN || walk->at + 1 >= walk->argc) {
        return NULL;
    }
    if (flag->kind == HAMID_FLAG_IGNORED && walk->argv[walk->at + 1][0] == '-') {
        return NULL;
    }
    return walk->argv[++walk->at];
}

static void tell_unknown(struct walk *walk, const char *word, size_t length)
{
    char error[HAMID_FLAG_ERROR_MAX];
    char near[HAMID_FLAG_NAME_MAX];
    bool has_near = hamid_flags_suggest(walk->command->flags, word, length, false, near);
    (void)snprintf(error, sizeof(error),
                   "--%.*s is not known here%s%s%s; '%s --help' lists the flags",
                   length < 64 ? (int)length : 64, word,
                   has_near ? ", did you mean --" : "", has_near ? near : "",
                   has_near ? "?" : "", walk->command->name);
    walk->reader->problem(walk->reader->data, error);
    /* What follows is likely its value, and no mistake of its own. */
    if (word[length] == '\0' && walk->at + 1 < walk->argc &&
        walk->argv[walk->at + 1][0] != '-') {
        walk->at++;
    }
}

static void read_flag(struct walk *walk)
{
    const char *given = walk->argv[walk->at];
    const char *word = given + (given[1] == '-' ? 2 : 1);
    const char *equals = strchr(word, '=');
    size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    const struct hamid_flag *flag = hamid_flags_find(walk->command->flags, word, length);
    if (flag == NULL) {
        tell_unknown(walk, word, length);
        return;
    }
    const char *value = find_value(walk, flag, equals);
    if (value == NULL && flag->kind != HAMID_FLAG_BOOLEAN &&
        flag->kind != HAMID_FLAG_IGNORED) {
        char error[HAMID_FLAG_ERROR_MAX];
        (void)snprintf(error, sizeof(error), "--%s needs a value: %s", flag->name,
                       flag->argument != NULL ? flag->argument : "a text");
        walk->reader->problem(walk->reader->data, error);
        return;
    }
    walk->reader->value(walk->reader->data, flag, value);
}

/* ---- the first mistake ends it -------------------------------------------------- */

struct first {
    struct hamid_flag_list *arguments;
    char *error;
    bool is_wrong;
};

static void keep_problem(void *data, const char *text)
{
    struct first *first = data;
    if (!first->is_wrong) {
        (void)snprintf(first->error, HAMID_FLAG_ERROR_MAX, "%s", text);
    }
    first->is_wrong = true;
}

static void keep_value(void *data, const struct hamid_flag *flag, const char *text)
{
    char why[HAMID_FLAG_ERROR_MAX] = "";
    char error[HAMID_FLAG_ERROR_MAX];
    if (!hamid_flag_set(flag, text, why)) {
        (void)snprintf(error, sizeof(error), "--%.64s: %.400s", flag->name, why);
        keep_problem(data, error);
    }
}

static void keep_argument(void *data, const char *word)
{
    struct first *first = data;
    char error[HAMID_FLAG_ERROR_MAX];
    if (first->arguments != NULL && first->arguments->count < HAMID_FLAG_LIST_MAX) {
        first->arguments->values[first->arguments->count++] = word;
        return;
    }
    (void)snprintf(error, sizeof(error), "'%.64s' is one word too many", word);
    keep_problem(data, error);
}

/* ---- public --------------------------------------------------------------------- */

bool hamid_flags_walk(const struct hamid_command *command, int argc, char *const *argv,
                      const struct hamid_flags_reader *reader)
{
    struct walk walk = {command, argc, argv, 0, reader};
    bool only_arguments = false;
    for (; walk.at < argc; walk.at++) {
        const char *word = argv[walk.at];
        if (!only_arguments && strcmp(word, "--") == 0) {
            only_arguments = true;
        } else if (!only_arguments && word[0] == '-' && word[1] != '\0') {
            if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
                return false;
            }
            read_flag(&walk);
        } else {
            reader->argument(reader->data, word);
        }
    }
    return true;
}

enum hamid_flags_result hamid_flags_parse(const struct hamid_command *command, int argc,
                                          char *const *argv,
                                          struct hamid_flag_list *arguments, char *error)
{
    struct first first = {arguments, error, false};
    struct hamid_flags_reader reader = {&first, keep_value, keep_argument, keep_problem};
    if (!hamid_flags_walk(command, argc, argv, &reader)) {
        return HAMID_FLAGS_HELP;
    }
    return first.is_wrong ? HAMID_FLAGS_WRONG : HAMID_FLAGS_OK;
}
