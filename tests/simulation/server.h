/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulated server does with a request, atomically: reads, compare-and-set,
 * Bindings, and the writes of the node side.
 */
#ifndef TESTS_SIMULATION_SERVER_H
#define TESTS_SIMULATION_SERVER_H

#include "network.h"

/* Returns an HTTP status. @ret with 2xx the object as it stands then, a reference. */
int server_apply(struct request *request, struct object **ret, char **ret_page);

#endif
