/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Beside a device plugin that does HAMi's handshake itself: what it leaves behind is
 * repaired, and what it did rightly is left alone.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

static void annotate(const char *pod, const char *key, const char *value)
{
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", pod, key, value),
                     200);
}

static void set_lock(const char *value)
{
    ck_assert_int_eq(
        kubesim_set_annotation(world.sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY, value),
        200);
}

/* A pod of two containers, locked for, and the job of its first one. */
static hami_handshake_job *begin_first(void)
{
    static const unsigned two[] = {1, 1, 0};

    world_pod(&world, "a", two, "GPU-1,NVIDIA,1000,10:;GPU-2,NVIDIA,1000,10:;");
    world_lock(&world, "a");
    return begin_well(1);
}

START_TEST(case_4_07_lock_that_the_plugin_freed_after_the_first_container_is_put_back)
{
    hami_handshake_job *job = begin_first();

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    annotate("a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    set_lock(NULL);
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_uint_eq(stats().restored, 1);
    job = begin_well(1);
    ck_assert_str_eq(hami_handshake_device(job, 0)->uuid, "GPU-2");
    ck_assert_uint_eq(hami_handshake_fence(job), 7);
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
}
END_TEST

/* As this library's own release leaves it: the fence's memory alone. */
START_TEST(case_4_07_lease_that_was_freed_too_is_put_back)
{
    hami_handshake_job *job = begin_first();
    char *uid = world_uid(&world, "a");
    char *lease = world_lease_text(WORLD_TIME ",ns,a", uid, "7");

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    world_pair(&world, NULL, "{\"version\":1,\"fence\":\"7\"}");
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, lease);
    free(lease);
    free(uid);
}
END_TEST

START_TEST(lock_that_another_has_by_now_stays_his)
{
    hami_handshake_job *job = begin_first();
    char *lease = world_lease_text(WORLD_TIME ",ns,b", "uid-of-b", "9");

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    world_pair(&world, WORLD_TIME ",ns,b", lease);
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,b");
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, lease);
    ck_assert_uint_eq(stats().restored, 0);
    free(lease);
}
END_TEST

/* Put back, its lease would hide the fence that another owner has had meanwhile. */
START_TEST(lock_that_another_has_had_since_is_not_put_back)
{
    hami_handshake_job *job = begin_first();

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    world_pair(&world, NULL, "{\"version\":1,\"fence\":\"8\"}");
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, "{\"version\":1,\"fence\":\"8\"}");
    ck_assert_uint_eq(stats().restored, 0);
}
END_TEST

START_TEST(lock_that_stands_costs_one_look_and_no_write)
{
    hami_handshake_job *job = begin_first();
    unsigned writes;

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    writes = world_writes(&world);
    finish_well(job);
    /* The pod's patch alone, which is refused. */
    ck_assert_uint_eq(world_writes(&world), writes + 1);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}
END_TEST

START_TEST(lock_that_the_plugin_leaked_at_the_end_is_freed)
{
    hami_handshake_job *job;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    job = begin_well(1);
    annotate("a", WORLD_GPU_KEY, ";");
    annotate("a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
}
END_TEST

START_TEST(plugin_that_did_it_all_is_confirmed)
{
    hami_handshake_job *job;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    job = begin_well(1);
    annotate("a", WORLD_GPU_KEY, ";;");
    annotate("a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    set_lock(NULL);
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(look_that_hangs_is_given_up_in_time_and_the_devices_are_handed_out)
{
    struct kubesim_fault fault = {.match = {.verb = "get", .resource = "nodes"},
                                  .action = KUBESIM_HANG_BEFORE};
    hami_handshake_job *job = begin_first();

    annotate("a", WORLD_GPU_KEY, ";GPU-2,NVIDIA,1000,10:;");
    set_lock(NULL);
    kubesim_arm(world.sim, &fault);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(500), &error), 0);
    ck_assert_uint_eq(stats().restored, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside a plugin that does the handshake");
    TCase *cases = tcase_create("keep");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(
        cases,
        case_4_07_lock_that_the_plugin_freed_after_the_first_container_is_put_back);
    tcase_add_test(cases, case_4_07_lease_that_was_freed_too_is_put_back);
    tcase_add_test(cases, lock_that_another_has_by_now_stays_his);
    tcase_add_test(cases, lock_that_another_has_had_since_is_not_put_back);
    tcase_add_test(cases, lock_that_stands_costs_one_look_and_no_write);
    tcase_add_test(cases, lock_that_the_plugin_leaked_at_the_end_is_freed);
    tcase_add_test(cases, plugin_that_did_it_all_is_confirmed);
    tcase_add_test(cases,
                   look_that_hangs_is_given_up_in_time_and_the_devices_are_handed_out);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
