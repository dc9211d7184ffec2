/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h: the way of a request. What the server does with it is in server.c. */
#include "network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"
#include "store.h"

struct request *request_new(struct world *world, enum verb verb, const char *name,
                            request_fn done, void *data)
{
    struct request *request = calloc(1, sizeof(*request));

    if (!request) {
        abort();
    }
    request->world = world;
    request->references = 1;
    request->replica = -1;
    request->verb = verb;
    request->who = "world";
    (void)snprintf(request->name, sizeof(request->name), "%s", name);
    request->done = done;
    request->data = data;
    return request;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

void request_edit(struct request *request, enum hami_edit_action action, const char *key,
                  const char *expect, const char *value)
{
    size_t at = request->edit_count++;

    if (at >= REQUEST_EDITS_MAX) {
        abort();
    }
    request->edits[at].action = action;
    request->edits[at].key = copy(key);
    request->edits[at].expect = copy(expect);
    request->edits[at].value = copy(value);
}

static void unref(struct request *request)
{
    if (--request->references > 0) {
        return;
    }
    for (size_t i = 0; i < request->edit_count; i++) {
        free(request->edits[i].key);
        free(request->edits[i].expect);
        free(request->edits[i].value);
    }
    free(request->text);
    free(request->page);
    object_unref(request->object);
    free(request);
}

static bool is_dead(const struct request *request)
{
    const struct world *world = request->world;

    return request->replica >= 0 &&
           world->replicas[request->replica].incarnation != request->incarnation;
}

/* Whoever it was made for may pause now. */
static void note_refusal(const struct request *request)
{
    struct pod *pod = store_pod(request->world, request->name);

    if (pod) {
        pod->refused = true;
    }
    if (request->acquire) {
        request->acquire->pod->refused = true;
    }
    if (request->taker) {
        request->taker->refused = true;
    }
}

/* Tells the sender, once, if it still lives; its reference goes. */
static void tell(struct request *request, enum outcome outcome)
{
    if (request->told) {
        return;
    }
    request->told = true;
    request->outcome = outcome;
    if (outcome != OUTCOME_ANSWER || request->status >= 300) {
        note_refusal(request);
    }
    if (!is_dead(request)) {
        request->done(request);
    }
    unref(request);
}

void request_forget(struct request *request)
{
    if (!request->told) {
        request->told = true;
        unref(request);
    }
}

void request_cancel(struct request *request)
{
    tell(request, OUTCOME_NO_ANSWER);
}

/* ---- the way ---- */

enum { COPY_FIRST = 0, COPY_SECOND, COPY_UNHEARD };

static void arrived(struct world *world, void *subject, uint64_t copy_kind)
{
    struct request *request = subject;
    struct object *object = NULL;
    char *page = NULL;
    int status = server_apply(request, &object, &page);

    (void)world;
    if (copy_kind == COPY_UNHEARD || request->answered) {
        object_unref(object);
        free(page);
    } else {
        request->answered = true;
        request->resent = copy_kind == COPY_SECOND;
        request->status = status;
        request->object = object;
        request->page = page;
    }
    unref(request);
}

static void heard(struct world *world, void *subject, uint64_t status)
{
    struct request *request = subject;

    (void)world;
    if (status != 0 && !request->answered) {
        request->answered = true;
        request->status = (int)status;
    }
    if (request->answered) {
        tell(request, OUTCOME_ANSWER);
    }
    unref(request);
}

static void unheard(struct world *world, void *subject, uint64_t outcome)
{
    struct request *request = subject;

    (void)world;
    tell(request, (enum outcome)outcome);
    unref(request);
}

static void plan(struct request *request, uint64_t at_ns, event_fn run, uint64_t argument)
{
    bool server = run == arrived;

    request->references++;
    engine_add(&request->world->engine, at_ns, server ? -1 : request->replica, run,
               request, argument);
}

static uint64_t hop(struct world *world)
{
    return engine_span(&world->engine, RANDOM_NETWORK, 300 * US, 6 * MS);
}

static bool hit(struct request *request, enum fault kind)
{
    if (!fault_happens(request->world, kind)) {
        return false;
    }
    fault_injected(request->world, kind);
    fault_touch(request->world, kind, request->acquire);
    return true;
}

static bool is_cut_off(const struct request *request)
{
    const struct world *world = request->world;

    return request->replica >= 0 && !world->calm &&
           world->replicas[request->replica].partitioned_until_ns > world_now(world);
}

/* Lost on the way there; half of the time the sender finds out at once. */
static void lose(struct request *request)
{
    struct world *world = request->world;

    if (engine_below(&world->engine, RANDOM_FAULTS, 2) == 0) {
        uint64_t refused = engine_below(&world->engine, RANDOM_FAULTS, 2);
        plan(request, world_now(world) + hop(world), unheard,
             refused ? OUTCOME_NOT_SENT : OUTCOME_NO_ANSWER);
    }
}

/* The answer never comes; the sender may notice a broken connection. */
static void lose_answer(struct request *request, uint64_t there)
{
    struct world *world = request->world;

    plan(request, there, arrived, COPY_UNHEARD);
    if (engine_below(&world->engine, RANDOM_FAULTS, 2) == 0) {
        /* It may even notice before the request is carried out. */
        plan(request,
             world_now(world) + engine_span(&world->engine, RANDOM_FAULTS, MS, 20 * MS),
             unheard, OUTCOME_NO_ANSWER);
    }
}

static void duplicate(struct request *request, uint64_t there)
{
    struct world *world = request->world;
    uint64_t later =
        there + engine_span(&world->engine, RANDOM_FAULTS, 100 * US, 8 * SECOND);
    bool second = engine_below(&world->engine, RANDOM_FAULTS, 2) == 0;

    plan(request, there, arrived, second ? COPY_UNHEARD : COPY_FIRST);
    plan(request, later, arrived, COPY_SECOND);
    plan(request, (second ? later : there) + hop(world), heard, 0);
}

static void answer_error(struct request *request, uint64_t there)
{
    struct world *world = request->world;

    if (engine_below(&world->engine, RANDOM_FAULTS, 2) == 0) {
        plan(request, there, arrived, COPY_UNHEARD);
    }
    plan(request, there + hop(world), heard, 500);
}

void request_send(struct request *request, uint64_t deadline_ns)
{
    struct world *world = request->world;
    uint64_t there = world_now(world) + hop(world);

    world->result.requests++;
    if (request->taker) {
        request->taker->sent_ns[request->replica] = world_now(world);
    }
    if (request->replica >= 0) {
        request->incarnation = world->replicas[request->replica].incarnation;
    }
    plan(request, deadline_ns, unheard, OUTCOME_NO_ANSWER);
    if (is_cut_off(request)) {
        fault_touch(world, FAULT_PARTITION, request->acquire);
        if (engine_below(&world->engine, RANDOM_FAULTS, 2) == 0) {
            lose(request);
        } else {
            lose_answer(request, there);
        }
    } else if (hit(request, FAULT_DROP_REQUEST)) {
        lose(request);
    } else if (hit(request, FAULT_DROP_ANSWER)) {
        lose_answer(request, there);
    } else if (hit(request, FAULT_DUPLICATE)) {
        duplicate(request, there);
    } else if (hit(request, FAULT_REORDER)) {
        /* Its sender has given up by then, or acted on. */
        uint64_t late = engine_span(&world->engine, RANDOM_FAULTS, SECOND, 25 * SECOND);
        plan(request, there + late, arrived, COPY_UNHEARD);
    } else if (hit(request, FAULT_THROTTLE)) {
        plan(request, there + hop(world), heard, 429);
    } else if (hit(request, FAULT_ERROR)) {
        answer_error(request, there);
    } else {
        if (hit(request, FAULT_DELAY)) {
            uint64_t late =
                engine_span(&world->engine, RANDOM_FAULTS, 50 * MS, 4 * SECOND);
            /* On the way there, or on the way back. */
            there += engine_below(&world->engine, RANDOM_FAULTS, 2) ? late : 0;
            plan(request, there, arrived, COPY_FIRST);
            plan(request, there + hop(world) + late, heard, 0);
            return;
        }
        plan(request, there, arrived, COPY_FIRST);
        plan(request, there + hop(world), heard, 0);
    }
}
