/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks view: what the manager's snapshot shows, as JSON. hamictl reads it.
 */
#ifndef HAMID_SCHEDULER_LOCKS_H
#define HAMID_SCHEDULER_LOCKS_H

#include <hami/nodelock.h>

/*
 * {"holder","nodes":[{"node","slots":[..],"waiters":[..]}]}
 * @node     NULL = all nodes that have a lock or a waiter
 * Returns   a text to be freed, NULL without memory
 */
char *locks_format(hami_nodelock *lock, const char *node);

#endif
