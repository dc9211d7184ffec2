/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See places.h. Texts are kept as hashes only: a collision could cost a waiter its order,
 * no more. */
#include "places.h"

#include <stdbool.h>
#include <string.h>

#include "hash.h"

static uint64_t hash(const char *text, uint64_t seed)
{
    uint64_t value = hami_internal_hash_text(text, seed);

    value ^= value >> 32;
    return value ? value : 1;
}

static struct hami_internal_place *find(struct hami_internal_places *places,
                                        const char *uid)
{
    uint64_t owner = hash(uid, 0), check = hash(uid, UINT64_C(0x9e3779b97f4a7c15));
    struct hami_internal_place *set = places->entries[owner % places->sets];

    for (size_t i = 0; i < HAMI_INTERNAL_PLACES_WAYS; i++) {
        if (set[i].owner == owner && set[i].owner_check == check) {
            return &set[i];
        }
    }
    return NULL;
}

size_t hami_internal_places_sets(size_t waiters)
{
    size_t sets = HAMI_INTERNAL_PLACES_SETS_LEAST;

    while (sets < HAMI_INTERNAL_PLACES_SETS_MOST &&
           sets * HAMI_INTERNAL_PLACES_WAYS < waiters) {
        sets *= 2;
    }
    return sets;
}

size_t hami_internal_places_size(size_t sets)
{
    const struct hami_internal_places *places = NULL;

    return sizeof(*places) + sets * sizeof(places->entries[0]);
}

void hami_internal_places_keep(struct hami_internal_places *places, const char *uid,
                               const char *node, uint64_t place, uint32_t overtaken,
                               uint64_t now_ns)
{
    struct hami_internal_place *entry = find(places, uid);

    if (!entry) {
        uint64_t owner = hash(uid, 0);
        struct hami_internal_place *set = places->entries[owner % places->sets];
        entry = &set[0];
        for (size_t i = 1; i < HAMI_INTERNAL_PLACES_WAYS; i++) {
            if (set[i].until_ns < entry->until_ns) {
                entry = &set[i];
            }
        }
        places->count += entry->owner == 0;
        memset(entry, 0, sizeof(*entry));
        entry->owner = owner;
        entry->owner_check = hash(uid, UINT64_C(0x9e3779b97f4a7c15));
    }
    bool older =
        entry->node == hash(node, 0) && entry->until_ns > now_ns && entry->place < place;
    entry->node = hash(node, 0);
    entry->place = older ? entry->place : place;
    entry->overtaken =
        older && entry->overtaken > overtaken ? entry->overtaken : overtaken;
    entry->until_ns = now_ns + HAMI_INTERNAL_PLACES_KEEP_NS;
}

uint64_t hami_internal_places_take(struct hami_internal_places *places, const char *uid,
                                   const char *node, uint64_t now_ns,
                                   uint32_t *ret_overtaken)
{
    struct hami_internal_place *entry = find(places, uid);
    uint64_t place = 0;

    if (entry) {
        if (entry->until_ns > now_ns && entry->node == hash(node, 0)) {
            place = entry->place;
            *ret_overtaken = entry->overtaken;
        }
        memset(entry, 0, sizeof(*entry));
        places->count--;
    }
    return place;
}
