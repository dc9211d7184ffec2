/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements by a key, as a balanced tree of two pointers an element: there may be a
 * million of them. Inserting, removing and looking up take O(log n) steps. Pure, nothing
 * is allocated; whoever owns the tree says which lock guards it. The balance comes from
 * weights that are drawn from the elements' addresses (a treap), the way up from the key.
 */
#ifndef HAMI_LIB_SORTED_H
#define HAMI_LIB_SORTED_H

#include <stddef.h>

struct hami_internal_leaf {
    struct hami_internal_leaf *left, *right;
};

struct hami_internal_sorted {
    struct hami_internal_leaf *root;
    /* Below 0, 0, above 0; 0 for an element and itself only. */
    int (*compare)(const struct hami_internal_leaf *a,
                   const struct hami_internal_leaf *b);
};

void hami_internal_sorted_insert(struct hami_internal_sorted *sorted,
                                 struct hami_internal_leaf *leaf);

/* It must be in the tree, with the key that it came with. */
void hami_internal_sorted_remove(struct hami_internal_sorted *sorted,
                                 struct hami_internal_leaf *leaf);

/* NULL = it is empty. */
struct hami_internal_leaf *
hami_internal_sorted_first(const struct hami_internal_sorted *sorted);

/* The last below a key, the first that is not, and the first above it; NULL = none.
 * @key  need not be in it */
struct hami_internal_leaf *
hami_internal_sorted_below(const struct hami_internal_sorted *sorted,
                           const struct hami_internal_leaf *key);
struct hami_internal_leaf *
hami_internal_sorted_from(const struct hami_internal_sorted *sorted,
                          const struct hami_internal_leaf *key);
struct hami_internal_leaf *
hami_internal_sorted_after(const struct hami_internal_sorted *sorted,
                           const struct hami_internal_leaf *key);

#endif
