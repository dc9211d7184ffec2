/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What answers of the API server mean, as a table.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "status.h"
#include "suite.h"

#define STATUS(reason, details)                                                          \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":"     \
    "\"m\","                                                                             \
    "\"reason\":\"" reason "\"" details ",\"code\":422}"

static struct hami_kubernetes_answer answer_of(int code, int status, const char *body)
{
    struct hami_kubernetes_answer answer = {.size = sizeof(answer),
                                            .code = code,
                                            .status = status,
                                            .body = body,
                                            .body_length = strlen(body),
                                            .text = "why"};
    return answer;
}

START_TEST(each_answer_has_one_meaning_for_writes_and_one_for_reads)
{
    static const struct {
        int code;
        int status;
        const char *body;
        int write;
        int read;
    } rows[] = {
        {0, 200, "{}", 0, 0},
        {0, 201, "{}", 0, 0},
        {0, 301, "", HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 400, "", HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 401, "", HAMI_E_ACCESS, HAMI_E_ACCESS},
        {0, 403, "", HAMI_E_ACCESS, HAMI_E_ACCESS},
        {0, 404, "", HAMI_E_NODE, HAMI_E_NODE},
        {0, 406, "", HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 408, "", HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {0, 409, "", HAMI_E_HELD, HAMI_E_HELD},
        {0, 415, "", HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 422, STATUS("Invalid", ""), HAMI_E_HELD, HAMI_E_HELD},
        {0, 422, STATUS("Invalid", ",\"details\":{\"causes\":[{\"reason\":\"x\"}]}"),
         HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 422, "not JSON", HAMI_E_PROTO, HAMI_E_PROTO},
        {0, 429, "plain text", HAMI_E_TRANSPORT, HAMI_E_TRANSPORT},
        {0, 500, "", HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {0, 503, "", HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {0, 504, "", HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {HAMI_E_TRANSPORT, 0, "", HAMI_E_TRANSPORT, HAMI_E_TRANSPORT},
        {HAMI_E_IN_DOUBT, 0, "", HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
        {HAMI_E_LIMIT, 200, "", HAMI_E_IN_DOUBT, HAMI_E_PROTO},
        {HAMI_E_TIMEDOUT, 0, "", HAMI_E_TRANSPORT, HAMI_E_TRANSPORT},
        {HAMI_E_CLOSED, 0, "", HAMI_E_CLOSED, HAMI_E_CLOSED},
        {HAMI_E_ACCESS, 0, "", HAMI_E_ACCESS, HAMI_E_ACCESS},
        {HAMI_E_NOMEM, 0, "", HAMI_E_NOMEM, HAMI_E_NOMEM},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_kubernetes_answer answer =
            answer_of(rows[i].code, rows[i].status, rows[i].body);
        ck_assert_msg(hami_internal_status_of_write(&answer) == rows[i].write,
                      "row %zu: a write gives %d", i,
                      hami_internal_status_of_write(&answer));
        ck_assert_msg(hami_internal_status_of_read(&answer) == rows[i].read,
                      "row %zu: a read gives %d", i,
                      hami_internal_status_of_read(&answer));
        if (rows[i].code != 0) {
            continue;
        }
        answer.maybe_resent = true;
        int wanted = rows[i].write == 0 ? 0 : HAMI_E_IN_DOUBT;
        ck_assert_msg(hami_internal_status_of_write(&answer) == wanted,
                      "row %zu: a write sent twice gives %d", i,
                      hami_internal_status_of_write(&answer));
    }
}
END_TEST

START_TEST(a_status_object_is_read_whole_and_on_one_line)
{
    static const char text[] =
        "{\"kind\":\"Status\",\"message\":\"two\\nlines\",\"reason\":\"Conflict\","
        "\"code\":409,"
        "\"details\":{\"kind\":\"pods/binding\",\"retryAfterSeconds\":3,"
        "\"causes\":[{},{}]}}";
    struct hami_internal_status status;
    ck_assert(hami_internal_status_read(text, strlen(text), &status));
    ck_assert_int_eq(status.code, 409);
    ck_assert_str_eq(status.reason, "Conflict");
    ck_assert_str_eq(status.message, "two lines");
    ck_assert_str_eq(status.kind, "pods/binding");
    ck_assert_uint_eq(status.cause_count, 2);
    ck_assert_uint_eq(status.retry_seconds, 3);
}
END_TEST

START_TEST(whatever_else_comes_is_no_status)
{
    static const char *const texts[] = {
        "", "x", "[]", "{}", "{\"kind\":\"Pod\"}", "{\"kind\":7}", "{\"kind\":\"Status\"",
    };
    static char large[70000];
    struct hami_internal_status status;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ck_assert_msg(!hami_internal_status_read(texts[i], strlen(texts[i]), &status),
                      "text %zu", i);
        ck_assert_str_eq(status.message, "");
    }
    int head = snprintf(large, sizeof(large), "{\"kind\":\"Status\",\"message\":\"");
    memset(large + head, 'x', sizeof(large) - (size_t)head - 3);
    memcpy(large + sizeof(large) - 3, "\"}", 3);
    ck_assert(!hami_internal_status_read(large, sizeof(large) - 1, &status));
}
END_TEST

START_TEST(odd_members_of_a_status_are_passed_over)
{
    static const char text[] =
        "{\"kind\":\"Status\",\"message\":7,\"reason\":[],\"code\":\"x\","
        "\"details\":[]}";
    struct hami_internal_status status;
    ck_assert(hami_internal_status_read(text, strlen(text), &status));
    ck_assert_int_eq(status.code, 0);
    ck_assert_str_eq(status.reason, "");
    ck_assert_uint_eq(status.cause_count, 0);
}
END_TEST

START_TEST(the_text_for_people_names_status_reason_and_message)
{
    char buffer[64];
    struct hami_kubernetes_answer answer = answer_of(0, 422, STATUS("Invalid", ""));
    ck_assert_str_eq(hami_internal_status_text(&answer, buffer, sizeof(buffer)),
                     "422 Invalid: m");
    answer = answer_of(0, 502, "<html>");
    ck_assert_ptr_nonnull(
        strstr(hami_internal_status_text(&answer, buffer, sizeof(buffer)), "502"));
    answer = answer_of(HAMI_E_TRANSPORT, 0, "");
    ck_assert_str_eq(hami_internal_status_text(&answer, buffer, sizeof(buffer)), "why");
    ck_assert_str_eq(hami_internal_status_text(&answer, buffer, 3), "wh");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_status");
    TCase *cases = tcase_create("status");
    tcase_add_test(cases, each_answer_has_one_meaning_for_writes_and_one_for_reads);
    tcase_add_test(cases, a_status_object_is_read_whole_and_on_one_line);
    tcase_add_test(cases, whatever_else_comes_is_no_status);
    tcase_add_test(cases, odd_members_of_a_status_are_passed_over);
    tcase_add_test(cases, the_text_for_people_names_status_reason_and_message);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
