/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Daemons as processes, one or two at a time, one of them killed: what the API server saw
 * of them. What a node side does the test does itself.
 */
#include "running.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

#define PODS 20
#define DEVICES_KEY "hami.io/vgpu-devices-to-allocate"

static struct running first, second;
static struct http_client clients[PODS];

/* ---- a second daemon on the same API server ---- */

static void second_start(const char *const *flags)
{
    memset(&second, 0, sizeof(second));
    (void)snprintf(second.directory, sizeof(second.directory), "/tmp/hamid-test-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(second.directory));
    second.sim = first.sim;
    second.base = first.base;
    ck_assert_int_eq(kubesim_write_files(second.sim, second.directory), 0);
    running_start_hamid(&second, flags);
}

static void second_stop(void)
{
    static const char *const files[] = {"kubeconfig", "kubeconfig-admin",
                                        "kubeconfig-certificate", "ready", "addresses"};
    char path[128];

    ck_assert_int_eq(running_end(&second, SIGTERM), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", second.directory, files[i]);
        (void)unlink(path);
    }
    ck_assert_int_eq(rmdir(second.directory), 0);
}

/* ---- binds of a burst, and their node sides ---- */

/* Bindings to a node that the API server has accepted. */
static unsigned bindings_to(const char *node)
{
    char body[64];

    (void)snprintf(body, sizeof(body), "\"%s\"", node);
    struct kubesim_match match = {.verb = "create",
                                  .resource = "pods",
                                  .subresource = "binding",
                                  .body = body,
                                  .code = 201};
    return kubesim_count(first.sim, &match);
}

static bool is_answered(const struct http_client *client)
{
    return strstr(client->answer, "\"}") != NULL;
}

/* Turns the loop until one more of the clients from `begin` on has its answer; its index.
 */
static int next_answered(bool *done, int begin, int end)
{
    double started = running_seconds();

    for (;;) {
        for (int i = begin; i < end; i++) {
            if (!done[i] && is_answered(&clients[i])) {
                done[i] = true;
                return i;
            }
        }
        struct timeval limit = {.tv_usec = 100000};
        (void)event_base_loopexit(first.base, &limit);
        (void)event_base_loop(first.base, EVLOOP_ONCE);
        ck_assert_msg(running_seconds() - started < 15, "nobody was answered");
    }
}

static const char *node_of(int pod)
{
    return pod % 2 == 0 ? "n1" : "n2";
}

/* Serves each pod as its bind is answered: never is another of its node in its window. */
static void serve_all(int begin, int end, bool one_node)
{
    bool done[PODS] = {false};
    unsigned served[2] = {bindings_to("n1"), bindings_to("n2")};
    char name[16];

    for (int count = begin; count < end; count++) {
        int i = next_answered(done, begin, end);
        int at = one_node ? 0 : i % 2;
        ck_assert_str_eq(running_error(&clients[i]), "");
        served[at]++;
        ck_assert_uint_eq(bindings_to(at == 0 ? "n1" : "n2"), served[at]);
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_release(&first, at == 0 ? "n1" : "n2", name);
    }
}

/* ---- tests ---- */

START_TEST(pods_with_the_same_devices_are_never_both_in_the_window_case_1_31_case_3_11)
{
    char name[16], devices[64];

    running_start(&first, NULL);
    running_pods(&first, "p", PODS);
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        (void)snprintf(devices, sizeof(devices), "GPU-%d,NVIDIA,3000,0:;", i / 2);
        (void)kubesim_set_annotation(first.sim, "pods", "ns", name, "hami.io/vgpu-node",
                                     "n1");
        (void)kubesim_set_annotation(first.sim, "pods", "ns", name, DEVICES_KEY, devices);
    }
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&first, &clients[i], name, "n1");
    }
    serve_all(0, PODS, true);
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        (void)snprintf(devices, sizeof(devices), "GPU-%d,NVIDIA,3000,0:;", i / 2);
        char *now = kubesim_annotation(first.sim, "pods", "ns", name, DEVICES_KEY);
        ck_assert_str_eq(now, devices);
        free(now);
    }
    struct kubesim_match patches = {.verb = "patch", .resource = "pods", .user = "admin"};
    ck_assert_uint_eq(kubesim_count(first.sim, &patches), 0);
    running_close(clients, PODS);
    running_stop(&first);
}
END_TEST

START_TEST(two_daemons_bind_for_the_same_nodes_and_lose_nothing_case_3_13)
{
    char name[16];

    running_start(&first, NULL);
    second_start(NULL);
    running_pods(&first, "p", PODS);
    ck_assert_uint_eq(running_node_writes(&first), 0);
    for (int i = 0; i < PODS; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(i % 4 < 2 ? &first : &second, &clients[i], name, node_of(i));
    }
    serve_all(0, PODS, false);
    ck_assert_uint_eq(running_bindings(&first, NULL), PODS);
    running_close(clients, PODS);
    second_stop();
    running_stop(&first);
}
END_TEST

/* The first daemon is killed; its pods, but for the one in the window, come to another.
 */
static void kill_and_ask_again(int waiting)
{
    char name[16];

    ck_assert_int_eq(running_end(&first, SIGKILL), -1);
    running_close(clients, waiting + 1);
    second_start(NULL);
    for (int i = 1; i <= waiting; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&second, &clients[i], name, "n1");
    }
    char metric[64];
    (void)snprintf(metric, sizeof(metric), "hamid_lock_waiters %d\n", waiting);
    ck_assert(running_until(&second, "/metrics", metric));
}

static void ask_first(int waiting)
{
    char name[16], metric[64];

    for (int i = 1; i <= waiting; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&first, &clients[i], name, "n1");
    }
    (void)snprintf(metric, sizeof(metric), "hamid_lock_waiters %d\n", waiting);
    ck_assert(running_until(&first, "/metrics", metric));
}

START_TEST(a_killed_daemons_pods_are_bound_by_the_next_one_case_3_18)
{
    running_start(&first, NULL);
    running_pods(&first, "p", 11);
    running_bind(&first, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    ask_first(10);
    kill_and_ask_again(10);
    ck_assert_uint_eq(bindings_to("n1"), 1);
    running_release(&first, "n1", "p0");
    serve_all(1, 11, true);
    running_close(clients, 11);
    second_stop();
    running_stop(&first);
}
END_TEST

START_TEST(a_binding_that_a_killed_daemon_left_under_way_is_revoked_case_3_18)
{
    static const char *const flags[] = {"--hold-limit=1s", NULL};
    struct kubesim_match binding = {
        .verb = "create", .resource = "pods", .subresource = "binding", .name = "p0"};
    struct kubesim_fault late = {.match = binding, .count = 1, .delay_before_ms = 6000};

    running_start(&first, flags);
    running_pods(&first, "p", 4);
    (void)kubesim_arm(first.sim, &late);
    running_bind(&first, &clients[0], "p0", "n1");
    (void)event_base_loop(first.base, EVLOOP_ONCE);
    (void)event_base_loop(first.base, EVLOOP_ONCE);
    ck_assert(kubesim_wait_count(first.sim, &binding, 1, 30000));
    ask_first(3);
    kill_and_ask_again(3);
    serve_all(1, 4, true);
    binding.code = 409;
    ck_assert(kubesim_wait_count(first.sim, &binding, 1, 30000));
    ck_assert_ptr_null(kubesim_text(first.sim, "pods", "ns", "p0", "/spec/nodeName"));
    ck_assert_uint_eq(bindings_to("n1"), 3);
    running_close(clients, 4);
    second_stop();
    running_stop(&first);
}
END_TEST

START_TEST(a_lock_of_a_pod_that_is_allocating_is_respected_after_a_restart_case_3_29)
{
    struct kubesim_fault slow = {.match = {.resource = "nodes"}, .delay_answer_ms = 100};
    struct kubesim_match look = {.verb = "get", .resource = "pods", .name = "p0"};
    char name[16];

    running_start(&first, NULL);
    running_pods(&first, "r", 5);
    running_pods(&first, "p", 4);
    for (int i = 0; i < 5; i++) {
        (void)snprintf(name, sizeof(name), "r%d", i);
        (void)kubesim_bind(first.sim, "ns", name, node_of(i));
        (void)kubesim_set_phase(first.sim, "ns", name, "Running");
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&first, &clients[i], name, node_of(i));
        ck_assert_str_eq(running_error(&clients[i]), "");
    }
    ck_assert_int_eq(running_end(&first, SIGKILL), -1);
    char *before = running_lock(&first, "n1");
    kubesim_forget_log(first.sim);
    (void)kubesim_arm(first.sim, &slow);
    running_start_hamid(&first, NULL);
    running_bind(&first, &clients[2], "p2", "n1");
    running_bind(&first, &clients[3], "p3", "n2");
    ck_assert(running_until(&first, "/metrics", "hamid_lock_waiters 2\n"));
    /* The holder is looked at; by the second time what was seen has been judged. */
    ck_assert(kubesim_wait_count(first.sim, &look, 2, 30000));
    ck_assert_uint_eq(running_bindings(&first, "p2"), 0);
    ck_assert_uint_eq(running_node_writes(&first), 0);
    char *after = running_lock(&first, "n1");
    ck_assert_str_eq(before, after);
    running_release(&first, "n1", "p0");
    running_release(&first, "n2", "p1");
    serve_all(2, 4, false);
    free(before);
    free(after);
    running_close(clients, 4);
    running_stop(&first);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemons");
    TCase *all = tcase_create("all");

    tcase_set_timeout(all, 60);
    tcase_add_test(
        all, pods_with_the_same_devices_are_never_both_in_the_window_case_1_31_case_3_11);
    tcase_add_test(all, two_daemons_bind_for_the_same_nodes_and_lose_nothing_case_3_13);
    tcase_add_test(all, a_killed_daemons_pods_are_bound_by_the_next_one_case_3_18);
    tcase_add_test(all,
                   a_binding_that_a_killed_daemon_left_under_way_is_revoked_case_3_18);
    tcase_add_test(
        all, a_lock_of_a_pod_that_is_allocating_is_respected_after_a_restart_case_3_29);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
