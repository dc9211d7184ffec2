/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of waiters: the first is served first. Pure; the node's mutex guards it. Each
 * function takes O(log n) steps, and nothing is allocated.
 *
 * Lanes: the waiters of one priority. Within a lane the arrival numbers (places) decide,
 * also for a waiter that comes back with its old one. A newcomer goes before all waiters
 * of lower lanes. Groups: a newcomer whose group waits in its lane goes right behind its
 * last member there; one whose group was served last goes to the head of its lane. Thus
 * the members that wait follow the one that is served.
 *
 * The bound: whoever is put before a waiter that was there already, overtakes it. A
 * waiter that was overtaken `overtaken_max` times is passed by no newcomer any more, and
 * so are all who stand before it. One that comes back to its old place overtakes nobody
 * of its lane, and follows no group. A waiter that left takes the count along with its place: who was overtaken so often
 * before it left comes back before everybody that came later, of whatever lane. So nobody
 * starves.
 */
#ifndef HAMI_LIB_QUEUE_H
#define HAMI_LIB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "tree.h"

/* Its part in the order of all. */
struct hami_internal_turn {
    struct hami_internal_branch branch;
    int32_t priority, priority_most; /* of the subtree */
    uint32_t overtaken, overtaken_most;
    uint32_t pending; /* to be added to all below */
    uint64_t place, place_most;
};

/* What waiters are looked up by. */
enum hami_internal_index {
    INDEX_LANE = 0,  /* those of a lane that stand in the order of their places */
    INDEX_GROUP,     /* the members of a group in a lane */
    INDEX_NAMESPACE, /* those of a namespace */
    INDEX_COUNT
};
struct hami_internal_entry {
    struct hami_internal_branch branch;
    enum hami_internal_index index;
    int32_t lane;
    uint64_t name, place;
    bool listed;
};

/* What the queue knows of a waiter. */
struct hami_internal_waiter {
    struct hami_internal_list link; /* in the order of service */
    struct hami_internal_turn turn;
    struct hami_internal_entry entries[INDEX_COUNT];
    /* set before it is inserted */
    uint64_t place; /* 0 = none: a try */
    int32_t priority;
    bool returned;           /* the place is an old one */
    uint32_t overtaken;      /* before it came back */
    uint64_t group;          /* hash of namespace and group; 0 = none */
    uint64_t namespace_hash; /* of its namespace */
};

struct hami_internal_queue {
    struct hami_internal_list waiters; /* of hami_internal_waiter.link */
    struct hami_internal_tree order, index;
    uint32_t overtaken_max;
    uint64_t served_group; /* of who was served last; 0 = it had none */
    int32_t served_lane;
};

void hami_internal_queue_init(struct hami_internal_queue *queue, uint32_t overtaken_max);

/* Puts a waiter where its place, lane and group say. */
void hami_internal_queue_insert(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter);

/* Takes a waiter out. Its count of overtakings stays with it. */
void hami_internal_queue_remove(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter);

/* A waiter of the queue is served; it is still to be removed. */
void hami_internal_queue_served(struct hami_internal_queue *queue,
                                const struct hami_internal_waiter *waiter);

/* How often a waiter was overtaken. */
uint32_t hami_internal_queue_overtaken(const struct hami_internal_waiter *waiter);

/* Where a waiter that is not in the queue would stand: right before which link (the
 * list's head = at the end). @ret_position  how many would be before it */
const struct hami_internal_list *
hami_internal_queue_find(const struct hami_internal_queue *queue,
                         const struct hami_internal_waiter *waiter,
                         uint32_t *ret_position);

/* How many of a namespace wait. */
uint32_t hami_internal_queue_of_namespace(const struct hami_internal_queue *queue,
                                          uint64_t namespace_hash);

/* One of the namespace that has the most waiters; NULL = nobody waits. Looks at the first
 * HAMI_INTERNAL_QUEUE_LOOKS namespaces. @ret_count  how many these are */
#define HAMI_INTERNAL_QUEUE_LOOKS 256
const struct hami_internal_waiter *
hami_internal_queue_crowd(const struct hami_internal_queue *queue, uint32_t *ret_count);

#endif
