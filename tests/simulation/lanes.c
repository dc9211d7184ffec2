/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker's own test of lanes and groups: orders that break a rule, told to it by
 * hand, each beside one that differs by what makes it right. No library, no chance.
 */
#include <check.h>

#include <stdio.h>

#include "../suite.h"
#include "store.h"
#include "told.h"

static uint64_t fence;

static void begin(void)
{
    told_start((struct plan){.nodes = 1, .replicas = 1, .keys = 1, .permits = 1}, 0);
    world->replicas[0].overtaken_max = 2;
    fence = 7;
}

/* They come one after the other, each a moment later. */
static void come(size_t index, int32_t priority, uint32_t group)
{
    struct acquire *one = &waits[index], *last = world->nodes[0].last[0];
    uint64_t places = ++world->replicas[0].places;

    one->world = world;
    one->pod = store_new_pod(world);
    one->node = one->pod->node = &world->nodes[0];
    one->keys = one->pod->keys = 1;
    one->place = places;
    one->place_sure = true;
    one->since_ns = SECOND * places;
    one->pod->sent_ns[0] = 100 * SECOND;
    one->priority = priority;
    one->group = group;
    (void)snprintf(one->uid, sizeof(one->uid), "uid-%zu", index);
    checker_queued(world, one);
    one->previous = last;
    *(last ? &last->next : &world->nodes[0].first[0]) = one;
    world->nodes[0].last[0] = one;
}

static void leave(size_t index)
{
    struct acquire *one = &waits[index];

    *(one->previous ? &one->previous->next : &world->nodes[0].first[0]) = one->next;
    *(one->next ? &one->next->previous : &world->nodes[0].last[0]) = one->previous;
}

/* Served, and gone. */
static void serve(size_t index)
{
    checker_granted(world, &waits[index], fence++);
    leave(index);
}

static void assert_seen(uint64_t count)
{
    ck_assert_msg(world->result.fifo_violations == count, "%s", world->result.first);
}

START_TEST(one_that_overtakes_too_often_is_seen)
{
    come(0, 0, 0);
    for (size_t i = 1; i < 4; i++) {
        come(i, 1, 0);
        assert_seen(0);
        serve(i);
    }
    assert_seen(1);
}
END_TEST

START_TEST(what_a_waiter_was_overtaken_before_it_came_back_counts)
{
    come(0, 0, 0);
    come(1, 1, 0);
    come(2, 1, 0);
    waits[0].overtaken = 1; /* on an earlier try */
    serve(1);
    assert_seen(0);
    serve(2);
    assert_seen(1);
}
END_TEST

START_TEST(a_lower_priority_that_came_later_never_goes_first)
{
    come(0, 1, 0);
    come(1, 0, 0);
    waits[0].leaving = _i == 1;
    waits[1].returned = _i == 2;
    serve(1);
    assert_seen(_i == 0 ? 1 : 0);
}
END_TEST

START_TEST(a_higher_priority_that_may_pass_has_to)
{
    come(0, 0, 0);
    if (_i == 1) {
        /* The first may have been overtaken twice by now. */
        come(2, 1, 0);
        come(3, 1, 0);
        leave(2);
        leave(3);
    }
    come(1, 1, 0);
    serve(0);
    assert_seen(_i == 0 ? 1 : 0);
}
END_TEST

START_TEST(a_higher_priority_stays_behind_its_elder_that_could_not_pass)
{
    come(0, 0, 0); /* of a lower priority, and before all others */
    come(2, -1, 0);
    come(3, 0, 0);
    come(4, 0, 0);
    waits[2].rivals = 2; /* overtaken as often as may be */
    if (_i != 1) {
        come(5, 1, 0); /* can't pass */
    }
    leave(2);
    come(6, 0, 0);
    if (_i == 3) {
        leave(5);
    }
    come(1, _i == 2 ? 2 : 1, 0);
    serve(0);
    if (_i == 4) {
        leave(5);
        serve(3);
        serve(4);
        assert_seen(0);
        serve(6); /* came later than that elder */
    }
    assert_seen(_i == 0 ? 0 : 1);
}
END_TEST

START_TEST(a_member_stays_behind_a_higher_priority_that_could_not_pass)
{
    come(0, 0, 5);
    come(2, -1, 0);
    come(3, 0, 0);
    waits[2].rivals = 2;
    come(4, _i == 0 ? 1 : 0, 0); /* can't pass */
    leave(2);
    come(1, 0, 5);
    serve(0);
    serve(3);
    assert_seen(_i == 0 ? 0 : 1);
}
END_TEST

START_TEST(a_member_goes_before_others_only_where_its_group_waited_or_was_served)
{
    if (_i == 0) {
        come(3, 0, 5);
    } else if (_i == 1) {
        come(3, 0, 5);
        serve(3);
    } else if (_i == 2) {
        come(3, 1, 5); /* of another lane */
        serve(3);
    }
    come(0, 0, 0);
    come(1, 0, 5);
    if (_i == 0) {
        serve(3);
    }
    serve(1);
    assert_seen(_i < 2 ? 0 : 1);
}
END_TEST

START_TEST(a_member_is_no_reason_to_overtake_more_often)
{
    come(0, 0, 5);
    come(1, 0, 0);
    for (size_t i = 2; i < 5; i++) {
        come(i, 0, 5);
    }
    serve(0);
    serve(2);
    serve(3);
    assert_seen(0);
    serve(4);
    assert_seen(1);
}
END_TEST

START_TEST(a_member_has_to_go_before_those_that_came_after_its_fellow)
{
    if (_i != 1) {
        come(0, 0, 5);
    }
    come(1, 0, 0);
    if (_i == 1) {
        come(0, 0, 5);
    }
    come(2, 0, 5);
    if (_i != 1) {
        serve(0);
    }
    serve(1);
    assert_seen(_i == 0 ? 1 : 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lanes");
    TCase *tcase = tcase_create("lanes");

    tcase_add_checked_fixture(tcase, begin, told_finish);
    tcase_add_test(tcase, one_that_overtakes_too_often_is_seen);
    tcase_add_test(tcase, what_a_waiter_was_overtaken_before_it_came_back_counts);
    tcase_add_loop_test(tcase, a_lower_priority_that_came_later_never_goes_first, 0, 3);
    tcase_add_loop_test(tcase, a_higher_priority_that_may_pass_has_to, 0, 2);
    tcase_add_loop_test(
        tcase, a_higher_priority_stays_behind_its_elder_that_could_not_pass, 0, 5);
    tcase_add_loop_test(
        tcase, a_member_stays_behind_a_higher_priority_that_could_not_pass, 0, 2);
    tcase_add_loop_test(
        tcase, a_member_goes_before_others_only_where_its_group_waited_or_was_served, 0,
        4);
    tcase_add_test(tcase, a_member_is_no_reason_to_overtake_more_often);
    tcase_add_loop_test(tcase, a_member_has_to_go_before_those_that_came_after_its_fellow,
                        0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
