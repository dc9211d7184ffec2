/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Releases and hand-overs whose answers are late, lost or refused. */
#include "scripted.h"

#include <string.h>

#define LOCK_A "2026-01-02T03:04:05Z,default,a"
#define FOREIGN "2026-01-02T03:00:00Z,other,pod"

static void watched_store(void)
{
    scripted_start((struct scripted_options){.watch = true, .manual = true});
}

static void unwatched_store(void)
{
    scripted_start((struct scripted_options){.manual = true});
}

static void hold(struct scripted_wait *a)
{
    scripted_set_manual(false);
    scripted_acquire(a, "n1", "a", 10000);
    ck_assert_int_eq(a->code, 0);
    scripted_set_manual(true);
}

START_TEST(a_lost_answer_of_a_release_that_won_is_success)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 1000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(done.code, 0);
    scripted_assert_free();
}
END_TEST

START_TEST(a_release_that_never_arrived_is_sent_again)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 1000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_set_manual(false);
    scripted_advance(500);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(a_release_past_its_deadline_is_in_doubt_and_goes_on_behind)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 100);
    scripted_advance(100);
    ck_assert_int_eq(done.code, HAMI_E_IN_DOUBT);
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK_A);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(a_release_of_a_lock_that_names_another_touches_nothing_case_1_05)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 1000);
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
    scripted_answer(patch);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
}
END_TEST

START_TEST(a_release_after_the_owner_was_restamped_is_lost_case_1_13)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY,
                                     "2026-01-02T03:04:09Z,default,a"),
                     0);
    scripted_set_manual(false);
    scripted_dispatch();
    scripted_release(&done, a.lease, 1000);
    scripted_advance(1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:09Z,default,a");
}
END_TEST

START_TEST(a_release_of_a_lock_that_is_gone_touches_nothing)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 1000);
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_answer(patch);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(done.code, 0);
    scripted_assert_free();
}
END_TEST

START_TEST(a_release_on_a_node_that_is_gone_says_so)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    hold(&a);
    scripted_release(&done, a.lease, 1000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_NODE);
    scripted_dispatch();
    ck_assert_int_eq(done.code, HAMI_E_NODE);
}
END_TEST

START_TEST(a_waiter_that_leaves_during_a_hand_over_does_not_keep_the_lock)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    hold(&a);
    scripted_acquire(&b, "n1", "b", 1000);
    scripted_release(&done, a.lease, 5000);
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_answer_code(patch, 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(b.code, HAMI_E_CANCELED);
    ck_assert_int_eq(done.code, 0);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(a_release_delivered_twice_whose_second_answer_refuses_is_success)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    /* News of the removal comes before the read that tells whose it was. */
    hold(&a);
    scripted_release(&done, a.lease, 1000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 2, HAMI_E_HELD);
    scripted_dispatch();
    ck_assert(!done.ended);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(a_hand_over_delivered_twice_whose_second_answer_refuses_is_success_for_both)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    hold(&a);
    scripted_acquire(&b, "n1", "b", 1000);
    scripted_release(&done, a.lease, 1000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 2, HAMI_E_HELD);
    scripted_dispatch();
    ck_assert(!done.ended && !b.ended);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* The hand-over may have ended the release before the stranger came. */
START_TEST(a_release_is_no_loss_where_its_unanswered_hand_over_was_overwritten)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    hold(&a);
    scripted_acquire(&b, "n1", "b", 5000);
    scripted_release(&done, a.lease, 5000);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert(done.ended);
    ck_assert_int_eq(done.code, 0);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_dispatch();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("release");
    TCase *watched = tcase_create("watched");
    TCase *unwatched = tcase_create("unwatched");

    tcase_add_checked_fixture(watched, watched_store, scripted_stop);
    tcase_add_test(watched, a_release_that_never_arrived_is_sent_again);
    tcase_add_test(watched, a_release_past_its_deadline_is_in_doubt_and_goes_on_behind);
    tcase_add_test(watched, a_release_after_the_owner_was_restamped_is_lost_case_1_13);
    tcase_add_test(watched, a_release_on_a_node_that_is_gone_says_so);
    tcase_add_test(watched,
                   a_release_delivered_twice_whose_second_answer_refuses_is_success);
    tcase_add_test(
        watched,
        a_hand_over_delivered_twice_whose_second_answer_refuses_is_success_for_both);
    suite_add_tcase(suite, watched);
    tcase_add_checked_fixture(unwatched, unwatched_store, scripted_stop);
    tcase_add_test(unwatched, a_lost_answer_of_a_release_that_won_is_success);
    tcase_add_test(unwatched,
                   a_release_of_a_lock_that_names_another_touches_nothing_case_1_05);
    tcase_add_test(unwatched, a_release_of_a_lock_that_is_gone_touches_nothing);
    tcase_add_test(unwatched,
                   a_waiter_that_leaves_during_a_hand_over_does_not_keep_the_lock);
    tcase_add_test(unwatched,
                   a_release_is_no_loss_where_its_unanswered_hand_over_was_overwritten);
    suite_add_tcase(suite, unwatched);
    return scripted_run(suite);
}
