/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a text that the core's tables share: FNV-1a. Pure; callers fold it to their
 * size. */
#ifndef HAMI_LIB_HASH_H
#define HAMI_LIB_HASH_H

#include <stdint.h>

/*
 * @end   of the text, which ends before it or with NUL
 * @seed  0, or another number for an independent second hash
 */
static inline uint64_t hami_internal_hash_until(const char *text, char end, uint64_t seed)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;

    for (const char *c = text; *c && *c != end; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return hash;
}

static inline uint64_t hami_internal_hash_text(const char *text, uint64_t seed)
{
    return hami_internal_hash_until(text, '\0', seed);
}

#endif
