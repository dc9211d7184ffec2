/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Doubly linked ring with its links inside the elements. Pure; whoever owns the list's
 * head says which lock guards it. An element that is in no list links to itself.
 */
#ifndef HAMI_LIB_LIST_H
#define HAMI_LIB_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct hami_internal_list {
    struct hami_internal_list *next, *previous;
};

/* The struct of which `link` is the member named. */
#define LIST_ENTRY(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

#define LIST_EACH(link, head)                                                            \
    for (struct hami_internal_list *link = (head)->next; link != (head);                 \
         link = link->next)

/* Like LIST_EACH, but the element at hand may be unlinked. */
#define LIST_EACH_SAFE(link, after, head)                                                \
    for (struct hami_internal_list *link = (head)->next, *after = link->next;            \
         link != (head); link = after, after = link->next)

static inline void list_init(struct hami_internal_list *link)
{
    link->next = link->previous = link;
}

static inline bool list_is_empty(const struct hami_internal_list *head)
{
    return head->next == head;
}

/* Puts `link` right before `position`; before the head means at the end. */
static inline void list_insert(struct hami_internal_list *position,
                               struct hami_internal_list *link)
{
    link->next = position;
    link->previous = position->previous;
    position->previous->next = link;
    position->previous = link;
}

static inline void list_remove(struct hami_internal_list *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    list_init(link);
}

/* Moves all elements of `from` to the end of `to`. */
static inline void list_append_all(struct hami_internal_list *to,
                                   struct hami_internal_list *from)
{
    if (list_is_empty(from)) {
        return;
    }
    from->next->previous = to->previous;
    to->previous->next = from->next;
    from->previous->next = to;
    to->previous = from->previous;
    list_init(from);
}

#endif
