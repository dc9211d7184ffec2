/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the gateway's tests. */
#include "world.h"

#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct world world;
struct agent_process agent;
struct stage stage;
struct played_kubelet kubelet;
struct played_vendor vendor;

static char front[96];

void start_hamid(const char *const *extra)
{
    const char *words[24] = {
        "--gateway",       front,         "--kubelet-plugins",  kubelet.folder,
        "--pod-resources", kubelet.books, "--allocate-timeout", "2s"};
    size_t count = 8;

    for (; extra != NULL && *extra != NULL; extra++) {
        words[count++] = *extra;
    }
    agent_start(&agent, &world, words);
}

void set_up(void)
{
    world_start(&world);
    snprintf(front, sizeof(front), "%s/vendors", world.folder);
    ck_assert_int_eq(mkdir(front, 0700), 0);
    stage_start(&stage);
    kubelet_start(&kubelet, &stage, world.folder);
    start_hamid(NULL);
    memset(&vendor, 0, sizeof(vendor));
    vendor.device_count = 8;
    vendor_start(&vendor, &stage, world.folder);
}

void tear_down(void)
{
    vendor_stop(&vendor);
    ck_assert_int_eq(agent_end(&agent), 0);
    kubelet_stop(&kubelet);
    stage_stop(&stage);
    ck_assert_int_eq(rmdir(front), 0); /* nobody left a socket behind */
    world_stop(&world);
}

void connect_vendor(void)
{
    ck_assert_int_eq(vendor_register(&vendor).code, HAMID_GRPC_OK);
    kubelet_wait_devices(&kubelet, vendor.device_count);
}

void expect_metric(const char *line)
{
    char text[256];
    struct reply reply = agent_request(&agent, "/metrics", NULL);

    snprintf(text, sizeof(text), "\n%s\n", line);
    ck_assert_msg(strstr(reply.body, text) != NULL, "no %s in %.3000s", line, reply.body);
}

unsigned pod_writes(void)
{
    struct kubesim_match pods = {.verb = "patch", .resource = "pods", .user = "admin"};
    struct kubesim_match nodes = {.verb = "patch", .resource = "nodes", .user = "admin"};

    return kubesim_count(world.sim, &pods) + kubesim_count(world.sim, &nodes);
}

int world_main(int argc, char **argv, const char *title, TCase *cases)
{
    Suite *suite = suite_create(title);
    SRunner *runner = srunner_create(suite);
    int failed;

    if (argc != 2) {
        fprintf(stderr, "usage: %s HAMID\n", argv[0]);
        return 99;
    }
    hamid_path = argv[1];
    signal(SIGPIPE, SIG_IGN);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    curl_global_cleanup();
    return failed == 0 ? 0 : 1;
}
