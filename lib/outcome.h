/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What an answer, or news, means for a node. With the node's mutex held; no I/O. */
#ifndef HAMI_LIB_OUTCOME_H
#define HAMI_LIB_OUTCOME_H

#include "internal.h"

/* Applies the answer of the operation in flight and ends the operation; the call becomes
 * the spare. */
void hami_internal_outcome_apply(struct hami_internal_node *node,
                                 struct hami_internal_after *after);

/*
 * Applies what a watch told of one slot. May swap buffers with `pair`. While a call is in
 * flight that reads or writes records it is kept aside until the answer is there.
 */
void hami_internal_outcome_news(struct hami_internal_node *node,
                                struct hami_internal_slot *slot,
                                struct hami_internal_pair *pair, const char *version,
                                struct hami_internal_after *after);

/* The node is gone, by a read or a write that said so. */
void hami_internal_outcome_node_gone(struct hami_internal_node *node, const char *text,
                                     struct hami_internal_after *after);

#endif
