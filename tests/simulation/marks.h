/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node sides say of themselves in hami.io/mutex.agent, where pods may be side by
 * side: the mark comes and goes, and where it is gone and no permit is held a plugin that
 * goes by the lock's name may take the node over for a while.
 */
#ifndef TESTS_SIMULATION_MARKS_H
#define TESTS_SIMULATION_MARKS_H

#include "world.h"

/* A node was made; `object` is not stored yet. */
void marks_first(struct world *world, const struct node *node, struct object *object);

/* Somebody may restart the node side of this node, or change it. */
void marks_visit(struct world *world, struct node *node);

#endif
