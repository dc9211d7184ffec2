/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods beside each other, where answers are lost, or the node side changes. */
#include "beside_world.h"

#include <string.h>

static void set_up(void)
{
    beside_start(8);
}

static void hand_off(struct scripted_wait *wait, const char *name)
{
    beside_assert_granted(wait, name);
    ck_assert_int_eq(hami_lease_handoff(wait->lease), 0);
    scripted_dispatch();
}

/* ---- answers ---- */

START_TEST(a_take_whose_answer_is_lost_and_that_landed_is_found)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    scripted_set_manual(false);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(a_take_that_was_sent_twice_is_a_success_once)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    hami_call *call = scripted_call(SCRIPTED_WRITE);
    scripted_answer_code(call, 2, HAMI_E_HELD);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    scripted_set_manual(false);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(a_take_that_lands_when_nobody_wants_it_any_more_is_undone)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    struct scripted_copy *late = scripted_copy(scripted_call(SCRIPTED_WRITE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, HAMI_E_CANCELED);
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_uint_eq(beside_held(), 1);
    ck_assert(scripted_land(late));
    scripted_advance(10);
    ck_assert_uint_eq(beside_held(), 1);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    ck_assert_uint_ge(scripted_stats().undone, 1);
    ck_assert_uint_eq(scripted_stats().lost, 0);
    hand_off(&a, "a");
}
END_TEST

START_TEST(a_late_take_is_refused_once_another_one_has_changed_the_cover)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    struct scripted_copy *late = scripted_copy(scripted_call(SCRIPTED_WRITE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_take(&c, "c", GPU2);
    beside_assert_granted(&c, "c");
    ck_assert(!scripted_land(late));
    beside_assert_sound();
    hand_off(&a, "a");
    hand_off(&c, "c");
}
END_TEST

START_TEST(a_release_in_doubt_is_settled_by_its_permit)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    scripted_set_manual(true);
    scripted_release(&done, b.lease, 1000);
    scripted_answer(scripted_call(SCRIPTED_REVOKE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert(done.ended && done.code == 0);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    scripted_set_manual(false);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    beside_assert_empty();
}
END_TEST

static hami_nodelock *other;
static struct scripted_wait others;
static const char *others_calls;
static bool interferes;

/* Somebody else is quicker than the write that is about to be carried out. */
static int interfere(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    if (kind == SCRIPTED_WRITE && interferes) {
        interferes = false;
        beside_take_by(other, &others, "o", others_calls);
    }
    return 0;
}

START_TEST(of_two_managers_that_take_at_a_time_one_wins_the_cover)
{
    static struct scripted_wait a;

    other = beside_other(8);
    others_calls = _i == 0 ? GPU1 : GPU2;
    interferes = true;
    scripted_submitted = interfere;
    beside_take(&a, "a", GPU1);
    scripted_advance(100);
    beside_assert_granted(&others, "o");
    if (_i == 0) {
        beside_assert_waits(&a, "a");
        ck_assert_int_eq(hami_wait_abort(a.wait), 0);
        scripted_dispatch();
    } else {
        beside_assert_granted(&a, "a");
        ck_assert_uint_eq(beside_held(), 2);
        hand_off(&a, "a");
    }
    beside_assert_sound();
    ck_assert_int_eq(hami_lease_handoff(others.lease), 0);
    hami_nodelock_free(other);
}
END_TEST

static void start_without_watch(void)
{
    struct scripted_options options = {.owners = true,
                                       .config = HAMI_NODELOCK_CONFIG_INIT};

    scripted_stop();
    options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    options.config.side_by_side = 8;
    beside_start_as(options, MARK);
}

START_TEST(a_fence_is_given_once_though_the_cover_is_found_as_it_was)
{
    static struct scripted_wait a, x, b, c;
    static struct scripted_done done;

    start_without_watch();
    other = beside_other(8);
    beside_take(&a, "a", GPU1);
    beside_take(&x, "x", GPU2);
    beside_take(&c, "c", GPU2);
    beside_assert_waits(&c, "c");
    /* Unseen here one comes and goes in another permit: the cover is x's again. */
    beside_take_by(other, &b, "b", GPU3);
    beside_assert_granted(&b, "b");
    uint64_t fence = hami_lease_fence(b.lease);
    ck_assert_int_eq(hami_lease_release_start(b.lease, HAMI_DEADLINE_NEVER, NULL, NULL),
                     0);
    beside_dispatch(other);
    ck_assert_str_eq(beside_record(0).uid, "uid-x");
    scripted_release(&done, x.lease, 1000); /* handed over in one write */
    beside_assert_granted(&c, "c");
    ck_assert_uint_gt(hami_lease_fence(c.lease), fence);
    beside_assert_sound();
    hand_off(&a, "a");
    hand_off(&c, "c");
    hami_nodelock_free(other);
}
END_TEST

START_TEST(who_came_unseen_between_the_look_and_the_take_is_met)
{
    static struct scripted_wait a, b, c, d;

    start_without_watch();
    other = beside_other(8);
    beside_take(&a, "a", GPU1);
    beside_take_by(other, &b, "b", GPU2);
    beside_take_by(other, &d, "d", GPU3);
    ck_assert_int_eq(hami_lease_release_start(d.lease, HAMI_DEADLINE_NEVER, NULL, NULL),
                     0);
    beside_dispatch(other);
    beside_take(&c, "c", GPU2);
    scripted_advance(2000);
    beside_assert_waits(&c, "c");
    beside_assert_sound();
    ck_assert_int_eq(hami_wait_abort(c.wait), 0);
    scripted_dispatch();
    hand_off(&a, "a");
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    hami_nodelock_free(other);
}
END_TEST

/* Somebody else's release makes the cover a copy of ours, just before our own. */
static int release_first(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    if (kind == SCRIPTED_WRITE && interferes) {
        interferes = false;
        ck_assert_int_eq(
            hami_lease_release_start(others.lease, HAMI_DEADLINE_NEVER, NULL, NULL), 0);
        beside_dispatch(other);
    }
    return 0;
}

START_TEST(a_release_finds_out_that_the_cover_has_become_its_own)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    other = beside_other(8);
    beside_take(&a, "a", GPU1);
    beside_take_by(other, &others, "o", GPU2);
    interferes = true;
    scripted_submitted = release_first;
    scripted_release(&done, a.lease, 1000);
    scripted_advance(100);
    ck_assert(done.ended && done.code == 0);
    beside_assert_empty();
    ck_assert_uint_eq(scripted_logs, 0); /* no cover was left behind meanwhile */
    hami_nodelock_free(other);
}
END_TEST

/* ---- the mark ---- */

static int unmark(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    if (kind == SCRIPTED_WRITE && interferes) {
        interferes = false;
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY,
                                         "1,free=scheduler"),
                         0);
    }
    return 0;
}

START_TEST(a_mark_that_goes_before_the_patch_makes_the_take_fail_and_the_pod_exclusive)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    interferes = true;
    scripted_submitted = unmark;
    beside_take(&b, "b", GPU2);
    scripted_advance(100);
    beside_assert_waits(&b, "b");
    ck_assert_uint_eq(beside_held(), 1);
    beside_assert_sound();
    beside_bind_and_serve(&a, "a"); /* what is in flight stays in flight */
    beside_assert_granted(&b, "b");
    ck_assert_str_eq(beside_record(0).uid, "uid-b");
    ck_assert_str_eq(beside_record(0).calls, "");
    beside_bind_and_serve(&b, "b");
    scripted_advance(300);
    beside_assert_empty();
}
END_TEST

START_TEST(without_a_watch_the_mark_is_known_from_reads)
{
    static struct scripted_wait a, b, c;
    struct scripted_options options = {.owners = true,
                                       .config = HAMI_NODELOCK_CONFIG_INIT};

    scripted_stop();
    options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    options.config.side_by_side = 8;
    beside_start_as(options, MARK);
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU2);
    beside_assert_granted(&a, "a");
    beside_assert_granted(&b, "b");
    beside_assert_waits(&c, "c");
    beside_assert_sound();
    ck_assert_uint_eq(beside_held(), 2);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY, NULL), 0);
    scripted_advance(1000);
    ck_assert_int_eq(hami_wait_abort(c.wait), 0);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside faults");
    TCase *world = tcase_create("beside faults");

    tcase_add_checked_fixture(world, set_up, scripted_stop);
    tcase_add_test(world, a_take_whose_answer_is_lost_and_that_landed_is_found);
    tcase_add_test(world, a_take_that_was_sent_twice_is_a_success_once);
    tcase_add_test(world, a_take_that_lands_when_nobody_wants_it_any_more_is_undone);
    tcase_add_test(world, a_late_take_is_refused_once_another_one_has_changed_the_cover);
    tcase_add_test(world, a_release_in_doubt_is_settled_by_its_permit);
    tcase_add_loop_test(world, of_two_managers_that_take_at_a_time_one_wins_the_cover, 0,
                        2);
    tcase_add_loop_test(world, a_fence_is_given_once_though_the_cover_is_found_as_it_was,
                        0, 2);
    tcase_add_test(world, who_came_unseen_between_the_look_and_the_take_is_met);
    tcase_add_test(world, a_release_finds_out_that_the_cover_has_become_its_own);
    tcase_add_test(
        world,
        a_mark_that_goes_before_the_patch_makes_the_take_fail_and_the_pod_exclusive);
    tcase_add_test(world, without_a_watch_the_mark_is_known_from_reads);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
