/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which calls of Allocate a pod's containers lead to, as they are told.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pod.h"
#include "pod_cache.h"
#include "suite.h"

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(value);
    return value;
}

/* The calls of a pod whose containers, and init containers, have these resources. */
static const char *calls_of(const char *containers, const char *init_containers)
{
    static char told[1024];
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    json_t *pod =
        json_pack("{s:{s:s}, s:{s:o, s:o}}", "metadata", "uid", "u", "spec", "containers",
                  parse(containers), "initContainers", parse(init_containers));
    hami_internal_pod_describe(pod, &texts, &described);
    told[0] = '\0';
    for (size_t i = 0; i < described.call_count; i++) {
        size_t length = strlen(told);
        snprintf(told + length, sizeof(told) - length, "%s%s", i > 0 ? " " : "",
                 described.calls[i]);
    }
    json_decref(pod);
    return told;
}

START_TEST(calls_are_one_for_each_container_and_extended_resource)
{
    ck_assert_str_eq(
        calls_of("[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"2\","
                 "\"cpu\":\"4\",\"hugepages-2Mi\":\"1\"}}},"
                 "{\"resources\":{\"limits\":{\"nvidia.com/gpu\":1}}}]",
                 "[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\"}}}]"),
        "nvidia.com/gpu=1 nvidia.com/gpu=2");
    ck_assert_str_eq(
        calls_of("[{\"resources\":{\"limits\":{\"a.io/x\":\"1\"},\"requests\":"
                 "{\"a.io/x\":\"3\",\"b.io/y\":\"007\"}}}]",
                 "[]"),
        "a.io/x=1 b.io/y=7");
    ck_assert_str_eq(calls_of("[{\"resources\":{\"limits\":{"
                              "\"requests.kubernetes.io/x\":\"1\",\"memory\":\"1Gi\"}}}]",
                              "[]"),
                     "");
    ck_assert_str_eq(calls_of("[{},{\"resources\":{\"limits\":{\"a.io/x\":\"0\","
                              "\"b.io/x\":0,\"c.io/x\":\"00\",\"d.io/x\":null}}}]",
                              "[]"),
                     "");
}
END_TEST

START_TEST(a_count_that_is_no_plain_number_is_told_as_unknown)
{
    static const char *const counts[] = {"\"1k\"",
                                         "\"1e0\"",
                                         "\"1.0\"",
                                         "\"-1\"",
                                         "\"+1\"",
                                         "\" 1\"",
                                         "\"1 \"",
                                         "\"0x1\"",
                                         "1.5",
                                         "\"m\"",
                                         "\"99999999999999999999999\""};
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        char containers[128];
        snprintf(containers, sizeof(containers),
                 "[{\"resources\":{\"limits\":{\"a.io/x\":%s}}}]", counts[i]);
        ck_assert_msg(strcmp(calls_of(containers, "[]"), "a.io/x=?") == 0, "%s",
                      counts[i]);
    }
}
END_TEST

/* Containers that ask for 1 to `count` of a resource. */
static json_t *containers_that_differ(size_t count, const char *resource)
{
    json_t *containers = json_array();
    for (size_t i = 1; i <= count; i++) {
        json_array_append_new(containers, json_pack("{s:{s:{s:I}}}", "resources",
                                                    "limits", resource, (json_int_t)i));
    }
    return containers;
}

START_TEST(a_pod_with_more_calls_than_are_told_tells_none_of_them)
{
    static const struct {
        size_t count;
        const char *resource;
        size_t told;
    } rows[] = {
        {HAMI_INTERNAL_POD_CALLS_MAX, "a.io/x", HAMI_INTERNAL_POD_CALLS_MAX},
        {HAMI_INTERNAL_POD_CALLS_MAX + 1, "a.io/x", 1},
        {30, "a.io/x01234567890123456789012345678901234567890123456789012345678", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_internal_pod_texts texts;
        struct hami_kubernetes_pod described;
        json_t *pod =
            json_pack("{s:{s:s}, s:{s:o}}", "metadata", "uid", "u", "spec", "containers",
                      containers_that_differ(rows[i].count, rows[i].resource));
        hami_internal_pod_describe(pod, &texts, &described);
        ck_assert_uint_eq(described.call_count, rows[i].told);
        if (rows[i].told == 1) {
            ck_assert_str_eq(described.calls[0], "?");
        }
        json_decref(pod);
    }
}
END_TEST

START_TEST(a_remembered_pod_has_the_calls_of_the_pod_itself)
{
    static struct hami_internal_pod_known known;
    struct hami_internal_pod_cache *cache = hami_internal_pod_cache_new(0);
    json_t *pod =
        parse("{\"metadata\":{\"namespace\":\"ns\",\"name\":\"a\",\"uid\":\"u\","
              "\"resourceVersion\":\"1\"},\"spec\":{\"containers\":["
              "{\"resources\":{\"limits\":{\"a.io/x\":\"2\",\"b.io/y\":\"?\"}}},"
              "{\"resources\":{\"limits\":{\"a.io/x\":\"1\"}}}]}}");
    hami_internal_pod_cache_put(cache, pod);
    ck_assert(hami_internal_pod_cache_describe(cache, "ns", "a", &known));
    ck_assert_uint_eq(known.pod.call_count, 3);
    ck_assert_str_eq(known.pod.calls[0], "a.io/x=2");
    ck_assert_str_eq(known.pod.calls[1], "b.io/y=?");
    ck_assert_str_eq(known.pod.calls[2], "a.io/x=1");
    ck_assert_uint_eq(known.pod.resource_count, 1);
    json_decref(pod);
    hami_internal_pod_cache_free(cache);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_pod_calls");
    TCase *cases = tcase_create("calls");
    tcase_add_test(cases, calls_are_one_for_each_container_and_extended_resource);
    tcase_add_test(cases, a_count_that_is_no_plain_number_is_told_as_unknown);
    tcase_add_test(cases, a_pod_with_more_calls_than_are_told_tells_none_of_them);
    tcase_add_test(cases, a_remembered_pod_has_the_calls_of_the_pod_itself);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
