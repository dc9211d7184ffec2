/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See told.h. */
#include "told.h"

#include <check.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

struct world *world;
struct acquire waits[TOLD_PODS];

void told_start(struct plan plan, size_t pods)
{
    world = calloc(1, sizeof(*world));
    world->plan = plan;
    engine_start(&world->engine, 1);
    store_start(world);
    checker_start(world);
    memset(waits, 0, sizeof(waits));
    for (size_t i = 0; i < pods; i++) {
        struct pod *pod = store_new_pod(world);
        pod->keys = 1;
        waits[i] = (struct acquire){.world = world, .pod = pod, .keys = 1};
        (void)snprintf(waits[i].uid, sizeof(waits[i].uid), "uid-%zu", i);
    }
}

void told_finish(void)
{
    checker_done(world);
    store_done(world);
    engine_done(&world->engine);
    free(world);
}

void told_node(struct object *next, enum writer writer)
{
    struct node *node = &world->nodes[0];
    struct object *before = node->object;

    next->version = ++world->version;
    checker_node(world, node, before, next, writer);
    node->object = next;
    object_unref(before);
}

void told_set_pair(struct object *next, size_t slot, size_t pod, uint64_t fence,
                   const char *calls)
{
    char lock[80], lease[400];

    (void)snprintf(lock, sizeof(lock), "2026-01-02T03:04:%02uZ," NAMESPACE ",pod-%zu",
                   (unsigned)(fence % 60), pod);
    int length = snprintf(lease, sizeof(lease),
                          "{\"version\":1,\"lock\":\"%s\",\"uid\":\"uid-%zu\",\"fence\":"
                          "\"%" PRIu64 "\",\"holder\":\"x_1\",\"attempt\":\"1\"",
                          lock, pod, fence);
    (void)snprintf(lease + length, sizeof(lease) - (size_t)length, "%s%s%s}",
                   calls ? ",\"calls\":\"" : "", calls ? calls : "", calls ? "\"" : "");
    object_set(next, world->slots[slot].lock, lock);
    object_set(next, world->slots[slot].lease, fence ? lease : NULL);
}

void told_pod(size_t index, struct object *next, enum writer writer)
{
    struct pod *pod = world->pods[index];
    struct object *before = pod->object;

    if (next) {
        next->version = ++world->version;
    }
    checker_pod(world, pod, before, next, writer);
    pod->object = next;
    object_unref(before);
}

void told_make_pod(size_t index)
{
    struct object *object = object_new(true, world->pods[index]->name, waits[index].uid);

    object_set(object, KEY_DEVICES, "GPU-1,NVIDIA,1000,10:;");
    told_pod(index, object, WRITER_WORLD);
}

void told_bind_pod(size_t index, enum writer writer)
{
    struct object *next = object_copy(world->pods[index]->object);

    (void)snprintf(next->node, sizeof(next->node), "node-0");
    told_pod(index, next, writer);
}

void told_serve_pod(size_t index)
{
    struct object *next = object_copy(world->pods[index]->object);

    object_set(next, KEY_PHASE, "success");
    object_set(next, KEY_DEVICES, ";");
    told_pod(index, next, WRITER_NODE_SIDE);
}

void told_wait(size_t index, uint64_t place, int32_t priority)
{
    struct node *node = &world->nodes[0];
    struct acquire *one = &waits[index], *last = node->last[0];

    one->node = one->pod->node = node;
    one->place = place;
    one->place_sure = true;
    one->priority = priority;
    one->since_ns = world_now(world) + index;
    one->pod->sent_ns[0] = world_now(world) + SECOND;
    one->previous = last;
    *(last ? &last->next : &node->first[0]) = one;
    node->last[0] = one;
}

void told_assert_clean(void)
{
    ck_assert_msg(world->result.first_step == 0, "%s", world->result.first);
}
