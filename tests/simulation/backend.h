/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ways in which a replica's manager reaches the simulated server: by the edits as
 * they are, and through the Kubernetes library (its transport, watches, JSON and Bindings
 * are the shipped ones; only the HTTP client below them is simulated).
 */
#ifndef TESTS_SIMULATION_BACKEND_H
#define TESTS_SIMULATION_BACKEND_H

#include "network.h"

/* Makes a transport for a replica. */
struct hami_transport *plain_new(struct world *world, int replica);
void plain_free(struct hami_transport *transport);

struct hami_transport *client_new(struct world *world, int replica);
void client_free(struct hami_transport *transport);

/* Carries out what was cancelled in the Kubernetes library since the last call. */
void client_pump(struct hami_transport *transport);

/* Binds a lease's owner through the Kubernetes library. */
int client_bind(struct hami_transport *transport, const hami_lease *lease,
                uint64_t deadline_ns, hami_done_fn callback, void *data);

/* The Kubernetes library's clock shows this world's time from now on. */
void client_enter(struct world *world);

/* What an object says as facts; NULL = there is no such pod. Texts are borrowed; version
 * is written to buffer. */
void backend_facts(const struct object *object, enum hami_facts_source source,
                   char *buffer, size_t size, struct hami_owner_facts *ret);

#endif
