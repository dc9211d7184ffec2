/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What must hold, judged from the changes of the simulated server alone, by rules of its
 * own: nothing here comes from the library. The order of grants, which no server sees, is
 * told by the binders.
 */
#ifndef TESTS_SIMULATION_CHECKER_H
#define TESTS_SIMULATION_CHECKER_H

#include "world.h"

void checker_start(struct world *world);
void checker_done(struct world *world);

/* A node or a pod is about to change; before or after may be NULL. */
void checker_node(struct world *world, struct node *node, const struct object *before,
                  const struct object *after, enum writer writer);
void checker_pod(struct world *world, struct pod *pod, const struct object *before,
                 const struct object *after, enum writer writer);

/* An acquire was granted under this fence; it still stands among the node's waiting
 * ones. */
/* An acquire is about to stand among those that wait. */
void checker_queued(struct world *world, struct acquire *acquire);

void checker_granted(struct world *world, const struct acquire *acquire, uint64_t fence);

/* The plugin handed out the devices of `served` for an Allocate of `caller`. */
void checker_allocated(struct world *world, const struct node *node,
                       const struct object *caller, const struct object *served);

/* The uid that one lock of a node names: by its lease, or by the name alone; "" =
 * nobody's. Valid until the next call. */
const char *checker_owner(struct world *world, const struct object *node,
                          const struct slot *slot);

/* Counts a violation; the first one is kept. */
void checker_violation(struct world *world, uint64_t *counter, const struct node *node,
                       const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
