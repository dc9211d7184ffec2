/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice of the simulation for every test run: fixed seeds in both codecs, and worlds
 * broken on purpose, which have to be noticed. scripts/soak runs more of the same.
 */
#include <check.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

#define CODECS 2

static struct options options_of(int number)
{
    return (struct options){
        .seed = 1000 + (uint64_t)number / CODECS,
        .acquires = 1500,
        .codec = number % CODECS ? CODEC_KUBERNETES : CODEC_PLAIN,
        .fault_percent = 100,
        .faults = FAULT_ALL,
    };
}

static void assert_clean(const struct run *run, const struct options *options)
{
    ck_assert_msg(!run->failed,
                  "seed %" PRIu64 ", step %" PRIu64 ": %s (replay: simulation --seed "
                  "%" PRIu64 " --acquires %" PRIu64 " --codec %s)",
                  run->plan.seed, run->total.first_step, run->total.first, options->seed,
                  options->acquires,
                  options->codec == CODEC_PLAIN ? "plain" : "kubernetes");
}

START_TEST(whatever_goes_wrong_no_lock_is_lost_stolen_or_left_and_order_is_kept)
{
    struct options options = options_of(_i);
    struct run run = run_all(&options);

    assert_clean(&run, &options);
    ck_assert_uint_ge(run.total.acquires, options.acquires);
    ck_assert_uint_ge(run.total.touched * 10, run.total.acquires * 3);
    ck_assert_uint_ge(run.total.queue_sum, run.total.queue_count * 8);
}
END_TEST

START_TEST(without_faults_every_pod_is_served)
{
    struct options options = options_of(_i);

    options.fault_percent = 0;
    struct run run = run_all(&options);
    assert_clean(&run, &options);
    ck_assert_uint_eq(run.total.faults, 0);
    ck_assert_uint_gt(run.total.served, 0);
}
END_TEST

/* Runs the plan; the world broke no rule. */
static struct result run_clean(struct plan plan)
{
    struct result result = run_world(&plan, false);

    ck_assert_msg(run_violations(&result) == 0, "step %" PRIu64 ": %s", result.first_step,
                  result.first);
    return result;
}

START_TEST(thousands_of_nodes_keep_every_rule)
{
    struct plan plan = {.seed = 7 + (uint64_t)_i,
                        .acquires = 4000,
                        .nodes = 2000,
                        .replicas = 3,
                        .burst = 20,
                        .keys = 1,
                        .permits = 1,
                        .kubernetes = _i,
                        .fault_percent = 100,
                        .faults = FAULT_ALL};

    (void)run_clean(plan);
}
END_TEST

START_TEST(several_keys_and_permits_keep_every_rule)
{
    static const struct {
        uint32_t keys, permits;
        bool kubernetes;
    } kinds[] = {
        {2, 1, false}, {2, 1, true}, {1, 2, false}, {1, 3, false}, {2, 2, false}};
    struct plan plan = {.seed = 70 + (uint64_t)_i,
                        .acquires = 1500,
                        .nodes = 3,
                        .replicas = 2,
                        .burst = 30,
                        .keys = kinds[_i].keys,
                        .permits = kinds[_i].permits,
                        .kubernetes = kinds[_i].kubernetes,
                        .fault_percent = 100,
                        .faults = FAULT_ALL};
    struct result result = run_clean(plan);

    ck_assert_uint_gt(result.served, 100);
}
END_TEST

START_TEST(pods_side_by_side_keep_every_rule_and_are_in_flight_together)
{
    static const struct {
        uint32_t beside;
        bool kubernetes, foreign;
    } kinds[] = {{8, false, false}, {8, true, false}, {2, false, false}, {4, true, true}};
    struct plan plan = {.seed = 90 + (uint64_t)_i,
                        .acquires = 2000,
                        .nodes = 3,
                        .replicas = 2 + (uint32_t)_i % 2,
                        .burst = 30,
                        .keys = 1,
                        .permits = 1,
                        .kubernetes = kinds[_i].kubernetes,
                        .foreign = kinds[_i].foreign,
                        .by_scheduler = true,
                        .beside = kinds[_i].beside,
                        .fault_percent = 100,
                        .faults = FAULT_ALL};
    struct result result = run_clean(plan);

    ck_assert_uint_gt(result.served, 100);
    ck_assert_uint_gt(result.bound_beside * 10, result.bound);
    ck_assert_uint_ge(result.in_flight_max, 2);
    ck_assert_uint_le(result.in_flight_max, plan.beside);
}
END_TEST

START_TEST(a_seed_tells_the_same_story_each_time)
{
    struct options options = options_of(_i);
    struct plan plan = run_plan(&options, 1);
    struct result one = run_world(&plan, false), other = run_world(&plan, false);

    ck_assert_uint_gt(one.steps, 1000);
    ck_assert_mem_eq(&one, &other, sizeof(one));
}
END_TEST

/* A transport without the lease's test, without any, without revocations; Bindings
 * without a version; a binder that releases what is in doubt; a plugin that does not
 * look. */
START_TEST(a_world_with_a_broken_rule_is_noticed)
{
    struct options options = options_of(_i % CODECS);

    options.broken = (enum broken)(1 + _i / CODECS);
    options.acquires = 20000;
    struct run run = run_all(&options);
    ck_assert_msg(run.failed, "broken rule %d was not noticed", (int)options.broken);
    ck_assert_uint_gt(run.total.first_step, 0);
}
END_TEST

START_TEST(a_world_that_went_wrong_is_shrunk_and_still_goes_wrong)
{
    struct options options = options_of(0);

    options.broken = BROKEN_REVOCATION;
    options.acquires = 20000;
    struct run run = run_all(&options);
    ck_assert(run.failed);
    struct plan small = run_shrink(&run.plan);
    struct result result = run_world(&small, false);
    ck_assert_uint_gt(run_violations(&result), 0);
    ck_assert_uint_le(small.acquires, run.plan.acquires / 2);
    ck_assert(small.faults != FAULT_ALL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("simulation");
    TCase *tcase = tcase_create("simulation");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(
        tcase, whatever_goes_wrong_no_lock_is_lost_stolen_or_left_and_order_is_kept, 0,
        4 * CODECS);
    tcase_add_loop_test(tcase, without_faults_every_pod_is_served, 0, CODECS);
    tcase_add_loop_test(tcase, thousands_of_nodes_keep_every_rule, 0, CODECS);
    tcase_add_loop_test(tcase, several_keys_and_permits_keep_every_rule, 0, 5);
    tcase_add_loop_test(
        tcase, pods_side_by_side_keep_every_rule_and_are_in_flight_together, 0, 4);
    tcase_add_loop_test(tcase, a_seed_tells_the_same_story_each_time, 0, CODECS);
    tcase_add_loop_test(tcase, a_world_with_a_broken_rule_is_noticed, 0,
                        (BROKEN_COUNT - 1) * CODECS);
    tcase_add_test(tcase, a_world_that_went_wrong_is_shrunk_and_still_goes_wrong);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
