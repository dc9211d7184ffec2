/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every fault of kubesim: what the client sees, what the store has seen, and how many
 * deliveries there were. Each test runs over HTTP/2 and over HTTP/1.1.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "scene.h"

#define KEY "hami.io/mutex.lock"
#define TAKE                                                                             \
    "[{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},{\"op\":"      \
    "\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"" KEY "\":\"a\"}}]"

static int arm(enum kubesim_action action)
{
    const struct kubesim_fault fault = {
        .match = {.verb = "patch"}, .count = 1, .action = action};
    return kubesim_arm(sim, &fault);
}

START_TEST(without_a_fault_a_patch_is_one_delivery)
{
    choose(_i);
    expect_patch(200, true, 1);
}
END_TEST

START_TEST(a_request_dropped_before_is_not_applied)
{
    choose(_i);
    int id = arm(KUBESIM_DROP_BEFORE);
    expect_patch(0, false, 1);
    ck_assert_uint_eq(kubesim_hits(sim, id), 1);
    expect_patch(200, true, 2);
}
END_TEST

START_TEST(a_request_dropped_after_is_applied)
{
    choose(_i);
    arm(KUBESIM_DROP_AFTER);
    expect_patch(0, true, 1);
    expect_patch(200, true, 2);
}
END_TEST

START_TEST(a_reset_before_or_after_ends_the_one_stream)
{
    unsigned before, after;
    bool http2 = choose(_i);
    struct reply reply;
    if (http2) { /* HTTP/1.1 on a used connection would be sent again by libcurl */
        reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
        reply_clear(&reply);
    }
    kubesim_connections(sim, &before);
    arm(KUBESIM_RESET_BEFORE);
    expect_patch(0, false, 1);
    arm(KUBESIM_RESET_AFTER);
    expect_patch(0, true, 2);
    reply = peer_send(&peer, "GET", NODE, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    kubesim_connections(sim, &after);
    ck_assert_uint_eq(after - before, http2 ? 0 : 3);
}
END_TEST

/* A patch that is given up after 200 ms. */
static CURLcode impatient_patch(void)
{
    CURL *easy = peer_handle(&peer);
    char url[128];
    struct curl_slist *headers =
        curl_slist_append(NULL, "Content-Type: application/merge-patch+json");
    headers = curl_slist_append(headers, "Authorization: Bearer u");
    snprintf(url, sizeof(url), "%s%s", peer.url, NODE);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "PATCH");
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, SET_A);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, 200L);
    CURLcode result = curl_easy_perform(easy);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
    return result;
}

START_TEST(a_hang_before_is_never_applied_and_never_answered)
{
    choose(_i);
    arm(KUBESIM_HANG_BEFORE);
    ck_assert_int_eq(impatient_patch(), CURLE_OPERATION_TIMEDOUT);
    ck_assert_ptr_null(kubesim_annotation(sim, "nodes", NULL, "n1", "a"));
    expect_patch(200, true, 2);
}
END_TEST

START_TEST(a_hang_after_is_applied_and_never_answered)
{
    choose(_i);
    arm(KUBESIM_HANG_AFTER);
    ck_assert_int_eq(impatient_patch(), CURLE_OPERATION_TIMEDOUT);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_str_eq(value, "1");
    free(value);
    ck_assert_uint_eq(kubesim_count(sim, &patches), 1);
}
END_TEST

START_TEST(a_delayed_request_is_applied_though_its_sender_has_gone)
{
    choose(_i);
    const struct kubesim_fault fault = {
        .match = {.verb = "patch"}, .count = 1, .delay_before_ms = 600};
    kubesim_arm(sim, &fault);
    ck_assert_int_eq(impatient_patch(), CURLE_OPERATION_TIMEDOUT);
    ck_assert_ptr_null(kubesim_annotation(sim, "nodes", NULL, "n1", "a"));
    ck_assert(kubesim_wait_text(sim, "nodes", NULL, "n1", "/metadata/annotations/a", "1",
                                10000));
}
END_TEST

START_TEST(a_delayed_answer_comes_after_the_write)
{
    choose(_i);
    const struct kubesim_fault fault = {
        .match = {.verb = "patch"}, .count = 1, .delay_answer_ms = 600};
    kubesim_arm(sim, &fault);
    ck_assert_int_eq(impatient_patch(), CURLE_OPERATION_TIMEDOUT);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_str_eq(value, "1");
    free(value);
    const struct kubesim_fault both = {.match = {.verb = "patch"},
                                       .count = 1,
                                       .delay_before_ms = 20,
                                       .delay_answer_ms = 20};
    kubesim_arm(sim, &both);
    expect_patch(200, true, 2);
}
END_TEST

START_TEST(a_doubled_write_is_two_deliveries_and_either_answer_is_sent)
{
    choose(_i);
    const struct kubesim_match take = {.verb = "patch", .user = "u"};
    arm(KUBESIM_TWICE);
    struct reply reply = peer_send(&peer, "PATCH", NODE, JSON_PATCH, TAKE, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    ck_assert_uint_eq(kubesim_count(sim, &take), 2);
    json_t *log = kubesim_log(sim, &take);
    json_t *first = json_array_get(log, 0), *second = json_array_get(log, 1);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_object_get(first, "responseStatus"), "code")),
                     200);
    ck_assert_int_eq(json_integer_value(json_object_get(
                         json_object_get(second, "responseStatus"), "code")),
                     422);
    ck_assert_str_eq(json_text_at(first, "/annotations/kubesim~1fault"), "twice");
    ck_assert_str_ne(json_text_at(first, "/auditID"), json_text_at(second, "/auditID"));
    json_decref(log);
    kubesim_set_annotation(sim, "nodes", NULL, "n1", KEY, NULL);
    arm(KUBESIM_TWICE_SECOND);
    reply = peer_send(&peer, "PATCH", NODE, JSON_PATCH, TAKE, NULL);
    ck_assert_int_eq(reply.code, 422);
    reply_clear(&reply);
    ck_assert_uint_eq(kubesim_count(sim, &take), 4);
}
END_TEST

START_TEST(any_status_can_be_answered_before_or_after_the_write)
{
    static const int codes[] = {500, 503, 409, 403, 504};
    struct kubesim_fault fault = {
        .match = {.verb = "patch"}, .count = 1, .action = KUBESIM_STATUS};
    choose(_i);
    for (unsigned i = 0; i < 5; i++) {
        fault.status = codes[i];
        kubesim_arm(sim, &fault);
        expect_patch(codes[i], false, i + 1);
    }
    fault.action = KUBESIM_STATUS_AFTER;
    fault.status = 500;
    kubesim_arm(sim, &fault);
    expect_patch(500, true, 6);
}
END_TEST

START_TEST(too_many_requests_comes_with_retry_after_and_plain_text)
{
    const struct kubesim_fault fault = {.match = {.verb = "patch"},
                                        .count = 1,
                                        .action = KUBESIM_STATUS,
                                        .status = 429,
                                        .retry_after = 2};
    choose(_i);
    kubesim_arm(sim, &fault);
    struct reply reply = patch();
    ck_assert_int_eq(reply.code, 429);
    ck_assert_int_eq(reply.retry_after, 2);
    ck_assert_ptr_null(reply.json);
    ck_assert(strncmp(reply.content_type, "text/plain", 10) == 0);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_refused_stream_is_not_applied)
{
    bool http2 = choose(_i);
    int id = arm(KUBESIM_REFUSE_STREAM);
    if (http2) { /* libcurl sends a refused stream again by itself */
        struct reply reply = patch();
        ck_assert_int_eq(reply.code, 200);
        reply_clear(&reply);
        ck_assert_uint_eq(kubesim_count(sim, &patches), 2);
    } else {
        expect_patch(0, false, 1);
    }
    ck_assert_uint_eq(kubesim_hits(sim, id), 1);
}
END_TEST

START_TEST(a_goaway_answers_and_ends_the_connection)
{
    unsigned before, after;
    choose(_i);
    kubesim_connections(sim, &before);
    arm(KUBESIM_GOAWAY);
    expect_patch(200, true, 1);
    expect_patch(200, true, 2);
    kubesim_connections(sim, &after);
    ck_assert_uint_eq(after - before, 2);
}
END_TEST

START_TEST(a_goaway_that_leaves_the_request_out_does_not_apply_it)
{
    choose(_i);
    int id = arm(KUBESIM_GOAWAY_REFUSE);
    struct reply reply = patch();
    unsigned deliveries = kubesim_count(sim, &patches);
    /* a client may send it again by itself, but then as a second delivery */
    ck_assert_uint_eq(deliveries, reply.result == CURLE_OK ? 2 : 1);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", "a");
    ck_assert_int_eq(value != NULL, reply.result == CURLE_OK);
    free(value);
    reply_clear(&reply);
    ck_assert_uint_eq(kubesim_hits(sim, id), 1);
}
END_TEST

START_TEST(a_truncated_answer_is_an_error_and_the_write_is_applied)
{
    choose(_i);
    arm(KUBESIM_TRUNCATE);
    expect_patch(0, true, 1);
    expect_patch(200, true, 2);
}
END_TEST

START_TEST(a_skewed_date_shows_in_the_header)
{
    struct kubesim_fault fault = {.match = {.verb = "patch"}, .count = 1};
    choose(_i);
    fault.date_skew = 3600;
    kubesim_arm(sim, &fault);
    struct reply skewed = patch(), plain = patch();
    double difference =
        difftime(curl_getdate(skewed.date, NULL), curl_getdate(plain.date, NULL));
    ck_assert(difference > 3500 && difference < 3601);
    reply_clear(&skewed);
    reply_clear(&plain);
    kubesim_set_date_skew(sim, -7200);
    plain = patch();
    difference = difftime(time(NULL), curl_getdate(plain.date, NULL));
    ck_assert(difference > 7100 && difference < 7300);
    reply_clear(&plain);
}
END_TEST

START_TEST(a_foreign_write_comes_right_before_the_request)
{
    const struct kubesim_fault fault = {.match = {.verb = "patch"},
                                        .count = 1,
                                        .action = KUBESIM_STATUS_AFTER,
                                        .status = 409,
                                        .write_key = KEY,
                                        .write_value = "b"};
    choose(_i);
    kubesim_arm(sim, &fault);
    struct reply reply = peer_send(&peer, "PATCH", NODE, JSON_PATCH, TAKE, NULL);
    ck_assert_int_eq(reply.code, 409);
    reply_clear(&reply);
    char *value = kubesim_annotation(sim, "nodes", NULL, "n1", KEY);
    ck_assert_str_eq(value, "b"); /* so the take itself failed */
    free(value);
}
END_TEST

static void bind_pod(struct kubesim *server, void *data)
{
    *(int *)data = kubesim_bind(server, "default", "p", "n2");
}

START_TEST(a_hook_runs_right_before_the_request)
{
    int code = 0;
    const struct kubesim_pod pod = {.name = "p"};
    const struct kubesim_fault fault = {.match = {.subresource = "binding", .user = "u"},
                                        .count = 1,
                                        .hook = bind_pod,
                                        .hook_data = &code};
    choose(_i);
    ck_assert_int_eq(kubesim_create_pod(sim, &pod), 201);
    kubesim_arm(sim, &fault);
    struct reply reply =
        peer_send(&peer, "POST", "/api/v1/namespaces/default/pods/p/binding", JSON_TYPE,
                  "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n1\"}}", NULL);
    ck_assert_int_eq(reply.code, 409);
    ck_assert_int_eq(code, 201);
    reply_clear(&reply);
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("faults");
    tcase_add_checked_fixture(test_case, scene_setup_users, scene_teardown);
#define ADD(test) tcase_add_loop_test(test_case, test, 0, 2)
    ADD(without_a_fault_a_patch_is_one_delivery);
    ADD(a_request_dropped_before_is_not_applied);
    ADD(a_request_dropped_after_is_applied);
    ADD(a_reset_before_or_after_ends_the_one_stream);
    ADD(a_hang_before_is_never_applied_and_never_answered);
    ADD(a_hang_after_is_applied_and_never_answered);
    ADD(a_delayed_request_is_applied_though_its_sender_has_gone);
    ADD(a_delayed_answer_comes_after_the_write);
    ADD(a_doubled_write_is_two_deliveries_and_either_answer_is_sent);
    ADD(any_status_can_be_answered_before_or_after_the_write);
    ADD(too_many_requests_comes_with_retry_after_and_plain_text);
    ADD(a_refused_stream_is_not_applied);
    ADD(a_goaway_answers_and_ends_the_connection);
    ADD(a_goaway_that_leaves_the_request_out_does_not_apply_it);
    ADD(a_truncated_answer_is_an_error_and_the_write_is_applied);
    ADD(a_skewed_date_shows_in_the_header);
    ADD(a_foreign_write_comes_right_before_the_request);
    ADD(a_hook_runs_right_before_the_request);
    return scene_run("kubesim-faults", test_case);
}
