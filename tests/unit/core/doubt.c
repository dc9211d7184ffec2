/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that are late, lost, doubled or wrong; callers that leave at every moment.
 * Whatever happens, no slot and no record stays behind, and nobody's lock is covered.
 */
#include "scripted.h"

#include <string.h>

#define LOCK_A "2026-01-02T03:04:05Z,default,a"
#define LOCK_B "2026-01-02T03:04:05Z,default,b"
#define FOREIGN "2026-01-02T03:00:00Z,other,pod"

static void manual(void)
{
    scripted_start((struct scripted_options){.watch = true, .manual = true});
}

static void manual_unwatched(void)
{
    scripted_start((struct scripted_options){.manual = true});
}

/* The first read of a node: it is not known yet. */
static void answer_first_read(void)
{
    scripted_answer(scripted_call(SCRIPTED_READ));
}

START_TEST(a_wait_that_times_out_while_its_patch_is_in_flight_is_told_at_once_and_undone)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 100);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    scripted_advance(100);
    ck_assert_int_eq(a.code, HAMI_E_TIMEDOUT);
    scripted_answer(patch);
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK_A);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_stats().undone, 1);
    scripted_assert_free();
}
END_TEST

START_TEST(a_cancel_between_patch_and_answer_leaves_nothing)
{
    static struct scripted_wait a;
    struct hami_nodelock_request request;
    hami_cancel *cancel;

    ck_assert_int_eq(hami_cancel_new(&cancel), 0);
    scripted_request(&request, "n1", "a");
    request.cancel = cancel;
    scripted_acquire_as(&a, &request, 10000);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(hami_cancel_fire(cancel), 0);
    ck_assert_int_eq(hami_cancel_fire(cancel), 0);
    scripted_dispatch();
    ck_assert_int_eq(a.code, HAMI_E_CANCELED);
    scripted_answer(patch);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    hami_cancel_unref(cancel);
    scripted_assert_free();
}
END_TEST

START_TEST(an_abort_between_patch_and_answer_leaves_nothing)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    ck_assert_int_eq(hami_wait_abort(a.wait), 0);
    scripted_dispatch();
    ck_assert_int_eq(a.code, HAMI_E_CANCELED);
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(a_lost_answer_of_a_take_that_won_is_success_after_one_read_case_1_14)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_dispatch();
    ck_assert(!a.ended);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    ck_assert_uint_eq(scripted_stats().in_doubt, 1);
    scripted_set_manual(false);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    scripted_assert_free();
}
END_TEST

START_TEST(a_write_delivered_twice_whose_second_answer_refuses_is_success)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 2, HAMI_E_HELD);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    ck_assert_uint_eq(scripted_stats().grants, 1);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(a_take_that_never_arrived_is_sent_again_and_can_not_land_later)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    struct scripted_copy *late = scripted_copy(patch);
    scripted_answer_code(patch, 0, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    ck_assert(!scripted_land(late));
    ck_assert_uint_eq(scripted_record("n1").fence, hami_lease_fence(a.lease));
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(a_take_that_lands_after_nobody_wants_it_is_undone)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 200);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    struct scripted_copy *late = scripted_copy(patch);
    scripted_answer_code(patch, 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(a.wait), 0);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(a.code, HAMI_E_CANCELED);
    scripted_set_manual(false);
    ck_assert(scripted_land(late));
    scripted_advance(6000);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_stats().undone, 1);
    scripted_assert_free();
}
END_TEST

START_TEST(a_take_that_lands_late_in_a_store_without_news_is_found_by_a_read)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 200);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    struct scripted_copy *late = scripted_copy(patch);
    scripted_answer_code(patch, 0, HAMI_E_IN_DOUBT);
    scripted_advance(200);
    ck_assert_int_eq(a.code, HAMI_E_TIMEDOUT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_set_manual(false);
    ck_assert(scripted_land(late));
    scripted_advance(6000);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_assert_free();
}
END_TEST

START_TEST(an_answer_that_never_comes_neither_holds_the_caller_nor_the_node_case_2_09)
{
    static struct scripted_wait a, b;
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;

    scripted_acquire(&a, "n1", "a", 1000);
    answer_first_read();
    hami_call *call = scripted_swallow(scripted_call(SCRIPTED_WRITE));
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(1000);
    ck_assert_int_eq(a.code, HAMI_E_TIMEDOUT);
    ck_assert(!b.ended);
    /* 5 s: the call's own deadline, abort is asked for; one second later it is given up
     * on */
    scripted_set_manual(false);
    scripted_advance(4500);
    ck_assert_uint_eq(scripted_aborts, 1);
    ck_assert(!b.ended);
    scripted_advance(1000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK_B);
    ck_assert_ptr_nonnull(strstr(scripted_last_log, "given up"));
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    result.code = HAMI_E_IN_DOUBT;
    hami_call_done(call, &result); /* the transport's own promise, late */
}
END_TEST

START_TEST(an_orphaned_call_that_is_completed_at_last_does_no_harm)
{
    static struct scripted_wait a, b;
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;

    scripted_acquire(&a, "n1", "a", 1000);
    answer_first_read();
    hami_call *call = scripted_swallow(scripted_call(SCRIPTED_WRITE));
    scripted_set_manual(false);
    scripted_advance(7000);
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert_int_eq(b.code, 0);
    result.code = 0;
    hami_call_done(call, &result);
    scripted_dispatch();
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK_B);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(the_grant_and_the_deadline_collide_and_exactly_one_wins)
{
    static struct scripted_wait a;

    /* The answer is there before the deadline is looked at: the confirmed grant wins. */
    scripted_acquire(&a, "n1", "a", 100);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    scripted_now_ns += 100 * MS;
    scripted_answer(patch);
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    static struct scripted_done done;
    scripted_set_manual(false);
    scripted_release(&done, a.lease, 1000);
    /* The other way round. */
    scripted_set_manual(true);
    scripted_acquire(&a, "n1", "a", 100);
    patch = scripted_call(SCRIPTED_WRITE);
    scripted_now_ns += 100 * MS;
    scripted_dispatch();
    ck_assert_int_eq(a.code, HAMI_E_TIMEDOUT);
    scripted_answer(patch);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    scripted_assert_free();
}
END_TEST

START_TEST(a_deadline_while_queued_frees_the_place_for_the_next)
{
    static struct scripted_wait a, b, c;

    scripted_set_manual(false);
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 100);
    scripted_acquire(&c, "n1", "c", 10000);
    scripted_advance(150);
    ck_assert_int_eq(b.code, HAMI_E_TIMEDOUT);
    ck_assert_ptr_nonnull(strstr(b.text, "default/a"));
    static struct scripted_done done;
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(c.code, 0);
    scripted_release(&done, c.lease, 1000);
    scripted_assert_free();
}
END_TEST

START_TEST(a_conflict_with_another_owner_puts_the_waiter_back_to_the_head_case_1_12)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 60000);
    answer_first_read();
    scripted_acquire(&b, "n1", "b", 60000);
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
    scripted_answer(patch);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_set_manual(false);
    scripted_advance(1500);
    ck_assert(!a.ended && !b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    ck_assert(!b.ended);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(foreign_heartbeats_cost_retries_but_no_failure_case_1_47)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    for (int i = 0; i < 6; i++) {
        /* The node's version moves between our read and our write: there is no lease yet.
         */
        while (scripted_waiting() == 0) {
            scripted_advance(10);
        }
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", "other.example/beat",
                                         i % 2 ? "x" : "y"),
                         0);
        scripted_answer(scripted_call(SCRIPTED_WRITE));
        scripted_answer(scripted_call(SCRIPTED_READ));
        scripted_dispatch();
        ck_assert(!a.ended);
    }
    while (scripted_waiting() == 0) {
        scripted_advance(10);
    }
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    char beat[16];
    ck_assert_int_eq(
        hami_memory_get(scripted_store, "n1", "other.example/beat", beat, sizeof(beat)),
        0);
    ck_assert_str_eq(beat, "x");
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(a_store_that_can_not_be_reached_is_tried_again_until_the_deadline)
{
    static struct scripted_wait a;

    scripted_set_manual(false);
    scripted_answer_all(HAMI_E_TRANSPORT);
    scripted_acquire(&a, "n1", "a", 3000);
    scripted_advance(2900);
    ck_assert(!a.ended);
    ck_assert_uint_gt(scripted_count(SCRIPTED_READ), 3);
    ck_assert_uint_lt(scripted_count(SCRIPTED_READ), 20);
    scripted_advance(200);
    ck_assert_int_eq(a.code, HAMI_E_TIMEDOUT);
    ck_assert_ptr_nonnull(strstr(a.text, "could not be reached"));
    scripted_answer_all(0);
    scripted_acquire(&a, "n1", "a", 10000);
    scripted_advance(6000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

static const struct {
    int code, expected;
} read_codes[] = {{HAMI_E_ACCESS, HAMI_E_ACCESS},
                  {HAMI_E_NODE, HAMI_E_NODE},
                  {HAMI_E_PROTO, HAMI_E_PROTO},
                  {HAMI_E_TIMEDOUT, HAMI_E_PROTO} /* none of a transport's words */};

START_TEST(a_read_that_is_refused_ends_the_wait_with_its_code)
{
    static struct scripted_wait a;

    scripted_set_manual(false);
    scripted_answer_all(read_codes[_i].code);
    scripted_acquire(&a, "n1", "a", 10000);
    scripted_advance(5000);
    ck_assert_msg(a.code == read_codes[_i].expected, "%s", hami_errname(a.code));
    scripted_answer_all(0);
    scripted_advance(6000);
    scripted_assert_free();
}
END_TEST

static const struct {
    int code, expected;
} write_codes[] = {{HAMI_E_ACCESS, HAMI_E_ACCESS},
                   {HAMI_E_NODE, HAMI_E_NODE},
                   {HAMI_E_TRANSPORT, 0},
                   {HAMI_E_NOMEM, 0},
                   {HAMI_E_PROTO, 0},
                   {HAMI_E_HELD, 0}};

START_TEST(a_write_that_fails_once_ends_the_wait_or_is_tried_again)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 10000);
    answer_first_read();
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    scripted_set_manual(false);
    scripted_answer_code(patch, 0, write_codes[_i].code);
    scripted_advance(3000);
    ck_assert_msg(a.code == write_codes[_i].expected, "%s", hami_errname(a.code));
    if (a.code == 0) {
        static struct scripted_done done;
        scripted_release(&done, a.lease, 1000);
    }
    scripted_assert_free();
}
END_TEST

START_TEST(a_submit_that_refuses_is_a_call_surely_not_applied)
{
    static struct scripted_wait a;

    scripted_set_manual(false);
    scripted_refuse_next(HAMI_E_NOMEM);
    scripted_acquire(&a, "n1", "a", 10000);
    scripted_advance(1000);
    ck_assert_int_eq(a.code, 0);
    static struct scripted_done done;
    scripted_refuse_next(HAMI_E_TRANSPORT);
    scripted_release(&done, a.lease, 5000);
    scripted_advance(1000);
    ck_assert_int_eq(done.code, 0);
    scripted_refuse_next(HAMI_E_ACCESS);
    scripted_acquire(&a, "n1", "b", 10000);
    ck_assert_int_eq(a.code, HAMI_E_ACCESS);
    scripted_assert_free();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("doubt");
    TCase *watched = tcase_create("watched");
    TCase *unwatched = tcase_create("unwatched");
    tcase_add_checked_fixture(watched, manual, scripted_stop);
    tcase_add_test(
        watched,
        a_wait_that_times_out_while_its_patch_is_in_flight_is_told_at_once_and_undone);
    tcase_add_test(watched, a_cancel_between_patch_and_answer_leaves_nothing);
    tcase_add_test(watched, an_abort_between_patch_and_answer_leaves_nothing);
    tcase_add_test(watched,
                   a_lost_answer_of_a_take_that_won_is_success_after_one_read_case_1_14);
    tcase_add_test(watched,
                   a_write_delivered_twice_whose_second_answer_refuses_is_success);
    tcase_add_test(watched,
                   a_take_that_never_arrived_is_sent_again_and_can_not_land_later);
    tcase_add_test(watched, a_take_that_lands_after_nobody_wants_it_is_undone);
    tcase_add_test(
        watched,
        an_answer_that_never_comes_neither_holds_the_caller_nor_the_node_case_2_09);
    tcase_add_test(watched, an_orphaned_call_that_is_completed_at_last_does_no_harm);
    tcase_add_test(watched, a_deadline_while_queued_frees_the_place_for_the_next);
    tcase_add_test(
        watched,
        a_conflict_with_another_owner_puts_the_waiter_back_to_the_head_case_1_12);
    tcase_add_test(watched, foreign_heartbeats_cost_retries_but_no_failure_case_1_47);
    tcase_add_test(watched,
                   a_store_that_can_not_be_reached_is_tried_again_until_the_deadline);
    tcase_add_loop_test(watched, a_read_that_is_refused_ends_the_wait_with_its_code, 0,
                        sizeof(read_codes) / sizeof(read_codes[0]));
    tcase_add_loop_test(watched, a_write_that_fails_once_ends_the_wait_or_is_tried_again,
                        0, sizeof(write_codes) / sizeof(write_codes[0]));
    tcase_add_test(watched, a_submit_that_refuses_is_a_call_surely_not_applied);
    suite_add_tcase(suite, watched);
    tcase_add_checked_fixture(unwatched, manual_unwatched, scripted_stop);
    tcase_add_test(unwatched,
                   a_take_that_lands_late_in_a_store_without_news_is_found_by_a_read);
    tcase_add_test(unwatched, the_grant_and_the_deadline_collide_and_exactly_one_wins);
    suite_add_tcase(suite, unwatched);
    return scripted_run(suite);
}
