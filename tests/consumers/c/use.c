/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that the behaviours are made of. */
#include "consumer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

void outcome_init(struct outcome *outcome)
{
    memset(outcome, 0, sizeof(*outcome));
    (void)pthread_mutex_init(&outcome->mutex, NULL);
    (void)pthread_cond_init(&outcome->changed, NULL);
}

void outcome_acquired(void *data, int code, hami_lease *lease,
                      const struct hami_error *error)
{
    struct outcome *outcome = (struct outcome *)data;

    pthread_mutex_lock(&outcome->mutex);
    outcome->count++;
    outcome->code = code;
    outcome->lease = lease;
    outcome->thread = pthread_self();
    (void)snprintf(outcome->text, sizeof(outcome->text), "%s", error->text);
    pthread_cond_broadcast(&outcome->changed);
    pthread_mutex_unlock(&outcome->mutex);
}

int outcome_await(struct outcome *outcome)
{
    struct timespec until;
    int waited = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&outcome->mutex);
    while (outcome->count == 0 && waited == 0) {
        waited = pthread_cond_timedwait(&outcome->changed, &outcome->mutex, &until);
    }
    int code = outcome->count == 0 ? 1 : outcome->code;
    pthread_mutex_unlock(&outcome->mutex);
    return code;
}

int outcome_count(struct outcome *outcome)
{
    pthread_mutex_lock(&outcome->mutex);
    int count = outcome->count;
    pthread_mutex_unlock(&outcome->mutex);
    return count;
}

hami_nodelock *manager_new(struct world *world, struct hami_transport *transport)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    hami_nodelock *lock = NULL;

    config.transport = transport;
    CHECK_CODE(hami_nodelock_new(&config, &lock, NULL), 0);
    return lock;
}

hami_nodelock *manager_end(struct world *world, hami_nodelock *lock)
{
    CHECK_CODE(hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, PATIENCE_MS)), 0);
    return hami_nodelock_free(lock);
}

struct hami_nodelock_request request_for(hami_nodelock *lock, const char *node,
                                         const struct pod *pod)
{
    struct hami_nodelock_request want = HAMI_NODELOCK_REQUEST_INIT;

    want.node = node;
    want.owner.namespace_name = "default";
    want.owner.name = pod->name;
    want.owner.uid = pod->uid;
    want.deadline_ns = hami_nodelock_in_ms(lock, PATIENCE_MS);
    return want;
}

hami_lease *take(struct world *world, hami_nodelock *lock, const char *node,
                 const struct pod *pod)
{
    struct hami_nodelock_request want = request_for(lock, node, pod);
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    int code = hami_nodelock_acquire(lock, &want, &lease, &error);

    if (code != 0) {
        consumer_fail(world, __FILE__, __LINE__, error.text);
    }
    return lease;
}

void give(struct world *world, hami_nodelock *lock, hami_lease *lease)
{
    CHECK_CODE(hami_lease_release(lease, hami_nodelock_in_ms(lock, PATIENCE_MS), NULL),
               0);
}

void queue(struct world *world, hami_nodelock *lock, const char *node,
           const struct pod *pod, hami_cancel *cancel, struct outcome *outcome)
{
    struct hami_nodelock_request want = request_for(lock, node, pod);

    outcome_init(outcome);
    want.cancel = cancel;
    CHECK_CODE(hami_nodelock_acquire_start(lock, &want, outcome_acquired, outcome, NULL),
               0);
}

struct hami_nodelock_stats totals(hami_nodelock *lock)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

    (void)hami_nodelock_stats(lock, &stats);
    return stats;
}
