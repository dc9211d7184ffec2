/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side's client when the wire or the server fails at any of its steps: the pod
 * ends marked and the lock freed, whatever answer was lost, and nobody else's is touched.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

static int begin_within(uint64_t timeout_ms, hami_handshake_job **ret)
{
    return hami_handshake_begin(handshake, WORLD_GPU, device_ids, 1,
                                hami_kubernetes_in_ms(timeout_ms), ret, &error);
}

static int arm(const char *verb, const char *resource, enum kubesim_action action,
               unsigned count)
{
    struct kubesim_fault fault = {
        .match = {.verb = verb, .resource = resource, .user = "admin"},
        .count = count,
        .action = action,
        .status = 500,
    };

    return kubesim_arm(world.sim, &fault);
}

static void expect_served(void)
{
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, "{\"version\":1,\"fence\":\"7\"}");
}

/* ---- one fault at each step ----------------------------------------------------- */

static const enum kubesim_action losses[] = {
    KUBESIM_DROP_BEFORE,   KUBESIM_DROP_AFTER,    KUBESIM_RESET_BEFORE,
    KUBESIM_RESET_AFTER,   KUBESIM_TWICE,         KUBESIM_TWICE_SECOND,
    KUBESIM_STATUS,        KUBESIM_STATUS_AFTER,  KUBESIM_TRUNCATE,
    KUBESIM_REFUSE_STREAM, KUBESIM_GOAWAY_REFUSE, KUBESIM_GOAWAY,
};

/* Once, and again when it is repeated; the reads in between work. */
START_TEST(lost_answer_of_the_pods_patch_is_resolved)
{
    unsigned hits = _i % 2 == 0 ? 1 : 2;
    hami_handshake_job *job = begin_well(1);
    int fault = arm("patch", "pods", losses[_i / 2], hits);
    int code = hami_handshake_finish(job, hami_kubernetes_in_ms(10000), &error);

    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    ck_assert_uint_ge(kubesim_hits(world.sim, fault), 1);
    expect_served();
}
END_TEST

START_TEST(lost_answer_of_the_nodes_patch_is_resolved)
{
    unsigned hits = _i % 2 == 0 ? 1 : 2;
    hami_handshake_job *job = begin_well(1);
    int fault = arm("patch", "nodes", losses[_i / 2], hits);
    int code = hami_handshake_finish(job, hami_kubernetes_in_ms(10000), &error);

    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    ck_assert_uint_ge(kubesim_hits(world.sim, fault), 1);
    expect_served();
}
END_TEST

START_TEST(lost_answer_of_a_failures_patch_is_resolved)
{
    hami_handshake_job *job = begin_well(1);
    int fault = arm("patch", "pods", losses[_i], 2);
    int code =
        hami_handshake_fail(job, "no such device", hami_kubernetes_in_ms(10000), &error);

    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    ck_assert_uint_ge(kubesim_hits(world.sim, fault), 1);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

/* Writes are lost, and the reads that ask about them fail as well. */
START_TEST(lost_answers_of_writes_and_reads_together_are_resolved)
{
    hami_handshake_job *job = begin_well(1);

    arm("patch", "pods", KUBESIM_DROP_AFTER, 1);
    arm("get", "pods", KUBESIM_DROP_BEFORE, 2);
    arm("patch", "nodes", KUBESIM_DROP_AFTER, 1);
    arm("get", "nodes", KUBESIM_STATUS, 2);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(10000), &error), 0);
    expect_served();
}
END_TEST

START_TEST(case_4_26_reads_that_fail_once_are_repeated)
{
    hami_handshake_job *job = NULL;

    arm("list", "pods", losses[_i], 1);
    arm("get", "nodes", losses[_i], 1);
    ck_assert_msg(begin_within(5000, &job) == 0, "%s", error.text);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error), 0);
    expect_served();
}
END_TEST

/* ---- deadlines ------------------------------------------------------------------ */

START_TEST(case_4_19_reads_that_hang_end_by_the_deadline)
{
    hami_handshake_job *job = NULL;
    uint64_t before = hami_kubernetes_now();
    int code;

    arm(_i == 0 ? "list" : "get", _i == 0 ? "pods" : "nodes", KUBESIM_HANG_BEFORE, 0);
    code = begin_within(200, &job);
    ck_assert_msg(code == HAMI_E_TIMEDOUT, "%s: %s", hami_errname(code), error.text);
    ck_assert_uint_lt(hami_kubernetes_now() - before, 2000 * UINT64_C(1000000));
    ck_assert_ptr_null(job);
    ck_assert_uint_eq(world_writes(&world), 0);
}
END_TEST

START_TEST(case_4_05_pods_patch_that_hangs_is_told_and_the_lock_freed_behind)
{
    enum kubesim_action action = _i == 0 ? KUBESIM_HANG_BEFORE : KUBESIM_HANG_AFTER;
    hami_handshake_job *job = begin_well(1);
    int code;

    arm("patch", "pods", action, 1);
    code = hami_handshake_finish(job, hami_kubernetes_in_ms(300), &error);
    ck_assert_msg(code == HAMI_E_IN_DOUBT, "%s: %s", hami_errname(code), error.text);
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(case_4_26_release_that_hangs_answers_and_goes_on_behind)
{
    enum kubesim_action action = _i == 0 ? KUBESIM_HANG_BEFORE : KUBESIM_HANG_AFTER;
    hami_handshake_job *job = begin_well(1);

    arm("patch", "nodes", action, 1);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(300), &error), 0);
    expect_served();
}
END_TEST

START_TEST(case_4_26_server_that_is_away_for_long_is_waited_for)
{
    hami_handshake_job *job = begin_well(1);

    arm("patch", "nodes", KUBESIM_STATUS, 2);
    arm("get", "nodes", KUBESIM_STATUS, 2);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(300), &error), 0);
    expect_served();
    /* Counted once the answer is in, which the store's news may overtake. */
    for (int i = 0; i < 1000 && stats().behind > 0; i++) {
        ck_assert_int_eq(
            kubesim_wait_text(world.sim, "nodes", NULL, "n1", "/none", "x", 5), 0);
    }
    ck_assert_uint_eq(stats().released_behind, 1);
    ck_assert_uint_eq(stats().given_up, 0);
}
END_TEST

START_TEST(handshake_is_freed_at_once_though_a_release_goes_on_behind)
{
    hami_handshake_job *job = begin_well(1);
    uint64_t before;

    arm("patch", "nodes", KUBESIM_HANG_BEFORE, 0);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(100), &error), 0);
    ck_assert_uint_eq(stats().behind, 1);
    before = hami_kubernetes_now();
    handshake = hami_handshake_free(handshake);
    ck_assert_uint_lt(hami_kubernetes_now() - before, 1500 * UINT64_C(1000000));
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}
END_TEST

/* ---- the lock changes under the release ----------------------------------------- */

struct rewrite {
    const char *lock;
    const char *lease;
    bool has_run;
};

/* On the server's thread, right before the release is applied. */
static void rewrite_lock(struct kubesim *sim, void *data)
{
    struct rewrite *rewrite = data;

    if (!rewrite->has_run) {
        rewrite->has_run = true;
        kubesim_set_annotation(sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY,
                               rewrite->lock);
        kubesim_set_annotation(sim, "nodes", NULL, "n1", HAMI_NODELOCK_LEASE_KEY,
                               rewrite->lease);
    }
}

static void finish_while(struct rewrite *rewrite)
{
    hami_handshake_job *job = begin_well(1);
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "nodes", .user = "admin"},
        .count = 1,
        .hook = rewrite_lock,
        .hook_data = rewrite,
    };
    int code;

    kubesim_arm(world.sim, &fault);
    code = hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error);
    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    ck_assert(rewrite->has_run);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}

#define LATER "2026-01-02T03:04:09Z"

START_TEST(case_1_13_lock_stamped_again_without_a_lease_is_removed_by_its_value)
{
    struct rewrite rewrite = {LATER ",ns,a", "{\"version\":1,\"fence\":\"7\"}", false};
    struct kubesim_match pod_reads = {.verb = "get", .resource = "pods", .user = "admin"};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(kubesim_count(world.sim, &pod_reads),
                      1); /* the uid was asked for */
}
END_TEST

START_TEST(case_1_13_lock_of_another_pod_is_left)
{
    char *lease = world_lease_text(LATER ",ns,b", "uid-of-b", "9");
    struct rewrite rewrite = {LATER ",ns,b", lease, false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, LATER ",ns,b");
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, lease);
    free(lease);
}
END_TEST

START_TEST(lock_granted_to_the_same_pod_again_is_removed)
{
    char *uid = world_uid(&world, "a");
    char *lease = world_lease_text(LATER ",ns,a", uid, "9");
    struct rewrite rewrite = {LATER ",ns,a", lease, false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, "{\"version\":1,\"fence\":\"9\"}");
    free(lease);
    free(uid);
}
END_TEST

START_TEST(lock_of_a_namesake_with_another_uid_is_left)
{
    char *lease = world_lease_text(LATER ",ns,a", "uid-of-its-successor", "9");
    struct rewrite rewrite = {LATER ",ns,a", lease, false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, LATER ",ns,a");
    free(lease);
}
END_TEST

START_TEST(lock_that_is_gone_already_is_fine)
{
    struct rewrite rewrite = {NULL, "{\"version\":1,\"fence\":\"7\"}", false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(stats().released, 1);
}
END_TEST

START_TEST(lock_whose_lease_vanished_is_removed_for_our_uid)
{
    struct rewrite rewrite = {WORLD_TIME ",ns,a", NULL, false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, NULL);
}
END_TEST

START_TEST(lock_that_became_a_bare_time_is_left)
{
    struct rewrite rewrite = {LATER, "{\"version\":1,\"fence\":\"7\"}", false};

    finish_while(&rewrite);
    world_expect_node(&world, HAMI_NODELOCK_KEY, LATER);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static void add_losses(TCase *cases)
{
    tcase_add_loop_test(cases, lost_answer_of_the_pods_patch_is_resolved, 0,
                        2 * COUNT(losses));
    tcase_add_loop_test(cases, lost_answer_of_the_nodes_patch_is_resolved, 0,
                        2 * COUNT(losses));
    tcase_add_loop_test(cases, lost_answer_of_a_failures_patch_is_resolved, 0,
                        COUNT(losses));
    tcase_add_test(cases, lost_answers_of_writes_and_reads_together_are_resolved);
    tcase_add_loop_test(cases, case_4_26_reads_that_fail_once_are_repeated, 0,
                        COUNT(losses));
}

int main(void)
{
    Suite *suite = suite_create("handshake faults");
    TCase *cases = tcase_create("faults");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up_pod, tear_down_faults);
    add_losses(cases);
    tcase_add_loop_test(cases, case_4_19_reads_that_hang_end_by_the_deadline, 0, 2);
    tcase_add_loop_test(
        cases, case_4_05_pods_patch_that_hangs_is_told_and_the_lock_freed_behind, 0, 2);
    tcase_add_loop_test(cases, case_4_26_release_that_hangs_answers_and_goes_on_behind, 0,
                        2);
    tcase_add_test(cases, case_4_26_server_that_is_away_for_long_is_waited_for);
    tcase_add_test(cases, handshake_is_freed_at_once_though_a_release_goes_on_behind);
    tcase_add_test(cases,
                   case_1_13_lock_stamped_again_without_a_lease_is_removed_by_its_value);
    tcase_add_test(cases, case_1_13_lock_of_another_pod_is_left);
    tcase_add_test(cases, lock_granted_to_the_same_pod_again_is_removed);
    tcase_add_test(cases, lock_of_a_namesake_with_another_uid_is_left);
    tcase_add_test(cases, lock_that_is_gone_already_is_fine);
    tcase_add_test(cases, lock_whose_lease_vanished_is_removed_for_our_uid);
    tcase_add_test(cases, lock_that_became_a_bare_time_is_left);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
