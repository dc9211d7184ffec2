/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounded table of small byte strings by name, with the rounds that a list needs: what
 * a complete list did not name is swept out. One allocation an entry. No lock: the user's
 * own guards it.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_TABLE_H
#define HAMI_INTERNAL_KUBERNETES_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hami_internal_table_entry;

/* Zero (and limit) is an empty table. */
struct hami_internal_table {
    struct hami_internal_table_entry **buckets;
    size_t bucket_count; /* 0 or a power of two */
    size_t count;
    size_t limit;   /* entries; 0 = 1000000 */
    uint32_t round; /* of the list in progress, or of the last one */
};

/* Sets or replaces. Returns false without memory or above the limit: then the name is not
 * there. */
bool hami_internal_table_put(struct hami_internal_table *table, const char *name,
                             const void *bytes, size_t size);

/* The bytes of a name, borrowed until the table changes, aligned for any type; NULL = not
 * there. */
const void *hami_internal_table_get(const struct hami_internal_table *table,
                                    const char *name);

/* Takes a name out. Returns false if it was not there. */
bool hami_internal_table_remove(struct hami_internal_table *table, const char *name);

/* A list begins: what is not put from now on is what _sweep takes out. */
void hami_internal_table_begin_round(struct hami_internal_table *table);

/* Takes out what the round did not put; tells each (may be NULL). The table must not be
 * changed from `tell`; the name is borrowed for the call. */
void hami_internal_table_sweep(struct hami_internal_table *table,
                               void (*tell)(void *data, const char *name), void *data);

/* Frees all entries; the table is empty afterwards and may be used again. */
void hami_internal_table_done(struct hami_internal_table *table);

#endif
