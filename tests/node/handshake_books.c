/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side's client with the kubelet's books: a kubelet that died before it wrote
 * down what it was answered asks again, beside a pod that was bound meanwhile.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

#define ALLOCATED_KEY "hami.io/vgpu-devices-allocated"

/* Asks for one device with the books given; NULL rows: there are none. */
static int ask(const struct hami_handshake_holding *rows, size_t count,
               hami_handshake_job **ret)
{
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;

    call.holdings = rows;
    call.holding_count = count;
    return begin_with_books(&call, 1, ret);
}

static void serve(const char *name)
{
    char assigned[64];

    snprintf(assigned, sizeof(assigned), "GPU-%s,NVIDIA,1000,10:;", name);
    world_simple_pod(&world, name);
    ck_assert_int_eq(
        kubesim_set_annotation(world.sim, "pods", "ns", name, ALLOCATED_KEY, assigned),
        200);
    world_lock(&world, name);
    finish_well(begin_well(1));
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}

START_TEST(served_pod_that_the_books_lack_makes_the_lock_owners_call_ambiguous)
{
    hami_handshake_job *job = NULL;
    unsigned writes;

    serve("a");
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    writes = world_writes(&world);
    ck_assert_int_eq(ask(NULL, 0, &job), HAMI_E_BUSY);
    ck_assert_uint_eq(world_writes(&world), writes);
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(with_the_served_pod_on_the_books_the_lock_owner_is_served)
{
    const struct hami_handshake_holding row = {"ns", "a", "c0", WORLD_GPU};
    hami_handshake_job *job = NULL;

    serve("a");
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    ck_assert_int_eq(ask(&row, 1, &job), 0);
    ck_assert(!hami_handshake_is_again(job));
    ck_assert_str_eq(hami_handshake_owner(job)->name, "b");
    finish_well(job);
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(case_4_20_the_only_possible_caller_gets_the_same_again)
{
    hami_handshake_job *job = NULL;

    serve("a");
    ck_assert_int_eq(ask(NULL, 0, &job), 0);
    ck_assert(hami_handshake_is_again(job));
    ck_assert_str_eq(hami_handshake_owner(job)->name, "a");
    ck_assert_str_eq(hami_handshake_device(job, 0)->uuid, "GPU-a");
    ck_assert_uint_eq(stats().again, 1);
    finish_well(job);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
}
END_TEST

START_TEST(case_4_20_a_pod_that_asks_again_leaves_the_lock_of_another_alone)
{
    char *lease = world_lease_text(WORLD_TIME ",ns,gone", "uid-of-gone", "9");
    hami_handshake_job *job = NULL;
    unsigned writes;

    serve("a");
    world_pair(&world, WORLD_TIME ",ns,gone", lease);
    writes = world_writes(&world);
    ck_assert_int_eq(ask(NULL, 0, &job), HAMI_E_HELD);
    ck_assert_uint_eq(world_writes(&world), writes);
    world_expect_node(&world, HAMI_NODELOCK_KEY, WORLD_TIME ",ns,gone");
    free(lease);
}
END_TEST

START_TEST(odd_books_are_refused)
{
    const struct hami_handshake_holding row = {"ns", "a", NULL, WORLD_GPU};
    struct hami_handshake_container container = {device_ids, 1};
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;
    struct heard_job answer = {.heard = HEARD_INIT};

    call.resource = WORLD_GPU;
    call.containers = &container;
    call.container_count = 1;
    call.deadline_ns = hami_kubernetes_in_ms(5000);
    call.flags = HAMI_HANDSHAKE_BOOKS;
    call.holdings = &row;
    call.holding_count = 1;
    ck_assert_int_eq(
        hami_handshake_call_start(handshake, &call, heard_job_begun, &answer),
        HAMI_E_INVAL);
    call.holdings = NULL;
    ck_assert_int_eq(
        hami_handshake_call_start(handshake, &call, heard_job_begun, &answer),
        HAMI_E_INVAL);
    call.holding_count = 0;
    call.flags = 1u << 31;
    ck_assert_int_eq(
        hami_handshake_call_start(handshake, &call, heard_job_begun, &answer),
        HAMI_E_INVAL);
    call.flags = 0;
    call.size = 4;
    ck_assert_int_eq(
        hami_handshake_call_start(handshake, &call, heard_job_begun, &answer),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_call_start(handshake, NULL, heard_job_begun, &answer),
                     HAMI_E_INVAL);
    ck_assert_uint_eq(answer.heard.count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("the kubelet's books");
    TCase *cases = tcase_create("books");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases,
                   served_pod_that_the_books_lack_makes_the_lock_owners_call_ambiguous);
    tcase_add_test(cases, with_the_served_pod_on_the_books_the_lock_owner_is_served);
    tcase_add_test(cases, case_4_20_the_only_possible_caller_gets_the_same_again);
    tcase_add_test(cases,
                   case_4_20_a_pod_that_asks_again_leaves_the_lock_of_another_alone);
    tcase_add_test(cases, odd_books_are_refused);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
