/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate through the example plugin: who gets what, what is written, and what is
 * refused.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugin_world.h"
#include "suite.h"

static struct plugin_world all;
static struct played_answer answer;

static void set_up(void)
{
    plugin_world_start(&all);
}

static void tear_down(void)
{
    plugin_world_stop(&all);
}

/* A locked pod; asks ended by 0. */
static void pod(const char *name, const unsigned *asks, const char *devices)
{
    world_pod(&all.world, name, asks, devices);
    world_lock(&all.world, name);
}

static void expect_served(const char *name)
{
    world_wait_node(&all.world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&all.world, name, HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&all.world, name, HAMI_HANDSHAKE_DONE_KEY, "7");
}

static void expect_untouched(const char *name, const char *devices)
{
    world_expect_pod(&all.world, name, HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_pod(&all.world, name, WORLD_GPU_KEY, devices);
}

START_TEST(case_4_22_the_annotation_decides_which_devices_the_ids_only_how_many)
{
    const unsigned asks[] = {2, 0};

    pod("p", asks, "GPU-c,NVIDIA,3000,30:GPU-a,NVIDIA,2000,20:;");
    kubelet_allocate(&all.kubelet, "GPU-b-0 GPU-b-1", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    ck_assert_uint_eq(answer.containers, 1);
    expect_word(answer.environment[0], "VISIBLE=GPU-c,GPU-a ");
    expect_word(answer.environment[0], "FOR=ns/p/c0 7 ");
    expect_word(answer.environment[0], "LIMIT_1=2000m/20 ");
    ck_assert_str_eq(answer.devices[0], "/dev/zero:/dev/gpu-a:r ");
    ck_assert_str_eq(answer.mounts[0], "/opt/hami:/usr/local/hami:ro ");
    expect_served("p");
}
END_TEST

START_TEST(case_4_18_and_4_07_the_lock_stays_until_the_second_container)
{
    const unsigned asks[] = {1, 2, 0};
    struct plugin_world *w = &all;

    pod("p", asks, "GPU-b,NVIDIA,1,1:;GPU-a,NVIDIA,2,2:GPU-c,NVIDIA,3,3:;");
    kubelet_allocate(&w->kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-b ");
    world_expect_node(&w->world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,p");
    world_expect_pod(&w->world, "p", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    kubelet_allocate(&w->kubelet, "GPU-a-1 GPU-a-2", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-a,GPU-c ");
    expect_served("p");
}
END_TEST

/* Creates ns/p as the test made it, bound to n1 and with the node's lock; frees it. */
static void bind_own(json_t *pod)
{
    char *body = json_dumps(pod, JSON_COMPACT);

    ck_assert_int_eq(kubesim_request(all.world.sim, "POST", "/api/v1/namespaces/ns/pods",
                                     "application/json", body, NULL),
                     201);
    ck_assert_int_eq(kubesim_bind(all.world.sim, "ns", "p", "n1"), 201);
    world_lock(&all.world, "p");
    free(body);
    json_decref(pod);
}

START_TEST(case_4_09_containers_without_devices_keep_their_index)
{
    json_t *containers =
        json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s, s:{s:{s:s}}}, {s:s, s:s}]", "name",
                  "c0", "image", "x", "name", "c1", "image", "x", "name", "c2", "image",
                  "x", "resources", "limits", WORLD_GPU, "1", "name", "c3", "image", "x");
    json_t *object =
        json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}}, s:{s:o}}", "apiVersion", "v1",
                  "kind", "Pod", "metadata", "name", "p", "annotations", WORLD_GPU_KEY,
                  ";;GPU-b,NVIDIA,1,0:;;", HAMI_HANDSHAKE_PHASE_KEY, "allocating",
                  HAMI_HANDSHAKE_NODE_KEY, "n1", "spec", "containers", containers);

    bind_own(object);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-b ");
    expect_word(answer.environment[0], "FOR=ns/p/c2 7 ");
    expect_served("p");
}
END_TEST

START_TEST(case_4_02_an_init_container_is_served_like_any_other)
{
    json_t *object =
        json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s}}, s:{s:[{s:s, s:s, "
                  "s:{s:{s:s}}}], s:[{s:s, s:s}]}}",
                  "apiVersion", "v1", "kind", "Pod", "metadata", "name", "p",
                  "annotations", WORLD_GPU_KEY, "GPU-c,NVIDIA,1,0:;;",
                  HAMI_HANDSHAKE_PHASE_KEY, "allocating", HAMI_HANDSHAKE_NODE_KEY, "n1",
                  "spec", "initContainers", "name", "first", "image", "x", "resources",
                  "limits", WORLD_GPU, "1", "containers", "name", "main", "image", "x");

    bind_own(object);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "FOR=ns/p/first 7 ");
    expect_served("p");
}
END_TEST

START_TEST(case_1_35_and_4_25_where_two_can_be_the_caller_neither_is_touched)
{
    const unsigned one[] = {1, 0};

    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    world_pod(&all.world, "q", one, "GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    expect_untouched("q", "GPU-b,NVIDIA,1,0:;");
}
END_TEST

START_TEST(case_4_13_and_4_14_a_count_that_does_not_match_is_refused)
{
    const unsigned one[] = {1, 0};

    pod("p", one, "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0 GPU-a-1", &answer);
    ck_assert_int_ne(answer.code, HAMID_GRPC_OK);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    world_expect_node(&all.world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,p");
}
END_TEST

START_TEST(case_4_05_a_device_that_is_not_there_fails_the_pod_and_frees_the_lock)
{
    const unsigned one[] = {1, 0};

    pod("p", one, "GPU-z,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_word(answer.text, "GPU-z");
    world_wait_node(&all.world, HAMI_NODELOCK_KEY, NULL);
    world_wait_pod(&all.world, "p", HAMI_HANDSHAKE_PHASE_KEY, "failed");
}
END_TEST

START_TEST(case_4_11_to_allocate_ends_without_devices_and_does_not_grow)
{
    const unsigned asks[] = {1, 1, 0};
    char *left;

    pod("p", asks, "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    kubelet_allocate(&all.kubelet, "GPU-a-1", &answer);
    expect_served("p");
    left = kubesim_annotation(all.world.sim, "pods", "ns", "p", WORLD_GPU_KEY);
    ck_assert(left == NULL || (strspn(left, ";") == strlen(left) && strlen(left) <= 2));
    free(left);
}
END_TEST

START_TEST(case_4_19_an_api_server_that_hangs_is_answered_in_time)
{
    const struct kubesim_fault hang = {.match = {.resource = "pods"},
                                       .action = KUBESIM_HANG_BEFORE};
    const unsigned one[] = {1, 0};
    struct timespec begun, ended;
    double seconds;

    pod("p", one, "GPU-a,NVIDIA,1,0:;");
    kubesim_arm(all.world.sim, &hang);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    seconds = (double)(ended.tv_sec - begun.tv_sec) +
              (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
    ck_assert_int_eq(answer.code, HAMID_GRPC_DEADLINE_EXCEEDED);
    ck_assert_double_ge(seconds, 1.9);
    ck_assert_double_lt(seconds, 6.0); /* 2 s, and a busy computer */
    kubesim_disarm(all.world.sim, 0);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer); /* and serves on */
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_served("p");
}
END_TEST

START_TEST(a_kubelet_that_goes_away_in_the_middle_is_served_when_it_asks_again)
{
    const struct kubesim_fault slow = {.match = {.resource = "pods", .verb = "list"},
                                       .count = 1,
                                       .delay_before_ms = 300};
    const unsigned one[] = {1, 0};

    pod("p", one, "GPU-a,NVIDIA,1,0:;");
    kubesim_arm(all.world.sim, &slow);
    kubelet_allocate_start(&all.kubelet, "GPU-a-0", &answer);
    kubelet_turn(&all.kubelet, 100);
    kubelet_allocate_cancel(&all.kubelet);
    kubelet_turn(&all.kubelet, 500);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_served("p");
}
END_TEST

START_TEST(case_4_28_a_plugin_killed_between_two_containers_finds_its_place)
{
    const unsigned asks[] = {1, 1, 0};

    pod("p", asks, "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    expect_word(answer.environment[0], "VISIBLE=GPU-a ");
    plugin_kill(&all);
    plugin_start(&all, NULL);
    kubelet_until(&all.kubelet, &all.kubelet.registrations, 2);
    kubelet_until(&all.kubelet, &all.kubelet.lists, 2);
    kubelet_allocate(&all.kubelet, "GPU-c-1", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-b ");
    expect_served("p");
}
END_TEST

START_TEST(case_4_28_a_lock_that_a_crash_left_is_freed_at_the_next_start)
{
    const unsigned one[] = {1, 0};

    pod("p", one, ";");
    ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "pods", "ns", "p",
                                            HAMI_HANDSHAKE_PHASE_KEY, "success"),
                     200);
    ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "pods", "ns", "p",
                                            HAMI_HANDSHAKE_DONE_KEY, "7"),
                     200);
    plugin_kill(&all);
    plugin_start(&all, NULL);
    world_wait_node(&all.world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(case_4_27_a_lock_that_names_a_pod_that_is_gone_refuses_the_others)
{
    const unsigned one[] = {1, 0};

    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    world_pair(&all.world, WORLD_TIME ",ns,gone", NULL);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    world_expect_node(&all.world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,gone");
}
END_TEST

START_TEST(an_unhealthy_device_is_not_handed_out)
{
    const unsigned one[] = {1, 0};

    ck_assert_int_eq(unlink(all.health), 0);
    kubelet_until_health(&all.kubelet, "GPU-b-0", false);
    pod("p", one, "GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    world_wait_pod(&all.world, "p", HAMI_HANDSHAKE_PHASE_KEY, "failed");
}
END_TEST

START_TEST(a_second_vendor_keeps_the_lock_until_its_own_devices_are_handed_out_case_3_30)
{
    static const char npus[] =
        "resource: huawei.com/npu\n"
        "annotations: {to-allocate: hami.io/npu-devices-to-allocate}\n"
        "other-vendors:\n"
        "  - {resource: nvidia.com/gpu, to-allocate: hami.io/vgpu-devices-to-allocate}\n"
        "environment: {NPUS: \"{uuids}\"}\n"
        "devices: [{uuid: NPU-a, type: Ascend910}]\n";
    json_t *object = json_pack(
        "{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s, s:s}}, s:{s:[{s:s, s:s, s:{s:{s:s, "
        "s:s}}}]}}",
        "apiVersion", "v1", "kind", "Pod", "metadata", "name", "p", "annotations",
        WORLD_GPU_KEY, "GPU-b,NVIDIA,1,0:;", "hami.io/npu-devices-to-allocate",
        "NPU-a,Ascend910,1,0:;", HAMI_HANDSHAKE_PHASE_KEY, "allocating",
        HAMI_HANDSHAKE_NODE_KEY, "n1", "spec", "containers", "name", "c0", "image", "x",
        "resources", "limits", WORLD_GPU, "1", "huawei.com/npu", "1");
    char file[128];
    const char *words[] = {
        "--node",   "n1",           "--devices",          file, "--plugin-folder",
        all.folder, "--kubeconfig", all.world.kubeconfig, NULL};

    bind_own(object);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    world_expect_node(&all.world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,p");

    snprintf(file, sizeof(file), "%s/npus.yaml", all.world.folder);
    write_file(file, npus);
    pid_t other = plugin_spawn(words);
    kubelet_until(&all.kubelet, &all.kubelet.registrations, 2);
    kubelet_until(&all.kubelet, &all.kubelet.lists, 2);
    ck_assert_str_eq(all.kubelet.resource, "huawei.com/npu");
    kubelet_allocate(&all.kubelet, "NPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "NPUS=NPU-a ");
    expect_served("p");
    ck_assert_int_eq(kill(other, SIGTERM), 0);
    ck_assert_int_eq(plugin_wait(other), 0);
    unlink(file);
}
END_TEST

START_TEST(case_4_09_a_surplus_entry_with_devices_is_an_error)
{
    const unsigned one[] = {1, 0};

    pod("p", one, "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_INVALID_ARGUMENT);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;GPU-b,NVIDIA,1,0:;");
}
END_TEST

START_TEST(case_4_14_without_a_lock_the_candidate_with_the_right_count_is_served)
{
    const unsigned one[] = {1, 0}, two[] = {2, 0};

    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    world_pod(&all.world, "q", two, "GPU-b,NVIDIA,1,0:GPU-c,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0 GPU-a-1", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-b,GPU-c ");
    world_expect_pod(&all.world, "q", HAMI_HANDSHAKE_PHASE_KEY, "success");
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0 GPU-a-1 GPU-a-2", &answer);
    ck_assert_int_ne(answer.code, HAMID_GRPC_OK);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
}
END_TEST

START_TEST(case_4_29_a_bare_time_yields_no_owner_only_the_one_candidate_is_served)
{
    const unsigned one[] = {1, 0};

    world_pair(&all.world, WORLD_TIME, NULL);
    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    world_pod(&all.world, "q", one, "GPU-b,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_untouched("p", "GPU-a,NVIDIA,1,0:;");
    expect_untouched("q", "GPU-b,NVIDIA,1,0:;");
    ck_assert_int_eq(kubesim_set_phase(all.world.sim, "ns", "q", "Running"), 200);
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-a ");
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("device-plugin-allocate");
    TCase *tests = tcase_create("allocate");

    if (argc != 2) {
        fprintf(stderr, "usage: %s HAMI-DEVICE-PLUGIN\n", argv[0]);
        return 99;
    }
    plugin_path = argv[1];
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests,
                   case_4_22_the_annotation_decides_which_devices_the_ids_only_how_many);
    tcase_add_test(tests, case_4_18_and_4_07_the_lock_stays_until_the_second_container);
    tcase_add_test(tests, case_4_09_containers_without_devices_keep_their_index);
    tcase_add_test(tests, case_4_02_an_init_container_is_served_like_any_other);
    tcase_add_test(tests,
                   case_1_35_and_4_25_where_two_can_be_the_caller_neither_is_touched);
    tcase_add_test(tests, case_4_13_and_4_14_a_count_that_does_not_match_is_refused);
    tcase_add_test(tests,
                   case_4_05_a_device_that_is_not_there_fails_the_pod_and_frees_the_lock);
    tcase_add_test(tests, case_4_11_to_allocate_ends_without_devices_and_does_not_grow);
    tcase_add_test(tests, case_4_19_an_api_server_that_hangs_is_answered_in_time);
    tcase_add_test(tests,
                   a_kubelet_that_goes_away_in_the_middle_is_served_when_it_asks_again);
    tcase_add_test(tests,
                   case_4_28_a_plugin_killed_between_two_containers_finds_its_place);
    tcase_add_test(tests, case_4_28_a_lock_that_a_crash_left_is_freed_at_the_next_start);
    tcase_add_test(tests,
                   case_4_27_a_lock_that_names_a_pod_that_is_gone_refuses_the_others);
    tcase_add_test(tests, case_4_09_a_surplus_entry_with_devices_is_an_error);
    tcase_add_test(tests,
                   case_4_14_without_a_lock_the_candidate_with_the_right_count_is_served);
    tcase_add_test(
        tests, case_4_29_a_bare_time_yields_no_owner_only_the_one_candidate_is_served);
    tcase_add_test(tests, an_unhealthy_device_is_not_handed_out);
    tcase_add_test(
        tests,
        a_second_vendor_keeps_the_lock_until_its_own_devices_are_handed_out_case_3_30);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
