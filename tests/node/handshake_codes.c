/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ways in which a job can end that need no lost answer: a forked child, a server that is
 * gone, one that answers nonsense. A job is consumed by each of them.
 */
#include <check.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client_fixture.h"

static hami_handshake_job *jobs[4];

static void ignore_end(void *data, int code, const struct hami_error *ignored)
{
    (void)data;
    (void)code;
    (void)ignored;
}

static int be_forked_child(void)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(5000);
    const int codes[] = {
        hami_handshake_finish(jobs[0], deadline_ns, NULL),
        hami_handshake_fail(jobs[1], "why", deadline_ns, NULL),
        hami_handshake_finish_start(jobs[2], deadline_ns, ignore_end, NULL),
        hami_handshake_fail_start(jobs[3], NULL, deadline_ns, ignore_end, NULL),
    };
    for (size_t i = 0; i < 4; i++) {
        if (codes[i] != HAMI_E_FORKED) {
            return (int)i + 1;
        }
    }
    return 0;
}

START_TEST(a_forked_child_ends_no_job_of_its_parent)
{
    int status = -1;

    for (size_t i = 0; i < 4; i++) {
        jobs[i] = begin_well(1);
    }
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(be_forked_child());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "call %d",
                  WEXITSTATUS(status));
    ck_assert_uint_eq(world_writes(&world), 0);
    for (size_t i = 1; i < 4; i++) {
        ck_assert_ptr_null(hami_handshake_drop(jobs[i]));
    }
    finish_well(jobs[0]);
}
END_TEST

static void answer_writes_of_pods(int status)
{
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "pods", .user = "admin"},
        .action = KUBESIM_STATUS,
        .status = status,
        .count = 1};

    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

START_TEST(an_answer_that_makes_no_sense_is_told_and_the_container_refused)
{
    hami_handshake_job *job = begin_well(1);

    answer_writes_of_pods(400);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error),
                     HAMI_E_PROTO);
    /* The container is refused, so that the pod ends as failed and the node is free. */
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
}
END_TEST

START_TEST(a_server_that_is_gone_was_surely_not_written_to)
{
    hami_handshake_job *job = begin_well(1);
    hami_handshake_job *none = NULL;

    kubesim_stop(world.sim);
    ck_assert_int_eq(hami_handshake_finish(job, hami_kubernetes_in_ms(300), &error),
                     HAMI_E_TRANSPORT);
    ck_assert_int_eq(hami_handshake_begin(handshake, WORLD_GPU, device_ids, 1,
                                          hami_kubernetes_in_ms(300), &none, &error),
                     HAMI_E_TRANSPORT);
    ck_assert_ptr_null(none);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake codes");
    TCase *cases = tcase_create("codes");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up_pod, tear_down);
    tcase_add_test(cases, a_forked_child_ends_no_job_of_its_parent);
    tcase_add_test(cases,
                   an_answer_that_makes_no_sense_is_told_and_the_container_refused);
    tcase_add_test(cases, a_server_that_is_gone_was_surely_not_written_to);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
