/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays of a waiter that left: its arrival number and how often it was overtaken, by
 * owner and node, for a while, so that the owner's next try gets its old place. Bounded
 * and of fixed size; the oldest entry of a set makes room. Pure: the caller has the clock
 * and the lock.
 */
#ifndef HAMI_LIB_PLACES_H
#define HAMI_LIB_PLACES_H

#include <stddef.h>
#include <stdint.h>

#define HAMI_INTERNAL_PLACES_WAYS 4
#define HAMI_INTERNAL_PLACES_KEEP_NS UINT64_C(30000000000)
/* Sets of a table: a power of two. */
#define HAMI_INTERNAL_PLACES_SETS_LEAST 1024
#define HAMI_INTERNAL_PLACES_SETS_MOST 16384

struct hami_internal_place {
    uint64_t owner, owner_check, node; /* hashes; owner 0 = empty */
    uint64_t place, until_ns;
    uint32_t overtaken;
};

/* Made as zeroed memory of hami_internal_places_size() bytes; `sets` is set then. */
struct hami_internal_places {
    size_t sets;
    size_t count; /* entries that are not empty */
    struct hami_internal_place entries[][HAMI_INTERNAL_PLACES_WAYS];
};

/* Sets enough for so many waiters, within reason; the bytes of a table. */
size_t hami_internal_places_sets(size_t waiters);
size_t hami_internal_places_size(size_t sets);

/* Keeps a place until now_ns + HAMI_INTERNAL_PLACES_KEEP_NS. Of two that one owner had on
 * one node at a time the older one stays; what is kept for another node is replaced. */
void hami_internal_places_keep(struct hami_internal_places *places, const char *uid,
                               const char *node, uint64_t place, uint32_t overtaken,
                               uint64_t now_ns);

/*
 * Takes out what is kept of that uid.
 * @ret_overtaken  set where a place is returned
 * Returns the place, or 0: nothing kept, too old, or kept for another node (then the
 * owner was sent elsewhere: its old place is dropped)
 */
uint64_t hami_internal_places_take(struct hami_internal_places *places, const char *uid,
                                   const char *node, uint64_t now_ns,
                                   uint32_t *ret_overtaken);

#endif
