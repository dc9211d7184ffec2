/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of outcome.c, one a kind of answer, and what they share. With the node's
 * mutex held; no I/O.
 */
#ifndef HAMI_LIB_OUTCOME_PARTS_H
#define HAMI_LIB_OUTCOME_PARTS_H

#include "call.h"
#include "outcome.h"

/* ---- answers ---- */

void hami_internal_outcome_took(struct hami_internal_node *node,
                                struct hami_internal_grant *grant,
                                const struct hami_internal_answer *answer,
                                struct hami_internal_after *after);
void hami_internal_outcome_removed(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant,
                                   const hami_call *call,
                                   struct hami_internal_after *after);
void hami_internal_outcome_was_read(struct hami_internal_node *node,
                                    struct hami_internal_answer *answer,
                                    struct hami_internal_after *after);
/* @began_ns  when the inspection began */
void hami_internal_outcome_asker_inspected(struct hami_wait *wait,
                                           struct hami_internal_answer *answer,
                                           uint64_t began_ns,
                                           struct hami_internal_after *after);
/* @revoke  it was a revocation, not only an inspection */
void hami_internal_outcome_holder_answered(struct hami_internal_node *node,
                                           struct hami_internal_slot *slot, bool revoke,
                                           hami_call *call,
                                           struct hami_internal_after *after);
/* @grant  NULL: it ended meanwhile, for a watch saw its record go first */
void hami_internal_outcome_own_revoked(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant,
                                       const hami_call *call,
                                       struct hami_internal_after *after);

/* ---- shared ---- */

void hami_internal_outcome_learn_version(struct hami_internal_node *node,
                                         const struct hami_internal_answer *answer);
/* The take is in the store. */
void hami_internal_outcome_granted(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant,
                                   const struct hami_internal_answer *answer,
                                   struct hami_internal_after *after);
/* It is not, and will not be by this write unless a watch tells so later. */
void hami_internal_outcome_not_granted(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant,
                                       struct hami_internal_after *after);
/* The waiter's step failed in a way that may pass: it tries again after a pause. */
void hami_internal_outcome_retry_wait(struct hami_wait *wait, int code,
                                      struct hami_internal_after *after);
void hami_internal_outcome_refuse_wait(struct hami_wait *wait, int code, const char *text,
                                       struct hami_internal_after *after);
void hami_internal_outcome_senseless_wait(struct hami_wait *wait, const char *text,
                                          struct hami_internal_after *after);
/* The release's step failed: it tries again after a pause. */
void hami_internal_outcome_retry_grant(struct hami_internal_node *node,
                                       struct hami_internal_grant *grant);

#endif
