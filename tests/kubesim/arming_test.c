/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* When a fault hits: turn, count, chance, arming over HTTP; and the server's stop. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

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

START_TEST(a_fault_waits_for_its_turn_and_ends_with_its_count)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .user = "u", .name = "n1"},
                                  .skip = 2,
                                  .count = 3,
                                  .action = KUBESIM_STATUS,
                                  .status = 500};
    static const long expected[] = {200, 200, 500, 500, 500, 200};
    choose(_i);
    int id = kubesim_arm(sim, &fault);
    for (unsigned i = 0; i < 6; i++) {
        expect_patch(expected[i], true, i + 1);
    }
    ck_assert_uint_eq(kubesim_hits(sim, id), 3);
    fault.count = 0;
    fault.skip = 0;
    fault.match.user = "v";
    kubesim_arm(sim, &fault);
    expect_patch(200, true, 7);
    fault.match = (struct kubesim_match){.body = "\"a\":\"1\""};
    id = kubesim_arm(sim, &fault);
    expect_patch(500, true, 8);
    kubesim_disarm(sim, id);
    expect_patch(200, true, 9);
}
END_TEST

/* How many of 200 patches met the fault, as a pattern in BITS. */
static unsigned play(uint64_t seed, char *bits)
{
    const struct kubesim_fault fault = {.match = {.verb = "patch"},
                                        .probability = 0.25,
                                        .seed = seed,
                                        .action = KUBESIM_STATUS,
                                        .status = 500};
    int id = kubesim_arm(sim, &fault);
    for (int i = 0; i < 200; i++) {
        struct reply reply = patch();
        bits[i] = reply.code == 500 ? '1' : '0';
        reply_clear(&reply);
    }
    unsigned hits = kubesim_hits(sim, id);
    kubesim_disarm(sim, 0);
    bits[200] = '\0';
    return hits;
}

START_TEST(a_probable_fault_hits_by_its_seed)
{
    char first[201], again[201], other[201];
    choose(_i);
    unsigned hits = play(7, first);
    ck_assert_uint_gt(hits, 20);
    ck_assert_uint_lt(hits, 90);
    play(7, again);
    play(8, other);
    ck_assert_str_eq(first, again);
    ck_assert_str_ne(first, other);
}
END_TEST

START_TEST(faults_are_armed_over_http_too)
{
    choose(_i);
    struct reply reply = peer_send(
        &peer, "POST", "/kubesim/faults", JSON_TYPE,
        "{\"verb\":\"patch\",\"count\":1,\"action\":\"status\",\"status\":503}", NULL);
    ck_assert_int_eq(reply.code, 201);
    int id = (int)json_integer_value(json_object_get(reply.json, "id"));
    reply_clear(&reply);
    expect_patch(503, false, 1);
    ck_assert_uint_eq(kubesim_hits(sim, id), 1);
    reply = peer_send(&peer, "GET", "/kubesim/faults", NULL, NULL, NULL);
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_array_get(reply.json, 0), "hits")), 1);
    reply_clear(&reply);
    reply = peer_send(&peer, "DELETE", "/kubesim/faults", NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    static const char *const wrong[] = {"{\"action\":\"fly\"}", "{\"vreb\":\"patch\"}",
                                        "[]", "{x", "{\"action\":\"status\"}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        reply = peer_send(&peer, "POST", "/kubesim/faults", JSON_TYPE, wrong[i], NULL);
        ck_assert_int_eq(reply.code, 400);
        reply_clear(&reply);
    }
    reply = peer_send(&peer, "GET", "/kubesim/counters", NULL, NULL, NULL);
    ck_assert_int_eq(json_integer_value(json_object_get(reply.json, "deliveries")), 1);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_stop_ends_requests_that_are_still_delayed)
{
    const struct kubesim_fault fault = {.match = {.verb = "patch"},
                                        .delay_before_ms = 500000};
    choose(_i);
    kubesim_arm(sim, &fault);
    ck_assert_int_eq(impatient_patch(), CURLE_OPERATION_TIMEDOUT);
    kubesim_stop(sim);
    ck_assert_ptr_null(kubesim_annotation(sim, "nodes", NULL, "n1", "a"));
    json_t *log = kubesim_log(sim, &patches);
    ck_assert_uint_eq(json_array_size(log), 1); /* accounted for, not applied */
    ck_assert_str_eq(
        json_text_at(json_array_get(log, 0), "/annotations/kubesim~1sequence"), "");
    json_decref(log);
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("arming");
    tcase_add_checked_fixture(test_case, scene_setup_users, scene_teardown);
#define ADD(test) tcase_add_loop_test(test_case, test, 0, 2)
    ADD(a_fault_waits_for_its_turn_and_ends_with_its_count);
    ADD(a_probable_fault_hits_by_its_seed);
    ADD(faults_are_armed_over_http_too);
    ADD(a_stop_ends_requests_that_are_still_delayed);
    return scene_run("kubesim-arming", test_case);
}
