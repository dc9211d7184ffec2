/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What others do to a node's annotations: tools that know nothing of our second
 * annotation drop it or spoil it, old programs leave lock values of another kind.
 */
#ifndef TESTS_SIMULATION_VANDAL_H
#define TESTS_SIMULATION_VANDAL_H

#include "world.h"

/* Now and then, for a node that is looked at; draws the same numbers whatever it finds.
 */
void vandal_visit(struct world *world, struct node *node);

/* A lock was granted there: its lease may be spoilt soon. */
void vandal_granted(struct world *world, struct node *node);

#endif
