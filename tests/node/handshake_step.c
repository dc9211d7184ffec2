/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is outstanding after a container was served, and what is written: tables of pods.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "pod_builder.h"

static const struct {
    const char *title;
    struct pod pod;
    size_t vendor;
    size_t count; /* of the call */
    const char *expect;
    bool is_last;
} steps[] = {
    {"the only container is the last",
     {"a", ONE(1), .gpu = "u,N,1,0:;;"},
     0,
     1,
     ";;",
     true},
    {"a later container is outstanding",
     {"a", .containers = {{1, 0}, {2, 0}}, .container_count = 2,
      .gpu = "u,N,1,0:;v,N,1,0:w,N,1,0:;"},
     0,
     1,
     ";v,N,1,0:w,N,1,0:;",
     false},
    {"the last of two is the last",
     {"a", .containers = {{1, 0}, {2, 0}}, .container_count = 2,
      .gpu = ";v,N,1,0:w,N,1,0:;"},
     0,
     2,
     ";;",
     true},
    {"a later container is outstanding though the string holds nothing for it",
     {"a", .containers = {{1, 0}, {1, 0}}, .container_count = 2, .gpu = "u,N,1,0:;"},
     0,
     1,
     ";",
     false},
    {"case 4.02: an init container is followed by the ordinary ones",
     {"a", .inits = {{1, 0}}, .init_count = 1, .containers = {{1, 0}},
      .container_count = 1, .gpu = "u,N,1,0:;v,N,1,0:;"},
     0,
     1,
     ";v,N,1,0:;",
     false},
    {"case 4.02: an init container alone is the last",
     {"a", .inits = {{1, 0}}, .init_count = 1, .containers = {{0}}, .container_count = 1,
      .gpu = "u,N,1,0:;;"},
     0,
     1,
     ";;",
     true},
    {"case 3.30: another vendor's devices of the same container are outstanding",
     {"a", .containers = {{1, 1}}, .container_count = 1, .gpu = "u,N,1,0:;",
      .npu = "x,A,1,0:;"},
     0,
     1,
     ";",
     false},
    {"case 3.30: in either order",
     {"a", .containers = {{1, 1}}, .container_count = 1, .gpu = "u,N,1,0:;",
      .npu = "x,A,1,0:;"},
     1,
     1,
     ";",
     false},
    {"case 3.30: both are out",
     {"a", .containers = {{1, 1}}, .container_count = 1, .gpu = "u,N,1,0:;", .npu = ";"},
     0,
     1,
     ";",
     true},
    {"case 4.07: another vendor's later container is outstanding",
     {"a", .containers = {{1, 0}, {0, 1}}, .container_count = 2, .gpu = "u,N,1,0:;;",
      .npu = ";x,A,1,0:;"},
     0,
     1,
     ";;",
     false},
    {"devices of a vendor that is not configured are outstanding",
     {"a", ONE(1), .gpu = "u,N,1,0:;", .other = "y,T,1,0:;"},
     0,
     1,
     ";",
     false},
    {"a used-up string of such a vendor is not",
     {"a", ONE(1), .gpu = "u,N,1,0:;", .other = ";;"},
     0,
     1,
     ";",
     true},
    {"garbage in another vendor's annotation holds up nothing",
     {"a", ONE(1), .gpu = "u,N,1,0:;", .npu = "a,b:;", .other = "a,b:;"},
     0,
     1,
     ";",
     true},
};

static void find_share(json_t *pod, size_t vendor, const size_t *counts,
                       struct hami_internal_handshake_share *ret)
{
    struct hami_internal_handshake_ask ask = make_ask(vendor, counts, 1);
    json_t *list = json_pack("{s:[O]}", "items", pod);
    char text[256] = "";

    ck_assert_msg(hami_internal_handshake_find(list, &ask, ret, text, sizeof(text)) == 0,
                  "%s", text);
    json_decref(list);
}

START_TEST(outstanding_calls_are_counted_by_the_spec)
{
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_step step = {0};
    size_t counts[] = {steps[_i].count};
    struct hami_internal_handshake_ask ask = make_ask(steps[_i].vendor, counts, 1);
    json_t *pod = pod_json(&steps[_i].pod);

    find_share(pod, steps[_i].vendor, counts, &share);
    ck_assert_int_eq(hami_internal_handshake_next(pod, &ask, &share, &step), 0);
    ck_assert_msg(strcmp(step.new_text, steps[_i].expect) == 0, "%s: %s", steps[_i].title,
                  step.new_text);
    ck_assert_msg(step.is_last == steps[_i].is_last, "%s", steps[_i].title);
    hami_internal_handshake_step_done(&step);
    hami_internal_handshake_share_done(&share);
    json_decref(pod);
}
END_TEST

static const struct {
    const char *title;
    const char *now; /* the vendor's annotation as it is now; NULL = absent */
    int code;
    const char *expect;
} changes[] = {
    {"unchanged", "u,N,1,0:;v,N,1,0:;", 0, ";v,N,1,0:;"},
    {"erased already", ";v,N,1,0:;", 0, ";v,N,1,0:;"},
    {"another container was erased meanwhile", "u,N,1,0:;;", 0, ";;"},
    {"another container was rewritten meanwhile", "u,N,1,0:;w,N,5,0:;", 0, ";w,N,5,0:;"},
    {"semicolons came", "u,N,1,0:;v,N,1,0:;;;", 0, ";v,N,1,0:;;;"},
    {"case 3.27: another device", "w,N,1,0:;v,N,1,0:;", HAMI_E_LOST, NULL},
    {"another share of it", "u,N,2,0:;v,N,1,0:;", HAMI_E_LOST, NULL},
    {"one device more", "u,N,1,0:w,N,1,0:;v,N,1,0:;", HAMI_E_LOST, NULL},
    {"garbage", "a,b", HAMI_E_LOST, NULL},
    {"gone", NULL, HAMI_E_LOST, NULL},
};

START_TEST(string_that_changed_meanwhile_is_judged_again)
{
    struct pod before = {"a", .containers = {{1, 0}, {1, 0}}, .container_count = 2,
                         .gpu = "u,N,1,0:;v,N,1,0:;"};
    struct pod after = before;
    struct hami_internal_handshake_share share = {0};
    struct hami_internal_handshake_step step = {0};
    size_t counts[] = {1};
    struct hami_internal_handshake_ask ask = make_ask(0, counts, 1);
    json_t *pod = pod_json(&before);
    json_t *now;
    int code;

    after.gpu = changes[_i].now;
    now = pod_json(&after);
    find_share(pod, 0, counts, &share);
    code = hami_internal_handshake_next(now, &ask, &share, &step);
    ck_assert_msg(code == changes[_i].code, "%s: %s", changes[_i].title,
                  hami_errname(code));
    if (code == 0) {
        ck_assert_str_eq(step.old_text, changes[_i].now);
        ck_assert_str_eq(step.new_text, changes[_i].expect);
        hami_internal_handshake_step_done(&step);
    }
    hami_internal_handshake_share_done(&share);
    json_decref(pod);
    json_decref(now);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("what is left afterwards");
    TCase *pods = tcase_create("pods");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(pods, outstanding_calls_are_counted_by_the_spec, 0, COUNT(steps));
    tcase_add_loop_test(pods, string_that_changed_meanwhile_is_judged_again, 0,
                        COUNT(changes));
    suite_add_tcase(suite, pods);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
