/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of waiters: a list in which the first is served first. Pure; the node's mutex
 * guards it.
 *
 * Within one priority the arrival numbers (places) decide, also for a waiter that comes
 * back with its old one. A higher priority goes before a lower one, but at most
 * HAMI_INTERNAL_PASSED_MAX waiters of higher priority that came later may ever be put
 * before a given waiter (one that comes back to its old place counts no more); so nobody
 * starves.
 */
#ifndef HAMI_LIB_QUEUE_H
#define HAMI_LIB_QUEUE_H

#include "internal.h"

#define HAMI_INTERNAL_PASSED_MAX 4

/* Puts a waiter where its place and priority say. */
void hami_internal_queue_insert(struct hami_internal_list *waiters,
                                struct hami_wait *wait);

#endif
