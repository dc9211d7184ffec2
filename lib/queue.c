/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See queue.h. The order of all is a tree with sums that tell whom a newcomer must stay
 * behind. Beside it waiters are looked up by lane and place, and members of groups by
 * group. A group's member that was put before others of its lane is not among those of
 * the lane, so that there places and order agree.
 */
#include "queue.h"

#include <string.h>

#define OLDER_LOOKS 64

/* ---- the order ---- */

static struct hami_internal_waiter *waiter_of(const struct hami_internal_branch *branch)
{
    return LIST_ENTRY(branch, struct hami_internal_waiter, branch);
}

static void pull(struct hami_internal_branch *branch)
{
    struct hami_internal_waiter *waiter = waiter_of(branch);
    struct hami_internal_branch *const below[] = {branch->left, branch->right};

    waiter->priority_most = waiter->priority;
    waiter->overtaken_most = waiter->overtaken;
    waiter->place_most = waiter->place;
    for (size_t i = 0; i < 2; i++) {
        if (!below[i]) {
            continue;
        }
        const struct hami_internal_waiter *one = waiter_of(below[i]);
        uint32_t overtaken = one->overtaken_most + waiter->pending;
        if (one->priority_most > waiter->priority_most) {
            waiter->priority_most = one->priority_most;
        }
        if (overtaken > waiter->overtaken_most) {
            waiter->overtaken_most = overtaken;
        }
        if (one->place_most > waiter->place_most) {
            waiter->place_most = one->place_most;
        }
    }
}

static void overtake(struct hami_internal_branch *branch, uint32_t times)
{
    if (branch) {
        struct hami_internal_waiter *waiter = waiter_of(branch);
        waiter->overtaken += times;
        waiter->overtaken_most += times;
        waiter->pending += times;
    }
}

static void push(struct hami_internal_branch *branch)
{
    struct hami_internal_waiter *waiter = waiter_of(branch);

    if (waiter->pending != 0) {
        overtake(branch->left, waiter->pending);
        overtake(branch->right, waiter->pending);
        waiter->pending = 0;
    }
}

/* The last in the order that a newcomer may not pass: of a lane from `lane` up, or
 * overtaken often enough. */
static struct hami_internal_branch *last_barrier(const struct hami_internal_queue *queue,
                                                 int64_t lane)
{
    struct hami_internal_branch *at = queue->order.root;

    while (at) {
        push(at);
        struct hami_internal_waiter *right = at->right ? waiter_of(at->right) : NULL;
        if (right && (right->priority_most >= lane ||
                      right->overtaken_most >= queue->overtaken_max)) {
            at = at->right;
        } else if (waiter_of(at)->priority >= lane ||
                   waiter_of(at)->overtaken >= queue->overtaken_max) {
            return at;
        } else {
            at = at->left;
        }
    }
    return NULL;
}

/* The first in the order that came later than `place`. */
static struct hami_internal_branch *first_later(const struct hami_internal_queue *queue,
                                                uint64_t place)
{
    struct hami_internal_branch *at = queue->order.root;

    while (at) {
        if (at->left && waiter_of(at->left)->place_most > place) {
            at = at->left;
        } else if (waiter_of(at)->place > place) {
            return at;
        } else {
            at = at->right;
        }
    }
    return NULL;
}

static struct hami_internal_branch *later_of(struct hami_internal_branch *a,
                                             struct hami_internal_branch *b)
{
    if (!a || !b) {
        return a ? a : b;
    }
    return hami_internal_tree_rank(a) > hami_internal_tree_rank(b) ? a : b;
}

/* Everybody behind this branch was overtaken once more. */
static void overtake_behind(struct hami_internal_queue *queue,
                            struct hami_internal_branch *branch)
{
    struct hami_internal_branch *at = branch;

    hami_internal_tree_settle(&queue->order, branch);
    overtake(at->right, 1);
    for (; at->parent; at = at->parent) {
        if (at->parent->left == at) {
            waiter_of(at->parent)->overtaken++;
            overtake(at->parent->right, 1);
        }
    }
    hami_internal_tree_renew(&queue->order, branch);
}

/* ---- lanes, groups, namespaces ---- */

static struct hami_internal_waiter *waiter_in_lane(const struct hami_internal_leaf *leaf)
{
    return LIST_ENTRY(leaf, struct hami_internal_waiter, lane);
}

static struct hami_internal_member *member_of(const struct hami_internal_leaf *leaf)
{
    return LIST_ENTRY(leaf, struct hami_internal_member, leaf);
}

static struct hami_internal_crowd *crowd_of(const struct hami_internal_leaf *leaf)
{
    return LIST_ENTRY(leaf, struct hami_internal_crowd, leaf);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_waiters(const struct hami_internal_waiter *a,
                           const struct hami_internal_waiter *b)
{
    int result = compare_numbers(a->place, b->place);

    return result ? result : compare_numbers((uintptr_t)a, (uintptr_t)b);
}

static int compare_lanes(const struct hami_internal_leaf *a,
                         const struct hami_internal_leaf *b)
{
    const struct hami_internal_waiter *one = waiter_in_lane(a),
                                      *other = waiter_in_lane(b);
    int result = (one->priority > other->priority) - (one->priority < other->priority);

    return result ? result : compare_waiters(one, other);
}

static int compare_members(const struct hami_internal_leaf *a,
                           const struct hami_internal_leaf *b)
{
    const struct hami_internal_member *one = member_of(a), *other = member_of(b);
    int32_t lane = one->waiter->priority, lane_of_other = other->waiter->priority;
    int result = (lane > lane_of_other) - (lane < lane_of_other);

    result = result ? result : compare_numbers(one->group, other->group);
    return result ? result : compare_waiters(one->waiter, other->waiter);
}

static int compare_names(const struct hami_internal_leaf *a,
                         const struct hami_internal_leaf *b)
{
    const struct hami_internal_crowd *one = crowd_of(a), *other = crowd_of(b);
    int result = compare_numbers(one->hash, other->hash);

    return result ? result : strcmp(one->name, other->name);
}

static uint64_t group_of(const struct hami_internal_waiter *waiter)
{
    return waiter->member ? waiter->member->group : 0;
}

/* The last member of its group that waits in its lane. */
static struct hami_internal_branch *last_member(const struct hami_internal_queue *queue,
                                                const struct hami_internal_waiter *waiter)
{
    struct hami_internal_waiter last = {.priority = waiter->priority,
                                        .place = UINT64_MAX};
    struct hami_internal_member key = {.group = group_of(waiter), .waiter = &last};
    struct hami_internal_leaf *found =
        hami_internal_sorted_below(&queue->members, &key.leaf);

    if (!found || member_of(found)->group != key.group ||
        member_of(found)->waiter->priority != waiter->priority) {
        return NULL;
    }
    return &member_of(found)->waiter->branch;
}

/* ---- where to ---- */

struct spot {
    struct hami_internal_branch *behind; /* NULL = at the front */
    bool overtakes;                      /* all that stand behind it */
    bool in_lane;                        /* in the order of the lane's places */
};

/* Not before an older one of its lane: a member that was put before others is in no
 * lane's index. It stands near; the look for it is bounded. */
static struct hami_internal_branch *
behind_older(const struct hami_internal_queue *queue, struct hami_internal_branch *behind,
             const struct hami_internal_waiter *waiter)
{
    struct hami_internal_waiter *one =
        behind ? queue_next(waiter_of(behind)) : queue->first;

    for (size_t i = 0; i < OLDER_LOOKS && one; i++, one = queue_next(one)) {
        if (one->priority == waiter->priority && one->place < waiter->place) {
            behind = &one->branch;
        }
    }
    return behind;
}

/* The neighbours in its lane of a waiter that is not in the queue; NULL = none. */
static struct hami_internal_waiter *of_lane(struct hami_internal_leaf *found,
                                            const struct hami_internal_waiter *waiter)
{
    return found && waiter_in_lane(found)->priority == waiter->priority
               ? waiter_in_lane(found)
               : NULL;
}

/* Right before the first of its lane that came later: nobody was served in between whom
 * it could overtake. */
static bool find_old_place(const struct hami_internal_queue *queue,
                           const struct hami_internal_waiter *waiter, struct spot *ret)
{
    struct hami_internal_waiter *older =
        of_lane(hami_internal_sorted_below(&queue->lanes, &waiter->lane), waiter);
    struct hami_internal_waiter *younger =
        of_lane(hami_internal_sorted_from(&queue->lanes, &waiter->lane), waiter);

    if (waiter->overtaken >= queue->overtaken_max) {
        struct hami_internal_branch *later = first_later(queue, waiter->place);
        if (later) {
            ret->behind = behind_older(queue,
                                       later_of(older ? &older->branch : NULL,
                                                hami_internal_tree_previous(later)),
                                       waiter);
            return true;
        }
    }
    if (younger) {
        ret->behind = hami_internal_tree_previous(&younger->branch);
        return true;
    }
    return false;
}

static struct spot find_spot(const struct hami_internal_queue *queue,
                             const struct hami_internal_waiter *waiter)
{
    struct spot spot = {.in_lane = waiter->place != 0};

    if (waiter->returned && find_old_place(queue, waiter, &spot)) {
        return spot;
    }
    spot.overtakes = true;
    spot.behind = last_barrier(queue, waiter->priority);
    uint64_t group = group_of(waiter);
    if (!group || waiter->returned) {
        return spot;
    }
    struct hami_internal_branch *member = last_member(queue, waiter);
    bool follows = member || (group == queue->served_group &&
                              waiter->priority == queue->served_lane);
    if (follows) {
        struct hami_internal_branch *behind =
            later_of(member, last_barrier(queue, (int64_t)waiter->priority + 1));
        spot.in_lane = spot.in_lane && behind == spot.behind;
        spot.behind = behind;
    }
    return spot;
}

/* ---- public ---- */

void hami_internal_queue_init(struct hami_internal_queue *queue, uint32_t overtaken_max)
{
    *queue = (struct hami_internal_queue){.order = {.pull = pull, .push = push},
                                          .lanes = {.compare = compare_lanes},
                                          .members = {.compare = compare_members},
                                          .namespaces = {.compare = compare_names},
                                          .overtaken_max = overtaken_max};
    list_init(&queue->crowds);
    list_init(&queue->deserted);
}

/* Among the namespaces of which somebody waits, or not. */
static void place_crowd(struct hami_internal_queue *queue,
                        struct hami_internal_crowd *crowd)
{
    bool deserted = crowd->count == 0;

    queue->deserted_count += deserted ? 1 : UINT32_MAX;
    list_remove(&crowd->link);
    list_insert(deserted ? &queue->deserted : &queue->crowds, &crowd->link);
}

void hami_internal_queue_insert(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter)
{
    struct spot spot = find_spot(queue, waiter);
    /* Tries have no place: all of one number would make the tree a list. */
    uint64_t number = waiter->place ? waiter->place : (uint64_t)(uintptr_t)waiter;

    waiter->pending = 0;
    hami_internal_tree_insert(&queue->order, spot.behind, &waiter->branch, number);
    queue->first = spot.behind ? queue->first : waiter;
    if (spot.overtakes) {
        overtake_behind(queue, &waiter->branch);
    }
    waiter->in_lane = spot.in_lane;
    if (spot.in_lane) {
        hami_internal_sorted_insert(&queue->lanes, &waiter->lane);
    }
    if (group_of(waiter) != 0) {
        waiter->member->waiter = waiter;
        hami_internal_sorted_insert(&queue->members, &waiter->member->leaf);
    }
    if (waiter->crowd->count++ == 0) {
        place_crowd(queue, waiter->crowd);
    }
}

void hami_internal_queue_remove(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter)
{
    waiter->overtaken = hami_internal_queue_overtaken(waiter);
    if (queue->first == waiter) {
        queue->first = queue_next(waiter);
    }
    hami_internal_tree_remove(&queue->order, &waiter->branch);
    if (waiter->in_lane) {
        hami_internal_sorted_remove(&queue->lanes, &waiter->lane);
    }
    if (group_of(waiter) != 0) {
        hami_internal_sorted_remove(&queue->members, &waiter->member->leaf);
    }
    if (--waiter->crowd->count == 0) {
        place_crowd(queue, waiter->crowd);
    }
}

void hami_internal_queue_served(struct hami_internal_queue *queue,
                                const struct hami_internal_waiter *waiter)
{
    queue->served_group = group_of(waiter);
    queue->served_lane = waiter->priority;
}

uint32_t hami_internal_queue_overtaken(const struct hami_internal_waiter *waiter)
{
    const struct hami_internal_branch *at = waiter->branch.parent;
    uint32_t overtaken = waiter->overtaken;

    for (; at; at = at->parent) {
        overtaken += waiter_of(at)->pending;
    }
    return overtaken;
}

const struct hami_internal_waiter *
hami_internal_queue_find(const struct hami_internal_queue *queue,
                         const struct hami_internal_waiter *waiter,
                         uint32_t *ret_position)
{
    struct spot spot = find_spot(queue, waiter);

    *ret_position = spot.behind ? hami_internal_tree_rank(spot.behind) + 1 : 0;
    return spot.behind ? queue_next(waiter_of(spot.behind)) : queue->first;
}

struct hami_internal_crowd *
hami_internal_queue_namespace(const struct hami_internal_queue *queue, uint64_t hash,
                              const char *name)
{
    struct hami_internal_leaf *at = queue->namespaces.root;

    while (at) {
        struct hami_internal_crowd *crowd = crowd_of(at);
        int result = compare_numbers(hash, crowd->hash);
        result = result ? result : strcmp(name, crowd->name);
        if (result == 0) {
            return crowd;
        }
        at = result < 0 ? at->left : at->right;
    }
    return NULL;
}

void hami_internal_queue_settle(struct hami_internal_queue *queue,
                                struct hami_internal_crowd *crowd)
{
    crowd->count = 0;
    list_init(&crowd->link);
    place_crowd(queue, crowd);
    hami_internal_sorted_insert(&queue->namespaces, &crowd->leaf);
}

struct hami_internal_crowd *hami_internal_queue_forget(struct hami_internal_queue *queue)
{
    if (queue->deserted_count <= HAMI_INTERNAL_QUEUE_DESERTED) {
        return NULL;
    }
    struct hami_internal_crowd *crowd =
        LIST_ENTRY(queue->deserted.next, struct hami_internal_crowd, link);
    list_remove(&crowd->link);
    queue->deserted_count--;
    hami_internal_sorted_remove(&queue->namespaces, &crowd->leaf);
    return crowd;
}

const struct hami_internal_crowd *
hami_internal_queue_crowd(const struct hami_internal_queue *queue)
{
    const struct hami_internal_crowd *found = NULL;
    size_t looks = 0;

    LIST_EACH(link, &queue->crowds)
    {
        const struct hami_internal_crowd *crowd =
            LIST_ENTRY(link, struct hami_internal_crowd, link);
        if (!found || crowd->count > found->count) {
            found = crowd;
        }
        if (++looks == HAMI_INTERNAL_QUEUE_LOOKS) {
            break;
        }
    }
    return found;
}
