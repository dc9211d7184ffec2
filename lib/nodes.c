/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See nodes.h. table.mutex guards buckets, counts, and the rise of pins; it is never held
 * over more than a look at one node. */
#include "nodes.h"

#include <string.h>

#include "hash.h"
#include "memory.h"
#include "node.h"

static uint64_t hash_name(const char *name)
{
    uint64_t hash = hami_internal_hash_text(name, 0);

    return hash ^ (hash >> 29);
}

static struct hami_internal_node *entry(struct hami_internal_list *link)
{
    return LIST_ENTRY(link, struct hami_internal_node, link);
}

int hami_internal_nodes_init(struct hami_nodelock *lock)
{
    struct hami_internal_table *table = &lock->table;

    /* A power of two near the limit, within reason: chains stay short without growing. */
    table->bucket_count = 64;
    while (table->bucket_count < lock->config.nodes_max && table->bucket_count < 16384) {
        table->bucket_count *= 2;
    }
    table->buckets = hami_internal_memory_zero(
        hami_internal_allocator(lock), table->bucket_count * sizeof(*table->buckets));
    if (!table->buckets) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        list_init(&table->buckets[i]);
    }
    return 0;
}

void hami_internal_nodes_done(struct hami_nodelock *lock)
{
    struct hami_internal_table *table = &lock->table;

    for (size_t i = 0; table->buckets && i < table->bucket_count; i++) {
        LIST_EACH_SAFE(link, next, &table->buckets[i])
        {
            hami_internal_node_free(entry(link));
        }
    }
    hami_internal_memory_free(hami_internal_allocator(lock), table->buckets);
    table->buckets = NULL;
}

static struct hami_internal_node *find(struct hami_nodelock *lock, const char *name,
                                       uint64_t hash)
{
    struct hami_internal_table *table = &lock->table;
    struct hami_internal_list *bucket = &table->buckets[hash & (table->bucket_count - 1)];

    LIST_EACH(link, bucket)
    {
        struct hami_internal_node *node = entry(link);
        if (node->hash == hash && strcmp(node->name, name) == 0) {
            return node;
        }
    }
    return NULL;
}

/* With table.mutex: unlinks a node that nothing needs. */
static bool unlink_idle(struct hami_nodelock *lock, struct hami_internal_node *node)
{
    if (atomic_load(&node->pins) != 0) {
        return false;
    }
    (void)pthread_mutex_lock(&node->mutex);
    bool idle = hami_internal_node_is_idle(node);
    for (size_t i = 0; idle && i < node->slot_count; i++) {
        hami_internal_owners_remove(node, &node->slots[i]->owner_link);
    }
    (void)pthread_mutex_unlock(&node->mutex);
    if (idle) {
        list_remove(&node->link);
        lock->table.node_count--;
    }
    return idle;
}

/* With table.mutex: makes room by one idle node, looked for from a moving start. */
static struct hami_internal_node *evict(struct hami_nodelock *lock, uint64_t start)
{
    struct hami_internal_table *table = &lock->table;

    for (size_t i = 0; i < table->bucket_count; i++) {
        struct hami_internal_list *bucket =
            &table->buckets[(start + i) & (table->bucket_count - 1)];
        LIST_EACH(link, bucket)
        {
            if (unlink_idle(lock, entry(link))) {
                return entry(link);
            }
        }
    }
    return NULL;
}

/* With table.mutex. *made is used or left. */
static int insert(struct hami_nodelock *lock, struct hami_internal_node **made,
                  struct hami_internal_node **evicted)
{
    struct hami_internal_table *table = &lock->table;
    struct hami_internal_node *node = *made;

    if (table->node_count >= lock->config.nodes_max) {
        *evicted = evict(lock, node->hash);
        if (!*evicted) {
            return HAMI_E_LIMIT;
        }
    }
    list_insert(&table->buckets[node->hash & (table->bucket_count - 1)], &node->link);
    table->node_count++;
    *made = NULL;
    return 0;
}

int hami_internal_nodes_get(struct hami_nodelock *lock, const char *name, bool create,
                            struct hami_internal_node **ret)
{
    uint64_t hash = hash_name(name);
    struct hami_internal_node *made = NULL, *evicted = NULL;
    int code = 0;

    (void)pthread_mutex_lock(&lock->table.mutex);
    struct hami_internal_node *node = find(lock, name, hash);
    if (!node && create) {
        (void)pthread_mutex_unlock(&lock->table.mutex);
        made = hami_internal_node_new(lock, name, hash);
        (void)pthread_mutex_lock(&lock->table.mutex);
        node = find(lock, name, hash);
        if (!node) {
            node = made;
            code = made ? insert(lock, &made, &evicted) : HAMI_E_NOMEM;
        }
    } else if (!node) {
        code = HAMI_E_NODE;
    }
    if (code == 0) {
        atomic_fetch_add(&node->pins, 1);
        *ret = node;
    }
    (void)pthread_mutex_unlock(&lock->table.mutex);
    hami_internal_node_free(made);
    hami_internal_node_free(evicted);
    return code;
}

void hami_internal_nodes_pin(struct hami_internal_node *node)
{
    atomic_fetch_add(&node->pins, 1);
}

void hami_internal_nodes_unpin(struct hami_internal_node *node)
{
    atomic_fetch_sub(&node->pins, 1);
}

void hami_internal_nodes_drop(struct hami_internal_node *node)
{
    struct hami_nodelock *lock = node->lock;

    (void)pthread_mutex_lock(&lock->table.mutex);
    hami_internal_nodes_unpin(node);
    bool gone = unlink_idle(lock, node);
    (void)pthread_mutex_unlock(&lock->table.mutex);
    if (gone) {
        hami_internal_node_free(node);
    }
}

bool hami_internal_nodes_any_busy(struct hami_nodelock *lock)
{
    struct hami_internal_table *table = &lock->table;
    bool busy = false;

    (void)pthread_mutex_lock(&table->mutex);
    for (size_t i = 0; i < table->bucket_count && !busy; i++) {
        LIST_EACH(link, &table->buckets[i])
        {
            struct hami_internal_node *node = entry(link);
            (void)pthread_mutex_lock(&node->mutex);
            busy = busy || hami_internal_node_is_busy(node);
            (void)pthread_mutex_unlock(&node->mutex);
        }
    }
    (void)pthread_mutex_unlock(&table->mutex);
    return busy;
}

int hami_internal_nodes_all(struct hami_nodelock *lock, struct hami_internal_node ***ret,
                            size_t *ret_count)
{
    struct hami_internal_table *table = &lock->table;
    struct hami_internal_node **nodes = NULL;
    size_t capacity, count = 0;

    (void)pthread_mutex_lock(&table->mutex);
    capacity = table->node_count;
    (void)pthread_mutex_unlock(&table->mutex);
    /* Nodes that come meanwhile may be left out. */
    nodes = hami_internal_memory_zero(hami_internal_allocator(lock),
                                      (capacity + 1) * sizeof(*nodes));
    if (!nodes) {
        return HAMI_E_NOMEM;
    }
    (void)pthread_mutex_lock(&table->mutex);
    for (size_t i = 0; i < table->bucket_count; i++) {
        LIST_EACH(link, &table->buckets[i])
        {
            if (count < capacity) {
                atomic_fetch_add(&entry(link)->pins, 1);
                nodes[count++] = entry(link);
            }
        }
    }
    (void)pthread_mutex_unlock(&table->mutex);
    *ret = nodes;
    *ret_count = count;
    return 0;
}
