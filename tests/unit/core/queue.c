/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next: the order of waiters. No manager is made. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"
#include "scripted.h"

/* Namespaces of a queue, by their hash. */
enum { CROWDS = 4 };

/* A namespace with room for its name behind it. */
union roomy {
    struct hami_internal_crowd crowd;
    char room[sizeof(struct hami_internal_crowd) + 8];
};

static union roomy crowds[CROWDS];

static void start(struct hami_internal_queue *queue, uint32_t overtaken_max)
{
    hami_internal_queue_init(queue, overtaken_max);
    for (size_t i = 0; i < CROWDS; i++) {
        memset(&crowds[i], 0, sizeof(crowds[i]));
        crowds[i].crowd.hash = i;
        hami_internal_queue_settle(queue, &crowds[i].crowd);
    }
}

/* A waiter with its part in a group, if it has one. */
struct grouped {
    struct hami_internal_waiter waiter;
    struct hami_internal_member member;
};

static void join(struct grouped *one, uint64_t group)
{
    one->member.group = group;
    one->waiter.member = group ? &one->member : NULL;
}

static void insert(struct hami_internal_queue *queue, struct grouped *one, uint64_t place,
                   int32_t priority, uint64_t group)
{
    one->waiter = (struct hami_internal_waiter){
        .place = place, .priority = priority, .crowd = &crowds[1].crowd};
    join(one, group);
    hami_internal_queue_insert(queue, &one->waiter);
}

static void leave(struct hami_internal_queue *queue, struct grouped *one)
{
    hami_internal_queue_remove(queue, &one->waiter);
}

static void serve(struct hami_internal_queue *queue, struct grouped *one)
{
    hami_internal_queue_served(queue, &one->waiter);
    hami_internal_queue_remove(queue, &one->waiter);
}

static void come_back(struct hami_internal_queue *queue, struct grouped *one)
{
    one->waiter.returned = true;
    hami_internal_queue_insert(queue, &one->waiter);
}

static void assert_order(const struct hami_internal_queue *queue, const char *places)
{
    char found[256] = "";
    size_t length = 0;

    for (const struct hami_internal_waiter *one = queue->first; one;
         one = queue_next(one)) {
        length += (size_t)snprintf(found + length, sizeof(found) - length, " %llu",
                                   (unsigned long long)one->place);
    }
    ck_assert_str_eq(length ? found + 1 : found, places);
}

START_TEST(one_that_comes_back_is_put_where_its_number_says)
{
    struct hami_internal_queue queue;
    struct grouped waiters[5];

    start(&queue, 4);
    for (size_t i = 0; i < 5; i++) {
        insert(&queue, &waiters[i], 10 * (i + 1), 0, 0);
    }
    leave(&queue, &waiters[1]);
    leave(&queue, &waiters[4]);
    come_back(&queue, &waiters[4]);
    come_back(&queue, &waiters[1]);
    assert_order(&queue, "10 20 30 40 50");
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[2].waiter), 0);
}
END_TEST

START_TEST(priorities_are_lanes_with_bounded_overtaking)
{
    struct hami_internal_queue queue;
    struct grouped waiters[7];

    start(&queue, 4);
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
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[0].waiter), 4);
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[4].waiter), 2);
    leave(&queue, &waiters[1]);
    come_back(&queue, &waiters[1]);
    assert_order(&queue, "4 2 3 6 1 7 5");
}
END_TEST

START_TEST(nobody_passes_its_elder_that_had_to_stay_behind_one_that_has_left)
{
    struct hami_internal_queue queue;
    struct grouped waiters[9];

    start(&queue, 2);
    insert(&queue, &waiters[0], 1, 0, 0);
    insert(&queue, &waiters[1], 2, -1, 0);
    insert(&queue, &waiters[2], 3, 0, 0);
    insert(&queue, &waiters[3], 4, 0, 0);
    insert(&queue, &waiters[4], 5, 1, 0); /* the second was passed twice by now */
    insert(&queue, &waiters[5], 6, 0, 0);
    assert_order(&queue, "1 3 4 2 5 6");
    leave(&queue, &waiters[1]);
    insert(&queue, &waiters[6], 7, 1, 0);
    insert(&queue, &waiters[7], 8, 2, 0);
    assert_order(&queue, "8 1 3 4 5 7 6");
    for (size_t i = 4; i < 7; i++) {
        leave(&queue, &waiters[i]);
    }
    insert(&queue, &waiters[8], 9, 1, 0);
    assert_order(&queue, "8 9 1 3 4");
}
END_TEST

START_TEST(members_of_a_group_follow_each_other_within_their_lane)
{
    struct hami_internal_queue queue;
    struct grouped waiters[8];

    start(&queue, 2);
    insert(&queue, &waiters[0], 1, 0, 7);
    insert(&queue, &waiters[1], 2, 0, 0);
    insert(&queue, &waiters[2], 3, 0, 7); /* behind its fellow */
    insert(&queue, &waiters[3], 4, 1, 7); /* of another lane: no fellow */
    insert(&queue, &waiters[4], 5, 0, 8); /* another group */
    assert_order(&queue, "4 1 3 2 5");
    /* Overtaken twice by now, and nobody passes it again. */
    ck_assert_uint_eq(hami_internal_queue_overtaken(&waiters[1].waiter), 2);
    insert(&queue, &waiters[5], 6, 0, 7);
    assert_order(&queue, "4 1 3 2 6 5");
    /* A member that comes while its group is served goes to the lane's head. */
    for (size_t i = 0; i < 4; i++) {
        serve(&queue, &waiters[(const size_t[]){3, 0, 2, 1}[i]]);
    }
    serve(&queue, &waiters[5]);
    insert(&queue, &waiters[6], 7, 0, 0);
    insert(&queue, &waiters[7], 8, 0, 7);
    assert_order(&queue, "8 5 7");
}
END_TEST

START_TEST(one_that_comes_back_does_not_mind_members_that_were_put_before_others)
{
    struct hami_internal_queue queue;
    struct grouped waiters[5];

    start(&queue, 9);
    insert(&queue, &waiters[0], 1, 0, 7);
    insert(&queue, &waiters[1], 2, 0, 0);
    insert(&queue, &waiters[2], 3, 0, 0);
    insert(&queue, &waiters[3], 4, 0, 7);
    assert_order(&queue, "1 4 2 3");
    leave(&queue, &waiters[2]);
    insert(&queue, &waiters[4], 5, 0, 0);
    come_back(&queue, &waiters[2]);
    assert_order(&queue, "1 4 2 3 5");
}
END_TEST

START_TEST(one_that_was_overtaken_often_enough_comes_back_before_all_that_came_later)
{
    struct hami_internal_queue queue;
    struct grouped low, high[6], peer;

    start(&queue, 2);
    insert(&queue, &low, 1, 0, 0);
    insert(&queue, &high[0], 2, 5, 0);
    insert(&queue, &high[1], 3, 5, 0);
    leave(&queue, &low); /* its patience ends */
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

    start(&queue, 4);
    ck_assert_ptr_null(hami_internal_queue_crowd(&queue));
    for (size_t i = 0; i < 20; i++) {
        /* Three of the one, five of the next, twelve of the last; one is a try. */
        waiters[i] = (struct hami_internal_waiter){.place = i,
                                                   .crowd = &crowds[i < 3   ? 3
                                                                    : i < 8 ? 0
                                                                            : 2]
                                                                 .crowd};
        hami_internal_queue_insert(&queue, &waiters[i]);
    }
    ck_assert_uint_eq(crowds[0].crowd.count, 5);
    ck_assert_uint_eq(crowds[2].crowd.count, 12);
    ck_assert_uint_eq(crowds[3].crowd.count, 3);
    ck_assert_uint_eq(crowds[1].crowd.count, 0);
    ck_assert_ptr_eq(hami_internal_queue_crowd(&queue), &crowds[2].crowd);
    for (size_t i = 8; i < 20; i++) {
        hami_internal_queue_remove(&queue, &waiters[i]);
    }
    ck_assert_ptr_eq(hami_internal_queue_crowd(&queue), &crowds[0].crowd);
}
END_TEST

START_TEST(a_queue_forgets_namespaces_of_which_nobody_waits)
{
    enum { MANY = 2 * HAMI_INTERNAL_QUEUE_DESERTED };
    struct hami_internal_queue queue;
    struct hami_internal_waiter waiter = {.place = 1};
    struct hami_internal_crowd *forgotten;
    union roomy many[MANY];
    size_t count = 0;

    hami_internal_queue_init(&queue, 4);
    for (size_t i = 0; i < MANY; i++) {
        memset(&many[i], 0, sizeof(many[i]));
        many[i].crowd.hash = 7; /* the name tells them apart */
        many[i].crowd.name[0] = (char)('a' + i);
        hami_internal_queue_settle(&queue, &many[i].crowd);
    }
    ck_assert_ptr_eq(hami_internal_queue_namespace(&queue, 7, "c"), &many[2].crowd);
    ck_assert_ptr_null(hami_internal_queue_namespace(&queue, 7, "?"));
    ck_assert_ptr_null(hami_internal_queue_namespace(&queue, 8, "c"));
    waiter.crowd = &many[0].crowd;
    hami_internal_queue_insert(&queue, &waiter);
    while ((forgotten = hami_internal_queue_forget(&queue))) {
        ck_assert_ptr_ne(forgotten, &many[0].crowd);
        ck_assert_ptr_null(hami_internal_queue_namespace(&queue, 7, forgotten->name));
        count++;
    }
    /* Some are kept: they may come back. */
    ck_assert_uint_eq(count, MANY - 1 - HAMI_INTERNAL_QUEUE_DESERTED);
    hami_internal_queue_remove(&queue, &waiter);
    ck_assert_ptr_nonnull(hami_internal_queue_forget(&queue));
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
    struct hami_internal_member member;
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
    uint32_t rank = 0, of_namespace[CROWDS] = {0};

    for (const struct hami_internal_waiter *one = queue->first; one;
         one = queue_next(one)) {
        ck_assert_uint_eq(hami_internal_tree_rank(&one->branch), rank);
        of_namespace[one->crowd->hash]++;
        rank++;
    }
    ck_assert_uint_eq(tree_size(queue->order.root), rank);
    for (size_t i = 0; i < CROWDS; i++) {
        ck_assert_uint_eq(crowds[i].crowd.count, of_namespace[i]);
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
        owner->waiter =
            (struct hami_internal_waiter){.place = ++*places,
                                          .priority = (int32_t)random_below(lanes) - 1,
                                          .crowd = &crowds[random_below(CROWDS)].crowd};
        owner->member.group = groups && random_below(2) ? 1 + random_below(groups) : 0;
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

    random_state = seed;
    memset(owners, 0, sizeof(owners));
    start(&queue, overtaken_max);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[random_below(OWNERS)];
        bool serves = random_below(3) == 0 && queue.first;
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

    random_state = 99;
    memset(owners, 0, sizeof(owners));
    start(&queue, 1000000);
    for (uint32_t step = 1; step < STEPS; step++) {
        struct owner *owner = &owners[random_below(OWNERS)];
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

START_TEST(very_many_waiters_leave_and_come_back_in_any_order)
{
    enum { MANY = 50000 };
    struct hami_internal_queue queue;
    struct grouped *many = calloc(MANY, sizeof(*many));
    uint64_t last = 0;

    ck_assert_ptr_nonnull(many);
    start(&queue, 4);
    random_state = 5;
    for (size_t i = 0; i < MANY; i++) {
        insert(&queue, &many[i], i + 1, 0, 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        struct grouped *one = &many[random_below(MANY)];
        leave(&queue, one);
        come_back(&queue, one);
    }
    for (const struct hami_internal_waiter *one = queue.first; one;
         one = queue_next(one)) {
        ck_assert(one->place == last + 1);
        last = one->place;
    }
    ck_assert_uint_eq(last, MANY);
    free(many);
}
END_TEST

START_TEST(very_many_tries_at_a_time_make_no_list_of_the_tree)
{
    enum { MANY = 2000, DEEP = 100 };
    struct hami_internal_queue queue;
    struct grouped *many = calloc(MANY, sizeof(*many));

    ck_assert_ptr_nonnull(many);
    start(&queue, 4);
    for (size_t i = 0; i < MANY; i++) {
        insert(&queue, &many[i], 0, 0, 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        const struct hami_internal_branch *at = &many[i].waiter.branch;
        size_t depth = 0;
        ck_assert_uint_eq(hami_internal_tree_rank(at), i);
        for (; at->parent; at = at->parent) {
            depth++;
        }
        ck_assert_uint_lt(depth, DEEP);
    }
    free(many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *pure = tcase_create("queue");

    tcase_add_test(pure, one_that_comes_back_is_put_where_its_number_says);
    tcase_add_test(pure, priorities_are_lanes_with_bounded_overtaking);
    tcase_add_test(pure,
                   nobody_passes_its_elder_that_had_to_stay_behind_one_that_has_left);
    tcase_add_test(pure, members_of_a_group_follow_each_other_within_their_lane);
    tcase_add_test(pure,
                   one_that_comes_back_does_not_mind_members_that_were_put_before_others);
    tcase_add_test(
        pure, one_that_was_overtaken_often_enough_comes_back_before_all_that_came_later);
    tcase_add_test(pure, the_namespace_that_fills_a_queue_is_found);
    tcase_add_test(pure, a_queue_forgets_namespaces_of_which_nobody_waits);
    tcase_add_loop_test(
        pure, nobody_is_overtaken_more_often_than_is_allowed_whatever_happens, 0, 4);
    tcase_add_test(pure, a_group_that_is_served_is_served_to_its_end);
    tcase_add_test(pure, very_many_waiters_leave_and_come_back_in_any_order);
    tcase_add_test(pure, very_many_tries_at_a_time_make_no_list_of_the_tree);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
