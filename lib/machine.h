/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node does next. One operation at a time; the choice looks at what is known only,
 * and is made anew after each answer, each piece of news and each timer.
 */
#ifndef HAMI_LIB_MACHINE_H
#define HAMI_LIB_MACHINE_H

#include "internal.h"

/*
 * Starts the node's next operation, if none is in flight and one is due: node.operation
 * and node.call are set then, to be submitted. Ends waits that need no operation. Sets
 * node.wake_ns. With the node's mutex held. May ask for a call or a grant by
 * after.need_call, after.need_grant.
 */
void hami_internal_machine_plan(struct hami_internal_node *node,
                                struct hami_internal_after *after);

/* Starts an operation: its call, to be filled; NULL = one has to be made first
 * (after.need_call). */
hami_call *hami_internal_machine_begin(struct hami_internal_node *node,
                                       enum hami_internal_operation operation,
                                       struct hami_internal_after *after);

/* Fills the text of a revocation that this manager writes; new for each call. */
void hami_internal_machine_revocation(struct hami_internal_node *node, hami_call *call,
                                      uint64_t fence);

/* The pause before try number `retries`, with jitter. */
uint64_t hami_internal_machine_pause(struct hami_nodelock *lock, uint32_t retries);

#endif
