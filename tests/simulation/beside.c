/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker's own test of pods side by side: histories that break a rule, told to it by
 * hand, each beside one that differs by what makes it right. No library, no faults, no
 * chance.
 */
#include <check.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../suite.h"
#include "asks.h"
#include "checker_internal.h"
#include "told.h"

enum { PODS = 4, COVER = 0 };

/* Pod i asks for the call of kind i. */
static void begin(void)
{
    told_start((struct plan){.nodes = 1,
                             .replicas = 1,
                             .keys = 1,
                             .permits = 1,
                             .by_scheduler = true,
                             .beside = 2},
               PODS);
    for (unsigned i = 0; i < PODS; i++) {
        struct pod *pod = waits[i].pod;
        pod->call_count = 1;
        pod->call_set = 1u << i;
        pod->calls[0] = (uint8_t)i;
        waits[i].call_set = pod->call_set;
        waits[i].node = pod->node = &world->nodes[0];
    }
}

/* ---- nodes ---- */

static void make_node(const char *mark)
{
    struct object *object = object_new(false, "node-0", "uid-node");

    object_set(object, KEY_AGENT, mark);
    told_node(object, WRITER_WORLD);
}

static struct object *next_node(void)
{
    return object_copy(world->nodes[0].object);
}

static void set_pair(struct object *next, size_t slot, size_t pod, uint64_t fence,
                     bool calls)
{
    char text[200];

    asks_text(world->pods[pod]->call_set, text, sizeof(text));
    told_set_pair(next, slot, pod, fence, calls ? text : NULL);
}

static void set_memory(struct object *next, size_t slot, uint64_t fence)
{
    char lease[80];

    (void)snprintf(lease, sizeof(lease), "{\"version\":1,\"fence\":\"%" PRIu64 "\"}",
                   fence);
    object_set(next, world->slots[slot].lock, NULL);
    object_set(next, world->slots[slot].lease, lease);
}

/* Into a permit and the cover. */
static void take(size_t permit, size_t pod, uint64_t fence)
{
    struct object *next = next_node();

    set_pair(next, permit, pod, fence, true);
    set_pair(next, COVER, pod, fence, true);
    told_node(next, WRITER_OURS);
}

static void take_alone(size_t pod, uint64_t fence)
{
    struct object *next = next_node();

    set_pair(next, COVER, pod, fence, false);
    told_node(next, WRITER_OURS);
}

/* Nothing is copied; the cover stays. */
static void release(size_t permit, uint64_t fence)
{
    struct object *next = next_node();

    set_memory(next, permit, fence);
    told_node(next, WRITER_OURS);
}

/* The cover becomes this pod's. */
static void release_to(size_t permit, uint64_t fence, size_t pod, uint64_t pods_fence)
{
    struct object *next = next_node();

    set_memory(next, permit, fence);
    set_pair(next, COVER, pod, pods_fence, true);
    told_node(next, WRITER_OURS);
}

static void release_all(size_t permit, uint64_t fence, uint64_t memory)
{
    struct object *next = next_node();

    set_memory(next, permit, fence);
    set_memory(next, COVER, memory);
    told_node(next, WRITER_OURS);
}

/* ---- pods ---- */

static void make_pods(void)
{
    for (size_t i = 0; i < PODS; i++) {
        told_make_pod(i);
    }
}

static void bind_pod(size_t index)
{
    told_bind_pod(index, WRITER_OURS);
}

static void start(void)
{
    make_node("1,free=scheduler,side-by-side");
    make_pods();
}

/* Pods 0 and 1, in permits 1 and 2, under fences 10 and 11. */
static void two_in_flight(void)
{
    start();
    take(1, 0, 10);
    bind_pod(0);
    take(2, 1, 11);
    bind_pod(1);
}

/* ---- windows ---- */

START_TEST(two_distinct_pods_may_be_in_flight)
{
    two_in_flight();
    told_serve_pod(_i);
    if (_i == 0) {
        release(1, 10);
        told_serve_pod(1);
        release_all(2, 11, 11);
    } else {
        release_to(2, 11, 0, 10);
        told_serve_pod(0);
        release_all(1, 10, 10);
    }
    told_assert_clean();
    ck_assert_uint_eq(world->result.in_flight_max, 2);
}
END_TEST

START_TEST(two_pods_with_a_common_call_are_a_double_hold)
{
    start();
    world->pods[1]->call_set |= world->pods[0]->call_set;
    take(1, 0, 10);
    bind_pod(0);
    take(2, 1, 11);
    bind_pod(1);
    ck_assert_uint_eq(world->result.double_holds, 1);
}
END_TEST

START_TEST(an_exclusive_pod_and_another_are_a_double_hold_whoever_came_first)
{
    start();
    if (_i == 0) {
        take_alone(0, 10);
        bind_pod(0);
        take(2, 1, 11);
    } else {
        take(1, 0, 10);
        bind_pod(0);
        take_alone(1, 11);
    }
    bind_pod(1);
    ck_assert_uint_eq(world->result.double_holds, 1);
}
END_TEST

START_TEST(more_than_may_be_are_a_double_hold)
{
    two_in_flight();
    take(3, 2, 12);
    told_assert_clean();
    bind_pod(2);
    ck_assert_uint_eq(world->result.double_holds, 1);
}
END_TEST

START_TEST(a_pod_that_has_the_cover_alone_is_bound_without_its_lock)
{
    start();
    take(1, 0, 10);
    struct object *next = next_node();
    if (_i == 0) {
        object_set(next, world->slots[1].lock, NULL);
    }
    told_node(next, WRITER_WORLD);
    world->checker->pods[0].excused = false;
    bind_pod(0);
    ck_assert_uint_eq(world->result.lost_locks, _i == 0 ? 1 : 0);
}
END_TEST

START_TEST(a_permit_taken_before_the_allocate_is_a_lost_lock)
{
    two_in_flight();
    if (_i == 0) {
        release_to(2, 11, 0, 10);
    } else {
        take(2, 2, 12);
    }
    ck_assert_uint_eq(world->result.lost_locks, 1);
}
END_TEST

/* ---- the cover ---- */

START_TEST(a_take_puts_its_pair_into_the_cover_too)
{
    start();
    if (_i == 0) {
        take(1, 0, 10);
    } else {
        struct object *next = next_node();
        set_pair(next, 1, 0, 10, true);
        told_node(next, WRITER_OURS);
    }
    ck_assert_uint_eq(world->result.cover_violations, _i);
}
END_TEST

START_TEST(a_cover_that_goes_while_a_permit_is_needed_is_seen)
{
    two_in_flight();
    told_serve_pod(1);
    if (_i == 0) {
        release_to(2, 11, 0, 10);
    } else if (_i == 1) {
        release_all(2, 11, 11);
    } else {
        release(2, 11); /* a copy of what is no more */
    }
    ck_assert_uint_eq(world->result.cover_violations, _i > 0);
}
END_TEST

START_TEST(the_copy_is_that_of_the_highest_fence)
{
    two_in_flight();
    world->plan.beside = 3;
    take(3, 2, 12);
    bind_pod(2);
    told_serve_pod(2);
    if (_i == 0) {
        release_to(3, 12, 1, 11);
    } else {
        release_to(3, 12, 0, 10);
    }
    ck_assert_uint_eq(world->result.cover_violations, _i);
}
END_TEST

START_TEST(a_take_beside_needs_the_mark)
{
    make_node(_i == 0   ? "1,free=scheduler,side-by-side"
              : _i == 1 ? "1,free=scheduler"
                        : NULL);
    make_pods();
    take(1, 0, 10);
    ck_assert_uint_eq(world->result.cover_violations, _i > 0);
}
END_TEST

START_TEST(what_others_do_to_the_cover_is_seen_when_one_of_ours_takes)
{
    two_in_flight();
    struct object *next = next_node();
    object_set(next, KEY_LOCK, NULL);
    object_set(next, KEY_LEASE, NULL);
    told_node(next, WRITER_WORLD);
    told_serve_pod(0);
    release(1, 10);
    told_assert_clean();
    if (_i == 0) {
        take(1, 2, 12);
    } else {
        take_alone(2, 12);
    }
    ck_assert_uint_eq(world->result.cover_violations, _i);
}
END_TEST

START_TEST(an_exclusive_take_may_leave_permits_that_nobody_needs)
{
    start();
    take(1, 0, 10);
    bind_pod(0);
    told_serve_pod(0);
    take_alone(1, 11);
    told_assert_clean();
}
END_TEST

START_TEST(a_scheduler_that_knows_the_cover_alone_excuses_those_in_permits)
{
    two_in_flight();
    struct object *next = next_node();
    object_set(next, KEY_LOCK, "2026-01-02T03:04:59Z," NAMESPACE ",pod-2");
    told_node(next, WRITER_FOREIGN);
    bind_pod(2);
    told_assert_clean();
}
END_TEST

/* ---- fences ---- */

START_TEST(a_fence_grows_over_all_permits)
{
    static const uint64_t fences[] = {12, 11, 10};

    two_in_flight();
    told_serve_pod(1);
    release_to(2, 11, 0, 10);
    take(2, 2, fences[_i]);
    ck_assert_uint_eq(world->result.fence_violations > 0, _i > 0);
}
END_TEST

START_TEST(the_highest_fence_is_not_forgotten)
{
    two_in_flight();
    told_serve_pod(1);
    release_to(2, _i == 0 ? 11 : 9, 0, 10);
    ck_assert_uint_eq(world->result.fence_violations, _i);
}
END_TEST

/* ---- order ---- */

START_TEST(whose_calls_are_others_may_be_granted_first)
{
    start();
    told_wait(0, 1, 0);
    told_wait(1, 2, 0);
    if (_i == 1) {
        waits[0].call_set |= waits[1].call_set; /* an older waiter's */
    } else if (_i == 2) {
        waits[0].call_set = 0; /* which must wait for all */
    }
    if (_i == 3) {
        take_alone(1, 10);
    } else {
        take(1, 1, 10);
    }
    checker_granted(world, &waits[1], 10);
    ck_assert_uint_eq(world->result.fifo_violations, _i > 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside");
    TCase *tcase = tcase_create("beside");

    tcase_add_checked_fixture(tcase, begin, told_finish);
    tcase_add_loop_test(tcase, two_distinct_pods_may_be_in_flight, 0, 2);
    tcase_add_test(tcase, two_pods_with_a_common_call_are_a_double_hold);
    tcase_add_loop_test(
        tcase, an_exclusive_pod_and_another_are_a_double_hold_whoever_came_first, 0, 2);
    tcase_add_test(tcase, more_than_may_be_are_a_double_hold);
    tcase_add_loop_test(tcase, a_pod_that_has_the_cover_alone_is_bound_without_its_lock,
                        0, 2);
    tcase_add_loop_test(tcase, a_permit_taken_before_the_allocate_is_a_lost_lock, 0, 2);
    tcase_add_loop_test(tcase, a_take_puts_its_pair_into_the_cover_too, 0, 2);
    tcase_add_loop_test(tcase, a_cover_that_goes_while_a_permit_is_needed_is_seen, 0, 3);
    tcase_add_loop_test(tcase, the_copy_is_that_of_the_highest_fence, 0, 2);
    tcase_add_loop_test(tcase, a_take_beside_needs_the_mark, 0, 3);
    tcase_add_loop_test(tcase, what_others_do_to_the_cover_is_seen_when_one_of_ours_takes,
                        0, 2);
    tcase_add_test(tcase, an_exclusive_take_may_leave_permits_that_nobody_needs);
    tcase_add_test(tcase,
                   a_scheduler_that_knows_the_cover_alone_excuses_those_in_permits);
    tcase_add_loop_test(tcase, a_fence_grows_over_all_permits, 0, 3);
    tcase_add_loop_test(tcase, the_highest_fence_is_not_forgotten, 0, 2);
    tcase_add_loop_test(tcase, whose_calls_are_others_may_be_granted_first, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
