/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next: places that are kept, timers, the order of waiters. No manager is made. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "queue.h"
#include "scripted.h"
#include "timers.h"

/* ---- places ---- */

START_TEST(a_place_is_kept_for_its_owner_and_node_and_time)
{
    size_t sets = hami_internal_places_sets(1);
    struct hami_internal_places *places = calloc(1, hami_internal_places_size(sets));
    uint32_t overtaken = 0;
    uint64_t keep = HAMI_INTERNAL_PLACES_KEEP_NS;

    places->sets = sets;
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "v", "n", 1000, &overtaken), 0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 7);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 0);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u", "n", 1000 + keep, &overtaken), 0);
    /* Of two that one owner had at a time the older one, unless it is too old or of
     * another node. */
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 7);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000 + keep);
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u", "n", 1000 + keep, &overtaken), 9);
    hami_internal_places_keep(places, "u", "other", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 9);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "other", 1000, &overtaken),
                      0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 0);
    for (int i = 0; i < 100000; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        hami_internal_places_keep(places, uid, "n", (uint64_t)i + 1, 0,
                                  1000 + (uint64_t)i);
    }
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u99999", "n", 101000, &overtaken), 100000);
    /* How often it was overtaken stays with its place. */
    hami_internal_places_keep(places, "w", "n", 7, 3, 1000);
    hami_internal_places_keep(places, "w", "n", 9, 1, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "w", "n", 1000, &overtaken), 7);
    ck_assert_uint_eq(overtaken, 3);
    free(places);
}
END_TEST

START_TEST(a_table_of_places_has_room_for_the_waiters_within_reason)
{
    ck_assert_uint_eq(hami_internal_places_sets(1), 1024);
    ck_assert_uint_eq(hami_internal_places_sets(4097), 2048);
    ck_assert_uint_eq(hami_internal_places_sets(100000), 16384);
}
END_TEST

/* ---- timers ---- */

START_TEST(timers_come_in_order_whatever_is_armed_moved_and_cleared)
{
    enum { TIMERS = 500 };
    static struct hami_internal_timer timers[TIMERS];
    struct hami_internal_heap heap = {0};
    uint64_t random = 12345, last = 0;
    size_t count = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TIMERS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            if (random >> 62 == 0) {
                hami_internal_timers_clear(&heap, &timers[i]);
            } else if (random >> 62 == 1) {
                hami_internal_timers_set(&heap, &timers[i], UINT64_MAX);
                ck_assert(!timers[i].armed);
            } else {
                hami_internal_timers_set(&heap, &timers[i], random >> 40);
            }
        }
    }
    for (int i = 0; i < TIMERS; i++) {
        count += timers[i].armed;
    }
    ck_assert_ptr_null(
        hami_internal_timers_pop(&heap, hami_internal_timers_next(&heap) - 1));
    for (struct hami_internal_timer *timer;
         (timer = hami_internal_timers_pop(&heap, UINT64_MAX)); count--) {
        ck_assert_uint_ge(timer->due_ns, last);
        ck_assert(!timer->armed);
        last = timer->due_ns;
    }
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(hami_internal_timers_next(&heap), UINT64_MAX);
}
END_TEST

/* ---- order ---- */

static void insert(struct hami_internal_queue *queue, struct hami_internal_waiter *waiter,
                   uint64_t place, int32_t priority, uint64_t group)
{
    *waiter = (struct hami_internal_waiter){
        .place = place, .priority = priority, .group = group, .namespace_hash = 1};
    hami_internal_queue_insert(queue, waiter);
}

static void come_back(struct hami_internal_queue *queue,
                      struct hami_internal_waiter *waiter)
{
    waiter->returned = true;
    hami_internal_queue_insert(queue, waiter);
}

static void assert_order(const struct hami_internal_queue *queue, const char *places)
{
    char found[256] = "";
    size_t length = 0;

    LIST_EACH(link, &queue->waiters)
    {
        length += (size_t)snprintf(
            found + length, sizeof(found) - length, " %llu",
            (unsigned long long)LIST_ENTRY(link, struct hami_internal_waiter, link)
                ->place);
    }
    ck_assert_str_eq(length ? found + 1 : found, places);
}

START_TEST(one_that_comes_back_is_put_where_its_number_says)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiters[5];

    hami_internal_queue_init(&queue, 4);
    for (size_t i = 0; i < 5; i++) {
        insert(&queue, &waiters[i], 10 * (i + 1), 0, 0);
    }
    hami_internal_queue_remove(&queue, &waiters[1]);
    hami_internal_queue_remove(&queue, &waiters[4]);
    come_back(&queue, &waiters[4]);
    come_back(&queue, &waiters[1]);
    assert_order(&queue, "10 20 30 40 50");
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[2]), 0);
}
END_TEST

START_TEST(priorities_are_lanes_with_bounded_overtaking)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiters[7];

    hami_internal_queue_init(&queue, 4);
    insert(&queue, &waiters[0], 1, 0, 0);
    insert(&queue, &waiters[1], 2, 5, 0);
    insert(&queue, &waiters[2], 3, 5, 0);
    insert(&queue, &waiters[3], 4, 9, 0);
    insert(&queue, &waiters[4], 5, -1, 0);
    insert(&queue, &waiters[5], 6, 5, 0);
    assert_order(&queue, "4 2 3 6 1 5");
    insert(&queue, &waiters[6], 7, 9, 0);
    /* The first has been passed four times: nobody passes it any more. */
    assert_order(&queue, "4 2 3 6 1 7 5");
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[0]), 4);
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[4]), 2);
    hami_internal_queue_remove(&queue, &waiters[1]);
    come_back(&queue, &waiters[1]);
    assert_order(&queue, "4 2 3 6 1 7 5");
}
END_TEST

START_TEST(members_of_a_group_follow_each_other_within_their_lane)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiters[8];

    hami_internal_queue_init(&queue, 2);
    insert(&queue, &waiters[0], 1, 0, 7);
    insert(&queue, &waiters[1], 2, 0, 0);
    insert(&queue, &waiters[2], 3, 0, 7); /* behind its fellow */
    insert(&queue, &waiters[3], 4, 1, 7); /* of another lane: no fellow */
    insert(&queue, &waiters[4], 5, 0, 8); /* another group */
    assert_order(&queue, "4 1 3 2 5");
    /* Overtaken twice by now, and nobody passes it again. */
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[1]), 2);
    insert(&queue, &waiters[5], 6, 0, 7);
    assert_order(&queue, "4 1 3 2 6 5");
    /* A member that comes while its group is served goes to the lane's head. */
    for (size_t i = 0; i < 4; i++) {
        hami_internal_queue_served(&queue, &waiters[(const size_t[]){3, 0, 2, 1}[i]]);
        hami_internal_queue_remove(&queue, &waiters[(const size_t[]){3, 0, 2, 1}[i]]);
    }
    hami_internal_queue_served(&queue, &waiters[5]);
    hami_internal_queue_remove(&queue, &waiters[5]);
    insert(&queue, &waiters[6], 7, 0, 0);
    insert(&queue, &waiters[7], 8, 0, 7);
    assert_order(&queue, "8 5 7");
}
END_TEST

START_TEST(one_that_comes_back_does_not_mind_members_that_were_put_before_others)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiters[5];

    hami_internal_queue_init(&queue, 9);
    insert(&queue, &waiters[0], 1, 0, 7);
    insert(&queue, &waiters[1], 2, 0, 0);
    insert(&queue, &waiters[2], 3, 0, 0);
    insert(&queue, &waiters[3], 4, 0, 7);
    assert_order(&queue, "1 4 2 3");
    hami_internal_queue_remove(&queue, &waiters[2]);
    insert(&queue, &waiters[4], 5, 0, 0);
    come_back(&queue, &waiters[2]);
    assert_order(&queue, "1 4 2 3 5");
}
END_TEST

START_TEST(one_that_was_overtaken_often_enough_comes_back_before_all_that_came_later)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter low, high[6], peer;

    hami_internal_queue_init(&queue, 2);
    insert(&queue, &low, 1, 0, 0);
    insert(&queue, &high[0], 2, 5, 0);
    insert(&queue, &high[1], 3, 5, 0);
    hami_internal_queue_remove(&queue, &low); /* its patience ends */
    insert(&queue, &peer, 4, 0, 0);
    insert(&queue, &high[2], 5, 5, 0);
    come_back(&queue, &low);
    assert_order(&queue, "1 2 3 5 4");
    insert(&queue, &high[3], 6, 9, 0);
    assert_order(&queue, "1 6 2 3 5 4");
}
END_TEST

START_TEST(the_namespace_that_fills_a_queue_is_found)
{
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiters[20];
    uint32_t count;

    hami_internal_queue_init(&queue, 4);
    ck_assert_ptr_null(hami_internal_queue_crowd(&queue, &count));
    for (size_t i = 0; i < 20; i++) {
        /* Three of the first, five of the second, twelve of the last; one is a try. */
        waiters[i] = (struct hami_internal_waiter){.place = i,
                                                   .namespace_hash = i < 3   ? 3
                                                                     : i < 8 ? UINT64_MAX
                                                                             : 2};
        hami_internal_queue_insert(&queue, &waiters[i]);
    }
    ck_assert_uint_eq(hami_internal_queue_of_namespace(&queue, 2), 12);
    ck_assert_uint_eq(hami_internal_queue_of_namespace(&queue, 3), 3);
    ck_assert_uint_eq(hami_internal_queue_of_namespace(&queue, UINT64_MAX), 5);
    ck_assert_uint_eq(hami_internal_queue_of_namespace(&queue, 4), 0);
    ck_assert_uint_eq(hami_internal_queue_crowd(&queue, &count)->namespace_hash, 2);
    ck_assert_uint_eq(count, 12);
}
END_TEST

/* ---- any order of events ---- */

/*
 * Two hundred owners come, leave, come back and are served in any order. What is asserted
 * is counted here, by looking at everybody: no sums, no trees.
 */
enum { OWNERS = 200, STEPS = 10000 };

static struct owner {
    struct hami_internal_waiter waiter;
    bool waits, has_place;
    uint32_t since;  /* the step of its arrival */
    uint32_t passed; /* by those who came later and were served before it */
} owners[OWNERS];

static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % limit);
}

static void assert_whole(struct hami_internal_queue *queue)
{
    uint32_t rank = 0, of_namespace[4] = {0};
    const struct hami_internal_branch *next = NULL;

    LIST_EACH(link, &queue->waiters)
    {
        const struct hami_internal_waiter *waiter =
            LIST_ENTRY(link, struct hami_internal_waiter, link);
        ck_assert_uint_eq(hami_internal_tree_rank(&waiter->turn.branch), rank);
        ck_assert(rank == 0 || next == &waiter->turn.branch);
        next = hami_internal_tree_next(&waiter->turn.branch);
        of_namespace[waiter->namespace_hash]++;
        rank++;
    }
    ck_assert_ptr_null(next);
    ck_assert_uint_eq(tree_size(queue->order.root), rank);
    for (uint64_t i = 0; i < 4; i++) {
        ck_assert_uint_eq(hami_internal_queue_of_namespace(queue, i), of_namespace[i]);
    }
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
        if (a->priority == b->priority && !b->group && !a->group) {
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
            .priority = (int32_t)random_below(lanes) - 1,
            .group = groups && random_below(2) ? 1 + random_below(groups) : 0,
            .namespace_hash = random_below(4)};
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

    random_state = seed;
    memset(owners, 0, sizeof(owners));
    hami_internal_queue_init(&queue, overtaken_max);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[random_below(OWNERS)];
        bool serve = random_below(3) == 0 && !list_is_empty(&queue.waiters);
        if (serve) {
            owner = LIST_ENTRY(queue.waiters.next, struct owner, waiter.link);
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

    random_state = 99;
    memset(owners, 0, sizeof(owners));
    hami_internal_queue_init(&queue, 1000000);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[random_below(OWNERS)];
        if (!owner->waits) {
            come(&queue, owner, &places, step, 3, 8);
            continue;
        }
        owner = LIST_ENTRY(queue.waiters.next, struct owner, waiter.link);
        bool follows = group != 0 && owner->waiter.priority == lane;
        for (size_t i = 0; i < OWNERS && follows; i++) {
            bool member = owners[i].waits && owners[i].waiter.group == group &&
                          owners[i].waiter.priority == lane;
            ck_assert(!member || owner->waiter.group == group);
        }
        group = owner->waiter.group;
        lane = owner->waiter.priority;
        hami_internal_queue_served(&queue, &owner->waiter);
        hami_internal_queue_remove(&queue, &owner->waiter);
        owner->waits = owner->has_place = false;
    }
}
END_TEST

START_TEST(very_many_waiters_leave_and_come_back_in_any_order)
{
    enum { MANY = 50000 };
    struct hami_internal_queue queue;
    struct hami_internal_waiter *many = calloc(MANY, sizeof(*many));
    uint64_t last = 0;

    ck_assert_ptr_nonnull(many);
    hami_internal_queue_init(&queue, 4);
    random_state = 5;
    for (size_t i = 0; i < MANY; i++) {
        insert(&queue, &many[i], i + 1, 0, 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        struct hami_internal_waiter *one = &many[random_below(MANY)];
        hami_internal_queue_remove(&queue, one);
        come_back(&queue, one);
    }
    LIST_EACH(link, &queue.waiters)
    {
        uint64_t place = LIST_ENTRY(link, struct hami_internal_waiter, link)->place;
        ck_assert(place == last + 1);
        last = place;
    }
    ck_assert_uint_eq(last, MANY);
    free(many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *pure = tcase_create("queue");

    tcase_add_test(pure, a_place_is_kept_for_its_owner_and_node_and_time);
    tcase_add_test(pure, timers_come_in_order_whatever_is_armed_moved_and_cleared);
    tcase_add_test(pure, one_that_comes_back_is_put_where_its_number_says);
    tcase_add_test(pure, a_table_of_places_has_room_for_the_waiters_within_reason);
    tcase_add_test(pure, priorities_are_lanes_with_bounded_overtaking);
    tcase_add_test(pure, members_of_a_group_follow_each_other_within_their_lane);
    tcase_add_test(pure,
                   one_that_comes_back_does_not_mind_members_that_were_put_before_others);
    tcase_add_test(
        pure, one_that_was_overtaken_often_enough_comes_back_before_all_that_came_later);
    tcase_add_test(pure, the_namespace_that_fills_a_queue_is_found);
    tcase_add_loop_test(
        pure, nobody_is_overtaken_more_often_than_is_allowed_whatever_happens, 0, 4);
    tcase_add_test(pure, a_group_that_is_served_is_served_to_its_end);
    tcase_add_test(pure, very_many_waiters_leave_and_come_back_in_any_order);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
