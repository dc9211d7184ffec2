/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid node as a process of its own, and requests to it over its socket. Fails the
 * running test where something does not go as it must.
 */
#ifndef TESTS_NODE_AGENT_WORLD_H
#define TESTS_NODE_AGENT_WORLD_H

#include <sys/types.h>

#include "node_world.h"

struct agent_process {
    pid_t pid;
    char socket[96];
    char notify[96]; /* of the service manager's protocol */
    int notify_fd;
};

/* The programs' paths, from the command line of the test. */
extern const char *hamid_path;
extern const char *kubelet_path;

/* Runs a program. EXTRA is NULL-terminated words. */
pid_t process_start(const char *path, const char *const *words);
/* Its exit status; -1 where a signal ended it. */
int process_wait(pid_t pid);

/* Starts hamid node for n1 and waits until it says READY. EXTRA may be NULL. */
void agent_start(struct agent_process *agent, struct world *world,
                 const char *const *extra);
/* The two halves of it. */
void agent_launch(struct agent_process *agent, struct world *world,
                  const char *const *extra);
void agent_wait_ready(struct agent_process *agent);
/* SIGTERM; its exit status. */
int agent_end(struct agent_process *agent);

struct reply {
    long status; /* 0: no answer */
    char body[32768];
};

/* One request; BODY NULL: GET. */
struct reply agent_request(const struct agent_process *agent, const char *path,
                           const char *body);
/* A member of the reply's JSON, or of its "pod"; "" if it is not there. */
const char *reply_text(const struct reply *reply, const char *member, char *buffer,
                       size_t size);

#endif
