/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin as a process, between kubesim and a played kubelet. Fails the
 * running test where something does not go as it must.
 */
#ifndef TESTS_DEVICE_PLUGIN_PLUGIN_WORLD_H
#define TESTS_DEVICE_PLUGIN_PLUGIN_WORLD_H

#include <sys/types.h>

#include "node_world.h"
#include "played_kubelet.h"

struct plugin_world {
    struct world world; /* kubesim, node n1 */
    char folder[96];    /* of plugins */
    char devices[128];  /* the file */
    char health[128];   /* a file that GPU-b's health hangs on */
    struct played_kubelet kubelet;
    pid_t plugin;
    pid_t other;
};

extern const char *plugin_path; /* the program, from the command line of the test */

/* All of it, with the usual devices (GPU-a, GPU-b, GPU-c), up to the first list. */
void plugin_world_start(struct plugin_world *all);
/* The same with flags more, NULL-terminated, and, where not NULL, another devices file.
 */
void plugin_world_start_with(struct plugin_world *all, const char *const *flags,
                             const char *devices);
/* Everything but the plugin. */
void plugin_world_prepare(struct plugin_world *all, const char *devices);
void plugin_world_stop(struct plugin_world *all);

/* The process alone; flags may be NULL. */
void plugin_start(struct plugin_world *all, const char *const *flags);
/* SIGTERM; its exit status. */
int plugin_stop(struct plugin_world *all);
void plugin_kill(struct plugin_world *all);

/* A process of its words; and its exit status, -1 after a signal. */
pid_t plugin_spawn(const char *const *words);
int plugin_wait(pid_t pid);

void write_file(const char *path, const char *text);

/* Fails unless a process has logged so. */
void expect_logged(const char *word);

/* Fails unless the text has the word. */
void expect_word(const char *text, const char *word);

#endif
