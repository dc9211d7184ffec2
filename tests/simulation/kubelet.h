/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side: a kubelet that admits the pods bound to its node container by container
 * and in any order, and its device plugin: ours (consistent reads, the one possible caller,
 * `done` with the fence, a guarded release), HAMi v2.10's (looks again before it removes)
 * or v2.7's to v2.9's (does not).
 */
#ifndef TESTS_SIMULATION_KUBELET_H
#define TESTS_SIMULATION_KUBELET_H

#include "world.h"

void kubelet_start(struct world *world, struct node *node);
void kubelet_done(struct node *node);

/* A pod was bound to the node. */
void kubelet_bound(struct world *world, struct node *node, struct pod *pod);

/* No pod waits for it, and no Allocate is under way. */
bool kubelet_is_idle(const struct node *node);

/* Its plugin is at the end of an Allocate for another pod than the one of this uid: one
 * that was deleted by force meanwhile, perhaps. */
bool kubelet_serves_other(const struct node *node, const char *uid);

#endif
