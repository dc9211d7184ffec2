/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. */
#include "store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checker.h"
#include "listing.h"
#include "stream.h"
#include "trace.h"
#include "workload.h"

static void name_slots(struct world *world)
{
    static const char *const locks[KEYS_MAX] = {KEY_LOCK, KEY_OTHER_LOCK};
    static const char *const leases[KEYS_MAX] = {KEY_LEASE, KEY_OTHER_LEASE};

    for (uint32_t key = 0; key < world->plan.keys; key++) {
        uint32_t permits = world->plan.beside ? 1 + BESIDE_MAX : world->plan.permits;
        for (uint32_t permit = 0; permit < permits; permit++) {
            struct slot *slot = &world->slots[world->slot_count++];
            char number[4] = "";
            if (permit > 0) {
                (void)snprintf(number, sizeof(number), ".%u", permit % 10);
            }
            slot->key = key;
            (void)snprintf(slot->lock, sizeof(slot->lock), "%s%s", locks[key], number);
            (void)snprintf(slot->lease, sizeof(slot->lease), "%s%s", leases[key], number);
        }
    }
}

const struct slot *store_slot(const struct world *world, const char *key)
{
    for (size_t i = 0; i < world->slot_count; i++) {
        if (strcmp(world->slots[i].lock, key) == 0 ||
            strcmp(world->slots[i].lease, key) == 0) {
            return &world->slots[i];
        }
    }
    return NULL;
}

void store_start(struct world *world)
{
    name_slots(world);
    world->nodes = calloc(world->plan.nodes, sizeof(*world->nodes));
    world->history = calloc(HISTORY_SIZE, sizeof(*world->history));
    world->version = 1000 + engine_below(&world->engine, RANDOM_WORK, 1000000);
    for (uint32_t i = 0; i < world->plan.nodes; i++) {
        struct node *node = &world->nodes[i];
        node->index = i;
        (void)snprintf(node->name, sizeof(node->name), "node-%u", i);
    }
}

void store_done(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.nodes; i++) {
        object_unref(world->nodes[i].object);
    }
    for (size_t i = 0; i < world->pod_count; i++) {
        object_unref(world->pods[i]->object);
        free(world->pods[i]);
    }
    for (size_t i = 0; i < HISTORY_SIZE; i++) {
        object_unref(world->history[i].object);
    }
    listing_done(world);
    free(world->history);
    free(world->nodes);
    free(world->pods);
}

static bool read_index(const char *name, const char *kind, unsigned long *ret)
{
    size_t length = strlen(kind);
    char *end;

    if (!name || strncmp(name, kind, length) != 0) {
        return false;
    }
    *ret = strtoul(name + length, &end, 10);
    return end != name + length && *end == '\0';
}

struct node *store_node(struct world *world, const char *name)
{
    unsigned long index;

    return read_index(name, "node-", &index) && index < world->plan.nodes
               ? &world->nodes[index]
               : NULL;
}

struct pod *store_pod(struct world *world, const char *name)
{
    unsigned long index;

    return read_index(name, "pod-", &index) && index < world->pod_count
               ? world->pods[index]
               : NULL;
}

struct pod *store_named(struct world *world, const char *lock)
{
    const char *name = lock ? strrchr(lock, ',') : NULL;

    return name ? store_pod(world, name + 1) : NULL;
}

struct pod *store_new_pod(struct world *world)
{
    struct pod *pod = calloc(1, sizeof(*pod));

    if (world->pod_count == world->pod_capacity) {
        world->pod_capacity = world->pod_capacity ? 2 * world->pod_capacity : 1024;
        world->pods = realloc(world->pods, world->pod_capacity * sizeof(*world->pods));
    }
    if (!pod || !world->pods) {
        abort();
    }
    pod->index = (uint32_t)world->pod_count;
    (void)snprintf(pod->name, sizeof(pod->name), "pod-%u", pod->index);
    world->pods[world->pod_count++] = pod;
    return pod;
}

void store_uid(struct world *world, const char *kind, char *buffer, size_t size)
{
    (void)snprintf(buffer, size, "%s-uid-%u", kind, ++world->uid_count);
}

/* ---- changes ---- */

/* What a scheduler's watch of pods selects. */
static bool is_selected(const struct object *object)
{
    return object && (!object->is_pod || object->phase == POD_PENDING);
}

static void remember(struct world *world, struct object *before, struct object *after)
{
    struct change *change = &world->history[world->history_end++ % HISTORY_SIZE];

    object_unref(change->object);
    *change = (struct change){world->version, NULL, after == NULL, is_selected(before),
                              is_selected(after)};
    if (after) {
        change->object = object_ref(after);
    } else {
        /* A deletion is told with the last state, under a version of its own. */
        change->object = object_copy(before);
        change->object->version = world->version;
    }
    stream_changed(world, after ? after->is_pod : before->is_pod);
}

void store_put_node(struct world *world, struct node *node, struct object *next,
                    enum writer writer, const char *who)
{
    struct object *before = node->object;

    world->version++;
    if (next) {
        next->version = world->version;
    }
    trace_node(world, node, before, next, who);
    checker_node(world, node, before, next, writer);
    node->object = next;
    remember(world, before, next);
    object_unref(before);
}

void store_put_pod(struct world *world, struct pod *pod, struct object *next,
                   enum writer writer, const char *who)
{
    struct object *before = pod->object;

    world->version++;
    if (next) {
        next->version = world->version;
    }
    trace_pod(world, pod, before, next, who);
    checker_pod(world, pod, before, next, writer);
    pod->object = next;
    remember(world, before, next);
    workload_pod(world, pod, before);
    object_unref(before);
}
