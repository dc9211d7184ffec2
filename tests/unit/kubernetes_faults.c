/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing nodes against kubesim when something goes wrong on the way: lost,
 * late, doubled and refused requests, and calls that are ended early.
 */
#include "kubernetes_stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define VALUE "2026-01-01T00:00:00Z,ns,a"

static struct world world;

static void setup(void)
{
    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
}

static void teardown(void)
{
    world_end(&world);
}

static unsigned patches(void)
{
    return kubesim_count(world.sim,
                         &(struct kubesim_match){.verb = "patch", .user = "admin"});
}

static void arm(enum kubesim_action action, const char *verb, int status)
{
    struct kubesim_fault fault = {.match = {.verb = verb, .resource = "nodes"},
                                  .count = 1,
                                  .action = action,
                                  .status = status};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

static void take(struct hami_call *call, const char *node, uint64_t timeout_ms)
{
    call_begin(call, node, timeout_ms);
    call_edit(call, HAMI_EDIT_PUT, LOCK, NULL, VALUE);
    call_edit(call, HAMI_EDIT_PUT, LEASE, NULL, "{\"version\":1}");
}

START_TEST(each_answer_of_the_server_has_its_code)
{
    static const struct {
        enum kubesim_action action;
        int status;
        int write;
        int read;
    } rows[] = {
        {KUBESIM_STATUS, 401, HAMI_E_ACCESS, HAMI_E_ACCESS},
        {KUBESIM_STATUS, 403, HAMI_E_ACCESS, HAMI_E_ACCESS},
        {KUBESIM_STATUS, 400, HAMI_E_PROTO, HAMI_E_PROTO},
        {KUBESIM_STATUS, 409, HAMI_E_HELD, HAMI_E_PROTO},
        {KUBESIM_STATUS, 500, HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {KUBESIM_STATUS, 504, HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {KUBESIM_STATUS_AFTER, 500, HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_call call;
        arm(rows[i].action, "patch", rows[i].status);
        call_begin(&call, "n1", 3000);
        call_edit(&call, HAMI_EDIT_PUT, "k", NULL, "v");
        int code = call_submit(&world, &call);
        ck_assert_msg(code == rows[i].write, "row %zu: a write gives %d: %s", i, code,
                      call.text);
        kubesim_disarm(world.sim, 0);
        arm(rows[i].action, "get", rows[i].status);
        call_begin(&call, "n1", 3000);
        call_edit(&call, HAMI_EDIT_READ, LOCK, NULL, NULL);
        code = call_submit(&world, &call);
        ck_assert_msg(code == rows[i].read, "row %zu: a read gives %d: %s", i, code,
                      call.text);
        kubesim_disarm(world.sim, 0);
        kubesim_set_annotation(world.sim, "nodes", NULL, "n1", "k", NULL);
    }
}
END_TEST

START_TEST(a_write_whose_answer_is_lost_is_in_doubt_case_1_14)
{
    static const enum kubesim_action actions[] = {KUBESIM_DROP_AFTER, KUBESIM_RESET_AFTER,
                                                  KUBESIM_TRUNCATE};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        struct hami_call call;
        char key[8];
        snprintf(key, sizeof(key), "k%zu", i);
        arm(actions[i], "patch", 0);
        call_begin(&call, "n1", 3000);
        call_edit(&call, HAMI_EDIT_PUT, key, NULL, "v");
        int code = call_submit(&world, &call);
        ck_assert_msg(code == HAMI_E_IN_DOUBT, "action %zu gives %d: %s", i, code,
                      call.text);
        expect_annotation(&world, "nodes", NULL, "n1", key, "v");
    }
}
END_TEST

START_TEST(a_write_that_was_refused_a_stream_is_surely_not_applied_or_done)
{
    static const enum kubesim_action actions[] = {KUBESIM_REFUSE_STREAM,
                                                  KUBESIM_GOAWAY_REFUSE, KUBESIM_GOAWAY};
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        struct hami_call call;
        char key[8];
        snprintf(key, sizeof(key), "k%zu", i);
        arm(actions[i], "patch", 0);
        call_begin(&call, "n1", 3000);
        call_edit(&call, HAMI_EDIT_PUT, key, NULL, "v");
        int code = call_submit(&world, &call);
        ck_assert_msg(code == 0 || code == HAMI_E_TRANSPORT || code == HAMI_E_IN_DOUBT,
                      "action %zu gives %d: %s", i, code, call.text);
        if (code == HAMI_E_TRANSPORT) {
            expect_annotation(&world, "nodes", NULL, "n1", key, NULL);
        } else if (code == 0) {
            expect_annotation(&world, "nodes", NULL, "n1", key, "v");
        }
    }
}
END_TEST

START_TEST(a_write_applied_twice_is_no_refusal_that_is_believed)
{
    struct hami_call call;
    arm(KUBESIM_TWICE, "patch", 0);
    take(&call, "n1", 3000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, VALUE);
    /* The second copy's refusal: the values that come with it are the caller's own, for
     * it to see. */
    world_add_node(&world, "n3");
    struct kubesim_fault fault = {.match = {.verb = "patch", .name = "n3"},
                                  .count = 1,
                                  .action = KUBESIM_TWICE_SECOND};
    kubesim_arm(world.sim, &fault);
    take(&call, "n3", 3000);
    int code = call_submit(&world, &call);
    ck_assert(code == HAMI_E_HELD || code == HAMI_E_IN_DOUBT);
    if (code == HAMI_E_HELD) {
        ck_assert(call.has_values);
        ck_assert_str_eq(call.values[0], VALUE);
    }
}
END_TEST

START_TEST(a_call_that_nobody_answers_ends_by_its_deadline_case_2_09)
{
    struct hami_call call;
    arm(KUBESIM_HANG_BEFORE, "patch", 0);
    take(&call, "n1", 1500);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_IN_DOUBT);
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    arm(KUBESIM_HANG_BEFORE, "get", 0);
    call_begin(&call, "n1", 300);
    call_edit(&call, HAMI_EDIT_READ, LOCK, NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_TRANSPORT);
}
END_TEST

START_TEST(a_call_without_time_is_not_begun)
{
    struct hami_call call;
    take(&call, "n1", 0);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_TRANSPORT);
    ck_assert_uint_eq(patches(), 0);
}
END_TEST

START_TEST(a_server_that_is_busy_is_waited_for_within_the_deadline_case_2_03)
{
    struct hami_call call;
    struct kubesim_fault busy = {.match = {.verb = "patch", .resource = "nodes"},
                                 .count = 1,
                                 .action = KUBESIM_STATUS,
                                 .status = 429,
                                 .retry_after = -1};
    kubesim_arm(world.sim, &busy);
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_uint_eq(patches(), 2);
    busy.count = 0;
    busy.retry_after = 30;
    kubesim_arm(world.sim, &busy);
    call_begin(&call, "n1", 1500);
    call_edit(&call, HAMI_EDIT_PUT, "k", NULL, "v");
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_TRANSPORT);
    ck_assert_msg(strstr(call.text, " ms") != NULL, "%s", call.text);
    expect_annotation(&world, "nodes", NULL, "n1", "k", NULL);
}
END_TEST

START_TEST(an_aborted_call_ends_soon_and_once)
{
    struct hami_call call;
    arm(KUBESIM_HANG_BEFORE, "patch", 0);
    take(&call, "n1", 60000);
    ck_assert_int_eq(world.transport->submit(world.transport, &call), 0);
    ck_assert(kubesim_wait_count(
        world.sim, &(struct kubesim_match){.verb = "patch", .user = "admin"}, 1,
        WAIT_MS));
    world.transport->abort(world.transport, &call);
    ck_assert_int_eq(call_wait_for(&call, 5000), HAMI_E_IN_DOUBT);
    /* Completed meanwhile: no error. */
    world.transport->abort(world.transport, &call);
    ck_assert_uint_eq(call.done, 1);
}
END_TEST

START_TEST(a_transport_freed_with_a_call_in_flight_still_completes_it)
{
    struct hami_call call;
    arm(KUBESIM_HANG_BEFORE, "patch", 0);
    take(&call, "n1", 60000);
    ck_assert_int_eq(world.transport->submit(world.transport, &call), 0);
    world.transport = hami_kubernetes_transport_free(world.transport);
    int code = call_wait_for(&call, 5000);
    ck_assert(code == HAMI_E_IN_DOUBT || code == HAMI_E_TRANSPORT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_faults");
    TCase *cases = tcase_create("faults");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, each_answer_of_the_server_has_its_code);
    tcase_add_test(cases, a_write_whose_answer_is_lost_is_in_doubt_case_1_14);
    tcase_add_test(cases,
                   a_write_that_was_refused_a_stream_is_surely_not_applied_or_done);
    tcase_add_test(cases, a_write_applied_twice_is_no_refusal_that_is_believed);
    tcase_add_test(cases, a_call_that_nobody_answers_ends_by_its_deadline_case_2_09);
    tcase_add_test(cases, a_call_without_time_is_not_begun);
    tcase_add_test(cases,
                   a_server_that_is_busy_is_waited_for_within_the_deadline_case_2_03);
    tcase_add_test(cases, an_aborted_call_ends_soon_and_once);
    tcase_add_test(cases, a_transport_freed_with_a_call_in_flight_still_completes_it);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
