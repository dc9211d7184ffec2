/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last hand-overs of a node: a ring of bytes, into which each entry is packed with
 * its texts; the oldest make room. Pure: nothing is allocated when a lock changes hands.
 * The ring is as large as those who come to a node make it, since thousands of nodes
 * have one: who finds it short puts a larger one in its place. The node's mutex guards
 * it.
 */
#ifndef HAMI_LIB_HISTORY_H
#define HAMI_LIB_HISTORY_H

#include "internal.h"

#define HAMI_INTERNAL_HISTORY_LEAST 512
#define HAMI_INTERNAL_HISTORY_BYTES 4096 /* at most */

/* One hand-over. Texts of owners are never NULL: "" where unknown. */
struct hami_internal_hand_over {
    const struct hami_internal_slot *slot;
    enum hami_hand_over how;
    enum hami_internal_reason reason;
    uint64_t at_ns, held_ns, fence;
    struct hami_owner from, to;
};

struct hami_internal_history {
    size_t first,
        used; /* of bytes: where the oldest entry begins, and all that is in use */
    uint32_t count;
    uint32_t size;   /* of bytes: a power of two */
    uint32_t missed; /* bytes of the largest entry that found no room in it */
    _Alignas(8) char bytes[];
};

/*
 * The size that it should have with so many waiters before the next: as now, or larger.
 * @history  NULL = there is none
 */
size_t hami_internal_history_fit(const struct hami_internal_history *history,
                                 size_t waiters);

/* Copies all entries into an empty, larger one. */
void hami_internal_history_move(struct hami_internal_history *to,
                                const struct hami_internal_history *from);

/* Texts are copied. */
void hami_internal_history_add(struct hami_internal_history *history,
                               const struct hami_internal_hand_over *entry);

/*
 * Reads the entries, the oldest first.
 * @at   0 to begin with; moved on
 * @ret  its texts are borrowed until the history changes
 * Returns false at the end
 */
bool hami_internal_history_read(const struct hami_internal_history *history, size_t *at,
                                struct hami_internal_hand_over *ret);

#endif
