/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See binder.h. An acquire stands in its node's list while it waits, and is over when its
 * lease is handed off, when its release is told, or when it got none.
 */
#include "binder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asks.h"
#include "backend.h"
#include "binding.h"
#include "checker.h"
#include "foreign.h"
#include "replica.h"
#include "store.h"
#include "trace.h"
#include "vandal.h"

/* Above so many kept places, one of them may have been pushed out by others. */
#define KEPT_SURE 100

/* ---- lists ---- */

static void stand(struct acquire *acquire)
{
    struct node *node = acquire->node;
    struct acquire *last = node->last[acquire->replica];

    acquire->previous = last;
    if (last) {
        last->next = acquire;
    } else {
        node->first[acquire->replica] = acquire;
    }
    node->last[acquire->replica] = acquire;
    node->waiting++;
    acquire->waiting = true;
}

static void step_out(struct acquire *acquire)
{
    struct node *node = acquire->node;

    if (!acquire->waiting) {
        return;
    }
    if (acquire->next) {
        acquire->next->previous = acquire->previous;
    } else {
        node->last[acquire->replica] = acquire->previous;
    }
    if (acquire->previous) {
        acquire->previous->next = acquire->next;
    } else {
        node->first[acquire->replica] = acquire->next;
    }
    acquire->next = acquire->previous = NULL;
    node->waiting--;
    acquire->waiting = false;
}

static void list_up(struct world *world, struct acquire *acquire)
{
    acquire->all_next = world->acquires;
    if (acquire->all_next) {
        acquire->all_next->all_previous = acquire;
    }
    world->acquires = acquire;
    acquire->pod->active++;
    acquire->pod->latest = acquire;
}

static void finish(struct acquire *acquire)
{
    struct world *world = acquire->world;

    if (acquire->over) {
        return;
    }
    acquire->over = true;
    step_out(acquire);
    acquire->pod->active--;
    if (acquire->all_next) {
        acquire->all_next->all_previous = acquire->all_previous;
    }
    if (acquire->all_previous) {
        acquire->all_previous->all_next = acquire->all_next;
    } else {
        world->acquires = acquire->all_next;
    }
    acquire->all_next = world->finished;
    acquire->all_previous = NULL;
    world->finished = acquire;
}

/* ---- places ---- */

static size_t kept_lately(const struct replica *replica)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof(replica->kept_ns) / sizeof(replica->kept_ns[0]); i++) {
        count += replica->kept_ns[i] != 0 &&
                 replica->kept_ns[i] + 30 * SECOND > world_now(replica->world);
    }
    return count;
}

static bool holds(const struct acquire *acquire, const struct place *kept)
{
    return kept->place != 0 && kept->generation == acquire->generation &&
           kept->incarnation == acquire->incarnation &&
           kept->node == acquire->node->index &&
           kept->until_ns > world_now(acquire->world);
}

/* The place that the acquire must get: the one that was kept for it, or the next. */
static void take_place(struct acquire *acquire)
{
    struct replica *replica = &acquire->world->replicas[acquire->replica];
    struct place *kept = &acquire->pod->kept[acquire->replica];
    bool returns = holds(acquire, kept);

    acquire->place_sure = !returns || kept_lately(replica) < KEPT_SURE;
    acquire->returned = returns;
    acquire->place = returns ? kept->place : ++replica->places;
    acquire->overtaken = acquire->place_sure && returns ? kept->overtaken : 0;
    acquire->rivals = returns ? kept->rivals : 0;
    kept->place = 0;
}

static void keep_place(struct acquire *acquire)
{
    struct replica *replica = &acquire->world->replicas[acquire->replica];

    replica->kept_ns[replica->kept_at++ %
                     (sizeof(replica->kept_ns) / sizeof(replica->kept_ns[0]))] =
        world_now(acquire->world);
    if (acquire->generation == acquire->pod->generation) {
        struct place *kept = &acquire->pod->kept[acquire->replica];
        bool older = holds(acquire, kept) && kept->place < acquire->place;
        *kept = (struct place){acquire->generation,
                               replica->incarnation,
                               acquire->node->index,
                               older ? kept->place : acquire->place,
                               world_now(acquire->world) + 30 * SECOND,
                               older ? kept->overtaken : acquire->overtaken,
                               older && kept->rivals > acquire->rivals ? kept->rivals
                                                                       : acquire->rivals};
    }
}

/* ---- the end of a hold ---- */

static void released(void *data, int code, const struct hami_error *error)
{
    struct acquire *acquire = data;

    (void)error;
    trace_line(acquire->world, acquire->node, "%s in replica-%d: release ended %s",
               acquire->pod->name, acquire->replica, hami_errname(code));
    if (!acquire->releasing) {
        checker_violation(acquire->world, &acquire->world->result.callback_violations,
                          acquire->node, "the release of %s ended twice",
                          acquire->pod->name);
        return;
    }
    acquire->releasing = false;
    finish(acquire);
    binder_retry(acquire->world, acquire->pod, 0);
}

static void hand_off(struct acquire *acquire)
{
    hami_lease *lease = acquire->lease;

    acquire->lease = NULL;
    (void)hami_lease_handoff(lease);
    finish(acquire);
    binder_retry(acquire->world, acquire->pod, 0);
}

static void give_back(struct acquire *acquire)
{
    hami_lease *lease = acquire->lease;
    uint64_t deadline = world_now(acquire->world) + 5 * SECOND;

    acquire->lease = NULL;
    acquire->releasing = true;
    if (hami_lease_release_start(lease, deadline, released, acquire) < 0) {
        acquire->releasing = false;
        finish(acquire);
    }
}

void binder_bound(struct acquire *acquire, int code)
{
    struct world *world = acquire->world;
    /* A careless holder gives a doubtful lease back: the revocation before it makes that
     * safe. */
    bool careless = engine_chance(&world->engine, RANDOM_WORK, 300000);
    bool keep = code == 0 || (code == HAMI_E_IN_DOUBT && !careless);

    trace_line(world, acquire->node, "%s in replica-%d: Binding ended %s",
               acquire->pod->name, acquire->replica, hami_errname(code));
    if (world->replicas[acquire->replica].dead || !acquire->lease) {
        return; /* buried with its replica */
    }
    if (world->plan.broken == BROKEN_RELEASE && code == HAMI_E_IN_DOUBT) {
        keep = false;
    }
    if (keep) {
        hand_off(acquire);
    } else {
        give_back(acquire);
    }
}

/* ---- acquires ---- */

static void go_on(struct world *world, void *subject, uint64_t incarnation)
{
    struct acquire *acquire = subject;

    if (world->replicas[acquire->replica].incarnation == incarnation && acquire->lease) {
        binding_start(acquire);
    }
}

static void granted(struct acquire *acquire)
{
    struct world *world = acquire->world;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    world->result.grants++;
    if (hami_lease_facts(acquire->lease, &view) == 0) {
        struct replica *replica = &world->replicas[acquire->replica];
        (void)snprintf(replica->holder, sizeof(replica->holder), "%s", view.holder);
    }
    checker_granted(world, acquire, hami_lease_fence(acquire->lease));
    if (acquire->generation == acquire->pod->generation) {
        acquire->pod->kept[acquire->replica].place = 0; /* it has had its turn */
    }
    step_out(acquire);
    vandal_granted(world, acquire->node);
    if (!fault_happens(world, FAULT_LATE_BINDING)) {
        binding_start(acquire);
        return;
    }
    /* Its thread is stopped before it sends the Binding. */
    fault_injected(world, FAULT_LATE_BINDING);
    fault_touch(world, FAULT_LATE_BINDING, acquire);
    engine_add(&world->engine,
               world_now(world) +
                   engine_span(&world->engine, RANDOM_FAULTS, 100 * MS, 25 * SECOND),
               acquire->replica, go_on, acquire, acquire->incarnation);
}

static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    struct acquire *acquire = data;

    trace_line(acquire->world, acquire->node, "%s in replica-%d: acquire ended %s %s",
               acquire->pod->name, acquire->replica, hami_errname(code), error->text);
    if (acquire->ended || (code == 0) != (lease != NULL)) {
        checker_violation(acquire->world, &acquire->world->result.callback_violations,
                          acquire->node, "the acquire of %s ended twice, or oddly",
                          acquire->pod->name);
        return;
    }
    acquire->ended = true;
    acquire->wait = NULL;
    acquire->lease = lease;
    if (code == 0) {
        granted(acquire);
        return;
    }
    if (code == HAMI_E_TIMEDOUT || code == HAMI_E_CANCELED || code == HAMI_E_LIMIT) {
        keep_place(acquire);
    }
    finish(acquire);
    binder_retry(acquire->world, acquire->pod, 0);
}

static struct acquire *new_acquire(struct world *world, struct pod *pod, int replica)
{
    struct acquire *acquire = calloc(1, sizeof(*acquire));

    acquire->world = world;
    acquire->pod = pod;
    acquire->generation = pod->generation;
    acquire->node = pod->node;
    acquire->keys = pod->keys;
    acquire->call_set = pod->alone ? 0 : pod->call_set;
    acquire->replica = replica;
    acquire->incarnation = world->replicas[replica].incarnation;
    acquire->since_ns = world_now(world);
    acquire->priority = pod->index % 19 == 0 ? 1 : pod->index % 37 == 0 ? -1 : 0;
    acquire->group = pod->index % 8 < 3 ? 1 + pod->index / 64 % 3 : 0;
    (void)snprintf(acquire->uid, sizeof(acquire->uid), "%s", pod->object->uid);
    return acquire;
}

void binder_start(struct world *world, struct pod *pod, int replica)
{
    struct acquire *acquire = new_acquire(world, pod, replica);
    bool patient = engine_chance(&world->engine, RANDOM_WORK, 850000);
    const char *keys[KEYS_MAX];
    char group[16], calls[200];
    struct hami_nodelock_request request = {
        .size = sizeof(request),
        .node = pod->node->name,
        .owner = {NAMESPACE, pod->name, acquire->uid},
        .priority = acquire->priority,
        .group = acquire->group ? group : NULL,
        .calls = acquire->call_set ? calls : NULL,
    };

    (void)snprintf(group, sizeof(group), "gang-%u", acquire->group);
    asks_text(acquire->call_set, calls, sizeof(calls));
    request.deadline_ns =
        world_now(world) +
        (patient ? engine_span(&world->engine, RANDOM_WORK, 8 * SECOND, 60 * SECOND)
                 : engine_span(&world->engine, RANDOM_WORK, 1 * MS, 3 * SECOND));
    for (uint32_t key = 0; world->plan.keys > 1 && key < world->plan.keys; key++) {
        request.keys = keys;
        if (pod->keys >> key & 1) {
            keys[request.key_count++] = world->slots[key * world->plan.permits].lock;
        }
    }
    world->result.acquires++;
    pod->attempts++;
    list_up(world, acquire);
    take_place(acquire);
    checker_queued(world, acquire);
    stand(acquire);
    int code = hami_nodelock_acquire_start(world->replicas[replica].lock, &request,
                                           acquired, acquire, &acquire->wait);
    trace_line(world, pod->node, "%s (%s) asks replica-%d, place %llu: %s", pod->name,
               acquire->uid, replica, (unsigned long long)acquire->place,
               hami_errname(code));
    if (code < 0) {
        if (code == HAMI_E_LIMIT) {
            keep_place(acquire);
        }
        finish(acquire);
        binder_retry(world, pod, 0);
    }
}

/* ---- again ---- */

static int some_replica(struct world *world)
{
    uint32_t first =
        (uint32_t)engine_below(&world->engine, RANDOM_WORK, world->plan.replicas);

    for (uint32_t i = 0; i < world->plan.replicas; i++) {
        int index = (int)((first + i) % world->plan.replicas);
        if (replica_is_awake(world, index)) {
            return index;
        }
    }
    return -1;
}

/* A filter sends the pod to another node now and then. */
static void move(struct world *world, struct pod *pod)
{
    if (!engine_chance(&world->engine, RANDOM_WORK, 40000) || world->plan.nodes < 2) {
        return;
    }
    struct object *next = object_copy(pod->object);
    pod->node->pods_open--;
    pod->node =
        &world->nodes[engine_below(&world->engine, RANDOM_WORK, world->plan.nodes)];
    pod->node->pods_open++;
    object_set(next, KEY_ASSIGNED, pod->node->name);
    store_put_pod(world, pod, next, WRITER_WORLD, "filter");
}

static void try_again(struct world *world, void *subject, uint64_t argument)
{
    struct pod *pod = subject;

    (void)argument;
    pod->retry_armed = false;
    if (!pod->open || !pod->object || pod->object->deleting || pod->object->node[0] ||
        pod->object->phase >= POD_SUCCEEDED || world->over) {
        return;
    }
    int replica = some_replica(world);
    /* Now and then a second bind comes while the first is still under way. */
    bool second = engine_chance(&world->engine, RANDOM_WORK, 100000);
    if (replica < 0 || !pod->node->object || (pod->active > 0 && !second) ||
        pod->active > 1) {
        binder_retry(world, pod, 500 * MS);
        return;
    }
    if (pod->attempts > 0 && !world->calm) {
        move(world, pod);
    }
    if (pod->foreign) {
        if (pod->active == 0) {
            foreign_bind(world, pod);
        }
        return;
    }
    binder_start(world, pod, replica);
    if (!world->calm && engine_chance(&world->engine, RANDOM_WORK, 100000)) {
        binder_retry(world, pod, 0);
    }
}

void binder_retry(struct world *world, struct pod *pod, uint64_t delay_ns)
{
    if (!pod->retry_armed && pod->open && !world->over) {
        pod->retry_armed = true;
        delay_ns = delay_ns
                       ? delay_ns
                       : engine_span(&world->engine, RANDOM_WORK, 20 * MS, 3 * SECOND);
        engine_add(&world->engine, world_now(world) + delay_ns, -1, try_again, pod, 0);
    }
}

void binder_abort(struct world *world, struct pod *pod)
{
    struct acquire *acquire = pod->latest;

    if (acquire && acquire->waiting && acquire->wait &&
        replica_is_awake(world, acquire->replica)) {
        acquire->leaving = true;
        (void)hami_wait_abort(acquire->wait);
    }
}

/* ---- ends ---- */

void binder_bury(struct world *world, int replica)
{
    for (struct acquire *at = world->acquires, *next; at; at = next) {
        next = at->all_next;
        if (at->replica != replica) {
            continue;
        }
        if (!at->ended) {
            checker_violation(world, &world->result.callback_violations, at->node,
                              "the acquire of %s never ended", at->pod->name);
        }
        binding_forget(at);
        if (at->lease) {
            (void)hami_lease_handoff(at->lease);
            at->lease = NULL;
        }
        finish(at);
        binder_retry(world, at->pod, 0);
    }
}

void binder_done(struct world *world)
{
    while (world->finished) {
        struct acquire *next = world->finished->all_next;
        free(world->finished);
        world->finished = next;
    }
}
