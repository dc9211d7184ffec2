/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines, cancellation, order: how a wait ends. */
#include "consumer.h"

#include <string.h>

void deadline_queued(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *holder = world_pod(world), *late = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, holder), *none = NULL;
    struct hami_nodelock_request want = request_for(lock, node, late);
    struct hami_error error = HAMI_ERROR_INIT;

    want.deadline_ns = hami_nodelock_in_ms(lock, 30);
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &none, &error), HAMI_E_TIMEDOUT);
    CHECK(!none);
    CHECK(hami_nodelock_now(lock) >= want.deadline_ns);
    CHECK(strstr(error.text, holder->name));
    CHECK(totals(lock).waiters == 0);
    give(world, lock, lease);
    CHECK(!world_is_locked(world, node));
    give(world, lock, take(world, lock, node, world_pod(world)));
    manager_end(world, lock);
}

void deadline_past(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    hami_lease *none = NULL;

    want.deadline_ns = 0;
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &none, NULL), HAMI_E_TIMEDOUT);
    want.deadline_ns = hami_nodelock_now(lock) - 1;
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &none, NULL), HAMI_E_TIMEDOUT);
    CHECK(!none);
    manager_end(world, lock);
    CHECK(!world_is_locked(world, node));
}

void cancel_queued(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, world_pod(world));
    struct outcome cancelled, behind;
    hami_cancel *cancel = NULL;

    CHECK_CODE(hami_cancel_new(&cancel), 0);
    queue(world, lock, node, world_pod(world), cancel, &cancelled);
    queue(world, lock, node, world_pod(world), NULL, &behind);
    CHECK(totals(lock).waiters == 2);
    CHECK_CODE(hami_cancel_fire(cancel), 0);
    CHECK_CODE(outcome_await(&cancelled), HAMI_E_CANCELED);
    CHECK(!cancelled.lease);
    CHECK(totals(lock).waiters == 1);
    give(world, lock, lease);
    CHECK_CODE(outcome_await(&behind), 0);
    give(world, lock, behind.lease);
    CHECK(outcome_count(&cancelled) == 1);
    hami_cancel_unref(cancel);
    manager_end(world, lock);
}

void cancel_in_flight(struct world *world)
{
    const char *node = world_node(world);
    struct gate *gate = gate_new(world->transport);
    hami_nodelock *lock = manager_new(world, gate_transport(gate));
    struct outcome outcome;
    hami_cancel *cancel = NULL;

    CHECK_CODE(hami_cancel_new(&cancel), 0);
    gate_shut(gate);
    queue(world, lock, node, world_pod(world), cancel, &outcome);
    CHECK(gate_await_held(gate));
    CHECK_CODE(hami_cancel_fire(cancel), 0);
    CHECK_CODE(outcome_await(&outcome),
               HAMI_E_CANCELED); /* told before the write is done */
    CHECK(!outcome.lease);
    gate_open(gate);
    manager_end(world, lock);
    CHECK(outcome_count(&outcome) == 1);
    CHECK(!world_is_locked(world, node));
    hami_cancel_unref(cancel);
    gate_free(gate);
}

void cancel_after_grant(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    hami_lease *lease = NULL;

    CHECK_CODE(hami_cancel_new(&want.cancel), 0);
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &lease, NULL), 0);
    CHECK_CODE(hami_cancel_fire(want.cancel), 0);
    CHECK_CODE(hami_lease_check(lease, want.deadline_ns, NULL), 0);
    give(world, lock, lease);
    CHECK(!world_is_locked(world, node));
    hami_cancel_unref(want.cancel);
    manager_end(world, lock);
}

struct rival {
    pthread_barrier_t *start;
    hami_cancel *cancel;
};

static void *fire(void *data)
{
    struct rival *rival = (struct rival *)data;

    (void)pthread_barrier_wait(rival->start);
    (void)hami_cancel_fire(rival->cancel);
    return NULL;
}

/* The release that grants, and the cancel, at once. Returns the wait's code. */
static int race(struct world *world, hami_nodelock *lock, const char *node,
                const struct pod *first, const struct pod *second)
{
    hami_lease *lease = take(world, lock, node, first);
    struct outcome outcome;
    pthread_barrier_t start;
    pthread_t thread;
    struct rival rival = {&start, NULL};

    CHECK_CODE(hami_cancel_new(&rival.cancel), 0);
    (void)pthread_barrier_init(&start, NULL, 2);
    queue(world, lock, node, second, rival.cancel, &outcome);
    CHECK(pthread_create(&thread, NULL, fire, &rival) == 0);
    (void)pthread_barrier_wait(&start);
    give(world, lock, lease);
    (void)pthread_join(thread, NULL);
    int code = outcome_await(&outcome);
    CHECK((code == 0) == (outcome.lease != NULL));
    if (code == 0) {
        give(world, lock, outcome.lease);
    }
    CHECK(outcome_count(&outcome) == 1);
    hami_cancel_unref(rival.cancel);
    (void)pthread_barrier_destroy(&start);
    return code;
}

void grant_cancel_race(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *first = world_pod(world), *second = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);

    for (int i = 0; i < 20 && !world->failed; i++) {
        int code = race(world, lock, node, first, second);
        CHECK(code == 0 || code == HAMI_E_CANCELED);
    }
    give(world, lock, take(world, lock, node, world_pod(world)));
    manager_end(world, lock);
    CHECK(!world_is_locked(world, node));
}

#define QUEUE 5

void order(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, world_pod(world));
    struct outcome outcomes[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        queue(world, lock, node, world_pod(world), NULL, &outcomes[i]);
    }
    give(world, lock, lease);
    for (int i = 0; i < QUEUE; i++) {
        CHECK_CODE(outcome_await(&outcomes[i]), 0);
        for (int j = i + 1; j < QUEUE; j++) {
            CHECK(outcome_count(&outcomes[j]) == 0);
        }
        give(world, lock, outcomes[i].lease);
    }
    manager_end(world, lock);
}

/* How they ask, and which of them is served first, second, .. */
static const struct {
    int32_t priority;
    const char *group;
} asked[QUEUE] = {{0, NULL}, {0, "gang"}, {0, NULL}, {0, "gang"}, {5, NULL}};
static const int served[QUEUE] = {4, 0, 1, 3, 2};

void lanes(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, world_pod(world));
    struct outcome outcomes[QUEUE];

    for (int i = 0; i < QUEUE; i++) {
        struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
        want.priority = asked[i].priority;
        want.group = asked[i].group;
        outcome_init(&outcomes[i]);
        CHECK_CODE(hami_nodelock_acquire_start(lock, &want, outcome_acquired,
                                               &outcomes[i], NULL),
                   0);
    }
    give(world, lock, lease);
    for (int i = 0; i < QUEUE; i++) {
        CHECK_CODE(outcome_await(&outcomes[served[i]]), 0);
        for (int j = i + 1; j < QUEUE; j++) {
            CHECK(outcome_count(&outcomes[served[j]]) == 0);
        }
        give(world, lock, outcomes[served[i]].lease);
    }
    manager_end(world, lock);
}

void limit(struct world *world)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    const char *node = world_node(world);
    hami_nodelock *lock = NULL;
    struct outcome outcome;

    config.transport = world->transport;
    config.waiters_per_node_max = 1;
    CHECK_CODE(hami_nodelock_new(&config, &lock, NULL), 0);
    hami_lease *lease = take(world, lock, node, world_pod(world)), *none = NULL;
    queue(world, lock, node, world_pod(world), NULL, &outcome);
    struct hami_nodelock_request want = request_for(lock, node, world_pod(world));
    CHECK_CODE(hami_nodelock_acquire(lock, &want, &none, &error), HAMI_E_LIMIT);
    CHECK(none == NULL && error.position == 1 && error.waiting == 1);
    CHECK(strstr(error.text, "1 of 1 waiters are of namespace default") != NULL);
    give(world, lock, lease);
    CHECK_CODE(outcome_await(&outcome), 0);
    give(world, lock, outcome.lease);
    manager_end(world, lock);
}

void many_nodes(struct world *world)
{
    const char *nodes[3] = {world_node(world), world_node(world), world_node(world)};
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *leases[3];
    struct outcome outcomes[3];

    for (int i = 0; i < 3; i++) {
        leases[i] = take(world, lock, nodes[i], world_pod(world));
        queue(world, lock, nodes[i], world_pod(world), NULL, &outcomes[i]);
    }
    give(world, lock, take(world, lock, world_node(world), world_pod(world)));
    for (int i = 2; i >= 0; i--) { /* the last queue first */
        CHECK(outcome_count(&outcomes[i]) == 0);
        give(world, lock, leases[i]);
        CHECK_CODE(outcome_await(&outcomes[i]), 0);
        give(world, lock, outcomes[i].lease);
    }
    manager_end(world, lock);
}
