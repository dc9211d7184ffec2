/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory through the manager's allocator. No state. Callers hold no lock: an embedder's
 * allocator may take locks of its own.
 */
#include "memory.h"

#include <stdlib.h>
#include <string.h>

static void *default_allocate(size_t bytes, void *data)
{
    (void)data;
    return malloc(bytes);
}

static void *default_reallocate(void *memory, size_t bytes, void *data)
{
    (void)data;
    return realloc(memory, bytes);
}

static void default_release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

const struct hami_allocator hami_internal_memory_default = {
    default_allocate, default_reallocate, default_release, NULL};

void *hami_internal_memory_zero(const struct hami_allocator *allocator, size_t bytes)
{
    /* Large tables that are hardly used stay untouched. */
    if (allocator->allocate == default_allocate) {
        return calloc(1, bytes);
    }
    void *memory = allocator->allocate(bytes, allocator->data);

    if (memory) {
        memset(memory, 0, bytes);
    }
    return memory;
}

void *hami_internal_memory_grow(const struct hami_allocator *allocator, void *memory,
                                size_t bytes)
{
    return allocator->reallocate(memory, bytes, allocator->data);
}

void hami_internal_memory_free(const struct hami_allocator *allocator, void *memory)
{
    if (memory) {
        allocator->release(memory, allocator->data);
    }
}

char *hami_internal_memory_text(const struct hami_allocator *allocator, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = allocator->allocate(bytes, allocator->data);

    if (copy) {
        memcpy(copy, text, bytes);
    }
    return copy;
}
