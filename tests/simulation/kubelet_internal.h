/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What kubelet.c and plugin.c share. */
#ifndef TESTS_SIMULATION_KUBELET_INTERNAL_H
#define TESTS_SIMULATION_KUBELET_INTERNAL_H

#include "kubelet.h"
#include "network.h"

#define BOUND_MAX 256

struct kubelet {
    struct world *world;
    struct node *node;
    struct pod *bound[BOUND_MAX]; /* not admitted yet */
    size_t bound_count;
    bool busy;
    /* the Allocate under way */
    struct pod *pod;
    uint32_t generation;
    struct object *caller; /* as it was when the call began */
    struct object *seen;   /* the node as the plugin read it */
    struct pod *served;
    char served_uid[40];
    unsigned tries;
    uint64_t end_ns;
    /* the lock that was left to the scheduler side last */
    char left_uid[40];
    uint64_t left_number;
};

/* Plays an Allocate; kubelet_allocated() follows. */
void plugin_allocate(struct kubelet *kubelet);
void kubelet_allocated(struct kubelet *kubelet, bool good);

#endif
