/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stays of a waiter that left: its arrival number, by owner and node, for a while,
 * so that the owner's next try gets its old place. Bounded and of fixed size; the oldest
 * entry of a set makes room. Pure: the caller has the clock and the lock.
 */
#ifndef HAMI_LIB_PLACES_H
#define HAMI_LIB_PLACES_H

#include <stddef.h>
#include <stdint.h>

#define HAMI_INTERNAL_PLACES_SETS 1024
#define HAMI_INTERNAL_PLACES_WAYS 4
#define HAMI_INTERNAL_PLACES_KEEP_NS UINT64_C(30000000000)

struct hami_internal_place {
    uint64_t owner, owner_check, node; /* hashes; owner 0 = empty */
    uint64_t place, until_ns;
};

struct hami_internal_places {
    struct hami_internal_place entries[HAMI_INTERNAL_PLACES_SETS]
                                      [HAMI_INTERNAL_PLACES_WAYS];
};

/* Keeps a place until now_ns + HAMI_INTERNAL_PLACES_KEEP_NS. Of two that one owner had on
 * one node at a time the older one stays; what is kept for another node is replaced. */
void hami_internal_places_keep(struct hami_internal_places *places, const char *uid,
                               const char *node, uint64_t place, uint64_t now_ns);

/*
 * Takes out what is kept of that uid.
 * Returns the place, or 0: nothing kept, too old, or kept for another node (then the
 * owner was sent elsewhere: its old place is dropped)
 */
uint64_t hami_internal_places_take(struct hami_internal_places *places, const char *uid,
                                   const char *node, uint64_t now_ns);

#endif
