/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hamid scheduler as a process of its own, in front of a kubesim in this one. The
 * program is named by the environment variable HAMID. What a node side does (removing the
 * lock) the test does itself.
 */
#ifndef TESTS_DAEMON_RUNNING_H
#define TESTS_DAEMON_RUNNING_H

#include "http_client.h"

#include <kubesim.h>
#include <sys/types.h>

#define LOCK_POINTER "/metadata/annotations/hami.io~1mutex.lock"
#define LOCK_KEY "hami.io/mutex.lock"

struct running {
    struct kubesim *sim;
    struct event_base *base;
    char directory[64];
    char address[64];
    pid_t pid;
    int log_fd; /* hamid's standard error */
};

/* Starts both, with node "n1" and "n2", and waits until hamid is ready. @flags ends with
 * NULL */
void running_start(struct running *running, const char *const *flags);

/* Starts kubesim and makes the loop; hamid is to be started by the next one. */
void running_prepare(struct running *running);

/* The same with a kubesim that was prepared before. */
void running_start_hamid(struct running *running, const char *const *flags);

/* The next hamid that is started gets this listening socket as a service manager would
 * pass it. */
void running_pass_socket(int fd);

/* Sends a signal, waits for the end; returns the exit status, -1 where a signal ended it.
 */
int running_end(struct running *running, int number);

/* Ends what still runs and removes the files. Asserts that hamid ended with 0. */
void running_stop(struct running *running);

/* Creates pods "PREFIX0" to "PREFIX(count-1)" in namespace ns. */
void running_pods(struct running *running, const char *prefix, int count);

/* Opens a client and sends a bind of pod ns/NAME with its real uid. */
void running_bind(struct running *running, struct http_client *client, const char *name,
                  const char *node);
void running_bind_uid(struct running *running, struct http_client *client,
                      const char *name, const char *uid, const char *node);

/* Waits for the bind's answer; the Error text, borrowed: "" for success. */
const char *running_error(struct http_client *client);

/* A whole GET; the answer is in the client. */
void running_get(struct running *running, struct http_client *client, const char *path);

/* Waits until a value of the locks view, of a metric or of a probe is there: asks again
 * and again. */
bool running_until(struct running *running, const char *path, const char *text);

/* The lock's value on a node; to be freed, NULL without. */
char *running_lock(struct running *running, const char *node);

/* Asserts that the lock names ns/NAME, and removes it as HAMi's plugin does. */
void running_release(struct running *running, const char *node, const char *name);

/* Asserts that it serves: makes pod p0, has it bound to n1, and removes its lock. */
void running_still_binds(struct running *running);

/* Deliveries. @name NULL = any */
unsigned running_bindings(struct running *running, const char *name);
unsigned running_node_writes(struct running *running);

/* Seconds of a monotonic clock. */
double running_seconds(void);

void running_close(struct http_client *clients, int count);

#endif
