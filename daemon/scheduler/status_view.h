/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What /api/v1 answers, as JSON: made of the manager's snapshot and of the history. The
 * forms are those of docs/scheduler-openapi.json.
 */
#ifndef HAMID_SCHEDULER_STATUS_VIEW_H
#define HAMID_SCHEDULER_STATUS_VIEW_H

#include <stdbool.h>

#include <hami/nodelock.h>
#include <jansson.h>

#include "history.h"

#define STATUS_NEXT_MAX 3 /* waiters that the list of nodes shows of each */
#define STATUS_EVENTS_MAX 32
#define STATUS_HAND_OVERS_MAX 1024
#define STATUS_HAND_OVERS_NS (120ull * 1000000000)

/* Where the views get their facts. */
struct status_facts {
    hami_nodelock *lock;
    const struct history *history;
    bool is_ready;
    const char *ready_reason;
};

/* Each makes a new object; NULL without memory. */

/* @all      idle nodes as well */
json_t *status_view_nodes(const struct status_facts *facts, bool all);

/* *ret_found: false where the manager knows no such node; an object with "error" then. */
json_t *status_view_node(const struct status_facts *facts, const char *node,
                         bool *ret_found);

/* Likewise where the pod neither waits nor holds. */
json_t *status_view_pod(const struct status_facts *facts, const char *namespace_name,
                        const char *name, bool *ret_found);

/* What happened after number `after`. */
json_t *status_view_events(const struct status_facts *facts, uint64_t after);

/* Arrays: of the locks that are alarms, and of the hand-overs of the last minutes. */
json_t *status_view_alarms(const struct status_facts *facts);
json_t *status_view_hand_overs(const struct status_facts *facts);

json_t *status_view_problem(const char *text);

#endif
