/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who makes work: bursts of pods for a node, pods that are deleted or made anew at any
 * moment of their life, nodes that go and come back, and what happens to the replicas.
 */
#ifndef TESTS_SIMULATION_WORKLOAD_H
#define TESTS_SIMULATION_WORKLOAD_H

#include "world.h"

void workload_start(struct world *world);

/* A pod has changed; called by the store after each change. */
void workload_pod(struct world *world, struct pod *pod, const struct object *before);

/* Makes one pod for a node whose lock was left, to see that it can be taken. */
void workload_probe(struct world *world, struct node *node);

#endif
