/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lease annotation is ours alone, so anybody may remove it who keeps only what he
 * knows: an old writer's template, a person. At each step of a lock's life it may vanish:
 * nobody else gets the node before its owner is done, and nothing stands for ever.
 */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

#define OURS "2026-01-02T03:04:05Z,default,a"

static struct scripted_wait a, b;
static struct scripted_done done;
static uint64_t fence;

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
}

static void vanish(void)
{
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, NULL),
                     0);
}

static void pod_is(const char *name, const char *uid, bool started)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.exists = true;
    facts.devices_left = !started;
    facts.started = started;
    facts.uid = uid;
    facts.node = "n1";
    scripted_pod_facts(name, &facts);
}

static void hold(void)
{
    scripted_acquire(&a, "n1", "a", 10000);
    ck_assert_int_eq(a.code, 0);
    fence = hami_lease_fence(a.lease);
}

/* The node side releases A's lock, and B has the node under a higher fence. */
static void free_and_expect_b(void)
{
    ck_assert_msg(!b.ended, "B must not have the node yet");
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_advance(2000);
    ck_assert_msg(b.ended && b.code == 0, "%s", b.text);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert(scripted_record("n1").has_lease);
    scripted_release(&done, b.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}

START_TEST(from_a_free_node_and_the_next_fence_is_higher_all_the_same)
{
    hold();
    scripted_release(&done, a.lease, 1000);
    vanish();
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(under_a_take_in_flight_which_is_refused_and_tried_again)
{
    hold();
    scripted_release(&done, a.lease, 1000);
    scripted_set_manual(true);
    scripted_acquire(&b, "n1", "b", 10000);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    vanish();
    scripted_set_manual(false);
    scripted_answer(patch);
    scripted_advance(1000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(after_a_take_whose_answer_is_lost_and_nobody_is_let_in)
{
    scripted_set_manual(true);
    scripted_acquire(&a, "n1", "a", 60000);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    vanish();
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_advance(1000);
    /* The lock names A, whoever wrote it: A adopts it, and B waits. */
    ck_assert_msg(a.ended && a.code == 0, "%s", a.text);
    ck_assert(scripted_record("n1").has_lease);
    pod_is("a", "uid-a", false);
    fence = hami_lease_fence(a.lease);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    free_and_expect_b();
}
END_TEST

START_TEST(while_it_is_held_and_the_holder_is_told_and_its_pod_keeps_the_node)
{
    hold();
    scripted_acquire(&b, "n1", "b", 60000);
    vanish();
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 1);
    ck_assert_str_eq(scripted_lock_value("n1"), OURS);
    /* Its Binding was on the way: it is bound, and the lock names it. */
    pod_is("a", "uid-a", false);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_advance(20000);
    free_and_expect_b();
}
END_TEST

START_TEST(while_it_is_held_and_the_same_pod_gets_its_lock_again)
{
    static struct scripted_wait again;

    hold();
    scripted_acquire(&b, "n1", "b", 60000);
    vanish();
    scripted_dispatch();
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_str_eq(scripted_lock_value("n1"), OURS);
    scripted_acquire(&again, "n1", "a", 10000);
    scripted_advance(1000);
    ck_assert_msg(again.ended && again.code == 0, "%s", again.text);
    ck_assert(scripted_record("n1").has_lease);
    ck_assert_uint_gt(hami_lease_fence(again.lease), fence);
    ck_assert(!b.ended);
    scripted_release(&done, again.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(while_it_is_held_by_one_that_never_binds_and_its_age_decides)
{
    hold();
    scripted_acquire(&b, "n1", "b", 900000);
    vanish();
    scripted_dispatch();
    scripted_release(&done, a.lease, 1000);
    scripted_advance(298000);
    ck_assert(!b.ended);
    scripted_advance(4000);
    ck_assert_msg(b.ended && b.code == 0, "%s", b.text);
    ck_assert_uint_ge(scripted_stats().revocations, 1);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(after_the_hand_off_and_the_node_side_frees_it_as_ever)
{
    hold();
    pod_is("a", "uid-a", false);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    vanish();
    scripted_advance(20000);
    ck_assert_uint_eq(scripted_lost, 0);
    free_and_expect_b();
}
END_TEST

START_TEST(after_the_hand_off_and_a_pod_that_runs_proves_all_the_same)
{
    hold();
    pod_is("a", "uid-a", false);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    vanish();
    scripted_advance(3000);
    ck_assert(!b.ended);
    pod_is("a", "uid-a", true);
    scripted_advance(2000);
    ck_assert_msg(b.ended && b.code == 0, "%s", b.text);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(under_a_release_in_flight_and_nobody_gets_the_node_by_that)
{
    hold();
    scripted_set_manual(true);
    scripted_release(&done, a.lease, 5000);
    scripted_answer(scripted_call(SCRIPTED_REVOKE));
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    vanish();
    scripted_set_manual(false);
    scripted_answer(patch);
    scripted_advance(1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_str_eq(scripted_lock_value("n1"), OURS);
    /* Its pod is revoked and unbound; deleted, it is no owner any more. */
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(2000);
    ck_assert(!b.ended);
    scripted_pod_gone("a");
    scripted_advance(2000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(under_a_take_over_in_flight_which_is_judged_anew)
{
    hold();
    pod_is("a", "uid-a", false);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_set_manual(true);
    pod_is("a", "uid-a", true);
    scripted_advance(1000);
    while (scripted_count(SCRIPTED_WRITE) < 2) {
        scripted_answer(scripted_call(SCRIPTED_INSPECT));
    }
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    vanish();
    scripted_set_manual(false);
    scripted_answer(patch);
    scripted_advance(3000);
    ck_assert_msg(b.ended && b.code == 0, "%s", b.text);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(beside_another_replicas_lock_and_its_limit_is_the_age)
{
    const char *lease = "{\"version\":1,\"lock\":\"2026-01-02T03:00:00Z,default,x\","
                        "\"uid\":\"uid-x\",\"fence\":\"7\",\"holder\":\"other_1\","
                        "\"attempt\":\"1\",\"hold_ms\":4000,\"free\":\"node\"}";

    scripted_pod("x", "uid-x");
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY,
                                     "2026-01-02T03:00:00Z,default,x"),
                     0);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(2000);
    vanish();
    scripted_advance(10000);
    ck_assert_msg(!b.ended, "the limit stood in the lease, which is gone");
    scripted_advance(300000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), 7);
    ck_assert_uint_eq(scripted_stats().revocations, 1);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lease vanishes");
    TCase *steps = tcase_create("steps");

    tcase_add_checked_fixture(steps, with_owners, scripted_stop);
    tcase_add_test(steps, from_a_free_node_and_the_next_fence_is_higher_all_the_same);
    tcase_add_test(steps, under_a_take_in_flight_which_is_refused_and_tried_again);
    tcase_add_test(steps, after_a_take_whose_answer_is_lost_and_nobody_is_let_in);
    tcase_add_test(steps,
                   while_it_is_held_and_the_holder_is_told_and_its_pod_keeps_the_node);
    tcase_add_test(steps, while_it_is_held_and_the_same_pod_gets_its_lock_again);
    tcase_add_test(steps, while_it_is_held_by_one_that_never_binds_and_its_age_decides);
    tcase_add_test(steps, after_the_hand_off_and_the_node_side_frees_it_as_ever);
    tcase_add_test(steps, after_the_hand_off_and_a_pod_that_runs_proves_all_the_same);
    tcase_add_test(steps, under_a_release_in_flight_and_nobody_gets_the_node_by_that);
    tcase_add_test(steps, under_a_take_over_in_flight_which_is_judged_anew);
    tcase_add_test(steps, beside_another_replicas_lock_and_its_limit_is_the_age);
    suite_add_tcase(suite, steps);
    return scripted_run(suite);
}
