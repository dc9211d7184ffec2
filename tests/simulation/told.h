/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world whose history a test tells the checker by hand: what is written to node-0 and to
 * the pods, and by whom. One at a time.
 */
#ifndef TESTS_SIMULATION_TOLD_H
#define TESTS_SIMULATION_TOLD_H

#include "checker.h"

enum { TOLD_PODS = 8 };

extern struct world *world;
extern struct acquire waits[TOLD_PODS]; /* one for each pod */

/* A world of this plan with so many pods, none of them in the store yet; and a test's end. */
void told_start(struct plan plan, size_t pods);
void told_finish(void);

/* Node-0 becomes this object, which is the world's from then on. */
void told_node(struct object *next, enum writer writer);
/* Puts the pair of a pod into a record. @fence 0: no lease; @calls NULL: without them */
void told_set_pair(struct object *next, size_t slot, size_t pod, uint64_t fence,
                   const char *calls);

/* The same of a pod; NULL: it is gone. */
void told_pod(size_t index, struct object *next, enum writer writer);
void told_make_pod(size_t index);
void told_bind_pod(size_t index, enum writer writer);
void told_serve_pod(size_t index);

/* The pod waits for node-0 from now on, the last in its queue. */
void told_wait(size_t index, uint64_t place, int32_t priority);

void told_assert_clean(void);

#endif
