/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl as a whole: what an operator reads when a pod waits. The program is named by
 * the environment variable HAMICTL.
 */
#include "running.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "suite.h"

static struct running running;
static struct http_client clients[2];
static char output[16384];

/* Runs hamictl with a kubesim's login; its exit status, and in output what it printed. */
static int run(const char *arguments)
{
    char command[1024];
    const char *program = getenv("HAMICTL");
    ck_assert_msg(program != NULL, "HAMICTL must name the program");
    (void)snprintf(command, sizeof(command), "KUBECONFIG=%s/kubeconfig %s %s 2>&1",
                   running.directory, program, arguments);
    FILE *out = popen(command, "r");
    ck_assert_ptr_nonnull(out);
    size_t length = fread(output, 1, sizeof(output) - 1, out);
    output[length] = '\0';
    int status = pclose(out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void expect(const char *text)
{
    ck_assert_msg(strstr(output, text) != NULL, "'%s' is not in: %s", text, output);
}

/* p0 holds n1, p1 waits. */
static void start_with_a_queue(void)
{
    running_start(&running, NULL);
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 1\n"));
}

static void stop(void)
{
    running_close(clients, 2);
    running_stop(&running);
}

START_TEST(test_locks_from_the_api_server)
{
    start_with_a_queue();
    ck_assert_int_eq(run("locks"), 0);
    expect("NODE");
    expect("n1");
    expect("hami.io/mutex.lock");
    expect("ns/p0");
    ck_assert_int_eq(run("locks -o json --node n2"), 0);
    ck_assert_str_eq(output, "[]\n");
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    ck_assert_int_eq(run("locks"), 0);
    expect("No node is locked.");
    stop();
}
END_TEST

START_TEST(test_locks_from_a_hamid_with_its_queue)
{
    char arguments[128];
    start_with_a_queue();
    (void)snprintf(arguments, sizeof(arguments), "locks --hamid http://%s/",
                   running.address);
    ck_assert_int_eq(run(arguments), 0);
    expect("ns/p0");
    (void)snprintf(arguments, sizeof(arguments), "locks --output=json --hamid http://%s",
                   running.address);
    ck_assert_int_eq(run(arguments), 0);
    expect("\"pod\": \"p1\"");
    stop();
}
END_TEST

START_TEST(test_case_1_27_explain_says_who_holds_the_node_and_what_would_free_it)
{
    char arguments[128];
    start_with_a_queue();
    (void)snprintf(arguments, sizeof(arguments), "explain ns/p1 --hamid http://%s",
                   running.address);
    ck_assert_int_eq(run(arguments), 0);
    expect("Pod ns/p1 is not bound");
    expect("It waits for node n1");
    expect("place 1 of 1");
    expect("by pod ns/p0");
    expect("Pod ns/p0 is bound to node n1");
    expect("waits for the kubelet's Allocate");
    ck_assert_int_eq(run("explain ns/p0"), 0);
    expect("It holds the lock hami.io/mutex.lock of node n1 itself.");
    ck_assert_int_eq(run("explain ns/nobody"), 0);
    expect("Pod ns/nobody is gone.");
    (void)kubesim_set_phase(running.sim, "ns", "p0", "Failed");
    ck_assert_int_eq(run("explain ns/p0"), 0);
    expect("it has finished");
    stop();
}
END_TEST

START_TEST(test_mistakes_are_told_with_what_to_do)
{
    running_start(&running, NULL);
    ck_assert_int_eq(run(""), 2);
    expect("usage: hamictl");
    ck_assert_int_eq(run("--help"), 0);
    ck_assert_int_eq(run("locks --help"), 0);
    expect("--hamid URL");
    ck_assert_int_eq(run("explain"), 2);
    expect("NAMESPACE/POD");
    ck_assert_int_eq(run("locks -o yaml"), 2);
    expect("neither table nor json");
    ck_assert_int_eq(run("locks --kubeconfig /does/not/exist"), 1);
    expect("--kubeconfig");
    ck_assert_int_eq(run("locks --hamid http://127.0.0.1:1"), 1);
    expect("without --hamid the API server is asked");
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
    tcase_add_test(all, test_mistakes_are_told_with_what_to_do);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
