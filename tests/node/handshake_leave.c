/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks whose lease says free=scheduler, as the node side's client leaves them, against
 * kubesim. No scheduler side is there but where a test plays it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

#define WAIT_MS 30000

/* Locks n1 for a pod; its lease says that the scheduler side frees it. */
static void lock_for(const char *pod)
{
    char lock[320];
    char *uid = world_uid(&world, pod);
    char *lease, *end;

    snprintf(lock, sizeof(lock), WORLD_TIME ",ns,%s", pod);
    lease = world_lease_text(lock, uid, "7");
    end = realloc(lease, strlen(lease) + sizeof("scheduler"));
    ck_assert_ptr_nonnull(end);
    lease = end;
    strcpy(strstr(lease, "\"node\"}"), "\"scheduler\"}");
    world_pair(&world, lock, lease);
    free(lease);
    free(uid);
}

static void serve(const char *pod)
{
    world_simple_pod(&world, pod);
    lock_for(pod);
    finish_well(begin_well(1));
}

static void wait_reads_of_node(unsigned count)
{
    struct kubesim_match match = {.verb = "get", .resource = "nodes", .user = "admin"};

    ck_assert(kubesim_wait_count(world.sim, &match, count, WAIT_MS));
}

START_TEST(success_is_the_last_write_and_the_lock_stands)
{
    serve("a");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_uint_eq(world_writes(&world), 1);
    ck_assert_uint_eq(world_reads(&world), 2);
    ck_assert_uint_eq(stats().left, 1);
    ck_assert_uint_eq(stats().released, 0);
}
END_TEST

START_TEST(lock_that_nobody_frees_is_removed_two_seconds_later)
{
    serve("a");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, "{\"version\":1,\"fence\":\"7\"}");
    ck_assert_uint_eq(world_writes(&world), 2);
    ck_assert_uint_eq(world_reads(&world), 3);
}
END_TEST

START_TEST(lock_that_was_passed_on_is_another_pods_and_left_alone)
{
    serve("a");
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    wait_reads_of_node(2);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,b");
    ck_assert_uint_eq(world_writes(&world), 1);
}
END_TEST

START_TEST(in_a_burst_only_the_last_lock_is_looked_at_again)
{
    serve("a");
    serve("b");
    serve("c");
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(world_reads(&world), 3 * 2 + 1);
    ck_assert_uint_eq(world_writes(&world), 3 + 1);
    ck_assert_uint_eq(stats().left, 3);
}
END_TEST

START_TEST(failure_frees_at_once_for_the_scheduler_side_can_not_tell)
{
    world_simple_pod(&world, "a");
    lock_for("a");
    ck_assert_int_eq(
        hami_handshake_fail(begin_well(1), "x", hami_kubernetes_in_ms(5000), &error), 0);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    ck_assert_uint_eq(stats().left, 0);
}
END_TEST

START_TEST(lock_with_containers_to_come_is_neither_freed_nor_left)
{
    static const unsigned asks[] = {1, 1, 0};

    world_pod(&world, "a", asks, "u,NVIDIA,1,0:;v,NVIDIA,1,0:;");
    lock_for("a");
    finish_well(begin_well(1));
    ck_assert_uint_eq(stats().left, 0);
    finish_well(begin_well(1));
    ck_assert_uint_eq(stats().left, 1);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
}
END_TEST

START_TEST(client_that_ends_before_its_two_seconds_waits_for_nothing)
{
    serve("a");
    handshake = hami_handshake_free(handshake);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,a");
    ck_assert_uint_eq(world_writes(&world), 1);
}
END_TEST

START_TEST(next_start_frees_what_was_left_case_4_28)
{
    struct heard heard = HEARD_INIT;

    serve("a");
    handshake = hami_handshake_free(handshake);
    handshake = world_handshake(&world, 0);
    ck_assert_int_eq(hami_handshake_recover_start(handshake, hami_kubernetes_in_ms(5000),
                                                  heard_end, &heard),
                     0);
    heard_wait(&heard, 1);
    ck_assert_int_eq(heard.codes[0], 0);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake leave");
    TCase *cases = tcase_create("leave");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, success_is_the_last_write_and_the_lock_stands);
    tcase_add_test(cases, lock_that_nobody_frees_is_removed_two_seconds_later);
    tcase_add_test(cases, lock_that_was_passed_on_is_another_pods_and_left_alone);
    tcase_add_test(cases, in_a_burst_only_the_last_lock_is_looked_at_again);
    tcase_add_test(cases, failure_frees_at_once_for_the_scheduler_side_can_not_tell);
    tcase_add_test(cases, lock_with_containers_to_come_is_neither_freed_nor_left);
    tcase_add_test(cases, client_that_ends_before_its_two_seconds_waits_for_nothing);
    tcase_add_test(cases, next_start_frees_what_was_left_case_4_28);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
