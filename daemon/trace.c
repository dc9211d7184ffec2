/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See trace.h: FNV-1a over both texts, stirred once more. */
#include "trace.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t add(uint64_t hash, const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++) { /* with its end */
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

const char *hamid_trace(char buffer[HAMID_TRACE_BYTES], const char *uid, const char *node)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    if (uid == NULL || uid[0] == '\0') {
        return NULL;
    }
    hash = add(add(hash, uid), node);
    hash = (hash ^ (hash >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    (void)snprintf(buffer, HAMID_TRACE_BYTES, "%016" PRIx64, hash ^ (hash >> 29));
    return buffer;
}
