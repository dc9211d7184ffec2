/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may queue: the bounds of a node and of a namespace, the measured pace against the
 * asker's patience, holders that stall; and that whoever is refused keeps its place.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static void start_with(struct hami_nodelock_config config)
{
    config.size = sizeof(config);
    scripted_start((struct scripted_options){.watch = true, .config = config});
}

static void bounded(void)
{
    start_with((struct hami_nodelock_config){.waiters_per_node_max = 5,
                                             .waiters_per_namespace_max = 3});
}

static void patient(void)
{
    start_with((struct hami_nodelock_config){.flags = HAMI_NODELOCK_REFUSE_EARLY});
}

static void never(void *data, int code, hami_lease *lease, const struct hami_error *error)
{
    (void)data;
    (void)lease;
    ck_abort_msg("a callback came with code %d: %s", code, error->text);
}

/* Asks without waiting for the end: what is refused at once is in *error. */
static int ask(struct scripted_wait *wait, const char *namespace_name, const char *name,
               uint64_t ms, struct hami_error *error)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", name);
    request.owner.namespace_name = namespace_name;
    request.reterr = error;
    request.deadline_ns = hami_nodelock_in_ms(scripted_lock, ms);
    *error = (struct hami_error)HAMI_ERROR_INIT;
    if (wait) {
        scripted_acquire_as(wait, &request, ms);
        return wait->code;
    }
    return hami_nodelock_acquire_start(scripted_lock, &request, never, NULL, NULL);
}

/* ---- bounds ---- */

START_TEST(a_full_namespace_is_refused_before_a_full_node_and_each_names_who_fills_it)
{
    static struct scripted_wait holder, waits[5];
    struct hami_error error;
    char name[2] = "a";

    scripted_acquire(&holder, "n1", "holder", 60000);
    for (size_t i = 0; i < 3; i++, name[0]++) {
        (void)ask(&waits[i], "team-a", name, 60000, &error);
    }
    ck_assert_int_eq(ask(NULL, "team-a", "d", 60000, &error), HAMI_E_LIMIT);
    ck_assert_int_eq(error.code, HAMI_E_LIMIT);
    ck_assert_str_eq(error.text,
                     "queue of n1 is full for namespace team-a: 3 of 3 waiters "
                     "are its own, and it may have 3");
    ck_assert_uint_eq(error.position, 3);
    ck_assert_uint_eq(error.waiting, 3);
    ck_assert_uint_eq(error.expected_ns, 0);
    (void)ask(&waits[3], "team-b", "e", 60000, &error);
    (void)ask(&waits[4], "team-b", "f", 60000, &error);
    ck_assert_int_eq(ask(NULL, "team-c", "g", 60000, &error), HAMI_E_LIMIT);
    ck_assert_str_eq(error.text,
                     "queue of n1 is full: 3 of 5 waiters are of namespace team-a");
    ck_assert_int_eq(ask(NULL, "team-a", "d", 60000, &error), HAMI_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "for namespace team-a"));
    struct hami_nodelock_stats stats = scripted_stats();
    ck_assert_uint_eq(stats.refused_full, 1);
    ck_assert_uint_eq(stats.refused_namespace, 2);
    ck_assert_uint_eq(stats.refusals, 3);
    ck_assert_uint_eq(stats.waiters, 5);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

START_TEST(one_that_a_full_queue_refused_keeps_its_place)
{
    static struct scripted_wait holder, waits[6];
    struct scripted_done done;
    struct hami_error error;
    char name[2] = "a";

    scripted_acquire(&holder, "n1", "holder", 60000);
    for (size_t i = 0; i < 3; i++, name[0]++) {
        (void)ask(&waits[i], "team-a", name, 60000, &error);
    }
    ck_assert_int_eq(ask(NULL, "team-a", "x", 60000, &error), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_wait_abort(waits[0].wait), 0);
    ck_assert_int_eq(hami_wait_abort(waits[1].wait), 0);
    scripted_dispatch();
    (void)ask(&waits[3], "team-a", "y", 60000, &error);
    (void)ask(&waits[4], "team-a", "x", 60000, &error);
    scripted_release(&done, holder.lease, 1000);
    ck_assert(waits[2].ended && !waits[3].ended && !waits[4].ended);
    scripted_release(&done, waits[2].lease, 1000);
    ck_assert(!waits[3].ended && waits[4].ended);
    ck_assert_int_eq(waits[4].code, 0);
    ck_assert_int_eq(hami_lease_handoff(waits[4].lease), 0);
}
END_TEST

START_TEST(a_refusal_is_told_by_the_blocking_form_too)
{
    static struct scripted_wait holder, waits[3];
    struct hami_nodelock_request request;
    struct hami_error error, own = HAMI_ERROR_INIT;
    hami_lease *lease;
    char name[2] = "a";

    scripted_acquire(&holder, "n1", "holder", 60000);
    for (size_t i = 0; i < 3; i++, name[0]++) {
        (void)ask(&waits[i], "team-a", name, 60000, &error);
    }
    scripted_request(&request, "n1", "x");
    request.owner.namespace_name = "team-a";
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    error = (struct hami_error)HAMI_ERROR_INIT;
    request.reterr = &error;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, &own),
                     HAMI_E_LIMIT);
    ck_assert_uint_eq(own.waiting, 3);
    ck_assert_int_eq(error.code, 0);
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_LIMIT);
    ck_assert_int_eq(error.code, HAMI_E_LIMIT);
    request.group = "";
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, never, NULL, NULL),
        HAMI_E_INVAL);
    ck_assert_int_eq(error.code, HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

/* ---- patience ---- */

/* Holds the lock of "n1" for two seconds, four times: the pace is measured then. */
static void measure_pace(void)
{
    for (size_t i = 0; i < 4; i++) {
        struct scripted_wait wait;
        struct scripted_done done;
        scripted_acquire(&wait, "n1", "h", 60000);
        ck_assert_int_eq(wait.code, 0);
        scripted_advance(2000);
        scripted_release(&done, wait.lease, 1000);
    }
}

START_TEST(nobody_is_refused_for_a_pace_that_is_not_measured)
{
    static struct scripted_wait holder, waits[3];
    struct hami_error error;

    scripted_acquire(&holder, "n1", "holder", 60000);
    for (size_t i = 0; i < 3; i++) {
        (void)ask(&waits[i], "ns", (const char *[]){"a", "b", "c"}[i], 1, &error);
        ck_assert(!waits[i].ended);
    }
    scripted_advance(10);
    ck_assert_int_eq(waits[2].code, HAMI_E_TIMEDOUT);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

START_TEST(one_whose_turn_comes_too_late_is_refused_at_once_with_position_and_time)
{
    static struct scripted_wait holder, waits[4];
    struct hami_error error;

    measure_pace();
    scripted_acquire(&holder, "n1", "holder", 60000);
    scripted_advance(500);
    (void)ask(&waits[0], "ns", "a", 1500, &error);
    (void)ask(&waits[1], "ns", "b", 60000, &error);
    ck_assert_int_eq(ask(NULL, "ns", "c", 5499, &error), HAMI_E_LIMIT);
    ck_assert_str_eq(
        error.text,
        "2 wait for node n1 before this one, and a lock is held 2000 ms there "
        "of late: its turn is expected in 5500 ms, and it waits for 5499 ms at "
        "most");
    ck_assert_uint_eq(error.position, 2);
    ck_assert_uint_eq(error.waiting, 2);
    ck_assert_uint_eq(error.expected_ns, 5500 * MS);
    ck_assert_uint_eq(scripted_stats().refused_early, 1);
    /* Just in time; and it comes before one that came after its first try. */
    (void)ask(&waits[2], "ns", "d", 60000, &error);
    (void)ask(&waits[3], "ns", "c", 5500, &error);
    ck_assert(!waits[3].ended);
    struct scripted_done done;
    scripted_release(&done, holder.lease, 1000);
    scripted_release(&done, waits[0].lease, 1000);
    scripted_release(&done, waits[1].lease, 1000);
    ck_assert(waits[3].ended && !waits[2].ended);
    ck_assert_int_eq(hami_lease_handoff(waits[3].lease), 0);
}
END_TEST

START_TEST(a_higher_lane_and_a_try_are_judged_by_their_own_turn)
{
    static struct scripted_wait holder, waits[2];
    struct hami_nodelock_request request;
    struct hami_error error;
    hami_lease *lease;

    measure_pace();
    scripted_acquire(&holder, "n1", "holder", 60000);
    (void)ask(&waits[0], "ns", "a", 60000, &error);
    scripted_request(&request, "n1", "b");
    request.priority = 1;
    scripted_acquire_as(&waits[1], &request, 2000);
    ck_assert(!waits[1].ended);
    scripted_request(&request, "n1", "c");
    request.deadline_ns = hami_nodelock_in_ms(scripted_lock, 1);
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_BUSY);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

START_TEST(one_that_times_out_hears_where_it_stood)
{
    static struct scripted_wait holder, waits[2];
    struct hami_nodelock_request request;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease;

    scripted_acquire(&holder, "n1", "holder", 60000);
    scripted_acquire(&waits[0], "n1", "a", 60000);
    scripted_request(&request, "n1", "b");
    request.deadline_ns = scripted_now_ns; /* past, as soon as it is queued */
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_TIMEDOUT);
    ck_assert_uint_eq(error.position, 1);
    ck_assert_uint_eq(error.waiting, 2);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

/* ---- holders that stall ---- */

static void stalling(void)
{
    start_with((struct hami_nodelock_config){.stall_limit_ms = 5000});
}

START_TEST(all_behind_a_dead_holder_are_told_and_so_is_who_comes_later_case_3_32)
{
    static struct scripted_wait holder, waits[3], late;
    struct hami_error error;

    scripted_acquire(&holder, "n1", "holder", 60000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    for (size_t i = 0; i < 3; i++) {
        (void)ask(&waits[i], "ns", (const char *[]){"a", "b", "c"}[i], 60000, &error);
    }
    scripted_advance(4999);
    ck_assert(!waits[0].ended && !waits[2].ended);
    scripted_advance(1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert(waits[i].ended);
        ck_assert_int_eq(waits[i].code, HAMI_E_LIMIT);
        ck_assert_ptr_nonnull(strstr(waits[i].text, "without progress"));
    }
    scripted_acquire(&late, "n1", "d", 60000);
    scripted_dispatch();
    ck_assert(late.ended);
    ck_assert_int_eq(late.code, HAMI_E_LIMIT);
    ck_assert_uint_eq(scripted_stats().refused_stalled, 4);
}
END_TEST

START_TEST(a_holder_is_not_dead_while_holds_last_that_long_anyway)
{
    static struct scripted_wait holder, wait;

    for (size_t i = 0; i < 4; i++) {
        struct scripted_wait one;
        struct scripted_done done;
        scripted_acquire(&one, "n1", "h", 60000);
        scripted_advance(4000);
        scripted_release(&done, one.lease, 1000);
    }
    scripted_acquire(&holder, "n1", "holder", 60000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    scripted_acquire(&wait, "n1", "a", 60000);
    scripted_advance(7999);
    ck_assert(!wait.ended);
    scripted_advance(1);
    ck_assert(wait.ended);
    ck_assert_int_eq(wait.code, HAMI_E_LIMIT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admit");
    TCase *bounds = tcase_create("bounds"), *patience = tcase_create("patience"),
          *stalls = tcase_create("stalls");

    tcase_add_checked_fixture(bounds, bounded, scripted_stop);
    tcase_add_test(
        bounds,
        a_full_namespace_is_refused_before_a_full_node_and_each_names_who_fills_it);
    tcase_add_test(bounds, one_that_a_full_queue_refused_keeps_its_place);
    tcase_add_test(bounds, a_refusal_is_told_by_the_blocking_form_too);
    tcase_add_checked_fixture(patience, patient, scripted_stop);
    tcase_add_test(patience, nobody_is_refused_for_a_pace_that_is_not_measured);
    tcase_add_test(
        patience,
        one_whose_turn_comes_too_late_is_refused_at_once_with_position_and_time);
    tcase_add_test(patience, a_higher_lane_and_a_try_are_judged_by_their_own_turn);
    tcase_add_test(patience, one_that_times_out_hears_where_it_stood);
    tcase_add_checked_fixture(stalls, stalling, scripted_stop);
    tcase_add_test(stalls,
                   all_behind_a_dead_holder_are_told_and_so_is_who_comes_later_case_3_32);
    tcase_add_test(stalls, a_holder_is_not_dead_while_holds_last_that_long_anyway);
    suite_add_tcase(suite, bounds);
    suite_add_tcase(suite, patience);
    suite_add_tcase(suite, stalls);
    return scripted_run(suite);
}
