/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What is done when the node's mutex is free: callbacks queued, memory given back, lines
 * logged. */
#ifndef HAMI_LIB_AFTER_H
#define HAMI_LIB_AFTER_H

#include "internal.h"

/* With the node's mutex, just taken; sets node.now_ns. */
void hami_internal_after_init(struct hami_internal_after *after,
                              struct hami_internal_node *node);

/* Notes facts to be freed; NULL is fine. */
void hami_internal_after_free_facts(struct hami_internal_after *after,
                                    struct hami_internal_facts *facts);

/* Notes a log line; a fifth one in one go is dropped. */
void hami_internal_after_log(struct hami_internal_after *after, enum hami_log_level level,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Notes that the slot's lock has changed hands, or is free now; a fifth one in one go is
 * dropped. The slot's record is the new one; who stood before is told once.
 */
void hami_internal_after_change(struct hami_internal_after *after,
                                struct hami_internal_slot *slot, enum hami_hand_over how,
                                enum hami_internal_reason reason);

/* Ends somebody's sleep: it is woken when the mutex is free. What has ended is not to be
 * touched from then on. */
void hami_internal_after_wake(struct hami_internal_after *after,
                              struct hami_internal_parking *parking);

/* Wakes them before all else is done. Best without a lock; with the node's mutex it is
 * fine where nobody sleeps. */
void hami_internal_after_wake_all(struct hami_internal_after *after);

/* True if the first of them sleeps, as far as is known. */
bool hami_internal_after_has_sleeper(const struct hami_internal_after *after);

/* Does it all. No lock is held. */
void hami_internal_after_run(struct hami_internal_after *after);

#endif
