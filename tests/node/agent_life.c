/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid node as a process: how it starts and stops, and a node's whole life with the
 * stand-in kubelet.
 */
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_fixture.h"

START_TEST(annotation_says_that_an_agent_is_here_until_it_stops)
{
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, "1,free=node");
    ck_assert_int_eq(agent_request(&agent, "/readyz", NULL).status, 200);
    ck_assert_int_eq(agent_end(&agent), 0);
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, NULL);
    ck_assert_int_eq(access(agent.socket, F_OK), -1);
    agent_start(&agent, &world, NULL);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "nodes", NULL, "n1",
                                            HAMI_HANDSHAKE_AGENT_KEY, "1,free=scheduler"),
                     200);
    ck_assert_int_eq(agent_end(&agent), 0);
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY,
                      "1,free=scheduler"); /* a successor's */
    agent_start(&agent, &world, NULL);
}
END_TEST

/* Exits at once with a word of what is wrong. */
static void expect_refused(const char *const *words)
{
    ck_assert_int_eq(process_wait(process_start(hamid_path, words)), 2);
}

START_TEST(side_by_side_is_told_on_the_node_and_needs_the_scheduler_side)
{
    static const char *const beside[] = {"--free=scheduler", "--side-by-side", NULL};
    static const char *const alone[] = {"node", "--node=n1", "--side-by-side", NULL};
    static const char *const gateway[] = {"node",           "--node=n1",
                                          "--side-by-side", "--free=scheduler",
                                          "--gateway=/tmp", NULL};

    ck_assert_int_eq(agent_end(&agent), 0);
    agent_start(&agent, &world, beside);
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, "1,free=scheduler,side-by-side");
    expect_refused(alone);
    expect_refused(gateway);
    ck_assert_int_eq(agent_end(&agent), 0);
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, NULL);
    agent_start(&agent, &world, NULL);
}
END_TEST

START_TEST(agent_waits_for_its_node_object)
{
    ck_assert_int_eq(agent_end(&agent), 0);
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    struct kubesim_match writes = {.verb = "patch", .resource = "nodes", .code = 404};
    agent_launch(&agent, &world, NULL);
    ck_assert(kubesim_wait_count(world.sim, &writes, 1, 30000));
    ck_assert_int_eq(agent_request(&agent, "/readyz", NULL).status, 503);
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
    ck_assert_int_eq(kubesim_create_node(world.sim, "n1", WORLD_GPU, 8), 201);
    agent_wait_ready(&agent);
    ck_assert_int_eq(agent_request(&agent, "/readyz", NULL).status, 200);
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, "1,free=node");
}
END_TEST

/* What the service manager is told next begins so. */
static void expect_told(const char *state)
{
    struct pollfd one = {.fd = agent.notify_fd, .events = POLLIN};
    char text[256] = "";

    ck_assert_msg(poll(&one, 1, 10000) == 1, "%s was not told", state);
    ck_assert_int_gt(recv(agent.notify_fd, text, sizeof(text) - 1, 0), 0);
    ck_assert_msg(strncmp(text, state, strlen(state)) == 0, "%s instead of %s", text,
                  state);
}

START_TEST(a_reload_leaves_open_allocations_as_they_are)
{
    char id[64];

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_int_eq(ask(id, sizeof(id)).status, 200);
    ck_assert_int_eq(kill(agent.pid, SIGHUP), 0);
    expect_told("RELOADING=1\n");
    expect_told("READY=1");
    ck_assert_int_eq(end(id, "done", "{}").status, 204);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(allocation_from_before_a_restart_is_gone)
{
    char id[64], again[64];

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    ck_assert_int_eq(kill(agent.pid, SIGKILL), 0);
    ck_assert_int_eq(process_wait(agent.pid), -1);
    close(agent.notify_fd);
    agent_start(&agent, &world, NULL); /* over the stale socket file */
    struct reply reply = end(id, "done", "{}");
    ck_assert_int_eq(reply.status, 410);
    ck_assert_ptr_nonnull(strstr(reply.body, "restart"));
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    ck_assert_int_eq(ask(again, sizeof(again)).status, 200);
    ck_assert_str_ne(id, again);
    ck_assert_int_eq(end(again, "done", "{}").status, 204);
}
END_TEST

START_TEST(case_4_28_crash_before_the_release_is_made_good_at_start)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_HANG_BEFORE};
    char id[64];
    pid_t caller;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    kubesim_arm(world.sim, &fault);
    caller = fork(); /* waits for its answer while the agent is killed */
    if (caller == 0) {
        end(id, "done", "{}");
        _exit(0);
    }
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    ck_assert_int_eq(kill(agent.pid, SIGKILL), 0);
    ck_assert_int_eq(process_wait(agent.pid), -1);
    ck_assert_int_ge(process_wait(caller), 0);
    close(agent.notify_fd);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    agent_start(&agent, &world, NULL); /* waits for READY */
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(stop_waits_for_done_and_takes_nothing_new)
{
    char id[64], other[64];
    char text[64];
    struct reply reply;
    pid_t pid = agent.pid;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ask(id, sizeof(id));
    ck_assert_int_eq(kill(pid, SIGTERM), 0);
    recv(agent.notify_fd, text, sizeof(text), 0); /* STOPPING=1 */
    ck_assert_int_eq(strncmp(text, "STOPPING=1", 10), 0);
    reply = ask(other, sizeof(other));
    ck_assert_int_eq(reply.status, 503);
    ck_assert_int_eq(end(id, "done", "{}").status, 204);
    ck_assert_int_eq(process_wait(pid), 0);
    close(agent.notify_fd);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_HANDSHAKE_AGENT_KEY, NULL);
    agent_start(&agent, &world, NULL);
}
END_TEST

START_TEST(socket_is_this_users_alone)
{
    struct stat status;

    ck_assert_int_eq(stat(agent.socket, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    if (geteuid() != 0) {
        return;
    }
    /* Even where the file lets another user in, his credentials do not. */
    ck_assert_int_eq(chmod(agent.socket, 0666), 0);
    ck_assert_int_eq(chmod(world.folder, 0755), 0);
    ck_assert_int_eq(seteuid(65534), 0);
    struct reply reply = agent_request(&agent, "/v1/allocations", ASK);
    struct reply other = agent_request(
        &agent, "/v1/allocations/0123456789abcdef0123456789abcdef/done", "{}");
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(reply.status, 403);
    ck_assert_int_eq(other.status, 403);
}
END_TEST

static int run_node(const char *const *words)
{
    return process_wait(process_start(hamid_path, words));
}

START_TEST(command_lines_are_checked)
{
    unsetenv("NODE_NAME");
    ck_assert_int_eq(run_node((const char *[]){"node", "--help", NULL}), 0);
    ck_assert_int_eq(run_node((const char *[]){"node", NULL}), 2);
    ck_assert_int_eq(
        run_node((const char *[]){"node", "--node", "n1", "--key", "x y", NULL}), 2);
    ck_assert_int_eq(
        run_node((const char *[]){"node", "--node", "n1", "--nonsense", NULL}), 2);
    ck_assert_int_eq(
        run_node((const char *[]){"node", "--node", "n1", "--vendor", "nonsense", NULL}),
        2);
    ck_assert_int_eq(run_node((const char *[]){"node", "--node", "n1",
                                               "--allocate-timeout", "soon", NULL}),
                     2);
    ck_assert_int_eq(run_node((const char *[]){"node", "--node", "Not A Node", NULL}), 2);
    ck_assert_int_eq(run_node((const char *[]){"node", "--node", "n1", "--kubeconfig",
                                               "/nonexistent", NULL}),
                     1);
    /* A second agent on a socket that is alive. */
    ck_assert_int_eq(
        run_node((const char *[]){"node", "--node", "n1", "--kubeconfig",
                                  world.kubeconfig, "--socket", agent.socket, NULL}),
        1);
    ck_assert_int_eq(agent_request(&agent, "/livez", NULL).status, 200);
}
END_TEST

START_TEST(vendor_table_of_the_command_line_is_used)
{
    static const char *const extra[] = {"--vendor", "example.com/tpu=" WORLD_GPU_KEY,
                                        "--require-fence", NULL};
    char id[64];

    ck_assert_int_eq(agent_end(&agent), 0);
    agent_start(&agent, &world, extra);
    world_simple_pod(&world, "a");
    ck_assert_int_eq(ask(id, sizeof(id)).status, 400); /* not nvidia.com/gpu now */
    ck_assert_int_eq(
        agent_request(&agent, "/v1/allocations",
                      "{\"resource\":\"example.com/tpu\",\"containers\":[[\"d\"]]}")
            .status,
        404);
}
END_TEST

START_TEST(case_4_03_require_fence_is_a_flag)
{
    static const char *const extra[] = {"--require-fence", NULL};
    char id[64];

    world_simple_pod(&world, "a");
    ck_assert_int_eq(ask(id, sizeof(id)).status, 200);
    ck_assert_int_eq(agent_end(&agent), 0);
    agent_start(&agent, &world, extra);
    ck_assert_int_eq(ask(id, sizeof(id)).status, 409);
    world_lock(&world, "a");
    ck_assert_int_eq(ask(id, sizeof(id)).status, 200);
}
END_TEST

/* ---- with the stand-in kubelet -------------------------------------------------- */

/* The scheduler's part for one pod: lock, bind, and wait until the lock is free. */
START_TEST(kubelet_and_agent_serve_pods_one_after_another)
{
    const char *words[] = {"--kubeconfig", world.kubeconfig, "--node", "n1", "--socket",
                           agent.socket,   "--allocate-ms",  "5",      NULL};
    pid_t kubelet = process_start(kubelet_path, words);
    struct reply reply;

    for (int i = 0; i < 5; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        world_simple_pod(&world, name); /* no lock yet: served by HAMi's rules */
        world_wait_pod(&world, name, HAMI_HANDSHAKE_PHASE_KEY, "success");
        ck_assert(kubesim_wait_text(world.sim, "pods", "ns", name, "/status/phase",
                                    "Running", 30000));
    }
    kill(kubelet, SIGTERM);
    ck_assert_int_eq(process_wait(kubelet), 0);
    reply = agent_request(&agent, "/metrics", NULL);
    ck_assert_ptr_nonnull(
        strstr(reply.body, "hamid_node_allocations_total{outcome=\"served\"} 5\n"));
    ck_assert_ptr_nonnull(
        strstr(reply.body, "hamid_node_ends_total{outcome=\"done\"} 5\n"));
    ck_assert_ptr_nonnull(strstr(reply.body, "hamid_node_without_fence_total 5\n"));
}
END_TEST

START_TEST(kubelet_fails_a_pod_that_the_agent_refuses)
{
    const char *words[] = {"--kubeconfig", world.kubeconfig, "--node", "n1",
                           "--socket",     agent.socket,     NULL};
    char *lease = world_lease_text(WORLD_TIME ",ns,gone", "uid-of-gone", "9");
    pid_t kubelet;

    world_pair(&world, WORLD_TIME ",ns,gone", lease);
    world_simple_pod(&world, "a");
    kubelet = process_start(kubelet_path, words);
    ck_assert(kubesim_wait_text(world.sim, "pods", "ns", "a", "/status/phase", "Failed",
                                30000));
    ck_assert(kubesim_wait_text(world.sim, "pods", "ns", "a", "/status/reason",
                                "UnexpectedAdmissionError", 30000));
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    kill(kubelet, SIGTERM);
    ck_assert_int_eq(process_wait(kubelet), 0);
    free(lease);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("agent");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, annotation_says_that_an_agent_is_here_until_it_stops);
    tcase_add_test(cases, side_by_side_is_told_on_the_node_and_needs_the_scheduler_side);
    tcase_add_test(cases, agent_waits_for_its_node_object);
    tcase_add_test(cases, a_reload_leaves_open_allocations_as_they_are);
    tcase_add_test(cases, allocation_from_before_a_restart_is_gone);
    tcase_add_test(cases, case_4_28_crash_before_the_release_is_made_good_at_start);
    tcase_add_test(cases, stop_waits_for_done_and_takes_nothing_new);
    tcase_add_test(cases, socket_is_this_users_alone);
    tcase_add_test(cases, command_lines_are_checked);
    tcase_add_test(cases, vendor_table_of_the_command_line_is_used);
    tcase_add_test(cases, case_4_03_require_fence_is_a_flag);
    tcase_add_test(cases, kubelet_and_agent_serve_pods_one_after_another);
    tcase_add_test(cases, kubelet_fails_a_pod_that_the_agent_refuses);
    return agent_main(argc, argv, "life of hamid node", cases);
}
