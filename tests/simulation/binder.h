/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binders: what a scheduler does with a pod that has a node. Acquire, Binding with the
 * pod's uid and the version read before, then hand-off or release; and again after a
 * pause, through any replica.
 */
#ifndef TESTS_SIMULATION_BINDER_H
#define TESTS_SIMULATION_BINDER_H

#include "world.h"

/* Starts an acquire of a pod in a replica that is up. */
void binder_start(struct world *world, struct pod *pod, int replica);

/* The pod is tried again after a pause, if it still needs it by then. */
void binder_retry(struct world *world, struct pod *pod, uint64_t delay_ns);

/* A replica has died: what was under way there is over. */
void binder_bury(struct world *world, int replica);

/* Waits of a pod are given up by their caller. */
void binder_abort(struct world *world, struct pod *pod);

/* Looks for acquires that never ended; frees all. */
void binder_done(struct world *world);

#endif
