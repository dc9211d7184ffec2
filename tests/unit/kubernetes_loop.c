/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the client's thread may sleep. libcurl loses what should wake a transfer in a
 * round that begins with a timer due, by a race that no server can be made to win at
 * will; so what is tested is that no sleep follows such a round.
 *
 * The two calls of libcurl are seen on their way (--wrap), by the client's thread alone.
 */
#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "kubernetes_support.h"

#define PAIRS 200

static struct fixture fixture;
static struct record record;
static atomic_bool began_with_timer_due;
static atomic_uint rounds_with_timer_due;
static atomic_uint sleeps;
static atomic_uint sleeps_too_early;

CURLMcode __real_curl_multi_perform(CURLM *multi, int *ret_running);
CURLMcode __wrap_curl_multi_perform(CURLM *multi, int *ret_running);
CURLMcode __real_curl_multi_poll(CURLM *multi, struct curl_waitfd *more,
                                 unsigned more_count, int wait_ms, int *ret_ready);
CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *more,
                                 unsigned more_count, int wait_ms, int *ret_ready);

CURLMcode __wrap_curl_multi_perform(CURLM *multi, int *ret_running)
{
    long due_ms = -1;

    (void)curl_multi_timeout(multi, &due_ms);
    atomic_store(&began_with_timer_due, due_ms == 0);
    atomic_fetch_add(&rounds_with_timer_due, due_ms == 0);
    return __real_curl_multi_perform(multi, ret_running);
}

CURLMcode __wrap_curl_multi_poll(CURLM *multi, struct curl_waitfd *more,
                                 unsigned more_count, int wait_ms, int *ret_ready)
{
    atomic_fetch_add(&sleeps, 1);
    atomic_fetch_add(&sleeps_too_early,
                     wait_ms > 0 && atomic_load(&began_with_timer_due));
    return __real_curl_multi_poll(multi, more, more_count, wait_ms, ret_ready);
}

START_TEST(the_thread_never_sleeps_after_a_round_that_began_with_a_timer_due)
{
    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    record_init(&record);
    for (size_t i = 0; i < PAIRS; i++) {
        struct hami_kubernetes_request request = get_node();

        ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &request,
                                                       record_answer, &record),
                         0);
        ck_assert_int_eq(hami_kubernetes_request_start(fixture.client, &request,
                                                       record_answer, &record),
                         0);
        (void)record_wait(&record, 2 * (i + 1));
    }
    fixture_close(&fixture);
    record_done(&record);
    ck_assert_uint_gt(atomic_load(&rounds_with_timer_due), 0);
    ck_assert_uint_gt(atomic_load(&sleeps), 0);
    ck_assert_uint_eq(atomic_load(&sleeps_too_early), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_loop");
    TCase *sleep = tcase_create("sleep");
    SRunner *runner;
    int failed;

    tcase_set_timeout(sleep, 60);
    tcase_add_test(sleep,
                   the_thread_never_sleeps_after_a_round_that_began_with_a_timer_due);
    suite_add_tcase(suite, sleep);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
