/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See plain_watch.h. Each of the two watches goes on from its last version after a break,
 * and lists again after a 410. Old news is sometimes told again: the manager must not
 * mind.
 */
#include "plain_watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "store.h"
#include "stream.h"

struct half {
    struct plain_watch *watch;
    bool pods;
    struct stream *stream; /* NULL = a pause */
    uint64_t version;
    bool synced;
    size_t count;
    struct {
        struct object *object;
        bool listed;
    } * known; /* by index */
};

struct plain_watch {
    struct world *world;
    int replica;
    unsigned references; /* one an open pause */
    bool freed;
    hami_nodelock *lock; /* NULL = nobody is told */
    struct half halves[2];
    struct object *old[2]; /* told again some time */
};

static void open_half(struct half *half);

static void unref(struct plain_watch *watch)
{
    if (--watch->references > 0) {
        return;
    }
    for (size_t i = 0; i < 2; i++) {
        for (size_t j = 0; j < watch->halves[i].count; j++) {
            object_unref(watch->halves[i].known[j].object);
        }
        free(watch->halves[i].known);
        object_unref(watch->old[i]);
    }
    free(watch);
}

static void know(struct half *half, size_t index, struct object *object)
{
    if (index >= half->count) {
        size_t count = 2 * index + 64;
        half->known = realloc(half->known, count * sizeof(*half->known));
        memset(half->known + half->count, 0,
               (count - half->count) * sizeof(*half->known));
        half->count = count;
    }
    object_unref(half->known[index].object);
    half->known[index].object = object_ref(object);
    half->known[index].listed = true;
}

/* ---- telling ---- */

static void tell_node(struct plain_watch *watch, const char *name,
                      const struct object *object)
{
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct hami_annotation annotations[OBJECT_ANNOTATIONS_MAX];
    char version[24];

    if (!watch->lock) {
        return;
    }
    if (!object) {
        (void)hami_nodelock_forget(watch->lock, name);
        return;
    }
    for (size_t i = 0; i < object->annotation_count; i++) {
        annotations[i] = (struct hami_annotation){object->annotations[i].key,
                                                  object->annotations[i].value};
    }
    (void)snprintf(version, sizeof(version), "%" PRIu64, object->version);
    record.version = version;
    record.annotations = annotations;
    record.annotation_count = object->annotation_count;
    (void)hami_nodelock_observe(watch->lock, name, &record);
}

static void tell_pod(struct plain_watch *watch, const struct object *object, bool gone)
{
    struct hami_owner_facts facts;
    struct hami_owner owner = {NAMESPACE, object->name, object->uid};
    char version[24];

    /* Each piece of news about a pod is looked up in all nodes: with many of them, only
     * what the Kubernetes transport tells is told. */
    if (!watch->lock || (!gone && !object->deleting && watch->world->plan.nodes > 64)) {
        return;
    }
    backend_facts(object, HAMI_FACTS_WATCH, version, sizeof(version), &facts);
    if (gone && !object->node[0]) {
        facts = (struct hami_owner_facts)HAMI_OWNER_FACTS_INIT;
    }
    (void)hami_nodelock_observe_owner(watch->lock, &owner, &facts);
}

static void tell_again(struct half *half, struct object *object)
{
    struct plain_watch *watch = half->watch;
    struct engine *engine = &watch->world->engine;

    if (engine_chance(engine, RANDOM_NETWORK, 10000) && watch->old[half->pods]) {
        struct object *old = watch->old[half->pods];
        if (half->pods) {
            tell_pod(watch, old, false);
        } else {
            tell_node(watch, old->name, old);
        }
    }
    if (engine_chance(engine, RANDOM_NETWORK, 20000)) {
        object_unref(watch->old[half->pods]);
        watch->old[half->pods] = object_ref(object);
    }
}

static size_t index_of(struct half *half, const struct object *object)
{
    struct world *world = half->watch->world;

    return half->pods ? store_pod(world, object->name)->index
                      : store_node(world, object->name)->index;
}

static void forget_unlisted(struct half *half)
{
    for (size_t i = 0; i < half->count; i++) {
        struct object *object = half->known[i].object;
        if (!object || half->known[i].listed) {
            continue;
        }
        half->known[i].object = NULL;
        if (half->pods) {
            tell_pod(half->watch, object, true);
        } else {
            tell_node(half->watch, object->name, NULL);
        }
        object_unref(object);
    }
}

/* ---- streams ---- */

static void pause_over(struct world *world, void *subject, uint64_t argument)
{
    struct half *half = subject;
    struct plain_watch *watch = half->watch;

    (void)world;
    (void)argument;
    if (watch->lock && !half->stream) {
        open_half(half);
    }
    unref(watch);
}

static void pause_half(struct half *half)
{
    struct world *world = half->watch->world;

    half->stream = NULL;
    half->watch->references++;
    engine_add(&world->engine,
               world_now(world) +
                   engine_span(&world->engine, RANDOM_NETWORK, 5 * MS, 800 * MS),
               half->watch->replica, pause_over, half, 0);
}

static void came(void *data, enum stream_news news, struct object *object,
                 uint64_t version)
{
    struct half *half = data;
    struct plain_watch *watch = half->watch;

    switch (news) {
    case STREAM_OPENED:
        for (size_t i = 0; half->version == 0 && i < half->count; i++) {
            half->known[i].listed = false;
        }
        return;
    case STREAM_CHANGED:
        know(half, index_of(half, object), object);
        tell_again(half, object);
        if (half->pods) {
            tell_pod(watch, object, false);
        } else {
            tell_node(watch, object->name, object);
        }
        break;
    case STREAM_GONE:
        know(half, index_of(half, object), NULL);
        if (half->pods) {
            tell_pod(watch, object, true);
        } else {
            tell_node(watch, object->name, NULL);
        }
        break;
    case STREAM_LISTED:
        forget_unlisted(half);
        half->synced = true;
        half->version = version;
        return;
    case STREAM_EXPIRED:
        half->version = 0;
        half->synced = false;
        pause_half(half);
        return;
    case STREAM_REFUSED:
    case STREAM_BROKEN:
        pause_half(half);
        return;
    }
    if (half->synced) {
        half->version = version;
    }
}

static void open_half(struct half *half)
{
    half->stream = stream_open(half->watch->world, half->watch->replica, half->pods,
                               half->version, came, half);
}

/* ---- life ---- */

struct plain_watch *plain_watch_new(struct world *world, int replica)
{
    struct plain_watch *watch = calloc(1, sizeof(*watch));

    watch->world = world;
    watch->replica = replica;
    watch->references = 1;
    for (size_t i = 0; i < 2; i++) {
        watch->halves[i].watch = watch;
        watch->halves[i].pods = i == 1;
    }
    return watch;
}

void plain_watch_begin(struct plain_watch *watch, hami_nodelock *lock)
{
    watch->lock = lock;
    open_half(&watch->halves[0]);
    open_half(&watch->halves[1]);
}

void plain_watch_end(struct plain_watch *watch)
{
    watch->lock = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (watch->halves[i].stream) {
            stream_close(watch->halves[i].stream);
            watch->halves[i].stream = NULL;
        }
    }
}

void plain_watch_free(struct plain_watch *watch)
{
    plain_watch_end(watch);
    unref(watch);
}

struct object *plain_watch_pod(struct plain_watch *watch, uint32_t index)
{
    struct half *half = &watch->halves[1];

    return half->synced && half->stream && index < half->count ? half->known[index].object
                                                               : NULL;
}
