/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's socket: its routes, its probes, its life. Loop's thread.
 */
#include "agent_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "log.h"

#define ALLOCATION_BODY_MAX (256u * 1024)
#define END_BODY_MAX (16u * 1024)
#define CONNECTIONS_MAX 256
#define READ_MS 5000
#define WRITE_MS 5000
#define EXPIRE_EVERY_MS 1000

/* A refusal of the HTTP server itself. */
static void refuse(struct hamid_http_exchange *exchange, int status, const char *text,
                   void *data)
{
    (void)data;
    agent_answer_error(exchange, status, "INVAL", text);
}

/* ---- probes
 * ------------------------------------------------------------------------ */

static void handle_livez(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    hamid_http_answer(exchange, 200, "text/plain", "ok\n", 3);
}

static void handle_readyz(struct hamid_http_exchange *exchange, void *data)
{
    const struct agent *agent = data;
    const char *missing = hamid_denials_missing(agent->config.denials);
    char text[640];

    if (agent->is_ready && !agent->is_stopping && missing == NULL) {
        hamid_http_answer(exchange, 200, "text/plain", "ok\n", 3);
        return;
    }
    (void)snprintf(text, sizeof(text), "not ready: %s\n",
                   missing != NULL ? missing
                                   : "the node was not written to yet, or shutting down");
    hamid_http_answer(exchange, 503, "text/plain", text, strlen(text));
}

static const struct hamid_http_route routes[] = {
    {"POST", "/v1/allocations", agent_handle_allocation, ALLOCATION_BODY_MAX, false},
    {"POST", "/v1/allocations/*", agent_handle_end, END_BODY_MAX, false},
    {"POST", "/v1/starts", agent_handle_start, ALLOCATION_BODY_MAX, false},
    {"GET", "/livez", handle_livez, 0, false},
    {"GET", "/healthz", handle_livez, 0, false},
    {"GET", "/readyz", handle_readyz, 0, false},
    {"GET", "/metrics", agent_handle_metrics, 0, false},
};

/* ---- life
 * --------------------------------------------------------------------------------------
 */

static void expire_due(evutil_socket_t fd, short what, void *data)
{
    struct agent *agent = data;
    size_t forgotten = allocations_expire(&agent->table, hami_kubernetes_now());
    char count[24];

    (void)fd;
    (void)what;
    if (forgotten > 0) {
        hamid_log_warning(
            "Forgot allocations whose plugin never said done or failed: nothing was "
            "written, the lock stays with the pod",
            "count", hamid_log_number(count, forgotten), NULL);
    }
}

static int start_timer(struct agent *agent)
{
    struct timeval every = {EXPIRE_EVERY_MS / 1000, 0};

    agent->expire = event_new(agent->config.base, -1, EV_PERSIST, expire_due, agent);
    return agent->expire != NULL ? event_add(agent->expire, &every) : -1;
}

struct agent *agent_new(const struct agent_config *config, char *error, size_t error_size)
{
    struct hamid_http_config http = {
        .routes = routes,
        .route_count = sizeof(routes) / sizeof(routes[0]),
        .refuse = refuse,
        .connections_max = CONNECTIONS_MAX,
        .read_ms = READ_MS,
        .write_ms = WRITE_MS,
    };
    struct agent *agent = calloc(1, sizeof(*agent));

    (void)snprintf(error, error_size, "out of memory");
    if (agent == NULL) {
        return NULL;
    }
    agent->config = *config;
    http.data = agent;
    if (allocations_init(&agent->table, config->lifetime_ms * UINT64_C(1000000)) < 0) {
        (void)snprintf(error, error_size, "the system gives no random bytes");
        free(agent);
        return NULL;
    }
    agent->server = hamid_http_server_new(config->base, &http);
    if (agent->server == NULL || start_timer(agent) < 0 ||
        hamid_http_listen_unix(agent->server, config->socket, 0600, error, error_size) !=
            0) {
        return agent_free(agent);
    }
    return agent;
}

void agent_set_ready(struct agent *agent, bool is_ready)
{
    agent->is_ready = is_ready;
}

void agent_stop(struct agent *agent)
{
    agent->is_stopping = true;
}

bool agent_is_idle(const struct agent *agent)
{
    return agent->pending == 0 && agent->table.open == 0 &&
           hamid_http_server_busy(agent->server) == 0;
}

void agent_close(struct agent *agent)
{
    agent->server = hamid_http_server_free(agent->server);
}

size_t agent_pending(const struct agent *agent)
{
    return agent->pending;
}

struct agent *agent_free(struct agent *agent)
{
    if (agent != NULL) {
        if (agent->server != NULL) {
            agent_close(agent);
        }
        if (agent->expire != NULL) {
            event_free(agent->expire);
        }
        allocations_done(&agent->table);
        free(agent);
    }
    return NULL;
}
