/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl explain`: why a pod waits, and what would free the lock that it waits for. The
 * judgement is hamid's; this only says in words what follows from what is on the objects.
 * Pure.
 */
#ifndef HAMICTL_EXPLAIN_H
#define HAMICTL_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#define EXPLAIN_TEXT_MAX 1024

/* The node that a pod belongs to: bound, else assigned by a filter; "" where nothing
 * says. */
const char *explain_node_of(const json_t *pod);

/* Where a pod stands: "is bound to n1 and runs". @pod NULL = it is gone. */
void explain_pod(const json_t *pod, char *buffer, size_t size);

/*
 * What would free a lock.
 * @slot    the lock, as in the locks view
 * @holder  the pod that it names; NULL = gone
 * @node    the lock's node
 */
void explain_lock(const json_t *slot, const json_t *holder, const char *node,
                  char *buffer, size_t size);

/*
 * Finds a pod among the waiters of a locks view.
 * Returns  the node's entry, borrowed; NULL where it does not wait. @ret_waiter its own
 * entry
 */
const json_t *explain_find_waiter(const json_t *nodes, const char *namespace_name,
                                  const char *name, const json_t **ret_waiter);

/* The entry of a node; NULL where there is none. */
const json_t *explain_find_node(const json_t *nodes, const char *node);

#endif
