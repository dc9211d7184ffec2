/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The order of waiters, whatever happens in whatever order. No manager is made. */
#include <string.h>

#include "queue_world.h"
#include "scripted.h"

/*
 * Two hundred owners come, leave, come back and are served in any order. What is asserted
 * is counted here, by looking at everybody: no sums, no trees.
 */
enum { OWNERS = 200, STEPS = 10000 };

static struct owner {
    struct hami_internal_waiter waiter;
    struct hami_internal_member member;
    bool waits, has_place;
    uint32_t since;  /* the step of its arrival */
    uint32_t passed; /* by those who came later and were served before it */
} owners[OWNERS];

static void assert_whole(struct hami_internal_queue *queue)
{
    uint32_t rank = 0, of_namespace[CROWDS] = {0};

    for (const struct hami_internal_waiter *one = queue->first; one;
         one = queue_next(one)) {
        ck_assert_uint_eq(hami_internal_tree_rank(&one->branch), rank);
        of_namespace[one->crowd->hash]++;
        rank++;
    }
    ck_assert_uint_eq(tree_size(queue->order.root), rank);
    for (size_t i = 0; i < CROWDS; i++) {
        ck_assert_uint_eq(queue_crowds[i].crowd.count, of_namespace[i]);
    }
}

static uint64_t group_of(const struct hami_internal_waiter *waiter)
{
    return waiter->member ? waiter->member->group : 0;
}

/* Nobody before `served` in its lane came earlier, but for its group's sake. */
static void note_served(const struct hami_internal_queue *queue, struct owner *served,
                        bool strict)
{
    for (size_t i = 0; i < OWNERS; i++) {
        struct owner *one = &owners[i];
        const struct hami_internal_waiter *a = &one->waiter, *b = &served->waiter;
        if (!one->waits || one == served) {
            continue;
        }
        if (a->priority == b->priority && !group_of(b) && !group_of(a)) {
            ck_assert_uint_gt(a->place, b->place);
        }
        if (strict) {
            ck_assert_int_le(a->priority, b->priority);
        }
        if (!b->returned && one->since < served->since) {
            one->passed++;
            ck_assert_uint_le(one->passed, queue->overtaken_max);
        }
    }
}

static void come(struct hami_internal_queue *queue, struct owner *owner, uint64_t *places,
                 uint32_t step, uint32_t lanes, uint32_t groups)
{
    if (!owner->has_place) {
        owner->waiter = (struct hami_internal_waiter){
            .place = ++*places,
            .priority = (int32_t)queue_random_below(lanes) - 1,
            .crowd = &queue_crowds[queue_random_below(CROWDS)].crowd};
        owner->member.group =
            groups && queue_random_below(2) ? 1 + queue_random_below(groups) : 0;
        owner->waiter.member = owner->member.group ? &owner->member : NULL;
        owner->passed = 0;
    }
    owner->waiter.returned = owner->has_place;
    owner->waits = owner->has_place = true;
    owner->since = step;
    hami_internal_queue_insert(queue, &owner->waiter);
}

static void run_any(uint64_t seed, uint32_t overtaken_max, uint32_t groups, bool leaves)
{
    struct hami_internal_queue queue;
    uint64_t places = 0;

    queue_random_seed(seed);
    memset(owners, 0, sizeof(owners));
    queue_start(&queue, overtaken_max);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[queue_random_below(OWNERS)];
        bool serves = queue_random_below(3) == 0 && queue.first;
        if (serves) {
            owner = LIST_ENTRY(queue.first, struct owner, waiter);
            note_served(&queue, owner, overtaken_max == 1000000);
            hami_internal_queue_served(&queue, &owner->waiter);
            owner->has_place = false;
        } else if (!owner->waits) {
            come(&queue, owner, &places, step, 4, groups);
            continue;
        } else if (!leaves) {
            continue;
        }
        hami_internal_queue_remove(&queue, &owner->waiter);
        owner->waits = false;
        if (step % 64 == 0) {
            assert_whole(&queue);
        }
    }
    assert_whole(&queue);
}

START_TEST(nobody_is_overtaken_more_often_than_is_allowed_whatever_happens)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        run_any(seed + 10 * (uint64_t)_i, (const uint32_t[]){1, 4, 9, 1000000}[_i],
                _i % 2 ? 5 : 0, true);
    }
}
END_TEST

START_TEST(a_group_that_is_served_is_served_to_its_end)
{
    struct hami_internal_queue queue;
    uint64_t places = 0, group = 0;
    int32_t lane = 0;

    queue_random_seed(99);
    memset(owners, 0, sizeof(owners));
    queue_start(&queue, 1000000);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[queue_random_below(OWNERS)];
        if (!owner->waits) {
            come(&queue, owner, &places, step, 3, 8);
            continue;
        }
        owner = LIST_ENTRY(queue.first, struct owner, waiter);
        bool follows = group != 0 && owner->waiter.priority == lane;
        for (size_t i = 0; i < OWNERS && follows; i++) {
            bool member = owners[i].waits && group_of(&owners[i].waiter) == group &&
                          owners[i].waiter.priority == lane;
            ck_assert(!member || group_of(&owner->waiter) == group);
        }
        group = group_of(&owner->waiter);
        lane = owner->waiter.priority;
        hami_internal_queue_served(&queue, &owner->waiter);
        hami_internal_queue_remove(&queue, &owner->waiter);
        owner->waits = owner->has_place = false;
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue-any");
    TCase *pure = tcase_create("queue");

    tcase_add_loop_test(
        pure, nobody_is_overtaken_more_often_than_is_allowed_whatever_happens, 0, 4);
    tcase_add_test(pure, a_group_that_is_served_is_served_to_its_end);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
