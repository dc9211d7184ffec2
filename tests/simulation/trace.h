/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last events of each node, kept as text for the one run that shows a violation.
 */
#ifndef TESTS_SIMULATION_TRACE_H
#define TESTS_SIMULATION_TRACE_H

#include "world.h"

void trace_start(struct world *world, bool keep);
void trace_done(struct world *world);

/* A line of one node; `node` NULL = of all. Nothing happens unless traces are kept. */
void trace_line(struct world *world, const struct node *node, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void trace_node(struct world *world, const struct node *node, const struct object *before,
                const struct object *after, const char *who);
void trace_pod(struct world *world, const struct pod *pod, const struct object *before,
               const struct object *after, const char *who);

/* Writes the last lines that concern a node. */
void trace_print(struct world *world, const struct node *node);

#endif
