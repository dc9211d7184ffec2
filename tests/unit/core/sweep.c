/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sweep.h: each scenario with each call failed in each way, one by one, two and three
 * in a row; with every write delivered twice; and with each allocation failed, one by
 * one. Each test prints how many runs it made.
 */
#include "sweep.h"

#include <stdio.h>
#include <stdlib.h>

#define RUNS_MAX                                                                         \
    400 /* of one scenario in one way: more calls than any scenario needs                \
         */
#define IN_A_ROW_MAX 3

/* Only each n-th run, where each costs much. */
static unsigned stride(void)
{
    const char *text = getenv("SWEEP_STRIDE");
    int given = text ? atoi(text) : 1;

    return given > 0 ? (unsigned)given : 1;
}

/* ---- memory that runs out ---- */

static unsigned allocations, failing; /* the n-th fails; 0 = none */
static size_t outstanding;

static bool runs_out(void)
{
    allocations++;
    return failing != 0 && allocations == failing;
}

static void *allocate(size_t bytes, void *data)
{
    (void)data;
    void *memory = runs_out() ? NULL : malloc(bytes);
    outstanding += memory ? 1 : 0;
    return memory;
}

static void *reallocate(void *memory, size_t bytes, void *data)
{
    (void)data;
    void *larger = runs_out() ? NULL : realloc(memory, bytes);
    outstanding += larger && !memory ? 1 : 0;
    return larger;
}

static void release(void *memory, void *data)
{
    (void)data;
    outstanding -= memory ? 1 : 0;
    free(memory);
}

/* ---- one run ---- */

static void start(const struct sweep_scenario *scenario, bool counted)
{
    struct scripted_options options = {.owners = scenario->owners,
                                       .watch = scenario->watch};

    options.config = (struct hami_nodelock_config)HAMI_NODELOCK_CONFIG_INIT;
    options.config.expire_ms = 20000;
    if (scenario->beside) {
        options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
        options.config.side_by_side = 8;
    }
    if (counted) {
        options.config.allocator =
            (struct hami_allocator){allocate, reallocate, release, NULL};
    }
    scripted_start(options);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, SWEEP_NODE, "other.example/note", "1"), 0);
    if (scenario->beside) {
        ck_assert_int_eq(hami_memory_put(scripted_store, SWEEP_NODE,
                                         HAMI_HANDSHAKE_AGENT_KEY,
                                         "1,free=scheduler,side-by-side"),
                         0);
    }
    if (scenario->owners) {
        scripted_pod("a", "uid-a");
        scripted_pod("b", "uid-b");
        scripted_pod("c", "uid-c");
        scripted_pod("z", "uid-z");
    }
    scripted_dispatch();
}

/* Whether the fault met a call. */
static bool run(const struct sweep_scenario *scenario, struct sweep_fault fault)
{
    start(scenario, false);
    sweep_checks_start(fault.way, false, scenario);
    sweep_arm(fault);
    scenario->run();
    sweep_check_end();
    bool was_hit = sweep_was_hit();
    scripted_stop();
    return was_hit;
}

/* ---- the tests ---- */

/* Kinds of calls differ in the ways in which they can fail, so a call that was passed
 * over is not yet the last one. */
static unsigned run_all(const struct sweep_scenario *scenario, enum sweep_way way,
                        unsigned length)
{
    unsigned runs = 0, calls = RUNS_MAX;

    for (unsigned first = 1; first <= calls; first += stride()) {
        struct sweep_fault fault = {way, first, length};
        (void)snprintf(sweep_run, sizeof(sweep_run), "%s, %s, calls %u to %u",
                       scenario->name, sweep_way_names[way], first, first + length - 1);
        bool was_hit = run(scenario, fault);
        runs += was_hit ? 1 : 0;
        calls = was_hit ? calls : sweep_calls();
    }
    return runs;
}

START_TEST(each_call_fails_in_each_way_one_by_one)
{
    const struct sweep_scenario *scenario = &sweep_scenarios[_i / SWEEP_WAYS];
    enum sweep_way way = (enum sweep_way)(_i % SWEEP_WAYS);
    unsigned runs = 0;

    if (way == SWEEP_NO_FAULT) {
        (void)snprintf(sweep_run, sizeof(sweep_run), "%s, no fault", scenario->name);
        runs += run(scenario, (struct sweep_fault){0}) ? 0 : 1;
    } else {
        for (unsigned length = 1; length <= IN_A_ROW_MAX; length++) {
            runs += run_all(scenario, way, length);
        }
    }
    (void)printf("# %s, %s: %u runs\n", scenario->name, sweep_way_names[way], runs);
    (void)fflush(stdout);
}
END_TEST

static const enum sweep_way twice[] = {SWEEP_DOUBLED_FIRST, SWEEP_DOUBLED_REFUSED,
                                       SWEEP_DOUBLED_AFTER, SWEEP_DOUBLED_LATE,
                                       SWEEP_DOUBT_APPLIED};
#define TWICE_COUNT (int)(sizeof(twice) / sizeof(twice[0]))

START_TEST(every_write_is_delivered_twice)
{
    const struct sweep_scenario *scenario = &sweep_scenarios[_i / TWICE_COUNT];
    enum sweep_way way = twice[_i % TWICE_COUNT];

    (void)snprintf(sweep_run, sizeof(sweep_run), "%s, every write %s", scenario->name,
                   sweep_way_names[way]);
    ck_assert(run(scenario, (struct sweep_fault){way, 1, SWEEP_EVERY_CALL}));
}
END_TEST

START_TEST(each_allocation_fails_one_by_one)
{
    const struct sweep_scenario *scenario = &sweep_scenarios[_i];
    unsigned runs = 0;
    bool failed = true;

    for (unsigned nth = 1; failed; nth += stride()) {
        failing = 0;
        start(scenario, true);
        sweep_checks_start(SWEEP_NO_FAULT, true, scenario);
        sweep_arm((struct sweep_fault){0});
        allocations = 0;
        failing = nth;
        (void)snprintf(sweep_run, sizeof(sweep_run), "%s, allocation %u", scenario->name,
                       nth);
        scenario->run();
        failed = allocations >= nth;
        failing = 0;
        sweep_check_end();
        scripted_stop();
        ck_assert_uint_eq(outstanding, 0);
        runs += failed ? 1 : 0;
    }
    (void)printf("# %s, out of memory: %u runs\n", scenario->name, runs);
    (void)fflush(stdout);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");
    TCase *calls = tcase_create("calls");
    TCase *memory = tcase_create("memory");

    tcase_set_timeout(calls, 120);
    tcase_add_loop_test(calls, each_call_fails_in_each_way_one_by_one, 0,
                        sweep_scenario_count * SWEEP_WAYS);
    tcase_add_loop_test(calls, every_write_is_delivered_twice, 0,
                        sweep_scenario_count * TWICE_COUNT);
    suite_add_tcase(suite, calls);
    tcase_set_timeout(memory, 120);
    tcase_add_loop_test(memory, each_allocation_fails_one_by_one, 0,
                        sweep_scenario_count);
    suite_add_tcase(suite, memory);
    return scripted_run(suite);
}
