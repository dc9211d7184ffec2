/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl's commands: what the command line said, and a function each that does it.
 */
#ifndef HAMICTL_COMMAND_H
#define HAMICTL_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include <hami/kubernetes.h>
#include <jansson.h>

#include "flags.h"
#include "sources.h"

/* Exit statuses. doctor's own: its findings decide. */
#define EXIT_FAILED 1   /* it could not be done; standard error says why */
#define EXIT_USAGE 2    /* the command line is wrong */
#define EXIT_WARNINGS 3 /* doctor: nothing worse than warnings */
#define EXIT_ERRORS 4   /* doctor: at least one error */

/* The command line; texts borrowed from argv, NULL where not given. */
struct options {
    struct source_hamid hamid; /* url NULL = none */
    const char *kubeconfig;
    const char *context;
    bool allows_exec;
    const char *node;
    const char *output;
    bool is_json;
    /* release */
    const char *key;
    const char *expect;
    bool is_confirmed;
    bool is_forced;
    /* watch */
    uint64_t interval_ms;
    uint64_t for_ms; /* 0 = until it is interrupted */
    /* doctor */
    struct hamid_flag_list scheduler_configs;
    struct hamid_flag_list scheduler_configmaps;
    const char *extender;
    const char *as;
    uint64_t patience_ms; /* 0 = not given */
    uint64_t lock_expire_ms;
    struct hamid_flag_list arguments;
};

struct command {
    unsigned bit; /* of commands.c's masks */
    const char *word;
    const char *name;
    const char *usage;
    const char *brief; /* for the list of all commands */
    const char *summary;
    const char *closing;
    int (*run)(const struct options *options);
};

#define COMMAND_FLAGS_MAX 20

const struct command *commands_all(size_t *ret_count);
/* True if plain words may follow. */
bool commands_takes_words(const struct command *command);
/* Its flags, whose values are in the options. @flags  COMMAND_FLAGS_MAX */
void commands_fill_flags(const struct command *command, struct options *options,
                         struct hamid_flag *flags);

/* Each returns the exit status. */
int command_locks(const struct options *options);
int command_queue(const struct options *options);
int command_explain(const struct options *options);
int command_release(const struct options *options);
int command_watch(const struct options *options);
int command_doctor(const struct options *options);
int command_completion(const struct options *options);

/* Says "hamictl: ERROR" on standard error; returns EXIT_FAILED. */
int command_fail(const char *error);

/* Logs in to the API server as the options say; NULL on failure. */
hami_kubernetes *command_login(const struct options *options, char *error);

/*
 * Takes "NAMESPACE/NAME", or "NAME" of namespace default, apart.
 * @namespace_name  64 bytes
 * Returns   the name, borrowed from the text; NULL where it is neither
 */
const char *command_pod(const char *text, char *namespace_name);

/* The nodes of the hamid that the options name, else of the API server, in the form of
 * the locks view; new. NULL on failure. */
json_t *command_nodes(const struct options *options, char *error);

/* Prints JSON and a line's end; consumes it. */
void command_print_json(json_t *json);

#endif
