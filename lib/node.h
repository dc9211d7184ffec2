/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One node: its records, what is known of them, and the ends of those who wait. */
#ifndef HAMI_LIB_NODE_H
#define HAMI_LIB_NODE_H

#include "internal.h"

/* Made and freed without a lock. NULL = out of memory. */
struct hami_internal_node *hami_internal_node_new(struct hami_nodelock *lock,
                                                  const char *name, uint64_t hash);
struct hami_internal_node *hami_internal_node_free(struct hami_internal_node *node);

/* A slot for one record, with room for what we write. Made without a lock. NULL = out of
 * memory. */
struct hami_internal_slot *
hami_internal_node_slot_new(struct hami_internal_node *node,
                            const struct hami_internal_key *key, size_t permit);
void hami_internal_node_slot_free(const struct hami_nodelock *lock,
                                  struct hami_internal_slot *slot);

/*
 * Makes sure that the node has the slots of these keys. Takes the node's mutex itself.
 * Returns 0, HAMI_E_NOMEM, HAMI_E_LIMIT (too many keys)
 */
int hami_internal_node_add_keys(struct hami_internal_node *node,
                                const struct hami_internal_key *const *keys,
                                size_t count);

/* Makes sure that the node has the records beside the cover of a key that may have them.
 * Takes the node's mutex itself. Returns as hami_internal_node_add_keys() */
int hami_internal_node_add_permits(struct hami_internal_node *node,
                                   const struct hami_internal_key *key);

/* Makes sure that the node remembers its hand-overs. Takes the node's mutex itself.
 * Returns 0, HAMI_E_NOMEM */
int hami_internal_node_add_history(struct hami_internal_node *node);

/* ---- all below: with the node's mutex held ---- */

/* True if it has these keys' slots, and remembers hand-overs. */
bool hami_internal_node_is_fit(const struct hami_internal_node *node,
                               const struct hami_internal_key *const *keys, size_t count);

/* Notes how the lock that stands in a slot came to its owner. */
void hami_internal_node_note_hand_over(struct hami_internal_node *node,
                                       const struct hami_internal_slot *slot,
                                       enum hami_hand_over how,
                                       enum hami_internal_reason reason);

/* True if something is under way on it: a call, a take, a release. */
bool hami_internal_node_is_busy(const struct hami_internal_node *node);

/* True if nothing and nobody needs the node. */
bool hami_internal_node_is_idle(const struct hami_internal_node *node);

/* Our take, or our removal, has been written: what stands in a slot now is known without
 * reading it. @memory  text that the lease has now */
void hami_internal_node_taken(struct hami_internal_node *node,
                              struct hami_internal_slot *slot,
                              const struct hami_internal_grant *grant,
                              struct hami_internal_after *after);
/* @fence  of the memory */
void hami_internal_node_freed(struct hami_internal_node *node,
                              struct hami_internal_slot *slot, uint64_t fence,
                              const char *memory, struct hami_internal_after *after);
/* Our write has put a copy of this permit's pair into the cover. */
void hami_internal_node_covered(struct hami_internal_node *node,
                                const struct hami_internal_slot *permit,
                                struct hami_internal_after *after);

/* Sets the pair of a slot by swapping buffers with `pair`.
 * @number  of the node's version that has it; 0 = it is none */
void hami_internal_node_swap_pair(struct hami_internal_node *node,
                                  struct hami_internal_slot *slot,
                                  struct hami_internal_pair *pair, uint64_t number,
                                  struct hami_internal_after *after);

/* The node's version as an answer or a watch told it; older numbers are ignored.
 * @number  the version's; 0 = it is none */
void hami_internal_node_set_version(struct hami_internal_node *node, const char *version,
                                    uint64_t number);

/* A slot of this node for a key's permit; NULL = none. */
struct hami_internal_slot *hami_internal_node_slot(const struct hami_internal_node *node,
                                                   const struct hami_internal_key *key,
                                                   size_t permit);

/* Compares a grant with what is known of its slots; a grant that is not there any more is
 * marked gone, and ended if no lease holds it. */
void hami_internal_node_review(struct hami_internal_node *node,
                               struct hami_internal_grant *grant,
                               struct hami_internal_after *after);

/* Ends a grant: it leaves its slots and the node; whoever waits for its release is told
 * `code`. */
void hami_internal_node_end_grant(struct hami_internal_node *node,
                                  struct hami_internal_grant *grant, int code,
                                  struct hami_internal_after *after);

/* A grant is gone from the store: its holders will be told; ended if nobody holds it. */
void hami_internal_node_lose_grant(struct hami_internal_node *node,
                                   struct hami_internal_grant *grant, int code,
                                   struct hami_internal_after *after);

/* Ends a wait; it must still be queued. With code 0 its lease is given a share of
 * `grant`. */
void hami_internal_node_end_wait(struct hami_wait *wait, int code,
                                 struct hami_internal_grant *grant,
                                 struct hami_internal_after *after, const char *format,
                                 ...) __attribute__((format(printf, 5, 6)));

/* Ends everybody who waits for this node. */
void hami_internal_node_end_all_waits(struct hami_internal_node *node, int code,
                                      struct hami_internal_after *after,
                                      const char *text);

/* Ends a release or check. */
void hami_internal_node_end_done(struct hami_internal_node *node,
                                 struct hami_internal_done *done, int code,
                                 struct hami_internal_after *after, const char *format,
                                 ...) __attribute__((format(printf, 5, 6)));

/* When the manager is freed: releases and checks that are under way end with CLOSED. */
void hami_internal_node_end_dones(struct hami_internal_node *node,
                                  struct hami_internal_after *after);

/* Looks what cancel flags have fired and ends their waits. */
void hami_internal_node_cancel(struct hami_internal_node *node,
                               struct hami_internal_after *after);

/* The wait whose deadline is the first; NULL = none has one. */
struct hami_wait *hami_internal_node_due(const struct hami_internal_node *node);

/* Ends what is past its deadline. False if there is more: the mutex is to be let go
 * first, so that `after` has room. */
bool hami_internal_node_expire(struct hami_internal_node *node, uint64_t now_ns,
                               struct hami_internal_after *after);

/*
 * A further acquire of the grant's owner gets a share of it. Not once the owner's
 * Bindings were revoked: none under this grant could succeed, and the record is the next
 * waiter's.
 */
bool hami_internal_node_is_shared(const struct hami_internal_grant *grant,
                                  const struct hami_owner *owner);

/* The lock that stands is the owner's, and no grant of this process; nor was it
 * revoked. */
bool hami_internal_node_is_own(const struct hami_internal_slot *slot,
                               const struct hami_owner *owner);

/* Finds waiters whose own lock this slot's pair is: they need not wait for it. */
void hami_internal_node_mark_own(struct hami_internal_node *node, struct hami_wait *wait);
void hami_internal_node_mark_all_own(struct hami_internal_node *node);

#endif
