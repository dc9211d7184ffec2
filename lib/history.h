/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last hand-overs of a node: a ring of fixed size in bytes, into which each entry is
 * packed with its texts; the oldest make room. Pure: nothing is allocated when a lock
 * changes hands. The node's mutex guards it.
 */
#ifndef HAMI_LIB_HISTORY_H
#define HAMI_LIB_HISTORY_H

#include "internal.h"

#define HAMI_INTERNAL_HISTORY_BYTES 4096

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
    _Alignas(8) char bytes[HAMI_INTERNAL_HISTORY_BYTES];
};

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
