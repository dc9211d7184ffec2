/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See run.h. A world ends in calm: no faults and no new pods any more, and then every pod
 * has to come to its end and every lock has to go. A lock that is left is no fault by
 * itself, since nobody asks for it: one more pod has to get it.
 */
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "binder.h"
#include "checker.h"
#include "kubelet.h"
#include "replica.h"
#include "store.h"
#include "stream.h"
#include "trace.h"
#include "workload.h"

/* In calm something has to get on within this time. */
#define PATIENCE (150 * SECOND)
#define PROBES_MAX 4
/* A world that has not made its acquires by then does not get on. */
#define LONGEST (20000 * SECOND)
#define STEPS_MAX UINT64_C(2000000000)

uint64_t run_violations(const struct result *result)
{
    return result->double_holds + result->lost_locks + result->stuck_nodes +
           result->fifo_violations + result->fence_violations + result->wrong_devices +
           result->callback_violations + result->leaks + result->cover_violations;
}

/* ---- the end of a world ---- */

struct ending {
    uint64_t progress_ns;
    uint32_t pods_open;
    unsigned probes;
    bool done;
};

/* A lock that stands on a node; NULL = none. */
static const char *find_lock(const struct world *world, const struct node *node)
{
    for (size_t i = 0; i < world->slot_count; i++) {
        const char *lock = object_get(node->object, world->slots[i].lock);
        if (lock && *lock) {
            return lock;
        }
    }
    return NULL;
}

static void give_up(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.nodes; i++) {
        const struct node *node = &world->nodes[i];
        const char *lock = find_lock(world, node);
        if (node->pods_open > 0 || (world->pods_open == 0 && lock)) {
            checker_violation(world, &world->result.stuck_nodes, node,
                              "%s is stuck: %u pods, lock %s", node->name,
                              node->pods_open, lock ? lock : "-");
        }
    }
    if (world->result.stuck_nodes == 0) {
        checker_violation(world, &world->result.leaks, NULL,
                          "an acquire or a release never ended");
    }
}

/* Of several permits one may stay locked for good: nobody has to have that one. */
static bool is_missed(const struct world *world, const struct ending *ending)
{
    return (world->plan.permits == 1 && world->plan.beside == 0) || ending->probes < 2;
}

static void probe(struct world *world, struct ending *ending)
{
    ending->done = true;
    for (uint32_t i = 0; i < world->plan.nodes; i++) {
        if (!find_lock(world, &world->nodes[i]) || !is_missed(world, ending)) {
            continue;
        }
        ending->done = false;
        for (uint32_t j = 0; ending->probes < PROBES_MAX && j < world->plan.permits;
             j++) {
            workload_probe(world, &world->nodes[i]);
        }
    }
    ending->probes++;
}

/* In calm: true when the world is at its end. */
static bool look(struct world *world, struct ending *ending)
{
    uint64_t now = world_now(world);

    if (world->pods_open != ending->pods_open) {
        ending->pods_open = world->pods_open;
        ending->progress_ns = now;
    }
    if (now > ending->progress_ns + PATIENCE) {
        give_up(world);
        return true;
    }
    /* What was late on its way has landed a good while after the last pod. */
    if (world->pods_open == 0 && !world->acquires &&
        now > ending->progress_ns + 30 * SECOND) {
        probe(world, ending);
        ending->progress_ns = now;
    }
    return ending->done || ending->probes > PROBES_MAX;
}

/* ---- the loop ---- */

static bool is_work_done(const struct world *world)
{
    return world->result.acquires + world->pods_open >= world->plan.acquires &&
           (world->result.acquires >= world->plan.acquires || world->pods_open == 0);
}

/* One event, or what the managers have to do by themselves. */
static void step(struct world *world)
{
    struct event event;
    uint64_t next = replica_next(world);

    world->step++;
    if (next < engine_next(&world->engine)) {
        if (next > world->engine.now_ns) {
            world->engine.now_ns = next;
        }
    } else if (engine_take(&world->engine, &event)) {
        const struct replica *replica =
            event.party >= 0 ? &world->replicas[event.party] : NULL;
        if (replica && replica->lock && replica->paused_until_ns > world_now(world)) {
            engine_put_off(&world->engine, &event, replica->paused_until_ns);
            return;
        }
        event.run(world, event.subject, event.argument);
    }
    replica_run(world);
}

static void drain(struct world *world)
{
    struct event event;

    world->over = true;
    stream_done(world);
    while (engine_take(&world->engine, &event)) {
        event.run(world, event.subject, event.argument);
    }
    stream_done(world);
}

static void play(struct world *world)
{
    struct ending ending = {.progress_ns = 0};
    uint64_t check_ns = world_now(world) + REPLICA_CHECK_EVERY;

    while (run_violations(&world->result) == 0 && world->step < STEPS_MAX) {
        step(world);
        if (world_now(world) >= check_ns) {
            replica_check_locks(world);
            check_ns = world_now(world) + REPLICA_CHECK_EVERY;
        }
        /* Who gets nothing done has to show so in calm. */
        if (!world->calm && (is_work_done(world) || world_now(world) > LONGEST)) {
            world->calm = true;
            ending.progress_ns = world_now(world);
            trace_line(world, NULL, "calm");
        }
        if (world->calm && look(world, &ending)) {
            break;
        }
    }
    if (ending.probes > PROBES_MAX && !ending.done) {
        give_up(world);
    }
}

struct result run_world(const struct plan *plan, bool trace)
{
    struct world *world = calloc(1, sizeof(*world));

    world->plan = *plan;
    engine_start(&world->engine, plan->seed);
    uint64_t began = world_now(world);
    client_enter(world);
    trace_start(world, trace);
    store_start(world);
    checker_start(world);
    workload_start(world);
    play(world);
    world->result.steps = world->step;
    world->result.virtual_ns = world_now(world) - began;
    struct result before = world->result;
    replica_finish(world);
    struct result result = run_violations(&before) > 0 ? before : world->result;
    drain(world);
    binder_done(world);
    for (uint32_t i = 0; i < plan->nodes; i++) {
        kubelet_done(&world->nodes[i]);
    }
    checker_done(world);
    store_done(world);
    trace_done(world);
    engine_done(&world->engine);
    free(world);
    return result;
}

/* ---- many worlds ---- */

static uint64_t mix(uint64_t seed, uint64_t number)
{
    struct engine engine;

    engine_start(&engine, seed);
    engine.random[0] += number * UINT64_C(0xd1342543de82ef95);
    return engine_random(&engine, RANDOM_WORK) >> 16;
}

static bool is_beside(const struct options *options, uint64_t seed)
{
    if (options->beside != BESIDE_BOTH) {
        return options->beside == BESIDE_ALWAYS;
    }
    return options->broken == BROKEN_NOTHING && options->free != FREE_NODE &&
           seed / 7 % 3 == 0;
}

struct plan run_plan(const struct options *options, uint64_t number)
{
    /* Few nodes with long queues, some, and now and then thousands. */
    static const struct {
        uint32_t nodes, burst;
        uint64_t acquires;
    } shapes[] = {{1, 30, 400},  {2, 40, 800},    {8, 30, 2000},   {30, 40, 3000},
                  {3, 20, 1000}, {100, 40, 3000}, {2000, 30, 5000}};
    /* Keys and permits, drawn from the seed; most worlds have one of each. */
    static const struct {
        uint32_t keys, permits;
    } slots[] = {{1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 1},
                 {2, 1}, {2, 1}, {1, 2}, {1, 3}, {2, 2}};
    static const uint32_t most[] = {8, 2, 4};
    size_t count = sizeof(shapes) / sizeof(shapes[0]) - 1;
    uint64_t seed = mix(options->seed, number);
    size_t shape = number % (4 * count) == 17 ? count : number % count;
    size_t kind = options->broken == BROKEN_NOTHING
                      ? seed / 6 % (sizeof(slots) / sizeof(slots[0]))
                      : 0;
    struct plan plan = {
        .seed = seed,
        .acquires = shapes[shape].acquires,
        .nodes = shapes[shape].nodes,
        .burst = shapes[shape].burst,
        .keys = slots[kind].keys,
        .permits = slots[kind].permits,
        .replicas = 2 + seed % 2,
        .kubernetes = options->codec == CODEC_KUBERNETES ||
                      (options->codec == CODEC_BOTH && (number / count + number) % 2),
        .foreign = kind < 5 && seed / 2 % 3 == 0,
        .by_scheduler = options->free == FREE_SCHEDULER ||
                        (options->free == FREE_BOTH && seed / 8 % 2 == 0),
        .fault_percent = options->fault_percent,
        .faults = options->faults,
        .broken = options->broken,
    };

    if (is_beside(options, seed)) {
        plan.beside = most[seed / 32 % (sizeof(most) / sizeof(most[0]))];
        plan.keys = plan.permits = 1;
        plan.foreign = seed / 2 % 6 == 0;
        plan.by_scheduler = true;
    }
    if (plan.kubernetes) {
        plan.permits = 1; /* HAMi reads these locks, and knows one a node */
    }
    if (plan.acquires > options->acquires) {
        plan.acquires = options->acquires;
    }
    return plan;
}

static void add(struct result *total, const struct result *one)
{
    uint64_t *to[] = {&total->acquires,
                      &total->grants,
                      &total->bound,
                      &total->served,
                      &total->steps,
                      &total->requests,
                      &total->touched,
                      &total->faults,
                      &total->queue_sum,
                      &total->queue_count,
                      &total->double_holds,
                      &total->lost_locks,
                      &total->stuck_nodes,
                      &total->fifo_violations,
                      &total->fence_violations,
                      &total->wrong_devices,
                      &total->callback_violations,
                      &total->leaks,
                      &total->cover_violations,
                      &total->bound_beside,
                      &total->virtual_ns};
    const uint64_t from[] = {one->acquires,
                             one->grants,
                             one->bound,
                             one->served,
                             one->steps,
                             one->requests,
                             one->touched,
                             one->faults,
                             one->queue_sum,
                             one->queue_count,
                             one->double_holds,
                             one->lost_locks,
                             one->stuck_nodes,
                             one->fifo_violations,
                             one->fence_violations,
                             one->wrong_devices,
                             one->callback_violations,
                             one->leaks,
                             one->cover_violations,
                             one->bound_beside,
                             one->virtual_ns};

    for (size_t i = 0; i < sizeof(from) / sizeof(from[0]); i++) {
        *to[i] += from[i];
    }
    if (one->in_flight_max > total->in_flight_max) {
        total->in_flight_max = one->in_flight_max;
    }
    for (size_t i = 0; i < FAULT_COUNT; i++) {
        total->touched_by[i] += one->touched_by[i];
    }
    if (one->first_step != 0 && total->first_step == 0) {
        total->first_step = one->first_step;
        memcpy(total->first, one->first, sizeof(total->first));
    }
}

struct run run_all(const struct options *options)
{
    struct run run = {.worlds = 0};

    while (run.total.acquires < options->acquires && !run.failed) {
        struct plan plan = run_plan(options, run.worlds++);
        struct result result = run_world(&plan, false);
        add(&run.total, &result);
        if (run_violations(&result) > 0) {
            run.failed = true;
            run.plan = plan;
        }
        if (options->progress) {
            options->progress(&run.total, run.worlds);
        }
    }
    return run;
}

/* ---- shrinking ---- */

static bool fails(const struct plan *plan)
{
    struct result result = run_world(plan, false);

    return run_violations(&result) > 0;
}

/* Other seeds are tried, too: a smaller world tells another story. */
static bool fails_somehow(struct plan *plan)
{
    struct plan other = *plan;

    for (uint64_t i = 0; i < 8; i++) {
        other.seed = plan->seed + i;
        if (fails(&other)) {
            *plan = other;
            return true;
        }
    }
    return false;
}

static bool shrink_sizes(struct plan *plan)
{
    struct plan tries[4] = {*plan, *plan, *plan, *plan};

    tries[0].acquires = plan->acquires / 2;
    tries[1].nodes = plan->nodes / 2;
    tries[2].burst = plan->burst / 2;
    tries[3].replicas = plan->replicas - 1;
    for (size_t i = 0; i < 4; i++) {
        if (tries[i].acquires < 1 || tries[i].nodes < 1 || tries[i].burst < 2 ||
            tries[i].replicas < 1) {
            continue;
        }
        if (fails_somehow(&tries[i])) {
            *plan = tries[i];
            return true;
        }
    }
    return false;
}

struct plan run_shrink(const struct plan *plan)
{
    struct plan best = *plan;

    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        struct plan less = best;
        less.faults &= ~(UINT32_C(1) << kind);
        if (less.faults != best.faults && fails_somehow(&less)) {
            best = less;
        }
    }
    while (shrink_sizes(&best)) {
    }
    return best;
}
