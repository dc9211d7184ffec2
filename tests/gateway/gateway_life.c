/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may register at the gateway, what comes through it unchanged, how it outlives
 * kubelets, plugins and itself, and what holds a container back.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "world.h"

/* ---- who may register ---- */

START_TEST(resource_that_is_not_allowed_is_refused)
{
    vendor.resource = "example.com/tpu";
    ck_assert_int_eq(vendor_register(&vendor).code, HAMID_GRPC_INVALID_ARGUMENT);
    ck_assert_uint_eq(kubelet.registrations, 0);
    expect_metric("hamid_gateway_registrations_total{outcome=\"refused\"} 1");
}
END_TEST

static const char *const odd_endpoints[] = {
    "",
    "../vendor.sock",
    "/vendor.sock",
    "a/b",
    ".hidden",
    "kubelet.sock",
    "a b",
    "a-name-that-is-longer-than-the-name-of-any-socket-that-a-kubelet-would-take.sock",
};

START_TEST(odd_endpoints_are_refused)
{
    for (size_t i = 0; i < sizeof(odd_endpoints) / sizeof(odd_endpoints[0]); i++) {
        vendor.endpoint = odd_endpoints[i];
        ck_assert_msg(vendor_register(&vendor).code == HAMID_GRPC_INVALID_ARGUMENT, "%s",
                      odd_endpoints[i]);
    }
    ck_assert_uint_eq(kubelet.registrations, 0);
}
END_TEST

static bool was_asked(const void *data)
{
    return ((const struct played_vendor *)data)->lists > 0;
}

/* A link in the vendor's folder leads nowhere, least of all to the kubelet. */
START_TEST(link_in_the_place_of_a_socket_is_not_followed)
{
    char link[128], target[128];

    snprintf(target, sizeof(target), "%s/vendor.sock", vendor.folder);
    snprintf(link, sizeof(link), "%s/link.sock", vendor.folder);
    ck_assert_int_eq(symlink(target, link), 0);
    vendor.endpoint = "link.sock";
    ck_assert_int_eq(vendor_register(&vendor).code, HAMID_GRPC_OK);
    vendor.endpoint = "vendor.sock";
    connect_vendor(); /* the honest one, later: nothing came of the other */
    ck_assert(stage_wait(&stage, was_asked, &vendor));
    ck_assert_uint_eq(kubelet.registrations, 1);
    ck_assert_uint_eq(vendor.lists, 1);
    ck_assert_int_eq(unlink(link), 0);
}
END_TEST

START_TEST(folder_that_others_may_write_to_is_refused)
{
    const char *words[] = {"node",
                           "--node",
                           "n1",
                           "--kubeconfig",
                           world.kubeconfig,
                           "--socket",
                           "/tmp/hamid-none.sock",
                           "--gateway",
                           vendor.folder,
                           "--kubelet-plugins",
                           kubelet.folder,
                           NULL};

    ck_assert_int_eq(chmod(vendor.folder, 0777), 0);
    ck_assert_int_eq(process_wait(process_start(hamid_path, words)), 1);
    ck_assert_int_eq(chmod(vendor.folder, 0700), 0);
    words[8] = "/nonexistent";
    ck_assert_int_eq(process_wait(process_start(hamid_path, words)), 1);
}
END_TEST

/* One letter off on the command line, and the kubelet's own socket would be removed. */
START_TEST(folder_of_the_kubelet_is_not_taken_for_the_plugins)
{
    char again[128], path[128];
    struct stat before, after;
    const char *words[] = {"node",
                           "--node",
                           "n1",
                           "--kubeconfig",
                           world.kubeconfig,
                           "--socket",
                           "/tmp/hamid-none.sock",
                           "--gateway",
                           again,
                           "--kubelet-plugins",
                           kubelet.folder,
                           NULL};

    snprintf(again, sizeof(again), "%s/.", kubelet.folder);
    snprintf(path, sizeof(path), "%s/kubelet.sock", kubelet.folder);
    ck_assert_int_eq(stat(path, &before), 0);
    ck_assert_int_eq(process_wait(process_start(hamid_path, words)), 1);
    ck_assert_int_eq(stat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino);
}
END_TEST

/* What a read says of a connection on which nothing was sent: 0, it was closed. */
static ssize_t read_from(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;

    snprintf(address.sun_path, sizeof(address.sun_path), "%.100s", path);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
        return -1;
    }
    return read(fd, &byte, 1);
}

/* Where the test runs as root: another user gets no further than the socket. */
START_TEST(other_users_are_not_served)
{
    struct stat status;
    char path[128];

    snprintf(path, sizeof(path), "%s/kubelet.sock", vendor.folder);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    if (geteuid() != 0) {
        return;
    }
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(chmod(vendor.folder, 0755), 0);
    ck_assert_int_eq(chmod(world.folder, 0755), 0);
    pid_t child = fork();
    if (child == 0) {
        _exit(setuid(65534) == 0 && read_from(path) == 0 ? 0 : 1);
    }
    ck_assert_int_eq(process_wait(child), 0);
    ck_assert_int_eq(chmod(vendor.folder, 0700), 0);
}
END_TEST

/* ---- what comes through ---- */

START_TEST(devices_come_through_and_their_changes)
{
    connect_vendor();
    vendor_tell_devices(&vendor, 3);
    kubelet_wait_devices(&kubelet, 3);
    vendor_tell_devices(&vendor, 5000);
    kubelet_wait_devices(&kubelet, 5000);
    for (size_t i = 1; i <= 200; i++) {
        vendor_tell_devices(&vendor, i); /* faster than anybody reads */
    }
    kubelet_wait_devices(&kubelet, 200);
}
END_TEST

START_TEST(preferences_come_through)
{
    struct outcome outcome;

    connect_vendor();
    outcome = kubelet_prefer(&kubelet, "d-2");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_OK);
    ck_assert_str_eq(outcome.devices, "d-2");
}
END_TEST

/* ---- restarts ---- */

START_TEST(case_4_20_kubelet_that_restarts_gets_the_plugin_again)
{
    connect_vendor();
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, 8);
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, 8);
    ck_assert_uint_eq(vendor.lists, 1); /* the plugin noticed nothing */
    vendor_tell_devices(&vendor, 4);
    kubelet_wait_devices(&kubelet, 4);
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
}
END_TEST

START_TEST(kubelet_that_drops_the_plugin_is_asked_again)
{
    connect_vendor();
    kubelet_drop_plugin(&kubelet);
    kubelet_wait_devices(&kubelet, 8);
    ck_assert_uint_eq(vendor.lists, 1);
}
END_TEST

START_TEST(plugin_that_ends_is_gone_until_it_registers_again)
{
    connect_vendor();
    vendor_stop(&vendor);
    kubelet_wait_no_plugin(&kubelet);
    vendor_start(&vendor, &stage, world.folder);
    vendor.device_count = 6;
    connect_vendor();
    expect_metric("hamid_gateway_plugins{registered=\"yes\"} 1");
}
END_TEST

START_TEST(plugin_that_registers_twice_replaces_itself)
{
    connect_vendor();
    vendor.device_count = 5;
    connect_vendor();
    expect_metric("hamid_gateway_plugins{registered=\"yes\"} 1");
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
}
END_TEST

START_TEST(gateway_that_is_killed_takes_up_where_the_annotations_say)
{
    static const unsigned two[] = {1, 1, 0};

    connect_vendor();
    world_pod(&world, "a", two, "GPU-1,NVIDIA,1000,10:;GPU-2,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
    kubelet_book(&kubelet, "a", "c0", "d-0");
    ck_assert_int_eq(kill(agent.pid, SIGKILL), 0);
    ck_assert_int_eq(process_wait(agent.pid), -1);
    close(agent.notify_fd);
    kubelet_wait_no_plugin(&kubelet);
    start_hamid(
        NULL); /* over the stale sockets; the plugin sees kubelet.sock made anew */
    connect_vendor();
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-1").code, HAMID_GRPC_OK);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(stop_waits_for_the_allocate_that_runs)
{
    struct outcome outcome;
    pid_t pid = agent.pid;

    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    vendor.holds = true;
    kubelet_allocate_start(&kubelet, "d-0", &outcome);
    vendor_wait_allocates(&vendor, 1);
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    vendor_let_go(&vendor);
    ck_assert_int_eq(process_wait(pid), 0);
    close(agent.notify_fd);
    kubelet_wait_no_plugin(&kubelet);
    ck_assert_int_eq(outcome.code, HAMID_GRPC_OK);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    start_hamid(NULL);
}
END_TEST

/* ---- before a start ---- */

static void allocate_for_a(void)
{
    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
}

START_TEST(container_with_its_own_devices_starts)
{
    vendor.wants_pre_start = true;
    allocate_for_a();
    kubelet_book(&kubelet, "a", "c0", "d-0");
    ck_assert_int_eq(kubelet_pre_start(&kubelet, "d-0").code, HAMID_GRPC_OK);
    ck_assert_uint_eq(vendor.pre_starts, 1);
    expect_metric("hamid_node_starts_total{verdict=\"confirmed\"} 1");
    expect_metric("hamid_node_checks_total{outcome=\"confirmed\"} 1");
    expect_metric("hamid_node_swapped 0");
}
END_TEST

START_TEST(container_with_anothers_devices_does_not_start)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};
    struct outcome outcome;

    vendor.wants_pre_start = true;
    allocate_for_a();
    kubelet_book(&kubelet, "b", "c0", "d-0");
    outcome = kubelet_pre_start(&kubelet, "d-0");
    ck_assert_int_eq(outcome.code, HAMID_GRPC_FAILED_PRECONDITION);
    ck_assert_ptr_nonnull(strstr(outcome.text, "ns/a"));
    ck_assert_ptr_nonnull(strstr(outcome.text, "ns/b"));
    ck_assert_uint_eq(vendor.pre_starts, 0);
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
    expect_metric("hamid_node_checks_total{outcome=\"swapped\"} 1");
    expect_metric("hamid_node_swapped 1");
    expect_metric("hamid_gateway_starts_refused_total 1");
}
END_TEST

/* Nobody asks before a start: the swap is seen all the same. */
START_TEST(swap_is_seen_without_a_question)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};

    allocate_for_a();
    kubelet_book(&kubelet, "a", "c1", "d-0"); /* another container of the same pod */
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
    expect_metric("hamid_node_swapped 1");
}
END_TEST

START_TEST(container_of_which_nothing_is_known_starts)
{
    connect_vendor();
    ck_assert_int_eq(kubelet_pre_start(&kubelet, "d-7").code, HAMID_GRPC_OK);
    expect_metric("hamid_node_starts_total{verdict=\"unknown\"} 1");
    kubelet_set_mute(&kubelet, true);
    ck_assert_int_eq(kubelet_pre_start(&kubelet, "d-7").code, HAMID_GRPC_OK);
}
END_TEST

START_TEST(allocate_is_refused_while_the_books_can_not_be_read)
{
    connect_vendor();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    kubelet_set_mute(&kubelet, true);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_UNAVAILABLE);
    ck_assert_uint_eq(vendor.allocates, 0);
    kubelet_set_mute(&kubelet, false);
    ck_assert_int_eq(kubelet_allocate(&kubelet, "d-0").code, HAMID_GRPC_OK);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("life");

    tcase_add_test(cases, resource_that_is_not_allowed_is_refused);
    tcase_add_test(cases, odd_endpoints_are_refused);
    tcase_add_test(cases, link_in_the_place_of_a_socket_is_not_followed);
    tcase_add_test(cases, folder_that_others_may_write_to_is_refused);
    tcase_add_test(cases, folder_of_the_kubelet_is_not_taken_for_the_plugins);
    tcase_add_test(cases, other_users_are_not_served);
    tcase_add_test(cases, devices_come_through_and_their_changes);
    tcase_add_test(cases, preferences_come_through);
    tcase_add_test(cases, case_4_20_kubelet_that_restarts_gets_the_plugin_again);
    tcase_add_test(cases, kubelet_that_drops_the_plugin_is_asked_again);
    tcase_add_test(cases, plugin_that_ends_is_gone_until_it_registers_again);
    tcase_add_test(cases, plugin_that_registers_twice_replaces_itself);
    tcase_add_test(cases, gateway_that_is_killed_takes_up_where_the_annotations_say);
    tcase_add_test(cases, stop_waits_for_the_allocate_that_runs);
    tcase_add_test(cases, container_with_its_own_devices_starts);
    tcase_add_test(cases, container_with_anothers_devices_does_not_start);
    tcase_add_test(cases, swap_is_seen_without_a_question);
    tcase_add_test(cases, container_of_which_nothing_is_known_starts);
    tcase_add_test(cases, allocate_is_refused_while_the_books_can_not_be_read);
    return world_main(argc, argv, "life of the gateway", cases);
}
