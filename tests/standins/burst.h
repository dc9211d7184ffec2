/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of a burst as kube-scheduler sees them, and when each one's turn is. Pure: no
 * clock, no I/O; the caller says what time it is, in milliseconds.
 *
 * A pod's way:  NEW -> CREATING -> QUEUED -> (FILTERING) -> BINDING -> ASSUMED
 *                                    ^                          |
 *                                    +---- back-off, failed ----+--> DROPPED
 * DROPPED: the bind failed, but the scheduler's own copy of the pod has a node by now, so
 * it is not put back. What became of the pod is told by the watch alone: see is_bound,
 * is_allocated, has_failed.
 */
#ifndef STANDIN_BURST_H
#define STANDIN_BURST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum burst_place {
    BURST_NEW,
    BURST_CREATING,
    BURST_QUEUED,
    BURST_FILTERING,
    BURST_BINDING,
    BURST_ASSUMED,
    BURST_DROPPED,
};

struct burst_pod {
    char name[64];
    char uid[64];
    size_t node;
    enum burst_place place;
    int64_t due_ms;    /* QUEUED: not before */
    unsigned attempts; /* bind calls so far */
    bool is_bound;
    bool is_allocated;
    bool has_failed;
    void *owner; /* the caller's, not looked at here */
};

#define BURST_SENDING INT64_MAX

struct burst_node {
    const char *name;
    int64_t
        free_at_ms; /* the next bind call may go out; BURST_SENDING: one is on its way */
    const struct burst_pod *sending; /* whose call is on its way */
    size_t next_to_create;
    bool is_locked; /* the lock annotation stands, by the watch */
};

struct burst {
    struct burst_pod *pods; /* in the order of creation */
    size_t pod_count;
    struct burst_node *nodes;
    size_t node_count;
    int64_t spacing_ms;
    unsigned failed_binds;
};

/* Pod i goes to node i modulo the number of nodes. Returns -1 when out of memory. */
int burst_init(struct burst *burst, size_t pods, const char *const *nodes,
               size_t node_count, int64_t spacing_ms);
void burst_done(struct burst *burst);

/* How long a pod that failed ATTEMPTS times waits: 1 s, doubled, at most 10 s. */
int64_t burst_backoff_ms(unsigned attempts);
/* The node's next pod to create, one at a time and in order; NULL: none now. */
struct burst_pod *burst_take_new(struct burst *burst, size_t node);
/* The pod of this node whose bind call is to be sent now; NULL: none. It is counted. The
 * node's next turn is spacing_ms after the call has gone out: see burst_note_sent. */
struct burst_pod *burst_take_due(struct burst *burst, size_t node, int64_t now_ms);
/* The call of this pod went out, or never will. Only the first time counts. */
void burst_note_sent(struct burst *burst, const struct burst_pod *pod, int64_t now_ms);
/* Milliseconds until the next turn, at most LIMIT. */
int burst_wait_ms(const struct burst *burst, int64_t now_ms, int limit_ms);
/* After a failed bind: back into the queue, unless the pod is known to have a node. */
void burst_put_back(struct burst *burst, struct burst_pod *pod, int64_t now_ms);
/* The watch showed a node: a pod that waits for its turn leaves the queue. */
void burst_note_bound(struct burst_pod *pod);

size_t burst_count_created(const struct burst *burst);
size_t burst_count_bound(const struct burst *burst);
size_t burst_count_allocated(const struct burst *burst);
size_t burst_count_ended(const struct burst *burst); /* allocated or failed */
bool burst_has_locks(const struct burst *burst);
struct burst_pod *burst_find(struct burst *burst, const char *name);

#endif
