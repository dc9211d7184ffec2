/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Memory through the manager's allocator. Never called with a lock held. */
#ifndef HAMI_LIB_MEMORY_H
#define HAMI_LIB_MEMORY_H

#include <hami/nodelock.h>

/* malloc, realloc, free. */
extern const struct hami_allocator hami_internal_memory_default;

/* Zeroed memory; NULL = out of memory. */
void *hami_internal_memory_zero(const struct hami_allocator *allocator, size_t bytes);
/* As realloc(3). */
void *hami_internal_memory_grow(const struct hami_allocator *allocator, void *memory,
                                size_t bytes);
/* Takes NULL. */
void hami_internal_memory_free(const struct hami_allocator *allocator, void *memory);
/* A copy of a text; NULL = out of memory. */
char *hami_internal_memory_text(const struct hami_allocator *allocator, const char *text);

#endif
