/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of known nodes, by name. A node is used under a pin; it leaves the table only
 * when nothing pins it and nothing is under way on it, so that a name never has two nodes
 * at a time.
 */
#ifndef HAMI_LIB_NODES_H
#define HAMI_LIB_NODES_H

#include "internal.h"

/* Returns 0 or HAMI_E_NOMEM. */
int hami_internal_nodes_init(struct hami_nodelock *lock);
/* Frees all nodes; nothing may be under way. */
void hami_internal_nodes_done(struct hami_nodelock *lock);

/*
 * Finds a node, or makes it, and pins it.
 * @create  false: a node that is not known gives NULL and HAMI_E_NODE
 * Returns 0, HAMI_E_NOMEM, HAMI_E_LIMIT (nodes_max reached, and none is idle),
 * HAMI_E_NODE
 */
int hami_internal_nodes_get(struct hami_nodelock *lock, const char *name, bool create,
                            struct hami_internal_node **ret);

/* Another pin on a node that the caller has pinned. */
void hami_internal_nodes_pin(struct hami_internal_node *node);
void hami_internal_nodes_unpin(struct hami_internal_node *node);

/* True if something is under way on any node. No lock is held. */
bool hami_internal_nodes_any_busy(struct hami_nodelock *lock);

/* Takes the node out and frees it if nothing needs it. Consumes the caller's pin. */
void hami_internal_nodes_drop(struct hami_internal_node *node);

/*
 * Pins all nodes that are known now.
 * @ret, @ret_count  array to be freed by the manager's allocator, each node to be
 * unpinned Returns 0 or HAMI_E_NOMEM
 */
int hami_internal_nodes_all(struct hami_nodelock *lock, struct hami_internal_node ***ret,
                            size_t *ret_count);

#endif
