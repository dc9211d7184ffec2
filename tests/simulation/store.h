/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the simulated API server: which nodes and pods there are, their versions,
 * and the history that watches are served from. Each change goes to the checker, to the
 * trace and to the watches.
 */
#ifndef TESTS_SIMULATION_STORE_H
#define TESTS_SIMULATION_STORE_H

#include "world.h"

void store_start(struct world *world);
void store_done(struct world *world);

/* The node or pod of a name; NULL if the world never knew one. */
struct node *store_node(struct world *world, const char *name);
struct pod *store_pod(struct world *world, const char *name);

/*
 * Puts a new value in place of what stands; next NULL deletes. Consumes next. `who` is
 * for the trace.
 */
void store_put_node(struct world *world, struct node *node, struct object *next,
                    enum writer writer, const char *who);
void store_put_pod(struct world *world, struct pod *pod, struct object *next,
                   enum writer writer, const char *who);

/* The pod that a lock value names; NULL if it is none, or names none. */
struct pod *store_named(struct world *world, const char *lock);

/* The record that an annotation key is of; NULL = of none. */
const struct slot *store_slot(const struct world *world, const char *key);

/* Makes a pod's name, without a pod. */
struct pod *store_new_pod(struct world *world);

/* A fresh uid of an object. */
void store_uid(struct world *world, const char *kind, char *buffer, size_t size);

#endif
