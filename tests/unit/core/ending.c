/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager that is freed while another thread consumes its leases, in the very moment in
 * which the manager's thread tells the loss of one of them. What goes wrong here is seen
 * by the sanitizers, or as a crash.
 */
#include "scripted.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#define PATIENCE_S 20

static hami_nodelock *lock;
static hami_lease *leases[2]; /* shares of one grant: both are in one node's list */
static sem_t is_telling, is_consumed;
static int consumed_codes[2];

static bool await(sem_t *semaphore)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_S;
    return sem_timedwait(semaphore, &until) == 0;
}

/* On the manager's thread; only the first loss waits for anybody. */
static void lost(void *data, hami_lease *lease, const struct hami_error *error)
{
    (void)data;
    (void)lease;
    (void)error;
    (void)sem_post(&is_telling);
    (void)await(&is_consumed);
}

static bool becomes_closed(const hami_lease *lease)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    time_t give_up = time(NULL) + PATIENCE_S;

    while (hami_lease_facts(lease, &view) != HAMI_E_CLOSED) {
        if (time(NULL) > give_up) {
            return false;
        }
        (void)sched_yield();
    }
    return true;
}

static void *consume(void *data)
{
    (void)data;
    if (becomes_closed(leases[0])) {
        consumed_codes[0] = hami_lease_handoff(leases[0]);
        consumed_codes[1] = hami_lease_release_start(leases[1], 0, NULL, NULL);
    }
    (void)sem_post(&is_consumed);
    (void)sem_post(&is_consumed);
    return NULL;
}

static void take_and_lose(hami_memory *store)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", "a");
    request.deadline_ns = hami_nodelock_in_ms(lock, PATIENCE_S * 1000);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &leases[i], NULL), 0);
    }
    ck_assert_int_eq(hami_memory_put(store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    ck_assert(await(&is_telling));
}

START_TEST(leases_may_be_consumed_while_their_manager_is_freed)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    hami_memory *store = NULL;
    pthread_t consumer;

    (void)sem_init(&is_telling, 0, 0);
    (void)sem_init(&is_consumed, 0, 0);
    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    config.transport = hami_memory_transport(store);
    config.owner_lost = lost;
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, NULL), 0);
    take_and_lose(store);
    ck_assert_int_eq(pthread_create(&consumer, NULL, consume, NULL), 0);
    hami_nodelock_free(lock); /* waits for the callback, as that does for the consumer */
    (void)pthread_join(consumer, NULL);
    ck_assert_int_eq(consumed_codes[0], HAMI_E_CLOSED);
    ck_assert_int_eq(consumed_codes[1], HAMI_E_CLOSED);
    hami_memory_free(store);
    (void)sem_destroy(&is_consumed);
    (void)sem_destroy(&is_telling);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ending");
    TCase *tcase = tcase_create("ending");

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, leases_may_be_consumed_while_their_manager_is_freed);
    suite_add_tcase(suite, tcase);
    return scripted_run(suite);
}
