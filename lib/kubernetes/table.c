/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chained hash table of named byte strings. No lock of its own.
 * Invariant: every entry hangs in the bucket of its hash, `count` is their number.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_DEFAULT 1000000u
#define BUCKETS_FIRST 64u

struct hami_internal_table_entry {
    struct hami_internal_table_entry *next;
    uint64_t hash;
    uint32_t round;
    uint32_t name_offset; /* the name stands behind the bytes */
    _Alignas(max_align_t) unsigned char bytes[];
};

static uint64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    }
    return hash ^ (hash >> 32);
}

static const char *name_of(const struct hami_internal_table_entry *entry)
{
    return (const char *)entry->bytes + entry->name_offset;
}

/* The link that points to the name's entry, or to the NULL at its bucket's end. Needs
 * buckets. */
static struct hami_internal_table_entry **find(const struct hami_internal_table *table,
                                               const char *name, uint64_t hash)
{
    struct hami_internal_table_entry **link =
        &table->buckets[hash & (table->bucket_count - 1)];
    while (*link != NULL &&
           ((*link)->hash != hash || strcmp(name_of(*link), name) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

static bool grow(struct hami_internal_table *table)
{
    size_t wider = table->bucket_count != 0 ? table->bucket_count * 2 : BUCKETS_FIRST;
    if (table->count < table->bucket_count) {
        return true;
    }
    struct hami_internal_table_entry **buckets = calloc(wider, sizeof(*buckets));
    if (buckets == NULL) {
        return table->bucket_count != 0;
    }
    for (size_t i = 0; i < table->bucket_count; i++) {
        struct hami_internal_table_entry *entry = table->buckets[i];
        while (entry != NULL) {
            struct hami_internal_table_entry *next = entry->next;
            entry->next = buckets[entry->hash & (wider - 1)];
            buckets[entry->hash & (wider - 1)] = entry;
            entry = next;
        }
    }
    free(table->buckets);
    table->buckets = buckets;
    table->bucket_count = wider;
    return true;
}

bool hami_internal_table_put(struct hami_internal_table *table, const char *name,
                             const void *bytes, size_t size)
{
    size_t length = strlen(name) + 1;
    struct hami_internal_table_entry *entry = NULL;
    hami_internal_table_remove(table, name);
    if (table->count < (table->limit != 0 ? table->limit : LIMIT_DEFAULT) &&
        size <= UINT32_MAX && grow(table)) {
        entry = malloc(sizeof(*entry) + size + length);
    }
    if (entry == NULL) {
        return false;
    }
    entry->hash = hash_of(name);
    entry->round = table->round;
    entry->name_offset = (uint32_t)size;
    if (size > 0) {
        memcpy(entry->bytes, bytes, size);
    }
    memcpy(entry->bytes + size, name, length);
    struct hami_internal_table_entry **bucket =
        &table->buckets[entry->hash & (table->bucket_count - 1)];
    entry->next = *bucket;
    *bucket = entry;
    table->count++;
    return true;
}

const void *hami_internal_table_get(const struct hami_internal_table *table,
                                    const char *name)
{
    if (table->bucket_count == 0) {
        return NULL;
    }
    struct hami_internal_table_entry *entry = *find(table, name, hash_of(name));
    return entry != NULL ? entry->bytes : NULL;
}

bool hami_internal_table_remove(struct hami_internal_table *table, const char *name)
{
    if (table->bucket_count == 0) {
        return false;
    }
    struct hami_internal_table_entry **link = find(table, name, hash_of(name));
    struct hami_internal_table_entry *entry = *link;
    if (entry == NULL) {
        return false;
    }
    *link = entry->next;
    table->count--;
    free(entry);
    return true;
}

void hami_internal_table_begin_round(struct hami_internal_table *table)
{
    table->round++;
}

void hami_internal_table_sweep(struct hami_internal_table *table,
                               void (*tell)(void *data, const char *name), void *data)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        struct hami_internal_table_entry **link = &table->buckets[i];
        while (*link != NULL) {
            struct hami_internal_table_entry *entry = *link;
            if (entry->round == table->round) {
                link = &entry->next;
                continue;
            }
            *link = entry->next;
            table->count--;
            if (tell != NULL) {
                tell(data, name_of(entry));
            }
            free(entry);
        }
    }
}

void hami_internal_table_done(struct hami_internal_table *table)
{
    for (size_t i = 0; i < table->bucket_count; i++) {
        struct hami_internal_table_entry *entry = table->buckets[i];
        while (entry != NULL) {
            struct hami_internal_table_entry *next = entry->next;
            free(entry);
            entry = next;
        }
    }
    free(table->buckets);
    table->buckets = NULL;
    table->bucket_count = 0;
    table->count = 0;
}
