/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds: from a request to its answer. Runs on the loop's thread alone.
 *
 * One bind stands for one pod uid, however many requests ask for it:
 *
 *     CHECKING -> QUEUED -> BINDING -> answered
 *                    |         |
 *                    +-> CONFIRMING (one read of the pod decides) -> answered
 *
 * CHECKING is there only where a flag asks for it, or where the pod was bound here a
 * moment ago. The queue, the lock and every judgement on it are the library's.
 */
#ifndef HAMID_SCHEDULER_BIND_H
#define HAMID_SCHEDULER_BIND_H

#include "history.h"
#include "lock_table.h"
#include "metrics.h"
#include "request.h"

struct hamid_mailbox;
struct binder;
struct bind_caller;

struct binder_config {
    hami_nodelock *lock;
    hami_kubernetes *client;
    struct hami_transport *transport; /* whose watches know most pods; NULL = none */
    struct hamid_mailbox *mailbox;
    struct metrics *metrics;
    struct history *history; /* NULL = none */
    uint64_t patience_ms;
    uint64_t binding_ms;     /* for one Binding; 0 = as long as its caller waits */
    uint64_t lock_expire_ms; /* for texts */
    bool side_by_side;       /* a pod's calls are told to the manager */
    bool lanes; /* pods are read for priority and group, if for nothing else */
    const char *const
        *scheduler_names; /* borrowed; only such pods are served; NULL = any */
    size_t scheduler_name_count;
    struct lock_table *locks; /* referenced; which pods are served, and what they need;
                                 NULL = all of them, the standard lock */
};

/* Called once a request: "" for success, else why not. */
typedef void (*bind_answer_fn)(void *data, const char *error);

/* NULL without memory. */
struct binder *binder_new(const struct binder_config *config);

/* Every callback must have come: free the manager and the client first. Takes NULL,
 * returns NULL. */
struct binder *binder_free(struct binder *binder);

/*
 * Asks for a bind. A request for the same pod and node joins the one in flight; one for
 * another node ends the queued one, or waits for one that is posted.
 * @answer   may come inside
 * Returns   whom to name in binder_leave(); NULL if the answer has come
 */
struct bind_caller *binder_ask(struct binder *binder, const struct bind_request *request,
                               bind_answer_fn answer, void *data);

/* For the binds that come from now on. @locks as in the config */
void binder_change(struct binder *binder, uint64_t patience_ms, struct lock_table *locks);

/* The caller has gone and gets no answer. The last caller of a queued bind takes it
 * along. */
void binder_leave(struct bind_caller *caller);

/* Answers all that are not queued in the library yet; new ones are refused from now on.
 */
void binder_drain(struct binder *binder);

/* Binds that are not over. */
size_t binder_in_flight(const struct binder *binder);

/* config.owner_lost of the manager; its data is the history, or NULL. */
void binder_owner_lost(void *history, hami_lease *lease, const struct hami_error *error);

#endif
