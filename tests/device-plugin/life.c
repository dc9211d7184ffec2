/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin's life beside Allocate: registering and registering again, health,
 * HAMi's annotations on the Node, the calls that are only advice.
 */
#include <check.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "plugin_world.h"
#include "suite.h"

#define REGISTER_KEY "hami.io/node-nvidia-register"
#define HANDSHAKE_KEY "hami.io/node-handshake"

static struct plugin_world all;
static struct played_answer answer;

static double seconds_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

START_TEST(it_registers_and_lists_each_share_with_health_and_numa_node)
{
    plugin_world_start(&all);
    ck_assert_str_eq(all.kubelet.resource, "nvidia.com/gpu");
    ck_assert(all.kubelet.wants_pre_start);
    ck_assert(all.kubelet.offers_preferred);
    ck_assert_uint_eq(all.kubelet.device_count, 12);
    ck_assert_str_eq(all.kubelet.devices[0].id, "GPU-a-0");
    ck_assert_str_eq(all.kubelet.devices[7].id, "GPU-b-3");
    ck_assert_int_eq(all.kubelet.devices[0].numa, 1);
    ck_assert_int_eq(all.kubelet.devices[7].numa, -1);
    for (size_t i = 0; i < 12; i++) {
        ck_assert(all.kubelet.devices[i].is_healthy);
    }
    plugin_world_stop(&all);
}
END_TEST

START_TEST(case_4_20_a_kubelet_that_starts_again_is_registered_with_within_a_second)
{
    plugin_world_start(&all);
    for (int i = 0; i < 3; i++) {
        kubelet_kill(&all.kubelet);
        double begun = seconds_now();
        kubelet_start(&all.kubelet, all.folder);
        kubelet_until(&all.kubelet, &all.kubelet.registrations, 1);
        ck_assert_double_lt(seconds_now() - begun, 1.0);
        kubelet_until(&all.kubelet, &all.kubelet.lists, 1);
        ck_assert_uint_eq(all.kubelet.device_count, 12);
    }
    plugin_world_stop(&all);
}
END_TEST

START_TEST(a_plugin_that_starts_before_the_kubelet_waits_for_it)
{
    plugin_world_start(&all);
    ck_assert_int_eq(plugin_stop(&all), 0);
    kubelet_kill(&all.kubelet);
    int fd = inotify_init1(IN_CLOEXEC);
    struct pollfd made = {.fd = fd, .events = POLLIN};
    ck_assert_int_ge(inotify_add_watch(fd, all.folder, IN_CREATE), 0);
    plugin_start(&all, NULL);
    ck_assert_int_eq(poll(&made, 1, PATIENCE_MS), 1); /* its socket: it has begun */
    close(fd);
    kubelet_start(&all.kubelet, all.folder);
    kubelet_until(&all.kubelet, &all.kubelet.lists, 1);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(a_socket_that_was_removed_is_made_and_registered_again)
{
    plugin_world_start(&all);
    ck_assert_int_eq(unlink(all.kubelet.endpoint), 0);
    kubelet_until(&all.kubelet, &all.kubelet.registrations, 2);
    kubelet_until(&all.kubelet, &all.kubelet.lists, 2);
    ck_assert_int_eq(access(all.kubelet.endpoint, F_OK), 0);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(health_follows_a_file_that_goes_comes_back_and_says_so)
{
    const char *words[] = {"unhealthy\n", "well\n"};

    plugin_world_start(&all);
    ck_assert_int_eq(unlink(all.health), 0);
    kubelet_until_health(&all.kubelet, "GPU-b-2", false);
    kubelet_until_health(&all.kubelet, "GPU-a-0", true);
    write_file(all.health, words[1]);
    kubelet_until_health(&all.kubelet, "GPU-b-2", true);
    write_file(all.health, words[0]);
    kubelet_until_health(&all.kubelet, "GPU-b-2", false);
    write_file(all.health, "");
    kubelet_until_health(&all.kubelet, "GPU-b-2", true);
    plugin_world_stop(&all);
}
END_TEST

/* The register annotation once GPU-b is as healthy as that; fails after a while. */
static json_t *wait_register(bool is_healthy)
{
    for (int i = 0; i < 2000; i++) {
        char *text = kubesim_annotation(all.world.sim, "nodes", NULL, "n1", REGISTER_KEY);
        json_t *list = text != NULL ? json_loads(text, 0, NULL) : NULL;

        free(text);
        if (list != NULL && json_is_true(json_object_get(json_array_get(list, 1),
                                                         "health")) == is_healthy) {
            return list;
        }
        json_decref(list);
        kubelet_turn(&all.kubelet, 5);
    }
    ck_abort_msg("the Node was not told");
    return NULL;
}

START_TEST(the_node_names_the_devices_as_hamis_scheduler_reads_them)
{
    json_t *list, *first, *wanted;

    plugin_world_start(&all);
    list = wait_register(true);
    ck_assert_uint_eq(json_array_size(list), 3);
    first = json_array_get(list, 0);
    wanted = json_pack("{s:s, s:i, s:i, s:i, s:i, s:s, s:i, s:s, s:b}", "id", "GPU-a",
                       "index", 0, "count", 4, "devmem", 16000, "devcore", 100, "type",
                       "NVIDIA", "numa", 1, "mode", "hami-core", "health", 1);
    ck_assert(json_equal(first, wanted));
    json_decref(wanted);
    json_decref(list);
    ck_assert_int_eq(unlink(all.health), 0);
    json_decref(wait_register(false));
    plugin_world_stop(&all);
}
END_TEST

START_TEST(case_3_24_a_handshake_of_old_words_is_written_over)
{
    static const char *const words[] = {"Deleted_2026.01.02 03:04:05", "Deleted",
                                        "rubbish", "Requesting_2026-01-02 03:04:05",
                                        NULL};
    const char *flags[] = {"--report-every", "100ms", NULL};

    plugin_world_start_with(&all, flags, NULL);
    for (size_t i = 0; words[i] != NULL; i++) {
        char *text = NULL;

        ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "nodes", NULL, "n1",
                                                HANDSHAKE_KEY, words[i]),
                         200);
        for (int j = 0; j < 2000 && (text == NULL || strncmp(text, "Reported_", 9) != 0);
             j++) {
            free(text);
            kubelet_turn(&all.kubelet, 5);
            text = kubesim_annotation(all.world.sim, "nodes", NULL, "n1", HANDSHAKE_KEY);
        }
        ck_assert_ptr_nonnull(text);
        ck_assert_msg(strncmp(text, "Reported_", 9) == 0, "%s", text);
        free(text);
    }
    plugin_world_stop(&all);
}
END_TEST

START_TEST(a_node_object_made_anew_is_told_again)
{
    const char *flags[] = {"--report-every", "100ms", NULL};

    plugin_world_start_with(&all, flags, NULL);
    json_decref(wait_register(true));
    ck_assert_int_eq(kubesim_delete(all.world.sim, "nodes", NULL, "n1"), 200);
    kubelet_turn(&all.kubelet, 300); /* writes that find no Node */
    ck_assert_int_eq(kubesim_create_node(all.world.sim, "n1", WORLD_GPU, 8), 201);
    json_decref(wait_register(true));
    plugin_world_stop(&all);
}
END_TEST

START_TEST(the_preferred_ids_are_of_different_devices_that_are_near)
{
    plugin_world_start(&all);
    kubelet_prefer(&all.kubelet, "GPU-a-0 GPU-a-1 GPU-b-0 GPU-c-0", "", 2, &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_OK);
    ck_assert_str_eq(answer.environment[0], "GPU-a-0 GPU-c-0 ");
    kubelet_prefer(&all.kubelet, "GPU-a-0 GPU-a-1 GPU-b-0 GPU-c-0", "GPU-b-0 GPU-a-1", 3,
                   &answer);
    ck_assert_str_eq(answer.environment[0], "GPU-b-0 GPU-a-1 GPU-c-0 ");
    kubelet_prefer(&all.kubelet, "GPU-a-0 GPU-a-1", "", 2, &answer);
    ck_assert_str_eq(answer.environment[0], "GPU-a-0 GPU-a-1 ");
    kubelet_prefer(&all.kubelet, "GPU-a-0", "", 2, &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_INVALID_ARGUMENT);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(before_a_start_the_device_must_be_ours_and_healthy)
{
    plugin_world_start(&all);
    kubelet_pre_start(&all.kubelet, "GPU-a-0 GPU-b-1", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_OK);
    kubelet_pre_start(&all.kubelet, "GPU-a-9", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(unlink(all.health), 0);
    kubelet_until_health(&all.kubelet, "GPU-b-1", false);
    kubelet_pre_start(&all.kubelet, "GPU-a-0 GPU-b-1", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_word(answer.text, "GPU-b-1");
    plugin_world_stop(&all);
}
END_TEST

START_TEST(without_the_handshake_the_ids_say_which_devices)
{
    const char *flags[] = {"--without-handshake", NULL};
    const unsigned one[] = {1, 0};

    plugin_world_start_with(&all, flags, NULL);
    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-c-0 GPU-a-1", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_OK);
    expect_word(answer.environment[0], "VISIBLE=GPU-c,GPU-a ");
    expect_word(answer.environment[0], "LIMIT_1=4000m/25 ");
    world_expect_pod(&all.world, "p", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_node(&all.world, REGISTER_KEY, NULL);
    kubelet_allocate(&all.kubelet, "GPU-c-0 GPU-z-1", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_INVALID_ARGUMENT);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(five_thousand_devices_are_listed)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    fputs("devices:\n", out);
    for (int i = 0; i < 5000; i++) {
        fprintf(out, "  - {uuid: GPU-00000000-0000-0000-0000-%012d, memory-mib: 1}\n", i);
    }
    fclose(out);
    plugin_world_start_with(&all, NULL, text);
    ck_assert_uint_eq(all.kubelet.device_count, 5000);
    ck_assert_str_eq(all.kubelet.devices[4999].id,
                     "GPU-00000000-0000-0000-0000-000000004999-0");
    free(text);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(a_wrong_command_line_or_file_ends_it_with_code_two)
{
    static const char *const files[] = {
        "devices: []\n",
        "devices: [{uuid: a, sharess: 3}]\n",
        "devices: [{uuid: a}, {uuid: a}]\n",
        "devices: [{uuid: a, shares: 0}]\n",
        "devices: [{uuid: 'a:b'}]\n",
        "devices: [{shares: 1}]\n",
        "devices: [[uuid]]\n",
        "resource: gpu\ndevices: [{uuid: a}]\n",
        "resource: huawei.com/npu\ndevices: [{uuid: a}]\n",
        "devices: [{uuid: a}]\ndevices: [{uuid: b}]\n",
        "pre-start: yes\ndevices: [{uuid: a}]\n",
        "devices: {a: [\n",
        "",
        NULL};
    char path[] = "/tmp/hami-devices-XXXXXX";
    int fd = mkstemp(path);
    const char *check[] = {"--check", "--devices", path, NULL};
    const char *no_devices[] = {"--node", "n1", NULL};
    const char *bad_endpoint[] = {"--node",     "n1",  "--devices", path,
                                  "--endpoint", "a/b", NULL};

    ck_assert_int_ge(fd, 0);
    close(fd);
    for (size_t i = 0; files[i] != NULL; i++) {
        write_file(path, files[i]);
        ck_assert_msg(plugin_wait(plugin_spawn(check)) == 2, "%s", files[i]);
    }
    write_file(path, "devices: [{uuid: a}]\n");
    ck_assert_int_eq(plugin_wait(plugin_spawn(check)), 0);
    ck_assert_int_eq(plugin_wait(plugin_spawn(no_devices)), 2);
    ck_assert_int_eq(plugin_wait(plugin_spawn(bad_endpoint)), 2);
    unlink(path);
}
END_TEST

START_TEST(case_4_03_where_a_fence_is_required_a_pod_that_names_itself_is_not_served)
{
    const char *flags[] = {"--require-fence", NULL};
    const unsigned one[] = {1, 0};

    plugin_world_start_with(&all, flags, NULL);
    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    world_pair(&all.world, WORLD_TIME ",ns,p", NULL); /* HAMi's own lock: no fence */
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    world_expect_pod(&all.world, "p", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_lock(&all.world, "p");
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    plugin_world_stop(&all);
}
END_TEST

START_TEST(case_1_33_the_lock_is_read_and_freed_under_the_key_that_was_given)
{
    static const char key[] = "example.com/our.lock";
    const char *flags[] = {"--key", key, NULL};
    const unsigned one[] = {1, 0};

    plugin_world_start_with(&all, flags, NULL);
    expect_logged("lockKey=\"example.com/our.lock\"");
    world_pod(&all.world, "p", one, "GPU-a,NVIDIA,1,0:;");
    ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "nodes", NULL, "n1", key,
                                            WORLD_TIME ",ns,another"),
                     200);
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "nodes", NULL, "n1", key,
                                            WORLD_TIME ",ns,p"),
                     200);
    world_pair(&all.world, WORLD_TIME ",ns,another",
               NULL); /* the usual key says nothing */
    kubelet_allocate(&all.kubelet, "GPU-a-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    world_wait_node(&all.world, key, NULL);
    world_expect_node(&all.world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,another");
    plugin_world_stop(&all);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("device-plugin-life");
    TCase *tests = tcase_create("life");

    if (argc != 2) {
        fprintf(stderr, "usage: %s HAMI-DEVICE-PLUGIN\n", argv[0]);
        return 99;
    }
    plugin_path = argv[1];
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, it_registers_and_lists_each_share_with_health_and_numa_node);
    tcase_add_test(
        tests, case_4_20_a_kubelet_that_starts_again_is_registered_with_within_a_second);
    tcase_add_test(tests, a_plugin_that_starts_before_the_kubelet_waits_for_it);
    tcase_add_test(tests, a_socket_that_was_removed_is_made_and_registered_again);
    tcase_add_test(tests, health_follows_a_file_that_goes_comes_back_and_says_so);
    tcase_add_test(tests, the_node_names_the_devices_as_hamis_scheduler_reads_them);
    tcase_add_test(tests, case_3_24_a_handshake_of_old_words_is_written_over);
    tcase_add_test(tests, a_node_object_made_anew_is_told_again);
    tcase_add_test(tests, the_preferred_ids_are_of_different_devices_that_are_near);
    tcase_add_test(tests, before_a_start_the_device_must_be_ours_and_healthy);
    tcase_add_test(tests, without_the_handshake_the_ids_say_which_devices);
    tcase_add_test(
        tests, case_4_03_where_a_fence_is_required_a_pod_that_names_itself_is_not_served);
    tcase_add_test(tests,
                   case_1_33_the_lock_is_read_and_freed_under_the_key_that_was_given);
    tcase_add_test(tests, five_thousand_devices_are_listed);
    tcase_add_test(tests, a_wrong_command_line_or_file_ends_it_with_code_two);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
