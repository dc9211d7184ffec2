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
 *    its pod was sent elsewhere, while a permit is set aside for it.
 * Of a higher priority at most four that came later may go before a waiter.
 */
#include "checker_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store.h"

#define OVERTAKEN_MAX 4

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

static void check_overtaking(struct world *world, const struct acquire *acquire,
                             struct acquire *waiting)
{
    if (acquire->returned || acquire->since_ns <= waiting->since_ns) {
        return;
    }
    if (++waiting->overtaken > OVERTAKEN_MAX) {
        checker_violation(world, &world->result.fifo_violations, acquire->node,
                          "%s was granted %s, the %uth of a higher priority that came "
                          "later than %s in replica %d",
                          acquire->pod->name, acquire->node->name, waiting->overtaken,
                          waiting->pod->name, acquire->replica);
    }
}

void checker_granted(struct world *world, const struct acquire *acquire, uint64_t fence)
{
    const struct node *node = acquire->node;
    bool own = is_reentry(world, acquire, fence);

    world->result.queue_sum += node->waiting;
    world->result.queue_count++;
    for (struct acquire *at = own ? NULL : node->first[acquire->replica]; at;
         at = at->next) {
        if (at == acquire || at->leaving || !(at->keys & acquire->keys) ||
            has_permit_set_aside(world, at, acquire)) {
            continue;
        }
        if (at->priority < acquire->priority) {
            check_overtaking(world, acquire, at);
            continue;
        }
        uint64_t sent_ns = acquire->pod->sent_ns[acquire->replica];
        if (at->priority != acquire->priority || !at->place_sure ||
            at->place >= acquire->place || (sent_ns != 0 && at->since_ns > sent_ns)) {
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
