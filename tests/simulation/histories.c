/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checker's own test: histories that break a rule, told to it by hand, each beside
 * one that differs by what makes it right. No library, no faults, no chance.
 */
#include <check.h>

#include <inttypes.h>
#include <stdio.h>

#include "../suite.h"
#include "told.h"

static void begin(uint32_t keys, uint32_t permits)
{
    told_start((struct plan){.nodes = 2, .replicas = 2, .keys = keys, .permits = permits},
               TOLD_PODS);
    world->age_least_ns = 8 * SECOND;
}

static void one_lock(void)
{
    begin(1, 1);
}

static void two_permits(void)
{
    begin(1, 2);
}

static struct object *next_node(void)
{
    return world->nodes[0].object ? object_copy(world->nodes[0].object)
                                  : object_new(false, "node-0", "uid-node");
}

/* Locks record `slot` of node-0 for a pod, with a lease of this fence (0 = without). */
static void lock_slot(size_t slot, size_t pod, uint64_t fence, enum writer writer)
{
    struct object *next = next_node();

    told_set_pair(next, slot, pod, fence, NULL);
    told_node(next, writer);
}

static void lock_for(size_t pod, uint64_t fence)
{
    lock_slot(0, pod, fence, WRITER_OURS);
}

static void unlock(enum writer writer)
{
    struct object *next = next_node();

    object_set(next, KEY_LOCK, NULL);
    told_node(next, writer);
}

static void make_anew(size_t index)
{
    told_pod(index, NULL, WRITER_WORLD);
    (void)snprintf(waits[index].uid, sizeof(waits[index].uid), "uid-anew");
    told_make_pod(index);
}

static void revoke_pod(size_t index, const char *node, uint64_t fence)
{
    struct object *next = object_copy(world->pods[index]->object);
    char text[80];

    (void)snprintf(text, sizeof(text), "%s,%" PRIu64 ",x_1,1", node, fence);
    object_set(next, KEY_REVOKED, text);
    told_pod(index, next, WRITER_OURS);
}

/* ---- windows ---- */

START_TEST(an_orderly_life_is_clean)
{
    for (size_t i = 0; i < 2; i++) {
        told_make_pod(i);
        lock_for(i, 10 + i);
        told_bind_pod(i, WRITER_OURS);
        told_serve_pod(i);
        unlock(WRITER_NODE_SIDE);
    }
    told_assert_clean();
}
END_TEST

START_TEST(a_pod_bound_without_its_lock_is_a_lost_lock)
{
    told_make_pod(0);
    told_make_pod(1);
    lock_for(1, 10);
    told_bind_pod(0, WRITER_OURS);
    ck_assert_uint_eq(world->result.lost_locks, 1);
}
END_TEST

START_TEST(two_pods_that_wait_for_allocate_are_a_double_hold)
{
    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    told_bind_pod(0, WRITER_OURS);
    lock_for(1, 11);
    told_bind_pod(1, WRITER_OURS);
    ck_assert_uint_eq(world->result.lost_locks, 1);
    ck_assert_uint_eq(world->result.double_holds, 1);
}
END_TEST

START_TEST(more_pods_than_permits_are_a_double_hold)
{
    for (size_t i = 0; i < 3; i++) {
        told_assert_clean();
        told_make_pod(i);
        lock_slot(i > 0, i, 10 + i, WRITER_OURS);
        told_bind_pod(i, WRITER_OURS);
    }
    ck_assert_uint_eq(world->result.double_holds, 1);
}
END_TEST

START_TEST(a_lock_taken_before_the_allocate_is_lost_whoever_of_ours_takes_it)
{
    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    told_bind_pod(0, WRITER_OURS);
    unlock(_i ? WRITER_NODE_SIDE : WRITER_OURS);
    ck_assert_uint_eq(world->result.lost_locks, 1);
}
END_TEST

START_TEST(a_window_ends_with_success_and_not_before)
{
    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    told_bind_pod(0, WRITER_OURS);
    struct object *next = object_copy(world->pods[0]->object);
    object_set(next, KEY_PHASE, "success"); /* and devices are left: not ours */
    told_pod(0, next, WRITER_FOREIGN);
    lock_for(1, 11);
    ck_assert_uint_eq(world->result.lost_locks, 1);
}
END_TEST

/* ---- takeovers ---- */

START_TEST(a_lock_taken_from_a_pod_that_may_be_bound_needs_a_revocation_under_it)
{
    static const struct {
        const char *node;
        uint64_t fence;
        uint64_t lost;
    } cases[] = {{NULL, 0, 1}, {"node-0", 10, 0}, {"node-0", 9, 1}, {"node-1", 10, 1}};

    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    if (cases[_i].node) {
        revoke_pod(0, cases[_i].node, cases[_i].fence);
    }
    lock_for(1, 11);
    ck_assert_uint_eq(world->result.lost_locks, cases[_i].lost);
}
END_TEST

START_TEST(a_lock_of_a_dead_pod_needs_none)
{
    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    if (_i == 0) {
        told_pod(0, NULL, WRITER_WORLD);
    } else {
        struct object *next = object_copy(world->pods[0]->object);
        next->deleting = true;
        told_pod(0, next, WRITER_WORLD);
    }
    lock_for(1, 11);
    told_assert_clean();
}
END_TEST

START_TEST(a_lock_without_a_lease_needs_its_age_or_a_newer_pod)
{
    told_make_pod(0);
    lock_slot(0, 0, 0, WRITER_FOREIGN);
    world->engine.now_ns += _i == 1 ? 9 * SECOND : 7 * SECOND;
    if (_i == 2) {
        make_anew(0);
    }
    revoke_pod(0, "node-0", 0);
    lock_for(1, 11);
    ck_assert_uint_eq(world->result.lost_locks, _i == 0 ? 1 : 0);
}
END_TEST

/* ---- excuses ---- */

START_TEST(hamis_removal_is_excused_where_its_code_does_that)
{
    static const struct {
        enum plugin_style style;
        bool foreign;
        uint64_t lost;
    } cases[] = {{PLUGIN_OURS, false, 1},
                 {PLUGIN_HAMI_210, false, 1},
                 {PLUGIN_HAMI_210, true, 0},
                 {PLUGIN_HAMI_27, false, 0}};

    told_make_pod(0);
    world->nodes[0].style = cases[_i].style;
    world->pods[0]->foreign = cases[_i].foreign;
    lock_for(0, 10);
    told_bind_pod(0, WRITER_OURS);
    unlock(WRITER_FOREIGN);
    ck_assert_uint_eq(world->result.lost_locks, cases[_i].lost);
}
END_TEST

START_TEST(hamis_binding_is_excused_for_a_pod_made_anew)
{
    lock_for(1, 10);
    told_make_pod(0);
    if (_i) {
        make_anew(0);
    }
    told_bind_pod(0, WRITER_FOREIGN);
    ck_assert_uint_eq(world->result.lost_locks, _i ? 0 : 1);
}
END_TEST

START_TEST(an_excuse_ends_with_the_pod)
{
    world->nodes[0].style = PLUGIN_HAMI_27;
    told_make_pod(0);
    told_make_pod(1);
    lock_for(0, 10);
    unlock(WRITER_FOREIGN);
    make_anew(0);
    lock_for(1, 11);
    told_bind_pod(0, WRITER_OURS);
    ck_assert_uint_eq(world->result.lost_locks, 1);
}
END_TEST

/* ---- fences ---- */

START_TEST(a_fence_that_does_not_grow_is_seen_also_where_the_lease_was_lost)
{
    lock_for(0, 10);
    struct object *next = next_node();
    object_set(next, KEY_LOCK, NULL);
    object_set(next, KEY_LEASE, NULL);
    told_node(next, WRITER_WORLD);
    lock_for(1, _i ? 11 : 10);
    ck_assert_uint_eq(world->result.fence_violations, _i ? 0 : 1);
}
END_TEST

/* ---- order ---- */

START_TEST(a_grant_before_an_older_waiter_is_seen)
{
    told_wait(0, 1, 0);
    told_wait(1, 2, 0);
    checker_granted(world, &waits[0], 7);
    told_assert_clean();
    checker_granted(world, &waits[1], 8);
    ck_assert_uint_eq(world->result.fifo_violations, 1);
}
END_TEST

START_TEST(a_further_share_of_a_grant_is_no_turn_and_a_new_fence_is_one)
{
    told_wait(0, 3, 0);
    checker_granted(world, &waits[0], 7);
    told_wait(1, 1, 0);
    checker_granted(world, &waits[0], 7);
    told_assert_clean();
    checker_granted(world, &waits[0], 8);
    ck_assert_uint_eq(world->result.fifo_violations, 1);
}
END_TEST

START_TEST(a_take_that_replaces_the_pods_own_lock_is_no_turn)
{
    told_make_pod(0);
    lock_for(0, 7);
    lock_for(0, 8);
    told_wait(0, 3, 0);
    told_wait(1, 1, 0);
    checker_granted(world, &waits[0], 8);
    told_assert_clean();
    checker_granted(world, &waits[0], 9);
    ck_assert_uint_eq(world->result.fifo_violations, 1);
}
END_TEST

START_TEST(what_makes_an_older_waiter_not_count)
{
    told_wait(0, 1, 0);
    told_wait(1, 2, 0);
    waits[0].leaving = _i == 0;
    waits[0].place_sure = _i != 1;
    waits[0].since_ns += _i == 2 ? 2 * SECOND : 0;
    waits[0].keys = _i == 3 ? 2 : 1;
    checker_granted(world, &waits[1], 7);
    ck_assert_uint_eq(world->result.fifo_violations, _i == 4 ? 1 : 0);
}
END_TEST

START_TEST(a_permit_set_aside_lets_others_by_only_after_a_failure)
{
    told_wait(0, 1, 0);
    told_wait(1, 2, 0);
    waits[0].pod->refused = _i == 0;
    checker_granted(world, &waits[1], 7);
    ck_assert_uint_eq(world->result.fifo_violations, _i == 0 ? 0 : 1);
}
END_TEST

/* ---- devices ---- */

START_TEST(devices_of_another_pod_are_seen)
{
    told_make_pod(0);
    told_make_pod(1);
    checker_allocated(world, &world->nodes[0], world->pods[0]->object,
                      world->pods[0]->object);
    told_assert_clean();
    checker_allocated(world, &world->nodes[0], world->pods[0]->object,
                      world->pods[1]->object);
    ck_assert_uint_eq(world->result.wrong_devices, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("histories");
    TCase *tcase = tcase_create("one lock"), *permits = tcase_create("permits");

    tcase_add_checked_fixture(tcase, one_lock, told_finish);
    tcase_add_test(tcase, an_orderly_life_is_clean);
    tcase_add_test(tcase, a_pod_bound_without_its_lock_is_a_lost_lock);
    tcase_add_test(tcase, two_pods_that_wait_for_allocate_are_a_double_hold);
    tcase_add_loop_test(
        tcase, a_lock_taken_before_the_allocate_is_lost_whoever_of_ours_takes_it, 0, 2);
    tcase_add_test(tcase, a_window_ends_with_success_and_not_before);
    tcase_add_loop_test(
        tcase, a_lock_taken_from_a_pod_that_may_be_bound_needs_a_revocation_under_it, 0,
        4);
    tcase_add_loop_test(tcase, a_lock_of_a_dead_pod_needs_none, 0, 2);
    tcase_add_loop_test(tcase, a_lock_without_a_lease_needs_its_age_or_a_newer_pod, 0, 3);
    tcase_add_loop_test(tcase, hamis_removal_is_excused_where_its_code_does_that, 0, 4);
    tcase_add_loop_test(tcase, hamis_binding_is_excused_for_a_pod_made_anew, 0, 2);
    tcase_add_test(tcase, an_excuse_ends_with_the_pod);
    tcase_add_loop_test(
        tcase, a_fence_that_does_not_grow_is_seen_also_where_the_lease_was_lost, 0, 2);
    tcase_add_test(tcase, a_grant_before_an_older_waiter_is_seen);
    tcase_add_test(tcase, a_further_share_of_a_grant_is_no_turn_and_a_new_fence_is_one);
    tcase_add_test(tcase, a_take_that_replaces_the_pods_own_lock_is_no_turn);
    tcase_add_loop_test(tcase, what_makes_an_older_waiter_not_count, 0, 5);
    tcase_add_test(tcase, devices_of_another_pod_are_seen);
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(permits, two_permits, told_finish);
    tcase_add_test(permits, more_pods_than_permits_are_a_double_hold);
    tcase_add_loop_test(permits, a_permit_set_aside_lets_others_by_only_after_a_failure,
                        0, 2);
    suite_add_tcase(suite, permits);
    return run_suite(suite);
}
