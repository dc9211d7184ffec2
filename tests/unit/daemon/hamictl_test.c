/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl as a whole: what an operator reads when a pod waits. The program is named by
 * the environment variable HAMICTL.
 */
#include "hamictl_run.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static struct running running;
static struct http_client clients[2];

static void stop(void)
{
    running_close(clients, 2);
    running_stop(&running);
}

START_TEST(test_locks_from_the_api_server)
{
    hamictl_start_with_a_queue(&running, clients);
    ck_assert_int_eq(hamictl_run(&running, "locks"), 0);
    hamictl_expect("NODE");
    hamictl_expect("n1");
    hamictl_expect("hami.io/mutex.lock");
    hamictl_expect("ns/p0");
    ck_assert_int_eq(hamictl_run(&running, "locks -o json --node n2"), 0);
    ck_assert_str_eq(hamictl_output, "[]\n");
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    ck_assert_int_eq(hamictl_run(&running, "locks"), 0);
    hamictl_expect("No node is locked.");
    stop();
}
END_TEST

START_TEST(test_locks_from_a_hamid_with_its_queue)
{
    hamictl_start_with_a_queue(&running, clients);
    ck_assert_int_eq(hamictl_run(&running, "locks --hamid http://%s/", running.address),
                     0);
    hamictl_expect("ns/p0");
    ck_assert_int_eq(
        hamictl_run(&running, "locks --output=json --hamid http://%s", running.address),
        0);
    hamictl_expect("\"pod\": \"p1\"");
    stop();
}
END_TEST

START_TEST(test_case_1_27_explain_says_who_holds_the_node_and_what_would_free_it)
{
    hamictl_start_with_a_queue(&running, clients);
    ck_assert_int_eq(
        hamictl_run(&running, "explain ns/p1 --hamid http://%s", running.address), 0);
    hamictl_expect("Pod ns/p1 is not bound");
    hamictl_expect("It waits for node n1");
    hamictl_expect("place 1 of 1");
    hamictl_expect("by pod ns/p0");
    hamictl_expect("Pod ns/p0 is bound to node n1");
    hamictl_expect("waits for the kubelet's Allocate");
    ck_assert_int_eq(hamictl_run(&running, "explain ns/p0"), 0);
    hamictl_expect("It holds the lock hami.io/mutex.lock of node n1 itself.");
    ck_assert_int_eq(hamictl_run(&running, "explain ns/nobody"), 0);
    hamictl_expect("Pod ns/nobody is gone.");
    (void)kubesim_set_phase(running.sim, "ns", "p0", "Failed");
    ck_assert_int_eq(hamictl_run(&running, "explain ns/p0"), 0);
    hamictl_expect("it has finished");
    stop();
}
END_TEST

/* No plugin: the holder is bound and never served. */
START_TEST(test_case_1_27_behind_a_stale_holder_a_bind_is_refused_at_once_and_counted)
{
    running_start(&running, (const char *const[]){"--stall-limit=300ms", NULL});
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    double begin = running_seconds();
    running_bind(&running, &clients[1], "p1", "n1");
    const char *error = running_error(&clients[1]);
    ck_assert_double_lt(running_seconds() - begin, 10);
    ck_assert_msg(strstr(error, "by pod ns/p0 (seen for ") != NULL, "%s", error);
    ck_assert_msg(strstr(error, "without progress") != NULL, "%s", error);
    ck_assert(running_until(&running, "/metrics",
                            "hamid_lock_refusals_total{reason=\"stalled\"} 1\n"));
    running_close(&clients[1], 1);
    (void)kubesim_set_phase(running.sim, "ns", "p0", "Failed");
    begin = running_seconds();
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    ck_assert_double_lt(running_seconds() - begin, 5);
    running_release(&running, "n1", "p1");
    stop();
}
END_TEST

START_TEST(test_mistakes_are_told_with_what_to_do)
{
    running_start(&running, NULL);
    ck_assert_int_eq(hamictl_run(&running, "%s", ""), 2);
    hamictl_expect("usage: hamictl");
    ck_assert_int_eq(hamictl_run(&running, "--help"), 0);
    ck_assert_int_eq(hamictl_run(&running, "locks --help"), 0);
    hamictl_expect("--hamid URL");
    ck_assert_int_eq(hamictl_run(&running, "explain"), 2);
    hamictl_expect("NAMESPACE/POD");
    ck_assert_int_eq(hamictl_run(&running, "locks -o yaml"), 2);
    hamictl_expect("neither table nor json");
    ck_assert_int_eq(hamictl_run(&running, "locks --kubeconfig /does/not/exist"), 1);
    hamictl_expect("--kubeconfig");
    ck_assert_int_eq(hamictl_run(&running, "locks --hamid http://127.0.0.1:1"), 1);
    hamictl_expect("without --hamid the API server is asked");
    running_stop(&running);
}
END_TEST

START_TEST(test_output_that_could_not_be_written_whole_is_a_failure)
{
    running_start(&running, NULL);
    ck_assert_int_eq(hamictl_run(&running, "locks -o json >/dev/full"), 1);
    hamictl_expect("could not write all of it: No space left on device");
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamictl as a whole");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_locks_from_the_api_server);
    tcase_add_test(all, test_locks_from_a_hamid_with_its_queue);
    tcase_add_test(all,
                   test_case_1_27_explain_says_who_holds_the_node_and_what_would_free_it);
    tcase_add_test(
        all, test_case_1_27_behind_a_stale_holder_a_bind_is_refused_at_once_and_counted);
    tcase_add_test(all, test_mistakes_are_told_with_what_to_do);
    tcase_add_test(all, test_output_that_could_not_be_written_whole_is_a_failure);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
