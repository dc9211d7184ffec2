/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sequence as a balanced tree with its links inside the elements: inserting, removing
 * and counting who stands before take O(log n) steps. Pure, nothing is allocated; whoever
 * owns the tree says which lock guards it. The order is what the inserter makes it; the
 * balance comes from weights that are drawn from the elements' numbers (a treap).
 *
 * A tree may keep sums over subtrees (`pull`) and changes that are still to be passed
 * down (`push`); both are told one branch at a time.
 */
#ifndef HAMI_LIB_TREE_H
#define HAMI_LIB_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hami_internal_branch {
    struct hami_internal_branch *parent, *left, *right;
    uint32_t size; /* of the subtree */
    uint32_t weight;
};

struct hami_internal_tree {
    struct hami_internal_branch *root;
    void (*pull)(struct hami_internal_branch *branch); /* NULL = no sums */
    void (*push)(struct hami_internal_branch *branch); /* NULL = nothing to pass down */
};

/* Puts a branch right behind `before`; NULL = to the front. @number  draws its weight */
void hami_internal_tree_insert(struct hami_internal_tree *tree,
                               struct hami_internal_branch *before,
                               struct hami_internal_branch *branch, uint64_t number);

void hami_internal_tree_remove(struct hami_internal_tree *tree,
                               struct hami_internal_branch *branch);

/* Branches that stand before this one. */
uint32_t hami_internal_tree_rank(const struct hami_internal_branch *branch);

/* The neighbours; NULL = none. */
struct hami_internal_branch *
hami_internal_tree_next(const struct hami_internal_branch *branch);
struct hami_internal_branch *
hami_internal_tree_previous(const struct hami_internal_branch *branch);

/* Passes down all that is to be passed down to this branch; NULL does nothing. */
void hami_internal_tree_settle(const struct hami_internal_tree *tree,
                               struct hami_internal_branch *branch);

/* Makes the sums anew from this branch up; NULL does nothing. */
void hami_internal_tree_renew(const struct hami_internal_tree *tree,
                              struct hami_internal_branch *branch);

static inline uint32_t tree_size(const struct hami_internal_branch *branch)
{
    return branch ? branch->size : 0;
}

#endif
