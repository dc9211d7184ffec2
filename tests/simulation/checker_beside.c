/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h: pods side by side. A pod came beside if its last take by one of ours put
 * it into a permit, with calls in the lease. Two such pods may be in their windows at a
 * time if no container of the one asks what one of the other asks, whatever the leases
 * say.
 *
 * The cover: after a write of ours that takes something, or that found it right, the
 * first record is a copy of the pair with the highest fence of the permits that are held,
 * or nobody needs one of them. A pod needs its permit that is in its window, or may still
 * be bound under it. A permit is taken beside others only where the node says so.
 *
 * Fences grow over all records of the node, and the highest one that stands is not
 * forgotten by a write of ours.
 *
 * The HAMi scheduler knows the first record alone. Where that names a pod that is gone it
 * takes it, or where somebody has removed it, whoever else is in flight: that excuses
 * those.
 */
#include "checker_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store.h"

static const char *lock_in(const struct object *node, const struct slot *slot)
{
    const char *lock = object_get(node, slot->lock);

    return lock && *lock ? lock : NULL;
}

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool has_calls(const struct object *node, const struct slot *slot)
{
    char calls[16];
    const char *lease = object_get(node, slot->lease);

    return checker_is_own_lease(object_get(node, slot->lock), lease) &&
           checker_member(lease, "calls", calls, sizeof(calls))[0] != '\0';
}

bool checker_is_cover(const struct world *world, const struct object *node,
                      const struct slot *slot)
{
    return world->plan.beside && slot == &world->slots[0] && has_calls(node, slot);
}

bool checker_are_distinct(struct world *world, const struct pod *one,
                          const struct pod *other)
{
    return world->plan.beside && checker_see(world, one->index)->beside &&
           checker_see(world, other->index)->beside &&
           (one->call_set & other->call_set) == 0;
}

/* ---- takes ---- */

/* A lock that this write has put, under a lease of its own. */
static bool is_grant(const struct object *before, const struct object *after,
                     const struct slot *slot)
{
    const char *lease = object_get(after, slot->lease);

    return checker_is_own_lease(lock_in(after, slot), lease) &&
           !is_same(lease, object_get(before, slot->lease));
}

/* A permit's pair, put into the cover as well. */
static bool is_copy(const struct world *world, const struct object *node)
{
    const struct slot *cover = &world->slots[0];

    for (size_t i = 1; i < world->slot_count; i++) {
        if (is_same(object_get(node, world->slots[i].lock), lock_in(node, cover)) &&
            is_same(object_get(node, world->slots[i].lease),
                    object_get(node, cover->lease))) {
            return true;
        }
    }
    return false;
}

static bool has_record(struct world *world, const struct object *node, const char *uid)
{
    for (size_t i = 0; i < world->slot_count; i++) {
        if (strcmp(checker_owner(world, node, &world->slots[i]), uid) == 0) {
            return true;
        }
    }
    return false;
}

static void note_take(struct world *world, const struct object *before,
                      const struct object *after, const struct slot *slot, bool beside)
{
    const struct pod *pod = store_named(world, object_get(after, slot->lock));
    const char *lease = object_get(after, slot->lease);
    char uid[40];

    if (!pod) {
        return;
    }
    struct seen_pod *seen = checker_see(world, pod->index);
    (void)checker_member(lease, "uid", uid, sizeof(uid));
    if (beside) {
        seen->besides[seen->beside_count++ % CHECKER_AGAIN_MAX] = checker_fence(lease);
    }
    if (has_record(world, before, uid)) {
        /* No turn, from whichever record to another. */
        seen->again[seen->again_count++ % CHECKER_AGAIN_MAX] = checker_fence(lease);
    }
    if (pod->object && strcmp(uid, pod->object->uid) == 0) {
        seen->beside = beside;
    }
}

static bool note_takes(struct world *world, const struct object *before,
                       const struct object *after)
{
    bool takes = false;

    for (size_t i = 0; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (is_grant(before, after, slot) && (i > 0 || !is_copy(world, after))) {
            takes = true;
            note_take(world, before, after, slot, i > 0 && has_calls(after, slot));
        }
    }
    return takes;
}

/* ---- fences ---- */

static uint64_t highest(const struct world *world, const struct object *node)
{
    uint64_t fence = 0;

    for (size_t i = 0; i < world->slot_count; i++) {
        uint64_t one = checker_fence(object_get(node, world->slots[i].lease));
        fence = one > fence ? one : fence;
    }
    return fence;
}

static void check_fences(struct world *world, const struct node *node,
                         const struct object *before, const struct object *after)
{
    uint64_t *largest = &world->checker->nodes[node->index].slots[0].fence;
    uint64_t known = *largest, stood = highest(world, before),
             stands = highest(world, after);

    for (size_t i = 0; i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        uint64_t fence = checker_fence(object_get(after, slot->lease));
        bool copy = i == 0 && is_copy(world, after);
        if (!copy && is_grant(before, after, slot) && fence <= known) {
            checker_violation(world, &world->result.fence_violations, node,
                              "fence %" PRIu64 " of %s after %" PRIu64, fence, node->name,
                              known);
        }
    }
    if (stands < stood) {
        checker_violation(world, &world->result.fence_violations, node,
                          "fence %" PRIu64 " was forgotten on %s, %" PRIu64 " is left",
                          stood, node->name, stands);
    }
    *largest = stands > known ? stands : known;
}

/* ---- the cover ---- */

/* A revocation stops the Bindings of all earlier takes as well. */
static bool is_revoked_since(const struct seen_pod *seen, const struct node *node,
                             uint64_t fence)
{
    for (size_t i = 0; i < CHECKER_REVOCATIONS_MAX && i < seen->revoked_count; i++) {
        if (seen->revoked[i].node == (int)node->index &&
            seen->revoked[i].fence >= fence) {
            return true;
        }
    }
    return false;
}

static bool needs_permit(struct world *world, const struct node *node,
                         const struct object *object, const struct slot *slot)
{
    const struct pod *pod = store_named(world, lock_in(object, slot));
    const char *lease = object_get(object, slot->lease);

    if (!pod || !pod->object ||
        strcmp(checker_owner(world, object, slot), pod->object->uid) != 0) {
        return false;
    }
    const struct seen_pod *seen = checker_see(world, pod->index);
    bool own = checker_is_own_lease(lock_in(object, slot), lease);
    bool alone = strcmp(checker_owner(world, object, &world->slots[0]), seen->uid) == 0;
    const struct seen_slot *place =
        &world->checker->nodes[node->index].slots[slot - world->slots];
    /* Alone: it has taken the cover since. By its name alone a lock is nobody's who came
     * after it. */
    if (seen->excused || seen->lost || alone ||
        (!own && place->lock_ns < seen->made_ns)) {
        return false;
    }
    if (pod->object->node[0]) {
        return seen->node == (int)node->index;
    }
    return !pod->object->deleting && pod->object->phase == POD_PENDING &&
           !is_revoked_since(seen, node, own ? checker_fence(lease) : 0);
}

/* The first record does not say what it has to say. */
static bool is_uncovered(struct world *world, const struct node *node,
                         const struct object *object)
{
    const struct slot *last = NULL, *cover = &world->slots[0];
    bool needed = false;

    for (size_t i = 1; object && i < world->slot_count; i++) {
        const struct slot *slot = &world->slots[i];
        if (!lock_in(object, slot)) {
            continue;
        }
        needed = needed || needs_permit(world, node, object, slot);
        if (checker_is_own_lease(lock_in(object, slot),
                                 object_get(object, slot->lease)) &&
            (!last || checker_fence(object_get(object, slot->lease)) >
                          checker_fence(object_get(object, last->lease)))) {
            last = slot;
        }
    }
    if (!object || !checker_is_cover(world, object, cover)) {
        /* A copy of one whose lease somebody has spoilt keeps everybody off. */
        return needed && !(lock_in(object, cover) && is_copy(world, object));
    }
    return !last || !is_same(object_get(object, last->lock), lock_in(object, cover)) ||
           !is_same(object_get(object, last->lease), object_get(object, cover->lease));
}

static void check_marked(struct world *world, const struct node *node,
                         const struct object *before, const struct object *after)
{
    const char *mark = object_get(before, KEY_AGENT);

    for (size_t i = 1; i < world->slot_count; i++) {
        if (is_grant(before, after, &world->slots[i]) &&
            !(mark && strstr(mark, "side-by-side"))) {
            checker_violation(world, &world->result.cover_violations, node,
                              "%s was taken on %s, which says %s", world->slots[i].lock,
                              node->name, mark ? mark : "nothing");
        }
    }
}

/* Somebody who does not know the permits takes the first record. */
static void excuse_permits(struct world *world, const struct object *before)
{
    for (size_t i = 1; i < world->slot_count; i++) {
        const struct pod *pod = store_named(world, lock_in(before, &world->slots[i]));
        if (pod) {
            checker_see(world, pod->index)->excused = true;
        }
    }
}

void checker_beside(struct world *world, const struct node *node,
                    const struct object *before, const struct object *after,
                    enum writer writer)
{
    const struct slot *cover = &world->slots[0];
    bool ours = writer == WRITER_OURS || writer == WRITER_NODE_SIDE;

    if (world->plan.beside == 0 || !before || !after) {
        return;
    }
    if (writer == WRITER_FOREIGN && lock_in(after, cover) &&
        !is_same(lock_in(before, cover), lock_in(after, cover))) {
        excuse_permits(world, before);
    }
    if (!ours) {
        return;
    }
    bool takes = note_takes(world, before, after);
    check_fences(world, node, before, after);
    check_marked(world, node, before, after);
    if (is_uncovered(world, node, after) &&
        (takes || !is_uncovered(world, node, before))) {
        checker_violation(world, &world->result.cover_violations, node,
                          "%s %s its permits uncovered: %s", node->name,
                          takes ? "was taken, with" : "has",
                          lock_in(after, cover) ? lock_in(after, cover) : "-");
    }
}
