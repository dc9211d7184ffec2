/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of the bind verb: a table of what is refused, and in which words.
 */
#include "request.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static const char good[] =
    "{\"PodName\":\"a\",\"PodNamespace\":\"ns\",\"PodUID\":\"u-1\","
    "\"Node\":\"n1\"}";

START_TEST(test_what_kube_scheduler_sends_is_read)
{
    struct bind_request request;
    char error[BIND_ERROR_MAX];
    ck_assert_int_eq(bind_request_parse(good, strlen(good), &request, error), 0);
    ck_assert_str_eq(request.namespace_name, "ns");
    ck_assert_str_eq(request.name, "a");
    ck_assert_str_eq(request.uid, "u-1");
    ck_assert_str_eq(request.node, "n1");
}
END_TEST

START_TEST(test_field_names_count_without_regard_to_case_and_the_last_one_wins)
{
    static const char body[] =
        "{\"podname\":\"x\",\"PODNAME\":\"a\",\"podNamespace\":\"ns\",\"more\":[{}],"
        "\"podUID\":\"u\",\"node\":\"n1.example\"}";
    struct bind_request request;
    char error[BIND_ERROR_MAX];
    ck_assert_int_eq(bind_request_parse(body, strlen(body), &request, error), 0);
    ck_assert_str_eq(request.name, "a");
    ck_assert_str_eq(request.node, "n1.example");
}
END_TEST

#define BODY(name, namespace_name, uid, node)                                            \
    "{\"PodName\":" name ",\"PodNamespace\":" namespace_name ",\"PodUID\":" uid          \
    ",\"Node\":" node "}"

static const struct {
    const char *body;
    const char *error; /* a part of it */
} bad[] = {
    {"", "not JSON"},
    {"hello", "not JSON"},
    {"{\"PodName\":\"a\"", "not JSON"},
    {"{\"PodName\":\"a\"} x", "not JSON"},
    {"{\"PodName\":\"\xff\xfe\"}", "not JSON"},
    {"[]", "a list, not an object"},
    {"[1]", "a list, not an object"},
    {"{}", "PodNamespace is missing"},
    {BODY("1", "\"ns\"", "\"u\"", "\"n\""), "PodName is a number, not a text"},
    {BODY("\"a\"", "[\"ns\"]", "\"u\"", "\"n\""), "PodNamespace is a list, not a text"},
    {BODY("\"a\"", "\"ns\"", "true", "\"n\""), "PodUID is true or false, not a text"},
    {BODY("\"a\"", "\"ns\"", "\"u\"", "{}"), "Node is an object, not a text"},
    {BODY("\"a\"", "\"ns\"", "\"u\"", "null"), "Node is missing"},
    {BODY("\"\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is empty"},
    {BODY("\"a,b\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a\\\"b\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a\\u0000b\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"../x\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"A\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a-\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a..b\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a.\"", "\"ns\"", "\"u\"", "\"n\""), "PodName is not a pod's name"},
    {BODY("\"a\"", "\"n.s\"", "\"u\"", "\"n\""),
     "PodNamespace is not a namespace's name"},
    {BODY("\"a\"", "\"-ns\"", "\"u\"", "\"n\""),
     "PodNamespace is not a namespace's name"},
    {BODY("\"a\"", "\"ns\"", "\"u v\"", "\"n\""), "PodUID is not a pod's uid"},
    {BODY("\"a\"", "\"ns\"", "\"u\"", "\"n/1\""), "Node is not a node's name"},
    {BODY("\"a\"", "\"ns\"", "\"u\"", "\"n?x=1\""), "Node is not a node's name"},
};

START_TEST(test_a_bad_body_is_refused_with_its_reason)
{
    struct bind_request request;
    char error[BIND_ERROR_MAX] = "";
    int status = bind_request_parse(bad[_i].body, strlen(bad[_i].body), &request, error);
    ck_assert_msg(status != 0, "%s", bad[_i].body);
    ck_assert_msg(strstr(error, bad[_i].error) != NULL, "%s gave: %s", bad[_i].body,
                  error);
    ck_assert_int_eq(strncmp(error, "invalid bind request: ", 22), 0);
    for (const char *at = error; *at != '\0'; at++) {
        ck_assert((unsigned char)*at >= 0x20 && (unsigned char)*at < 0x7f);
    }
}
END_TEST

START_TEST(test_case_2_07_a_node_name_may_have_253_characters_but_no_more)
{
    char node[256];
    char body[512];
    struct bind_request request;
    char error[BIND_ERROR_MAX];
    memset(node, 'n', sizeof(node));
    node[253] = '\0';
    (void)snprintf(body, sizeof(body), BODY("\"a\"", "\"ns\"", "\"u\"", "\"%s\""), node);
    ck_assert_int_eq(bind_request_parse(body, strlen(body), &request, error), 0);
    ck_assert_str_eq(request.node, node);
    node[253] = 'n';
    node[254] = '\0';
    (void)snprintf(body, sizeof(body), BODY("\"a\"", "\"ns\"", "\"u\"", "\"%s\""), node);
    ck_assert_int_ne(bind_request_parse(body, strlen(body), &request, error), 0);
}
END_TEST

START_TEST(test_a_body_nested_very_deep_is_refused)
{
    char body[BIND_BODY_MAX];
    struct bind_request request;
    char error[BIND_ERROR_MAX];
    memset(body, '[', sizeof(body));
    ck_assert_int_ne(bind_request_parse(body, sizeof(body), &request, error), 0);
    ck_assert_int_ne(bind_request_parse(body, sizeof(body) + 1, &request, error), 0);
}
END_TEST

START_TEST(test_answers)
{
    char *text = bind_answer_format("");
    ck_assert_str_eq(text, "{\"Error\":\"\"}");
    free(text);
    text = bind_answer_format("say \"no\"\n");
    ck_assert_str_eq(text, "{\"Error\":\"say \\\"no\\\"\\n\"}");
    free(text);
    text = bind_answer_format("\xff");
    ck_assert_ptr_nonnull(strstr(text, "{\"Error\":\""));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bind requests");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_what_kube_scheduler_sends_is_read);
    tcase_add_test(all,
                   test_field_names_count_without_regard_to_case_and_the_last_one_wins);
    tcase_add_loop_test(all, test_a_bad_body_is_refused_with_its_reason, 0,
                        (int)(sizeof(bad) / sizeof(bad[0])));
    tcase_add_test(all, test_case_2_07_a_node_name_may_have_253_characters_but_no_more);
    tcase_add_test(all, test_a_body_nested_very_deep_is_refused);
    tcase_add_test(all, test_answers);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
