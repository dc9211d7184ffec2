/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A blocking check whose time is up while its manager is being freed, which ends it. What
 * it does until then is counted: the mutexes that its thread takes.
 */
#include <check.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include <hami/memory.h>
#include <hami/transport.h>

#include "scripted.h"

#define PATIENCE_MS 500 /* of the check; a free begins sooner */
#define LEFT_ALONE_MS 300
#define LOCKS_MAX 1000 /* a few dozen will do */

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

static struct hami_transport *store_transport;
static hami_nodelock *lock;
static hami_lease *lease;
static sem_t is_held, never; /* is_held: a call is not answered */
static uint64_t deadline_ns;
static atomic_bool holds;
static _Thread_local bool counts;
static atomic_uint locks;
static int checked;

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    if (counts) {
        atomic_fetch_add(&locks, 1);
    }
    return __real_pthread_mutex_lock(mutex);
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    (void)transport;
    if (!holds) {
        return store_transport->submit(store_transport, call);
    }
    (void)sem_post(&is_held);
    return 0;
}

/* Called by the free: lets the check's time pass, and then some, before it answers. */
static void abort_late(struct hami_transport *transport, hami_call *call)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    uint64_t until_ns = deadline_ns + UINT64_C(1000000) * LEFT_ALONE_MS;
    uint64_t now_ns = hami_nodelock_now(lock);
    struct timespec until;

    (void)transport;
    uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(left_ns / 1000000000);
    until.tv_nsec += (long)(left_ns % 1000000000);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)sem_timedwait(&never, &until);
    result.code = HAMI_E_TRANSPORT;
    hami_call_done(call, &result);
}

static void *check_lease(void *data)
{
    (void)data;
    counts = true;
    checked = hami_lease_check(lease, deadline_ns, NULL);
    return NULL;
}

START_TEST(who_waits_past_its_deadline_for_a_free_to_end_it_sleeps)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_transport transport = {
        .size = sizeof(transport), .name = "held", .submit = submit, .abort = abort_late};
    struct hami_nodelock_request request;
    hami_memory *store = NULL;
    pthread_t thread;

    (void)sem_init(&is_held, 0, 0);
    (void)sem_init(&never, 0, 0);
    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    store_transport = hami_memory_transport(store);
    config.transport = &transport;
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, NULL), 0);
    scripted_request(&request, "n1", "a");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &lease, NULL), 0);
    holds = true;
    deadline_ns = hami_nodelock_in_ms(lock, PATIENCE_MS);
    ck_assert_int_eq(pthread_create(&thread, NULL, check_lease, NULL), 0);
    (void)sem_wait(&is_held);
    hami_nodelock_free(lock);
    (void)pthread_join(thread, NULL);
    ck_assert_int_lt(checked, 0); /* CLOSED; IN_DOUBT where the free began late */
    ck_assert_uint_lt(atomic_load(&locks), LOCKS_MAX);
    ck_assert_int_eq(hami_lease_handoff(lease), HAMI_E_CLOSED);
    hami_memory_free(store);
    (void)sem_destroy(&never);
    (void)sem_destroy(&is_held);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("asleep");
    TCase *cases = tcase_create("asleep");

    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, who_waits_past_its_deadline_for_a_free_to_end_it_sleeps);
    suite_add_tcase(suite, cases);
    return scripted_run(suite);
}
