/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent beside a played kubelet: what its books change in an answer, and what is said
 * when the devices went elsewhere.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

#define ASK "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[\"d-0\"]]}"
#define START "{\"resource\":\"nvidia.com/gpu\",\"ids\":[\"d-0\"]}"

static struct reply ask(void)
{
    return agent_request(&agent, "/v1/allocations", ASK);
}

/* Asks, and says done. */
static void serve(void)
{
    struct reply reply = ask();
    char id[64], path[128];

    ck_assert_msg(reply.status == 200, "%s", reply.body);
    snprintf(path, sizeof(path), "/v1/allocations/%s/done",
             reply_text(&reply, "allocation", id, sizeof(id)));
    ck_assert_int_eq(agent_request(&agent, path, "{}").status, 204);
}

static void served_pod(const char *name)
{
    char assigned[64];

    snprintf(assigned, sizeof(assigned), "GPU-%s,NVIDIA,1000,10:;", name);
    world_simple_pod(&world, name);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", name,
                                            "hami.io/vgpu-devices-allocated", assigned),
                     200);
    world_lock(&world, name);
    serve();
}

static void expect_verdict(long status, const char *member, const char *value)
{
    struct reply reply = agent_request(&agent, "/v1/starts", START);
    char text[64];

    ck_assert_msg(reply.status == status, "%ld %s", reply.status, reply.body);
    ck_assert_str_eq(reply_text(&reply, member, text, sizeof(text)), value);
}

START_TEST(served_pod_that_the_books_lack_is_a_possible_caller)
{
    struct reply reply;
    char text[64];
    unsigned writes;

    served_pod("a");
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    writes = pod_writes();
    reply = ask();
    ck_assert_int_eq(reply.status, 409);
    ck_assert_str_eq(reply_text(&reply, "code", text, sizeof(text)), "BUSY");
    ck_assert_uint_eq(pod_writes(), writes);
    kubelet_book(&kubelet, "a", "c0", "d-0");
    reply = ask();
    ck_assert_int_eq(reply.status, 200);
    ck_assert_str_eq(reply_text(&reply, "name", text, sizeof(text)), "b");
}
END_TEST

START_TEST(start_is_confirmed_by_the_books)
{
    expect_verdict(200, "verdict", "unknown");
    served_pod("a");
    expect_verdict(200, "verdict", "unknown"); /* not on the books yet */
    kubelet_book(&kubelet, "a", "c0", "d-0");
    expect_verdict(200, "verdict", "confirmed");
    expect_metric("hamid_node_checks_total{outcome=\"confirmed\"} 1");
}
END_TEST

START_TEST(start_with_anothers_devices_is_refused)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};

    served_pod("a");
    kubelet_book(&kubelet, "b", "c0", "d-0");
    expect_verdict(409, "code", "SWAPPED");
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
    expect_metric("hamid_node_swapped 1");
    expect_metric("hamid_node_starts_total{verdict=\"swapped\"} 1");
}
END_TEST

/* The devices come back and go to another pod, which was answered for them. */
START_TEST(devices_that_are_answered_anew_are_the_newer_pods)
{
    served_pod("a");
    kubelet_book(&kubelet, "a", "c0", "d-0");
    expect_verdict(200, "verdict", "confirmed");
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "a"), 200);
    kubelet_clear_books(&kubelet);
    served_pod("b");
    kubelet_book(&kubelet, "b", "c0", "d-0");
    expect_verdict(200, "verdict", "confirmed");
    expect_metric("hamid_node_swapped 0");
}
END_TEST

/* What was answered before is known from the pods alone: "a" was served. */
START_TEST(start_after_a_restart_is_confirmed_by_the_pod)
{
    served_pod("a");
    ck_assert_int_eq(agent_end(&agent), 0);
    start_hamid(NULL);
    expect_verdict(200, "verdict", "unknown"); /* not on the books yet */
    kubelet_book(&kubelet, "a", "c0", "d-0");
    expect_verdict(200, "verdict", "confirmed");
    expect_metric("hamid_node_starts_total{verdict=\"confirmed\"} 1");
}
END_TEST

/* "b" was never served, and has what "a" was answered. */
START_TEST(start_after_a_restart_of_a_pod_that_waits_still_is_refused)
{
    struct kubesim_match events = {.verb = "create", .resource = "events"};

    served_pod("a");
    world_simple_pod(&world, "b");
    ck_assert_int_eq(agent_end(&agent), 0);
    start_hamid(NULL);
    kubelet_book(&kubelet, "b", "c0", "d-0");
    expect_verdict(409, "code", "SWAPPED");
    ck_assert(kubesim_wait_count(world.sim, &events, 1, 30000));
    expect_metric("hamid_node_starts_total{verdict=\"swapped\"} 1");
}
END_TEST

START_TEST(start_of_a_container_of_which_nobody_tells_is_unknown)
{
    kubelet_book(&kubelet, "gone", "c0", "d-0");
    expect_verdict(200, "verdict", "unknown");
    expect_metric("hamid_node_swapped 0");
}
END_TEST

START_TEST(books_that_are_asked_for_are_needed)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    kubelet_set_mute(&kubelet, true);
    ck_assert_int_eq(ask().status, 503);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    kubelet_set_mute(&kubelet, false);
    serve();
}
END_TEST

static const struct {
    const char *path; /* of --pod-resources */
    long status;
} paths[] = {
    {"/nonexistent/kubelet.sock", 503}, {"", 200}, /* not read at all */
};

START_TEST(books_may_be_left_out_but_not_be_missed)
{
    const char *extra[] = {"--pod-resources", paths[_i].path, NULL};

    ck_assert_int_eq(agent_end(&agent), 0);
    start_hamid(extra);
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_int_eq(ask().status, paths[_i].status);
}
END_TEST

/* Two reads of the API server an Allocate, with the books as without. */
START_TEST(books_cost_no_call_of_the_api_server)
{
    unsigned reads, writes;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    reads = world_reads(&world);
    writes = world_writes(&world);
    serve();
    ck_assert_uint_eq(world_reads(&world) - reads, 2);
    ck_assert_uint_eq(world_writes(&world) - writes, 2);
    ck_assert_uint_ge(kubelet.book_reads, 1);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("books");

    tcase_add_test(cases, served_pod_that_the_books_lack_is_a_possible_caller);
    tcase_add_test(cases, start_is_confirmed_by_the_books);
    tcase_add_test(cases, start_with_anothers_devices_is_refused);
    tcase_add_test(cases, devices_that_are_answered_anew_are_the_newer_pods);
    tcase_add_test(cases, start_after_a_restart_is_confirmed_by_the_pod);
    tcase_add_test(cases, start_after_a_restart_of_a_pod_that_waits_still_is_refused);
    tcase_add_test(cases, start_of_a_container_of_which_nobody_tells_is_unknown);
    tcase_add_test(cases, books_that_are_asked_for_are_needed);
    tcase_add_loop_test(cases, books_may_be_left_out_but_not_be_missed, 0,
                        (int)(sizeof(paths) / sizeof(paths[0])));
    tcase_add_test(cases, books_cost_no_call_of_the_api_server);
    return world_main(argc, argv, "the agent and the kubelet's books", cases);
}
