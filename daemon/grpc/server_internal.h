/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What server.c (listeners, connections) and server_call.c (calls) share.
 */
#ifndef HAMID_GRPC_SERVER_INTERNAL_H
#define HAMID_GRPC_SERVER_INTERNAL_H

#include <sys/un.h>

#include "connection.h"
#include "server.h"

#define LISTENERS_MAX 4

struct server_listener {
    struct evconnlistener *listener;
    char path[sizeof(
        ((struct sockaddr_un *)NULL)->sun_path)]; /* "" = not ours to unlink */
    dev_t device;
    ino_t inode;
};

struct server_connection {
    LIST_ENTRY(server_connection) siblings;
    struct hamid_grpc_server *server;
    struct hamid_grpc_connection *connection;
    struct hamid_grpc_peer peer;
};

struct hamid_grpc_server {
    struct event_base *base;
    struct hamid_grpc_server_config config;
    LIST_HEAD(, server_connection) connections;
    size_t connection_count;
    size_t call_count; /* that have not ended */
    size_t bodies;     /* bytes of requests that are still coming */
    struct server_listener listeners[LISTENERS_MAX];
    size_t listener_count;
    struct event *resume;
    bool is_stopped, is_freed;
};

/* A socket that has connected; it is closed where it is not welcome. */
void hamid_grpc_internal_server_take(struct hamid_grpc_server *server, int fd);

/* A request begins; NULL without memory. */
struct hamid_grpc_stream *hamid_grpc_internal_call_new(struct server_connection *from);

#endif
