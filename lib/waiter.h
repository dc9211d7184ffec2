/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One acquire from its request to its end. */
#ifndef HAMI_LIB_WAITER_H
#define HAMI_LIB_WAITER_H

#include "internal.h"

/* Tells an ended asynchronous wait's end by its callback, and frees it. No lock is held.
 */
void hami_internal_waiter_deliver(struct hami_wait *wait);

#endif
