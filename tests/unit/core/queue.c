/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next: the order of waiters. No manager is made. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue_world.h"
#include "scripted.h"

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
        .place = place, .priority = priority, .crowd = &queue_crowds[1].crowd};
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

    queue_start(&queue, 4);
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

    queue_start(&queue, 4);
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

    queue_start(&queue, 2);
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

    queue_start(&queue, 2);
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

    queue_start(&queue, 9);
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

    queue_start(&queue, 2);
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

    queue_start(&queue, 4);
    ck_assert_ptr_null(hami_internal_queue_crowd(&queue));
    for (size_t i = 0; i < 20; i++) {
        /* Three of the one, five of the next, twelve of the last; one is a try. */
        waiters[i] = (struct hami_internal_waiter){.place = i,
                                                   .crowd = &queue_crowds[i < 3   ? 3
                                                                          : i < 8 ? 0
                                                                                  : 2]
                                                                 .crowd};
        hami_internal_queue_insert(&queue, &waiters[i]);
    }
    ck_assert_uint_eq(queue_crowds[0].crowd.count, 5);
    ck_assert_uint_eq(queue_crowds[2].crowd.count, 12);
    ck_assert_uint_eq(queue_crowds[3].crowd.count, 3);
    ck_assert_uint_eq(queue_crowds[1].crowd.count, 0);
    ck_assert_ptr_eq(hami_internal_queue_crowd(&queue), &queue_crowds[2].crowd);
    for (size_t i = 8; i < 20; i++) {
        hami_internal_queue_remove(&queue, &waiters[i]);
    }
    ck_assert_ptr_eq(hami_internal_queue_crowd(&queue), &queue_crowds[0].crowd);
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

START_TEST(very_many_waiters_leave_and_come_back_in_any_order)
{
    enum { MANY = 50000 };
    struct hami_internal_queue queue;
    struct grouped *many = calloc(MANY, sizeof(*many));
    uint64_t last = 0;

    ck_assert_ptr_nonnull(many);
    queue_start(&queue, 4);
    queue_random_seed(5);
    for (size_t i = 0; i < MANY; i++) {
        insert(&queue, &many[i], i + 1, 0, 0);
    }
    for (size_t i = 0; i < MANY; i++) {
        struct grouped *one = &many[queue_random_below(MANY)];
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
    queue_start(&queue, 4);
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
    tcase_add_test(pure, very_many_waiters_leave_and_come_back_in_any_order);
    tcase_add_test(pure, very_many_tries_at_a_time_make_no_list_of_the_tree);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
