/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See beside.h. Invariant: a table of claims is at most half full, so that each search in
 * it ends. */
#include "beside.h"

#include <string.h>

#include "hash.h"

void hami_internal_beside_read(const char *calls, struct hami_internal_call_set *ret)
{
    const char *at = calls;

    ret->count = 0;
    while (*at && ret->count < HAMI_NODELOCK_CALL_COUNT_MAX) {
        uint64_t hash = hami_internal_hash_until(at, ',', 0);
        ret->hashes[ret->count++] = hash ? hash : 1;
        at += strcspn(at, ",");
        at += *at == ',';
    }
}

bool hami_internal_beside_meets(const struct hami_internal_call_set *a,
                                const struct hami_internal_call_set *b)
{
    for (size_t i = 0; i < a->count; i++) {
        for (size_t j = 0; j < b->count; j++) {
            if (a->hashes[i] == b->hashes[j]) {
                return true;
            }
        }
    }
    return false;
}

void hami_internal_beside_clear(struct hami_internal_claims *claims)
{
    memset(claims, 0, sizeof(*claims));
}

/* Where it is, or would be put. */
static size_t find(const struct hami_internal_claims *claims, uint64_t hash)
{
    size_t at = (hash ^ (hash >> 32)) % HAMI_INTERNAL_CLAIMS_ROOM;

    while (claims->table[at] != 0 && claims->table[at] != hash) {
        at = (at + 1) % HAMI_INTERNAL_CLAIMS_ROOM;
    }
    return at;
}

void hami_internal_beside_claim(struct hami_internal_claims *claims,
                                const struct hami_internal_call_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        size_t at = find(claims, set->hashes[i]);
        if (claims->table[at] != 0) {
            continue;
        }
        if (claims->count >= HAMI_INTERNAL_CLAIMS_ROOM / 2) {
            claims->all = true;
            return;
        }
        claims->table[at] = set->hashes[i];
        claims->count++;
    }
}

bool hami_internal_beside_is_claimed(const struct hami_internal_claims *claims,
                                     const struct hami_internal_call_set *set)
{
    for (size_t i = 0; i < set->count && !claims->all; i++) {
        if (claims->table[find(claims, set->hashes[i])] != 0) {
            return true;
        }
    }
    return claims->all;
}
