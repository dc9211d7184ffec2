/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom an Allocate can be for, and what is outstanding afterwards: the pure part of the
 * node side, as tables of pods.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "handshake_pod.h"

#define GPU "nvidia.com/gpu"
#define NPU "huawei.com/npu"
#define GPU_KEY "hami.io/vgpu-devices-to-allocate"
#define NPU_KEY "hami.io/npu-devices-to-allocate"

static const struct hami_handshake_vendor vendors[] = {{GPU, GPU_KEY}, {NPU, NPU_KEY}};

/* One container: what it asks of each resource. */
struct wants {
    int gpu;
    int npu;
};

/* A pod in short. Zero is: no init containers, no annotation. */
struct pod {
    const char *name; /* NULL ends a list */
    struct wants inits[3];
    size_t init_count;
    struct wants containers[5];
    size_t container_count;
    const char *gpu; /* to-allocate strings; NULL = absent */
    const char *npu;
    const char *other;  /* of a vendor that is not configured */
    const char *phase;  /* bind-phase */
    const char *node;   /* NULL = n1 */
    const char *status; /* NULL = Pending */
};

static json_t *container_json(const char *name, size_t index, const struct wants *wants)
{
    char text[32];
    json_t *limits = json_object();

    snprintf(text, sizeof(text), "%s%zu", name, index);
    if (wants->gpu != 0) {
        char number[16];

        snprintf(number, sizeof(number), "%d", wants->gpu);
        json_object_set_new(limits, GPU, json_string(number));
    }
    if (wants->npu != 0) {
        json_object_set_new(limits, NPU, json_integer(wants->npu));
    }
    return json_pack("{s:s, s:{s:o}}", "name", text, "resources", "limits", limits);
}

static json_t *pod_json(const struct pod *pod)
{
    json_t *inits = json_array(), *containers = json_array(),
           *annotations = json_object();

    for (size_t i = 0; i < pod->init_count; i++) {
        json_array_append_new(inits, container_json("init", i, &pod->inits[i]));
    }
    for (size_t i = 0; i < pod->container_count; i++) {
        json_array_append_new(containers, container_json("c", i, &pod->containers[i]));
    }
    if (pod->gpu != NULL) {
        json_object_set_new(annotations, GPU_KEY, json_string(pod->gpu));
    }
    if (pod->npu != NULL) {
        json_object_set_new(annotations, NPU_KEY, json_string(pod->npu));
    }
    if (pod->other != NULL) {
        json_object_set_new(annotations, "hami.io/tpu-devices-to-allocate",
                            json_string(pod->other));
    }
    if (pod->phase != NULL) {
        json_object_set_new(annotations, HAMI_HANDSHAKE_PHASE_KEY,
                            json_string(pod->phase));
    }
    return json_pack("{s:{s:s, s:s, s:s, s:o}, s:{s:s, s:o, s:o}, s:{s:s}}", "metadata",
                     "namespace", "ns", "name", pod->name, "uid", pod->name,
                     "annotations", annotations, "spec", "nodeName",
                     pod->node != NULL ? pod->node : "n1", "initContainers", inits,
                     "containers", containers, "status", "phase",
                     pod->status != NULL ? pod->status : "Pending");
}

static struct hami_internal_handshake_ask make_ask(size_t vendor, const size_t *counts,
                                                   size_t count)
{
    return (struct hami_internal_handshake_ask){"n1", vendors, 2, vendor, counts, count};
}

/* ---- who is it? ----------------------------------------------------------------- */

#define ONE(n) .containers = {{(n), 0}}, .container_count = 1

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

/* ---- what is left afterwards? --------------------------------------------------- */

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

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
    Suite *suite = suite_create("whom an Allocate is for");
    TCase *pods = tcase_create("pods");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(pods, caller_is_found, 0, COUNT(questions));
    tcase_add_test(pods, answers_that_are_no_list_of_pods_are_refused);
    tcase_add_test(pods, pods_with_odd_members_are_passed_over);
    tcase_add_loop_test(pods, outstanding_calls_are_counted_by_the_spec, 0, COUNT(steps));
    tcase_add_loop_test(pods, string_that_changed_meanwhile_is_judged_again, 0,
                        COUNT(changes));
    suite_add_tcase(suite, pods);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
