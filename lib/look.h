/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One record, as it stands in one waiter's way. With the node's mutex held. */
#ifndef HAMI_LIB_LOOK_H
#define HAMI_LIB_LOOK_H

#include "internal.h"

struct hami_internal_claims; /* beside.h */

enum hami_internal_look {
    LOOK_AVAILABLE = 0, /* one guarded write can take it */
    LOOK_BLOCKED,
    LOOK_WORKING /* an operation was started, or a read was asked for */
};

/* One look at a node's waiters. */
struct hami_internal_round {
    struct hami_internal_node *node;
    struct hami_internal_after *after;
    uint64_t now_ns;
    uint64_t claimed;                    /* bit i: slots[i] is spoken for */
    struct hami_internal_claims *claims; /* calls that are; NULL = nobody comes beside */
    bool glances;                        /* a look is to start nothing */
};

/* The slot's bit in round.claimed. */
uint64_t hami_internal_look_bit(const struct hami_internal_round *round,
                                const struct hami_internal_slot *slot);

/* Can this waiter have the record now? May start one operation. */
enum hami_internal_look hami_internal_look_at_slot(struct hami_internal_round *round,
                                                   const struct hami_wait *wait,
                                                   struct hami_internal_slot *slot);

/* The same; starts nothing. */
enum hami_internal_look hami_internal_look_glance(struct hami_internal_round *round,
                                                  const struct hami_wait *wait,
                                                  struct hami_internal_slot *slot);

#endif
