/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate through the gateway: a vendor's plugin that knows nothing of locks, one that
 * does HAMi's handshake itself, and what becomes of calls that go wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

static void annotate(const char *key, const char *value)
{
    (void)kubesim_set_annotation(world.sim, "pods", "ns", "a", key, value);
}

static void set_lock(const char *value)
{
    (void)kubesim_set_annotation(world.sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY,
                                 value);
}

/* ---- a plugin that never releases ---- */

START_TEST(plugin_that_never_releases_works)
{
    struct outcome outcome;

    connect_vendor();
    ck_assert(kubelet.pre_start_required);
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    outcome = kubelet_allocate(&kubelet, "d-3");
    ck_assert_msg(outcome.code == HAMID_GRPC_OK, "%s", outcome.text);
    ck_assert_str_eq(outcome.devices, "vendor's d-3");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    expect_metric("hamid_gateway_allocates_total{outcome=\"served\"} 1");
}
END_TEST

/* Two reads and one write a container, and one more write a pod. */
START_TEST(two_containers_cost_seven_calls)
{
    static const unsigned two[] = {1, 1, 0};
    unsigned reads, writes;

    connect_vendor();
    world_pod(&world, "a", two, "GPU-1,NVIDIA,1000,10:;GPU-2,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    reads = world_reads(&world);
    writes = world_writes(&world);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    kubelet_book(&kubelet, "a", "c0", "d-0");
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-1").code, HAMID_GRPC_OK);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(world_reads(&world) - reads, 4);
    ck_assert_uint_eq(world_writes(&world) - writes, 3);
}
END_TEST

/* What the vendor's plugin sees of the lock while it hands devices out. */
static char seen[2][128];

static void look_at_lock(void *data)
{
    unsigned *count = data;
    char *lock = kubesim_annotation(world.sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY);

    if (*count < 2) {
        snprintf(seen[*count], sizeof(seen[0]), "%s", lock != NULL ? lock : "none");
    }
    ++*count;
    free(lock);
}

START_TEST(case_1_30_lock_names_the_pod_until_the_node_sides_last_write)
{
    static const unsigned two[] = {1, 1, 0};
    unsigned count = 0;

    connect_vendor();
    world_pod(&world, "a", two, "GPU-1,NVIDIA,1000,10:;GPU-2,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    vendor.in_allocate = look_at_lock;
    vendor.data = &count;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    kubelet_book(&kubelet, "a", "c0", "d-0");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-1").code, HAMID_GRPC_OK);
    ck_assert_str_eq(seen[0], WORLD_TIME ",ns,a");
    ck_assert_str_eq(seen[1], WORLD_TIME ",ns,a");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(case_1_35_ambiguous_allocate_reaches_nobody)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};
    struct outcome outcome;
    unsigned writes;

    connect_vendor();
    world_simple_pod(&world, "a");
    world_simple_pod(&world, "b");
    world_lock(&world, "a");
    writes = pod_writes();
    outcome = kubelet_allocate(&kubelet, "d-0");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(outcome.text, "ns/a"));
    ck_assert_ptr_nonnull(strstr(outcome.text, "ns/b"));
    ck_assert_uint_eq(pod_writes(), writes);
    ck_assert_uint_eq(vendor.allocates, 0);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
    expect_metric("hamid_gateway_allocates_total{outcome=\"refused\"} 1");
}
END_TEST

/* The kubelet died before its checkpoint: a was served, and asks again beside b. */
START_TEST(case_4_20_served_pod_that_the_books_lack_makes_the_call_ambiguous)
{
    struct outcome outcome;
    unsigned writes;

    connect_vendor();
    world_simple_pod(&world, "a");
    annotate("hami.io/vgpu-devices-allocated", "GPU-a,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    kubelet_restart(&kubelet); /* nothing was written down */
    kubelet_wait_devices(&kubelet, vendor.device_count);
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    writes = pod_writes();
    outcome = kubelet_allocate(&kubelet, "d-1");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_uint_eq(pod_writes(), writes);
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    kubelet_book(&kubelet, "a", "c0", "d-0"); /* on the books: it is b that asks */
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-1").code, HAMID_GRPC_OK);
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(case_4_20_only_possible_caller_gets_the_same_again)
{
    connect_vendor();
    world_simple_pod(&world, "a");
    annotate("hami.io/vgpu-devices-allocated", "GPU-a,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, vendor.device_count);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-5").code, HAMID_GRPC_OK);
    expect_metric("hamid_node_again_total 1");
}
END_TEST

/* ---- a plugin that does the handshake itself ---- */

static void erase_first_and_release(void *data)
{
    (void)data;
    annotate(WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    annotate(HAMI_HANDSHAKE_PHASE_KEY, "success");
    set_lock(NULL);
}

static void erase_all_and_release(void *data)
{
    (void)data;
    annotate(WORLD_GPU_KEY, ";;");
    annotate(HAMI_HANDSHAKE_PHASE_KEY, "success");
    set_lock(NULL);
}

static void erase_all_and_leak(void *data)
{
    (void)data;
    annotate(WORLD_GPU_KEY, ";;");
}

static void two_containers(void)
{
    static const unsigned two[] = {1, 1, 0};

    connect_vendor();
    world_pod(&world, "a", two, "GPU-1,NVIDIA,1000,10:;GPU-2,NVIDIA,1000,10:;");
    world_lock(&world, "a");
}

START_TEST(case_4_07_lock_that_the_plugin_freed_early_stands_until_the_last_container)
{
    two_containers();
    vendor.in_allocate = erase_first_and_release;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    kubelet_book(&kubelet, "a", "c0", "d-0");
    vendor.in_allocate = erase_all_and_release;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-1").code, HAMID_GRPC_OK);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
}
END_TEST

START_TEST(case_4_05_lock_that_the_plugin_leaked_is_freed)
{
    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    vendor.in_allocate = erase_all_and_leak;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

/* ---- what goes wrong ---- */

START_TEST(case_4_05_plugin_that_fails_frees_the_lock_and_is_quoted)
{
    struct outcome outcome;

    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    vendor.refuses = "no such card";
    outcome = kubelet_allocate(&kubelet, "d-0");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_NOT_FOUND);
    ck_assert_str_eq(outcome.text, "no such card");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    expect_metric("hamid_gateway_allocates_total{outcome=\"vendor_failed\"} 1");
}
END_TEST

START_TEST(plugin_that_hangs_is_given_up_in_time)
{
    static const char *const extra[] = {"--vendor-timeout", "200ms", NULL};

    ck_assert_int_eq(agent_end(&agent), 0);
    start_hamid(extra);
    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    vendor.holds = true;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code,
                     HAMID_GRPC_DEADLINE_EXCEEDED);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(case_4_19_server_that_hangs_is_answered_in_time)
{
    struct kubesim_fault fault = {.match = {.verb = "list", .resource = "pods"},
                                  .action = KUBESIM_HANG_BEFORE};
    uint64_t before = hami_kubernetes_now();

    connect_vendor();
    kubesim_arm(world.sim, &fault);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_UNAVAILABLE);
    ck_assert_uint_lt(hami_kubernetes_now() - before, 5000 * UINT64_C(1000000));
    ck_assert_uint_eq(vendor.allocates, 0);
}
END_TEST

START_TEST(kubelet_that_dies_meanwhile_is_served_again)
{
    struct outcome outcome;
    unsigned writes;

    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    writes = pod_writes();
    vendor.holds = true;
    kubelet_allocate_start(&kubelet, "d-0", &outcome);
    vendor_wait_allocates(&vendor, 1);
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, vendor.device_count);
    ck_assert_int_ne(outcome.code, HAMID_GRPC_OK);
    ck_assert_uint_eq(pod_writes(), writes);
    vendor.holds = false;
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    expect_metric("hamid_gateway_allocates_total{outcome=\"gone\"} 1");
}
END_TEST

START_TEST(plugin_that_dies_meanwhile_has_failed)
{
    struct outcome outcome;

    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    vendor.holds = true;
    kubelet_allocate_start(&kubelet, "d-0", &outcome);
    vendor_wait_allocates(&vendor, 1);
    vendor_stop(&vendor);
    kubelet_wait_no_plugin(&kubelet);
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    vendor.holds = false;
    vendor_start(&vendor, &stage, world.folder);
    connect_vendor();
}
END_TEST

START_TEST(case_1_14_pods_write_that_fails_refuses_the_container)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "pods"},
                                  .action = KUBESIM_HANG_BEFORE};

    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    int id = kubesim_arm(world.sim, &fault);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_UNAVAILABLE);
    kubesim_disarm(world.sim, id);
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed"); /* behind */
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    expect_metric("hamid_gateway_allocates_total{outcome=\"not_written\"} 1");
}
END_TEST

START_TEST(garbage_is_refused)
{
    connect_vendor();
    ck_assert_int_eq(kubelet_allocate_garbage(&kubelet).code,
                     HAMID_GRPC_INVALID_ARGUMENT);
    ck_assert_uint_eq(vendor.allocates, 0);
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("allocate");

    tcase_add_test(cases, plugin_that_never_releases_works);
    tcase_add_test(cases, two_containers_cost_seven_calls);
    tcase_add_test(cases, case_1_30_lock_names_the_pod_until_the_node_sides_last_write);
    tcase_add_test(cases, case_1_35_ambiguous_allocate_reaches_nobody);
    tcase_add_test(cases,
                   case_4_20_served_pod_that_the_books_lack_makes_the_call_ambiguous);
    tcase_add_test(cases, case_4_20_only_possible_caller_gets_the_same_again);
    tcase_add_test(
        cases,
        case_4_07_lock_that_the_plugin_freed_early_stands_until_the_last_container);
    tcase_add_test(cases, case_4_05_lock_that_the_plugin_leaked_is_freed);
    tcase_add_test(cases, case_4_05_plugin_that_fails_frees_the_lock_and_is_quoted);
    tcase_add_test(cases, plugin_that_hangs_is_given_up_in_time);
    tcase_add_test(cases, case_4_19_server_that_hangs_is_answered_in_time);
    tcase_add_test(cases, kubelet_that_dies_meanwhile_is_served_again);
    tcase_add_test(cases, plugin_that_dies_meanwhile_has_failed);
    tcase_add_test(cases, case_1_14_pods_write_that_fails_refuses_the_container);
    tcase_add_test(cases, garbage_is_refused);
    return world_main(argc, argv, "Allocate through the gateway", cases);
}
