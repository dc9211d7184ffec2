/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's jobs by due time: a binary heap whose jobs know their place, so that any
 * of them can be moved or taken out in logarithmic time. No lock: it belongs to the
 * client's thread.
 *
 * Invariant: no job is due before its parent; jobs[i]->heap_index == i.
 */
#include "http_client.h"

#include <stdlib.h>

#define FIRST_CAPACITY 64u

bool hami_internal_http_heap_reserve(struct hami_internal_http_heap *heap)
{
    size_t capacity = heap->capacity != 0 ? heap->capacity * 2 : FIRST_CAPACITY;
    struct hami_internal_http_job **jobs;

    if (heap->count < heap->capacity) {
        return true;
    }
    jobs = reallocarray(heap->jobs, capacity, sizeof(*jobs));
    if (jobs == NULL) {
        return false;
    }
    heap->jobs = jobs;
    heap->capacity = capacity;
    return true;
}

static void place(struct hami_internal_http_heap *heap,
                  struct hami_internal_http_job *job, size_t index)
{
    heap->jobs[index] = job;
    job->heap_index = index;
}

static void sift_up(struct hami_internal_http_heap *heap,
                    struct hami_internal_http_job *job)
{
    size_t index = job->heap_index;

    while (index > 0 && heap->jobs[(index - 1) / 2]->due_ns > job->due_ns) {
        place(heap, heap->jobs[(index - 1) / 2], index);
        index = (index - 1) / 2;
    }
    place(heap, job, index);
}

static void sift_down(struct hami_internal_http_heap *heap,
                      struct hami_internal_http_job *job)
{
    size_t index = job->heap_index;

    while (index * 2 + 1 < heap->count) {
        size_t child = index * 2 + 1;

        if (child + 1 < heap->count &&
            heap->jobs[child + 1]->due_ns < heap->jobs[child]->due_ns) {
            child++;
        }
        if (heap->jobs[child]->due_ns >= job->due_ns) {
            break;
        }
        place(heap, heap->jobs[child], index);
        index = child;
    }
    place(heap, job, index);
}

void hami_internal_http_heap_push(struct hami_internal_http_heap *heap,
                                  struct hami_internal_http_job *job)
{
    place(heap, job, heap->count);
    heap->count++;
    sift_up(heap, job);
}

void hami_internal_http_heap_remove(struct hami_internal_http_heap *heap,
                                    struct hami_internal_http_job *job)
{
    size_t index = job->heap_index;
    struct hami_internal_http_job *last = heap->jobs[--heap->count];

    if (last != job) {
        place(heap, last, index);
        sift_up(heap, last);
        sift_down(heap, last);
    }
}

void hami_internal_http_heap_move(struct hami_internal_http_heap *heap,
                                  struct hami_internal_http_job *job, uint64_t due_ns)
{
    job->due_ns = due_ns;
    sift_up(heap, job);
    sift_down(heap, job);
}

struct hami_internal_http_job *
hami_internal_http_heap_first(const struct hami_internal_http_heap *heap)
{
    return heap->count > 0 ? heap->jobs[0] : NULL;
}
