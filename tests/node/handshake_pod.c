/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom an Allocate can be for: the choice of the node side, as a table of pods.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pod_builder.h"

static const struct {
    const char *title;
    struct pod pods[4];
    size_t counts[3]; /* of the call; 0 ends */
    int code;
    const char *name; /* of the pod served */
    const char *container;
    size_t entry;
} questions[] = {
    {"the only pod that asks is served",
     {{"a", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     0,
     "a",
     "c0",
     0},
    {"nobody waits", {{.name = NULL}}, {1}, HAMI_E_LOST, NULL, NULL, 0},
    {"a pod of another node can't be the caller",
     {{"a", ONE(1), .gpu = "u,N,1,0:;", .node = "n2"}},
     {1},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"a Running pod can't be the caller",
     {{"a", ONE(1), .gpu = "u,N,1,0:;", .status = "Running"}},
     {1},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"case 1.35: two pods of one count are ambiguous",
     {{"a", ONE(1), .gpu = "u,N,1,0:;"}, {"b", ONE(1), .gpu = "v,N,1,0:;"}},
     {1},
     HAMI_E_BUSY,
     NULL,
     NULL,
     0},
    {"case 4.14: of two pods the one with the count of the call is served",
     {{"a", ONE(1), .gpu = "u,N,1,0:;"}, {"b", ONE(2), .gpu = "v,N,1,0:w,N,1,0:;"}},
     {2},
     0,
     "b",
     "c0",
     0},
    {"case 4.13: a count that no pod asks is nobody's",
     {{"a", ONE(1), .gpu = "u,N,1,0:;"}},
     {2},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"a string that does not fit what the container asks is refused",
     {{"a", ONE(2), .gpu = "u,N,1,0:;"}},
     {2},
     HAMI_E_LIMIT,
     NULL,
     NULL,
     0},
    {"a string with more devices than the container asks does not make it the caller",
     {{"a", ONE(1), .gpu = "u,N,1,0:v,N,1,0:;"}},
     {2},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"case 4.09: an entry's index is its container's",
     {{"a", .containers = {{0}, {0}, {1, 0}, {0}}, .container_count = 4,
       .gpu = ";;u,N,1,0:;;"}},
     {1},
     0,
     "a",
     "c2",
     2},
    {"case 4.09: an entry beyond the containers is an error",
     {{"a", ONE(1), .gpu = "u,N,1,0:;v,N,1,0:;"}},
     {1},
     HAMI_E_PROTO,
     NULL,
     NULL,
     0},
    {"case 4.11: surplus semicolons are tolerated",
     {{"a", ONE(1), .gpu = "u,N,1,0:;;;;;;;"}},
     {1},
     0,
     "a",
     "c0",
     0},
    {"case 4.18: the next container that is not served is meant",
     {{"a", .containers = {{1, 0}, {2, 0}}, .container_count = 2,
       .gpu = ";v,N,1,0:w,N,1,0:;"}},
     {2},
     0,
     "a",
     "c1",
     1},
    {"case 4.18: not a later one, whatever it asks",
     {{"a", .containers = {{1, 0}, {2, 0}}, .container_count = 2,
       .gpu = "u,N,1,0:;v,N,1,0:w,N,1,0:;"}},
     {2},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"several containers in one call are served together",
     {{"a", .containers = {{1, 0}, {2, 0}}, .container_count = 2,
       .gpu = "u,N,1,0:;v,N,1,0:w,N,1,0:;"}},
     {1, 2},
     0,
     "a",
     "c0",
     0},
    {"more containers in one call than are left are refused",
     {{"a", ONE(1), .gpu = "u,N,1,0:;"}},
     {1, 1},
     HAMI_E_LIMIT,
     NULL,
     NULL,
     0},
    {"init containers come first",
     {{"a", .inits = {{1, 0}}, .init_count = 1, .containers = {{1, 0}},
       .container_count = 1, .gpu = "u,N,1,0:;v,N,1,0:;"}},
     {1},
     0,
     "a",
     "init0",
     0},
    {"a string of an older HAMi leaves init containers out",
     {{"a", .inits = {{0}}, .init_count = 1, .containers = {{2, 0}}, .container_count = 1,
       .gpu = "u,N,1,0:v,N,1,0:;"}},
     {2},
     0,
     "a",
     "c0",
     0},
    {"a pod without devices may be calling all the same: it is refused",
     {{"a", ONE(1)}},
     {1},
     HAMI_E_LOST,
     NULL,
     NULL,
     0},
    {"a pod without devices makes another one ambiguous",
     {{"a", ONE(1)}, {"b", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     HAMI_E_BUSY,
     NULL,
     NULL,
     0},
    {"a pod that was served and is not Running yet is not counted",
     {{"a", ONE(1), .gpu = ";", .phase = "success"}, {"b", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     0,
     "b",
     "c0",
     0},
    {"a pod that was refused and is not Failed yet is not counted",
     {{"a", ONE(1), .gpu = "u,N,1,0:;", .phase = "failed"},
      {"b", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     0,
     "b",
     "c0",
     0},
    {"a phase written after the first container hides no later one",
     {{"a", .containers = {{1, 0}, {1, 0}}, .container_count = 2, .gpu = ";u,N,1,0:;",
       .phase = "success"}},
     {1},
     0,
     "a",
     "c1",
     1},
    {"a used-up string without success may still be calling",
     {{"a", ONE(1), .gpu = ";", .phase = "allocating"},
      {"b", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     HAMI_E_BUSY,
     NULL,
     NULL,
     0},
    {"a malformed string is refused",
     {{"a", ONE(1), .gpu = "u,N:;"}},
     {1},
     HAMI_E_PROTO,
     NULL,
     NULL,
     0},
    {"a malformed string of a pod with another count concerns nobody",
     {{"a", ONE(2), .gpu = "u,N:;"}, {"b", ONE(1), .gpu = "u,N,1,0:;"}},
     {1},
     0,
     "b",
     "c0",
     0},
    {"devices of a container that asks none are malformed",
     {{"a", .containers = {{0}, {1, 0}}, .container_count = 2, .gpu = "u,N,1,0:;"}},
     {1},
     HAMI_E_PROTO,
     NULL,
     NULL,
     0},
    {"case 4.03: annotations do not make a pod that asks nothing a caller",
     {{"a", .containers = {{0}}, .container_count = 1, .gpu = "u,N,1,0:;",
       .phase = "allocating"},
      {"b", ONE(1), .gpu = "v,N,1,0:;"}},
     {1},
     0,
     "b",
     "c0",
     0},
    {"a resource of another vendor is not looked at",
     {{"a", .containers = {{0, 1}}, .container_count = 1, .npu = "u,A,1,0:;"},
      {"b", ONE(1), .gpu = "v,N,1,0:;"}},
     {1},
     0,
     "b",
     "c0",
     0},
};

START_TEST(caller_is_found)
{
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_ask ask;
    json_t *items = json_array();
    json_t *list = json_pack("{s:o}", "items", items);
    char text[512] = "";
    size_t count = 0;
    int code;

    for (size_t i = 0; questions[_i].pods[i].name != NULL; i++) {
        json_array_append_new(items, pod_json(&questions[_i].pods[i]));
    }
    while (questions[_i].counts[count] != 0) {
        count++;
    }
    ask = make_ask(0, questions[_i].counts, count);
    code = hami_internal_handshake_find(list, &ask, &share, text, sizeof(text));
    ck_assert_msg(code == questions[_i].code, "%s: %s, \"%s\"", questions[_i].title,
                  hami_errname(code), text);
    if (code == 0) {
        ck_assert_str_eq(json_string_value(json_object_get(
                             json_object_get(share.pod, "metadata"), "name")),
                         questions[_i].name);
        ck_assert_str_eq(share.names[0], questions[_i].container);
        ck_assert_uint_eq(share.entries[0], questions[_i].entry);
        ck_assert_uint_eq(share.count, count);
    } else {
        ck_assert_str_ne(text, ""); /* says why */
        ck_assert_ptr_null(share.pod);
    }
    hami_internal_handshake_share_done(&share);
    json_decref(list);
}
END_TEST

START_TEST(answers_that_are_no_list_of_pods_are_refused)
{
    static const char *const texts[] = {
        "{}",
        "{\"items\":7}",
        "{\"items\":{}}",
        "{\"items\":\"x\"}",
        "{\"kind\":\"Status\"}",
    };
    struct hami_internal_handshake_share share = {0};
    size_t counts[] = {1};
    struct hami_internal_handshake_ask ask = make_ask(0, counts, 1);
    char text[256];

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        json_t *list = json_loads(texts[i], 0, NULL);

        ck_assert_int_eq(
            hami_internal_handshake_find(list, &ask, &share, text, sizeof(text)),
            HAMI_E_PROTO);
        json_decref(list);
    }
}
END_TEST

START_TEST(pods_with_odd_members_are_passed_over)
{
    static const char odd[] =
        "{\"items\":[null,7,\"x\",[],{},{\"metadata\":7},{\"metadata\":{\"uid\":7}},"
        "{\"metadata\":{\"uid\":\"u\",\"name\":\"p\",\"namespace\":\"ns\","
        "\"annotations\":[]},"
        "\"spec\":{\"nodeName\":\"n1\",\"containers\":{\"a\":1}},\"status\":{\"phase\":"
        "\"Pending\"}},"
        "{\"metadata\":{\"uid\":\"u\",\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{"
        "\"nodeName\":\"n1\",\"containers\":[null,{\"resources\":{\"limits\":{"
        "\"nvidia.com/gpu\":\"1k\"}}},{\"resources\":{\"limits\":{\"nvidia.com/"
        "gpu\":-1}}}]},"
        "\"status\":{\"phase\":\"Pending\"}}]}";
    struct hami_internal_handshake_share share = {0};
    size_t counts[] = {1};
    struct hami_internal_handshake_ask ask = make_ask(0, counts, 1);
    json_t *list = json_loads(odd, 0, NULL);
    char text[256];

    ck_assert_ptr_nonnull(list);
    ck_assert_int_eq(hami_internal_handshake_find(list, &ask, &share, text, sizeof(text)),
                     HAMI_E_LOST);
    json_decref(list);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whom an Allocate is for");
    TCase *pods = tcase_create("pods");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(pods, caller_is_found, 0, COUNT(questions));
    tcase_add_test(pods, answers_that_are_no_list_of_pods_are_refused);
    tcase_add_test(pods, pods_with_odd_members_are_passed_over);
    suite_add_tcase(suite, pods);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
