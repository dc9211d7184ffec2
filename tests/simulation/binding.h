/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Binding of a granted acquire: through the Kubernetes library, or (plain backend) by
 * the same rules in small.
 */
#ifndef TESTS_SIMULATION_BINDING_H
#define TESTS_SIMULATION_BINDING_H

#include "world.h"

/* binder_bound() follows, unless the replica dies first. */
void binding_start(struct acquire *acquire);
/* Its replica has died. */
void binding_forget(struct acquire *acquire);

/* 0 = bound here; IN_DOUBT; else it is surely not bound by this lease, and won't be. In
 * binder.c. */
void binder_bound(struct acquire *acquire, int code);

#endif
