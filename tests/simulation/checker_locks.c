/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See checker.h: locks and fences. A lock that one of ours takes away from a pod in its
 * window is a lost lock; so is one that a replica takes away from a pod which may still
 * be bound under it: one that lives, is not bound, and whose Bindings under that lock
 * were not revoked. Where no lease says more about a lock it must have stood for its
 * age, too.
 *
 * Whoever does not follow our rules can take a lock away from a pod in its window, and
 * excuses it: who deletes the node; HAMi's plugins of v2.7 to v2.9, which do not look
 * whose lock they remove when they try again; those after, which go by names, where the
 * pod that they serve was deleted by force and made anew meanwhile; the HAMi scheduler
 * for its own pods, since it releases when a Binding is answered by an error, whatever
 * became of it.
 */
#include "checker_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kubelet.h"
#include "store.h"

static void check_fence(struct world *world, const struct node *node,
                        const struct slot *slot, const struct object *before,
                        const struct object *after)
{
    struct seen_slot *seen =
        &world->checker->nodes[node->index].slots[slot - world->slots];
    const char *lease = object_get(after, slot->lease),
               *was = object_get(before, slot->lease);

    if (!lease || (was && strcmp(was, lease) == 0)) {
        return;
    }
    uint64_t fence = checker_fence(lease);
    bool grant = checker_is_own_lease(object_get(after, slot->lock), lease);
    if (fence < seen->fence || (grant && fence == seen->fence)) {
        checker_violation(world, &world->result.fence_violations, node,
                          "fence %" PRIu64 " of %s after %" PRIu64, fence, node->name,
                          seen->fence);
    }
    if (fence > seen->fence) {
        seen->fence = fence;
    }
}

static struct pod *named(struct world *world, const struct object *node,
                         const struct slot *slot)
{
    return store_named(world, object_get(node, slot->lock));
}

static bool was_revoked(const struct seen_pod *seen, const struct node *node,
                        bool has_lease, uint64_t fence)
{
    for (size_t i = 0; i < CHECKER_REVOCATIONS_MAX && i < seen->revoked_count; i++) {
        if (seen->revoked[i].node == (int)node->index &&
            (!has_lease || seen->revoked[i].fence == fence)) {
            return true;
        }
    }
    return false;
}

/* A replica takes away the lock of a pod that lives. */
static void check_proof(struct world *world, const struct node *node,
                        const struct slot *slot, const struct object *before,
                        struct pod *pod)
{
    struct seen_pod *seen = checker_see(world, pod->index);
    const struct seen_slot *place =
        &world->checker->nodes[node->index].slots[slot - world->slots];
    const char *lease = object_get(before, slot->lease);
    bool has_lease = checker_is_own_lease(object_get(before, slot->lock), lease);
    bool aged = world_now(world) >= place->lock_ns + world->age_least_ns;

    if (pod->object->node[0] || pod->object->deleting ||
        pod->object->phase != POD_PENDING || seen->excused || seen->lost) {
        return;
    }
    seen->aged = seen->aged || !has_lease;
    if (!was_revoked(seen, node, has_lease, checker_fence(lease)) ||
        (!has_lease && !aged)) {
        checker_violation(world, &world->result.lost_locks, node,
                          "the lock of %s (%s) on %s was taken, and it may still be "
                          "bound under it",
                          pod->name, seen->uid, node->name);
        seen->lost = true;
    }
}

/* By its name alone a lock is nobody's who came after it. */
static bool is_older(const struct world *world, const struct node *node,
                     const struct slot *slot, const struct object *before,
                     const struct seen_pod *seen)
{
    const struct seen_slot *place =
        &world->checker->nodes[node->index].slots[slot - world->slots];
    bool has_lease = checker_is_own_lease(object_get(before, slot->lock),
                                          object_get(before, slot->lease));

    return !has_lease && place->lock_ns < seen->made_ns;
}

static void check_taken(struct world *world, const struct node *node,
                        const struct slot *slot, const struct object *before,
                        const struct object *after, enum writer writer)
{
    struct pod *pod = named(world, before, slot);
    struct seen_pod *seen = pod ? checker_see(world, pod->index) : NULL;
    const char *owner = checker_owner(world, before, slot);

    /* Of several permits it may have had two, of which one was to be undone. */
    if (!pod || !pod->object || strcmp(seen->uid, owner) != 0 ||
        checker_has_locks(world, after, pod, seen->uid)) {
        return;
    }
    if (is_older(world, node, slot, before, seen)) {
        /* Only the HAMi scheduler binds under such a lock. */
        seen->excused = seen->excused || seen->node == (int)node->index;
    } else if (writer == WRITER_WORLD ||
               (writer == WRITER_FOREIGN &&
                (node->style == PLUGIN_HAMI_27 || pod->foreign ||
                 kubelet_serves_other(node, owner)))) {
        seen->excused = true;
    } else if (seen->node == (int)node->index && !seen->excused && !seen->lost) {
        checker_violation(world, &world->result.lost_locks, node,
                          "the lock of %s on %s was taken before its Allocate", seen->uid,
                          node->name);
        seen->lost = true;
    } else if (writer == WRITER_OURS) {
        check_proof(world, node, slot, before, pod);
    }
}

static void note_reentry(struct world *world, const struct slot *slot,
                         const struct object *after)
{
    const struct pod *pod = named(world, after, slot);
    const char *lease = object_get(after, slot->lease);

    if (pod && checker_is_own_lease(object_get(after, slot->lock), lease)) {
        struct seen_pod *seen = checker_see(world, pod->index);
        seen->again[seen->again_count++ % CHECKER_AGAIN_MAX] = checker_fence(lease);
    }
}

static void check_slot(struct world *world, struct node *node, const struct slot *slot,
                       const struct object *before, const struct object *after,
                       enum writer writer)
{
    struct seen_slot *seen =
        &world->checker->nodes[node->index].slots[slot - world->slots];
    const char *lock = object_get(after, slot->lock),
               *was = object_get(before, slot->lock);
    char owner[40];

    if (world->plan.beside == 0 &&
        (writer == WRITER_OURS || writer == WRITER_NODE_SIDE)) {
        check_fence(world, node, slot, before, after);
    }
    (void)snprintf(owner, sizeof(owner), "%s", checker_owner(world, before, slot));
    bool same = strcmp(owner, checker_owner(world, after, slot)) == 0;
    if (writer == WRITER_OURS && owner[0] && same) {
        note_reentry(world, slot, after);
    }
    if (owner[0] && !same) {
        check_taken(world, node, slot, before, after, writer);
    }
    if (lock && (!was || strcmp(lock, was) != 0)) {
        seen->lock_ns = world_now(world);
    }
}

void checker_node(struct world *world, struct node *node, const struct object *before,
                  const struct object *after, enum writer writer)
{
    checker_beside(world, node, before, after, writer);
    for (size_t i = 0; i < world->slot_count; i++) {
        const char *lock = object_get(before, world->slots[i].lock),
                   *lease = object_get(before, world->slots[i].lease);
        const char *next_lock = object_get(after, world->slots[i].lock),
                   *next_lease = object_get(after, world->slots[i].lease);
        bool same = before && after && (lock == NULL) == (next_lock == NULL) &&
                    (lease == NULL) == (next_lease == NULL) &&
                    (!lock || strcmp(lock, next_lock) == 0) &&
                    (!lease || strcmp(lease, next_lease) == 0);
        if (!same) {
            check_slot(world, node, &world->slots[i], before, after, writer);
        }
    }
}
