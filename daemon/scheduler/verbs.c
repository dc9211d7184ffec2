/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is served at which path: the extender's verbs, probes, metrics, the locks view.
 */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>

#include "locks.h"
#include "log.h"
#include "pass.h"

/* ---- bind ----------------------------------------------------------------------- */

/* A bind request that waits for its answer. */
struct bind_exchange {
    struct hamid_http_exchange *exchange;
    struct bind_caller *caller;
};

static void answer_bind(struct hamid_http_exchange *exchange, const char *error)
{
    char *text = bind_answer_format(error);
    const char *body = text != NULL ? text : "{\"Error\":\"out of memory\"}";
    hamid_http_answer(exchange, 200, "application/json", body, strlen(body));
    free(text);
}

static void bind_answered(void *data, const char *error)
{
    struct bind_exchange *waiting = data;
    answer_bind(waiting->exchange, error);
    free(waiting);
}

static void bind_client_gone(void *data)
{
    struct bind_exchange *waiting = data;
    binder_leave(waiting->caller);
    free(waiting);
}

static void handle_bind(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    struct bind_request request;
    char error[BIND_ERROR_MAX];
    size_t length = 0;
    const char *body = hamid_http_body_text(exchange, &length);
    struct bind_exchange *waiting = calloc(1, sizeof(*waiting));
    if (body == NULL || waiting == NULL) {
        free(waiting);
        answer_bind(exchange, "hamid is out of memory");
        return;
    }
    if (bind_request_parse(body, length, &request, error) != 0) {
        service->metrics.binds[BIND_invalid]++;
        hamid_log_info(1, "Refused a bind request", "err", error, NULL);
        free(waiting);
        answer_bind(exchange, error);
        return;
    }
    waiting->exchange = exchange;
    hamid_http_on_gone(exchange, bind_client_gone, waiting);
    struct bind_caller *caller =
        binder_ask(service->binder, &request, bind_answered, waiting);
    if (caller != NULL) {
        waiting->caller = caller;
        hamid_http_release_request(exchange);
    }
}

static void handle_pass(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    pass_on(service->upstream, &service->metrics, exchange);
}

/* ---- probes --------------------------------------------------------------------- */

bool service_is_ready(const struct service *service, const char **ret_reason)
{
    const char *missing = hamid_denials_missing(service->denials);
    *ret_reason = "ok";
    if (service->draining) {
        *ret_reason = "shutting down";
    } else if (missing != NULL) {
        *ret_reason = missing;
    } else if (!hami_kubernetes_transport_is_synced(service->transport)) {
        *ret_reason =
            "the API server was not reached yet, or its watch is being started again";
    } else {
        return true;
    }
    return false;
}

static void answer_text(struct hamid_http_exchange *exchange, int status,
                        const char *text)
{
    hamid_http_answer(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static void handle_live(struct hamid_http_exchange *exchange, void *data)
{
    (void)data; /* that this runs is the proof: the loop turns */
    answer_text(exchange, 200,
                hamid_http_has_query(exchange, "verbose") ? "[+]loop ok\n" : "ok\n");
}

static void handle_ready(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    char text[512];
    const char *reason = NULL;
    bool is_ready = service_is_ready(service, &reason);
    bool is_synced = hami_kubernetes_transport_is_synced(service->transport);
    if (hamid_http_has_query(exchange, "verbose")) {
        (void)snprintf(
            text, sizeof(text),
            "[+]loop ok\n[%c]sync with the API server at %s\n[%c]not shutting down\n"
            "binds in flight: %zu\n%s\n",
            is_synced ? '+' : '-', hami_kubernetes_server(service->client),
            service->draining ? '-' : '+', binder_in_flight(service->binder), reason);
    } else {
        (void)snprintf(text, sizeof(text), "%s\n", reason);
    }
    answer_text(exchange, is_ready ? 200 : 503, text);
}

/* ---- metrics and the locks view ------------------------------------------------- */

static void handle_metrics(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    const char *reason = NULL;
    struct changes_counts changes;
    struct metrics_sources sources = {
        .counts = &service->metrics,
        .changes = &changes,
        .lock = service->lock,
        .client = service->client,
        .binds_in_flight = binder_in_flight(service->binder),
        .connections = hamid_http_server_connections(service->server),
        .ready = service_is_ready(service, &reason),
    };
    struct evbuffer *out = evbuffer_new();
    if (out == NULL) {
        answer_text(exchange, 503, "out of memory\n");
        return;
    }
    changes_read(service->changes, &changes);
    metrics_write(&sources, out);
    service_listener_metrics(service, out);
    char *denials = hamid_denials_metrics(service->denials);
    (void)evbuffer_add_printf(out, "%s", denials != NULL ? denials : "");
    free(denials);
    hamid_http_answer_buffer(exchange, 200, "text/plain; version=0.0.4; charset=utf-8",
                             out);
    evbuffer_free(out);
}

/* ?node=NAME shows one node, even if it is free. */
static void handle_locks(struct hamid_http_exchange *exchange, void *data)
{
    struct service *service = data;
    char node[HAMI_NODELOCK_NODE_MAX + 1] = "";
    const char *query = hamid_http_query(exchange);
    if (strncmp(query, "node=", 5) == 0 && strlen(query + 5) < sizeof(node)) {
        memcpy(node, query + 5, strlen(query + 5) + 1);
    }
    char *text = locks_format(service->lock, node[0] != '\0' ? node : NULL);
    if (text == NULL) {
        answer_text(exchange, 503, "out of memory\n");
        return;
    }
    hamid_http_answer(exchange, 200, "application/json", text, strlen(text));
    free(text);
}

/* ---- routes --------------------------------------------------------------------- */

static const struct hamid_http_route extender_routes[] = {
    {"POST", "/bind", handle_bind, BIND_BODY_MAX, true},
    {"POST", "/filter", handle_pass, UPSTREAM_BODY_MAX, true},
    {"POST", "/prioritize", handle_pass, UPSTREAM_BODY_MAX, true},
    {"POST", "/preempt", handle_pass, UPSTREAM_BODY_MAX, true},
    {"GET", "/livez", handle_live, 0, false},
    {"GET", "/healthz", handle_live, 0, false},
    {"GET", "/readyz", handle_ready, 0, false},
    {"GET", "/metrics", handle_metrics, 0, false},
    {"GET", "/v1/locks", handle_locks, 0, false},
};

static const struct hamid_http_route status_routes[] = {
    {"GET", "/", status_handle_page, 0, false},
    {"GET", "/livez", handle_live, 0, false},
    {"GET", "/healthz", handle_live, 0, false},
    {"GET", "/readyz", handle_ready, 0, false},
    {"GET", "/metrics", handle_metrics, 0, false},
    {"GET", "/v1/locks", handle_locks, 0, false},
    {"GET", "/api/v1/nodes", status_handle_nodes, 0, false},
    {"GET", "/api/v1/nodes/*", status_handle_node, 0, false},
    {"GET", "/api/v1/pods/*", status_handle_pod, 0, false},
    {"GET", "/api/v1/events", status_handle_events, 0, false},
};

/* A body that is too large is told in the extender's own form; the rest by its status. */
static void refuse(struct hamid_http_exchange *exchange, int status, const char *text,
                   void *data)
{
    struct service *service = data;
    char error[BIND_ERROR_MAX];
    const char *path = hamid_http_path(exchange);
    if (status != 413 || path == NULL || strcmp(path, "/bind") != 0) {
        answer_text(exchange, status, text);
        return;
    }
    service->metrics.binds[BIND_invalid]++;
    (void)snprintf(error, sizeof(error), "invalid bind request: longer than %d bytes",
                   BIND_BODY_MAX);
    answer_bind(exchange, error);
}

void service_http_config(struct service *service, bool is_extender,
                         struct hamid_http_config *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->data = service;
    ret->hosts = service->hosts;
    ret->host_count = service->host_count;
    if (is_extender) {
        ret->routes = extender_routes;
        ret->route_count = sizeof(extender_routes) / sizeof(extender_routes[0]);
        ret->refuse = refuse;
    } else {
        ret->routes = status_routes;
        ret->route_count = sizeof(status_routes) / sizeof(status_routes[0]);
        ret->takes_addresses = true; /* probes and scrapes name a pod's address */
    }
}
