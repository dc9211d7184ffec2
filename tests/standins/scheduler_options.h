/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of standin-scheduler. */
#ifndef STANDIN_SCHEDULER_OPTIONS_H
#define STANDIN_SCHEDULER_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scheduler_options {
    const char *kubeconfig;
    const char *binder;
    const char *namespace_name;
    const char *scheduler_name;
    const char *resource;
    const char **nodes;
    size_t node_count;
    size_t pods;
    unsigned devices[8]; /* that the pods of a node ask for, in turn */
    size_t device_count;
    int64_t patience_ms;
    int64_t stuck_after_ms;
    int64_t spacing_ms;
    bool progress;
};

/* Returns -1 to go on, else the exit status (0 after --help, 2 after an error). */
int scheduler_options_read(struct scheduler_options *options, int count, char **words);
void scheduler_options_done(struct scheduler_options *options);

#endif
