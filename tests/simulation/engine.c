/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See engine.h. A binary heap by (moment, order); splitmix64 for the numbers. */
#include "engine.h"

#include <stdlib.h>

void engine_start(struct engine *engine, uint64_t seed)
{
    *engine = (struct engine){.now_ns = 1000 * SECOND};
    for (size_t i = 0; i < RANDOM_COUNT; i++) {
        engine->random[i] =
            seed * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xd1342543de82ef95);
    }
}

void engine_done(struct engine *engine)
{
    free(engine->heap);
    engine->heap = NULL;
    engine->count = engine->capacity = 0;
}

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void insert(struct engine *engine, const struct event *event)
{
    if (engine->count == engine->capacity) {
        engine->capacity = engine->capacity ? 2 * engine->capacity : 1024;
        engine->heap = realloc(engine->heap, engine->capacity * sizeof(*engine->heap));
        if (!engine->heap) {
            abort();
        }
    }
    size_t at = engine->count++;
    while (at > 0 && is_before(event, &engine->heap[(at - 1) / 2])) {
        engine->heap[at] = engine->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    engine->heap[at] = *event;
}

void engine_add(struct engine *engine, uint64_t at_ns, int party, event_fn run,
                void *subject, uint64_t argument)
{
    struct event event = {at_ns > engine->now_ns ? at_ns : engine->now_ns,
                          engine->order++,
                          party,
                          run,
                          subject,
                          argument};

    insert(engine, &event);
}

void engine_put_off(struct engine *engine, const struct event *event, uint64_t at_ns)
{
    struct event later = *event;

    later.at_ns = at_ns;
    insert(engine, &later);
}

uint64_t engine_next(const struct engine *engine)
{
    return engine->count ? engine->heap[0].at_ns : NEVER;
}

bool engine_take(struct engine *engine, struct event *ret)
{
    if (engine->count == 0) {
        return false;
    }
    *ret = engine->heap[0];
    struct event last = engine->heap[--engine->count];
    size_t at = 0;
    for (size_t child = 1; child < engine->count; child = 2 * at + 1) {
        if (child + 1 < engine->count &&
            is_before(&engine->heap[child + 1], &engine->heap[child])) {
            child++;
        }
        if (!is_before(&engine->heap[child], &last)) {
            break;
        }
        engine->heap[at] = engine->heap[child];
        at = child;
    }
    if (engine->count > 0) {
        engine->heap[at] = last;
    }
    if (ret->at_ns > engine->now_ns) {
        engine->now_ns = ret->at_ns;
    }
    return true;
}

uint64_t engine_random(struct engine *engine, enum random_stream stream)
{
    uint64_t value = engine->random[stream] += UINT64_C(0x9e3779b97f4a7c15);

    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

uint64_t engine_below(struct engine *engine, enum random_stream stream, uint64_t bound)
{
    return bound ? engine_random(engine, stream) % bound : 0;
}

bool engine_chance(struct engine *engine, enum random_stream stream, uint64_t millionths)
{
    return engine_below(engine, stream, 1000000) < millionths;
}

uint64_t engine_span(struct engine *engine, enum random_stream stream, uint64_t least,
                     uint64_t most)
{
    uint64_t range = most - least;
    uint64_t a = engine_below(engine, stream, range + 1);
    uint64_t b = engine_below(engine, stream, range + 1);

    return least + (a < b ? a : b);
}
