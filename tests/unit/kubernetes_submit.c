/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing nodes against kubesim: what the transport answers, and
 * what went over the wire.
 */
#include "kubernetes_stand_in.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define VALUE "2026-01-01T00:00:00Z,ns,a"
#define OTHER "2026-01-01T00:00:00Z,ns,b"

static struct world world;

static void setup(void)
{
    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
}

static void teardown(void)
{
    world_end(&world);
}

static unsigned patches(void)
{
    return kubesim_count(world.sim,
                         &(struct kubesim_match){.verb = "patch", .user = "admin"});
}

static unsigned gets(void)
{
    return kubesim_count(world.sim,
                         &(struct kubesim_match){.verb = "get", .user = "admin"});
}

static void arm(enum kubesim_action action, const char *verb, int status)
{
    struct kubesim_fault fault = {.match = {.verb = verb, .resource = "nodes"},
                                  .count = 1,
                                  .action = action,
                                  .status = status};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

static void take(struct hami_call *call, const char *node, uint64_t timeout_ms)
{
    call_begin(call, node, timeout_ms);
    call_edit(call, HAMI_EDIT_PUT, LOCK, NULL, VALUE);
    call_edit(call, HAMI_EDIT_PUT, LEASE, NULL, "{\"version\":1}");
}

START_TEST(a_read_tells_values_version_and_the_servers_time)
{
    struct hami_call call;
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_READ, LOCK, NULL, NULL);
    call_edit(&call, HAMI_EDIT_READ, "other", NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert(call.has_values);
    ck_assert_str_eq(call.values[0], "(absent)");
    ck_assert_str_eq(call.values[1], "1");
    ck_assert_uint_eq(strtoull(call.node_version, NULL, 10), kubesim_version(world.sim));
    ck_assert_uint_gt(call.server_time_us, UINT64_C(1600000000000000));
    ck_assert_uint_eq(patches(), 0);
}
END_TEST

START_TEST(a_take_sets_both_in_one_patch_and_keeps_the_rest)
{
    struct hami_call call;
    take(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_READ, "other", NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_str_eq(call.values[0], VALUE);
    ck_assert_str_eq(call.values[2], "1");
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, VALUE);
    expect_annotation(&world, "nodes", NULL, "n1", "other", "1");
    ck_assert_uint_eq(patches(), 1);
    ck_assert_uint_eq(gets(), 0);
}
END_TEST

START_TEST(a_held_lock_is_refused_and_the_values_are_told)
{
    struct hami_call call;
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, OTHER);
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    ck_assert(call.has_values);
    ck_assert_str_eq(call.values[0], OTHER);
    ck_assert_uint_eq(patches(), 1);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, OTHER);
    expect_annotation(&world, "nodes", NULL, "n1", LEASE, NULL);
}
END_TEST

START_TEST(a_hand_over_of_a_pair_that_changed_is_refused)
{
    struct hami_call call;
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, OTHER);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, OTHER, VALUE);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, "judged", "mine");
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, OTHER);
    ck_assert_uint_eq(patches(), 1);
}
END_TEST

START_TEST(a_release_removes_the_lock_alone)
{
    struct hami_call call;
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, VALUE);
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LEASE, "mine");
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, VALUE, NULL);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, "mine", "fence");
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "(absent)");
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, NULL);
    expect_annotation(&world, "nodes", NULL, "n1", LEASE, "fence");
    expect_annotation(&world, "nodes", NULL, "n1", "other", "1");
}
END_TEST

START_TEST(a_node_without_annotations_gets_its_map)
{
    struct hami_call call;
    world_drop_annotations(&world, "nodes", NULL, "n1");
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_str_eq(call.values[0], VALUE);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, VALUE);
    ck_assert_uint_eq(patches(), 2);
    ck_assert_uint_eq(gets(), 1);
}
END_TEST

static void add_foreign_annotation(struct kubesim *sim, void *data)
{
    kubesim_set_annotation(sim, "nodes", NULL, "n1", (const char *)data, "foreign");
}

START_TEST(a_map_that_appears_meanwhile_is_not_overwritten)
{
    struct hami_call call;
    world_drop_annotations(&world, "nodes", NULL, "n1");
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .skip = 1,
                                  .count = 1,
                                  .action = KUBESIM_NOTHING,
                                  .hook = add_foreign_annotation,
                                  .hook_data = (void *)"other"};
    kubesim_arm(world.sim, &fault);
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    expect_annotation(&world, "nodes", NULL, "n1", "other", "foreign");
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, NULL);
}
END_TEST

START_TEST(a_stale_node_version_is_refused_and_the_new_one_told)
{
    struct hami_call call;
    take(&call, "n1", 5000);
    call.version = "1";
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    ck_assert(call.has_values);
    ck_assert_str_eq(call.values[0], "(absent)");
    ck_assert_uint_eq(strtoull(call.node_version, NULL, 10), kubesim_version(world.sim));
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, NULL);
    char version[64];
    memcpy(version, call.node_version, sizeof(version));
    take(&call, "n1", 5000);
    call.version = version;
    ck_assert_int_eq(call_submit(&world, &call), 0);
}
END_TEST

START_TEST(a_stale_version_of_a_node_without_annotations_is_refused_too)
{
    struct hami_call call;
    world_drop_annotations(&world, "nodes", NULL, "n1");
    take(&call, "n1", 5000);
    call.version = "1";
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    ck_assert_uint_eq(patches(), 1);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, NULL);
}
END_TEST

START_TEST(a_test_changes_nothing_and_an_empty_value_is_a_value)
{
    struct hami_call call;
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, "");
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_TEST, LOCK, "", NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "");
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_TEST, LOCK, NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, "", VALUE);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, VALUE);
}
END_TEST

START_TEST(a_text_that_the_server_writes_in_another_way_is_guarded_by_the_version)
{
    struct hami_call call;
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, "a\bc");
    arm(KUBESIM_STATUS, "patch", 422);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, "a\bc", VALUE);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, NULL, "mine");
    ck_assert_int_eq(call_submit(&world, &call), 0);
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, VALUE);
    ck_assert_uint_eq(patches(), 2);
    ck_assert_uint_eq(
        kubesim_count(world.sim, &(struct kubesim_match){.verb = "patch",
                                                         .body = "resourceVersion"}),
        1);
    /* What really is another value stays refused. */
    kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, "a\bd");
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, "a\bc", VALUE);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], "a\bd");
    expect_annotation(&world, "nodes", NULL, "n1", LOCK, "a\bd");
}
END_TEST

START_TEST(a_missing_node_and_an_impossible_name_are_no_nodes)
{
    struct hami_call call;
    take(&call, "n2", 5000);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_NODE);
    call_begin(&call, "n2", 5000);
    call_edit(&call, HAMI_EDIT_READ, LOCK, NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_NODE);
    unsigned before = patches() + gets();
    take(&call, "../pods/a", 5000);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_NODE);
    take(&call, "N1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_NODE);
    ck_assert_uint_eq(patches() + gets(), before);
}
END_TEST

START_TEST(a_node_name_of_253_characters_is_locked_like_any_other_case_2_07)
{
    struct hami_call call;
    char name[254];
    memset(name, 'n', 253);
    name[63] = name[127] = name[191] = '.';
    name[253] = '\0';
    world_add_node(&world, name);
    take(&call, name, 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    expect_annotation(&world, "nodes", NULL, name, LOCK, VALUE);
}
END_TEST

START_TEST(a_value_that_is_not_utf8_is_refused_without_a_request)
{
    struct hami_call call;
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, NULL, "\xff\xfe");
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_PROTO);
    ck_assert_uint_eq(patches(), 0);
}
END_TEST

/* case 1.47 */
static void beat(struct kubesim *sim, void *data)
{
    char text[32];
    unsigned *beats = data;
    snprintf(text, sizeof(text), "%u", ++*beats);
    kubesim_set_annotation(sim, "nodes", NULL, "n1", "heartbeat", text);
}

START_TEST(heartbeats_between_all_requests_refuse_nothing)
{
    static unsigned beats;
    struct kubesim_fault fault = {.match = {.resource = "nodes", .user = "admin"},
                                  .action = KUBESIM_NOTHING,
                                  .hook = beat,
                                  .hook_data = &beats};
    kubesim_arm(world.sim, &fault);
    for (int i = 0; i < 20; i++) {
        struct hami_call call;
        take(&call, "n1", 5000);
        ck_assert_int_eq(call_submit(&world, &call), 0);
        call_begin(&call, "n1", 5000);
        call_edit(&call, HAMI_EDIT_PUT, LOCK, VALUE, NULL);
        call_edit(&call, HAMI_EDIT_PUT, LEASE, "{\"version\":1}", NULL);
        ck_assert_int_eq(call_submit(&world, &call), 0);
    }
    ck_assert_uint_eq(patches(), 40);
    ck_assert_uint_eq(beats, 40);
    expect_annotation(&world, "nodes", NULL, "n1", "heartbeat", "40");
    ck_assert_uint_eq(kubesim_count(world.sim, &(struct kubesim_match){.code = 409}), 0);
}
END_TEST

START_TEST(every_patch_begins_with_a_test_and_says_its_type_case_1_39_case_2_06)
{
    struct hami_call call;
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, VALUE, NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    world_drop_annotations(&world, "nodes", NULL, "n1");
    take(&call, "n1", 5000);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    json_t *log =
        kubesim_log(world.sim, &(struct kubesim_match){.verb = "patch", .user = "admin"});
    size_t at;
    json_t *event;
    ck_assert_uint_eq(json_array_size(log), 4);
    json_array_foreach(log, at, event)
    {
        json_t *patch = json_object_get(event, "requestObject");
        ck_assert(json_is_array(patch));
        ck_assert_str_eq(
            json_string_value(json_object_get(json_array_get(patch, 0), "op")), "test");
    }
    json_decref(log);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_submit");
    TCase *cases = tcase_create("submit");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_read_tells_values_version_and_the_servers_time);
    tcase_add_test(cases, a_take_sets_both_in_one_patch_and_keeps_the_rest);
    tcase_add_test(cases, a_held_lock_is_refused_and_the_values_are_told);
    tcase_add_test(cases, a_hand_over_of_a_pair_that_changed_is_refused);
    tcase_add_test(cases, a_release_removes_the_lock_alone);
    tcase_add_test(cases, a_node_without_annotations_gets_its_map);
    tcase_add_test(cases, a_map_that_appears_meanwhile_is_not_overwritten);
    tcase_add_test(cases, a_stale_node_version_is_refused_and_the_new_one_told);
    tcase_add_test(cases, a_stale_version_of_a_node_without_annotations_is_refused_too);
    tcase_add_test(cases, a_test_changes_nothing_and_an_empty_value_is_a_value);
    tcase_add_test(
        cases, a_text_that_the_server_writes_in_another_way_is_guarded_by_the_version);
    tcase_add_test(cases, a_missing_node_and_an_impossible_name_are_no_nodes);
    tcase_add_test(cases,
                   a_node_name_of_253_characters_is_locked_like_any_other_case_2_07);
    tcase_add_test(cases, a_value_that_is_not_utf8_is_refused_without_a_request);
    tcase_add_test(cases, heartbeats_between_all_requests_refuse_nothing);
    tcase_add_test(cases,
                   every_patch_begins_with_a_test_and_says_its_type_case_1_39_case_2_06);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
