/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See owners.h. A collision of hashes costs one more look. */
#include "owners.h"

#include "hash.h"
#include "internal.h"

#define KIND_BITS UINT64_C(3)

static struct hami_internal_owner_link *link_of(const struct hami_internal_leaf *leaf)
{
    return LIST_ENTRY(leaf, struct hami_internal_owner_link, leaf);
}

static int compare(const struct hami_internal_leaf *a, const struct hami_internal_leaf *b)
{
    uint64_t hash = link_of(a)->hash, other = link_of(b)->hash;

    if (hash != other) {
        return hash < other ? -1 : 1;
    }
    return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

void hami_internal_owners_init(struct hami_nodelock *lock)
{
    lock->owners.links.compare = compare;
}

uint64_t hami_internal_owners_hash(const char *namespace_name, const char *name)
{
    uint64_t hash = hami_internal_hash_text(
        name, hami_internal_hash_text(namespace_name, 0) * UINT64_C(0x9e3779b97f4a7c15));

    return hash ^ (hash >> 29);
}

uint64_t hami_internal_owners_uid_hash(const char *uid)
{
    uint64_t hash = hami_internal_hash_text(uid, UINT64_C(0x2545f4914f6cdd1d));

    return hash ^ (hash >> 29);
}

/* NULL = it is a slot's. */
static struct hami_wait *wait_of(struct hami_internal_owner_link *link)
{
    switch (link->hash & KIND_BITS) {
    case OWNER_OF_WAIT:
        return LIST_ENTRY(link, struct hami_wait, owner_link);
    case OWNER_UID:
        return LIST_ENTRY(link, struct hami_wait, uid_link);
    default:
        return NULL;
    }
}

static struct hami_internal_node *node_of(struct hami_internal_owner_link *link)
{
    struct hami_wait *wait = wait_of(link);

    return wait ? wait->node
                : LIST_ENTRY(link, struct hami_internal_slot, owner_link)->node;
}

/* The first link with a hash, or the next; NULL = there is none. */
static struct hami_internal_owner_link *
find(const struct hami_internal_owners *owners, uint64_t hash,
     const struct hami_internal_owner_link *before)
{
    const struct hami_internal_owner_link low = {.hash = hash & ~KIND_BITS};
    struct hami_internal_leaf *leaf =
        before ? hami_internal_sorted_after(&owners->links, &before->leaf)
               : hami_internal_sorted_after(&owners->links, &low.leaf);

    return leaf && (link_of(leaf)->hash | KIND_BITS) == (hash | KIND_BITS) ? link_of(leaf)
                                                                           : NULL;
}

void hami_internal_owners_add(struct hami_internal_node *node,
                              struct hami_internal_owner_link *link, uint64_t hash,
                              enum hami_internal_owner_kind kind)
{
    struct hami_internal_owners *owners = &node->lock->owners;

    link->hash = (hash & ~KIND_BITS) | kind;
    (void)pthread_mutex_lock(&owners->mutex);
    hami_internal_sorted_insert(&owners->links, &link->leaf);
    (void)pthread_mutex_unlock(&owners->mutex);
}

void hami_internal_owners_remove(struct hami_internal_node *node,
                                 struct hami_internal_owner_link *link)
{
    struct hami_internal_owners *owners = &node->lock->owners;

    if (link->hash == 0) {
        return;
    }
    (void)pthread_mutex_lock(&owners->mutex);
    hami_internal_sorted_remove(&owners->links, &link->leaf);
    (void)pthread_mutex_unlock(&owners->mutex);
    link->hash = 0;
}

static bool is_among(struct hami_internal_node *const *nodes, size_t count,
                     const struct hami_internal_node *node)
{
    bool found = false;

    for (size_t i = 0; i < count; i++) {
        found = found || nodes[i] == node;
    }
    return found;
}

/* Where a link stands among its like says nothing, so that nodes are put in an order of
 * their own: what comes of it is the same each time. */
static void put(struct hami_internal_node **nodes, size_t count,
                struct hami_internal_node *node)
{
    size_t at = count;

    for (; at > 0 && nodes[at - 1]->hash > node->hash; at--) {
        nodes[at] = nodes[at - 1];
    }
    nodes[at] = node;
}

size_t hami_internal_owners_nodes(struct hami_nodelock *lock, uint64_t hash,
                                  struct hami_internal_node **ret, size_t room)
{
    struct hami_internal_owners *owners = &lock->owners;
    size_t count = 0;

    (void)pthread_mutex_lock(&lock->table.mutex);
    (void)pthread_mutex_lock(&owners->mutex);
    for (struct hami_internal_owner_link *link = find(owners, hash, NULL);
         link && count <= room; link = find(owners, hash, link)) {
        struct hami_internal_node *node = node_of(link);
        if (is_among(ret, count, node)) {
            continue;
        }
        if (count < room) {
            put(ret, count, node);
        }
        count++;
    }
    for (size_t i = 0; i < count && count <= room; i++) {
        atomic_fetch_add(&ret[i]->pins, 1);
    }
    (void)pthread_mutex_unlock(&owners->mutex);
    (void)pthread_mutex_unlock(&lock->table.mutex);
    return count;
}

size_t hami_internal_owners_waits(struct hami_internal_node *node, uint64_t hash,
                                  struct hami_wait **ret, size_t room)
{
    struct hami_internal_owners *owners = &node->lock->owners;
    size_t count = 0;

    (void)pthread_mutex_lock(&owners->mutex);
    for (struct hami_internal_owner_link *link = find(owners, hash, NULL);
         link && count <= room; link = find(owners, hash, link)) {
        struct hami_wait *wait = wait_of(link);
        if (wait && wait->node == node) {
            if (count < room) {
                ret[count] = wait;
            }
            count++;
        }
    }
    (void)pthread_mutex_unlock(&owners->mutex);
    return count;
}
