/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Values on Leases without a mirror: the objects themselves, and what goes wrong. */
#include "kubernetes_lease_world.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct world world;
static struct hami_call call;

static void setup(void)
{
    lease_world_begin(&world, 0);
}

static void teardown(void)
{
    world_end(&world);
}

static char *uid_of(const char *resource, const char *namespace_name)
{
    char *uid = kubesim_text(world.sim, resource, namespace_name, "n1", "/metadata/uid");
    ck_assert_ptr_nonnull(uid);
    return uid;
}

/* ---- the object ---- */

START_TEST(the_first_take_makes_the_lease_and_the_node_owns_it)
{
    char *node = uid_of("nodes", NULL);
    ck_assert_int_eq(take_a(&world, &call), 0);
    ck_assert_str_eq(call.values[0], LOCK_A);
    expect_on_lease(&world, LOCK, LOCK_A);
    expect_on_lease(&world, LEASE, LEASE_A);
    expect_lease_text(&world, "/metadata/ownerReferences/0/uid", node);
    expect_lease_text(&world, "/metadata/ownerReferences/0/kind", "Node");
    expect_on_node(&world, LOCK, NULL);
    ck_assert_uint_eq(count_of(&world, "patch", "nodes"), 0);
    free(node);
}
END_TEST

START_TEST(the_spec_says_who_holds_it_since_when_and_how_often_it_was_taken)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_lease_text(&world, "/spec/holderIdentity", "ns/a");
    expect_lease_text(&world, "/spec/acquireTime", "2026-01-01T00:00:00.000000Z");
    ck_assert_int_eq(lease_transitions(&world), 1);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B), 0);
    expect_lease_text(&world, "/spec/holderIdentity", "ns/b");
    ck_assert_int_eq(lease_transitions(&world), 2);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_B, LEASE_B, NULL, MEMORY_OF("6")), 0);
    expect_lease_text(&world, "/spec/holderIdentity", NULL);
    expect_lease_text(&world, "/spec/acquireTime", NULL);
    ck_assert_int_eq(lease_transitions(&world), 2);
}
END_TEST

START_TEST(the_release_of_one_key_does_not_hide_the_holder_of_another)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK ".1", NULL, LOCK_B);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_int_eq(free_a(&world, &call), 0);
    expect_lease_text(&world, "/spec/holderIdentity", "ns/b");
    expect_on_lease(&world, LOCK ".1", LOCK_B);
}
END_TEST

START_TEST(a_time_that_does_not_exist_is_left_out_of_the_spec)
{
    const char *odd = "2026-02-31T00:00:00Z,ns,a";
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, odd, LEASE_A), 0);
    expect_on_lease(&world, LOCK, odd);
    expect_lease_text(&world, "/spec/acquireTime", NULL);
}
END_TEST

START_TEST(a_count_that_somebody_changed_is_counted_on_from_there)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    lease_world_patch_lease(&world, "{\"spec\":{\"leaseTransitions\":7}}");
    ck_assert_int_eq(put_pair(&world, &call, LOCK_A, LEASE_A, LOCK_B, LEASE_B), 0);
    ck_assert_int_eq(lease_transitions(&world), 8);
    lease_world_patch_lease(&world, "{\"spec\":{\"leaseTransitions\":2147483647}}");
    ck_assert_int_eq(put_pair(&world, &call, LOCK_B, LEASE_B, LOCK_A, LEASE_A), 0);
    ck_assert_int_eq(lease_transitions(&world), 2147483647);
}
END_TEST

START_TEST(a_take_by_a_version_from_before_the_lease_is_told_the_new_one)
{
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.node_version, "absent");
    ck_assert_str_eq(call.values[0], "(absent)");
    for (int round = 0; round < 2; round++) {
        char version[64];
        memcpy(version, call.node_version, sizeof(version));
        call_begin(&call, "n1", 5000);
        call_edit(&call, HAMI_EDIT_PUT, LOCK, NULL, LOCK_A);
        call.version = version;
        ck_assert_int_eq(call_submit(&world, &call), round == 0 ? HAMI_E_HELD : 0);
        ck_assert(call.has_values);
        ck_assert_uint_gt(strtoull(call.node_version, NULL, 10), 0);
    }
    expect_on_lease(&world, LOCK, LOCK_A);
}
END_TEST

START_TEST(a_call_that_sets_nothing_makes_no_lease)
{
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_TEST, LOCK, NULL, NULL);
    call_edit(&call, HAMI_EDIT_PUT, LEASE, NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), 0);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_HELD);
    ck_assert(call.has_values);
    ck_assert_ptr_null(kubesim_get(world.sim, "leases", NAMESPACE, "n1"));
}
END_TEST

START_TEST(a_lease_that_nobody_owns_is_given_to_the_node)
{
    char *node = uid_of("nodes", NULL);
    lease_world_make_lease(&world, "\"annotations\":{\"example.com/other\":\"1\"}");
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_on_lease(&world, "example.com/other", "1");
    expect_lease_text(&world, "/metadata/ownerReferences/0/uid", node);
    free(node);
}
END_TEST

START_TEST(a_lease_that_others_own_is_given_to_the_node_as_well)
{
    char *node = uid_of("nodes", NULL);
    lease_world_make_lease(&world, "\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":"
                                   "\"ConfigMap\",\"name\":\"c\",\"uid\":\"cu\"}]");
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_lease_text(&world, "/metadata/ownerReferences/0/uid", "cu");
    expect_lease_text(&world, "/metadata/ownerReferences/1/uid", node);
    ck_assert_int_eq(free_a(&world, &call), 0);
    expect_on_lease(&world, LOCK, NULL);
    free(node);
}
END_TEST

/* ---- nodes that go ---- */

START_TEST(what_an_earlier_node_has_left_is_absent_and_makes_way)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    char *before = uid_of("leases", NAMESPACE);
    lease_world_renew_node(&world, "n1");
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "(absent)");
    ck_assert_str_eq(call.node_version, "absent");
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_HELD);
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), 0);
    char *after = uid_of("leases", NAMESPACE);
    char *node = uid_of("nodes", NULL);
    /* Not the one that a garbage collector may be about to delete. */
    ck_assert_str_ne(before, after);
    expect_lease_text(&world, "/metadata/ownerReferences/0/uid", node);
    expect_on_lease(&world, LOCK, LOCK_B);
    free(before);
    free(after);
    free(node);
}
END_TEST

/* On the server's thread. */
static void give_to_an_earlier_node(struct kubesim *sim, void *ret_status)
{
    *(int *)ret_status = kubesim_request(
        sim, "PATCH", LEASES_PATH "/n1", "application/merge-patch+json",
        "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"v1\",\"kind\":\"Node\","
        "\"name\":\"n1\",\"uid\":\"earlier\"}]}}",
        NULL);
}

START_TEST(a_lease_that_became_another_nodes_just_before_the_patch_is_not_written)
{
    char *node = uid_of("nodes", NULL);
    ck_assert_int_eq(take_a(&world, &call), 0);
    ck_assert_int_eq(free_a(&world, &call), 0);
    char *before = uid_of("leases", NAMESPACE);
    int status = 0;
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "leases", .user = "admin"},
        .count = 1,
        .hook = give_to_an_earlier_node,
        .hook_data = &status};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(put_pair(&world, &call, NULL, MEMORY_OF("5"), LOCK_B, LEASE_B),
                     HAMI_E_HELD);
    ck_assert_int_eq(status, 200);
    /* It is left over now: absent, until a take makes way for a new one. */
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), 0);
    char *after = uid_of("leases", NAMESPACE);
    ck_assert_str_ne(before, after);
    expect_lease_text(&world, "/metadata/ownerReferences/0/uid", node);
    free(before);
    free(after);
    free(node);
}
END_TEST

START_TEST(a_node_that_is_gone_is_told_though_its_lease_stands)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_NODE);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_NODE);
}
END_TEST

START_TEST(a_name_that_no_node_can_have_is_no_node)
{
    call_begin(&call, "../pods", 5000);
    call_edit(&call, HAMI_EDIT_READ, LOCK, NULL, NULL);
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_NODE);
}
END_TEST

/* ---- faults ---- */

START_TEST(a_missing_namespace_is_an_operators_to_mend)
{
    ck_assert_int_eq(kubesim_delete(world.sim, "namespaces", NULL, NAMESPACE), 200);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_ACCESS);
    ck_assert_ptr_nonnull(strstr(call.text, NAMESPACE));
}
END_TEST

START_TEST(a_lease_that_may_not_be_made_is_told_as_no_access)
{
    arm_next(&world, "create", "leases", KUBESIM_STATUS, 403);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_ACCESS);
}
END_TEST

START_TEST(a_lease_that_was_made_unanswered_is_no_doubt_about_a_value)
{
    static const enum kubesim_action lost[] = {KUBESIM_DROP_AFTER, KUBESIM_DROP_BEFORE,
                                               KUBESIM_STATUS_AFTER};
    arm_next(&world, "create", "leases", lost[_i], 500);
    int code = take_a(&world, &call);
    ck_assert_msg(code == HAMI_E_TRANSPORT, "%s", hami_errname(code));
    ck_assert_int_eq(take_a(&world, &call), 0);
}
END_TEST

static void make_one(struct kubesim *sim, void *data)
{
    (void)data;
    kubesim_request(sim, "POST", LEASES_PATH, NULL,
                    "{\"metadata\":{\"name\":\"n1\"},\"spec\":{}}", NULL);
}

START_TEST(a_lease_that_somebody_else_makes_meanwhile_is_used)
{
    struct kubesim_fault fault = {
        .match = {.verb = "create", .resource = "leases"}, .count = 1, .hook = make_one};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(take_a(&world, &call), 0);
    expect_on_lease(&world, LOCK, LOCK_A);
}
END_TEST

START_TEST(a_deletion_that_is_refused_or_lost_is_tried_again)
{
    static const enum kubesim_action faults[] = {KUBESIM_STATUS, KUBESIM_DROP_AFTER};
    ck_assert_int_eq(take_a(&world, &call), 0);
    lease_world_renew_node(&world, "n1");
    arm_next(&world, "delete", "leases", faults[_i], 409);
    int code = put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B);
    if (faults[_i] == KUBESIM_DROP_AFTER) {
        ck_assert_int_eq(code, HAMI_E_TRANSPORT);
        code = put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B);
    }
    ck_assert_int_eq(code, 0);
    expect_on_lease(&world, LOCK, LOCK_B);
}
END_TEST

START_TEST(a_lost_answer_to_the_patch_is_in_doubt)
{
    lease_world_make_lease(&world, NULL);
    arm_next(&world, "patch", "leases", KUBESIM_DROP_AFTER, 0);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_IN_DOUBT);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], LOCK_A);
}
END_TEST

START_TEST(answers_without_sense_are_told_as_such)
{
    arm_next(&world, "get", "nodes", KUBESIM_STATUS, 418);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_PROTO);
    arm_next(&world, "get", "leases", KUBESIM_STATUS, 418);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_PROTO);
    arm_next(&world, "get", "leases", KUBESIM_STATUS, 500);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_TRANSPORT);
}
END_TEST

START_TEST(a_value_that_is_no_text_is_refused_unsent)
{
    call_begin(&call, "n1", 5000);
    call_edit(&call, HAMI_EDIT_PUT, LOCK, NULL, "\xff\xfe");
    ck_assert_int_eq(call_submit(&world, &call), HAMI_E_PROTO);
    ck_assert_uint_eq(count_of(&world, "patch", "leases"), 0);
}
END_TEST

START_TEST(refused_without_end_is_a_refusal)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "leases"},
                                  .action = KUBESIM_STATUS,
                                  .status = 409};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(take_a(&world, &call), HAMI_E_HELD);
    ck_assert(call.has_values);
    ck_assert_str_eq(call.values[0], "(absent)");
}
END_TEST

/* ---- configuration ---- */

static int make(struct hami_kubernetes_lease_transport_config config, const char *text)
{
    struct hami_transport *transport = NULL;
    struct hami_error error = HAMI_ERROR_INIT;
    int code =
        hami_kubernetes_lease_transport_new(world.client, &config, &transport, &error);
    if (code == 0) {
        uint32_t mirror = config.flags & HAMI_KUBERNETES_LEASE_MIRROR;
        ck_assert_uint_eq(transport->flags, mirror ? HAMI_TRANSPORT_ONE_PERMIT : 0);
        ck_assert((transport->watch == NULL) ==
                  ((config.flags & HAMI_KUBERNETES_NO_WATCH) != 0));
    } else {
        ck_assert_ptr_nonnull(strstr(error.text, text));
    }
    hami_kubernetes_transport_free(transport);
    return code;
}

#define CONFIG(...)                                                                      \
    ((struct hami_kubernetes_lease_transport_config){                                    \
        .size = sizeof(struct hami_kubernetes_lease_transport_config), __VA_ARGS__})

START_TEST(a_configuration_that_makes_no_sense_is_refused_and_named)
{
    static const char *const keys[HAMI_NODELOCK_KEYS_MAX + 1] = {"a.example.com/x.lock"};
    static const char *const none[] = {""};
    const uint32_t mirror = HAMI_KUBERNETES_LEASE_MIRROR;
    struct hami_transport *transport;
    ck_assert_int_eq(make(CONFIG(0), "namespace_name"), HAMI_E_INVAL);
    ck_assert_int_eq(make(CONFIG(.namespace_name = "A b"), "namespace_name"),
                     HAMI_E_INVAL);
    ck_assert_int_eq(make(CONFIG(.namespace_name = "kube-node-lease"), "kubelets"),
                     HAMI_E_INVAL);
    ck_assert_int_eq(make(CONFIG(.namespace_name = "n", .flags = 0x80), "flags"),
                     HAMI_E_INVAL);
    ck_assert_int_eq(
        make(CONFIG(.namespace_name = "n", .mirror_keys = keys, .mirror_key_count = 1),
             "without the flag"),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        make(CONFIG(.namespace_name = "n", .flags = mirror, .mirror_keys = keys,
                    .mirror_key_count = HAMI_NODELOCK_KEYS_MAX + 1),
             "mirror_key_count"),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        make(CONFIG(.namespace_name = "n", .flags = mirror, .mirror_key_count = 1),
             "mirror_keys"),
        HAMI_E_INVAL);
    ck_assert_int_eq(make(CONFIG(.namespace_name = "n", .flags = mirror,
                                 .mirror_keys = none, .mirror_key_count = 1),
                          "mirror_keys[0]"),
                     HAMI_E_INVAL);
    ck_assert_int_eq(
        make(CONFIG(.namespace_name = "n", .scheduler_name_count = 1), "scheduler_names"),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_kubernetes_lease_transport_new(world.client, NULL, &transport, NULL),
        HAMI_E_INVAL);
}
END_TEST

START_TEST(a_config_of_a_later_library_is_not_guessed_at)
{
    struct {
        struct hami_kubernetes_lease_transport_config config;
        uint64_t later;
    } longer = {CONFIG(.namespace_name = "n"), 1};
    struct hami_transport *transport;
    longer.config.size = sizeof(longer);
    ck_assert_int_eq(hami_kubernetes_lease_transport_new(world.client, &longer.config,
                                                         &transport, NULL),
                     HAMI_E_ABI);
}
END_TEST

START_TEST(only_a_mirror_limits_the_permits_and_only_a_watch_is_left_out)
{
    const uint32_t all = HAMI_KUBERNETES_LEASE_MIRROR | HAMI_KUBERNETES_NO_WATCH;
    for (uint32_t flags = 0; flags <= all; flags++) {
        ck_assert_int_eq(make(CONFIG(.namespace_name = "n", .flags = flags), ""), 0);
    }
}
END_TEST

static void add_object_tests(Suite *suite)
{
    TCase *tests = tcase_create("object");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, the_first_take_makes_the_lease_and_the_node_owns_it);
    tcase_add_test(tests,
                   the_spec_says_who_holds_it_since_when_and_how_often_it_was_taken);
    tcase_add_test(tests, the_release_of_one_key_does_not_hide_the_holder_of_another);
    tcase_add_test(tests, a_time_that_does_not_exist_is_left_out_of_the_spec);
    tcase_add_test(tests, a_count_that_somebody_changed_is_counted_on_from_there);
    tcase_add_test(tests, a_take_by_a_version_from_before_the_lease_is_told_the_new_one);
    tcase_add_test(tests, a_call_that_sets_nothing_makes_no_lease);
    tcase_add_test(tests, a_lease_that_nobody_owns_is_given_to_the_node);
    tcase_add_test(tests, a_lease_that_others_own_is_given_to_the_node_as_well);
    tcase_add_test(tests, what_an_earlier_node_has_left_is_absent_and_makes_way);
    tcase_add_test(
        tests, a_lease_that_became_another_nodes_just_before_the_patch_is_not_written);
    tcase_add_test(tests, a_node_that_is_gone_is_told_though_its_lease_stands);
    tcase_add_test(tests, a_name_that_no_node_can_have_is_no_node);
    tcase_add_test(tests, a_configuration_that_makes_no_sense_is_refused_and_named);
    tcase_add_test(tests, a_config_of_a_later_library_is_not_guessed_at);
    tcase_add_test(tests, only_a_mirror_limits_the_permits_and_only_a_watch_is_left_out);
}

int main(void)
{
    Suite *suite = suite_create("kubernetes-lease");
    add_object_tests(suite);
    TCase *faults = tcase_create("faults");
    tcase_add_checked_fixture(faults, setup, teardown);
    tcase_set_timeout(faults, 60);
    suite_add_tcase(suite, faults);
    tcase_add_test(faults, a_missing_namespace_is_an_operators_to_mend);
    tcase_add_test(faults, a_lease_that_may_not_be_made_is_told_as_no_access);
    tcase_add_loop_test(faults,
                        a_lease_that_was_made_unanswered_is_no_doubt_about_a_value, 0, 3);
    tcase_add_test(faults, a_lease_that_somebody_else_makes_meanwhile_is_used);
    tcase_add_loop_test(faults, a_deletion_that_is_refused_or_lost_is_tried_again, 0, 2);
    tcase_add_test(faults, a_lost_answer_to_the_patch_is_in_doubt);
    tcase_add_test(faults, answers_without_sense_are_told_as_such);
    tcase_add_test(faults, a_value_that_is_no_text_is_refused_unsent);
    tcase_add_test(faults, refused_without_end_is_a_refusal);
    return run_suite(suite);
}
