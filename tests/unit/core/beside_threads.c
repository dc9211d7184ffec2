/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads, two managers, one store: pods beside each other on one node, with news
 * that comes in pieces while others plan. Workers count; the test's thread asserts.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include <hami/handshake.h>
#include <hami/memory.h>

#include "scripted.h"

enum { THREADS = 8, TURNS = 150, CALLS = 3 };

static hami_memory *store;
static hami_nodelock *managers[2];
static atomic_int in_flight[CALLS], all, exclusive;
static atomic_int violations, failures, most;

/* Which of the calls a kind of pod has; none = it is exclusive. */
static const struct {
    const char *calls;
    bool has[CALLS];
} kinds[] = {
    {"a/gpu=1", {true, false, false}},
    {"a/gpu=2", {false, true, false}},
    {"a/gpu=1,a/gpu=2", {true, true, false}},
    {"b/gpu=1", {false, false, true}},
    {"a/gpu=1", {true, false, false}},
    {"a/gpu=2,b/gpu=1", {false, true, true}},
    {NULL, {false, false, false}},
};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static void enter(int kind)
{
    int now = atomic_fetch_add(&all, 1) + 1, seen = atomic_load(&most);

    while (now > seen && !atomic_compare_exchange_weak(&most, &seen, now)) {
    }
    if (!kinds[kind].calls) {
        atomic_fetch_add(&exclusive, 1);
        violations += now > 1;
    } else {
        violations += atomic_load(&exclusive) > 0;
    }
    for (int i = 0; i < CALLS; i++) {
        if (kinds[kind].has[i]) {
            violations += atomic_fetch_add(&in_flight[i], 1) > 0;
        }
    }
}

static void leave(int kind)
{
    for (int i = 0; i < CALLS; i++) {
        if (kinds[kind].has[i]) {
            atomic_fetch_sub(&in_flight[i], 1);
        }
    }
    if (!kinds[kind].calls) {
        atomic_fetch_sub(&exclusive, 1);
    }
    atomic_fetch_sub(&all, 1);
}

static void take_turn(int thread, int turn)
{
    hami_nodelock *lock = managers[thread % 2];
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;
    int kind = (thread * 31 + turn * 7 + turn / 5) % KINDS;
    hami_lease *lease = NULL;
    char name[32];

    (void)snprintf(name, sizeof(name), "p%d-%d", thread, turn);
    request.node = "n1";
    request.owner = (struct hami_owner){"default", name, name};
    request.deadline_ns = hami_nodelock_in_ms(lock, 60000);
    request.calls = kinds[kind].calls;
    if (hami_nodelock_acquire(lock, &request, &lease, NULL) < 0) {
        failures++;
        return;
    }
    enter(kind);
    for (int i = 0; i < turn % 4; i++) {
        (void)sched_yield();
    }
    leave(kind);
    if (hami_lease_release(lease, hami_nodelock_in_ms(lock, 60000), NULL) < 0) {
        failures++;
    }
}

static void *work(void *data)
{
    for (int turn = 0; turn < TURNS; turn++) {
        take_turn((int)(intptr_t)data, turn);
    }
    return NULL;
}

static hami_nodelock *make_manager(void)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_nodelock *lock = NULL;

    config.transport = hami_memory_transport(store);
    config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    config.side_by_side = 8;
    ck_assert_msg(hami_nodelock_new(&config, &lock, &error) == 0, "%s", error.text);
    return lock;
}

START_TEST(threads_of_two_managers_never_have_a_call_in_flight_twice)
{
    pthread_t threads[THREADS];
    char buffer[1024];

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    managers[0] = make_manager();
    managers[1] = make_manager();
    ck_assert_int_eq(hami_memory_put(store, "n1", HAMI_HANDSHAKE_AGENT_KEY,
                                     "1,free=scheduler,side-by-side"),
                     0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    }
    ck_assert_int_eq(violations, 0);
    ck_assert_int_eq(failures, 0);
    ck_assert_int_gt(most, 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(
            hami_nodelock_shutdown(managers[i], hami_nodelock_in_ms(managers[i], 10000)),
            0);
    }
    for (int i = 0; i <= HAMI_NODELOCK_SIDE_BY_SIDE_MAX; i++) {
        char key[64];
        (void)snprintf(key, sizeof(key), i > 0 ? "%s.%d" : "%s", HAMI_NODELOCK_KEY, i);
        ck_assert_msg(hami_memory_get(store, "n1", key, buffer, sizeof(buffer)) ==
                          HAMI_E_LOST,
                      "%s: %s", key, buffer);
    }
    hami_nodelock_free(managers[0]);
    hami_nodelock_free(managers[1]);
    hami_memory_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside threads");
    TCase *world = tcase_create("beside threads");

    tcase_set_timeout(world, 120);
    tcase_add_test(world, threads_of_two_managers_never_have_a_call_in_flight_twice);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
