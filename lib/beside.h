/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of pods, compared: docs/protocol.md, section 11. Pure. Calls are compared by
 * hashes of 64 bits: two that are taken for one keep their pods apart, no more.
 */
#ifndef HAMI_LIB_BESIDE_H
#define HAMI_LIB_BESIDE_H

#include "internal.h"

/* @calls  canonical */
void hami_internal_beside_read(const char *calls, struct hami_internal_call_set *ret);

/* True if they have a call in common. */
bool hami_internal_beside_meets(const struct hami_internal_call_set *a,
                                const struct hami_internal_call_set *b);

/*
 * The calls of waiters that must wait: who comes later and has one of them waits as well.
 * More than there is room for count as all there are.
 */
#define HAMI_INTERNAL_CLAIMS_ROOM 128
struct hami_internal_claims {
    size_t count;
    bool all;
    uint64_t table[HAMI_INTERNAL_CLAIMS_ROOM]; /* open addressing; 0 = nothing here */
};

void hami_internal_beside_clear(struct hami_internal_claims *claims);
void hami_internal_beside_claim(struct hami_internal_claims *claims,
                                const struct hami_internal_call_set *set);
bool hami_internal_beside_is_claimed(const struct hami_internal_claims *claims,
                                     const struct hami_internal_call_set *set);

#endif
