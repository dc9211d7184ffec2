/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hamictl tells of pods that are in flight side by side, and how it releases them.
 */
#include "hamictl_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define LEASE_KEY "hami.io/mutex.lease"
#define LOCK_A "2026-01-02T03:04:05Z,ns,a"
#define LOCK_B "2026-01-02T03:04:06Z,ns,b"
#define LEASE(lock, uid, fence, calls)                                                   \
    "{\"version\":1,\"lock\":\"" lock "\",\"uid\":\"" uid "\",\"fence\":\"" fence        \
    "\",\"holder\":\"h_1\",\"attempt\":\"7\",\"hold_ms\":15000,\"free\":\"scheduler\","  \
    "\"calls\":\"" calls "\"}"
#define LEASE_A LEASE(LOCK_A, "uid-a", "11", "nvidia.com/gpu=1")
#define LEASE_B LEASE(LOCK_B, "uid-b", "12", "nvidia.com/gpu=2")

static struct running running;

static void put(const char *key, const char *value)
{
    (void)kubesim_set_annotation(running.sim, "nodes", NULL, "n1", key, value);
}

static void expect_stored(const char *key, const char *value)
{
    char *stored = kubesim_annotation(running.sim, "nodes", NULL, "n1", key);
    ck_assert_msg(value == NULL ? stored == NULL
                                : stored != NULL && strcmp(stored, value) == 0,
                  "%s: %s", key, stored != NULL ? stored : "absent");
    free(stored);
}

/* a and b are in flight on n1, whose pods are gone; b came last. */
static void start(void)
{
    running_start(&running, NULL);
    put("hami.io/mutex.lock", LOCK_B);
    put(LEASE_KEY, LEASE_B);
    put("hami.io/mutex.lock.1", LOCK_A);
    put("hami.io/mutex.lease.1", LEASE_A);
    put("hami.io/mutex.lock.2", LOCK_B);
    put("hami.io/mutex.lease.2", LEASE_B);
}

/* As it is printed for the record of this key. */
static const char *token_of(const char *key)
{
    static const char member[] = "\"token\": \"";
    static char token[17];
    char quoted[64];
    ck_assert_int_eq(hamictl_run(&running, "locks -o json"), 0);
    (void)snprintf(quoted, sizeof(quoted), "\"key\": \"%s\"", key);
    const char *at = strstr(hamictl_output, quoted);
    ck_assert_ptr_nonnull(at);
    at = strstr(at, member);
    ck_assert_ptr_nonnull(at);
    memcpy(token, at + sizeof(member) - 1, sizeof(token) - 1);
    return token;
}

static void expect_not(const char *text)
{
    ck_assert_msg(strstr(hamictl_output, text) == NULL, "%s", hamictl_output);
}

START_TEST(test_each_pod_beside_others_is_shown_once_with_its_calls)
{
    start();
    ck_assert_int_eq(hamictl_run(&running, "locks"), 0);
    hamictl_expect("hami.io/mutex.lock   cover -");
    hamictl_expect("hami.io/mutex.lock.1 held  ns/a");
    hamictl_expect("nvidia.com/gpu=1");
    hamictl_expect("hami.io/mutex.lock.2 held  ns/b");
    ck_assert_int_eq(hamictl_run(&running, "locks -o json"), 0);
    hamictl_expect("\"calls\": \"nvidia.com/gpu=2\"");
    hamictl_expect("\"state\": \"cover\"");
    ck_assert_int_eq(hamictl_run(&running, "queue n1"), 0);
    hamictl_expect("pods are in flight side by side under hami.io/mutex.lock.");
    hamictl_expect("hami.io/mutex.lock.1 is held by pod ns/a");
    ck_assert_int_eq(hamictl_run(&running, "watch --interval 20ms --for 60ms"), 0);
    hamictl_expect("hami.io/mutex.lock.1 locked by ns/a");
    hamictl_expect("hami.io/mutex.lock.2 locked by ns/b");
    expect_not("hami.io/mutex.lock locked");
    running_stop(&running);
}
END_TEST

START_TEST(test_explain_says_for_whom_of_them_a_pod_waits)
{
    start();
    running_pods(&running, "p", 1);
    (void)kubesim_set_annotation(running.sim, "pods", "ns", "p0", "hami.io/vgpu-node",
                                 "n1");
    ck_assert_int_eq(hamictl_run(&running, "explain ns/p0"), 0);
    hamictl_expect("Node n1: pods are in flight side by side under hami.io/mutex.lock;");
    hamictl_expect("It is beside others, with nvidia.com/gpu=1.\n");
    hamictl_expect("Both ask for nvidia.com/gpu=1: the pod waits for it.");
    hamictl_expect("It is beside others, with nvidia.com/gpu=2.\n");
    hamictl_expect("They ask for nothing alike: the pod need not wait for it");
    running_stop(&running);
}
END_TEST

START_TEST(test_a_hamid_tells_the_same_of_them)
{
    start();
    ck_assert_int_eq(hamictl_run(&running, "locks --hamid http://%s", running.address),
                     0);
    hamictl_expect("cover");
    running_stop(&running);
}
END_TEST

START_TEST(test_a_pod_beside_others_is_released_by_its_token_and_the_cover_stays)
{
    start();
    ck_assert_int_eq(hamictl_run(&running, "release n1 --yes --expect %s",
                                 token_of("hami.io/mutex.lock.2")),
                     0);
    hamictl_expect("Released: hami.io/mutex.lock.2 of node n1.");
    expect_stored("hami.io/mutex.lock", LOCK_A);
    expect_stored(LEASE_KEY, LEASE_A);
    expect_stored("hami.io/mutex.lock.2", NULL);
    ck_assert_int_eq(hamictl_run(&running,
                                 "release n1 --yes --key hami.io/mutex.lock.1 "
                                 "--expect %s",
                                 token_of("hami.io/mutex.lock.1")),
                     0);
    hamictl_expect("Released: hami.io/mutex.lock.1 of node n1.");
    expect_stored("hami.io/mutex.lock", NULL);
    expect_stored("hami.io/mutex.lock.1", NULL);
    running_stop(&running);
}
END_TEST

START_TEST(test_without_a_token_all_that_can_be_released_is_shown_with_its_own)
{
    char token[64];
    start();
    (void)snprintf(token, sizeof(token), "%s", token_of("hami.io/mutex.lock.2"));
    ck_assert_int_eq(hamictl_run(&running, "release n1"), 2);
    hamictl_expect("--expect TOKEN is required");
    hamictl_expect("hami.io/mutex.lock.1 held  ns/a");
    hamictl_expect(token);
    running_stop(&running);
}
END_TEST

START_TEST(test_the_cover_is_not_released_over_pods_in_flight)
{
    start();
    ck_assert_int_eq(hamictl_run(&running,
                                 "release n1 --yes --force --key hami.io/mutex.lock "
                                 "--expect %s",
                                 token_of("hami.io/mutex.lock.2")),
                     1);
    hamictl_expect("only says that pods are in flight side by side on node n1");
    hamictl_expect("hami.io/mutex.lock.2");
    hamictl_expect("'hamictl locks' shows the key and token of each.");
    expect_not("device plugin");
    expect_stored("hami.io/mutex.lock", LOCK_B);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hamictl side by side");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, test_each_pod_beside_others_is_shown_once_with_its_calls);
    tcase_add_test(all, test_explain_says_for_whom_of_them_a_pod_waits);
    tcase_add_test(all, test_a_hamid_tells_the_same_of_them);
    tcase_add_test(all,
                   test_a_pod_beside_others_is_released_by_its_token_and_the_cover_stays);
    tcase_add_test(all,
                   test_without_a_token_all_that_can_be_released_is_shown_with_its_own);
    tcase_add_test(all, test_the_cover_is_not_released_over_pods_in_flight);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
