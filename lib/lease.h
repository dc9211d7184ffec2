/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a holder does with its lease, and what it is told. */
#ifndef HAMI_LIB_LEASE_H
#define HAMI_LIB_LEASE_H

#include "internal.h"

/* Tells the holders of lost leases of this node by config.owner_lost. No lock is held. */
void hami_internal_lease_tell_lost(struct hami_internal_node *node);

/* Tells the end of an asynchronous release or check by its callback, and frees it. No
 * lock is held. */
void hami_internal_lease_deliver(struct hami_nodelock *lock,
                                 struct hami_internal_done *done);

#endif
