/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The manager's life. */
#ifndef HAMI_LIB_MANAGER_H
#define HAMI_LIB_MANAGER_H

#include "internal.h"

bool hami_internal_manager_is_forked(const struct hami_nodelock *lock);

/* References on the manager's memory: the creator's, and one a lease. The last one frees
 * it. */
void hami_internal_manager_ref(struct hami_nodelock *lock);
void hami_internal_manager_unref(struct hami_nodelock *lock);

#endif
