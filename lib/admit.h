/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a wait may queue, at which place, and what it may expect. With the node's mutex
 * held; no I/O.
 *
 * What is refused: a wait whose namespace, then whose node, has as many waiters as are
 * allowed; and under HAMI_NODELOCK_REFUSE_EARLY one whose turn can't come before its
 * deadline by the node's pace. Nobody who is refused loses its place. Without a measured
 * pace nobody is refused for it.
 */
#ifndef HAMI_LIB_ADMIT_H
#define HAMI_LIB_ADMIT_H

#include "internal.h"

/* How a key stands on a node: what pace.h needs to say when somebody's turn comes. */
struct hami_internal_standing_key {
    uint64_t hold_ns; /* 0 = no pace is measured */
    uint64_t standing, oldest_ns;
};
struct hami_internal_standing_key
hami_internal_admit_look(const struct hami_internal_node *node,
                         const struct hami_internal_key *key, uint64_t now_ns);

/* Says in an error where a wait of the queue stands, and when its turn would come. */
void hami_internal_admit_foresee(const struct hami_wait *wait, uint64_t now_ns,
                                 struct hami_error *error);

/*
 * Queues a wait, or refuses it and keeps its place.
 * @error  filled on failure; NULL
 * Returns 0, HAMI_E_CLOSED, HAMI_E_LIMIT, HAMI_E_BUSY (a try that would have to wait)
 */
int hami_internal_admit_enqueue(struct hami_wait *wait, struct hami_error *error);

#endif
