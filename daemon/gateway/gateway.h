/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway: stands between the kubelet and a vendor's device plugin that knows nothing
 * of it. Loop's thread, but for the library's callbacks, which post a letter each.
 *
 *   vendor's plugin -- Register --> FRONT/kubelet.sock (ours)
 *   kubelet <-- Register -- gateway, with a socket of ours in the kubelet's folder
 *   kubelet -- ListAndWatch, GetPreferredAllocation --> passed on as they are
 *   kubelet -- Allocate --> whose is it? -> vendor's Allocate -> done or failed
 *   kubelet -- PreStartContainer --> do the kubelet's books agree? -> vendor's, if it has
 * one
 *
 * An Allocate that can't be told apart is refused before the vendor hears of it, and
 * nothing is written to any pod.
 */
#ifndef HAMID_GATEWAY_GATEWAY_H
#define HAMID_GATEWAY_GATEWAY_H

#include <hami/kubernetes.h>
#include <stdio.h>

#include "node/checks.h"
#include "node/node_events.h"

struct event_base;
struct gateway;
struct hamid_mailbox;

/* Texts and objects are borrowed for the gateway's life. */
struct gateway_config {
    struct event_base *base;
    struct hamid_mailbox *mailbox;
    hami_handshake *handshake;
    struct node_events *events;
    struct books *books;
    struct checks *checks;
    const char *node;                            /* for the log */
    bool needs_books;                            /* refuse while they can't be read */
    const char *front;                           /* folder of the vendor's plugins */
    const char *kubelet;                         /* the kubelet's plugin folder */
    const struct hami_handshake_vendor *vendors; /* whose resources may register */
    size_t vendor_count;
    uint64_t timeout_ms;        /* of our own part of an Allocate, before and after */
    uint64_t vendor_timeout_ms; /* of the vendor's */
};

/* Listens for vendors' plugins. NULL with a line in error. */
struct gateway *gateway_new(const struct gateway_config *config, char *error,
                            size_t size);

/* No new Allocate and no new plugin is taken. */
void gateway_stop(struct gateway *gateway);

/* No Allocate is between its beginning and its answer. */
bool gateway_is_idle(const struct gateway *gateway);

/* Closes all sockets; calls end. Work may still be with the library. */
void gateway_close(struct gateway *gateway);

/* Allocates that the library has not answered. */
size_t gateway_pending(const struct gateway *gateway);

/* Takes NULL, returns NULL. gateway_pending() must be 0. */
struct gateway *gateway_free(struct gateway *gateway);

/* Metrics in Prometheus' text form. `data` is the gateway. */
void gateway_metrics(FILE *out, void *data);

#endif
