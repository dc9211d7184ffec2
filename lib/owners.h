/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an owner is found: its waits, and the slots whose lock names it, by a hash of its
 * namespace and name, and its waits by one of its uid too; so that news of a pod costs
 * one look whatever the number of nodes and waiters.
 *
 * Its mutex is a leaf. An element is put in and taken out with its node's mutex held, so
 * that with that mutex held the node's elements stay. The nodes of elements that are
 * found are pinned under the table's mutex: a node leaves the index before it leaves the
 * table.
 */
#ifndef HAMI_LIB_OWNERS_H
#define HAMI_LIB_OWNERS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/nodelock.h>

#include "sorted.h"

struct hami_internal_node;

/* Guarded by the node's mutex, its place in the tree by the index's. */
struct hami_internal_owner_link {
    struct hami_internal_leaf leaf;
    uint64_t
        hash; /* of which the lowest bits say what it is part of; 0 = it is not listed */
};

/* What a link is part of. */
enum hami_internal_owner_kind {
    OWNER_OF_SLOT = 1, /* by namespace and name: the slot's owner_link */
    OWNER_OF_WAIT,     /* likewise: the wait's owner_link */
    OWNER_UID,         /* by uid: the wait's uid_link */
};

struct hami_internal_owners {
    pthread_mutex_t mutex;
    struct hami_internal_sorted links;
};

void hami_internal_owners_init(struct hami_nodelock *lock);

uint64_t hami_internal_owners_hash(const char *namespace_name, const char *name);
uint64_t hami_internal_owners_uid_hash(const char *uid);

/* With the node's mutex. */
void hami_internal_owners_add(struct hami_internal_node *node,
                              struct hami_internal_owner_link *link, uint64_t hash,
                              enum hami_internal_owner_kind kind);
/* With the node's mutex. One that is not in the index is fine. */
void hami_internal_owners_remove(struct hami_internal_node *node,
                                 struct hami_internal_owner_link *link);

/* Pins the nodes that an owner is found on. Without any lock.
 * Returns their number; `room` + 1 = more than there is room for, and none is pinned */
size_t hami_internal_owners_nodes(struct hami_nodelock *lock, uint64_t hash,
                                  struct hami_internal_node **ret, size_t room);

/* The waits of an owner on a node, with the node's mutex.
 * Returns their number, or `room` + 1 */
size_t hami_internal_owners_waits(struct hami_internal_node *node, uint64_t hash,
                                  struct hami_wait **ret, size_t room);

#endif
