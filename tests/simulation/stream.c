/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See stream.h. A stream that has ended stays in the list until its events have come; it
 * is freed by the sweep after them.
 */
#include "stream.h"

#include <stdlib.h>

static uint64_t pace(struct stream *stream)
{
    struct world *world = stream->world;
    /* Each kind of each replica at its own: news of pods and nodes overtake each other.
     */
    uint64_t at =
        world_now(world) + engine_span(&world->engine, RANDOM_NETWORK, 1 * MS, 12 * MS);

    if (!world->calm && engine_chance(&world->engine, RANDOM_NETWORK, 3000)) {
        at += engine_span(&world->engine, RANDOM_NETWORK, 50 * MS, 3 * SECOND);
    }
    stream->last_ns = at > stream->last_ns ? at : stream->last_ns;
    return stream->last_ns;
}

static void free_list(struct stream *stream)
{
    for (size_t i = 0; i < stream->list_count; i++) {
        object_unref(stream->list[i]);
    }
    free(stream->list);
    stream->list = NULL;
    stream->list_count = 0;
}

static void sweep(struct world *world)
{
    for (struct stream **link = &world->streams; *link;) {
        struct stream *stream = *link;
        if (stream->ended && stream->pending == 0) {
            *link = stream->next;
            free_list(stream);
            free(stream);
        } else {
            link = &stream->next;
        }
    }
}

static void end(struct stream *stream, enum stream_news news)
{
    stream->ended = true;
    stream->tell(stream->data, news, NULL, 0);
}

/* ---- events ---- */

static void tell_change(struct stream *stream)
{
    struct world *world = stream->world;

    /* What was told with the list is not told again. */
    while (stream->cursor < world->history_end) {
        if (world->history_end - stream->cursor > HISTORY_SIZE) {
            end(stream, STREAM_EXPIRED);
            return;
        }
        struct change *change = &world->history[stream->cursor++ % HISTORY_SIZE];
        if (change->object->is_pod != stream->pods) {
            continue;
        }
        if (change->is_selected) {
            stream->tell(stream->data, STREAM_CHANGED, change->object, change->version);
        } else if (change->was_selected) {
            stream->tell(stream->data, STREAM_GONE, change->object, change->version);
        }
        return;
    }
}

static void change_due(struct world *world, void *subject, uint64_t argument)
{
    struct stream *stream = subject;

    (void)argument;
    stream->pending--;
    if (!stream->ended && !stream->listing) {
        tell_change(stream);
    }
    sweep(world);
}

static void list_due(struct world *world, void *subject, uint64_t argument)
{
    struct stream *stream = subject;

    (void)argument;
    stream->pending--;
    stream->listing = false;
    /* It breaks off after part of it, which may be all of it but its end. */
    bool breaks = fault_happens(world, FAULT_MID_LIST);
    size_t told = breaks ? (size_t)engine_below(&world->engine, RANDOM_FAULTS,
                                                stream->list_count + 1)
                         : stream->list_count;
    if (!stream->ended) {
        stream->tell(stream->data, STREAM_OPENED, NULL, 0);
    }
    for (size_t i = 0; i < told && !stream->ended; i++) {
        stream->tell(stream->data, STREAM_CHANGED, stream->list[i],
                     stream->list[i]->version);
    }
    if (breaks && !stream->ended) {
        bool gone = engine_below(&world->engine, RANDOM_FAULTS, 2) == 0;
        fault_injected(world, FAULT_MID_LIST);
        fault_touch_replica(world, FAULT_MID_LIST, stream->replica);
        end(stream, gone ? STREAM_EXPIRED : STREAM_BROKEN);
    }
    if (!stream->ended) {
        stream->tell(stream->data, STREAM_LISTED, NULL, stream->list_version);
    }
    free_list(stream);
    /* What changed while the list was under way comes after it. */
    uint64_t behind = 0;
    for (uint64_t i = stream->cursor; i < world->history_end; i++) {
        behind += world->history[i % HISTORY_SIZE].object->is_pod == stream->pods;
    }
    for (; behind > 0 && !stream->ended; behind--) {
        stream->pending++;
        engine_add(&world->engine, pace(stream), stream->replica, change_due, stream, 0);
    }
    sweep(world);
}

static void open_due(struct world *world, void *subject, uint64_t version)
{
    struct stream *stream = subject;

    stream->pending--;
    if (stream->ended) {
        sweep(world);
        return;
    }
    bool gone = fault_happens(world, FAULT_GONE);
    uint64_t first =
        world->history_end > HISTORY_SIZE ? world->history_end - HISTORY_SIZE : 0;
    if (gone || (first > 0 && world->history[first % HISTORY_SIZE].version > version)) {
        if (gone) {
            fault_injected(world, FAULT_GONE);
        }
        fault_touch_replica(world, FAULT_GONE, stream->replica);
        end(stream, STREAM_EXPIRED);
        sweep(world);
        return;
    }
    stream->tell(stream->data, STREAM_OPENED, NULL, 0);
    stream->cursor = world->history_end;
    while (stream->cursor > first &&
           world->history[(stream->cursor - 1) % HISTORY_SIZE].version > version) {
        stream->cursor--;
    }
    for (uint64_t i = stream->cursor; i < world->history_end && !stream->ended; i++) {
        if (world->history[i % HISTORY_SIZE].object->is_pod == stream->pods) {
            stream->pending++;
            engine_add(&world->engine, pace(stream), stream->replica, change_due, stream,
                       0);
        }
    }
    sweep(world);
}

static void refuse_due(struct world *world, void *subject, uint64_t argument)
{
    struct stream *stream = subject;

    (void)argument;
    stream->pending--;
    if (!stream->ended) {
        end(stream, STREAM_REFUSED);
    }
    sweep(world);
}

/* ---- opening ---- */

static void take_list(struct stream *stream)
{
    struct world *world = stream->world;
    size_t most = stream->pods ? world->pod_count : world->plan.nodes;

    stream->list = calloc(most + 1, sizeof(*stream->list));
    for (size_t i = 0; i < most; i++) {
        struct object *object =
            stream->pods ? world->pods[i]->object : world->nodes[i].object;
        if (object && (!stream->pods || object->phase == POD_PENDING)) {
            stream->list[stream->list_count++] = object_ref(object);
        }
    }
    stream->list_version = world->version;
    stream->cursor = world->history_end;
}

struct stream *stream_open(struct world *world, int replica, bool pods, uint64_t version,
                           stream_fn tell, void *data)
{
    struct stream *stream = calloc(1, sizeof(*stream));

    if (!stream) {
        abort();
    }
    stream->world = world;
    stream->replica = replica;
    stream->pods = pods;
    stream->tell = tell;
    stream->data = data;
    stream->next = world->streams;
    world->streams = stream;
    stream->pending = 1;
    if (version != 0) {
        /* Until it is open nothing is told by it: see open_due(). */
        stream->cursor = UINT64_MAX;
        engine_add(&world->engine, pace(stream), replica, open_due, stream, version);
        return stream;
    }
    stream->listing = true;
    if (world->replicas[replica].pages) {
        engine_add(&world->engine, pace(stream), replica, refuse_due, stream, 0);
        return stream;
    }
    take_list(stream);
    if (fault_happens(world, FAULT_STALE_LIST)) {
        fault_injected(world, FAULT_STALE_LIST);
        fault_touch_replica(world, FAULT_STALE_LIST, replica);
        stream->last_ns = world_now(world) + engine_span(&world->engine, RANDOM_FAULTS,
                                                         500 * MS, 6 * SECOND);
    }
    engine_add(&world->engine, pace(stream), replica, list_due, stream, 0);
    return stream;
}

void stream_close(struct stream *stream)
{
    stream->ended = true;
}

void stream_changed(struct world *world, bool of_pod)
{
    for (struct stream *stream = world->streams; stream; stream = stream->next) {
        if (stream->pods == of_pod && !stream->ended && !stream->listing &&
            stream->cursor != UINT64_MAX) {
            stream->pending++;
            engine_add(&world->engine, pace(stream), stream->replica, change_due, stream,
                       0);
        }
    }
}

void stream_cut(struct world *world, int replica)
{
    for (struct stream *stream = world->streams; stream; stream = stream->next) {
        if (stream->replica == replica && !stream->ended) {
            end(stream, STREAM_BROKEN);
        }
    }
}

void stream_done(struct world *world)
{
    for (struct stream *stream = world->streams; stream; stream = stream->next) {
        stream->ended = true;
    }
    sweep(world);
}
