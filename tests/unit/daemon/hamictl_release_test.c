/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `hamictl release`, `queue` and `watch` as an operator uses them, beside a hamid that
 * runs.
 */
#include "hamictl_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define LEASE_KEY "hami.io/mutex.lease"
#define REVOKED_KEY "hami.io/mutex.revoked"

static struct running running;
static struct http_client clients[2];

static void stop(void)
{
    running_close(clients, 2);
    running_stop(&running);
}

static char *annotation(const char *resource, const char *name, const char *key)
{
    bool is_node = strcmp(resource, "nodes") == 0;
    return kubesim_annotation(running.sim, resource, is_node ? NULL : "ns", name, key);
}

/* A lock of pod ns/p0 that no process of ours holds. */
static void put_lock(const char *value)
{
    (void)kubesim_set_annotation(running.sim, "nodes", NULL, "n1", LOCK_KEY, value);
}

START_TEST(test_a_lock_whose_pod_is_gone_is_released_by_its_token)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    const char *token = hamictl_token(&running);
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --expect %s", token), 0);
    hamictl_expect("Released: hami.io/mutex.lock of node n1.");
    ck_assert_ptr_null(running_lock(&running, "n1"));
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --expect %s", token), 1);
    hamictl_expect("node n1 is not locked");
    stop();
}
END_TEST

START_TEST(test_a_pair_that_changed_is_left_and_shown)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    char token[32];
    (void)snprintf(token, sizeof(token), "%s", hamictl_token(&running));
    put_lock("2026-01-02T03:04:05Z,ns,another");
    unsigned writes = running_node_writes(&running);
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --force --expect %s", token),
                     1);
    hamictl_expect("node n1 has another lock by now");
    hamictl_expect("What stands there now:");
    hamictl_expect("ns/another");
    hamictl_expect(hamictl_token(&running));
    ck_assert_uint_eq(running_node_writes(&running), writes);
    /* The lease alone changed: another pair as well. */
    (void)snprintf(token, sizeof(token), "%s", hamictl_token(&running));
    (void)kubesim_set_annotation(running.sim, "nodes", NULL, "n1", LEASE_KEY,
                                 "{\"version\":1,\"fence\":\"9\"}");
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --expect %s", token), 1);
    hamictl_expect("nothing was written");
    stop();
}
END_TEST

START_TEST(test_an_unbound_owner_is_revoked_before_its_lock_goes)
{
    running_start(&running, NULL);
    running_pods(&running, "p", 1);
    put_lock("2026-01-02T03:04:05Z,ns,p0");
    ck_assert_int_eq(
        hamictl_run(&running, "release n1 --yes --expect %s", hamictl_token(&running)),
        0);
    char *revoked = annotation("pods", "p0", REVOKED_KEY);
    ck_assert_ptr_nonnull(revoked);
    ck_assert_msg(strncmp(revoked, "n1,0,hamictl_", 13) == 0, "%s", revoked);
    ck_assert_ptr_null(running_lock(&running, "n1"));
    free(revoked);
    stop();
}
END_TEST

START_TEST(test_one_that_is_bound_and_waits_needs_force_and_the_next_goes_on)
{
    hamictl_start_with_a_queue(&running, clients);
    char token[32];
    (void)snprintf(token, sizeof(token), "%s", hamictl_token(&running));
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --expect %s", token), 1);
    hamictl_expect("ns/p0 is bound to node n1 and waits for Allocate");
    hamictl_expect("--force");
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --force --expect %s", token),
                     0);
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    stop();
}
END_TEST

START_TEST(test_another_lock_key_is_released_alone)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    (void)kubesim_set_annotation(running.sim, "nodes", NULL, "n1", "example.com/my.lock",
                                 "2026-01-02T03:04:05Z,ns,none");
    ck_assert_int_eq(hamictl_run(&running, "release n1 --key example.com/my.lock"), 2);
    hamictl_expect("--expect TOKEN is required");
    hamictl_expect("ns/none");
    char token[17] = "";
    const char *at = strstr(hamictl_output, "ns/none");
    size_t length = 0;
    for (at += strlen("ns/none"); length != 16; at += length + 1) {
        length = strspn(at, "0123456789abcdef");
        ck_assert(at[length] != '\0');
    }
    memcpy(token, at - 17, 16);
    ck_assert_int_eq(hamictl_run(&running,
                                 "release n1 --key example.com/my.lock --yes --expect %s",
                                 token),
                     0);
    char *other = annotation("nodes", "n1", "example.com/my.lock");
    ck_assert_ptr_null(other);
    char *lock = running_lock(&running, "n1");
    ck_assert_ptr_nonnull(lock);
    free(lock);
    stop();
}
END_TEST

START_TEST(test_without_a_terminal_and_without_yes_nothing_is_written)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    ck_assert_int_eq(
        hamictl_run(&running, "release n1 --expect %s", hamictl_token(&running)), 2);
    hamictl_expect("add --yes");
    ck_assert_int_eq(hamictl_run(&running, "release n1"), 2);
    hamictl_expect("--expect TOKEN is required");
    hamictl_expect("What stands there now:");
    ck_assert_int_eq(hamictl_run(&running, "release"), 2);
    ck_assert_int_eq(hamictl_run(&running, "release n1 n2 --expect a"), 2);
    ck_assert_int_eq(hamictl_run(&running, "release n9 --yes --expect a"), 1);
    ck_assert_int_eq(hamictl_run(&running, "release '../pods' --yes --expect a"), 1);
    char *lock = running_lock(&running, "n1");
    ck_assert_ptr_nonnull(lock);
    free(lock);
    stop();
}
END_TEST

START_TEST(test_on_a_terminal_it_shows_the_lock_and_asks)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    char command[256];
    (void)snprintf(command, sizeof(command), "release n1 --expect %s",
                   hamictl_token(&running));
    ck_assert_int_eq(hamictl_terminal(&running, "n", command), 1);
    hamictl_expect("ns/nobody is gone");
    hamictl_expect("Release this lock of node n1? [y/N]");
    hamictl_expect("Nothing was written.");
    ck_assert_int_eq(hamictl_terminal(&running, "y", command), 0);
    hamictl_expect("Released:");
    ck_assert_ptr_null(running_lock(&running, "n1"));
    stop();
}
END_TEST

/* ---- queue ---- */

START_TEST(test_a_queue_is_listed_in_its_order)
{
    hamictl_start_with_a_queue(&running, clients);
    ck_assert_int_eq(hamictl_run(&running, "queue n1 --hamid http://%s", running.address),
                     0);
    hamictl_expect("Node n1: hami.io/mutex.lock is handed-off by pod ns/p0");
    hamictl_expect("PLACE");
    hamictl_expect("ns/p1");
    ck_assert_int_eq(hamictl_run(&running, "queue n2 --hamid http://%s", running.address),
                     0);
    hamictl_expect("Node n2 is not locked.");
    hamictl_expect("Nobody waits for it at this hamid.");
    ck_assert_int_eq(hamictl_run(&running, "queue n1"), 0);
    hamictl_expect("Who waits is known to hamid alone");
    ck_assert_int_eq(hamictl_run(&running, "queue n1 -o json"), 0);
    hamictl_expect("\"waiters\": null");
    ck_assert_int_eq(hamictl_run(&running, "queue"), 2);
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    stop();
}
END_TEST

/* ---- watch ---- */

START_TEST(test_watch_tells_what_stands_and_what_changes)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    ck_assert_int_eq(hamictl_run(&running, "watch --interval 20ms --for 100ms"), 0);
    hamictl_expect("n1  hami.io/mutex.lock locked by ns/nobody (foreign)\n");
    ck_assert_int_eq(hamictl_run(&running, "watch --interval 20ms --for 100ms --node n2"),
                     0);
    ck_assert_str_eq(hamictl_output, "");
    ck_assert_int_eq(
        hamictl_run(&running,
                    "watch --interval 20ms --for 100ms -o json --hamid http://%s",
                    running.address),
        0);
    hamictl_expect("\"event\":\"locked\"");
    /* A change between two looks: the lock goes while it looks. */
    ck_assert_int_eq(hamictl_run(&running,
                                 "watch --interval 50ms --for 5s | (read first; echo "
                                 "$first; KUBECONFIG=%s/kubeconfig $HAMICTL release n1 "
                                 "--yes --expect %s; read second; echo $second)",
                                 running.directory, hamictl_token(&running)),
                     0);
    hamictl_expect("Released:");
    hamictl_expect("n1 hami.io/mutex.lock freed by ns/nobody\n");
    stop();
}
END_TEST

START_TEST(test_watch_draws_a_table_on_a_terminal)
{
    running_start(&running, NULL);
    put_lock("2026-01-02T03:04:05Z,ns,nobody");
    ck_assert_int_eq(hamictl_terminal(&running, "", "watch --interval 20ms --for 60ms"),
                     0);
    hamictl_expect("\033[H\033[J");
    hamictl_expect("Node locks at");
    hamictl_expect("ns/nobody");
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamictl release, queue, watch");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_a_lock_whose_pod_is_gone_is_released_by_its_token);
    tcase_add_test(all, test_a_pair_that_changed_is_left_and_shown);
    tcase_add_test(all, test_an_unbound_owner_is_revoked_before_its_lock_goes);
    tcase_add_test(all,
                   test_one_that_is_bound_and_waits_needs_force_and_the_next_goes_on);
    tcase_add_test(all, test_another_lock_key_is_released_alone);
    tcase_add_test(all, test_without_a_terminal_and_without_yes_nothing_is_written);
    tcase_add_test(all, test_on_a_terminal_it_shows_the_lock_and_asks);
    tcase_add_test(all, test_a_queue_is_listed_in_its_order);
    tcase_add_test(all, test_watch_tells_what_stands_and_what_changes);
    tcase_add_test(all, test_watch_draws_a_table_on_a_terminal);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
