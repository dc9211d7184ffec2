/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See queue.h. A newcomer is compared from the tail on, so that an ordinary arrival costs
 * one look. */
#include "queue.h"

static struct hami_wait *entry(struct hami_internal_list *link)
{
    return LIST_ENTRY(link, struct hami_wait, link);
}

/* The first of the same priority that arrived later: only a waiter that comes back has
 * one. */
static struct hami_internal_list *younger_peer(struct hami_internal_list *waiters,
                                               const struct hami_wait *wait)
{
    LIST_EACH(link, waiters)
    {
        if (entry(link)->priority == wait->priority && entry(link)->place > wait->place) {
            return link;
        }
    }
    return NULL;
}

static bool goes_before(const struct hami_wait *wait, const struct hami_wait *other)
{
    return wait->priority > other->priority && other->passed < HAMI_INTERNAL_PASSED_MAX;
}

void hami_internal_queue_insert(struct hami_internal_list *waiters,
                                struct hami_wait *wait)
{
    struct hami_internal_list *position =
        wait->returned ? younger_peer(waiters, wait) : NULL;

    if (!position) {
        position = waiters;
        while (position->previous != waiters &&
               goes_before(wait, entry(position->previous))) {
            position = position->previous;
            entry(position)->passed++;
        }
    }
    list_insert(position, &wait->link);
}
