/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See workload.h. */
#include "workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "binder.h"
#include "kubelet.h"
#include "marks.h"
#include "replica.h"
#include "store.h"
#include "stream.h"
#include "trace.h"
#include "vandal.h"

#define TICK (100 * MS)
#define BURSTS_A_TICK 6

/* ---- pods ---- */

static void make_pod(struct world *world, struct pod *pod)
{
    char uid[40], devices[400];

    store_uid(world, "pod", uid, sizeof(uid));
    struct object *object = object_new(true, pod->name, uid);
    asks_devices(pod, devices, sizeof(devices));
    object_set(object, KEY_DEVICES, devices);
    object_set(object, KEY_ASSIGNED, pod->node->name);
    if (engine_chance(&world->engine, RANDOM_WORK, 10000)) {
        /* Copied from a pod that was served: what it says of itself means nothing. */
        object_set(object, KEY_PHASE, "success");
        object_set(object, KEY_DONE, "1");
    }
    pod->generation++;
    pod->attempts = 0;
    pod->refused = false;
    pod->open = true;
    pod->node->pods_open++;
    world->pods_open++;
    store_put_pod(world, pod, object, WRITER_WORLD, "creator");
    binder_retry(world, pod, engine_span(&world->engine, RANDOM_WORK, 1 * MS, 300 * MS));
}

static void close_pod(struct world *world, struct pod *pod)
{
    if (pod->open) {
        pod->open = false;
        pod->node->pods_open--;
        world->pods_open--;
    }
}

void workload_pod(struct world *world, struct pod *pod, const struct object *before)
{
    struct object *after = pod->object;

    if (!after || after->phase >= POD_RUNNING) {
        close_pod(world, pod);
    }
    if (after && after->node[0] && (!before || !before->node[0])) {
        struct node *node = store_node(world, after->node);
        if (node) {
            kubelet_bound(world, node, pod);
        }
    }
}

static void remake_pod(struct world *world, void *subject, uint64_t generation)
{
    struct pod *pod = subject;

    if (!world->over && pod->generation == generation && !pod->object) {
        make_pod(world, pod);
    }
}

static void remove_pod(struct world *world, void *subject, uint64_t generation)
{
    struct pod *pod = subject;

    if (!world->over && pod->generation == generation && pod->object) {
        store_put_pod(world, pod, NULL, WRITER_WORLD, "deleter");
    }
}

/* The lowest bit of the argument: made anew afterwards. */
static void delete_pod(struct world *world, void *subject, uint64_t argument)
{
    struct pod *pod = subject;
    bool again = argument & 1;
    uint64_t generation = argument >> 1;
    enum fault kind = again ? FAULT_POD_RECREATED : FAULT_POD_DELETED;

    if (world->over || pod->generation != generation || !pod->object ||
        pod->object->phase >= POD_RUNNING) {
        return;
    }
    fault_injected(world, kind);
    fault_touch(world, kind, pod->latest);
    bool grace = engine_below(&world->engine, RANDOM_FAULTS, 2) == 0;
    uint64_t now = world_now(world), gone = now;
    if (grace && !pod->object->deleting) {
        struct object *next = object_copy(pod->object);
        next->deleting = true;
        bool bound = next->node[0] != '\0';
        store_put_pod(world, pod, next, WRITER_WORLD, "deleter");
        gone += engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 4 * SECOND);
        /* A bound pod is the kubelet's to end; it may be slow. */
        gone += bound ? 4 * SECOND : 0;
        engine_add(&world->engine, gone, -1, remove_pod, pod, generation);
    } else {
        store_put_pod(world, pod, NULL, WRITER_WORLD, "deleter");
    }
    if (engine_below(&world->engine, RANDOM_FAULTS, 3) == 0) {
        binder_abort(world, pod);
    }
    if (again) {
        gone += engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 2 * SECOND);
        engine_add(&world->engine, gone, -1, remake_pod, pod, generation);
    }
}

static void doom(struct world *world, struct pod *pod)
{
    bool deleted = fault_happens(world, FAULT_POD_DELETED);
    bool again = fault_happens(world, FAULT_POD_RECREATED);

    if (deleted || again) {
        uint64_t at = world_now(world) +
                      engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 10 * SECOND);
        engine_add(&world->engine, at, -1, delete_pod, pod,
                   (uint64_t)pod->generation << 1 | again);
    }
}

/* ---- nodes ---- */

static void make_node(struct world *world, struct node *node)
{
    char uid[40];

    store_uid(world, "node", uid, sizeof(uid));
    struct object *object = object_new(false, node->name, uid);
    if (engine_below(&world->engine, RANDOM_WORK, 2)) {
        object_set(object, "example.com/rack", "7");
    }
    /* An agent of the other mode, or an older one, is not there on all nodes. */
    marks_first(world, node, object);
    if (world->plan.by_scheduler && !world->plan.beside &&
        engine_below(&world->engine, RANDOM_WORK, 4)) {
        object_set(object, KEY_AGENT, "1,free=scheduler");
    }
    store_put_node(world, node, object, WRITER_WORLD, "creator");
}

static void remake_node(struct world *world, void *subject, uint64_t argument)
{
    struct node *node = subject;

    (void)argument;
    if (!world->over && !node->object) {
        make_node(world, node);
    }
}

/* The pods of a node that is gone are deleted; they are not open any more, or bound
 * elsewhere by then. */
static void collect(struct world *world, void *subject, uint64_t argument)
{
    struct node *node = subject;

    (void)argument;
    for (size_t i = 0; i < world->pod_count && !world->over; i++) {
        struct pod *pod = world->pods[i];
        if (pod->object && strcmp(pod->object->node, node->name) == 0 &&
            pod->object->phase == POD_PENDING) {
            store_put_pod(world, pod, NULL, WRITER_WORLD, "garbage collector");
        }
    }
}

static void delete_node(struct world *world, void *subject, uint64_t argument)
{
    struct node *node = subject;
    uint64_t now = world_now(world);

    (void)argument;
    if (world->over || !node->object || world->calm) {
        return;
    }
    fault_injected(world, FAULT_NODE_RECREATED);
    fault_touch_node(world, FAULT_NODE_RECREATED, node);
    store_put_node(world, node, NULL, WRITER_WORLD, "deleter");
    collect(world, node, 0);
    now += engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 3 * SECOND);
    engine_add(&world->engine, now, -1, remake_node, node, 0);
    /* Bindings may have landed on it meanwhile. */
    engine_add(&world->engine, now, -1, collect, node, 0);
}

static void heartbeat(struct world *world, struct node *node)
{
    if (node->object) {
        store_put_node(world, node, object_copy(node->object), WRITER_WORLD, "heartbeat");
    }
}

/* Each key alone, or all of them. */
static unsigned draw_keys(struct world *world)
{
    uint32_t keys = world->plan.keys;
    uint64_t one = keys > 1 ? engine_below(&world->engine, RANDOM_WORK, keys + 1) : 0;

    return one < keys ? 1u << one : (1u << keys) - 1;
}

static void burst(struct world *world, struct node *node)
{
    uint64_t count = 1 + world->plan.burst / 2 +
                     engine_below(&world->engine, RANDOM_WORK, world->plan.burst / 2 + 1);

    for (uint64_t i = 0; i < count; i++) {
        struct pod *pod = store_new_pod(world);
        pod->node = node;
        pod->keys = draw_keys(world);
        asks_draw(world, pod);
        pod->foreign =
            world->plan.foreign && engine_chance(&world->engine, RANDOM_WORK, 150000);
        make_pod(world, pod);
        doom(world, pod);
    }
    if (fault_happens(world, FAULT_NODE_RECREATED)) {
        engine_add(&world->engine,
                   world_now(world) +
                       engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 6 * SECOND),
                   -1, delete_node, node, 0);
    }
}

void workload_probe(struct world *world, struct node *node)
{
    struct pod *pod = store_new_pod(world);

    pod->node = node;
    pod->keys = (1u << world->plan.keys) - 1;
    asks_draw(world, pod);
    pod->alone = true; /* so that each permit has to be free for it */
    make_pod(world, pod);
}

/* ---- replicas ---- */

static void revive(struct world *world, void *subject, uint64_t argument)
{
    struct replica *replica = subject;

    (void)argument;
    if (!world->over && !replica->lock) {
        replica_start(world, replica->index);
    }
}

static void crash(struct world *world, struct replica *replica)
{
    fault_injected(world, FAULT_CRASH);
    fault_touch_replica(world, FAULT_CRASH, replica->index);
    replica_kill(world, replica->index);
    engine_add(&world->engine,
               world_now(world) +
                   engine_span(&world->engine, RANDOM_FAULTS, 1 * MS, 4 * SECOND),
               -1, revive, replica, 0);
}

static void trouble(struct world *world, struct replica *replica)
{
    struct engine *engine = &world->engine;
    uint64_t now = world_now(world);

    if (fault_happens(world, FAULT_PAUSE)) {
        fault_injected(world, FAULT_PAUSE);
        fault_touch_replica(world, FAULT_PAUSE, replica->index);
        replica->paused_until_ns =
            now + engine_span(engine, RANDOM_FAULTS, 200 * MS, 25 * SECOND);
        trace_line(world, NULL, "%s stands still", replica->who);
    }
    if (fault_happens(world, FAULT_PARTITION)) {
        fault_injected(world, FAULT_PARTITION);
        fault_touch_replica(world, FAULT_PARTITION, replica->index);
        replica->partitioned_until_ns =
            now + engine_span(engine, RANDOM_FAULTS, 300 * MS, 12 * SECOND);
        stream_cut(world, replica->index);
        trace_line(world, NULL, "%s is cut off", replica->who);
    }
    if (fault_happens(world, FAULT_CLOCK)) {
        fault_injected(world, FAULT_CLOCK);
        fault_touch_replica(world, FAULT_CLOCK, replica->index);
        replica->clock_offset_s =
            (int64_t)engine_below(engine, RANDOM_FAULTS, 7200) - 3600;
    }
    if (fault_happens(world, FAULT_WATCH_CUT)) {
        fault_injected(world, FAULT_WATCH_CUT);
        fault_touch_replica(world, FAULT_WATCH_CUT, replica->index);
        stream_cut(world, replica->index);
    }
    if (fault_happens(world, FAULT_CRASH)) {
        crash(world, replica);
    }
}

static void tick(struct world *world, void *subject, uint64_t argument)
{
    (void)subject;
    (void)argument;
    if (world->over) {
        return;
    }
    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        if (replica_is_awake(world, (int)i)) {
            trouble(world, &world->replicas[i]);
        }
    }
    for (unsigned i = 0; i < BURSTS_A_TICK; i++) {
        struct node *node =
            &world->nodes[engine_below(&world->engine, RANDOM_WORK, world->plan.nodes)];
        if (engine_below(&world->engine, RANDOM_WORK, 10) == 0) {
            heartbeat(world, node);
        }
        vandal_visit(world, node);
        marks_visit(world, node);
        bool more = world->result.acquires + world->pods_open < world->plan.acquires;
        if (more && node->pods_open < 3 && node->object) {
            burst(world, node);
        }
    }
    engine_add(&world->engine, world_now(world) + TICK, -1, tick, NULL, 0);
}

void workload_start(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.nodes; i++) {
        kubelet_start(world, &world->nodes[i]);
        make_node(world, &world->nodes[i]);
    }
    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        replica_start(world, (int)i);
    }
    tick(world, NULL, 0);
}
