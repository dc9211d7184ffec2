/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example device plugin beside a played kubelet whose books it reads: the same rules
 * as the agent's and the gateway's, in a plugin of its own.
 */
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

static pid_t plugin;
static char devices[128];

static void start_plugin(void)
{
    const char *words[] = {"--node",
                           "n1",
                           "--devices",
                           devices,
                           "--plugin-folder",
                           kubelet.folder,
                           "--kubeconfig",
                           world.kubeconfig,
                           "--pod-resources",
                           kubelet.books,
                           NULL};

    plugin = process_start(hamid_path, words);
    kubelet_wait_devices(&kubelet, 8);
}

static void plugin_set_up(void)
{
    FILE *file;

    world_start(&world);
    stage_start(&stage);
    kubelet_start(&kubelet, &stage, world.folder);
    snprintf(devices, sizeof(devices), "%s/devices.yaml", world.folder);
    file = fopen(devices, "w");
    ck_assert_ptr_nonnull(file);
    fputs("resource: nvidia.com/gpu\n"
          "environment: {DEVICES: \"{uuids}\"}\n"
          "devices:\n"
          "  - {uuid: GPU-a, shares: 4, memory-mib: 16000}\n"
          "  - {uuid: GPU-b, shares: 4, memory-mib: 16000}\n",
          file);
    fclose(file);
    start_plugin();
}

static void plugin_tear_down(void)
{
    ck_assert_int_eq(kill(plugin, SIGTERM), 0);
    ck_assert_int_eq(process_wait(plugin), 0);
    kubelet_stop(&kubelet);
    stage_stop(&stage);
    unlink(devices);
    world_stop(&world);
}

static void bound_pod(const char *name)
{
    char assigned[64];

    snprintf(assigned, sizeof(assigned), "GPU-%s,NVIDIA,1000,10:;", name);
    world_simple_pod(&world, name);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", name,
                                            "hami.io/vgpu-devices-allocated", assigned),
                     200);
    world_lock(&world, name);
}

START_TEST(case_4_20_served_pod_that_the_books_lack_makes_the_call_ambiguous)
{
    struct outcome outcome;
    unsigned writes;

    ck_assert(kubelet.pre_start_required);
    bound_pod("a");
    outcome = kubelet_allocate(&kubelet, "GPU-a-0");
    ck_assert_msg(outcome.code == HAMID_GRPC_OK, "%s", outcome.text);
    ck_assert_str_eq(outcome.devices, "GPU-a");
    bound_pod("b");
    writes = pod_writes();
    ck_assert_int_eq(kubelet_allocate(&kubelet, "GPU-a-1").code,
                     HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_uint_eq(pod_writes(), writes);
    kubelet_book(&kubelet, "a", "c0", "GPU-a-0");
    outcome = kubelet_allocate(&kubelet, "GPU-a-1");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_OK);
    ck_assert_str_eq(outcome.devices, "GPU-b");
}
END_TEST

START_TEST(case_4_20_only_possible_caller_gets_the_same_again)
{
    bound_pod("a");
    ck_assert_str_eq(kubelet_allocate(&kubelet, "GPU-b-0").devices, "GPU-a");
    ck_assert_str_eq(kubelet_allocate(&kubelet, "GPU-b-3").devices, "GPU-a");
}
END_TEST

START_TEST(container_with_anothers_devices_does_not_start)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};
    struct outcome outcome;

    bound_pod("a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "GPU-a-0").code, HAMID_GRPC_OK);
    ck_assert_int_eq(kubelet_pre_start(&kubelet, "GPU-a-0").code, HAMID_GRPC_OK);
    kubelet_book(&kubelet, "b", "c0", "GPU-a-0");
    outcome = kubelet_pre_start(&kubelet, "GPU-a-0");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(outcome.text, "ns/b"));
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
}
END_TEST

START_TEST(allocate_is_refused_while_the_books_can_not_be_read)
{
    bound_pod("a");
    kubelet_set_mute(&kubelet, true);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "GPU-a-0").code, HAMID_GRPC_UNAVAILABLE);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    kubelet_set_mute(&kubelet, false);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "GPU-a-0").code, HAMID_GRPC_OK);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("the example plugin and the kubelet's books");
    TCase *cases = tcase_create("books");
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HAMI-DEVICE-PLUGIN\n", argv[0]);
        return 99;
    }
    hamid_path = argv[1];
    signal(SIGPIPE, SIG_IGN);
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, plugin_set_up, plugin_tear_down);
    tcase_add_test(cases,
                   case_4_20_served_pod_that_the_books_lack_makes_the_call_ambiguous);
    tcase_add_test(cases, case_4_20_only_possible_caller_gets_the_same_again);
    tcase_add_test(cases, container_with_anothers_devices_does_not_start);
    tcase_add_test(cases, allocate_is_refused_while_the_books_can_not_be_read);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
