/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a wait may queue, and what it may expect. Pure but for the node that it looks
 * at; the node's mutex is held.
 */
#ifndef HAMI_LIB_ADMIT_H
#define HAMI_LIB_ADMIT_H

#include "internal.h"

/* How long it takes until somebody gets a permit of the key for whom `ahead` others are
 * served before; 0 = at once, or no pace is measured. */
uint64_t hami_internal_admit_expect(const struct hami_internal_node *node,
                                    const struct hami_internal_key *key, uint64_t ahead,
                                    uint64_t now_ns);

#endif
