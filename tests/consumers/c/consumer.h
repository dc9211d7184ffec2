/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A consumer in the common part of C and C++: the same files are built as gnu11, C++11
 * and C++20. It knows the installed headers only. The test thread alone judges and
 * prints; what the library's threads see goes into an outcome.
 */
#ifndef CONSUMER_H
#define CONSUMER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <hami/kubernetes.h>
#include <hami/memory.h>

#define PODS_MAX 300
#define NODES_MAX 100
#define PATIENCE_MS                                                                      \
    20000 /* for what has to happen; nothing waits that long unless it fails */

struct pod {
    char name[16];
    char uid[64];
};

/* The backend, and what of it was used up. */
struct world {
    bool kubesim;
    hami_memory *store;      /* memory only */
    hami_kubernetes *client; /* kubesim only */
    struct hami_transport *transport;
    struct pod pods[PODS_MAX];
    size_t pod_count, pods_used, nodes_used;
    bool failed; /* the behaviour that runs now */
};

typedef void (*behaviour_fn)(struct world *world);

/* ---- judging ---- */

void consumer_fail(struct world *world, const char *file, int line, const char *text);
void consumer_code(struct world *world, const char *file, int line, const char *text,
                   int code, int expected);
#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            consumer_fail(world, __FILE__, __LINE__, #condition);                        \
        }                                                                                \
    } while (0)
#define CHECK_CODE(call, expected)                                                       \
    consumer_code(world, __FILE__, __LINE__, #call, (call), (expected))

/* ---- the backend ---- */

int world_open(struct world *world, const char *backend);
void world_close(struct world *world);
/* A node, a pod that nobody else uses. Borrowed for the world's life. */
const char *world_node(struct world *world);
const struct pod *world_pod(struct world *world);
/* The lock's value as the store has it; false if there is none. */
bool world_value(struct world *world, const char *node, char *buffer, size_t size);
bool world_is_locked(struct world *world, const char *node);
/* Removes the lock as the node side does: another writer. */
void world_remove(struct world *world, const char *node);
/* Binds the lease's pod to its node. */
int world_bind(struct world *world, const hami_lease *lease);

/* ---- using the library ---- */

/* How something asynchronous ended. Zero it with outcome_init(). */
struct outcome {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count; /* how often the callback came */
    int code;
    hami_lease *lease;
    pthread_t thread; /* that it came on */
    char text[512];
};

void outcome_init(struct outcome *outcome);
void outcome_acquired(void *data, int code, hami_lease *lease,
                      const struct hami_error *error);
/* Waits for it; the code, or 1 if it did not come. */
int outcome_await(struct outcome *outcome);
int outcome_count(struct outcome *outcome);

hami_nodelock *manager_new(struct world *world, struct hami_transport *transport);
hami_nodelock *manager_end(struct world *world, hami_nodelock *lock);
struct hami_nodelock_request request_for(hami_nodelock *lock, const char *node,
                                         const struct pod *pod);
/* Blocking; checks that it succeeds. */
hami_lease *take(struct world *world, hami_nodelock *lock, const char *node,
                 const struct pod *pod);
void give(struct world *world, hami_nodelock *lock, hami_lease *lease);
/* Queues; checks that it was accepted. */
void queue(struct world *world, hami_nodelock *lock, const char *node,
           const struct pod *pod, hami_cancel *cancel, struct outcome *outcome);
struct hami_nodelock_stats totals(hami_nodelock *lock);

/* ---- transports of this program's own ---- */

/* Stands before another transport and holds its writes up on demand. */
struct gate;
struct gate *gate_new(struct hami_transport *inner);
void gate_free(struct gate *gate);
struct hami_transport *gate_transport(struct gate *gate);
void gate_shut(struct gate *gate);
bool gate_await_held(struct gate *gate); /* a write has come and waits */
void gate_open(struct gate *gate);       /* it goes on, and all that follow */

/* A store of one node with a few values, and its transport. */
struct own_store;
struct own_store *own_store_new(void);
void own_store_free(struct own_store *store);
struct hami_transport *own_store_transport(struct own_store *store);
const char *own_store_value(struct own_store *store, const char *key);

/* ---- behaviours: see behaviours.tsv ---- */

void deadline_queued(struct world *world);
void deadline_past(struct world *world);
void cancel_queued(struct world *world);
void cancel_in_flight(struct world *world);
void cancel_after_grant(struct world *world);
void grant_cancel_race(struct world *world);
void drop(struct world *world);
void release(struct world *world);
void hand_off(struct world *world);
void order(struct world *world);
void lanes(struct world *world);
void limit(struct world *world);
void try_held(struct world *world);
void many_nodes(struct world *world);
void callback_thread(struct world *world);
void close_waiters(struct world *world);
void forked_child(struct world *world);
void lost(struct world *world);
void re_entry(struct world *world);
void arguments(struct world *world);
void own_transport(struct world *world);
void look(struct world *world);

#endif
