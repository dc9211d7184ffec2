/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration of a role: one table of options, filled from the environment, one
 * YAML file (`--config`) and the command line, each stronger than the one before.
 *
 * To add an option: a member in the role's options struct, its default in set_defaults(),
 * and a row in the role's table (options.c). The row makes the flag, the file's key, the
 * help, and the line of --print-config; docs/configuration.md gets a row too, which a
 * test asks for. HAMID_FLAG_RELOADABLE in its traits says that SIGHUP takes a new value
 * into use: the role's reload reads the member anew.
 */
#ifndef HAMID_CONFIG_H
#define HAMID_CONFIG_H

#include "flags.h"

#define HAMID_CONFIG_OPTIONS_MAX 160
#define HAMID_CONFIG_FILE_MAX (256 * 1024) /* bytes of the file */
#define HAMID_PROBLEMS_MAX 50              /* listed; more are counted */

/* What is wrong, one line each. */
struct hamid_problems {
    char text[16384];
    size_t length;
    size_t count;
};

void hamid_problems_add(struct hamid_problems *problems, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* From weak to strong. */
enum hamid_source {
    HAMID_SOURCE_DEFAULT = 0,
    HAMID_SOURCE_ENVIRONMENT,
    HAMID_SOURCE_FILE,
    HAMID_SOURCE_FLAG
};

struct hamid_origin {
    enum hamid_source source;
    unsigned line; /* of the file */
};

struct hamid_config_text;

/* Zeroed, filled by hamid_config_begin() and _add(), then read. */
struct hamid_config {
    struct hamid_command command;
    struct hamid_flag flags[HAMID_CONFIG_OPTIONS_MAX + 1];
    struct hamid_origin origins[HAMID_CONFIG_OPTIONS_MAX]; /* of the row of that number */
    size_t flag_count;
    const char *file;   /* --config; NULL = none */
    bool wants_print;   /* --print-config */
    char warning[1024]; /* of variables that could not be followed; "" = none */
    struct hamid_config_text *texts; /* that the values point to */
};

/* The command's own table is not looked at. Adds --config and --print-config. */
void hamid_config_begin(struct hamid_config *config, const struct hamid_command *command);
void hamid_config_add(struct hamid_config *config, const struct hamid_flag *rows,
                      size_t count);

/*
 * Reads everything into the table's values.
 * @problems  gets all that is wrong
 * Returns    OK, HELP, or WRONG: then nothing may be started with it
 */
enum hamid_flags_result hamid_config_read(struct hamid_config *config, int argc,
                                          char *const *argv,
                                          struct hamid_problems *problems);

/* Where a row's value is from, for a problem that is found later: "--patience" or
 * "hamid.yaml:3: patience". */
const char *hamid_config_place(const struct hamid_config *config, const void *value,
                               char *buffer, size_t size);

/* Is the value said anywhere, or is it the default? */
enum hamid_source hamid_config_source(const struct hamid_config *config,
                                      const void *value);

/*
 * What a role does before it starts: shows the help, or all that is wrong, or the
 * configuration that was asked for.
 * Returns   -1 to go on, else the exit status
 */
int hamid_config_show(const struct hamid_config *config, enum hamid_flags_result result,
                      const struct hamid_problems *problems);

/* YAML that can be fed back; each line says where its value is from. To be freed; NULL
 * without memory. */
char *hamid_config_print(const struct hamid_config *config);

/*
 * Takes the values of `fresh`, made from the same rows over another struct, into use: of
 * options that can be reloaded. Frees fresh's texts.
 * @tell   is called for each option that differs, with its value as text
 */
typedef void (*hamid_config_tell_fn)(void *data, const struct hamid_flag *flag,
                                     const char *value, bool is_reloadable);
bool hamid_config_take(struct hamid_config *config, struct hamid_config *fresh,
                       hamid_config_tell_fn tell, void *data);

/* Frees what the values point to. */
void hamid_config_done(struct hamid_config *config);

/* ---- between config.c and config_file.c ------------------------------------------ */

/* Gives a row a value. Nothing happens if a stronger source has said it; a list is begun
 * anew by each source. @text is copied, NULL as in hamid_flag_set() */
bool hamid_config_set(struct hamid_config *config, const struct hamid_flag *flag,
                      const char *text, struct hamid_origin origin, char *error);
void hamid_config_read_file(struct hamid_config *config, struct hamid_problems *problems);

#endif
