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
    unsigned container;    /* of the pod; its call is what the plugin is asked */
    struct object *caller; /* as it was when the call began */
    struct object *seen;   /* the node as the plugin read it */
    struct pod *served;
    unsigned served_container;
    char served_uid[40];
    unsigned tries;
    uint64_t end_ns;
    uint64_t left_number; /* locks that were left to the scheduler side so far */
};

/* Plays an Allocate; kubelet_allocated() follows. */
void plugin_allocate(struct kubelet *kubelet);
void kubelet_allocated(struct kubelet *kubelet, bool good);

/* The kubelet has this container's devices on its books. */
bool kubelet_has_booked(const struct pod *pod, unsigned container);

/* ---- plugin_lock.c: the locks of a node as a plugin read it (kubelet->seen) ---- */

/* HAMi's: the one that its plugins know. */
const char *plugin_lock(const struct kubelet *kubelet);

/* The lock names the served pod by its name. */
bool plugin_is_named(const struct kubelet *kubelet, const struct slot *slot);

/* A member of the lease, if the lease belongs to the lock; "" else. */
const char *plugin_member(const struct kubelet *kubelet, const struct slot *slot,
                          const char *name, char buffer[40]);

/* It is the served pod's: by its lease, or where there is none by its name. */
bool plugin_is_ours(const struct kubelet *kubelet, const struct slot *slot);

/* The served pod's record; NULL = it has none. */
const struct slot *plugin_own_slot(const struct kubelet *kubelet);

/* The one whose lease has this uid; side by side the one with the highest fence. */
const struct slot *plugin_slot_of(const struct kubelet *kubelet, const char *uid);

/* May a pod that has no record be served? */
bool plugin_lock_allows(const struct kubelet *kubelet);

/* Adds the edits by which this record is freed. */
void plugin_edit_out(const struct kubelet *kubelet, const struct slot *slot,
                     struct request *request);

#endif
