/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory that answers from a thread of its own, in another order of events
 * than its callers', and loses answers on demand.
 */
#ifndef TESTS_CORE_REMOTE_H
#define TESTS_CORE_REMOTE_H

#include <hami/memory.h>
#include <hami/nodelock.h>

extern hami_memory *remote_store;
extern unsigned remote_lose_each; /* every n-th answer is lost; 0 = none */

void remote_start(void);
void remote_stop(void);

/* A manager on it; free it before remote_stop(). */
hami_nodelock *remote_manager(void);

#endif
