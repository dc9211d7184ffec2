/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: a table of long flags, from which parsing and the --help text both come.
 *
 * Accepted: `--name value`, `--name=value`, the same with one dash, booleans as `--name`
 * or
 * `--name=false`. A flag given again replaces its value, a list grows. Plain words that
 * are no flag's value are collected as arguments.
 */
#ifndef HAMID_FLAGS_H
#define HAMID_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HAMID_FLAG_LIST_MAX 64
#define HAMID_FLAG_ERROR_MAX 512
#define HAMID_FLAG_NAME_MAX 64

/* Values of a repeatable flag, in the order given; texts borrowed from argv. */
struct hamid_flag_list {
    const char *values[HAMID_FLAG_LIST_MAX];
    size_t count;
};

enum hamid_flag_kind {
    HAMID_FLAG_TEXT = 0, /* value: const char ** (borrowed from argv) */
    HAMID_FLAG_LIST, /* value: struct hamid_flag_list *; may be given more than once */
    HAMID_FLAG_DURATION, /* value: uint64_t *, milliseconds; minimum to maximum */
    HAMID_FLAG_NUMBER,   /* value: uint64_t *; minimum to maximum */
    HAMID_FLAG_BOOLEAN,  /* value: bool * */
    HAMID_FLAG_IGNORED,  /* value: struct hamid_flag_list *, or NULL; takes a value, names
                            kept there */
    HAMID_FLAG_PAIRS     /* as LIST, of NAME=VALUE; in a file it may be a mapping */
};

struct hamid_flag {
    const char *name;    /* without dashes; NULL ends a table */
    const char *aliases; /* other names, separated by blanks; NULL = none */
    enum hamid_flag_kind kind;
    void *value;
    const char *argument; /* what stands for the value in --help: "HOST:PORT" */
    const char *help;     /* one sentence or more; wrapped by --help */
    uint64_t minimum;     /* DURATION (ms) and NUMBER */
    uint64_t maximum;     /* 0 = no upper limit */
    bool *ret_given;      /* NULL, or set to true when anything but the default says it */
    const char *choices;  /* TEXT: all that it may be, parted by '|'; NULL = anything */
    const char
        *environment; /* a variable that is looked at before the default; or NULL */
    unsigned traits;  /* HAMID_FLAG_RELOADABLE and so on */
};

#define HAMID_FLAG_RELOADABLE 0x1u  /* SIGHUP takes a new value into use */
#define HAMID_FLAG_NOT_IN_FILE 0x2u /* has a meaning on the command line alone */
#define HAMID_FLAG_SECRET 0x4u      /* its value is never printed */

/* A command: what --help says before and after the table, and the table. */
struct hamid_command {
    const char *name;    /* "hamid scheduler" */
    const char *usage;   /* what follows the name: "[flags]" */
    const char *summary; /* what it does, for --help */
    const char *closing; /* text after the flags: examples; NULL = none */
    const struct hamid_flag *flags;
};

enum hamid_flags_result { HAMID_FLAGS_OK = 0, HAMID_FLAGS_HELP, HAMID_FLAGS_WRONG };

/*
 * Reads a command line into the table's values.
 * @argv        argc words, the command's name not among them
 * @arguments   receives plain words; NULL = none are accepted
 * @error       HAMID_FLAG_ERROR_MAX bytes; on WRONG one line that names the flag and what
 * it accepts Returns      OK, HELP (--help or -h was given), WRONG
 */
enum hamid_flags_result hamid_flags_parse(const struct hamid_command *command, int argc,
                                          char *const *argv,
                                          struct hamid_flag_list *arguments, char *error);

/* Who is told what a command line says. Texts are borrowed from argv, or for the call. */
struct hamid_flags_reader {
    void *data;
    /* @text may be NULL: a boolean without a value, an ignored flag */
    void (*value)(void *data, const struct hamid_flag *flag, const char *text);
    void (*argument)(void *data, const char *word);
    void (*problem)(void *data, const char *text);
};

/* Walks through a whole command line, whatever is wrong in it. False for --help. */
bool hamid_flags_walk(const struct hamid_command *command, int argc, char *const *argv,
                      const struct hamid_flags_reader *reader);

/* By name or alias, of `length` bytes; NULL if there is none. */
const struct hamid_flag *hamid_flags_find(const struct hamid_flag *flags,
                                          const char *name, size_t length);

/* The name or alias that was likely meant, into HAMID_FLAG_NAME_MAX bytes; false if none
 * is near. @in_file leaves out what can't stand in a file */
bool hamid_flags_suggest(const struct hamid_flag *flags, const char *name, size_t length,
                         bool in_file, char *ret);

/*
 * Gives a flag a value from its text (NULL: true, or nothing).
 * @error    HAMID_FLAG_ERROR_MAX bytes; what is wrong with the text, without the name
 * Returns   false if it is wrong
 */
bool hamid_flag_set(const struct hamid_flag *flag, const char *text, char *error);

/* The --help text; to be freed, NULL without memory. */
char *hamid_flags_help(const struct hamid_command *command);

/*
 * Reads a duration as "30s", "200ms", "1m30s", "1.5h"; a plain "0" is zero.
 * Returns   0, or -1 where it is none, negative, or above 10000 hours. ret in nanoseconds
 */
int hamid_duration_parse(const char *text, uint64_t *ret_ns);

/* Writes milliseconds as a duration: "5m0s", "1h0m0s", "1.5s", "200ms". 32 bytes never
 * fail. */
void hamid_duration_format(uint64_t milliseconds, char *buffer, size_t size);

#endif
