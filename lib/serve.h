/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Serving the waiters of a node in their order. With the node's mutex held. */
#ifndef HAMI_LIB_SERVE_H
#define HAMI_LIB_SERVE_H

#include "internal.h"

/* Notes that time alone makes something due at `due_ns`. */
void hami_internal_serve_consider(struct hami_internal_node *node, uint64_t due_ns);

/*
 * Looks at the waiters from the head on: gives shares, ends tries that can't be served,
 * starts at most one operation for those whose turn it is. Returns true if an operation
 * was started (or waits for a call to be made)
 */
bool hami_internal_serve_waiters(struct hami_internal_node *node, uint64_t now_ns,
                                 struct hami_internal_after *after);

#endif
