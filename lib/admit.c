/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See admit.h. */
#include "admit.h"

#include "node.h"
#include "pace.h"

uint64_t hami_internal_admit_expect(const struct hami_internal_node *node,
                                    const struct hami_internal_key *key, uint64_t ahead,
                                    uint64_t now_ns)
{
    const struct hami_internal_slot *first = hami_internal_node_slot(node, key, 0);
    uint64_t standing = 0, oldest_ns = 0;

    if (!first) {
        return 0;
    }
    for (size_t permit = 0; permit < key->permits; permit++) {
        const struct hami_internal_slot *slot =
            permit == 0 ? first : hami_internal_node_slot(node, key, permit);
        if (slot && slot->record.kind != HAMI_LOCK_FREE) {
            uint64_t age_ns = now_ns - slot->first_seen_ns;
            standing++;
            oldest_ns = age_ns > oldest_ns ? age_ns : oldest_ns;
        }
    }
    return hami_internal_pace_expect(hami_internal_pace_hold(&first->pace, now_ns), ahead,
                                     key->permits, standing, oldest_ns);
}
