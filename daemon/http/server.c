/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners, and which route a request belongs to. What becomes of a connection is in
 * connection.c.
 */
#include "internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "address.h"

#define BACKLOG 4096

/* ---- routes --------------------------------------------------------------------- */

static bool is_path_of(const struct hamid_http_route *route, const char *path)
{
    size_t length = strlen(route->path);
    if (length > 0 && route->path[length - 1] == '*') {
        return strncmp(path, route->path, length - 1) == 0;
    }
    return strcmp(path, route->path) == 0;
}

static bool is_ip_address(const char *host, size_t length)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char address[sizeof(struct in6_addr)];
    if (length >= sizeof(text)) {
        return false;
    }
    memcpy(text, host, length);
    text[length] = '\0';
    return inet_pton(AF_INET, text, address) == 1 ||
           inet_pton(AF_INET6, text, address) == 1;
}

/* A Host header without its port: "localhost:80", "[::1]:80". */
static bool is_host_listed(const struct hamid_http_config *config, const char *host)
{
    size_t length = strlen(host);
    const char *colon = strrchr(host, ':');
    if (colon != NULL && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
        length = (size_t)(colon - host);
    }
    if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
        host++;
        length -= 2;
    }
    if (config->takes_addresses && is_ip_address(host, length)) {
        return true;
    }
    for (size_t i = 0; i < config->host_count; i++) {
        if (strlen(config->hosts[i]) == length &&
            strncasecmp(config->hosts[i], host, length) == 0) {
            return true;
        }
    }
    return false;
}

int hamid_http_route_find(struct hamid_http_server *server,
                          const struct hamid_http_head *head,
                          const struct hamid_http_route **ret, const char **ret_text)
{
    const struct hamid_http_config *config = &server->config;
    const char *host = hamid_http_head_header(head, "Host");
    bool is_known = false;
    if (config->hosts != NULL && (host == NULL || !is_host_listed(config, host))) {
        *ret_text = "this Host is not served here\n";
        return 421;
    }
    for (size_t i = 0; i < config->route_count; i++) {
        const struct hamid_http_route *route = &config->routes[i];
        if (!is_path_of(route, head->path)) {
            continue;
        }
        is_known = true;
        *ret = route;
        if (strcmp(route->method, head->method) != 0) {
            continue;
        }
        if (route->wants_json &&
            !hamid_http_is_json(hamid_http_head_header(head, "Content-Type"))) {
            *ret_text = "the Content-Type must be application/json\n";
            return 415;
        }
        return 0;
    }
    *ret_text =
        is_known ? "this path has another method\n" : "there is nothing at this path\n";
    return is_known ? 405 : 404;
}

/* ---- listeners ------------------------------------------------------------------ */

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
                      struct sockaddr *address, int length, void *data)
{
    struct hamid_http_server *server = data;
    (void)listener;
    (void)length;
    if (server->draining) {
        (void)evutil_closesocket(fd);
        return;
    }
    server->has_stirred = true;
    server->stats.accepted++;
    hamid_http_connection_open(server, fd, address->sa_family == AF_UNIX);
    hamid_http_limits_make_room(server);
}

/* Out of file descriptors, most likely: leave the backlog alone for a moment. */
static void on_accept_error(struct evconnlistener *listener, void *data)
{
    (void)listener;
    hamid_http_limits_pause(data);
}

static void on_resume(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_server *server = data;
    (void)fd;
    (void)what;
    for (size_t i = 0; i < server->listener_count; i++) {
        (void)evconnlistener_enable(server->listeners[i]);
    }
    hamid_http_limits_make_room(server);
}

/* Takes a bound socket; closes it on failure. */
static int add_listener(struct hamid_http_server *server, int fd, char *error,
                        size_t error_size)
{
    struct evconnlistener *listener = NULL;
    hamid_http_stream_want_stamps(fd);
    if (server->listener_count < HAMID_HTTP_LISTENERS_MAX) {
        listener = evconnlistener_new(server->base, on_accept, server,
                                      LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                                      BACKLOG, fd);
    }
    if (listener == NULL) {
        (void)snprintf(error, error_size, "could not listen: %s", strerror(errno));
        (void)close(fd);
        return -1;
    }
    evconnlistener_set_error_cb(listener, on_accept_error);
    server->listeners[server->listener_count++] = listener;
    return 0;
}

int hamid_http_listen_fd(struct hamid_http_server *server, int fd, char *address,
                         size_t address_size, char *error, size_t error_size)
{
    if (address != NULL) {
        hamid_http_address_name(fd, address, address_size);
    }
    return add_listener(server, fd, error, error_size);
}

int hamid_http_listen_tcp(struct hamid_http_server *server, const char *text,
                          char *address, size_t address_size, char *error,
                          size_t error_size)
{
    int fd = hamid_http_address_bind_tcp(text, error, error_size);
    return fd < 0 ? -1
                  : hamid_http_listen_fd(server, fd, address, address_size, error,
                                         error_size);
}

int hamid_http_listen_unix(struct hamid_http_server *server, const char *path,
                           mode_t mode, char *error, size_t error_size)
{
    int fd = hamid_http_address_bind_unix(path, mode, error, error_size);
    if (fd < 0) {
        return -1;
    }
    server->unix_path = strdup(path);
    return add_listener(server, fd, error, error_size);
}

/* ---- life ----------------------------------------------------------------------- */

struct hamid_http_server *hamid_http_server_new(struct event_base *base,
                                                const struct hamid_http_config *config)
{
    struct hamid_http_server *server = calloc(1, sizeof(*server));
    if (server == NULL) {
        return NULL;
    }
    server->base = base;
    server->config = *config;
    struct hamid_http_config *own = &server->config;
    own->connections_max = own->connections_max != 0 ? own->connections_max : 20000;
    own->unrequested_max = own->unrequested_max != 0 ? own->unrequested_max
                                                     : own->connections_max / 4 * 3 + 1;
    own->held_bytes_max =
        own->held_bytes_max != 0 ? own->held_bytes_max : (size_t)256 << 20;
    own->handshake_ms = own->handshake_ms != 0 ? own->handshake_ms : 10000;
    own->read_ms = own->read_ms != 0 ? own->read_ms : 10000;
    own->idle_ms = own->idle_ms != 0 ? own->idle_ms : 120000;
    own->write_ms = own->write_ms != 0 ? own->write_ms : 30000;
    LIST_INIT(&server->exchanges);
    TAILQ_INIT(&server->arrived);
    TAILQ_INIT(&server->unrequested);
    server->resume = evtimer_new(base, on_resume, server);
    server->hand_out = evtimer_new(base, hamid_http_arrival_on_turn, server);
    server->tidy = evtimer_new(base, hamid_http_tidy_on_quiet, server);
    if (server->resume == NULL || server->hand_out == NULL || server->tidy == NULL) {
        return hamid_http_server_free(server);
    }
    return server;
}

struct hamid_http_server *hamid_http_server_free(struct hamid_http_server *server)
{
    if (server == NULL) {
        return NULL;
    }
    server->draining = true;
    for (size_t i = 0; i < server->listener_count; i++) {
        evconnlistener_free(server->listeners[i]);
    }
    while (!LIST_EMPTY(&server->exchanges)) {
        hamid_http_connection_close(LIST_FIRST(&server->exchanges));
    }
    if (server->unix_path != NULL) {
        (void)unlink(server->unix_path);
        free(server->unix_path);
    }
    if (server->resume != NULL) {
        event_free(server->resume);
    }
    if (server->tidy != NULL) {
        event_free(server->tidy);
    }
    if (server->hand_out != NULL) {
        event_free(server->hand_out);
    }
    free(server);
    return NULL;
}

void hamid_http_server_drain(struct hamid_http_server *server)
{
    server->draining = true;
    for (size_t i = 0; i < server->listener_count; i++) {
        evconnlistener_free(server->listeners[i]);
    }
    server->listener_count = 0;
}

size_t hamid_http_server_connections(const struct hamid_http_server *server)
{
    return server->connections;
}

size_t hamid_http_server_busy(const struct hamid_http_server *server)
{
    return server->busy;
}

void hamid_http_server_stats(const struct hamid_http_server *server,
                             struct hamid_http_stats *ret)
{
    *ret = server->stats;
}
