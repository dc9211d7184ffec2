/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods beside each other on a node: docs/protocol.md, section 11. The key's own record is
 * the cover, node.cover; the pods are in the records node.permits. With the node's mutex
 * held; no I/O. cover.c says who may have which record, cover_write.c what is written.
 */
#ifndef HAMI_LIB_COVER_H
#define HAMI_LIB_COVER_H

#include "call.h"
#include "look.h"

/* What the node's mark says, told by a watch or a read; NULL = it has none. */
void hami_internal_cover_learn_mark(struct hami_internal_node *node, const char *mark);

/* True if a key's records are to be looked at as those of pods beside each other. */
bool hami_internal_cover_is_used(const struct hami_internal_node *node,
                                 const struct hami_internal_key *key);

/* True if the waiter comes beside others; else it is exclusive. */
bool hami_internal_cover_comes_beside(const struct hami_wait *wait);

/* True if one has to wait for the other to be done. */
bool hami_internal_cover_excludes(const struct hami_wait *wait,
                                  const struct hami_wait *other);

/* A waiter of whom it is known without a look that it must wait: its calls are claimed
 * then. */
bool hami_internal_cover_must_wait(struct hami_internal_round *round,
                                   const struct hami_wait *wait);

/*
 * Finds the record that the waiter may take: a permit for one that comes beside, else the
 * cover. As hami_internal_look_at_slot(); where it is blocked, what it needs is claimed.
 * May ask for the permits' slots (after.need_permits).
 */
enum hami_internal_look hami_internal_cover_choose(struct hami_internal_round *round,
                                                   const struct hami_wait *wait,
                                                   struct hami_internal_slot **ret);

/* The next record after `slot` (NULL = the first) that is in the waiter's way as far as
 * is known; NULL = there is none. */
struct hami_internal_slot *
hami_internal_cover_in_way(const struct hami_wait *wait,
                           const struct hami_internal_slot *slot);

/* True if the cover is a copy of a lock that stands in no permit any more. */
bool hami_internal_cover_is_bare(const struct hami_internal_node *node);

/* ---- writes ---- */

/* The fences that a take of this record has to be above. @ret_seeded  set if nothing in
 * the store but the node's version keeps two takes of one fence apart */
uint64_t hami_internal_cover_last_fence(const struct hami_internal_node *node,
                                        bool *ret_seeded);

/* Where the cover is a copy it may have been the same before: edits by which a take tests
 * that no other one left its fence in a permit, but for the one that it writes itself
 * (NULL = none). */
void hami_internal_cover_plan_fence(const struct hami_internal_node *node,
                                    hami_call *call,
                                    const struct hami_internal_slot *but);

/* Edits by which a take beside others tests the node's mark and writes the cover. */
void hami_internal_cover_plan_take(struct hami_internal_node *node, hami_call *call,
                                   const struct hami_internal_grant *grant);

/* False if the records have to be read before anything can be removed from a permit. */
bool hami_internal_cover_is_known(const struct hami_internal_node *node);

/* Edits by which a grant is removed from its permit. call.memory is set. */
void hami_internal_cover_plan_removal(struct hami_internal_node *node, hami_call *call,
                                      const struct hami_internal_grant *grant);

/* That was written: what the cover is now. */
void hami_internal_cover_removed(struct hami_internal_node *node, const hami_call *call,
                                 struct hami_internal_after *after);

#endif
