/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that a test plays: it decides when an acquire is granted, when a Binding is
 * answered and what a read of the pod tells, and sees what was asked for.
 */
#ifndef TESTS_DAEMON_PLAYED_H
#define TESTS_DAEMON_PLAYED_H

#include "bind.h"

#define ASKED_MAX 64

struct hami_wait {
    hami_acquired_fn callback;
    void *data;
    uint64_t deadline_ns;
    char node[64];
    char uid[64];
    char keys[160]; /* that were asked for, with blanks between them; "" = the standard */
    char calls[HAMI_NODELOCK_CALLS_MAX + 1]; /* "alone" = none */
    bool aborted;
    bool ended;
};

struct hami_lease {
    const char *node;
    bool released;
    bool handed_off;
};

struct asked {
    void *data;
    hami_done_fn bound;
    hami_kubernetes_pod_fn read;
    hami_kubernetes_answered_fn answered;
};

extern struct hami_wait waits[ASKED_MAX];
extern size_t wait_count;
extern struct hami_lease leases[ASKED_MAX];
extern size_t lease_count;
extern struct asked bindings[ASKED_MAX];
extern size_t binding_count;
extern struct asked requests[ASKED_MAX];
extern size_t request_count;
extern struct asked reads[ASKED_MAX];
extern struct asked finds[ASKED_MAX];
extern size_t read_count;
extern size_t find_count;
extern uint64_t played_later_ns; /* how far the clock was put forward */
extern int acquire_answer;
extern int snapshots;
extern struct metrics metrics;
extern struct binder *binder;

/* Who asked, and what he was told. */
struct caller {
    struct bind_caller *handle;
    bool answered;
    char error[BIND_ERROR_MAX];
};

/* A binder with that configuration; patience 30 s unless set. Takes its lock table over.
 */
void set_up(struct binder_config config);
void set_up_default(void);
/* Asserts that no bind is left. */
void tear_down(void);
/* A request comes in. */
void ask(struct caller *caller, const char *uid, const char *node);
/* An acquire ends; code 0 grants the next of leases. */
void end_wait(size_t index, int code, const char *text);
/* A Binding is answered, and the loop turns. */
void end_binding(size_t index, int code, const char *text);
/* A read of the pod is answered. @uid NULL = there is none; @resource names, with blanks
 * between them, or NULL; NAME=COUNT tells a call as well */
void end_read(size_t index, const char *uid, const char *node, const char *scheduler,
              const char *resource);
/* A request, the Binding of a pod without a lock, is answered. @code as in the answer */
void end_request(size_t index, int code, int status);
/* A read of the pod fails. */
/* What the watch saw of the pod that was looked for. */
void end_find(size_t index, const char *uid, const char *scheduler, const char *resource);
void fail_read(size_t index, int code, const char *text);

#endif
