/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from a pod, and what a Binding may make of them, as tables.
 */
#include <check.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "pod.h"
#include "suite.h"

static json_t *parse(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(value);
    return value;
}

START_TEST(facts_are_what_the_pod_says)
{
    struct hami_owner_facts facts;
    json_t *pod = parse(
        "{\"metadata\":{\"uid\":\"u1\",\"resourceVersion\":\"42\","
        "\"deletionTimestamp\":\"2026-01-01T00:00:00Z\",\"annotations\":{"
        "\"hami.io/bind-phase\":\"success\",\"hami.io/vgpu-node\":\"n1\","
        "\"hami.io/mutex.fence\":\"18446744073709551615\",\"hami.io/mutex.done\":\"7\","
        "\"hami.io/mutex.revoked\":\"n1,7,h,1\"}},"
        "\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}");
    hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
    ck_assert(facts.known && facts.exists && facts.deleting && facts.started);
    ck_assert(!facts.finished && !facts.devices_left);
    ck_assert_str_eq(facts.uid, "u1");
    ck_assert_str_eq(facts.version, "42");
    ck_assert_str_eq(facts.node, "n1");
    ck_assert_str_eq(facts.assigned_node, "n1");
    ck_assert_str_eq(facts.revoked, "n1,7,h,1");
    ck_assert_int_eq(facts.bind_phase, HAMI_BIND_PHASE_SUCCESS);
    ck_assert_uint_eq(facts.fence, UINT64_MAX);
    ck_assert_uint_eq(facts.done, 7);
    json_decref(pod);
}
END_TEST

START_TEST(a_pod_that_says_nothing_is_unbound_and_not_begun)
{
    struct hami_owner_facts facts;
    json_t *pod = parse("{\"metadata\":{\"uid\":\"u1\",\"annotations\":null},\"spec\":"
                        "{\"nodeName\":\"\"},\"status\":{\"phase\":\"Weird\"}}");
    hami_internal_pod_facts(pod, HAMI_FACTS_WATCH, &facts);
    ck_assert(facts.known && facts.exists);
    ck_assert(!facts.deleting && !facts.started && !facts.finished &&
              !facts.devices_left);
    ck_assert_ptr_null(facts.node);
    ck_assert_ptr_null(facts.assigned_node);
    ck_assert_ptr_null(facts.revoked);
    ck_assert_uint_eq(facts.fence, 0);
    ck_assert_int_eq(facts.bind_phase, HAMI_BIND_PHASE_NONE);
    ck_assert_int_eq(facts.source, HAMI_FACTS_WATCH);
    json_decref(pod);
    hami_internal_pod_facts_absent(&facts);
    ck_assert(facts.known && !facts.exists);
    ck_assert_int_eq(facts.source, HAMI_FACTS_READ);
}
END_TEST

START_TEST(phases_end_or_start_a_pod)
{
    static const struct {
        const char *phase;
        bool started;
        bool finished;
    } rows[] = {
        {"Pending", false, false}, {"Running", true, false},  {"Succeeded", false, true},
        {"Failed", false, true},   {"Unknown", false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_owner_facts facts;
        json_t *pod = json_pack("{s:{s:s}, s:{s:s}}", "metadata", "uid", "u", "status",
                                "phase", rows[i].phase);
        hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
        ck_assert_msg(facts.started == rows[i].started, "%s", rows[i].phase);
        ck_assert_msg(facts.finished == rows[i].finished, "%s", rows[i].phase);
        json_decref(pod);
    }
}
END_TEST

START_TEST(devices_are_left_until_only_separators_are)
{
    static const struct {
        const char *key;
        const char *text;
        bool left;
    } rows[] = {
        {"hami.io/vgpu-devices-to-allocate", "", false},
        {"hami.io/vgpu-devices-to-allocate", ";;", false},
        {"hami.io/vgpu-devices-to-allocate", ":;: , ;", false},
        {"hami.io/vgpu-devices-to-allocate", "GPU-1,NVIDIA,100,10:;", true},
        {"hami.io/vgpu-devices-to-allocate", ";GPU-1,NVIDIA,100,10:;", true},
        {"hami.io/vgpu-devices-to-allocate", "what is this", true},
        {"hami.io/other-devices-to-allocate", "X", true},
        {"-devices-to-allocate", "X", true},
        {"hami.io/vgpu-devices-allocated", "GPU-1,NVIDIA,100,10:;", false},
        {"devices-to-allocate", "X", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_owner_facts facts;
        json_t *pod = json_pack("{s:{s:s, s:{s:s}}}", "metadata", "uid", "u",
                                "annotations", rows[i].key, rows[i].text);
        hami_internal_pod_facts(pod, HAMI_FACTS_READ, &facts);
        ck_assert_msg(facts.devices_left == rows[i].left, "row %zu", i);
        json_decref(pod);
    }
}
END_TEST

START_TEST(only_a_plain_number_is_a_fence)
{
    static const struct {
        const char *text;
        uint64_t number;
    } rows[] = {
        {NULL, 0},
        {"", 0},
        {"0", 0},
        {"7", 7},
        {"007", 7},
        {"-1", 0},
        {"+1", 0},
        {"1 ", 0},
        {"0x1", 0},
        {"1e3", 0},
        {"18446744073709551615", UINT64_MAX},
        {"18446744073709551616", 0},
        {"99999999999999999999999", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_msg(hami_internal_pod_number(rows[i].text) == rows[i].number, "row %zu",
                      i);
    }
}
END_TEST

START_TEST(quantities_are_above_zero_or_not)
{
    static const struct {
        const char *json;
        bool above;
    } rows[] = {
        {"\"1\"", true},   {"\"0\"", false},    {"\"00\"", false}, {"\"500m\"", true},
        {"\"0.5\"", true}, {"\"0.0\"", false},  {"\"1e3\"", true}, {"\"0e9\"", false},
        {"\"\"", false},   {"\"-1\"", false},   {"\"+2\"", true},  {"\"4Gi\"", true},
        {"1", true},       {"0", false},        {"-3", false},     {"0.25", true},
        {"null", false},   {"\"zero\"", false}, {"\"x9\"", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
        ck_assert_msg(hami_internal_pod_is_above_zero(value) == rows[i].above, "%s",
                      rows[i].json);
        json_decref(value);
    }
}
END_TEST

static const struct {
    const char *pod, *group; /* NULL = none */
} groups[] = {
    {"{\"metadata\":{\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"a\"}}}", "a"},
    {"{\"metadata\":{\"labels\":{\"pod-group.scheduling.sigs.k8s.io\":\"b\"}}}", "b"},
    {"{\"metadata\":{\"labels\":{\"pod-group.scheduling.sigs.k8s.io/name\":\"c\"}}}",
     "c"},
    {"{\"metadata\":{\"annotations\":{\"scheduling.k8s.io/group-name\":\"d\"}}}", "d"},
    {"{\"spec\":{\"schedulingGroup\":{\"podGroupName\":\"e\"}}}", "e"},
    {"{\"spec\":{\"workloadRef\":{\"name\":\"f\",\"podGroup\":\"g\"}}}", "f/g"},
    {"{\"spec\":{\"workloadRef\":{\"name\":\"f\",\"podGroup\":\"g\","
     "\"podGroupReplicaKey\":\"0\"}}}",
     "f/g/0"},
    {"{\"spec\":{\"workloadRef\":{\"name\":\"f\"}}}", NULL},
    {"{\"spec\":{\"workloadRef\":{\"podGroup\":\"g\"}}}", NULL},
    {"{\"spec\":{\"workloadRef\":[1]}}", NULL},
    /* What its author may write freely and is no name at all counts for nothing. */
    {"{\"metadata\":{\"annotations\":{\"scheduling.k8s.io/group-name\":\"d e\"}}}", NULL},
    {"{\"metadata\":{\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"\"},"
     "\"annotations\":{\"scheduling.k8s.io/group-name\":\"d\"}}}",
     "d"},
    {"{\"metadata\":{\"labels\":{\"scheduling.x-k8s.io/pod-group\":7}}}", NULL},
};

START_TEST(a_group_is_found_in_each_form_in_which_pods_name_one)
{
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    json_t *pod = parse(groups[_i].pod);

    hami_internal_pod_describe(pod, &texts, &described);
    if (groups[_i].group != NULL) {
        ck_assert_ptr_nonnull(described.group);
        ck_assert_str_eq(described.group, groups[_i].group);
    } else {
        ck_assert_ptr_null(described.group);
    }
    json_decref(pod);
}
END_TEST

START_TEST(a_group_that_is_too_long_counts_for_nothing)
{
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    char name[HAMI_NODELOCK_GROUP_MAX + 2];

    memset(name, 'x', sizeof(name) - 1);
    for (size_t length = sizeof(name) - 1; length > sizeof(name) - 3; length--) {
        name[length] = '\0';
        json_t *pod = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                                "scheduling.k8s.io/group-name", name);
        hami_internal_pod_describe(pod, &texts, &described);
        ck_assert((described.group != NULL) == (length <= HAMI_NODELOCK_GROUP_MAX));
        json_decref(pod);
        pod = json_pack("{s:{s:{s:s, s:s}}}", "spec", "workloadRef", "name", name,
                        "podGroup", "g");
        hami_internal_pod_describe(pod, &texts, &described);
        ck_assert_ptr_null(described.group);
        json_decref(pod);
    }
}
END_TEST

START_TEST(a_description_has_scheduler_priority_group_and_resources)
{
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    json_t *pod =
        parse("{\"metadata\":{\"uid\":\"u\",\"labels\":{"
              "\"scheduling.x-k8s.io/pod-group\":\"gang\"}},\"spec\":{"
              "\"schedulerName\":\"hami-scheduler\",\"priority\":99999999999,"
              "\"containers\":[{\"resources\":{\"limits\":{\"nvidia.com/gpu\":\"1\","
              "\"nvidia.com/gpumem\":\"0\"},\"requests\":{\"nvidia.com/"
              "gpu\":\"1\",\"cpu\":1}}},{},"
              "{\"resources\":[]}],"
              "\"initContainers\":[{\"resources\":{\"limits\":{\"huawei.com/npu\":2}}}],"
              "\"ephemeralContainers\":[{\"resources\":{\"limits\":{\"x/y\":\"1\"}}}]}}");
    hami_internal_pod_describe(pod, &texts, &described);
    ck_assert_str_eq(described.scheduler_name, "hami-scheduler");
    ck_assert_int_eq(described.priority, INT32_MAX);
    ck_assert_str_eq(described.group, "gang");
    ck_assert_uint_eq(described.resource_count, 3);
    ck_assert_str_eq(described.resources[0], "nvidia.com/gpu");
    ck_assert_str_eq(described.resources[1], "cpu");
    ck_assert_str_eq(described.resources[2], "huawei.com/npu");
    json_decref(pod);
    pod = parse("{\"metadata\":{\"uid\":\"u\"},\"spec\":{\"priority\":-5,"
                "\"schedulingGroup\":{\"podGroupName\":\"native\"}}}");
    hami_internal_pod_describe(pod, &texts, &described);
    ck_assert_int_eq(described.priority, -5);
    ck_assert_str_eq(described.group, "native");
    ck_assert_ptr_null(described.scheduler_name);
    ck_assert_uint_eq(described.resource_count, 0);
    json_decref(pod);
}
END_TEST

START_TEST(more_resources_than_are_told_do_no_harm)
{
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    json_t *limits = json_object();
    char name[32];
    for (int i = 0; i < 2 * HAMI_INTERNAL_POD_RESOURCES_MAX; i++) {
        snprintf(name, sizeof(name), "example.com/r%d", i);
        json_object_set_new(limits, name, json_integer(1));
    }
    json_t *pod = json_pack("{s:{s:s}, s:{s:[{s:{s:o}}]}}", "metadata", "uid", "u",
                            "spec", "containers", "resources", "limits", limits);
    hami_internal_pod_describe(pod, &texts, &described);
    ck_assert_uint_eq(described.resource_count, HAMI_INTERNAL_POD_RESOURCES_MAX);
    json_decref(pod);
}
END_TEST

/* ---- bindings ---- */

static const struct hami_lease_view lease = {
    .size = sizeof(lease),
    .node = "n1",
    .owner = {"ns", "a", "u1"},
    .fence = 77,
};

START_TEST(a_refused_binding_is_judged_by_the_pod)
{
    static const struct {
        const char *uid;
        const char *node;
        const char *assigned;
        const char *revoked;
        const char *was_revoked;
        bool exists;
        bool deleting;
        bool finished;
        enum hami_internal_binding_verdict verdict;
    } rows[] = {
        {"u1", NULL, NULL, NULL, NULL, false, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u2", NULL, NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u2", "n1", NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", "n1", NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_BOUND},
        {"u1", "n1", NULL, "r", NULL, true, true, false, HAMI_INTERNAL_BINDING_BOUND},
        {"u1", "n2", NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, NULL, NULL, true, true, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, NULL, NULL, true, false, true, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_OPEN},
        {"u1", NULL, "n1", NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_OPEN},
        {"u1", NULL, "n2", NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, "r", NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, "r", "r", true, false, false, HAMI_INTERNAL_BINDING_OPEN},
        {"u1", NULL, NULL, "s", "r", true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {"u1", NULL, NULL, NULL, "r", true, false, false, HAMI_INTERNAL_BINDING_LOST},
        {NULL, NULL, NULL, NULL, NULL, true, false, false, HAMI_INTERNAL_BINDING_LOST},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct hami_lease_view view = lease;
        const char *why = NULL;
        struct hami_owner_facts facts = {.size = sizeof(facts),
                                         .known = true,
                                         .exists = rows[i].exists,
                                         .uid = rows[i].uid,
                                         .node = rows[i].node,
                                         .assigned_node = rows[i].assigned,
                                         .revoked = rows[i].revoked,
                                         .deleting = rows[i].deleting,
                                         .finished = rows[i].finished};
        view.owner_revoked = rows[i].was_revoked;
        ck_assert_msg(hami_internal_binding_judge(&view, &facts, &why) == rows[i].verdict,
                      "row %zu: %s", i, why);
        ck_assert_ptr_nonnull(why);
    }
}
END_TEST

START_TEST(a_binding_has_uid_version_and_annotations)
{
    char *text = NULL;
    ck_assert_int_eq(hami_internal_binding_format(&lease, "4711", 1767225600, &text), 0);
    ck_assert_str_eq(
        text, "{\"apiVersion\":\"v1\",\"kind\":\"Binding\",\"metadata\":{\"name\":\"a\","
              "\"namespace\":\"ns\",\"uid\":\"u1\",\"resourceVersion\":\"4711\","
              "\"annotations\":{\"hami.io/bind-phase\":\"allocating\","
              "\"hami.io/bind-time\":\"1767225600\",\"hami.io/mutex.fence\":\"77\"}},"
              "\"target\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"}}");
    free(text);
    ck_assert_int_eq(hami_internal_binding_format(&lease, "\xff", 0, &text),
                     HAMI_E_PROTO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_pod");
    TCase *cases = tcase_create("pod");
    tcase_add_test(cases, facts_are_what_the_pod_says);
    tcase_add_test(cases, a_pod_that_says_nothing_is_unbound_and_not_begun);
    tcase_add_test(cases, phases_end_or_start_a_pod);
    tcase_add_test(cases, devices_are_left_until_only_separators_are);
    tcase_add_test(cases, only_a_plain_number_is_a_fence);
    tcase_add_test(cases, quantities_are_above_zero_or_not);
    tcase_add_loop_test(cases, a_group_is_found_in_each_form_in_which_pods_name_one, 0,
                        sizeof(groups) / sizeof(groups[0]));
    tcase_add_test(cases, a_group_that_is_too_long_counts_for_nothing);
    tcase_add_test(cases, a_description_has_scheduler_priority_group_and_resources);
    tcase_add_test(cases, more_resources_than_are_told_do_no_harm);
    tcase_add_test(cases, a_refused_binding_is_judged_by_the_pod);
    tcase_add_test(cases, a_binding_has_uid_version_and_annotations);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
