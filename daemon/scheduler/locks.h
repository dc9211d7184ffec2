/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks view: what the manager's snapshot shows, as JSON. hamictl reads it.
 */
#ifndef HAMID_SCHEDULER_LOCKS_H
#define HAMID_SCHEDULER_LOCKS_H

#include <hami/nodelock.h>
#include <jansson.h>

/* One lock as an object; new. The age is counted until now_ns. */
json_t *locks_format_slot(const struct hami_slot_view *slot, uint64_t now_ns);

/* Is it the record of a pod that is beside others, by its key? */
bool locks_is_permit(const struct hami_slot_view *slot);

/* Is it the copy of one of those, which says to others that the node is locked? */
bool locks_is_cover(const struct hami_slot_view *slot);

/* The same of one that waits. */
json_t *locks_format_waiter(const struct hami_waiter_view *waiter, uint64_t now_ns);

/* Does nobody hold or take any of the node's locks, and nobody wait? */
bool locks_is_idle(const struct hami_node_view *node);

/*
 * {"holder","nodes":[{"node","slots":[..],"waiters":[..]}]}
 * @node     NULL = all nodes that have a lock or a waiter
 * Returns   a text to be freed, NULL without memory
 */
char *locks_format(hami_nodelock *lock, const char *node);

#endif
