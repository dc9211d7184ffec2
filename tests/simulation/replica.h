/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes of the scheduler side: each has a manager and a transport of its own. They
 * start, stand still, die without a word, and lose the network.
 */
#ifndef TESTS_SIMULATION_REPLICA_H
#define TESTS_SIMULATION_REPLICA_H

#include "world.h"

void replica_start(struct world *world, int index);
/* Dies: nothing is written, nobody is told. */
void replica_kill(struct world *world, int index);
bool replica_is_awake(const struct world *world, int index);

/* When a manager has something to do by itself; NEVER if none has. */
uint64_t replica_next(struct world *world);
/* Lets the managers do what is due now. */
void replica_run(struct world *world);

/* To be called so often: looks for locks that a manager has kept for long though none of its leases stands for
 * them, or that it wrote and has not undone. */
#define REPLICA_CHECK_EVERY (2 * SECOND)
void replica_check_locks(struct world *world);

/* Looks for what should be gone when nothing is under way any more, and kills all. */
void replica_finish(struct world *world);

#endif
