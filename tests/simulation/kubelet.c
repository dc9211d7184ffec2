/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kubelet.h. One Allocate at a time, of one container, the next one of any pod;
 * plugin.c plays it and reports back. What becomes of the pod then (Running, Succeeded, gone) is played here, too.
 */
#include "kubelet_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"
#include "trace.h"

void kubelet_start(struct world *world, struct node *node)
{
    uint64_t style = engine_below(&world->engine, RANDOM_WORK, 10);

    node->kubelet = calloc(1, sizeof(*node->kubelet));
    node->kubelet->world = world;
    node->kubelet->node = node;
    /* HAMi's plugins know one lock of a node only. */
    bool ours = style < 6 || (world->slot_count > 1 && !world->plan.beside);
    node->style = ours ? PLUGIN_OURS : style < 8 ? PLUGIN_HAMI_210 : PLUGIN_HAMI_27;
}

void kubelet_done(struct node *node)
{
    free(node->kubelet);
    node->kubelet = NULL;
}

bool kubelet_serves_other(const struct node *node, const char *uid)
{
    const struct kubelet *kubelet = node->kubelet;

    return kubelet && kubelet->busy && strcmp(kubelet->served_uid, uid) != 0;
}

bool kubelet_is_idle(const struct node *node)
{
    return node->kubelet && !node->kubelet->busy && node->kubelet->bound_count == 0;
}

/* ---- the books ---- */

bool kubelet_has_booked(const struct pod *pod, unsigned container)
{
    return strcmp(pod->booked_uid, pod->object->uid) == 0 && pod->booked >> container & 1;
}

/* True if that was the pod's last container. */
static bool book(struct pod *pod, unsigned container)
{
    if (strcmp(pod->booked_uid, pod->object->uid) != 0) {
        (void)snprintf(pod->booked_uid, sizeof(pod->booked_uid), "%s", pod->object->uid);
        pod->booked = 0;
    }
    pod->booked |= 1u << container;
    return pod->booked == (1u << pod->call_count) - 1;
}

/* The one whose Allocate is next. */
static unsigned next_container(const struct pod *pod)
{
    unsigned container = 0;

    while (container + 1 < pod->call_count && kubelet_has_booked(pod, container)) {
        container++;
    }
    return container;
}

static bool is_here(const struct kubelet *kubelet, const struct pod *pod)
{
    return pod->object && strcmp(pod->object->node, kubelet->node->name) == 0;
}

/* ---- what comes after Allocate ---- */

static void put_phase(struct world *world, struct pod *pod, enum pod_phase phase)
{
    struct object *next = object_copy(pod->object);

    next->phase = phase;
    store_put_pod(world, pod, next, WRITER_WORLD, "kubelet");
}

static void later(struct kubelet *kubelet, struct pod *pod, event_fn run, uint64_t least,
                  uint64_t most)
{
    struct world *world = kubelet->world;

    engine_add(&world->engine,
               world_now(world) + engine_span(&world->engine, RANDOM_WORK, least, most),
               -1, run, pod, pod->generation);
}

static void end_pod(struct world *world, void *subject, uint64_t generation)
{
    struct pod *pod = subject;

    if (!world->over && pod->generation == generation && pod->object) {
        store_put_pod(world, pod, NULL, WRITER_WORLD, "garbage collector");
    }
}

static void finish_pod(struct world *world, void *subject, uint64_t generation)
{
    struct pod *pod = subject;

    if (world->over || pod->generation != generation || !pod->object) {
        return;
    }
    if (pod->object->phase == POD_RUNNING) {
        put_phase(world, pod, POD_SUCCEEDED);
    }
    engine_add(&world->engine,
               world_now(world) +
                   engine_span(&world->engine, RANDOM_WORK, 100 * MS, 5 * SECOND),
               -1, end_pod, pod, generation);
}

static void run_pod(struct world *world, void *subject, uint64_t generation)
{
    struct pod *pod = subject;

    if (world->over || pod->generation != generation || !pod->object) {
        return;
    }
    if (pod->object->phase == POD_PENDING) {
        put_phase(world, pod, POD_RUNNING);
    }
    uint64_t end =
        world_now(world) + engine_span(&world->engine, RANDOM_WORK, 100 * MS, 8 * SECOND);
    /* Some run for ever: that they run has to be proof enough. The HAMi scheduler beside
     * has no such proof, and would wait for the lock of one for ever. */
    bool stays = engine_chance(&world->engine, RANDOM_WORK, 100000);
    if (!stays || world->plan.foreign) {
        engine_add(&world->engine, end, -1, finish_pod, pod, generation);
    }
}

/* ---- admission ---- */

static void turn(struct world *world, void *subject, uint64_t argument);

static void come_back(struct kubelet *kubelet, uint64_t delay_ns)
{
    engine_add(&kubelet->world->engine, world_now(kubelet->world) + delay_ns, -1, turn,
               kubelet, 0);
}

static void drop(struct kubelet *kubelet, size_t at)
{
    kubelet->bound[at] = kubelet->bound[--kubelet->bound_count];
}

static void forget_gone(struct kubelet *kubelet)
{
    for (size_t i = kubelet->bound_count; i > 0; i--) {
        struct pod *pod = kubelet->bound[i - 1];
        if (!is_here(kubelet, pod) || pod->object->phase != POD_PENDING ||
            strcmp(pod->admitted, pod->object->uid) == 0) {
            drop(kubelet, i - 1);
        }
    }
}

static void turn(struct world *world, void *subject, uint64_t argument)
{
    struct kubelet *kubelet = subject;

    (void)argument;
    if (world->over || kubelet->busy) {
        return;
    }
    forget_gone(kubelet);
    if (kubelet->bound_count == 0) {
        return;
    }
    size_t at = (size_t)engine_below(&world->engine, RANDOM_WORK, kubelet->bound_count);
    struct pod *pod = kubelet->bound[at];
    if (pod->object->deleting) {
        /* Told to delete it before it was admitted. */
        drop(kubelet, at);
        later(kubelet, pod, end_pod, 1 * MS, 2 * SECOND);
        come_back(kubelet, 1 * MS);
        return;
    }
    kubelet->busy = true;
    kubelet->caller = object_ref(pod->object);
    kubelet->pod = pod;
    kubelet->generation = pod->generation;
    kubelet->container = next_container(pod);
    plugin_allocate(kubelet);
}

void kubelet_bound(struct world *world, struct node *node, struct pod *pod)
{
    struct kubelet *kubelet = node->kubelet;
    bool slow = !world->calm && engine_chance(&world->engine, RANDOM_WORK, 10000);

    if (kubelet->bound_count < BOUND_MAX) {
        kubelet->bound[kubelet->bound_count++] = pod;
    }
    come_back(kubelet, engine_span(&world->engine, RANDOM_WORK, 2 * MS,
                                   slow ? 12 * SECOND : 60 * MS));
}

void kubelet_allocated(struct kubelet *kubelet, bool good)
{
    struct world *world = kubelet->world;
    struct pod *pod = kubelet->pod;
    bool same = pod->object && strcmp(pod->object->uid, kubelet->caller->uid) == 0;

    trace_line(world, kubelet->node, "Allocate of %s (%s) on %s: %s", pod->name,
               kubelet->caller->uid, kubelet->node->name, good ? "served" : "refused");
    kubelet->busy = false;
    bool restart = kubelet->node->style == PLUGIN_OURS && good &&
                   fault_happens(world, FAULT_KUBELET);
    if (restart) {
        /* It dies before it has stored the answer, and asks again when it is back. */
        fault_injected(world, FAULT_KUBELET);
        fault_touch_node(world, FAULT_KUBELET, kubelet->node);
        fault_touch(world, FAULT_KUBELET, pod->latest);
        come_back(kubelet,
                  engine_span(&world->engine, RANDOM_FAULTS, 100 * MS, 5 * SECOND));
    } else if (same && good && book(pod, kubelet->container)) {
        (void)snprintf(pod->admitted, sizeof(pod->admitted), "%s", kubelet->caller->uid);
        world->result.served++;
        later(kubelet, pod, run_pod, 1 * MS, 1 * SECOND);
    } else if (same && !good) {
        if (pod->object->phase == POD_PENDING) {
            put_phase(world, pod, POD_FAILED);
        }
        later(kubelet, pod, end_pod, 10 * MS, 3 * SECOND);
    }
    object_unref(kubelet->caller);
    kubelet->caller = NULL;
    come_back(kubelet, 1 * MS);
}
