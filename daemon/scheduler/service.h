/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scheduler role put together: API client, transport, lock manager, binder,
 * listeners, on one event loop.
 */
#ifndef HAMID_SCHEDULER_SERVICE_H
#define HAMID_SCHEDULER_SERVICE_H

#include "bind.h"
#include "changes.h"
#include "certificates.h"
#include "options.h"
#include "pod_events.h"
#include "status.h"
#include "upstream.h"

#include <event2/event.h>

#include <hami/kubernetes.h>

#include "denials.h"
#include "http/server.h"
#include "mailbox.h"
#include "reload.h"

struct service {
    struct scheduler_options options;
    int argc;
    char *const *argv;
    struct hamid_reload *reload;     /* SIGHUP; hamid_reload_add() takes more hooks */
    struct scheduler_options *fresh; /* while a reload runs */
    struct lock_table *first_locks;  /* that the process was started with */
    const char *hosts[OPTIONS_HOSTS_MAX];
    size_t host_count;
    char addresses[2][160]; /* bound: --listen, --metrics-listen */
    struct event_base *base;
    struct hamid_mailbox *mailbox;
    struct hamid_denials *denials;
    hami_kubernetes *client;
    struct hami_transport *transport;
    hami_nodelock *lock;
    struct binder *binder;
    struct pod_events *pod_events; /* NULL = none */
    struct upstream *upstream;
    struct certificates *certificates; /* NULL = plain HTTP */
    struct hamid_http_server *server;
    struct hamid_http_server *metrics_server; /* NULL = none */
    struct status *status;
    struct changes *changes;
    struct metrics metrics;
    struct event *dispatch_timer;
    struct event *signals[2];
    struct event *drain_timer;
    struct event *ready_timer;
    uint64_t drain_started_ns;
    bool draining;
    bool was_ready; /* the service manager knows */
};

/* listeners.c. Each returns the exit status, and has logged why it is not 0. */
int service_listen(struct service *service);
/* The file appears whole: scripts wait for it. */
int service_write_addresses(const struct service *service);
/* Appends the metrics of both. */
void service_listener_metrics(const struct service *service, struct evbuffer *out);
int service_fail(const char *what, const char *why);

/* reload.c */
int service_start_reload(struct service *service);
void service_stop_reload(struct service *service);

/* verbs.c: the routes of both listeners; their data is the service. */
void service_http_config(struct service *service, bool is_extender,
                         struct hamid_http_config *ret);

/* Can a bind be served now? @ret_reason receives why not. */
bool service_is_ready(const struct service *service, const char **ret_reason);

#endif
