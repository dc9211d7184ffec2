/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The two guarded writes of a lock alone, into the barest store: what it can't do without. */
#ifndef BENCH_WRITES_H
#define BENCH_WRITES_H

/* Once, before all else. */
void writes_set_up(void);

/* Return 0, or -1 where something else stood there. One thread. @me  any */
int writes_take(unsigned me);
int writes_give(unsigned me);

#endif
