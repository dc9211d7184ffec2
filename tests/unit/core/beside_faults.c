/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods beside each other, where answers are lost, or the node side changes. */
#include "beside_world.h"

#include <string.h>

/* ---- answers ---- */

/* Pod a has its lock, and the write of b's take beside it waits for the test. */
static void take_up_to_the_write(struct scripted_wait *a, struct scripted_wait *b)
{
    beside_take(a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
}

/* The take is carried out so often, and is b's whatever its answer says. */
static void assert_found(unsigned times, int code)
{
    static struct scripted_wait a, b;

    take_up_to_the_write(&a, &b);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), times, code);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    scripted_set_manual(false);
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
}

/* The write of b's take is still under way, and b wants it no more. */
static struct scripted_copy *take_late(struct scripted_wait *a, struct scripted_wait *b)
{
    take_up_to_the_write(a, b);
    struct scripted_copy *late = scripted_copy(scripted_call(SCRIPTED_WRITE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(b->wait), 0);
    return late;
}

START_TEST(a_take_whose_answer_is_lost_and_that_landed_is_found)
{
    assert_found(1, HAMI_E_IN_DOUBT);
}
END_TEST

START_TEST(a_take_that_was_sent_twice_is_a_success_once)
{
    assert_found(2, HAMI_E_HELD);
}
END_TEST

START_TEST(a_take_that_lands_when_nobody_wants_it_any_more_is_undone)
{
    static struct scripted_wait a, b;

    struct scripted_copy *late = take_late(&a, &b);
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
    beside_hand_off(&a, "a");
}
END_TEST

START_TEST(a_late_take_is_refused_once_another_one_has_changed_the_cover)
{
    static struct scripted_wait a, b, c;

    struct scripted_copy *late = take_late(&a, &b);
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_take(&c, "c", GPU2);
    beside_assert_granted(&c, "c");
    ck_assert(!scripted_land(late));
    beside_assert_sound();
    beside_hand_off(&a, "a");
    beside_hand_off(&c, "c");
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
    beside_release(&a);
    beside_assert_empty();
}
END_TEST

static hami_nodelock *other;
static struct scripted_wait others;
static const char *others_calls;
static void (*quicker)(void);

/* Somebody else is quicker than the write that is about to be carried out. */
static int interfere(hami_call *call, enum scripted_kind kind)
{
    void (*act)(void) = quicker;

    (void)call;
    if (kind == SCRIPTED_WRITE && act) {
        quicker = NULL;
        act();
    }
    return 0;
}

static void before_the_next_write(void (*act)(void))
{
    quicker = act;
    scripted_submitted = interfere;
}

static void others_take(void)
{
    beside_take_by(other, &others, "o", others_calls);
}

static void release_by_other(hami_lease *lease)
{
    ck_assert_int_eq(hami_lease_release_start(lease, HAMI_DEADLINE_NEVER, NULL, NULL), 0);
    beside_dispatch(other);
}

START_TEST(of_two_managers_that_take_at_a_time_one_wins_the_cover)
{
    static struct scripted_wait a;

    other = beside_other(8);
    others_calls = _i == 0 ? GPU1 : GPU2;
    before_the_next_write(others_take);
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
        beside_hand_off(&a, "a");
    }
    beside_assert_sound();
    ck_assert_int_eq(hami_lease_handoff(others.lease), 0);
    hami_nodelock_free(other);
}
END_TEST

static void start_without_watch(void)
{
    beside_restart((struct hami_nodelock_config){.side_by_side = 8}, false);
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
    release_by_other(b.lease);
    ck_assert_str_eq(beside_record(0).uid, "uid-x");
    scripted_release(&done, x.lease, 1000); /* handed over in one write */
    beside_assert_granted(&c, "c");
    ck_assert_uint_gt(hami_lease_fence(c.lease), fence);
    beside_assert_sound();
    beside_hand_off(&a, "a");
    beside_hand_off(&c, "c");
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
    release_by_other(d.lease);
    beside_take(&c, "c", GPU2);
    scripted_advance(2000);
    beside_assert_waits(&c, "c");
    beside_assert_sound();
    ck_assert_int_eq(hami_wait_abort(c.wait), 0);
    scripted_dispatch();
    beside_hand_off(&a, "a");
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    hami_nodelock_free(other);
}
END_TEST

/* Somebody else's release makes the cover a copy of ours, just before our own. */
static void others_release(void)
{
    release_by_other(others.lease);
}

START_TEST(a_release_finds_out_that_the_cover_has_become_its_own)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    other = beside_other(8);
    beside_take(&a, "a", GPU1);
    beside_take_by(other, &others, "o", GPU2);
    before_the_next_write(others_release);
    scripted_release(&done, a.lease, 1000);
    scripted_advance(100);
    ck_assert(done.ended && done.code == 0);
    beside_assert_empty();
    ck_assert_uint_eq(scripted_logs, 0); /* no cover was left behind meanwhile */
    hami_nodelock_free(other);
}
END_TEST

/* ---- the mark ---- */

static void unmark(void)
{
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY,
                                     "1,free=scheduler"),
                     0);
}

START_TEST(a_mark_that_goes_before_the_patch_makes_the_take_fail_and_the_pod_exclusive)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    before_the_next_write(unmark);
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

    start_without_watch();
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
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside faults");
    TCase *world = tcase_create("beside faults");

    tcase_add_checked_fixture(world, beside_set_up, scripted_stop);
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
