/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds in flight by pod uid, and uids bound a moment ago: a bounded memory whose only
 * use is that a repeated request is answered by one read of the pod instead of waiting in
 * the node's queue.
 */
#include "bind_internal.h"

#include <stdlib.h>
#include <string.h>

uint32_t bind_table_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    }
    return (hash ^ hash >> 16) % BIND_BUCKETS;
}

void bind_table_init(struct bind_table *table)
{
    for (size_t i = 0; i < BIND_BUCKETS; i++) {
        LIST_INIT(&table->buckets[i]);
        LIST_INIT(&table->recent_buckets[i]);
    }
    TAILQ_INIT(&table->recent);
}

static void forget_recent(struct bind_table *table, struct bind_recent *recent)
{
    LIST_REMOVE(recent, siblings);
    TAILQ_REMOVE(&table->recent, recent, order);
    table->recent_count--;
    free(recent);
}

static void forget_old(struct bind_table *table, uint64_t now_ns)
{
    struct bind_recent *oldest = TAILQ_FIRST(&table->recent);
    while (oldest != NULL && (oldest->finished_ns + BIND_RECENT_NS < now_ns ||
                              table->recent_count > BIND_RECENT_MAX)) {
        forget_recent(table, oldest);
        oldest = TAILQ_FIRST(&table->recent);
    }
}

static struct bind_recent *find_recent(struct bind_table *table, const char *uid)
{
    struct bind_recent *recent = NULL;
    LIST_FOREACH(recent, &table->recent_buckets[bind_table_hash(uid)], siblings)
    {
        if (strcmp(recent->uid, uid) == 0) {
            return recent;
        }
    }
    return NULL;
}

void bind_table_done(struct bind_table *table)
{
    while (!TAILQ_EMPTY(&table->recent)) {
        forget_recent(table, TAILQ_FIRST(&table->recent));
    }
}

struct bind *bind_table_find(struct bind_table *table, const char *uid)
{
    struct bind *bind = NULL;
    LIST_FOREACH(bind, &table->buckets[bind_table_hash(uid)], siblings)
    {
        if (strcmp(bind->request.uid, uid) == 0) {
            return bind;
        }
    }
    return NULL;
}

void bind_table_add(struct bind_table *table, struct bind *bind)
{
    LIST_INSERT_HEAD(&table->buckets[bind_table_hash(bind->request.uid)], bind, siblings);
    table->count++;
}

void bind_table_remove(struct bind_table *table, struct bind *bind)
{
    LIST_REMOVE(bind, siblings);
    table->count--;
}

void bind_table_remember(struct bind_table *table, const char *uid, uint64_t now_ns)
{
    struct bind_recent *recent = find_recent(table, uid);
    if (recent != NULL) {
        forget_recent(table, recent);
    }
    recent = calloc(1, sizeof(*recent));
    if (recent == NULL) {
        return;
    }
    memcpy(recent->uid, uid, strlen(uid) + 1);
    recent->finished_ns = now_ns;
    LIST_INSERT_HEAD(&table->recent_buckets[bind_table_hash(uid)], recent, siblings);
    TAILQ_INSERT_TAIL(&table->recent, recent, order);
    table->recent_count++;
    forget_old(table, now_ns);
}

bool bind_table_is_recent(struct bind_table *table, const char *uid, uint64_t now_ns)
{
    forget_old(table, now_ns);
    return find_recent(table, uid) != NULL;
}
