/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The example plugin and the kubelet's books: what the kubelet wrote down of an answer
 * decides whether the container may start, and whether one that was served asks again.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin_world.h"
#include "suite.h"

static struct plugin_world all;
static struct played_answer answer;

/* The books: one container with its ids, or none. */
static struct {
    struct hamid_grpc_server *server;
    char path[128];
    const char *pod; /* NULL: nobody is on them */
    const char *id;
    bool hangs;
    size_t reads;
} books;

static void list(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                 size_t length)
{
    V1__ListPodResourcesResponse response = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
    V1__PodResources pod = V1__POD_RESOURCES__INIT, *pods[1] = {&pod};
    V1__ContainerResources container = V1__CONTAINER_RESOURCES__INIT,
                           *containers[1] = {&container};
    V1__ContainerDevices devices = V1__CONTAINER_DEVICES__INIT, *rows[1] = {&devices};
    char *ids[1] = {(char *)books.id};

    (void)data;
    (void)message;
    (void)length;
    books.reads++;
    if (books.hangs) {
        return; /* it is never answered */
    }
    if (books.pod != NULL) {
        pod.name = (char *)books.pod;
        pod.namespace_name = (char *)"ns";
        container.name = (char *)"c0";
        devices.resource_name = (char *)WORLD_GPU;
        devices.device_ids = ids;
        devices.n_device_ids = 1;
        container.devices = rows;
        container.n_devices = 1;
        pod.containers = containers;
        pod.n_containers = 1;
        response.pod_resources = pods;
        response.n_pod_resources = 1;
    }
    hamid_kubelet_reply(call, &response.base);
}

static const struct hamid_grpc_method methods[] = {{HAMID_KUBELET_PODS_LIST, list},
                                                   {NULL, NULL}};

static void set_up(void)
{
    struct hamid_grpc_server_config config = {.methods = methods};
    const char *flags[] = {"--pod-resources", books.path, NULL};
    char error[256] = "";

    plugin_world_prepare(&all, NULL);
    snprintf(books.path, sizeof(books.path), "%s/books.sock", all.world.folder);
    books.server = hamid_grpc_server_new(all.kubelet.base, &config);
    ck_assert_msg(hamid_grpc_server_listen(books.server, books.path, 0600, error,
                                           sizeof(error)) == 0,
                  "%s", error);
    plugin_start(&all, flags);
    kubelet_until(&all.kubelet, &all.kubelet.lists, 1);
}

static void tear_down(void)
{
    hamid_grpc_server_free(books.server);
    memset(&books, 0, sizeof(books));
    plugin_world_stop(&all);
}

static void pod(const char *name, const char *devices)
{
    const unsigned one[] = {1, 0};

    world_pod(&all.world, name, one, devices);
    world_lock(&all.world, name);
}

START_TEST(a_container_starts_where_the_books_have_its_devices_for_it)
{
    ck_assert(all.kubelet.wants_pre_start);
    pod("p", "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    books.pod = "p";
    books.id = "GPU-c-0";
    kubelet_pre_start(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
}
END_TEST

START_TEST(a_container_that_has_anothers_devices_does_not_start)
{
    pod("p", "GPU-a,NVIDIA,1,0:;");
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    books.pod = "another";
    books.id = "GPU-c-0";
    kubelet_pre_start(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_int_eq(answer.code, HAMID_GRPC_FAILED_PRECONDITION);
    expect_word(answer.text, "another");
    const struct kubesim_match event = {.verb = "create", .resource = "events"};
    ck_assert(kubesim_wait_count(all.world.sim, &event, 1, PATIENCE_MS));
    expect_logged("A container must not start");
}
END_TEST

START_TEST(case_4_20_a_container_that_the_books_lost_gets_the_same_devices_again)
{
    pod("p", "GPU-a,NVIDIA,1000,10:;");
    ck_assert_int_eq(kubesim_set_annotation(all.world.sim, "pods", "ns", "p",
                                            "hami.io/vgpu-devices-allocated",
                                            "GPU-a,NVIDIA,1000,10:;"),
                     200);
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    world_wait_node(&all.world, HAMI_NODELOCK_KEY, NULL);
    kubelet_allocate(&all.kubelet, "GPU-c-1",
                     &answer); /* it knows nothing of the first */
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
    expect_word(answer.environment[0], "VISIBLE=GPU-a ");
    books.pod = "p";
    books.id = "GPU-c-1";
    kubelet_allocate(&all.kubelet, "GPU-c-2", &answer); /* now it is on the books */
    ck_assert_int_eq(answer.code, HAMID_GRPC_NOT_FOUND);
}
END_TEST

START_TEST(books_that_hang_keep_an_allocate_no_longer_than_its_limit)
{
    pod("p", "GPU-a,NVIDIA,1,0:;");
    books.hangs = true;
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer); /* they were asked for: refused */
    ck_assert_int_eq(answer.code, HAMID_GRPC_UNAVAILABLE);
    ck_assert_uint_gt(books.reads, 0);
    world_expect_pod(&all.world, "p", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    books.hangs = false;
    kubelet_allocate(&all.kubelet, "GPU-c-0", &answer);
    ck_assert_msg(answer.code == HAMID_GRPC_OK, "%s", answer.text);
}
END_TEST

int main(int argc, char **argv)
{
    Suite *suite = suite_create("device-plugin-books");
    TCase *tests = tcase_create("books");

    if (argc != 2) {
        fprintf(stderr, "usage: %s HAMI-DEVICE-PLUGIN\n", argv[0]);
        return 99;
    }
    plugin_path = argv[1];
    tcase_set_timeout(tests, 60);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_container_starts_where_the_books_have_its_devices_for_it);
    tcase_add_test(tests, a_container_that_has_anothers_devices_does_not_start);
    tcase_add_test(tests,
                   case_4_20_a_container_that_the_books_lost_gets_the_same_devices_again);
    tcase_add_test(tests, books_that_hang_keep_an_allocate_no_longer_than_its_limit);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
