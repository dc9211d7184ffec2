/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a job of the node side's client ends, and what is made good after a crash, against
 * kubesim.
 */
#include <check.h>
#include <stdlib.h>

#include "client_fixture.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

START_TEST(case_4_05_failure_writes_failed_and_frees_the_lock)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    hami_handshake_job *job = begin_well(1);
    ck_assert_int_eq(
        hami_handshake_fail(job, "no such device", hami_kubernetes_in_ms(5000), &error),
        0);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, NULL);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, "GPU-a,NVIDIA,1000,10:;");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(stats().failed, 1);
    /* The next pod is served as soon as the kubelet has failed this one. */
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    kubesim_set_phase(world.sim, "ns", "a", "Failed");
    finish_well(begin_well(1));
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(dropped_job_writes_nothing_and_can_be_asked_again)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    ck_assert_ptr_null(hami_handshake_drop(begin_well(1)));
    ck_assert_uint_eq(world_writes(&world), 0);
    finish_well(begin_well(1));
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(pod_that_is_gone_is_told_and_its_lock_left)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    hami_handshake_job *job = begin_well(1);
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "a"), 200);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error),
                     HAMI_E_LOST);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}
END_TEST

START_TEST(pod_of_another_uid_is_never_written_to)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    hami_handshake_job *job = begin_well(1);
    hami_handshake_job *other = begin_well(1);
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "a"), 200);
    world_simple_pod(&world, "a"); /* the same devices: only the uid tells them apart */
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error),
                     HAMI_E_LOST);
    ck_assert_int_eq(hami_handshake_fail(other, "x", hami_kubernetes_in_ms(5000), &error),
                     HAMI_E_LOST);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, "GPU-a,NVIDIA,1000,10:;");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}
END_TEST

START_TEST(case_3_27_rewritten_devices_are_refused_and_the_lock_freed)
{
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    hami_handshake_job *job = begin_well(1);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", "a", WORLD_GPU_KEY,
                                            "GPU-other,NVIDIA,1000,10:;"),
                     200);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error),
                     HAMI_E_LOST);
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_pod(&world, "a", WORLD_GPU_KEY, "GPU-other,NVIDIA,1000,10:;");
}
END_TEST

START_TEST(case_2_04_other_writers_changes_survive)
{
    static const unsigned asks[] = {1, 1, 0};

    world_pod(&world, "a", asks, "u,NVIDIA,1,0:;v,NVIDIA,1,0:;");
    world_lock(&world, "a");
    hami_handshake_job *job = begin_well(1);
    ck_assert_int_eq(
        kubesim_set_annotation(world.sim, "pods", "ns", "a", "example.com/x", "1"), 200);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", "a", WORLD_GPU_KEY,
                                            "u,NVIDIA,1,0:;;"),
                     200); /* another plugin handed out the other container */
    ck_assert_int_eq(
        kubesim_set_annotation(world.sim, "nodes", NULL, "n1", "example.com/y", "2"),
        200);
    finish_well(job);
    world_expect_pod(&world, "a", "example.com/x", "1");
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";;");
    world_expect_node(&world, "example.com/y", "2");
}
END_TEST

/* ---- after a crash -------------------------------------------------------------- */

static int recover(void)
{
    struct heard heard = HEARD_INIT;

    ck_assert_int_eq(hami_handshake_recover_start(handshake, hami_kubernetes_in_ms(5000),
                                                  heard_end, &heard),
                     0);
    heard_wait(&heard, 1);
    return heard.codes[0];
}

/* What stands when the node side starts, and whether the lock is freed. */
static const struct {
    const char *title;
    const char *devices; /* of pod a */
    const char *phase;
    const char *done;
    const char *uid; /* of the lease; "" = pod a's, NULL = no lease */
    bool is_freed;
} remains[] = {
    {"served", ";", "success", "7", "", true},
    {"not served", "u,N,1,0:;", "allocating", NULL, "", false},
    {"served under an earlier grant", ";", "success", "6", "", false},
    {"a phase that anybody may have written", ";", "success", NULL, "", false},
    {"another uid", ";", "success", "7", "uid-of-its-predecessor", false},
    {"HAMi's lock, served", ";", "success", NULL, NULL, true},
    {"HAMi's lock, a container left", ";u,N,1,0:;", "success", NULL, NULL, false},
    {"HAMi's lock, not marked", ";", "allocating", NULL, NULL, false},
};

START_TEST(case_4_28_lock_of_a_served_pod_is_freed_at_start)
{
    char *uid, *lease = NULL;

    world_simple_pod(&world, "a");
    kubesim_set_annotation(world.sim, "pods", "ns", "a", WORLD_GPU_KEY,
                           remains[_i].devices);
    kubesim_set_annotation(world.sim, "pods", "ns", "a", HAMI_HANDSHAKE_PHASE_KEY,
                           remains[_i].phase);
    kubesim_set_annotation(world.sim, "pods", "ns", "a", HAMI_HANDSHAKE_DONE_KEY,
                           remains[_i].done);
    uid = world_uid(&world, "a");
    if (remains[_i].uid != NULL) {
        lease = world_lease_text(WORLD_TIME ",ns,a",
                                 *remains[_i].uid != '\0' ? remains[_i].uid : uid, "7");
    }
    world_pair(&world, WORLD_TIME ",ns,a", lease);
    ck_assert_msg(recover() == 0, "%s", remains[_i].title);
    world_expect_node(&world, HAMI_NODELOCK_KEY,
                      remains[_i].is_freed ? NULL : WORLD_TIME ",ns,a");
    ck_assert_uint_eq(world_writes(&world), remains[_i].is_freed);
    free(lease);
    free(uid);
}
END_TEST

START_TEST(start_with_nothing_to_free_is_quiet)
{
    char *lease = world_lease_text(WORLD_TIME ",ns,gone", "uid-of-gone", "9");

    ck_assert_int_eq(recover(), 0); /* no lock */
    world_pair(&world, WORLD_TIME, NULL);
    ck_assert_int_eq(recover(), 0); /* a bare time */
    world_pair(&world, WORLD_TIME ",ns,gone", lease);
    ck_assert_int_eq(recover(), 0); /* its pod is gone: others know what to do */
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,gone");
    ck_assert_uint_eq(world_writes(&world), 0);
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    ck_assert_int_eq(recover(), HAMI_E_NODE);
    ck_assert_int_eq(hami_handshake_recover_start(handshake, 0, NULL, NULL),
                     HAMI_E_INVAL);
    free(lease);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake end");
    TCase *cases = tcase_create("end");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, case_4_05_failure_writes_failed_and_frees_the_lock);
    tcase_add_test(cases, dropped_job_writes_nothing_and_can_be_asked_again);
    tcase_add_test(cases, pod_that_is_gone_is_told_and_its_lock_left);
    tcase_add_test(cases, pod_of_another_uid_is_never_written_to);
    tcase_add_test(cases, case_3_27_rewritten_devices_are_refused_and_the_lock_freed);
    tcase_add_test(cases, case_2_04_other_writers_changes_survive);
    tcase_add_loop_test(cases, case_4_28_lock_of_a_served_pod_is_freed_at_start, 0,
                        COUNT(remains));
    tcase_add_test(cases, start_with_nothing_to_free_is_quiet);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
