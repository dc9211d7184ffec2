/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See queue.h. Two trees: the order of all, with sums that tell whom a newcomer must stay
 * behind; and an index by lane, group and namespace. A group's member that was put before
 * others of its lane is not in the lane's index, so that there places and order agree.
 */
#include "queue.h"

#define OLDER_LOOKS 64

/* ---- the order ---- */

static struct hami_internal_turn *turn_of(struct hami_internal_branch *branch)
{
    return LIST_ENTRY(branch, struct hami_internal_turn, branch);
}

static struct hami_internal_waiter *waiter_of(struct hami_internal_turn *turn)
{
    return LIST_ENTRY(turn, struct hami_internal_waiter, turn);
}

static void pull(struct hami_internal_branch *branch)
{
    struct hami_internal_turn *turn = turn_of(branch);
    struct hami_internal_branch *const below[] = {branch->left, branch->right};

    turn->priority_most = turn->priority;
    turn->overtaken_most = turn->overtaken;
    turn->place_most = turn->place;
    for (size_t i = 0; i < 2; i++) {
        const struct hami_internal_turn *one = below[i] ? turn_of(below[i]) : turn;
        uint32_t overtaken = one->overtaken_most + (below[i] ? turn->pending : 0);
        turn->priority_most = one->priority_most > turn->priority_most
                                  ? one->priority_most
                                  : turn->priority_most;
        turn->overtaken_most =
            overtaken > turn->overtaken_most ? overtaken : turn->overtaken_most;
        turn->place_most =
            one->place_most > turn->place_most ? one->place_most : turn->place_most;
    }
}

static void overtake(struct hami_internal_branch *branch, uint32_t times)
{
    if (branch) {
        struct hami_internal_turn *turn = turn_of(branch);
        turn->overtaken += times;
        turn->overtaken_most += times;
        turn->pending += times;
    }
}

static void push(struct hami_internal_branch *branch)
{
    struct hami_internal_turn *turn = turn_of(branch);

    overtake(branch->left, turn->pending);
    overtake(branch->right, turn->pending);
    turn->pending = 0;
}

/* The last in the order that a newcomer may not pass: of a lane from `lane` up, or
 * overtaken often enough. */
static struct hami_internal_branch *last_barrier(const struct hami_internal_queue *queue,
                                                 int64_t lane)
{
    struct hami_internal_branch *at = queue->order.root;

    while (at) {
        push(at);
        struct hami_internal_turn *right = at->right ? turn_of(at->right) : NULL;
        if (right && (right->priority_most >= lane ||
                      right->overtaken_most >= queue->overtaken_max)) {
            at = at->right;
        } else if (turn_of(at)->priority >= lane ||
                   turn_of(at)->overtaken >= queue->overtaken_max) {
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
        if (at->left && turn_of(at->left)->place_most > place) {
            at = at->left;
        } else if (turn_of(at)->place > place) {
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
            turn_of(at->parent)->overtaken++;
            overtake(at->parent->right, 1);
        }
    }
    hami_internal_tree_renew(&queue->order, branch);
}

/* ---- the index ---- */

static struct hami_internal_entry *entry_of(const struct hami_internal_branch *branch)
{
    return LIST_ENTRY(branch, struct hami_internal_entry, branch);
}

static struct hami_internal_waiter *waiter_of_entry(struct hami_internal_entry *entry)
{
    return LIST_ENTRY(entry - entry->index, struct hami_internal_waiter, entries);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare(const struct hami_internal_entry *a,
                   const struct hami_internal_entry *b)
{
    int result = (int)a->index - (int)b->index;

    result = result ? result : (a->lane > b->lane) - (a->lane < b->lane);
    result = result ? result : compare_numbers(a->name, b->name);
    return result ? result : compare_numbers(a->place, b->place);
}

/* The last entry below a key; NULL = none. @ret_count  how many there are; NULL */
static struct hami_internal_branch *last_below(const struct hami_internal_queue *queue,
                                               const struct hami_internal_entry *key,
                                               uint32_t *ret_count)
{
    struct hami_internal_branch *at = queue->index.root, *found = NULL;
    uint32_t count = 0;

    while (at) {
        if (compare(entry_of(at), key) < 0) {
            found = at;
            count += 1 + tree_size(at->left);
            at = at->right;
        } else {
            at = at->left;
        }
    }
    if (ret_count) {
        *ret_count = count;
    }
    return found;
}

static bool is_like(const struct hami_internal_branch *branch,
                    const struct hami_internal_entry *key)
{
    if (!branch) {
        return false;
    }
    const struct hami_internal_entry *entry = entry_of(branch);
    return entry->index == key->index && entry->lane == key->lane &&
           entry->name == key->name;
}

static struct hami_internal_entry key_of(enum hami_internal_index index,
                                         const struct hami_internal_waiter *waiter)
{
    struct hami_internal_entry key = {.index = index, .place = waiter->place};

    switch (index) {
    case INDEX_LANE:
        key.lane = waiter->priority;
        break;
    case INDEX_GROUP:
        key.lane = waiter->priority;
        key.name = waiter->group;
        break;
    default:
        key.name = waiter->namespace_hash;
        break;
    }
    return key;
}

static void list_entry(struct hami_internal_queue *queue,
                       struct hami_internal_waiter *waiter,
                       enum hami_internal_index index)
{
    struct hami_internal_entry *entry = &waiter->entries[index];

    *entry = key_of(index, waiter);
    hami_internal_tree_insert(&queue->index, last_below(queue, entry, NULL),
                              &entry->branch, waiter->place * INDEX_COUNT + index);
    entry->listed = true;
}

/* The last member of its group that waits in its lane. */
static struct hami_internal_branch *last_member(const struct hami_internal_queue *queue,
                                                const struct hami_internal_waiter *waiter)
{
    struct hami_internal_entry key = key_of(INDEX_GROUP, waiter);

    key.place = UINT64_MAX;
    struct hami_internal_branch *found = last_below(queue, &key, NULL);
    return is_like(found, &key) ? &waiter_of_entry(entry_of(found))->turn.branch : NULL;
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
    const struct hami_internal_list *next =
        behind ? waiter_of(turn_of(behind))->link.next : queue->waiters.next;

    for (size_t i = 0; i < OLDER_LOOKS && next != &queue->waiters; i++) {
        struct hami_internal_waiter *one =
            LIST_ENTRY(next, struct hami_internal_waiter, link);
        if (one->priority == waiter->priority && one->place < waiter->place) {
            behind = &one->turn.branch;
        }
        next = next->next;
    }
    return behind;
}

/* Right before the first of its lane that came later: nobody was served in between whom
 * it could overtake. */
static bool find_old_place(const struct hami_internal_queue *queue,
                           const struct hami_internal_waiter *waiter, struct spot *ret)
{
    struct hami_internal_entry key = key_of(INDEX_LANE, waiter);
    struct hami_internal_branch *older = last_below(queue, &key, NULL);
    struct hami_internal_branch *younger = NULL, *peer = NULL;

    if (older) {
        younger = hami_internal_tree_next(older);
    } else {
        younger = queue->index.root;
        while (younger && younger->left) {
            younger = younger->left;
        }
    }
    if (is_like(older, &key)) {
        peer = &waiter_of_entry(entry_of(older))->turn.branch;
    }
    if (waiter->overtaken >= queue->overtaken_max) {
        struct hami_internal_branch *later = first_later(queue, waiter->place);
        if (later) {
            ret->behind = behind_older(
                queue, later_of(peer, hami_internal_tree_previous(later)), waiter);
            return true;
        }
    }
    if (is_like(younger, &key)) {
        ret->behind =
            hami_internal_tree_previous(&waiter_of_entry(entry_of(younger))->turn.branch);
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
    if (!waiter->group || waiter->returned) {
        return spot;
    }
    struct hami_internal_branch *member = last_member(queue, waiter);
    bool follows = member || (waiter->group == queue->served_group &&
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
                                          .overtaken_max = overtaken_max};
    list_init(&queue->waiters);
}

void hami_internal_queue_insert(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter)
{
    struct spot spot = find_spot(queue, waiter);

    waiter->turn = (struct hami_internal_turn){.priority = waiter->priority,
                                               .overtaken = waiter->overtaken,
                                               .place = waiter->place};
    list_insert(spot.behind ? waiter_of(turn_of(spot.behind))->link.next
                            : queue->waiters.next,
                &waiter->link);
    hami_internal_tree_insert(&queue->order, spot.behind, &waiter->turn.branch,
                              waiter->place);
    if (spot.overtakes) {
        overtake_behind(queue, &waiter->turn.branch);
    }
    for (size_t i = 0; i < INDEX_COUNT; i++) {
        waiter->entries[i].listed = false;
    }
    list_entry(queue, waiter, INDEX_NAMESPACE);
    if (spot.in_lane) {
        list_entry(queue, waiter, INDEX_LANE);
    }
    if (waiter->group) {
        list_entry(queue, waiter, INDEX_GROUP);
    }
}

void hami_internal_queue_remove(struct hami_internal_queue *queue,
                                struct hami_internal_waiter *waiter)
{
    waiter->overtaken = hami_internal_queue_overtaken(waiter);
    hami_internal_tree_remove(&queue->order, &waiter->turn.branch);
    for (size_t i = 0; i < INDEX_COUNT; i++) {
        if (waiter->entries[i].listed) {
            hami_internal_tree_remove(&queue->index, &waiter->entries[i].branch);
            waiter->entries[i].listed = false;
        }
    }
    list_remove(&waiter->link);
}

void hami_internal_queue_served(struct hami_internal_queue *queue,
                                const struct hami_internal_waiter *waiter)
{
    queue->served_group = waiter->group;
    queue->served_lane = waiter->priority;
}

uint32_t hami_internal_queue_overtaken(const struct hami_internal_waiter *waiter)
{
    const struct hami_internal_branch *at = waiter->turn.branch.parent;
    uint32_t overtaken = waiter->turn.overtaken;

    for (; at; at = at->parent) {
        overtaken += LIST_ENTRY(at, const struct hami_internal_turn, branch)->pending;
    }
    return overtaken;
}

const struct hami_internal_list *
hami_internal_queue_find(const struct hami_internal_queue *queue,
                         const struct hami_internal_waiter *waiter,
                         uint32_t *ret_position)
{
    struct spot spot = find_spot(queue, waiter);

    *ret_position = spot.behind ? hami_internal_tree_rank(spot.behind) + 1 : 0;
    return spot.behind ? waiter_of(turn_of(spot.behind))->link.next : queue->waiters.next;
}

static uint32_t count_below(const struct hami_internal_queue *queue,
                            uint64_t namespace_hash, uint64_t place)
{
    struct hami_internal_entry key = {
        .index = INDEX_NAMESPACE, .name = namespace_hash, .place = place};
    uint32_t count;

    (void)last_below(queue, &key, &count);
    return count;
}

uint32_t hami_internal_queue_of_namespace(const struct hami_internal_queue *queue,
                                          uint64_t namespace_hash)
{
    /* Places are counted from 1 and never come near the end. */
    return count_below(queue, namespace_hash, UINT64_MAX) -
           count_below(queue, namespace_hash, 0);
}

const struct hami_internal_waiter *
hami_internal_queue_crowd(const struct hami_internal_queue *queue, uint32_t *ret_count)
{
    const struct hami_internal_waiter *found = NULL;
    uint64_t name = UINT64_MAX;

    *ret_count = 0;
    for (size_t i = 0; i < HAMI_INTERNAL_QUEUE_LOOKS; i++) {
        /* From the last namespace down. */
        struct hami_internal_entry key = {
            .index = INDEX_NAMESPACE, .name = name, .place = i == 0 ? UINT64_MAX : 0};
        struct hami_internal_branch *at = last_below(queue, &key, NULL);
        if (!at || entry_of(at)->index != INDEX_NAMESPACE) {
            break;
        }
        name = entry_of(at)->name;
        uint32_t count = hami_internal_queue_of_namespace(queue, name);
        if (count > *ret_count) {
            *ret_count = count;
            found = waiter_of_entry(entry_of(at));
        }
    }
    return found;
}
