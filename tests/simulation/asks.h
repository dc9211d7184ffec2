/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's containers ask of device plugins: each has one call, RESOURCE=COUNT, of a
 * few kinds, and its devices in one section of the annotation that a plugin empties.
 */
#ifndef TESTS_SIMULATION_ASKS_H
#define TESTS_SIMULATION_ASKS_H

#include "world.h"

/* Draws them for a pod; where pods are not side by side each has one call of one kind. */
void asks_draw(struct world *world, struct pod *pod);

/* The annotation of a pod that nobody has served yet. */
void asks_devices(const struct pod *pod, char *buffer, size_t size);

/* A set of kinds as a request names it. */
void asks_text(unsigned set, char *buffer, size_t size);

/* This container's section has something left. */
bool asks_is_left(const char *devices, unsigned container);

/* The annotation without what this container's section had; "" never. */
void asks_without(const char *devices, unsigned container, char *buffer, size_t size);

#endif
