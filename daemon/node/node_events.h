/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on the Node object: Allocates that were refused, devices that another pod has.
 * They have a budget of their own and are dropped beyond it: news for people must never
 * stand in the way of a write that frees a lock.
 */
#ifndef HAMID_NODE_NODE_EVENTS_H
#define HAMID_NODE_NODE_EVENTS_H

#include <hami/kubernetes.h>

#include "budget.h"

#define NODE_EVENTS_BURST 5
#define NODE_EVENTS_EVERY_NS (10 * UINT64_C(1000000000))

struct node_events {
    hami_kubernetes *client;
    const char *node; /* borrowed */
    struct hamid_budget budget;
    uint64_t sent;
    uint64_t dropped;
};

void node_events_init(struct node_events *events, hami_kubernetes *client,
                      const char *node, uint64_t now_ns);

/* Takes one from the budget, if there is any. */
bool node_events_may_send(struct node_events *events, uint64_t now_ns);

/* Sends one, or drops it. Never blocks; nobody is told how it ended.
 * @reason   one word, such as "AllocateRefused" */
void node_events_send(struct node_events *events, const char *reason, const char *message,
                      uint64_t now_ns);

#endif
