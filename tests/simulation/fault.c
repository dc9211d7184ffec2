/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See fault.h. */
#include "fault.h"

#include <string.h>

#include "world.h"

static const struct {
    const char *name;
    uint64_t odds;
} kinds[] = {
#define KIND_ENTRY(name, text, odds) {text, odds},
    FAULTS(KIND_ENTRY)
#undef KIND_ENTRY
};

const char *fault_name(enum fault kind)
{
    return kinds[kind].name;
}

enum fault fault_find(const char *name)
{
    enum fault kind = 0;

    while (kind < FAULT_COUNT && strcmp(kinds[kind].name, name) != 0) {
        kind++;
    }
    return kind;
}

bool fault_happens(struct world *world, enum fault kind)
{
    /* Drawn in any case, so that a kind that is left out leaves the others as they are.
     */
    uint64_t odds = kinds[kind].odds * world->plan.fault_percent / 100;
    bool drawn = engine_chance(&world->engine, RANDOM_FAULTS, odds);

    return drawn && !world->calm && (world->plan.faults >> kind & 1);
}

void fault_injected(struct world *world, enum fault kind)
{
    (void)kind;
    world->result.faults++;
}

void fault_touch(struct world *world, enum fault kind, struct acquire *acquire)
{
    if (!acquire || (acquire->met >> kind & 1)) {
        return;
    }
    world->result.touched += acquire->met == 0;
    world->result.touched_by[kind]++;
    acquire->met |= UINT32_C(1) << kind;
}

/* The list is of all acquires that are not over. */
void fault_touch_replica(struct world *world, enum fault kind, int replica)
{
    for (struct acquire *at = world->acquires; at; at = at->all_next) {
        if (at->replica == replica && !at->over) {
            fault_touch(world, kind, at);
        }
    }
}

void fault_touch_node(struct world *world, enum fault kind, struct node *node)
{
    for (struct acquire *at = world->acquires; at; at = at->all_next) {
        if (at->node == node && !at->over) {
            fault_touch(world, kind, at);
        }
    }
}
