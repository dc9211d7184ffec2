/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pod after pod through the gateway while kubelet, plugin and hamid die and come back,
 * drawn from a seed (HAMI_TEST_SEED). Whatever happens: a pod that the kubelet got an
 * answer for is marked served and its lock is gone, and no other pod is ever written to.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "world.h"

#define PODS 40
#define BYSTANDER "bystander"

static uint64_t random_state;

/* SplitMix64. */
static unsigned draw(unsigned below)
{
    uint64_t z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % below);
}

/* ---- what happens ---- */

static char pod[16];

/* What HAMi's plugin does within Allocate. */
static void own_handshake(void *data)
{
    (void)data;
    (void)kubesim_set_annotation(world.sim, "pods", "ns", pod, WORLD_GPU_KEY, ";;");
    (void)kubesim_set_annotation(world.sim, "pods", "ns", pod, HAMI_HANDSHAKE_PHASE_KEY,
                                 "success");
    (void)kubesim_set_annotation(world.sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY, NULL);
}

static void nothing(void)
{
}

static void kubelet_comes_again(void)
{
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, vendor.device_count);
}

static void plugin_comes_again(void)
{
    vendor_stop(&vendor);
    kubelet_wait_no_plugin(&kubelet);
    vendor_start(&vendor, &stage, world.folder);
    vendor.device_count = 4 + draw(5);
    connect_vendor();
}

static void hamid_comes_again(void)
{
    ck_assert_int_eq(kill(agent.pid, SIGKILL), 0);
    ck_assert_int_eq(process_wait(agent.pid), -1);
    close(agent.notify_fd);
    kubelet_wait_no_plugin(&kubelet);
    start_hamid(NULL);
    connect_vendor();
}

/* The kubelet dies while the plugin works, and asks anew when it is back. */
static void kubelet_dies_in_between(void)
{
    struct outcome outcome;
    unsigned before = vendor.allocates;

    vendor.holds = true;
    kubelet_allocate_start(&kubelet, "d-0", &outcome);
    vendor_wait_allocates(&vendor, before + 1);
    kubelet_restart(&kubelet);
    kubelet_wait_devices(&kubelet, vendor.device_count);
    vendor.holds = false;
}

static void plugin_does_the_handshake(void)
{
    vendor.in_allocate = own_handshake;
}

static void plugin_fails(void)
{
    vendor.refuses = "drawn to fail";
}

static void server_hangs_up(void)
{
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "pods"},
                                  .count = 1,
                                  .action = KUBESIM_DROP_AFTER};

    kubesim_arm(world.sim, &fault);
}

static void (*const events[])(void) = {
    nothing,           kubelet_comes_again,       plugin_comes_again,
    hamid_comes_again, server_hangs_up,           kubelet_dies_in_between,
    plugin_fails,      plugin_does_the_handshake,
};
#define EVENTS (sizeof(events) / sizeof(events[0]))

/* ---- one pod ---- */

static void one_pod(unsigned number, unsigned *served)
{
    unsigned event = draw(EVENTS);
    struct outcome outcome;

    snprintf(pod, sizeof(pod), "p%u", number);
    world_simple_pod(&world, pod);
    world_lock(&world, pod);
    events[event]();
    outcome = kubelet_allocate(&kubelet, "d-1");
    if (outcome.code == HAMID_GRPC_OK) {
        ck_assert_msg(event != 6, "a plugin that failed was answered for");
        ++*served;
        world_expect_pod(&world, pod, HAMI_HANDSHAKE_PHASE_KEY, "success");
        world_expect_pod(&world, pod, HAMI_HANDSHAKE_DONE_KEY, "7");
        kubelet_clear_books(&kubelet);
        kubelet_book(&kubelet, pod, "c0", "d-1");
    } else {
        ck_assert_msg(event == 6, "event %u: %s", event, outcome.text);
        world_wait_pod(&world, pod, HAMI_HANDSHAKE_PHASE_KEY, "failed");
    }
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    /* The kubelet reports it: Running, or Failed. */
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", pod), 200);
    vendor.in_allocate = NULL;
    vendor.refuses = NULL;
}

START_TEST(pods_come_through_whoever_dies)
{
    static const unsigned two[] = {2, 0};
    const char *seed = getenv("HAMI_TEST_SEED");
    unsigned served = 0;
    char *before, *after;

    random_state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    connect_vendor();
    world_pod(&world, BYSTANDER, two, "GPU-x,NVIDIA,1,0:GPU-y,NVIDIA,1,0:;");
    before =
        kubesim_text(world.sim, "pods", "ns", BYSTANDER, "/metadata/resourceVersion");
    for (unsigned i = 0; i < PODS; i++) {
        one_pod(i, &served);
    }
    after = kubesim_text(world.sim, "pods", "ns", BYSTANDER, "/metadata/resourceVersion");
    ck_assert_str_eq(before, after); /* it asks another count, and was never touched */
    ck_assert_uint_gt(served, PODS / 2);
    expect_metric("hamid_node_swapped 0");
    free(before);
    free(after);
}
END_TEST

int main(int argc, char **argv)
{
    TCase *cases = tcase_create("storm");

    tcase_add_test(cases, pods_come_through_whoever_dies);
    return world_main(argc, argv, "a storm around the gateway", cases);
}
