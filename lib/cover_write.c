/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See cover.h: what is written. Invariants, which all who write keep:
 *  - a take puts its pair into its permit and into the cover, by one patch that tests both
 *    and the node's mark;
 *  - a cover that is a copy is one of that permit which has the highest fence. Only so a
 *    cover that is found unchanged says that nobody came in between: whoever came after
 *    its owner is gone by then. Their fences are in the permits' leases, which a take
 *    beside a copy tests as well: else two grants could have the same one;
 *  - what is in doubt is settled by the permit's pair alone.
 */
#include <string.h>

#include "cover.h"
#include "node.h"
#include "protocol.h"

static const struct hami_internal_record_key *
names_of(const struct hami_internal_slot *slot)
{
    return &slot->key->records[slot->permit];
}

/* The pair as it is known is replaced by another, or only tested. */
static void put_pair(hami_call *call, const struct hami_internal_slot *slot,
                     const char *lock, const char *lease)
{
    hami_internal_call_add(call, HAMI_EDIT_PUT, names_of(slot)->lock, slot->pair.lock,
                           lock);
    hami_internal_call_add(call, HAMI_EDIT_PUT, names_of(slot)->lease, slot->pair.lease,
                           lease);
}

static void test_pair(hami_call *call, const struct hami_internal_slot *slot)
{
    hami_internal_call_add(call, HAMI_EDIT_TEST, names_of(slot)->lock, slot->pair.lock,
                           NULL);
    hami_internal_call_add(call, HAMI_EDIT_TEST, names_of(slot)->lease, slot->pair.lease,
                           NULL);
}

/* ---- takes ---- */

uint64_t hami_internal_cover_last_fence(const struct hami_internal_node *node,
                                        bool *ret_seeded)
{
    const struct hami_internal_slot *cover = node->cover;
    uint64_t last = cover->record.last_fence;

    /* Each take changes the cover, so its memory keeps two takes apart; and where it may
     * be a copy again, the permits' do (hami_internal_cover_plan_fence()). */
    *ret_seeded = last == 0 || last < cover->max_fence;
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        uint64_t fence = node->permits[i]->record.last_fence;
        last = fence > last ? fence : last;
    }
    return last;
}

void hami_internal_cover_plan_fence(const struct hami_internal_node *node,
                                    hami_call *call, const struct hami_internal_slot *but)
{
    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX && slot_is_copy(node->cover); i++) {
        const struct hami_internal_slot *permit = node->permits[i];
        if (permit != but) {
            hami_internal_call_add(call, HAMI_EDIT_TEST, names_of(permit)->lease,
                                   permit->pair.lease, NULL);
        }
    }
}

void hami_internal_cover_plan_take(struct hami_internal_node *node, hami_call *call,
                                   const struct hami_internal_grant *grant)
{
    hami_internal_call_add(call, HAMI_EDIT_TEST, HAMI_HANDSHAKE_AGENT_KEY,
                           HAMI_INTERNAL_SIDE_BY_SIDE, NULL);
    put_pair(call, node->cover, grant->value, grant->lease);
}

/* ---- removals ---- */

/* The one among the other permits whose pair the cover gets; NULL = none is held. One
 * without a lease of its own counts as the oldest. */
static struct hami_internal_slot *find_newest(const struct hami_internal_node *node,
                                              const struct hami_internal_slot *but)
{
    struct hami_internal_slot *newest = NULL;

    for (size_t i = 0; i < HAMI_INTERNAL_BESIDE_MAX; i++) {
        struct hami_internal_slot *one = node->permits[i];
        if (one != but && one->record.kind != HAMI_LOCK_FREE &&
            (!newest || one->record.fence > newest->record.fence)) {
            newest = one;
        }
    }
    return newest;
}

void hami_internal_cover_plan_removal(struct hami_internal_node *node, hami_call *call,
                                      const struct hami_internal_grant *grant)
{
    struct hami_internal_slot *cover = node->cover, *permit = grant->slots[0];
    const struct hami_internal_record_key *names = names_of(permit);
    struct hami_internal_slot *newest = find_newest(node, permit);
    bool is_own =
        hami_internal_protocol_compare(cover->pair.lock, cover->pair.lease, grant->value,
                                       grant->lease) == STANDING_OURS;

    if (is_own && newest) {
        test_pair(call, newest);
        put_pair(call, cover, newest->pair.lock, newest->pair.lease);
        call->cover_from = newest;
    } else if (!newest && (is_own || (slot_is_copy(cover) && !cover->grant))) {
        uint64_t last = cover->record.last_fence;
        call->cover_fence = last > grant->fence ? last : grant->fence;
        (void)hami_lease_memory_format(call->cover_fence, call->cover_memory,
                                       sizeof(call->cover_memory));
        put_pair(call, cover, NULL, call->cover_memory);
    } else {
        test_pair(call, cover);
    }
    hami_internal_call_add(call, HAMI_EDIT_PUT, names->lock, grant->value, NULL);
    hami_internal_call_add(call, HAMI_EDIT_PUT, names->lease, grant->lease, call->memory);
}

void hami_internal_cover_removed(struct hami_internal_node *node, const hami_call *call,
                                 struct hami_internal_after *after)
{
    struct hami_internal_slot *cover = node->cover;

    if (call->cover_from) {
        hami_internal_node_covered(node, call->cover_from, after);
    } else if (call->cover_fence > 0) {
        hami_internal_node_freed(node, cover, call->cover_fence, call->cover_memory,
                                 after);
    } else {
        return;
    }
    cover->version_number = call->answer.version_number;
}
