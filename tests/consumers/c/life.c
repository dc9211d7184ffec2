/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Threads, the end of a manager, forks, and calls that make no sense. */
#include "consumer.h"

#include <semaphore.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct loop {
    sem_t due;
    bool dispatching;
    bool outside; /* a callback came while nobody dispatched, or on another thread */
    pthread_t thread;
    struct outcome outcome;
};

static void wake(void *data)
{
    (void)sem_post(&((struct loop *)data)->due);
}

static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    struct loop *loop = (struct loop *)data;

    loop->outside = loop->outside || !pthread_equal(loop->thread, pthread_self()) ||
                    !loop->dispatching;
    outcome_acquired(&loop->outcome, code, lease, error);
}

static void released(void *data, int code, const struct hami_error *error)
{
    acquired(data, code, NULL, error);
}

/* Turns the loop until a callback has come; the code. */
static int turn(struct world *world, struct loop *loop, hami_nodelock *lock)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    CHECK(outcome_count(&loop->outcome) == 0);
    while (outcome_count(&loop->outcome) == 0) {
        if (sem_timedwait(&loop->due, &until) != 0) {
            return 1;
        }
        loop->dispatching = true;
        CHECK_CODE(hami_nodelock_dispatch(lock), 0);
        loop->dispatching = false;
    }
    return loop->outcome.code;
}

void callback_thread(struct world *world)
{
    const char *node = world_node(world);
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    hami_nodelock *lock = NULL;
    struct loop loop;

    memset(&loop, 0, sizeof(loop));
    (void)sem_init(&loop.due, 0, 0);
    loop.thread = pthread_self();
    outcome_init(&loop.outcome);
    config.transport = world->transport;
    config.wakeup = wake;
    config.wakeup_data = &loop;
    CHECK_CODE(hami_nodelock_new(&config, &lock, NULL), 0);
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    CHECK_CODE(hami_nodelock_acquire_start(lock, &want, acquired, &loop, NULL), 0);
    CHECK_CODE(turn(world, &loop, lock), 0);
    hami_lease *lease = loop.outcome.lease;
    outcome_init(&loop.outcome);
    CHECK_CODE(hami_lease_release_start(lease, want.deadline_ns, released, &loop), 0);
    CHECK_CODE(turn(world, &loop, lock), 0);
    CHECK(!loop.outside);
    manager_end(world, lock);
    (void)sem_destroy(&loop.due);
}

void close_waiters(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, world_pod(world)), *none = NULL;
    struct outcome outcomes[2];

    queue(world, lock, node, world_pod(world), NULL, &outcomes[0]);
    queue(world, lock, node, world_pod(world), NULL, &outcomes[1]);
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    CHECK_CODE(hami_nodelock_shutdown(lock, want.deadline_ns), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(outcome_await(&outcomes[i]), HAMI_E_CLOSED);
        CHECK(!outcomes[i].lease);
    }
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &none, NULL), HAMI_E_CLOSED);
    CHECK_CODE(hami_nodelock_try_acquire(lock, &want, &none, NULL), HAMI_E_CLOSED);
    CHECK_CODE(
        hami_nodelock_acquire_start(lock, &want, outcome_acquired, &outcomes[0], NULL),
        HAMI_E_CLOSED);
    CHECK(world_is_locked(world, node)); /* the holder's, until it says otherwise */
    CHECK_CODE(hami_lease_handoff(lease), 0);
    hami_nodelock_free(lock);
    CHECK(outcome_count(&outcomes[0]) == 1 && outcome_count(&outcomes[1]) == 1);
}

/* In the child: how many calls answered something else than FORKED. */
static int child(hami_nodelock *lock, const struct hami_nodelock_request *want,
                 hami_lease *lease)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    hami_lease *none = NULL;

    return (hami_nodelock_acquire(lock, want, &none, NULL) != HAMI_E_FORKED) +
           (hami_nodelock_try_acquire(lock, want, &none, NULL) != HAMI_E_FORKED) +
           (hami_nodelock_stats(lock, &stats) != HAMI_E_FORKED) +
           (hami_lease_check(lease, want->deadline_ns, NULL) != HAMI_E_FORKED) +
           (hami_nodelock_dispatch(lock) != HAMI_E_FORKED) +
           (hami_lease_release(lease, want->deadline_ns, NULL) != HAMI_E_FORKED) +
           (hami_nodelock_free(lock) != NULL);
}

void forked_child(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, world_pod(world));
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    int status = -1;
    pid_t made = fork();

    if (made == 0) {
        _exit(child(lock, &want, lease));
    }
    CHECK(made > 0 && waitpid(made, &status, 0) == made);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_CODE(hami_lease_check(lease, want.deadline_ns, NULL), 0);
    give(world, lock, lease);
    manager_end(world, lock);
}

static void refused(struct world *world, hami_nodelock *lock,
                    const struct hami_nodelock_request *want)
{
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *none = NULL;

    CHECK_CODE(hami_nodelock_acquire(lock, want, &none, &error), HAMI_E_INVAL);
    CHECK(error.code == HAMI_E_INVAL && error.text[0] != '\0' && !none);
}

void arguments(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *pod = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    struct hami_nodelock_request want = request_for(lock, "Not A Node", pod);
    const char *twice[2] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_KEY};

    refused(world, lock, &want);
    want.node = NULL;
    refused(world, lock, &want);
    want.node = node;
    want.owner.uid = "";
    refused(world, lock, &want);
    want.owner.uid = "has a blank";
    refused(world, lock, &want);
    want.owner.uid = pod->uid;
    want.owner.namespace_name = "Upper";
    refused(world, lock, &want);
    want.owner.namespace_name = "default";
    want.keys = twice;
    want.key_count = 2;
    refused(world, lock, &want);
    CHECK(totals(lock).calls == 0);
    CHECK(!world_is_locked(world, node));
    manager_end(world, lock);
}
