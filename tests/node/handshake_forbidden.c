/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side before an API server that does not let it write: for a moment, as one
 * does that was just started and knows no roles yet, or for good. Until the pod says
 * success or failed its lock stands, and nobody is served outside it.
 */
#include <check.h>
#include <string.h>

#include "client_fixture.h"

/* So long that on a loaded computer, too, what has to come before the late one does. */
#define TESTS_LATE_MS 3000
#define TESTS_SHORT_MS 1200

/* Answers with a status instead of carrying out; count 0: for good. */
static int answer_with(int status, const char *verb, const char *resource, unsigned count)
{
    struct kubesim_fault fault = {
        .match = {.verb = verb, .resource = resource, .user = "admin"},
        .action = KUBESIM_STATUS,
        .status = status,
        .count = count,
    };
    int id = kubesim_arm(world.sim, &fault);

    ck_assert_int_gt(id, 0);
    return id;
}

static int end_job(hami_handshake_job *job, bool is_failure, uint64_t timeout_ms)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(timeout_ms);

    return is_failure ? hami_handshake_fail(job, NULL, deadline_ns, &error)
                      : hami_handshake_finish(job, deadline_ns, &error);
}

static void expect_untouched(void)
{
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}

/* ---- for a moment ---- */

START_TEST(server_that_forbids_all_after_its_start_is_waited_for)
{
    hami_handshake_job *job = begin_well(1);
    int writes = answer_with(_i == 0 ? 403 : 401, "patch", "pods", 2);
    int code;

    answer_with(403, "get", "pods", 2);
    code = hami_handshake_finish(job, hami_kubernetes_in_ms(20000), &error);
    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    ck_assert_uint_eq(kubesim_hits(world.sim, writes), 2);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

/* A plugin that asks again meanwhile is not served under a lock that is about to go. */
START_TEST(refused_container_keeps_its_lock_until_its_pod_says_failed)
{
    hami_handshake_job *job = begin_well(1), *again = NULL;
    int fault = answer_with(403, "patch", "pods", 0);

    ck_assert_int_eq(end_job(job, _i == 1, TESTS_SHORT_MS), HAMI_E_ACCESS);
    ck_assert_uint_eq(stats().behind, 1);
    ck_assert_int_eq(begin(1, &again), HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "was refused its devices"));
    expect_untouched();
    kubesim_disarm(world.sim, fault);
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, NULL);
}
END_TEST

/* The kubelet's word, on the server's thread. */
static void fail_pod(struct kubesim *sim, void *data)
{
    kubesim_set_phase(sim, "ns", data, "Failed");
}

/* A kubelet that dies before it says Failed asks for the refused pod once more, and
 * nothing in the call tells that it is not for the next one. */
START_TEST(next_pod_is_served_once_the_kubelet_has_failed_the_refused_one)
{
    static const unsigned looks = 3;
    struct kubesim_match lists = {.verb = "list", .resource = "pods", .user = "admin"};
    struct kubesim_fault word = {.match = lists,
                                 .skip = looks,
                                 .count = 1,
                                 .hook = fail_pod,
                                 .hook_data = (void *)(uintptr_t) "a"};
    hami_handshake_job *job = begin_well(1);
    unsigned before;

    ck_assert_int_eq(end_job(job, true, 20000), 0);
    ck_assert_int_eq(begin(1, &job), HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "was refused its"));
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    ck_assert_int_eq(hami_handshake_begin(handshake, WORLD_GPU, device_ids, 1,
                                          hami_kubernetes_in_ms(TESTS_SHORT_MS), &job,
                                          &error),
                     HAMI_E_BUSY);
    ck_assert_int_gt(kubesim_arm(world.sim, &word), 0);
    before = kubesim_count(world.sim, &lists);
    job = begin_well(1);
    ck_assert_uint_eq(kubesim_count(world.sim, &lists), before + looks + 1);
    ck_assert_str_eq(hami_handshake_owner(job)->name, "b");
    finish_well(job);
}
END_TEST

/* What a call's callback heard; no job must come. */
static void heard_begun(void *data, int code, hami_handshake_job *job,
                        const struct hami_error *ignored)
{
    hami_handshake_drop(job);
    heard_end(data, code, ignored);
}

START_TEST(call_that_read_before_a_refusal_ended_reads_again)
{
    struct kubesim_match reads = {.verb = "get", .resource = "nodes", .user = "admin"};
    struct kubesim_fault late = {
        .match = reads, .delay_answer_ms = TESTS_LATE_MS, .count = 1};
    struct hami_handshake_container container = {device_ids, 1};
    struct heard heard = HEARD_INIT;
    hami_handshake_job *job = begin_well(1);
    unsigned before = kubesim_count(world.sim, &reads);

    ck_assert_int_gt(kubesim_arm(world.sim, &late), 0);
    ck_assert_int_eq(hami_handshake_begin_start(handshake, WORLD_GPU, &container, 1,
                                                hami_kubernetes_in_ms(20000), heard_begun,
                                                &heard),
                     0);
    ck_assert(kubesim_wait_count(world.sim, &reads, before + 1, 30000));
    ck_assert_int_eq(end_job(job, true, 20000), 0);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    heard_wait(&heard, 1);
    ck_assert_int_eq(heard.codes[0], HAMI_E_LOST);
    ck_assert_uint_eq(kubesim_count(world.sim, &reads), before + 2);
}
END_TEST

/* ---- for good ---- */

START_TEST(forbidden_reads_are_told)
{
    hami_handshake_job *job = NULL;

    answer_with(403, _i == 0 ? "list" : "get", _i == 0 ? "pods" : "nodes", 0);
    ck_assert_int_eq(begin(1, &job), HAMI_E_ACCESS);
    ck_assert_str_ne(error.text, "");
}
END_TEST

START_TEST(pod_that_is_never_written_keeps_its_lock_for_the_takeover_rules)
{
    hami_handshake_job *job = begin_well(1);

    answer_with(400, "patch", "pods", 0);
    ck_assert_int_eq(end_job(job, true, 5000), HAMI_E_PROTO);
    expect_untouched();
    ck_assert_uint_eq(stats().given_up, 1);
}
END_TEST

START_TEST(forbidden_patch_of_the_node_leaves_the_lock_and_answers)
{
    hami_handshake_job *job = begin_well(1);

    answer_with(403, "patch", "nodes", 0);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error), 0);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_uint_eq(stats().given_up, 1);
}
END_TEST

/* ---- late ---- */

START_TEST(success_that_comes_late_never_lands_on_a_refused_pod)
{
    struct kubesim_match refused = {.verb = "patch", .resource = "pods", .code = 422};
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "pods", .user = "admin"},
        .delay_before_ms = TESTS_LATE_MS,
        .count = 1,
    };
    hami_handshake_job *job = begin_well(1);

    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(
        hami_handshake_finish(job, hami_kubernetes_in_ms(TESTS_SHORT_MS), &error),
        HAMI_E_IN_DOUBT);
    world_wait_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    ck_assert(kubesim_wait_count(world.sim, &refused, 1, 30000));
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake forbidden");
    TCase *cases = tcase_create("forbidden");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up_pod, tear_down_faults);
    tcase_add_loop_test(cases, server_that_forbids_all_after_its_start_is_waited_for, 0,
                        2);
    tcase_add_loop_test(cases, refused_container_keeps_its_lock_until_its_pod_says_failed,
                        0, 2);
    tcase_add_test(cases, next_pod_is_served_once_the_kubelet_has_failed_the_refused_one);
    tcase_add_test(cases, call_that_read_before_a_refusal_ended_reads_again);
    tcase_add_loop_test(cases, forbidden_reads_are_told, 0, 2);
    tcase_add_test(cases,
                   pod_that_is_never_written_keeps_its_lock_for_the_takeover_rules);
    tcase_add_test(cases, forbidden_patch_of_the_node_leaves_the_lock_and_answers);
    tcase_add_test(cases, success_that_comes_late_never_lands_on_a_refused_pod);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
