/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines, places, Retry-After and cancel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "kubernetes_support.h"
#include "suite.h"

#define MS UINT64_C(1000000)

static struct fixture fixture;
static struct record record;

static void setup(void)
{
    fixture_open(&fixture, NULL);
    fixture.config.in_flight_max = 1;
    fixture_connect(&fixture);
    record_init(&record);
}

static void teardown(void)
{
    fixture_close(&fixture);
    record_done(&record);
}

static int start(struct hami_kubernetes_request request)
{
    return hami_kubernetes_request_start(fixture.client, &request, record_answer,
                                         &record);
}

static int arm(struct kubesim_fault fault)
{
    return kubesim_arm(fixture.sim, &fault);
}

static struct hami_kubernetes_request get_node_within(uint64_t ms)
{
    struct hami_kubernetes_request request = get_node();

    request.deadline_ns = hami_kubernetes_in_ms(ms);
    return request;
}

/* ---- deadlines and places ------------------------------------------------------- */

START_TEST(a_request_without_an_answer_is_in_doubt_at_its_deadline)
{
    uint64_t begun = hami_kubernetes_now();
    struct told told;

    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    told = ask(fixture.client, get_node_within(200));
    ck_assert_int_eq(told.code, HAMI_E_IN_DOUBT);
    ck_assert_msg(strstr(told.text, "deadline passed after the request was sent") != NULL,
                  "%s", told.text);
    ck_assert_uint_ge(told.at_ns - begun, 200 * MS);
    kubesim_disarm(fixture.sim, 0);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
}
END_TEST

START_TEST(a_blocking_request_that_fails_says_why_and_leaves_its_output_alone)
{
    struct hami_kubernetes_answer *answer = NULL;
    struct hami_kubernetes_request request = get_node_within(50);
    struct hami_error error = HAMI_ERROR_INIT;

    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    ck_assert_int_eq(hami_kubernetes_request(fixture.client, &request, &answer, &error),
                     HAMI_E_IN_DOUBT);
    ck_assert_int_eq(error.code, HAMI_E_IN_DOUBT);
    ck_assert_ptr_nonnull(strstr(error.text, "deadline"));
    ck_assert_ptr_null(answer);
    request.path = "x";
    ck_assert_int_eq(hami_kubernetes_request(fixture.client, &request, &answer, &error),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_request(NULL, &request, &answer, &error),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_request(fixture.client, &request, NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_ptr_null(answer);
    ck_assert_ptr_null(hami_kubernetes_answer_free(NULL));
    ck_assert_ptr_null(hami_kubernetes_server(NULL));
}
END_TEST

START_TEST(a_request_without_a_place_was_not_sent_and_says_how_long_it_waited_case_2_03)
{
    struct told told;

    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    ck_assert_int_eq(start(get_node_within(WAIT_MS)), 0);
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 1, WAIT_MS));
    told = ask(fixture.client, get_node_within(150));
    ck_assert_int_eq(told.code, HAMI_E_TIMEDOUT);
    ck_assert_uint_ge(told.local_wait_ns, 140 * MS);
    ck_assert_msg(strstr(told.text, "nothing was sent") != NULL, "%s", told.text);
    ck_assert_msg(strstr(told.text, "for one of 1 places") != NULL, "%s", told.text);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 1);
}
END_TEST

START_TEST(a_deadline_that_has_passed_sends_nothing)
{
    struct hami_kubernetes_request request = patch_node();
    struct told told;

    request.deadline_ns = 1;
    told = ask(fixture.client, request);
    ck_assert_int_eq(told.code, HAMI_E_TIMEDOUT);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
}
END_TEST

START_TEST(deadlines_are_made_from_now_and_never_overflow)
{
    uint64_t now = hami_kubernetes_now();

    ck_assert_uint_ge(hami_kubernetes_in_ms(1000), now + UINT64_C(1000000000));
    ck_assert_uint_lt(hami_kubernetes_in_ms(1000), now + UINT64_C(60000000000));
    ck_assert_uint_eq(hami_kubernetes_in_ms(UINT64_MAX), HAMI_DEADLINE_NEVER);
    ck_assert_uint_eq(hami_kubernetes_in_ms(UINT64_MAX / 1000000), HAMI_DEADLINE_NEVER);
}
END_TEST

START_TEST(the_config_gives_the_deadline_of_a_request_without_one)
{
    hami_kubernetes *client = NULL;
    uint64_t begun;
    struct told told;

    fixture.config.request_timeout_ms = 120;
    ck_assert_int_eq(hami_kubernetes_new(&fixture.config, &client, NULL), 0);
    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    begun = hami_kubernetes_now();
    told = ask(client, get_node());
    ck_assert_int_eq(told.code, HAMI_E_IN_DOUBT);
    ck_assert_uint_ge(told.at_ns - begun, 120 * MS);
    ck_assert_uint_lt(told.at_ns - begun, 5000 * MS);
    (void)hami_kubernetes_free(client);
}
END_TEST

START_TEST(requests_that_wait_for_a_place_go_out_in_order)
{
    char paths[30][64];

    for (size_t i = 0; i < 30; i++) {
        struct hami_kubernetes_request request = get_node();

        (void)snprintf(paths[i], sizeof(paths[i]), "/api/v1/nodes/n%zu", i + 100);
        request.path = paths[i];
        ck_assert_int_eq(start(request), 0);
    }
    (void)record_wait(&record, 30);
    for (size_t i = 0; i < 30; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%zu", i + 100);
        ck_assert_ptr_nonnull(strstr(record.told[i].body, name));
        ck_assert(i == 0 || record.told[i].local_wait_ns > 0);
    }
}
END_TEST

START_TEST(no_more_than_ten_thousand_may_wait)
{
    int accepted = 0;

    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    ck_assert_int_eq(start(get_node_within(WAIT_MS)), 0);
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 1, WAIT_MS));
    while (accepted < 20000 && start(get_node_within(WAIT_MS)) == 0) {
        accepted++;
    }
    ck_assert_int_eq(accepted, 10000);
    ck_assert_int_eq(start(get_node()), HAMI_E_LIMIT);
    fixture.client = hami_kubernetes_free(fixture.client);
    ck_assert_uint_eq(record_count(&record), 10001);
}
END_TEST

/* ---- Retry-After ---------------------------------------------------------------- */

START_TEST(a_request_told_to_retry_later_waits_and_is_sent_again)
{
    static const int statuses[] = {429, 503};
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    uint64_t begun = hami_kubernetes_now();
    struct told told;

    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS, .status = statuses[_i], .retry_after = 1, .count = 1});
    told = ask(fixture.client, get_node());
    ck_assert_int_eq(told.status, 200);
    ck_assert(!told.maybe_resent);
    ck_assert_uint_ge(told.at_ns - begun, 1000 * MS);
    ck_assert_uint_ge(told.local_wait_ns, 1000 * MS);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 2);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert_uint_eq(stats.requests, 1);
    ck_assert_uint_eq(stats.retries, 1);
    ck_assert_uint_eq(stats.answers[statuses[_i] / 100], 1);
    ck_assert_uint_ge(stats.local_wait_ns, 1000 * MS);
}
END_TEST

START_TEST(a_waiting_request_gives_its_place_to_others)
{
    struct hami_kubernetes_request request = patch_node();

    (void)arm((struct kubesim_fault){.match = {.verb = "get"},
                                     .action = KUBESIM_STATUS,
                                     .status = 429,
                                     .retry_after = 2,
                                     .count = 1});
    ck_assert_int_eq(start(get_node()), 0);
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 1, WAIT_MS));
    ck_assert_int_eq(ask(fixture.client, request).status, 200);
    ck_assert_uint_eq(record_count(&record), 0);
    ck_assert_int_eq(record_wait(&record, 1)->status, 200);
}
END_TEST

START_TEST(without_time_to_retry_the_refusal_is_the_answer)
{
    struct told told;

    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS, .status = 429, .retry_after = 30, .count = 1});
    told = ask(fixture.client, get_node_within(1000));
    ck_assert_int_eq(told.code, 0);
    ck_assert_int_eq(told.status, 429);
    ck_assert_uint_eq(told.retry_after_ms, 30000);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 1);
}
END_TEST

START_TEST(a_refusal_that_names_no_time_is_the_answer)
{
    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS, .status = 503, .retry_after = 0});
    ck_assert_int_eq(ask(fixture.client, patch_node()).status, 503);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 1);
}
END_TEST

/* 429 is said before anything is done; 503 may come after. */
START_TEST(only_a_write_repeated_after_503_may_have_been_sent_twice)
{
    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS, .status = 429, .retry_after = -1, .count = 1});
    ck_assert(!ask(fixture.client, patch_node()).maybe_resent);
    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS_AFTER, .status = 503, .retry_after = -1, .count = 1});
    ck_assert(ask(fixture.client, patch_node()).maybe_resent);
    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS, .status = 503, .retry_after = -1, .count = 1});
    ck_assert(!ask(fixture.client, get_node()).maybe_resent);
}
END_TEST

START_TEST(a_write_that_never_got_through_after_a_503_is_in_doubt)
{
    struct hami_kubernetes_request request = patch_node();
    struct hami_internal_http_request *handle = NULL;
    struct told *told;

    (void)arm((struct kubesim_fault){
        .action = KUBESIM_STATUS_AFTER, .status = 503, .retry_after = 5, .count = 1});
    request.deadline_ns = hami_kubernetes_in_ms(WAIT_MS);
    ck_assert_int_eq(hami_internal_http_request_start(fixture.client, &request,
                                                      record_answer, &record, &handle),
                     0);
    /* There is one place only: the first request has left it once the second is answered.
     */
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
    hami_internal_http_request_cancel(fixture.client, handle);
    told = record_wait(&record, 1);
    ck_assert_int_eq(told->code, HAMI_E_IN_DOUBT);
}
END_TEST

/* ---- cancel --------------------------------------------------------------------- */

START_TEST(a_cancelled_request_is_in_doubt_only_if_it_was_sent)
{
    struct hami_kubernetes_request request = get_node_within(WAIT_MS);
    struct hami_internal_http_request *sent = NULL;
    struct hami_internal_http_request *waiting = NULL;

    (void)arm((struct kubesim_fault){.action = KUBESIM_HANG_BEFORE});
    ck_assert_int_eq(hami_internal_http_request_start(fixture.client, &request,
                                                      record_answer, &record, &sent),
                     0);
    ck_assert(kubesim_wait_count(fixture.sim, NULL, 1, WAIT_MS));
    ck_assert_int_eq(hami_internal_http_request_start(fixture.client, &request,
                                                      record_answer, &record, &waiting),
                     0);
    hami_internal_http_request_cancel(fixture.client, waiting);
    ck_assert_int_eq(record_wait(&record, 1)->code, HAMI_E_TRANSPORT);
    hami_internal_http_request_cancel(fixture.client, sent);
    ck_assert_int_eq(record_wait(&record, 2)->code, HAMI_E_IN_DOUBT);
    kubesim_disarm(fixture.sim, 0);
    ck_assert_int_eq(ask(fixture.client, get_node()).status, 200);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes limits");
    TCase *tcase = tcase_create("kubesim");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_request_without_an_answer_is_in_doubt_at_its_deadline);
    tcase_add_test(tcase,
                   a_blocking_request_that_fails_says_why_and_leaves_its_output_alone);
    tcase_add_test(
        tcase,
        a_request_without_a_place_was_not_sent_and_says_how_long_it_waited_case_2_03);
    tcase_add_test(tcase, a_deadline_that_has_passed_sends_nothing);
    tcase_add_test(tcase, deadlines_are_made_from_now_and_never_overflow);
    tcase_add_test(tcase, the_config_gives_the_deadline_of_a_request_without_one);
    tcase_add_test(tcase, requests_that_wait_for_a_place_go_out_in_order);
    tcase_add_test(tcase, no_more_than_ten_thousand_may_wait);
    tcase_add_loop_test(tcase, a_request_told_to_retry_later_waits_and_is_sent_again, 0,
                        2);
    tcase_add_test(tcase, a_waiting_request_gives_its_place_to_others);
    tcase_add_test(tcase, without_time_to_retry_the_refusal_is_the_answer);
    tcase_add_test(tcase, a_refusal_that_names_no_time_is_the_answer);
    tcase_add_test(tcase, only_a_write_repeated_after_503_may_have_been_sent_twice);
    tcase_add_test(tcase, a_write_that_never_got_through_after_a_503_is_in_doubt);
    tcase_add_test(tcase, a_cancelled_request_is_in_doubt_only_if_it_was_sent);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
