/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See replica.h. */
#include "replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "binder.h"
#include "checker.h"
#include "store.h"
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
                          ages[] = {8000, 20000}, stalls[] = {0, 0, 3000},
                          overtaken[] = {1, 4, 1000}, rooms[] = {0, 0, 30};
    struct replica *replica = &world->replicas[index];
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    char holder[24];

    replica->world = world;
    replica->index = index;
    replica->dead = false;
    replica->holder[0] = '\0';
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
    replica->overtaken_max = (unsigned)draw(world, overtaken, 3);
    config.overtaken_max = replica->overtaken_max;
    config.waiters_per_namespace_max = (uint32_t)draw(world, rooms, 3);
    config.flags = engine_below(&world->engine, RANDOM_WORK, 3) == 0
                       ? HAMI_NODELOCK_REFUSE_EARLY
                       : 0;
    /* One in four is of a version that knows nothing of it. */
    if (world->plan.by_scheduler && engine_below(&world->engine, RANDOM_WORK, 4)) {
        config.flags |= HAMI_NODELOCK_FREE_BY_SCHEDULER;
    }
    /* One in five has the option off: each of its pods is an exclusive one. */
    if (world->plan.beside && engine_below(&world->engine, RANDOM_WORK, 5)) {
        config.flags |= HAMI_NODELOCK_FREE_BY_SCHEDULER;
        config.side_by_side = world->plan.beside;
    }
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

/* ---- locks that nobody wants ---- */

/* Before a record is undone a call in flight may have to end, and what it was about to be
 * read. */
#define UNWANTED_LONG (8 * SECOND)
#define KEPT_LONG (2 * SECOND)
#define TROUBLE_LONG (20 * SECOND)

static bool has_lease(const struct replica *replica, const char *node)
{
    for (const struct acquire *at = replica->world->acquires; at; at = at->all_next) {
        if (at->replica == replica->index && at->lease &&
            strcmp(at->node->name, node) == 0) {
            return true;
        }
    }
    return false;
}

/* A take that nobody was told of, or that lands late, is undone by whoever sent it. */
static int check_node(void *data, const struct hami_node_view *view)
{
    struct replica *replica = data;
    struct world *world = replica->world;
    struct node *node = store_node(world, view->node);
    const struct hami_slot_view *found = NULL;
    uint64_t now = world_now(world), limit = UNWANTED_LONG;

    for (size_t i = 0; i < view->slot_count; i++) {
        const struct hami_slot_view *slot = &view->slots[i];
        bool kept = slot->state == HAMI_SLOT_HELD && !has_lease(replica, view->node);
        /* The cover is a copy, and no take of its own. */
        bool cover = world->plan.beside && strcmp(slot->key, KEY_LOCK) == 0 &&
                     slot->lease && strstr(slot->lease, "\"calls\"");
        bool stray = slot->state == HAMI_SLOT_FOREIGN && slot->holder && !cover &&
                     strcmp(slot->holder, replica->holder) == 0;
        if (kept || stray) {
            found = slot;
            limit = kept ? KEPT_LONG : UNWANTED_LONG;
        }
    }
    if (!node || !found) {
        return 0;
    }
    uint64_t *first = &node->unwanted[replica->index].first_ns;
    uint64_t *last = &node->unwanted[replica->index].last_ns;
    *first = *first && *last + 2 * REPLICA_CHECK_EVERY > now ? *first : now;
    *last = now;
    if (now >= *first + limit) {
        checker_violation(world, &world->result.leaks, node,
                          "%s has lock %s on %s, which nobody asked for, and does not "
                          "undo it",
                          replica->who, found->value ? found->value : "-", view->node);
    }
    return 0;
}

void replica_check_locks(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        struct replica *replica = &world->replicas[i];
        uint64_t trouble = replica->partitioned_until_ns > replica->paused_until_ns
                               ? replica->partitioned_until_ns
                               : replica->paused_until_ns;
        if (replica->lock && trouble + TROUBLE_LONG < world_now(world)) {
            (void)hami_nodelock_snapshot(replica->lock, NULL, check_node, replica);
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
