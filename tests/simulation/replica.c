/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See replica.h. */
#include "replica.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend.h"
#include "binder.h"
#include "checker.h"
#include "trace.h"

#define TURNS_MAX 100000

bool replica_is_awake(const struct world *world, int index)
{
    const struct replica *replica = &world->replicas[index];

    return replica->lock && replica->paused_until_ns <= world_now(world);
}

/* ---- what a manager is given ---- */

static void wake(void *data)
{
    ((struct replica *)data)->woken = true;
}

static uint64_t monotonic(void *data)
{
    return world_now(((struct replica *)data)->world);
}

static int64_t realtime(void *data)
{
    const struct replica *replica = data;

    return 1767323045 + (int64_t)(world_now(replica->world) / SECOND) +
           replica->clock_offset_s;
}

static void *allocate(size_t bytes, void *data)
{
    ((struct replica *)data)->allocations++;
    return malloc(bytes);
}

static void *reallocate(void *memory, size_t bytes, void *data)
{
    ((struct replica *)data)->allocations += memory == NULL;
    return realloc(memory, bytes);
}

static void release(void *memory, void *data)
{
    ((struct replica *)data)->allocations -= memory != NULL;
    free(memory);
}

static void told(void *data, enum hami_log_level level, const char *line)
{
    const struct replica *replica = data;

    (void)level;
    trace_line(replica->world, NULL, "%s says: %s", replica->who, line);
}

static uint64_t draw(struct world *world, const uint64_t *choices, size_t count)
{
    return choices[engine_below(&world->engine, RANDOM_WORK, count)];
}

void replica_start(struct world *world, int index)
{
    static const uint64_t holds[] = {1500, 4000, 15000}, calls[] = {400, 1500, 5000},
                          ages[] = {8000, 20000}, stalls[] = {0, 0, 3000};
    struct replica *replica = &world->replicas[index];
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    char holder[24];

    replica->world = world;
    replica->index = index;
    replica->dead = false;
    replica->paused_until_ns = replica->partitioned_until_ns = 0;
    replica->places = 0;
    replica->pages =
        world->plan.kubernetes && engine_below(&world->engine, RANDOM_WORK, 3) == 0;
    (void)snprintf(holder, sizeof(holder), "replica-%d", index);
    (void)snprintf(replica->who, sizeof(replica->who), "replica-%d.%u", index,
                   replica->incarnation);
    replica->transport =
        world->plan.kubernetes ? client_new(world, index) : plain_new(world, index);
    if (world->plan.broken == BROKEN_RELEASE) {
        replica->transport->revoke = NULL;
    }
    config.transport = replica->transport;
    config.holder = holder;
    config.permits = world->plan.permits;
    config.wakeup = wake;
    config.wakeup_data = replica;
    config.log = told;
    config.log_data = replica;
    config.clock = (struct hami_clock){monotonic, realtime, replica};
    config.allocator = (struct hami_allocator){allocate, reallocate, release, replica};
    config.random_seed = engine_random(&world->engine, RANDOM_WORK) | 1;
    config.hold_limit_ms = draw(world, holds, 3);
    config.call_timeout_ms = draw(world, calls, 3);
    config.expire_ms = draw(world, ages, 2);
    if (world->plan.foreign) {
        /* Its Bindings can't be revoked: nothing but time protects them. */
        config.expire_ms = 60000;
    }
    if (config.expire_ms * MS < world->age_least_ns || world->age_least_ns == 0) {
        world->age_least_ns = config.expire_ms * MS;
    }
    config.stall_limit_ms = draw(world, stalls, 3);
    config.nodes_max = world->plan.nodes < 64 ? 64 : world->plan.nodes;
    struct hami_error error = HAMI_ERROR_INIT;
    if (hami_nodelock_new(&config, &replica->lock, &error) < 0) {
        (void)fprintf(stderr, "no manager: %s\n", error.text);
        abort();
    }
}

static void free_replica(struct world *world, int index)
{
    struct replica *replica = &world->replicas[index];

    replica->lock = hami_nodelock_free(replica->lock);
    if (world->plan.kubernetes) {
        client_free(replica->transport);
    } else {
        plain_free(replica->transport);
    }
    replica->transport = NULL;
    binder_bury(world, index);
    if (replica->allocations != 0) {
        checker_violation(world, &world->result.leaks, NULL,
                          "%s left %zu pieces of memory", replica->who,
                          replica->allocations);
        replica->allocations = 0;
    }
    replica->incarnation++;
}

void replica_kill(struct world *world, int index)
{
    struct replica *replica = &world->replicas[index];

    trace_line(world, NULL, "%s dies", replica->who);
    replica->dead = true;
    free_replica(world, index);
}

uint64_t replica_next(struct world *world)
{
    uint64_t next = NEVER;

    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        struct replica *replica = &world->replicas[i];
        if (!replica->lock) {
            continue;
        }
        uint64_t due = replica->woken ? 0 : hami_nodelock_next_deadline(replica->lock);
        if (due != NEVER && due < replica->paused_until_ns) {
            due = replica->paused_until_ns;
        }
        next = due < next ? due : next;
    }
    return next;
}

void replica_run(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        struct replica *replica = &world->replicas[i];
        if (!replica_is_awake(world, (int)i)) {
            continue;
        }
        if (world->plan.kubernetes) {
            client_pump(replica->transport);
        }
        for (unsigned turns = 0;
             replica->lock && (replica->woken || hami_nodelock_next_deadline(
                                                     replica->lock) <= world_now(world));
             turns++) {
            replica->woken = false;
            (void)hami_nodelock_dispatch(replica->lock);
            if (turns == TURNS_MAX) {
                checker_violation(world, &world->result.stuck_nodes, NULL,
                                  "%s turns without an end", replica->who);
                world->result.first_step = world->step;
                return;
            }
        }
    }
}

void replica_finish(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        struct replica *replica = &world->replicas[i];
        struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
        if (!replica->lock) {
            continue;
        }
        (void)hami_nodelock_stats(replica->lock, &stats);
        if (world->result.stuck_nodes == 0 && (stats.waiters || stats.leases)) {
            checker_violation(world, &world->result.leaks, NULL,
                              "%s has %u waiters and %u leases left", replica->who,
                              stats.waiters, stats.leases);
        }
        replica->dead = true;
        free_replica(world, (int)i);
    }
}
