/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A world of kubernetes_stand_in.h whose transport keeps its values on Leases. */
#ifndef KUBERNETES_LEASE_WORLD_H
#define KUBERNETES_LEASE_WORLD_H

#include "kubernetes_stand_in.h"

#define NAMESPACE "locks"
#define LEASES_PATH "/apis/coordination.k8s.io/v1/namespaces/" NAMESPACE "/leases"

#define LOCK_A "2026-01-01T00:00:00Z,ns,a"
#define LOCK_B "2026-01-01T00:00:09Z,ns,b"
/* What somebody writes who knows no leases. */
#define FOREIGN "2026-01-01T00:00:05Z,other,pod"
#define LEASE_OF(lock, fence)                                                            \
    "{\"version\":1,\"lock\":\"" lock "\",\"uid\":\"u\",\"fence\":\"" fence              \
    "\",\"holder\":\"h_1\",\"attempt\":\"1\",\"hold_ms\":15000,\"free\":\"node\"}"
#define MEMORY_OF(fence) "{\"version\":1,\"fence\":\"" fence "\"}"
#define LEASE_A LEASE_OF(LOCK_A, "5")
#define LEASE_B LEASE_OF(LOCK_B, "6")

/* A namespace, a node "n1", and the transport. */
void lease_world_begin(struct world *world, uint32_t flags);
/* Deletes the node and makes it anew; its Lease stays. */
void lease_world_renew_node(struct world *world, const char *name);
/* A Lease of n1 with this JSON as metadata's further members, such as
 * "\"annotations\":{...}"; NULL = none. */
void lease_world_make_lease(struct world *world, const char *metadata);
void lease_world_patch_lease(struct world *world, const char *merge);
void lease_world_delete_lease(struct world *world);

/* Values of n1, past the transport; NULL = absent. */
void expect_on_lease(struct world *world, const char *key, const char *value);
void expect_on_node(struct world *world, const char *key, const char *value);
/* A text of the Lease of n1. */
void expect_lease_text(struct world *world, const char *pointer, const char *value);
int64_t lease_transitions(struct world *world);

/* Puts the pair from one to another; NULL = absent. Returns the code. */
int put_pair(struct world *world, struct hami_call *call, const char *lock,
             const char *lease, const char *new_lock, const char *new_lease);
int take_a(struct world *world, struct hami_call *call);
int free_a(struct world *world, struct hami_call *call);
/* Reads lock and lease of n1. */
int read_pair(struct world *world, struct hami_call *call);

/* The next requests of this verb on this resource meet a fault. */
void arm_next(struct world *world, const char *verb, const char *resource,
              enum kubesim_action action, int status);
unsigned count_of(struct world *world, const char *verb, const char *resource);

#endif
