/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of a text that the core's tables share: FNV-1a. Pure; callers fold it to their
 * size. */
#ifndef HAMI_LIB_HASH_H
#define HAMI_LIB_HASH_H

#include <stdint.h>

/* @seed  0, or another number for an independent second hash */
static inline uint64_t hami_internal_hash_text(const char *text, uint64_t seed)
{
    uint64_t hash = UINT64_C(14695981039346656037) ^ seed;

    for (const char *c = text; *c; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return hash;
}

#endif
