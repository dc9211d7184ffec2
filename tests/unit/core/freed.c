/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lease's function that runs while its manager is freed: it is held up in its own
 * allocation until the manager is on its way out. Its callback must come all the same,
 * and before the free has returned, since nobody dispatches after it.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include <hami/memory.h>

#include "scripted.h"

#define GRACE_NS 300000000 /* for a free that does not wait */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool is_held_up, has_freed;
    hami_memory *store;
    hami_nodelock *lock;
    hami_lease *lease, *witness;
    int (*start)(hami_lease *lease, uint64_t deadline_ns, hami_done_fn callback,
                 void *data);
    int started, ended; /* codes; ended 1: not yet */
    bool has_ended_in_time;
} scene = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER};

static _Thread_local bool holds_up;

/* Until the manager is being freed; then as long as a free takes that waits for nobody.
 */
static void hold_up(void)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    struct timespec until;

    holds_up = false;
    (void)pthread_mutex_lock(&scene.mutex);
    scene.is_held_up = true;
    (void)pthread_cond_broadcast(&scene.changed);
    (void)pthread_mutex_unlock(&scene.mutex);
    while (hami_lease_facts(scene.witness, &view) == 0) {
        (void)sched_yield();
    }
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += GRACE_NS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&scene.mutex);
    while (!scene.has_freed &&
           pthread_cond_timedwait(&scene.changed, &scene.mutex, &until) == 0) {
    }
    (void)pthread_mutex_unlock(&scene.mutex);
}

static void *allocate(size_t bytes, void *data)
{
    (void)data;
    if (holds_up) {
        hold_up();
    }
    return malloc(bytes);
}

static void *reallocate(void *memory, size_t bytes, void *data)
{
    (void)data;
    return realloc(memory, bytes);
}

static void release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

static void set_up(void)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    ck_assert_int_eq(hami_memory_new(0, &scene.store), 0);
    config.transport = hami_memory_transport(scene.store);
    config.allocator = (struct hami_allocator){allocate, reallocate, release, NULL};
    ck_assert_int_eq(hami_nodelock_new(&config, &scene.lock, NULL), 0);
    scene.started = scene.ended = 1;
    scene.is_held_up = scene.has_freed = false;
}

static hami_lease *take(const char *node)
{
    struct hami_nodelock_request request = {.size = sizeof(request),
                                            .node = node,
                                            .owner = {"default", "pod", node},
                                            .deadline_ns = HAMI_DEADLINE_NEVER};
    hami_lease *lease = NULL;

    ck_assert_int_eq(hami_nodelock_acquire(scene.lock, &request, &lease, NULL), 0);
    return lease;
}

static void told(void *data, int code, const struct hami_error *error)
{
    (void)data;
    (void)error;
    (void)pthread_mutex_lock(&scene.mutex);
    scene.ended = code;
    scene.has_ended_in_time = !scene.has_freed;
    (void)pthread_mutex_unlock(&scene.mutex);
}

static void *start_late(void *data)
{
    (void)data;
    holds_up = true;
    scene.started = scene.start(scene.lease, HAMI_DEADLINE_NEVER, told, NULL);
    return NULL;
}

static void run(int (*start)(hami_lease *, uint64_t, hami_done_fn, void *))
{
    pthread_t thread;

    scene.start = start;
    scene.lease = take("n1");
    scene.witness = take("n2");
    ck_assert_int_eq(pthread_create(&thread, NULL, start_late, NULL), 0);
    (void)pthread_mutex_lock(&scene.mutex);
    while (!scene.is_held_up) {
        (void)pthread_cond_wait(&scene.changed, &scene.mutex);
    }
    (void)pthread_mutex_unlock(&scene.mutex);
    hami_nodelock_free(scene.lock);
    (void)pthread_mutex_lock(&scene.mutex);
    scene.has_freed = true;
    (void)pthread_cond_broadcast(&scene.changed);
    (void)pthread_mutex_unlock(&scene.mutex);
    (void)pthread_join(thread, NULL);
    ck_assert_int_eq(scene.started, 0);
    ck_assert_int_eq(scene.ended, HAMI_E_CLOSED);
    ck_assert(scene.has_ended_in_time);
    ck_assert_int_eq(hami_lease_handoff(scene.witness), HAMI_E_CLOSED);
}

START_TEST(release_that_began_before_a_free_is_ended_by_it)
{
    run(hami_lease_release_start);
    hami_memory_free(scene.store);
}
END_TEST

START_TEST(check_that_began_before_a_free_is_ended_by_it)
{
    run(hami_lease_check_start);
    ck_assert_int_eq(hami_lease_handoff(scene.lease), HAMI_E_CLOSED);
    hami_memory_free(scene.store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("freed");
    TCase *cases = tcase_create("freed");

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, set_up, NULL);
    tcase_add_test(cases, release_that_began_before_a_free_is_ended_by_it);
    tcase_add_test(cases, check_that_began_before_a_free_is_ended_by_it);
    suite_add_tcase(suite, cases);
    return scripted_run(suite);
}
