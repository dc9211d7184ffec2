/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See timers.h. Melding is by two passes, so that the stack never grows with the heap. */
#include "timers.h"

static struct hami_internal_timer *meld(struct hami_internal_timer *a,
                                        struct hami_internal_timer *b)
{
    if (!a || !b) {
        return a ? a : b;
    }
    if (b->due_ns < a->due_ns) {
        struct hami_internal_timer *swap = a;
        a = b;
        b = swap;
    }
    b->previous = a;
    b->next = a->child;
    if (a->child) {
        a->child->previous = b;
    }
    a->child = b;
    a->next = a->previous = NULL;
    return a;
}

/* Melds a list of siblings: pairs from left to right, then all from right to left. */
static struct hami_internal_timer *meld_siblings(struct hami_internal_timer *first)
{
    struct hami_internal_timer *pairs = NULL, *root = NULL;

    while (first) {
        struct hami_internal_timer *second = first->next;
        struct hami_internal_timer *rest = second ? second->next : NULL;
        first->next = first->previous = NULL;
        if (second) {
            second->next = second->previous = NULL;
        }
        first = meld(first, second);
        first->next = pairs;
        pairs = first;
        first = rest;
    }
    while (pairs) {
        struct hami_internal_timer *rest = pairs->next;
        pairs->next = NULL;
        root = meld(root, pairs);
        pairs = rest;
    }
    return root;
}

void hami_internal_timers_clear(struct hami_internal_heap *heap,
                                struct hami_internal_timer *timer)
{
    if (!timer->armed) {
        return;
    }
    struct hami_internal_timer *children = meld_siblings(timer->child);
    if (heap->root == timer) {
        heap->root = children;
    } else {
        if (timer->previous->child == timer) {
            timer->previous->child = timer->next;
        } else {
            timer->previous->next = timer->next;
        }
        if (timer->next) {
            timer->next->previous = timer->previous;
        }
        heap->root = meld(heap->root, children);
    }
    timer->child = timer->next = timer->previous = NULL;
    timer->armed = false;
}

void hami_internal_timers_set(struct hami_internal_heap *heap,
                              struct hami_internal_timer *timer, uint64_t due_ns)
{
    if (timer->armed && timer->due_ns == due_ns) {
        return;
    }
    hami_internal_timers_clear(heap, timer);
    if (due_ns == UINT64_MAX) {
        return;
    }
    timer->due_ns = due_ns;
    timer->armed = true;
    timer->child = timer->next = timer->previous = NULL;
    heap->root = meld(heap->root, timer);
}

uint64_t hami_internal_timers_next(const struct hami_internal_heap *heap)
{
    return heap->root ? heap->root->due_ns : UINT64_MAX;
}

struct hami_internal_timer *hami_internal_timers_pop(struct hami_internal_heap *heap,
                                                     uint64_t now_ns)
{
    struct hami_internal_timer *first = heap->root;

    if (!first || first->due_ns > now_ns) {
        return NULL;
    }
    hami_internal_timers_clear(heap, first);
    return first;
}
