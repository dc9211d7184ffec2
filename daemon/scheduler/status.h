/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /api/v1 of the second listener: who holds which node, who waits, and what happened
 * lately. Only looks: nothing can be done by it. See docs/scheduler-openapi.json.
 */
#ifndef HAMID_SCHEDULER_STATUS_H
#define HAMID_SCHEDULER_STATUS_H

#include "http/server.h"

struct history;
struct service;
struct status;

/* @service  borrowed; need not be complete before the first request. NULL without memory
 */
struct status *status_new(struct service *service);

/* After the server whose requests it answers. Takes NULL, returns NULL. */
struct status *status_free(struct status *status);

/* Where binds are noted. */
struct history *status_history(struct status *status);

/* The routes' handlers; data is the service. */
void status_handle_page(struct hamid_http_exchange *exchange, void *data);
void status_handle_nodes(struct hamid_http_exchange *exchange, void *data);
void status_handle_node(struct hamid_http_exchange *exchange, void *data);
void status_handle_pod(struct hamid_http_exchange *exchange, void *data);
void status_handle_events(struct hamid_http_exchange *exchange, void *data);

#endif
