/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer is told when its last byte has come, whatever its size and though nothing
 * comes after it on the connection. http_nudge.c says what libcurl has to do with it.
 */
#include <stdlib.h>
#include <string.h>

#include "http_client.h"
#include "kubernetes_support.h"
#include "suite.h"

#define DEADLINE_MS 5000u
#define RECORD 16384u /* bytes at most that TLS hands over at once */

/* Makes node n1 so large that the answer to a GET has this many bytes. */
static void resize_node(struct fixture *fixture, size_t bytes)
{
    char *padding = calloc(1, bytes + 1);
    char *body = NULL;

    ck_assert_ptr_nonnull(padding);
    ck_assert_int_eq(
        kubesim_set_annotation(fixture->sim, "nodes", NULL, "n1", "padding", ""), 200);
    ck_assert_int_eq(
        kubesim_request(fixture->sim, "GET", "/api/v1/nodes/n1", NULL, NULL, &body), 200);
    ck_assert_uint_lt(strlen(body), bytes);
    memset(padding, 'x', bytes - strlen(body));
    ck_assert_int_eq(
        kubesim_set_annotation(fixture->sim, "nodes", NULL, "n1", "padding", padding),
        200);
    free(body);
    free(padding);
}

static struct hami_kubernetes_request get_node_soon(void)
{
    struct hami_kubernetes_request request = get_node();

    request.deadline_ns = hami_kubernetes_in_ms(DEADLINE_MS);
    return request;
}

/* Asks for answers of just below a record's size to just above it. */
static void ask_all_sizes(struct fixture *fixture, size_t step)
{
    (void)ask(fixture->client, get_node_soon());
    for (size_t bytes = RECORD - 200; bytes <= RECORD + 40; bytes += step) {
        struct told told;

        resize_node(fixture, bytes);
        told = ask(fixture->client, get_node_soon());
        ck_assert_msg(told.code == 0, "%zu bytes: %s", bytes, told.text);
        ck_assert_uint_ge(told.body_length, bytes);
    }
}

/* The fields ahead of the answer are known to both sides after the first one: they take a
 * few bytes on the way, and many once libcurl has spelled them out. So an answer that
 * leaves in one record can be too large for a buffer of a record's size. */
START_TEST(an_answer_about_as_large_as_a_record_is_told_when_it_is_complete)
{
    struct fixture fixture;

    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    ask_all_sizes(&fixture, 8);
    fixture_close(&fixture);
}
END_TEST

/* The same with a buffer that is too small for some of them, as the true one is for
 * answers of many records. */
START_TEST(an_answer_larger_than_the_buffer_is_told_soon_after_it_is_complete)
{
    struct fixture fixture;

    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    fixture.client->buffer_bytes = RECORD;
    ask_all_sizes(&fixture, 48);
    fixture_close(&fixture);
}
END_TEST

/* What was asked in between is harmless, and asked once. */
START_TEST(a_read_that_stands_gets_one_nudge)
{
    struct kubesim_fault hang = {.match = {.verb = "get", .resource = "nodes"},
                                 .count = 1,
                                 .action = KUBESIM_HANG_BEFORE};
    struct hami_kubernetes_calls calls = HAMI_KUBERNETES_CALLS_INIT;
    struct hami_kubernetes_request request = get_node();
    struct fixture fixture;
    uint64_t nudges = 0;

    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    (void)ask(fixture.client, get_node_soon());
    (void)kubesim_arm(fixture.sim, &hang);
    request.deadline_ns = hami_kubernetes_in_ms(2500);
    ck_assert_int_eq(ask(fixture.client, request).code, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_kubernetes_calls(fixture.client, &calls), 0);
    for (size_t i = 0; i < HAMI_KUBERNETES_CODES; i++) {
        nudges += calls.answers[HAMI_KUBERNETES_VERB_WATCH][i];
    }
    ck_assert_uint_eq(nudges, 1);
    fixture_close(&fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_standstill");
    TCase *whole = tcase_create("whole");

    tcase_set_timeout(whole, 60);
    tcase_add_test(whole,
                   an_answer_about_as_large_as_a_record_is_told_when_it_is_complete);
    tcase_add_test(whole,
                   an_answer_larger_than_the_buffer_is_told_soon_after_it_is_complete);
    tcase_add_test(whole, a_read_that_stands_gets_one_nudge);
    suite_add_tcase(suite, whole);
    return run_suite(suite);
}
