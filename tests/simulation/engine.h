/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual time: a heap of events, and the streams of random numbers that everything in a
 * world is drawn from. Two events of one moment run in the order in which they were made.
 * One thread, no waiting.
 */
#ifndef TESTS_SIMULATION_ENGINE_H
#define TESTS_SIMULATION_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)
#define NEVER UINT64_MAX

struct world;

typedef void (*event_fn)(struct world *world, void *subject, uint64_t argument);

struct event {
    uint64_t at_ns, order;
    int party; /* replica that has to be awake for it; -1 = none */
    event_fn run;
    void *subject;
    uint64_t argument;
};

/* What is drawn from which stream: a kind of fault can be left out, and the rest of the
 * story stays close to what it was. */
enum random_stream { RANDOM_WORK = 0, RANDOM_NETWORK, RANDOM_FAULTS, RANDOM_COUNT };

struct engine {
    struct event *heap;
    size_t count, capacity;
    uint64_t now_ns, order;
    uint64_t random[RANDOM_COUNT];
};

void engine_start(struct engine *engine, uint64_t seed);
void engine_done(struct engine *engine);

void engine_add(struct engine *engine, uint64_t at_ns, int party, event_fn run,
                void *subject, uint64_t argument);

/* Puts an event back for a later moment; among those of that moment it keeps its place.
 */
void engine_put_off(struct engine *engine, const struct event *event, uint64_t at_ns);

/* When the next event is; NEVER if there is none. */
uint64_t engine_next(const struct engine *engine);
bool engine_take(struct engine *engine, struct event *ret);

uint64_t engine_random(struct engine *engine, enum random_stream stream);
/* 0 to bound - 1. */
uint64_t engine_below(struct engine *engine, enum random_stream stream, uint64_t bound);
/* True in so many of a million cases. */
bool engine_chance(struct engine *engine, enum random_stream stream, uint64_t millionths);
/* From least to most, the small ones more often. */
uint64_t engine_span(struct engine *engine, enum random_stream stream, uint64_t least,
                     uint64_t most);

#endif
