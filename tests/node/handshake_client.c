/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side's client against kubesim: whom it serves, and what it never touches. How
 * a job ends is in handshake_end.c, faults on the wire in handshake_faults.c.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* A question that ends so, and writes nothing to anything. */
static void expect_refusal(size_t count, int expected)
{
    hami_handshake_job *job = NULL;
    uint64_t version = kubesim_version(world.sim);
    int code = begin(count, &job);

    ck_assert_msg(code == expected, "%s, not %s: %s", hami_errname(code),
                  hami_errname(expected), error.text);
    ck_assert_ptr_null(job);
    ck_assert_str_ne(error.text, "");
    ck_assert_uint_eq(kubesim_version(world.sim), version);
    ck_assert_uint_eq(world_writes(&world), 0);
}

/* ---- the warm path -------------------------------------------------------------- */

START_TEST(one_container_costs_two_reads_and_two_writes)
{
    hami_handshake_job *job;

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    job = begin_well(1);
    ck_assert_str_eq(hami_handshake_owner(job)->namespace_name, "ns");
    ck_assert_str_eq(hami_handshake_owner(job)->name, "a");
    ck_assert_uint_eq(hami_handshake_fence(job), 7);
    ck_assert_uint_eq(hami_handshake_container_count(job), 1);
    ck_assert_str_eq(hami_handshake_container_name(job, 0), "c0");
    ck_assert_uint_eq(hami_handshake_device_count(job), 1);
    ck_assert_str_eq(hami_handshake_device(job, 0)->uuid, "GPU-a");
    ck_assert_int_eq(hami_handshake_device(job, 0)->memory_mib, 1000);
    ck_assert_ptr_null(hami_handshake_device(job, 1));
    ck_assert_ptr_null(hami_handshake_container_name(job, 1));
    ck_assert_uint_eq(world_writes(&world), 0);
    finish_well(job);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "7");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, "{\"version\":1,\"fence\":\"7\"}");
    ck_assert_uint_eq(world_reads(&world), 2);
    ck_assert_uint_eq(world_writes(&world), 2);
    ck_assert_uint_eq(stats().succeeded, 1);
    ck_assert_uint_eq(stats().released, 1);
    ck_assert_uint_eq(stats().without_fence, 0);
    ck_assert_uint_eq(stats().behind, 0);
}
END_TEST

START_TEST(case_4_18_lock_stays_until_the_last_container)
{
    static const unsigned asks[] = {1, 2, 0};
    hami_handshake_job *job;
    char *lock;

    world_pod(&world, "a", asks, "u,NVIDIA,1,0:;v,NVIDIA,1,0:w,NVIDIA,1,0:;");
    world_lock(&world, "a");
    lock = kubesim_annotation(world.sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY);
    job = begin_well(1);
    finish_well(job);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";v,NVIDIA,1,0:w,NVIDIA,1,0:;");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, NULL);
    world_expect_node(&world, HAMI_NODELOCK_KEY, lock);
    job = begin_well(2);
    ck_assert_str_eq(hami_handshake_container_name(job, 0), "c1");
    ck_assert_str_eq(hami_handshake_device(job, 1)->uuid, "w");
    finish_well(job);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";;");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    free(lock);
}
END_TEST

/* Goes on from inside the callback, where blocking forms must refuse. */
static void heard_begun(void *data, int code, hami_handshake_job *job,
                        const struct hami_error *ignored)
{
    struct heard *heard = data;

    heard_end(data, code, ignored);
    heard_end(data, hami_handshake_finish(job, hami_kubernetes_in_ms(100), NULL), NULL);
    if (hami_handshake_finish_start(job, hami_kubernetes_in_ms(5000), heard_end, heard) !=
        0) {
        heard_end(heard, HAMI_E_INVAL, NULL);
    }
}

START_TEST(several_containers_in_one_call_go_without_blocking)
{
    static const unsigned asks[] = {1, 2, 0};
    struct hami_handshake_container containers[] = {{device_ids, 1}, {device_ids + 1, 2}};
    struct heard heard = HEARD_INIT;

    world_pod(&world, "a", asks, "u,NVIDIA,1,0:;v,NVIDIA,1,0:w,NVIDIA,1,0:;");
    world_lock(&world, "a");
    ck_assert_int_eq(hami_handshake_begin_start(handshake, WORLD_GPU, containers, 2,
                                                hami_kubernetes_in_ms(5000), heard_begun,
                                                &heard),
                     0);
    heard_wait(&heard, 3);
    ck_assert_int_eq(heard.codes[0], 0);
    ck_assert_int_eq(heard.codes[1], HAMI_E_INVAL);
    ck_assert_int_eq(heard.codes[2], 0);
    world_expect_pod(&world, "a", WORLD_GPU_KEY, ";;");
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

/* ---- who is served -------------------------------------------------------------- */

START_TEST(case_1_35_two_possible_callers_are_refused)
{
    world_simple_pod(&world, "a");
    world_simple_pod(&world, "b");
    world_lock(&world, "b");
    expect_refusal(1, HAMI_E_BUSY);
    ck_assert_uint_eq(stats().several, 1);
}
END_TEST

START_TEST(case_4_01_the_lock_forbids_what_the_count_would_allow)
{
    static const unsigned two[] = {2, 0};

    world_simple_pod(&world, "a");
    world_pod(&world, "b", two, "v,NVIDIA,1,0:w,NVIDIA,1,0:;");
    world_lock(&world, "b");
    expect_refusal(1, HAMI_E_HELD); /* only a can be the caller, and b has the lock */
    hami_handshake_job *job = begin_well(2);
    ck_assert_str_eq(hami_handshake_owner(job)->name, "b");
    finish_well(job);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
}
END_TEST

START_TEST(case_4_13_a_count_that_does_not_match_is_refused)
{
    static const unsigned two[] = {2, 0};

    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    expect_refusal(2, HAMI_E_LOST);
    world_pod(&world, "b", two, "v,NVIDIA,1,0:w,NVIDIA,1,0:;");
    expect_refusal(2, HAMI_E_HELD);
}
END_TEST

START_TEST(case_4_27_a_dangling_lock_refuses_others)
{
    char *lease = world_lease_text(WORLD_TIME ",ns,gone", "uid-of-gone", "9");

    world_simple_pod(&world, "b");
    world_pair(&world, WORLD_TIME ",ns,gone", lease);
    expect_refusal(1, HAMI_E_HELD);
    ck_assert_ptr_nonnull(strstr(error.text, "ns/gone"));
    ck_assert_uint_eq(stats().held, 1);
    free(lease);
}
END_TEST

START_TEST(another_uid_under_the_same_name_is_refused)
{
    char *lease = world_lease_text(WORLD_TIME ",ns,a", "uid-of-its-predecessor", "9");

    world_simple_pod(&world, "a");
    world_pair(&world, WORLD_TIME ",ns,a", lease);
    expect_refusal(1, HAMI_E_HELD);
    free(lease);
}
END_TEST

START_TEST(case_4_25_a_running_pod_is_never_touched)
{
    world_simple_pod(&world, "a");
    ck_assert_int_eq(kubesim_set_phase(world.sim, "ns", "a", "Running"), 200);
    expect_refusal(1, HAMI_E_LOST);
    ck_assert_uint_eq(stats().nobody, 1);
}
END_TEST

START_TEST(a_lower_fence_on_the_pod_is_served_and_counted)
{
    char *uid, *lease;

    world_simple_pod(&world, "a");
    uid = world_uid(&world, "a");
    lease = world_lease_text(WORLD_TIME ",ns,a", uid, "12");
    world_pair(&world, WORLD_TIME ",ns,a", lease);
    hami_handshake_job *job = begin_well(1);
    ck_assert_uint_eq(hami_handshake_fence(job), 12);
    finish_well(job);
    ck_assert_uint_eq(stats().fence_rose, 1);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "12");
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY,
                      "{\"version\":1,\"fence\":\"12\"}");
    free(lease);
    free(uid);
}
END_TEST

/* Locks that have no lease of their own, and what becomes of them. */
static const struct {
    const char *lock;
    const char *lease;
    int code;
} unfenced[] = {
    {NULL, NULL, 0},
    {NULL, "{\"version\":1,\"fence\":\"3\"}", 0},
    {"", NULL, 0},
    {WORLD_TIME, NULL, 0},         /* legacy */
    {WORLD_TIME ",,", NULL, 0},    /* names nobody */
    {WORLD_TIME ",ns,a", NULL, 0}, /* HAMi's */
    {"2026-01-02T03:04:05+08:00,ns,a", "{\"version\":1,\"fence\":\"3\"}", 0},
    {WORLD_TIME ",ns,a", "no json", 0}, /* a lease that can't be read is none */
    {WORLD_TIME ",ns,b", NULL, HAMI_E_HELD},
    {WORLD_TIME ",other,a", NULL, HAMI_E_HELD},
    {"x", NULL, HAMI_E_HELD},
    {WORLD_TIME ",ns,a,more", NULL, HAMI_E_HELD},
};

START_TEST(lock_without_a_lease_is_served_by_hamis_rules)
{
    world_simple_pod(&world, "a");
    world_pair(&world, unfenced[_i].lock, unfenced[_i].lease);
    if (unfenced[_i].code != 0) {
        expect_refusal(1, unfenced[_i].code);
        return;
    }
    hami_handshake_job *job = begin_well(1);
    ck_assert_uint_eq(hami_handshake_fence(job), 0);
    finish_well(job);
    ck_assert_uint_eq(stats().without_fence, 1);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, NULL);
    if (unfenced[_i].lock == NULL || *unfenced[_i].lock != '\0') {
        world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
    }
    world_expect_node(&world, HAMI_NODELOCK_LEASE_KEY, unfenced[_i].lease);
}
END_TEST

START_TEST(case_4_03_require_fence_refuses_locks_without_a_lease)
{
    hami_handshake_free(handshake);
    handshake = world_handshake(&world, HAMI_HANDSHAKE_REQUIRE_FENCE);
    world_simple_pod(&world, "a");
    world_pair(&world, unfenced[_i].lock, unfenced[_i].lease);
    expect_refusal(1, HAMI_E_HELD);
}
END_TEST

START_TEST(require_fence_serves_a_lock_with_its_lease)
{
    hami_handshake_free(handshake);
    handshake = world_handshake(&world, HAMI_HANDSHAKE_REQUIRE_FENCE);
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
    finish_well(begin_well(1));
    world_expect_node(&world, HAMI_NODELOCK_KEY, NULL);
}
END_TEST

START_TEST(questions_that_make_no_sense_are_refused)
{
    struct hami_handshake_config config = HAMI_HANDSHAKE_CONFIG_INIT;
    struct hami_handshake_container none = {device_ids, 0};
    hami_handshake *other;
    hami_handshake_job *job = NULL;
    uint64_t soon = hami_kubernetes_in_ms(1000);

    ck_assert_int_eq(
        hami_handshake_begin(handshake, "a.b/c", device_ids, 1, soon, &job, &error),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_handshake_begin(handshake, WORLD_GPU, device_ids, 0, soon, &job, &error),
        HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_handshake_begin(NULL, WORLD_GPU, device_ids, 1, soon, &job, &error),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_begin_start(handshake, WORLD_GPU, &none, 65, soon,
                                                heard_begun, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_new(world.client, &config, &other, &error),
                     HAMI_E_INVAL);
    config.node = "Not A Name";
    ck_assert_int_eq(hami_handshake_new(world.client, &config, &other, &error),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_new(NULL, &config, &other, &error), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_finish(NULL, soon, &error), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_fail(NULL, NULL, soon, &error), HAMI_E_INVAL);
    ck_assert_ptr_null(hami_handshake_drop(NULL));
    ck_assert_ptr_null(hami_handshake_free(NULL));
    ck_assert_uint_eq(world_reads(&world), 0);
}
END_TEST

START_TEST(node_that_does_not_exist_is_named)
{
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    world_simple_pod(&world, "a");
    expect_refusal(1, HAMI_E_NODE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake client");
    TCase *cases = tcase_create("client");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, one_container_costs_two_reads_and_two_writes);
    tcase_add_test(cases, case_4_18_lock_stays_until_the_last_container);
    tcase_add_test(cases, several_containers_in_one_call_go_without_blocking);
    tcase_add_test(cases, case_1_35_two_possible_callers_are_refused);
    tcase_add_test(cases, case_4_01_the_lock_forbids_what_the_count_would_allow);
    tcase_add_test(cases, case_4_13_a_count_that_does_not_match_is_refused);
    tcase_add_test(cases, case_4_27_a_dangling_lock_refuses_others);
    tcase_add_test(cases, another_uid_under_the_same_name_is_refused);
    tcase_add_test(cases, case_4_25_a_running_pod_is_never_touched);
    tcase_add_test(cases, a_lower_fence_on_the_pod_is_served_and_counted);
    tcase_add_loop_test(cases, lock_without_a_lease_is_served_by_hamis_rules, 0,
                        COUNT(unfenced));
    tcase_add_loop_test(cases, case_4_03_require_fence_refuses_locks_without_a_lease, 0,
                        COUNT(unfenced));
    tcase_add_test(cases, require_fence_serves_a_lock_with_its_lease);
    tcase_add_test(cases, questions_that_make_no_sense_are_refused);
    tcase_add_test(cases, node_that_does_not_exist_is_named);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
