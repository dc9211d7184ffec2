/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The plain transport's watches: what they saw last, and telling the manager. */
#ifndef TESTS_SIMULATION_PLAIN_WATCH_H
#define TESTS_SIMULATION_PLAIN_WATCH_H

#include "world.h"

struct plain_watch;

struct plain_watch *plain_watch_new(struct world *world, int replica);
void plain_watch_free(struct plain_watch *watch);
void plain_watch_begin(struct plain_watch *watch, hami_nodelock *lock);
void plain_watch_end(struct plain_watch *watch);

/* A pod as its watch shows it, borrowed; NULL = not there, or the watch is behind. */
struct object *plain_watch_pod(struct plain_watch *watch, uint32_t index);

#endif
