/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What checker.c (windows), checker_locks.c, checker_beside.c and checker_order.c share. */
#ifndef TESTS_SIMULATION_CHECKER_INTERNAL_H
#define TESTS_SIMULATION_CHECKER_INTERNAL_H

#include "checker.h"

#define CHECKER_WINDOW_MAX 64
#define CHECKER_REVOCATIONS_MAX 8
#define CHECKER_AGAIN_MAX 4

struct seen_pod {
    char uid[40];
    int node; /* in its window there; -1 = in none */
    bool excused;
    bool lost; /* a lost lock of it was counted */
    uint64_t made_ns;
    bool anew;   /* a pod of this name was there before it */
    bool beside; /* its last take put it into a permit, with its calls */
    bool aged;   /* a lock that no lease says more about was taken from it for its age */
    /* revocations of its Bindings: node and fence, the latest round about */
    struct {
        int node;
        uint64_t fence;
    } revoked[CHECKER_REVOCATIONS_MAX];
    size_t revoked_count;
    /* fences of its last locks that replaced one of its own, round about */
    uint64_t again[CHECKER_AGAIN_MAX];
    size_t again_count;
    /* fences of its last takes beside others, of whatever uid, round about */
    uint64_t besides[CHECKER_AGAIN_MAX];
    size_t beside_count;
    struct {
        uint32_t incarnation;
        char uid[40];
        uint64_t fence;
    } granted[REPLICAS_MAX]; /* its last grant there */
};

struct seen_slot {
    uint64_t fence;   /* largest granted */
    uint64_t lock_ns; /* when its lock value was put */
};

struct seen_node {
    uint32_t window[CHECKER_WINDOW_MAX]; /* pods */
    size_t window_count;
    struct seen_slot slots[SLOTS_MAX];
};

struct checker {
    struct seen_node *nodes;
    struct seen_pod *pods;
    size_t pod_count;
    char owner[40];
};

struct seen_pod *checker_see(struct world *world, uint32_t index);

/* A member of a lease that is a text; "" = none. Returns buffer. */
const char *checker_member(const char *lease, const char *name, char *buffer,
                           size_t size);
uint64_t checker_fence(const char *lease);

/* The lease is the one of this very lock. */
bool checker_is_own_lease(const char *lock, const char *lease);

/* Judges a write to a node on which pods may be side by side, before it is stored. */
void checker_beside(struct world *world, const struct node *node,
                    const struct object *before, const struct object *after,
                    enum writer writer);

/* The slot is the first one, and a copy of a permit's: nobody's lock by itself. */
bool checker_is_cover(const struct world *world, const struct object *node,
                      const struct slot *slot);

/* They may be in flight at a time. */
bool checker_are_distinct(struct world *world, const struct pod *one,
                          const struct pod *other);

/* The pod's records on this node, one a key that it needs: true if none is missing. */
bool checker_has_locks(struct world *world, const struct object *node,
                       const struct pod *pod, const char *uid);

#endif
