/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h. A parent never weighs less than its children. */
#include "tree.h"

static void pull(const struct hami_internal_tree *tree,
                 struct hami_internal_branch *branch)
{
    branch->size = 1 + tree_size(branch->left) + tree_size(branch->right);
    if (tree->pull) {
        tree->pull(branch);
    }
}

static void push(const struct hami_internal_tree *tree,
                 struct hami_internal_branch *branch)
{
    if (tree->push) {
        tree->push(branch);
    }
}

void hami_internal_tree_settle(const struct hami_internal_tree *tree,
                               struct hami_internal_branch *branch)
{
    /* As deep as the tree: some tens of calls for a million branches. */
    if (branch && tree->push) {
        hami_internal_tree_settle(tree, branch->parent);
        tree->push(branch);
    }
}

void hami_internal_tree_renew(const struct hami_internal_tree *tree,
                              struct hami_internal_branch *branch)
{
    for (; branch; branch = branch->parent) {
        pull(tree, branch);
    }
}

/* Puts `with` where `branch` hangs. */
static void replace(struct hami_internal_tree *tree, struct hami_internal_branch *branch,
                    struct hami_internal_branch *with)
{
    struct hami_internal_branch *parent = branch->parent;

    if (!parent) {
        tree->root = with;
    } else if (parent->left == branch) {
        parent->left = with;
    } else {
        parent->right = with;
    }
    if (with) {
        with->parent = parent;
    }
}

/* Turns a branch up over its parent; both have nothing left to pass down. */
static void turn_up(struct hami_internal_tree *tree, struct hami_internal_branch *branch)
{
    struct hami_internal_branch *parent = branch->parent, *moved;

    replace(tree, parent, branch);
    if (parent->left == branch) {
        moved = branch->right;
        parent->left = moved;
        branch->right = parent;
    } else {
        moved = branch->left;
        parent->right = moved;
        branch->left = parent;
    }
    if (moved) {
        moved->parent = parent;
    }
    parent->parent = branch;
    pull(tree, parent);
    pull(tree, branch);
}

static uint32_t draw(uint64_t number)
{
    number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(number >> 32);
}

static struct hami_internal_branch *leftmost(struct hami_internal_branch *branch)
{
    while (branch && branch->left) {
        branch = branch->left;
    }
    return branch;
}

void hami_internal_tree_insert(struct hami_internal_tree *tree,
                               struct hami_internal_branch *before,
                               struct hami_internal_branch *branch, uint64_t number)
{
    bool right = before && !before->right;
    struct hami_internal_branch *parent =
        right ? before : leftmost(before ? before->right : tree->root);

    *branch = (struct hami_internal_branch){.parent = parent, .weight = draw(number)};
    hami_internal_tree_settle(tree, parent);
    if (!parent) {
        tree->root = branch;
    } else if (right) {
        parent->right = branch;
    } else {
        parent->left = branch;
    }
    hami_internal_tree_renew(tree, branch);
    while (branch->parent && branch->parent->weight < branch->weight) {
        turn_up(tree, branch);
    }
}

void hami_internal_tree_remove(struct hami_internal_tree *tree,
                               struct hami_internal_branch *branch)
{
    hami_internal_tree_settle(tree, branch);
    while (branch->left && branch->right) {
        struct hami_internal_branch *up =
            branch->left->weight > branch->right->weight ? branch->left : branch->right;
        push(tree, up);
        turn_up(tree, up);
    }
    struct hami_internal_branch *parent = branch->parent;
    replace(tree, branch, branch->left ? branch->left : branch->right);
    hami_internal_tree_renew(tree, parent);
    *branch = (struct hami_internal_branch){.size = 0};
}

uint32_t hami_internal_tree_rank(const struct hami_internal_branch *branch)
{
    uint32_t rank = tree_size(branch->left);

    for (; branch->parent; branch = branch->parent) {
        if (branch->parent->right == branch) {
            rank += 1 + tree_size(branch->parent->left);
        }
    }
    return rank;
}

struct hami_internal_branch *
hami_internal_tree_next(const struct hami_internal_branch *branch)
{
    if (branch->right) {
        return leftmost(branch->right);
    }
    while (branch->parent && branch->parent->right == branch) {
        branch = branch->parent;
    }
    return branch->parent;
}

struct hami_internal_branch *
hami_internal_tree_previous(const struct hami_internal_branch *branch)
{
    if (branch->left) {
        struct hami_internal_branch *last = branch->left;
        while (last->right) {
            last = last->right;
        }
        return last;
    }
    while (branch->parent && branch->parent->left == branch) {
        branch = branch->parent;
    }
    return branch->parent;
}
