/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See sorted.h. A parent never weighs less than its children. */
#include "sorted.h"

#include <stdbool.h>
#include <stdint.h>

static uint32_t weigh(const struct hami_internal_leaf *leaf)
{
    uint64_t number = (uint64_t)(uintptr_t)leaf * UINT64_C(0x9e3779b97f4a7c15);

    number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return (uint32_t)(number >> 32);
}

void hami_internal_sorted_insert(struct hami_internal_sorted *sorted,
                                 struct hami_internal_leaf *leaf)
{
    struct hami_internal_leaf **at = &sorted->root, *rest;
    struct hami_internal_leaf **left = &leaf->left, **right = &leaf->right;

    if (*at) {
        uint32_t weight = weigh(leaf);
        while (*at && weigh(*at) >= weight) {
            at = sorted->compare(leaf, *at) < 0 ? &(*at)->left : &(*at)->right;
        }
    }
    rest = *at;
    *at = leaf;
    while (rest) { /* what hung there is parted by the key */
        if (sorted->compare(leaf, rest) < 0) {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        } else {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        }
    }
    *left = *right = NULL;
}

void hami_internal_sorted_remove(struct hami_internal_sorted *sorted,
                                 struct hami_internal_leaf *leaf)
{
    struct hami_internal_leaf **at = &sorted->root;
    struct hami_internal_leaf *left = leaf->left, *right = leaf->right;

    while (*at != leaf) {
        at = sorted->compare(leaf, *at) < 0 ? &(*at)->left : &(*at)->right;
    }
    while (left && right) {
        if (weigh(left) > weigh(right)) {
            *at = left;
            at = &left->right;
            left = left->right;
        } else {
            *at = right;
            at = &right->left;
            right = right->left;
        }
    }
    *at = left ? left : right;
}

struct hami_internal_leaf *
hami_internal_sorted_first(const struct hami_internal_sorted *sorted)
{
    struct hami_internal_leaf *at = sorted->root;

    while (at && at->left) {
        at = at->left;
    }
    return at;
}

struct hami_internal_leaf *
hami_internal_sorted_below(const struct hami_internal_sorted *sorted,
                           const struct hami_internal_leaf *key)
{
    struct hami_internal_leaf *at = sorted->root, *found = NULL;

    while (at) {
        if (sorted->compare(at, key) < 0) {
            found = at;
            at = at->right;
        } else {
            at = at->left;
        }
    }
    return found;
}

/* @above  an element that equals the key does not count */
static struct hami_internal_leaf *first_from(const struct hami_internal_sorted *sorted,
                                             const struct hami_internal_leaf *key,
                                             bool above)
{
    struct hami_internal_leaf *at = sorted->root, *found = NULL;

    while (at) {
        if (sorted->compare(at, key) < (above ? 1 : 0)) {
            at = at->right;
        } else {
            found = at;
            at = at->left;
        }
    }
    return found;
}

struct hami_internal_leaf *
hami_internal_sorted_from(const struct hami_internal_sorted *sorted,
                          const struct hami_internal_leaf *key)
{
    return first_from(sorted, key, false);
}

struct hami_internal_leaf *
hami_internal_sorted_after(const struct hami_internal_sorted *sorted,
                           const struct hami_internal_leaf *key)
{
    return first_from(sorted, key, true);
}
