/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listeners and connections of a gRPC server. Calls are server_call.c's.
 */
#include "server_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/listener.h>

#define BODIES_MAX (64u << 20)
#define CONNECTIONS_MAX 32
#define STREAMS_MAX 100
#define RESUME_MS 100 /* after an accept that failed for want of file descriptors */

/* ---- connections ------------------------------------------------------------------- */

static void forget(struct server_connection *one)
{
    LIST_REMOVE(one, siblings);
    one->server->connection_count--;
    free(one);
}

static struct hamid_grpc_stream *opened(void *owner)
{
    struct server_connection *one = owner;

    return one->server->is_stopped ? NULL : hamid_grpc_internal_call_new(one);
}

static void ignore(void *owner)
{
    (void)owner;
}

static void closed(void *owner, const char *why)
{
    (void)why;
    forget(owner);
}

static const struct hamid_grpc_connection_events events = {
    .opened = opened, .going_away = ignore, .idle = ignore, .closed = closed};

static bool is_welcome(struct hamid_grpc_server *server, int fd,
                       struct hamid_grpc_peer *ret)
{
    struct ucred credentials;
    socklen_t length = sizeof(credentials);

    if (server->connection_count >= server->config.connections_max) {
        return false;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
        return false;
    }
    *ret = (struct hamid_grpc_peer){credentials.pid, credentials.uid, credentials.gid};
    return server->config.accept == NULL ||
           server->config.accept(server->config.data, ret);
}

void hamid_grpc_internal_server_take(struct hamid_grpc_server *server, int fd)
{
    struct hamid_grpc_peer peer;
    struct server_connection *one = NULL;

    if (is_welcome(server, fd, &peer)) {
        one = calloc(1, sizeof(*one));
    }
    if (one == NULL) {
        (void)evutil_closesocket(fd);
        return;
    }
    one->server = server;
    one->peer = peer;
    const struct hamid_grpc_connection_config config = {
        .is_server = true,
        .message_max = server->config.message_max,
        .bodies = &server->bodies,
        .bodies_max = server->config.bodies_max,
        .streams_max = server->config.streams_max,
        .greeting_ms = server->config.greeting_ms,
        .keepalive_ms = server->config.keepalive_ms,
        .keepalive_timeout_ms = server->config.keepalive_timeout_ms,
        .events = &events,
        .owner = one};
    one->connection = hamid_grpc_connection_new(server->base, fd, &config);
    if (one->connection == NULL) {
        free(one);
        return;
    }
    LIST_INSERT_HEAD(&server->connections, one, siblings);
    server->connection_count++;
}

static void accepted(struct evconnlistener *listener, evutil_socket_t fd,
                     struct sockaddr *address, int length, void *data)
{
    (void)listener;
    (void)address;
    (void)length;
    hamid_grpc_internal_server_take(data, fd);
}

/* Without file descriptors accepting would fail again at once, and for ever. */
static void accept_failed(struct evconnlistener *listener, void *data)
{
    struct hamid_grpc_server *server = data;
    struct timeval after = {0, RESUME_MS * 1000};

    (void)evconnlistener_disable(listener);
    (void)event_add(server->resume, &after);
}

static void resume(evutil_socket_t fd, short what, void *data)
{
    struct hamid_grpc_server *server = data;

    (void)fd;
    (void)what;
    for (size_t i = 0; i < server->listener_count; i++) {
        (void)evconnlistener_enable(server->listeners[i].listener);
    }
}

/* ---- public ------------------------------------------------------------------------ */

struct hamid_grpc_server *
hamid_grpc_server_new(struct event_base *base,
                      const struct hamid_grpc_server_config *config)
{
    struct hamid_grpc_server *server = calloc(1, sizeof(*server));

    if (server == NULL) {
        return NULL;
    }
    server->base = base;
    server->config = *config;
    LIST_INIT(&server->connections);
    if (server->config.message_max == 0) {
        server->config.message_max = HAMID_GRPC_MESSAGE_MAX;
    }
    if (server->config.bodies_max == 0) {
        server->config.bodies_max = BODIES_MAX;
    }
    if (server->config.connections_max == 0) {
        server->config.connections_max = CONNECTIONS_MAX;
    }
    if (server->config.streams_max == 0) {
        server->config.streams_max = STREAMS_MAX;
    }
    server->resume = event_new(base, -1, 0, resume, server);
    if (server->resume == NULL) {
        free(server);
        return NULL;
    }
    return server;
}

int hamid_grpc_server_adopt(struct hamid_grpc_server *server, int fd)
{
    struct server_listener *one = &server->listeners[server->listener_count];

    if (server->listener_count == LISTENERS_MAX || server->is_stopped) {
        (void)close(fd);
        return -1;
    }
    (void)evutil_make_socket_nonblocking(fd);
    one->listener =
        evconnlistener_new(server->base, accepted, server,
                           LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (one->listener == NULL) {
        (void)close(fd);
        return -1;
    }
    evconnlistener_set_error_cb(one->listener, accept_failed);
    server->listener_count++;
    return 0;
}

/* Binds under umask-free rights: the mode is set before anybody can connect. */
static int bind_and_listen(const char *path, mode_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -errno;
    }
    if (lstat(path, &status) == 0 && S_ISSOCK(status.st_mode)) {
        (void)unlink(path);
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        chmod(path, mode) != 0 || listen(fd, SOMAXCONN) != 0) {
        int code = -errno;

        (void)close(fd);
        return code;
    }
    return fd;
}

int hamid_grpc_server_listen(struct hamid_grpc_server *server, const char *path,
                             mode_t mode, char *error, size_t size)
{
    struct stat status;
    size_t length = strlen(path);

    if (length >= sizeof(((struct sockaddr_un *)NULL)->sun_path)) {
        (void)snprintf(error, size, "%.200s: longer than a socket's path can be", path);
        return -1;
    }
    if (server->listener_count == LISTENERS_MAX) {
        (void)snprintf(error, size, "%.200s: too many sockets", path);
        return -1;
    }
    int fd = bind_and_listen(path, mode);
    if (fd < 0) {
        (void)snprintf(error, size, "%.200s: %s", path, strerror(-fd));
        return -1;
    }
    struct server_listener *one = &server->listeners[server->listener_count];
    memcpy(one->path, path, length + 1);
    if (lstat(path, &status) == 0) {
        one->device = status.st_dev;
        one->inode = status.st_ino;
    }
    if (hamid_grpc_server_adopt(server, fd) != 0) {
        one->path[0] = '\0';
        (void)unlink(path);
        (void)snprintf(error, size, "%.200s: out of memory", path);
        return -1;
    }
    return 0;
}

/* Another process may have put its own socket there. */
static void unlink_if_ours(const struct server_listener *one)
{
    struct stat status;

    if (one->path[0] != '\0' && lstat(one->path, &status) == 0 &&
        status.st_dev == one->device && status.st_ino == one->inode) {
        (void)unlink(one->path);
    }
}

void hamid_grpc_server_stop(struct hamid_grpc_server *server)
{
    struct server_connection *one;

    if (server->is_stopped) {
        return;
    }
    server->is_stopped = true;
    (void)event_del(server->resume);
    for (size_t i = 0; i < server->listener_count; i++) {
        unlink_if_ours(&server->listeners[i]);
        evconnlistener_free(server->listeners[i].listener);
    }
    server->listener_count = 0;
    LIST_FOREACH(one, &server->connections, siblings)
    {
        hamid_grpc_connection_go_away(one->connection);
    }
}

size_t hamid_grpc_server_calls(const struct hamid_grpc_server *server)
{
    return server->call_count;
}

struct hamid_grpc_server *hamid_grpc_server_free(struct hamid_grpc_server *server)
{
    if (server == NULL || server->is_freed) {
        return NULL;
    }
    server->is_freed = true; /* a gone-function may come here again */
    hamid_grpc_server_stop(server);
    while (!LIST_EMPTY(&server->connections)) {
        struct server_connection *one = LIST_FIRST(&server->connections);

        hamid_grpc_connection_close(one->connection);
        forget(one);
    }
    event_free(server->resume);
    free(server);
    return NULL;
}
