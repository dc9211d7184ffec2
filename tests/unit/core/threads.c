/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real threads: callers that come, leave by deadline, cancel and shutdown at every
 * moment, against the store of remote.h, which loses some answers.
 * Workers write down what they saw; the test thread judges.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>
#include <hami/memory.h>

#include "remote.h"
#include "scripted.h"

#define NODE "n1"

/* ---- callers ---- */

enum { WORKERS = 8, ROUNDS = 150 };

static atomic_int inside;
static atomic_uint overlaps, unexpected, granted, late, canceled;
static atomic_uint_least64_t last_fence;

struct worker {
    pthread_t thread;
    hami_nodelock *lock;
    unsigned number, rounds;
    uint64_t deadline_us; /* 0 = patient */
    bool cancels;
};

static void enter(uint64_t fence)
{
    if (atomic_fetch_add(&inside, 1) != 0) {
        atomic_fetch_add(&overlaps, 1);
    }
    if (atomic_exchange(&last_fence, fence) >= fence) {
        atomic_fetch_add(&unexpected, 1);
    }
    (void)sched_yield();
    atomic_fetch_sub(&inside, 1);
}

static void try_once(struct worker *worker, unsigned round)
{
    char name[32], uid[32];
    hami_lease *lease = NULL;
    hami_cancel *cancel = NULL;

    (void)snprintf(name, sizeof(name), "w%u-%u", worker->number, round);
    (void)snprintf(uid, sizeof(uid), "u%u-%u", worker->number, round);
    struct hami_nodelock_request request = {
        .size = sizeof(request), .node = NODE, .owner = {"default", name, uid}};
    uint64_t jitter = (worker->number * 7919 + round * 104729) % 97;
    bool patient =
        worker->deadline_us == 0 || round % 4 == 1; /* some must always get it */
    request.deadline_ns =
        patient ? hami_nodelock_in_ms(worker->lock, 30000)
                : hami_nodelock_now(worker->lock) +
                      (round % 8 == 2 ? 1 : worker->deadline_us * (50 + jitter) * 10);
    if (worker->cancels && round % 3 == 0 && hami_cancel_new(&cancel) == 0) {
        request.cancel = cancel;
        hami_cancel_fire(cancel);
    }
    int code = hami_nodelock_acquire(worker->lock, &request, &lease, NULL);
    hami_cancel_unref(cancel);
    if (code == 0) {
        atomic_fetch_add(&granted, 1);
        enter(hami_lease_fence(lease));
        code = hami_lease_release(lease, hami_nodelock_in_ms(worker->lock, 30000), NULL);
        atomic_fetch_add(&unexpected, code != 0);
    } else if (code == HAMI_E_TIMEDOUT) {
        atomic_fetch_add(&late, 1);
    } else if (code == HAMI_E_CANCELED) {
        atomic_fetch_add(&canceled, 1);
    } else {
        atomic_fetch_add(&unexpected, 1);
    }
}

static void *work(void *data)
{
    struct worker *worker = data;

    for (unsigned round = 0; round < worker->rounds; round++) {
        try_once(worker, round);
    }
    return NULL;
}

static void run_workers(hami_nodelock *const *locks, size_t lock_count,
                        uint64_t deadline_us, bool cancels)
{
    struct worker workers[WORKERS];

    atomic_store(&inside, 0);
    atomic_store(&last_fence, 0);
    atomic_store(&overlaps, 0);
    atomic_store(&unexpected, 0);
    atomic_store(&granted, 0);
    atomic_store(&late, 0);
    atomic_store(&canceled, 0);
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.lock = locks[i % lock_count],
                                     .number = i,
                                     .rounds = ROUNDS,
                                     .deadline_us = deadline_us,
                                     .cancels = cancels};
        ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (unsigned i = 0; i < WORKERS; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
    ck_assert_uint_eq(overlaps, 0);
    ck_assert_uint_eq(unexpected, 0);
    ck_assert_uint_eq(granted + late + canceled, WORKERS * ROUNDS);
}

/* All is undone, nothing stands in the remote_store, and the manager has nothing left. */
static void assert_clean(hami_nodelock *lock)
{
    char value[HAMI_LOCK_VALUE_MAX];
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

    ck_assert_int_eq(hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, 20000)), 0);
    ck_assert_int_eq(hami_nodelock_stats(lock, &stats), 0);
    ck_assert_uint_eq(stats.leases, 0);
    ck_assert_uint_eq(stats.waiters, 0);
    ck_assert_int_eq(
        hami_memory_get(remote_store, NODE, HAMI_NODELOCK_KEY, value, sizeof(value)),
        HAMI_E_LOST);
}

START_TEST(patient_callers_are_all_served_one_at_a_time_case_1_02)
{
    hami_nodelock *lock = remote_manager();

    run_workers(&lock, 1, 0, false);
    ck_assert_uint_eq(granted, WORKERS * ROUNDS);
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(impatient_and_cancelled_callers_leave_no_slot_and_no_record_behind)
{
    hami_nodelock *lock = remote_manager();

    /* About as long as a take lasts: grant and deadline collide. */
    run_workers(&lock, 1, 100, true);
    ck_assert_uint_gt(granted, 0);
    ck_assert_uint_gt(late, 0);
    ck_assert_uint_gt(canceled, 0);
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(lost_answers_leave_nothing_behind_either)
{
    hami_nodelock *lock = remote_manager();

    remote_lose_each = 7;
    run_workers(&lock, 1, 300, true);
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    ck_assert_int_eq(hami_nodelock_stats(lock, &stats), 0);
    ck_assert_uint_gt(stats.in_doubt, 0);
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(managers_that_share_a_store_exclude_each_other)
{
    hami_nodelock *locks[] = {remote_manager(), remote_manager()};

    run_workers(locks, 2, 0, false);
    ck_assert_uint_eq(granted, WORKERS * ROUNDS);
    assert_clean(locks[0]);
    assert_clean(locks[1]);
    hami_nodelock_free(locks[0]);
    hami_nodelock_free(locks[1]);
}
END_TEST

/* ---- a blocked caller ---- */

struct blocked {
    hami_nodelock *lock;
    hami_cancel *cancel;
    hami_lease *lease;
    int code;
};

static void *block(void *data)
{
    struct blocked *blocked = data;
    struct hami_nodelock_request request = {
        .size = sizeof(request),
        .node = NODE,
        .owner = {"default", "blocked", "uid-blocked"},
        .cancel = blocked->cancel,
        .deadline_ns = HAMI_DEADLINE_NEVER};

    blocked->code = hami_nodelock_acquire(blocked->lock, &request, &blocked->lease, NULL);
    return NULL;
}

static hami_lease *take(hami_nodelock *lock)
{
    hami_lease *lease = NULL;
    struct hami_nodelock_request request = {.size = sizeof(request),
                                            .node = NODE,
                                            .owner = {"default", "holder", "uid-holder"},
                                            .deadline_ns =
                                                hami_nodelock_in_ms(lock, 20000)};

    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &lease, NULL), 0);
    return lease;
}

static void await_waiter(hami_nodelock *lock)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    uint64_t until = hami_nodelock_in_ms(lock, 20000);

    while (stats.waiters == 0) {
        ck_assert(hami_nodelock_now(lock) < until);
        ck_assert_int_eq(hami_nodelock_stats(lock, &stats), 0);
        (void)sched_yield();
    }
}

START_TEST(a_blocked_caller_is_woken_by_its_cancel_flag)
{
    hami_nodelock *lock = remote_manager();
    struct blocked blocked = {.lock = lock};
    pthread_t thread;

    hami_lease *lease = take(lock);
    ck_assert_int_eq(hami_cancel_new(&blocked.cancel), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, block, &blocked), 0);
    await_waiter(lock);
    ck_assert_int_eq(hami_cancel_fire(blocked.cancel), 0);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(blocked.code, HAMI_E_CANCELED);
    ck_assert(hami_cancel_is_fired(blocked.cancel));
    hami_cancel_unref(blocked.cancel);
    ck_assert_int_eq(hami_lease_release(lease, HAMI_DEADLINE_NEVER, NULL), 0);
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(a_blocked_caller_is_woken_by_shutdown)
{
    hami_nodelock *lock = remote_manager();
    struct blocked blocked = {.lock = lock};
    pthread_t thread;

    hami_lease *lease = take(lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, block, &blocked), 0);
    await_waiter(lock);
    ck_assert_int_eq(hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, 20000)), 0);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(blocked.code, HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_release(lease, HAMI_DEADLINE_NEVER, NULL), 0);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(a_cancelled_thread_finishes_its_blocking_call_first)
{
    hami_nodelock *lock = remote_manager();
    struct blocked blocked = {.lock = lock, .code = 1};
    pthread_t thread;
    void *result;

    hami_lease *lease = take(lock);
    ck_assert_int_eq(pthread_create(&thread, NULL, block, &blocked), 0);
    await_waiter(lock);
    ck_assert_int_eq(pthread_cancel(thread), 0);
    ck_assert_int_eq(hami_lease_release(lease, HAMI_DEADLINE_NEVER, NULL), 0);
    (void)pthread_join(thread, &result);
    ck_assert_int_eq(blocked.code, 0);
    ck_assert_int_eq(hami_lease_release(blocked.lease, HAMI_DEADLINE_NEVER, NULL), 0);
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

START_TEST(blocking_release_and_check_tell_what_happened)
{
    hami_nodelock *lock = remote_manager();
    struct hami_error error = HAMI_ERROR_INIT;

    hami_lease *lease = take(lock);
    ck_assert_int_eq(hami_lease_check(lease, hami_nodelock_in_ms(lock, 20000), &error),
                     0);
    ck_assert_int_eq(hami_memory_put(remote_store, NODE, HAMI_NODELOCK_KEY, NULL), 0);
    ck_assert_int_eq(hami_lease_check(lease, hami_nodelock_in_ms(lock, 20000), &error),
                     HAMI_E_LOST);
    ck_assert_int_eq(hami_lease_check(lease, 0, &error), HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_lease_release(lease, hami_nodelock_in_ms(lock, 20000), &error),
                     HAMI_E_LOST);
    ck_assert_str_ne(error.text, "");
    hami_nodelock_free(lock);
}
END_TEST

/* ---- everything at once ---- */

static atomic_bool noise_stop;

static int count_nodes(void *data, const struct hami_node_view *view)
{
    (void)view;
    ++*(size_t *)data;
    return 0;
}

static void *make_noise(void *data)
{
    hami_nodelock *lock = data;
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    struct hami_owner owner = {"default", "w1-1", "u1-1"};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    size_t nodes = 0;

    while (!atomic_load(&noise_stop)) {
        (void)hami_memory_put(remote_store, "n2", "x.example/beat", "x");
        (void)hami_nodelock_forget(lock, "n2");
        (void)hami_nodelock_observe_owner(lock, &owner, &facts);
        (void)hami_nodelock_snapshot(lock, NULL, count_nodes, &nodes);
        (void)hami_nodelock_stats(lock, &stats);
        (void)hami_nodelock_next_deadline(lock);
        (void)hami_memory_put(remote_store, NODE, "x.example/beat", "y");
    }
    return NULL;
}

START_TEST(all_public_calls_may_come_from_many_threads_case_3_20_case_3_21)
{
    hami_nodelock *lock = remote_manager();
    pthread_t noise[2];

    atomic_store(&noise_stop, false);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(pthread_create(&noise[i], NULL, make_noise, lock), 0);
    }
    run_workers(&lock, 1, 400, true);
    atomic_store(&noise_stop, true);
    for (size_t i = 0; i < 2; i++) {
        (void)pthread_join(noise[i], NULL);
    }
    assert_clean(lock);
    hami_nodelock_free(lock);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("threads");
    TCase *threads = tcase_create("threads");

    tcase_set_timeout(threads, 60);
    tcase_add_checked_fixture(threads, remote_start, remote_stop);
    tcase_add_test(threads, patient_callers_are_all_served_one_at_a_time_case_1_02);
    tcase_add_test(threads,
                   impatient_and_cancelled_callers_leave_no_slot_and_no_record_behind);
    tcase_add_test(threads, lost_answers_leave_nothing_behind_either);
    tcase_add_test(threads, managers_that_share_a_store_exclude_each_other);
    tcase_add_test(threads, a_blocked_caller_is_woken_by_its_cancel_flag);
    tcase_add_test(threads, a_blocked_caller_is_woken_by_shutdown);
    tcase_add_test(threads, a_cancelled_thread_finishes_its_blocking_call_first);
    tcase_add_test(threads, blocking_release_and_check_tell_what_happened);
    tcase_add_test(threads,
                   all_public_calls_may_come_from_many_threads_case_3_20_case_3_21);
    suite_add_tcase(suite, threads);
    return scripted_run(suite);
}
