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
 * so are all who stand before it. Where one stands is settled when it comes: if who kept
 * it back leaves, it stays there, and its lane behind it. One that comes back to its old
 * place overtakes nobody of its lane, and follows no group. A waiter that left takes the
 * count along with its place: who was overtaken so often before it left comes back before
 * everybody that came later, of whatever lane. So nobody starves.
 */
#ifndef HAMI_LIB_QUEUE_H
#define HAMI_LIB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"
#include "sorted.h"
#include "tree.h"

struct hami_internal_waiter;

/* Those of one namespace. Whoever has the queue makes and frees it. */
struct hami_internal_crowd {
    struct hami_internal_leaf leaf; /* queue.namespaces */
    struct hami_internal_list link; /* queue.crowds; queue.deserted while nobody waits */
    uint64_t hash;
    uint32_t count;
    char name[];
};

/* What only a waiter of a group needs. */
struct hami_internal_member {
    struct hami_internal_leaf leaf; /* queue.members */
    uint64_t group;                 /* hash of namespace and group; 0 = none */
    struct hami_internal_waiter *waiter;
};

/* What the queue knows of a waiter. */
struct hami_internal_waiter {
    struct hami_internal_branch branch; /* its stand in the order of service */
    uint64_t place, place_most;         /* most: of the subtree */
    int32_t priority, priority_most;
    uint32_t overtaken, overtaken_most;
    uint32_t pending; /* overtakings to be added to all below */
    bool returned;    /* the place is an old one */
    bool in_lane;
    struct hami_internal_leaf lane; /* queue.lanes, if it is in_lane */
    struct hami_internal_crowd *crowd;
    struct hami_internal_member *member; /* NULL = it has no group */
    /* Set before it is inserted: place (0 = none: a try), priority, returned, overtaken
     * (before it came back), crowd, member. */
};

struct hami_internal_queue {
    struct hami_internal_tree order;
    struct hami_internal_waiter *first; /* NULL = nobody waits */
    struct hami_internal_sorted lanes;  /* who stands in the order of its lane's places */
    struct hami_internal_sorted members; /* by lane, group and place */
    struct hami_internal_sorted namespaces;
    struct hami_internal_list crowds, deserted;
    uint32_t deserted_count;
    uint32_t overtaken_max;
    uint64_t served_group; /* of who was served last; 0 = it had none */
    int32_t served_lane;
};

/* Who is served after a waiter; NULL = it is the last. */
static inline struct hami_internal_waiter *
queue_next(const struct hami_internal_waiter *waiter)
{
    struct hami_internal_branch *next = hami_internal_tree_next(&waiter->branch);

    return next ? LIST_ENTRY(next, struct hami_internal_waiter, branch) : NULL;
}

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

/* Where a waiter that is not in the queue would stand: right before whom (NULL = at the
 * end). @ret_position  how many would be before it */
const struct hami_internal_waiter *
hami_internal_queue_find(const struct hami_internal_queue *queue,
                         const struct hami_internal_waiter *waiter,
                         uint32_t *ret_position);

/* The crowd of a namespace; NULL = it is not known. @hash  of the name */
struct hami_internal_crowd *
hami_internal_queue_namespace(const struct hami_internal_queue *queue, uint64_t hash,
                              const char *name);

/* Makes a namespace known whose hash and name are set. */
void hami_internal_queue_settle(struct hami_internal_queue *queue,
                                struct hami_internal_crowd *crowd);

/* Forgets a namespace of which nobody waits, to be freed; NULL = there are hardly any. */
#define HAMI_INTERNAL_QUEUE_DESERTED 8
struct hami_internal_crowd *hami_internal_queue_forget(struct hami_internal_queue *queue);

/* The namespace that has the most waiters; NULL = nobody waits. Looks at
 * HAMI_INTERNAL_QUEUE_LOOKS namespaces. */
#define HAMI_INTERNAL_QUEUE_LOOKS 256
const struct hami_internal_crowd *
hami_internal_queue_crowd(const struct hami_internal_queue *queue);

#endif
