/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See owners.h. Chains with back links; a collision of hashes costs one more look. */
#include "owners.h"

#include "hash.h"
#include "internal.h"
#include "memory.h"

#define BUCKETS 16384 /* touched only where they are used */

int hami_internal_owners_init(struct hami_nodelock *lock)
{
    struct hami_internal_owners *owners = &lock->owners;

    owners->buckets = hami_internal_memory_zero(hami_internal_allocator(lock),
                                                BUCKETS * sizeof(*owners->buckets));
    owners->bucket_count = BUCKETS;
    return owners->buckets ? 0 : HAMI_E_NOMEM;
}

void hami_internal_owners_done(struct hami_nodelock *lock)
{
    hami_internal_memory_free(hami_internal_allocator(lock), lock->owners.buckets);
    lock->owners.buckets = NULL;
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

static struct hami_internal_owner_link **bucket(struct hami_internal_owners *owners,
                                                uint64_t hash)
{
    return &owners->buckets[hash & (owners->bucket_count - 1)];
}

void hami_internal_owners_add(struct hami_internal_node *node,
                              struct hami_internal_owner_link *link, uint64_t hash,
                              struct hami_wait *wait)
{
    struct hami_internal_owners *owners = &node->lock->owners;

    (void)pthread_mutex_lock(&owners->mutex);
    struct hami_internal_owner_link **from = bucket(owners, hash);
    *link = (struct hami_internal_owner_link){.next = *from,
                                              .from = from,
                                              .listed = true,
                                              .hash = hash,
                                              .node = node,
                                              .wait = wait};
    if (link->next) {
        link->next->from = &link->next;
    }
    *from = link;
    (void)pthread_mutex_unlock(&owners->mutex);
}

void hami_internal_owners_remove(struct hami_internal_node *node,
                                 struct hami_internal_owner_link *link)
{
    struct hami_internal_owners *owners = &node->lock->owners;

    if (!link->listed) {
        return;
    }
    link->listed = false;
    (void)pthread_mutex_lock(&owners->mutex);
    *link->from = link->next;
    if (link->next) {
        link->next->from = link->from;
    }
    (void)pthread_mutex_unlock(&owners->mutex);
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

size_t hami_internal_owners_nodes(struct hami_nodelock *lock, uint64_t hash,
                                  struct hami_internal_node **ret, size_t room)
{
    struct hami_internal_owners *owners = &lock->owners;
    size_t count = 0;

    (void)pthread_mutex_lock(&lock->table.mutex);
    (void)pthread_mutex_lock(&owners->mutex);
    for (const struct hami_internal_owner_link *link = *bucket(owners, hash);
         link && count <= room; link = link->next) {
        if (link->hash != hash || is_among(ret, count, link->node)) {
            continue;
        }
        if (count < room) {
            ret[count] = link->node;
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
    for (const struct hami_internal_owner_link *link = *bucket(owners, hash);
         link && count <= room; link = link->next) {
        if (link->hash == hash && link->node == node && link->wait) {
            if (count < room) {
                ret[count] = link->wait;
            }
            count++;
        }
    }
    (void)pthread_mutex_unlock(&owners->mutex);
    return count;
}
