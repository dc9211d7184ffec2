/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See vandal.h. A lease is spoilt at any moment, since our second annotation may vanish
 * at any time without harm. A lock value is put only where there is none: to overwrite a
 * lock is to rob its owner, which nobody can prevent. No value shows a fence above those
 * that were granted, for that one would be believed.
 */
#include "vandal.h"

#include <stdio.h>
#include <string.h>

#include "store.h"
#include "trace.h"

/* Empty, broken, of another version, of another lock, and the memory of a fence long
 * ago. NULL = gone. */
static const char *const leases[] = {
    NULL,
    NULL,
    "",
    "{",
    "null",
    "[1,2]",
    "2026-01-02T03:04:05Z",
    "{\"version\":2,\"lock\":\"x\"}",
    "{\"version\":1,\"lock\":\"2026-01-02T03:00:00Z,sim,pod-0\",\"uid\":\"pod-uid-1\","
    "\"fence\":\"5\",\"holder\":\"replica-9_1\",\"attempt\":\"1\",\"hold_ms\":1,"
    "\"free\":\"node\"}",
    "{\"version\":1,\"fence\":\"5\"}",
    "{\"version\":1,\"fence\":5}",
};

/* The first ones name pods that do not exist: a HAMi scheduler beside can get over
 * these. The others nobody can judge but by their age. */
static const char *const locks[] = {
    "2026-01-02T03:00:00Z,sim,gone",
    "2199-01-01T00:00:00Z,sim,gone",
    "2026-01-02T03:00:00Z,other,gone",
    "",
    "2026-01-02T03:00:00Z",
    "true",
    "2026-13-42T99:00:00Z,sim,pod-0,x",
    ",,",
};
#define LOCKS_WITH_A_SCHEDULER_BESIDE 4

static const char *draw(struct world *world, const char *const *choices, size_t count)
{
    return choices[engine_below(&world->engine, RANDOM_FAULTS, count)];
}

static void put(struct world *world, struct node *node, const char *key,
                const char *value, enum fault kind)
{
    struct object *next = object_copy(node->object);

    fault_injected(world, kind);
    fault_touch_node(world, kind, node);
    object_set(next, key, value);
    store_put_node(world, node, next, WRITER_WORLD, "somebody");
}

static void spoil(struct world *world, struct node *node)
{
    const char *value = draw(world, leases, sizeof(leases) / sizeof(leases[0]));
    size_t at = engine_below(&world->engine, RANDOM_FAULTS, world->slot_count);
    const struct slot *slot = &world->slots[at];

    /* Side by side few permits have one. */
    for (size_t i = 1; world->plan.beside && i < world->slot_count &&
                       !object_get(node->object, slot->lease);
         i++) {
        slot = &world->slots[(at + i) % world->slot_count];
    }
    if (object_get(node->object, slot->lease)) {
        put(world, node, slot->lease, value, FAULT_LEASE);
    }
}

static void spoil_due(struct world *world, void *subject, uint64_t argument)
{
    (void)argument;
    if (!world->over) {
        spoil(world, subject);
    }
}

void vandal_granted(struct world *world, struct node *node)
{
    if (fault_happens(world, FAULT_LEASE)) {
        engine_add(&world->engine,
                   world_now(world) +
                       engine_span(&world->engine, RANDOM_FAULTS, 0, 3 * SECOND),
                   -1, spoil_due, node, 0);
    }
}

void vandal_visit(struct world *world, struct node *node)
{
    size_t count = world->plan.foreign ? LOCKS_WITH_A_SCHEDULER_BESIDE
                                       : sizeof(locks) / sizeof(locks[0]);

    if (fault_happens(world, FAULT_LEASE)) {
        spoil(world, node);
    }
    if (fault_happens(world, FAULT_VALUE)) {
        const char *value = draw(world, locks, count);
        const struct slot *slot =
            &world->slots[engine_below(&world->engine, RANDOM_FAULTS, world->slot_count)];
        if (node->object && !object_get(node->object, slot->lock)) {
            put(world, node, slot->lock, value, FAULT_VALUE);
        }
    }
}
