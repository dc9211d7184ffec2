/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events on pods that wait for their turn: one Event object a pod, which says for whom it
 * waits and is brought up to date now and then. They are made from looks at the manager,
 * by a timer, so that no bind waits for one or knows of them; and they have a budget of
 * their own, beyond which they are left out.
 */
#ifndef HAMID_SCHEDULER_POD_EVENTS_H
#define HAMID_SCHEDULER_POD_EVENTS_H

#include <hami/kubernetes.h>

struct event_base;
struct metrics;
struct pod_events;

#define POD_EVENTS_BURST 20
#define POD_EVENTS_EVERY_NS UINT64_C(1000000000)

/*
 * Begins to look.
 * @after_ms  how long a pod waits before it gets its first one; later ones come after
 * twice the time each, up to 10 minutes Returns    NULL without memory
 */
struct pod_events *pod_events_new(struct event_base *base, hami_nodelock *lock,
                                  hami_kubernetes *client, struct metrics *metrics,
                                  uint64_t after_ms);

/* Looks no more: before the manager is freed. Takes NULL. */
void pod_events_stop(struct pod_events *events);

/* After the client was freed. Takes NULL, returns NULL. */
struct pod_events *pod_events_free(struct pod_events *events);

#endif
