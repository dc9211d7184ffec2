/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A HAMi v2.10 scheduler beside ours, for other pods of the same nodes: it locks by a
 * merge patch with the node's version, looks again after a conflict, takes a lock whose
 * pod it can't find, binds without uid and version, and releases by name.
 */
#ifndef TESTS_SIMULATION_FOREIGN_H
#define TESTS_SIMULATION_FOREIGN_H

#include "world.h"

/* Binds one of its pods; the pod is tried again later if that fails. */
void foreign_bind(struct world *world, struct pod *pod);

#endif
