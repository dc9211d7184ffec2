/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h: the order of grants, and devices. Within a replica and a priority the
 * places decide among those who ask for the same key. What does not count:
 *  - a lock that is the pod's own already: a further share of its grant, or a take that
 *    replaced its own lock; told by the fence;
 *  - who was told to leave, and hears of it later;
 *  - who came, or came back, when the take was on its way already;
 *  - who came back while so many places were kept that its own may have been pushed out;
 *  - of several permits: who waits for a further key, or pauses after a failure or since
 *    its pod was sent elsewhere, while a permit is set aside for it;
 *  - side by side: who waits with other calls than those of a pod that came beside.
 *
 * Lanes: who came later and has a higher priority may go before a waiter, and so may a
 * member of a group that waited, or was served, when it came; but only so often as the
 * replica's manager was told, over all tries of the waiter that kept their place. A lower
 * priority that came later never goes before a higher one. One that came while nobody
 * could have been overtaken too often has to pass: who has a higher priority, all of
 * lower ones; who joins its group, those of no group that came after its fellow. But it
 * passes nobody of its own priority or a higher one. So it stays behind those whom one of
 * these had to stay behind when that one came, even if the reason for that has left.
 */
#include "checker_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store.h"

static bool is_reentry(struct world *world, const struct acquire *acquire, uint64_t fence)
{
    struct seen_pod *seen = checker_see(world, acquire->pod->index);
    int at = acquire->replica;
    bool same = seen->granted[at].incarnation == acquire->incarnation &&
                seen->granted[at].fence == fence &&
                strcmp(seen->granted[at].uid, acquire->uid) == 0;

    seen->granted[at].incarnation = acquire->incarnation;
    seen->granted[at].fence = fence;
    (void)snprintf(seen->granted[at].uid, sizeof(seen->granted[at].uid), "%s",
                   acquire->uid);
    for (size_t i = 0; i < CHECKER_AGAIN_MAX && !same; i++) {
        same = fence != 0 && seen->again[i] == fence;
    }
    return same;
}

static bool has_permit_set_aside(const struct world *world, const struct acquire *waiting,
                                 const struct acquire *granted)
{
    return world->plan.permits > 1 &&
           (waiting->pod->refused || waiting->pod->node != waiting->node ||
            (waiting->keys & ~granted->keys) != 0);
}

/* Side by side one may be granted before another that its calls say nothing of. */
static bool is_in_way(struct world *world, const struct acquire *waiting,
                      const struct acquire *granted, uint64_t fence)
{
    const struct seen_pod *seen = checker_see(world, granted->pod->index);
    bool beside = false;

    if (!(waiting->keys & granted->keys)) {
        return false;
    }
    for (size_t i = 0; i < CHECKER_AGAIN_MAX && fence != 0; i++) {
        beside = beside || seen->besides[i] == fence;
    }
    return !beside || waiting->call_set == 0 || granted->call_set == 0 ||
           (waiting->call_set & granted->call_set) != 0;
}

static void check_overtaking(struct world *world, const struct acquire *acquire,
                             struct acquire *waiting)
{
    if (acquire->returned || acquire->since_ns <= waiting->since_ns) {
        return;
    }
    if (++waiting->overtaken > world->replicas[acquire->replica].overtaken_max) {
        checker_violation(world, &world->result.fifo_violations, acquire->node,
                          "%s was granted %s, the %uth that came later than %s and was "
                          "put before it in replica %d",
                          acquire->pod->name, acquire->node->name, waiting->overtaken,
                          waiting->pod->name, acquire->replica);
    }
}

/* It stands before all of lower priorities that came later than this. */
static uint64_t stands_before_ns(const struct acquire *waiting)
{
    return waiting->passes ? waiting->behind_ns : waiting->since_ns;
}

static bool is_passed(const struct acquire *waiting, const struct acquire *granted)
{
    if (waiting->priority > granted->priority) {
        return stands_before_ns(waiting) < granted->since_ns;
    }
    return waiting->passes && waiting->group != 0 && granted->group == 0 &&
           waiting->fellow_ns != 0 && waiting->fellow_ns < granted->since_ns &&
           granted->since_ns < waiting->since_ns;
}

/* One that had to be served later was served before. */
static void check_lane(struct world *world, const struct acquire *acquire,
                       const struct acquire *waiting)
{
    if (waiting->priority < acquire->priority || acquire->returned || waiting->returned ||
        !waiting->place_sure || waiting->pod->refused || !is_passed(waiting, acquire)) {
        return;
    }
    checker_violation(world, &world->result.fifo_violations, acquire->node,
                      "%s (priority %d) was granted %s before %s (priority %d, group %u) "
                      "in replica %d",
                      acquire->pod->name, acquire->priority, acquire->node->name,
                      waiting->pod->name, waiting->priority, waiting->group,
                      acquire->replica);
}

static bool may_overtake(const struct acquire *acquire, const struct acquire *waiting)
{
    return acquire->priority > waiting->priority ||
           (acquire->priority == waiting->priority && acquire->group != 0);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void checker_queued(struct world *world, struct acquire *acquire)
{
    const struct node *node = acquire->node;
    const struct replica *replica = &world->replicas[acquire->replica];
    uint64_t fellow_place = 0, higher_ns = 0;

    acquire->passes = true;
    acquire->behind_ns = acquire->fellow_ns = 0;
    acquire->joins = node->served[acquire->replica].group == acquire->group &&
                     node->served[acquire->replica].lane == acquire->priority;
    for (struct acquire *at = node->first[acquire->replica]; at; at = at->next) {
        acquire->passes = acquire->passes && at->rivals < replica->overtaken_max &&
                          (!at->returned || at->place_sure);
        at->rivals += may_overtake(acquire, at);
        if (at->priority >= acquire->priority) {
            acquire->behind_ns = later(acquire->behind_ns, stands_before_ns(at));
        }
        if (at->priority > acquire->priority) {
            higher_ns = later(higher_ns, stands_before_ns(at));
        }
        if (acquire->group != 0 && at->group == acquire->group &&
            at->priority == acquire->priority) {
            acquire->joins = true;
            if (at->place > fellow_place) {
                fellow_place = at->place;
                acquire->fellow_ns = at->returned ? 0 : at->since_ns;
            }
        }
    }
    if (acquire->fellow_ns != 0) {
        acquire->fellow_ns = later(acquire->fellow_ns, higher_ns);
    }
}

void checker_granted(struct world *world, const struct acquire *acquire, uint64_t fence)
{
    const struct node *node = acquire->node;
    bool own = is_reentry(world, acquire, fence);

    acquire->node->served[acquire->replica].group = acquire->group;
    acquire->node->served[acquire->replica].lane = acquire->priority;
    world->result.queue_sum += node->waiting;
    world->result.queue_count++;
    for (struct acquire *at = own ? NULL : node->first[acquire->replica]; at;
         at = at->next) {
        if (at == acquire || at->leaving || !is_in_way(world, at, acquire, fence) ||
            has_permit_set_aside(world, at, acquire)) {
            continue;
        }
        bool joins = acquire->group != 0 && acquire->joins && at->place < acquire->place;
        if (at->priority < acquire->priority ||
            (at->priority == acquire->priority && joins && !acquire->returned)) {
            check_overtaking(world, acquire, at);
            continue;
        }
        uint64_t sent_ns = acquire->pod->sent_ns[acquire->replica];
        if (sent_ns != 0 && at->since_ns > sent_ns) {
            continue;
        }
        check_lane(world, acquire, at);
        if (at->priority != acquire->priority || !at->place_sure ||
            at->place >= acquire->place) {
            continue;
        }
        checker_violation(world, &world->result.fifo_violations, node,
                          "%s (place %" PRIu64 ") was granted %s before %s (place "
                          "%" PRIu64 ") in replica %d",
                          acquire->pod->name, acquire->place, node->name, at->pod->name,
                          at->place, acquire->replica);
    }
}

void checker_allocated(struct world *world, const struct node *node,
                       const struct object *caller, const struct object *served)
{
    const struct pod *pod = store_pod(world, caller->name);
    const struct seen_pod *one = checker_see(world, pod->index);
    /* A pod that was deleted by force may have an Allocate under way; nobody can know. */
    bool gone = !pod->object || strcmp(pod->object->uid, caller->uid) != 0;
    bool excused = gone || one->excused;
    struct seen_pod *other = checker_see(world, store_pod(world, served->name)->index);

    if (strcmp(caller->uid, served->uid) == 0) {
        return;
    }
    if (!excused && !other->excused) {
        checker_violation(world, &world->result.wrong_devices, node,
                          "%s (%s) got the devices of %s (%s)", caller->name, caller->uid,
                          served->name, served->uid);
    }
    /* Its own Allocate is still to come, and its turn has been used up. */
    other->excused = true;
}
