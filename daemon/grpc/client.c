/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of a gRPC client. Calls are client_call.c's.
 *
 * A unix socket's connect() answers at once. Only a listener whose queue is full answers
 * EAGAIN, which no poll ends: then it is tried again every DIAL_AGAIN_MS.
 */
#include "client_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#define CONNECT_TIMEOUT_MS 5000
#define DIAL_AGAIN_MS 10

uint64_t hamid_grpc_internal_now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- connections ------------------------------------------------------------------- */

static void forget(struct client_connection *one)
{
    struct hamid_grpc_client *client = one->client;

    if (client->current == one) {
        client->current = NULL;
    }
    LIST_REMOVE(one, siblings);
    free(one);
}

static struct hamid_grpc_stream *opened(void *owner)
{
    (void)owner;
    return NULL;
}

/* It still ends what it has; the next call gets a new one. */
static void going_away(void *owner)
{
    struct client_connection *one = owner;

    if (one->client->current == one) {
        one->client->current = NULL;
    }
}

/* A connection that takes no new calls has nothing left to do. */
static void idle(void *owner)
{
    struct client_connection *one = owner;

    if (one->client->current != one) {
        struct hamid_grpc_connection *connection = one->connection;

        forget(one);
        hamid_grpc_connection_close(connection);
    }
}

static void closed(void *owner, const char *why)
{
    (void)why;
    forget(owner);
}

static const struct hamid_grpc_connection_events events = {
    .opened = opened, .going_away = going_away, .idle = idle, .closed = closed};

/* ---- dialling ---------------------------------------------------------------------- */

/* A connected socket, or -errno. */
static int connect_to(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -errno;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        int code = -errno;

        (void)close(fd);
        return code;
    }
    return fd;
}

/* Returns 0, or -errno. */
static int open_connection(struct hamid_grpc_client *client)
{
    const struct hamid_grpc_client_config *config = &client->config;
    struct client_connection *one = calloc(1, sizeof(*one));
    int fd = one == NULL            ? -ENOMEM
             : config->dial != NULL ? config->dial(config->data)
                                    : connect_to(client->path);

    if (fd < 0) {
        free(one);
        return fd;
    }
    (void)evutil_make_socket_nonblocking(fd);
    one->client = client;
    const struct hamid_grpc_connection_config made = {
        .message_max = config->message_max,
        .greeting_ms = config->connect_timeout_ms,
        .keepalive_ms = config->keepalive_ms,
        .keepalive_timeout_ms = config->keepalive_timeout_ms,
        .events = &events,
        .owner = one};
    one->connection = hamid_grpc_connection_new(client->base, fd, &made);
    if (one->connection == NULL) {
        free(one);
        return -ENOMEM;
    }
    LIST_INSERT_HEAD(&client->connections, one, siblings);
    client->current = one;
    return 0;
}

static void end_all(struct hamid_grpc_requests *requests, int code, const char *text,
                    bool never_ran)
{
    while (!TAILQ_EMPTY(requests)) {
        hamid_grpc_internal_request_end(TAILQ_FIRST(requests), code, text, never_ran);
    }
}

static void leave(struct hamid_grpc_client *client)
{
    if (--client->depth == 0 && client->is_freed) {
        event_free(client->dial);
        free(client->path);
        free(client);
    }
}

/* Those that wait now; a call that one of them starts in its end dials anew. */
static void fail_waiting(struct hamid_grpc_client *client, int code)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "no connection to %.120s: %s",
                   client->path != NULL ? client->path : "the socket", strerror(-code));
    hamid_grpc_internal_requests_fail(client);
    end_all(&client->failing, HAMID_GRPC_UNAVAILABLE, text, true);
}

static void dial(evutil_socket_t fd, short what, void *data)
{
    struct hamid_grpc_client *client = data;
    struct timeval after = {0, DIAL_AGAIN_MS * 1000};
    int code = client->current != NULL ? 0 : open_connection(client);

    (void)fd;
    (void)what;
    if (code == -EAGAIN && hamid_grpc_internal_now_ms() < client->dial_until_ms) {
        (void)event_add(client->dial, &after);
        return;
    }
    client->is_dialling = false;
    client->depth++;
    while (code == 0 && !TAILQ_EMPTY(&client->waiting)) {
        struct hamid_grpc_request *request = TAILQ_FIRST(&client->waiting);

        if (hamid_grpc_internal_request_start(request) != 0) {
            hamid_grpc_internal_request_end(request, HAMID_GRPC_UNAVAILABLE,
                                            "the connection takes no more calls", true);
        }
    }
    if (code != 0) {
        fail_waiting(client, code);
    }
    leave(client);
}

void hamid_grpc_internal_client_dial(struct hamid_grpc_client *client)
{
    const uint64_t limit = client->config.connect_timeout_ms;

    if (!client->is_dialling) {
        client->is_dialling = true;
        client->dial_until_ms =
            hamid_grpc_internal_now_ms() + (limit != 0 ? limit : CONNECT_TIMEOUT_MS);
        event_active(client->dial, EV_TIMEOUT, 0);
    }
}

/* ---- public ------------------------------------------------------------------------ */

struct hamid_grpc_client *
hamid_grpc_client_new(struct event_base *base,
                      const struct hamid_grpc_client_config *config)
{
    struct hamid_grpc_client *client = calloc(1, sizeof(*client));
    const size_t room = sizeof(((struct sockaddr_un *)NULL)->sun_path);

    if (client == NULL || (config->dial == NULL && strlen(config->path) >= room)) {
        free(client);
        return NULL;
    }
    client->base = base;
    client->config = *config;
    LIST_INIT(&client->connections);
    TAILQ_INIT(&client->waiting);
    TAILQ_INIT(&client->running);
    TAILQ_INIT(&client->failing);
    if (client->config.message_max == 0) {
        client->config.message_max = HAMID_GRPC_MESSAGE_MAX;
    }
    client->path = config->path != NULL ? strdup(config->path) : NULL;
    client->dial = event_new(base, -1, 0, dial, client);
    if (client->dial == NULL || (config->path != NULL && client->path == NULL)) {
        if (client->dial != NULL) {
            event_free(client->dial);
        }
        free(client->path);
        free(client);
        return NULL;
    }
    return client;
}

struct hamid_grpc_client *hamid_grpc_client_free(struct hamid_grpc_client *client)
{
    if (client == NULL || client->is_freed) {
        return NULL;
    }
    client->is_freed = true;
    client->depth++;
    (void)event_del(client->dial);
    end_all(&client->waiting, HAMID_GRPC_CANCELLED, "the client was closed", true);
    end_all(&client->failing, HAMID_GRPC_CANCELLED, "the client was closed", true);
    end_all(&client->running, HAMID_GRPC_CANCELLED, "the client was closed", false);
    while (!LIST_EMPTY(&client->connections)) {
        struct client_connection *one = LIST_FIRST(&client->connections);
        struct hamid_grpc_connection *connection = one->connection;

        forget(one);
        hamid_grpc_connection_close(connection);
    }
    leave(client);
    return NULL;
}
