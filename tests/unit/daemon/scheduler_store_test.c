/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler as a whole, with each of the stores that --lock-store chooses.
 */
#include "running.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

static struct running running;
static struct http_client clients[2];

static void start(const char *store)
{
    char flag[64];
    (void)snprintf(flag, sizeof(flag), "--lock-store=%s", store);
    running_start(&running, (const char *const[]){flag, NULL});
    ck_assert_int_eq(kubesim_request(running.sim, "POST", "/api/v1/namespaces",
                                     "application/json",
                                     "{\"metadata\":{\"name\":\"hami-nodelock\"}}", NULL),
                     201);
    running_pods(&running, "p", 2);
}

static void stop(void)
{
    running_close(clients, 2);
    running_stop(&running);
}

/* The lock in the node's Lease names that pod. */
static void assert_leased(const char *node, const char *name)
{
    char owner[64];
    char *lock = kubesim_text(running.sim, "leases", "hami-nodelock", node, LOCK_POINTER);
    (void)snprintf(owner, sizeof(owner), ",ns,%s", name);
    ck_assert_msg(lock != NULL && strstr(lock, owner) != NULL, "%s is not of %s",
                  lock != NULL ? lock : "(none)", name);
    free(lock);
}

START_TEST(test_a_mirrored_lease_is_released_by_removing_the_lock_from_the_node)
{
    start("lease+mirror");
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    assert_leased("n1", "p0");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 1\n"));
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[1]), "");
    assert_leased("n1", "p1");
    running_release(&running, "n1", "p1");
    stop();
}
END_TEST

START_TEST(test_by_default_the_node_alone_has_the_lock)
{
    start("annotation");
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    ck_assert_ptr_null(
        kubesim_text(running.sim, "leases", "hami-nodelock", "n1", LOCK_POINTER));
    running_release(&running, "n1", "p0");
    stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler stores");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all,
                   test_a_mirrored_lease_is_released_by_removing_the_lock_from_the_node);
    tcase_add_test(all, test_by_default_the_node_alone_has_the_lock);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
