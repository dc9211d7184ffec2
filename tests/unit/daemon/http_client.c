/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw client on the event loop of the server that is tested.
 */
#include "http_client.h"

#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>

#define PATIENCE_S 10

static void on_readable(struct bufferevent *stream, void *data)
{
    struct http_client *client = data;
    size_t room = sizeof(client->answer) - 1 - client->length;
    size_t got = bufferevent_read(stream, client->answer + client->length, room);
    client->length += got;
    client->answer[client->length] = '\0';
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
    struct http_client *client = data;
    (void)stream;
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
        client->closed = true;
    }
}

void http_client_open(struct http_client *client, struct event_base *base,
                      const char *address)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_un file = {.sun_family = AF_UNIX};
    const char *colon = strchr(address, ':');
    memset(client, 0, sizeof(*client));
    client->base = base;
    client->stream = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(client->stream, on_readable, NULL, on_event, client);
    (void)bufferevent_enable(client->stream, EV_READ | EV_WRITE);
    if (address[0] == '/') {
        strncpy(file.sun_path, address, sizeof(file.sun_path) - 1);
        ck_assert_int_eq(bufferevent_socket_connect(
                             client->stream, (struct sockaddr *)&file, sizeof(file)),
                         0);
        return;
    }
    four.sin_port = htons((unsigned short)atoi(colon + 1));
    four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bufferevent_socket_connect(client->stream, (struct sockaddr *)&four,
                                                sizeof(four)),
                     0);
}

void http_client_send_bytes(struct http_client *client, const char *bytes, size_t length)
{
    ck_assert_int_eq(bufferevent_write(client->stream, bytes, length), 0);
}

void http_client_send(struct http_client *client, const char *bytes)
{
    http_client_send_bytes(client, bytes, strlen(bytes));
}

void http_client_close(struct http_client *client)
{
    if (client->stream != NULL) {
        bufferevent_free(client->stream);
        client->stream = NULL;
    }
}

void http_client_end(struct http_client *client)
{
    (void)shutdown(bufferevent_getfd(client->stream), SHUT_WR);
}

void http_client_clear(struct http_client *client)
{
    client->length = 0;
    client->answer[0] = '\0';
}

/* One turn that ends at the latest when the patience does. */
static bool turn(struct event_base *base, time_t started)
{
    if (time(NULL) - started > PATIENCE_S) {
        return false;
    }
    struct timeval limit = {.tv_usec = 100000};
    (void)event_base_loopexit(base, &limit);
    (void)event_base_loop(base, EVLOOP_ONCE);
    return true;
}

bool http_client_until(struct event_base *base, const bool *flag)
{
    time_t started = time(NULL);
    while (!*flag) {
        if (!turn(base, started)) {
            return false;
        }
    }
    return true;
}

bool http_client_until_text(struct http_client *client, const char *text)
{
    time_t started = time(NULL);
    while (strstr(client->answer, text) == NULL) {
        if (client->closed || !turn(client->base, started)) {
            return strstr(client->answer, text) != NULL;
        }
    }
    return true;
}

bool http_client_until_bytes(struct http_client *client, size_t length)
{
    time_t started = time(NULL);
    while (client->length < length) {
        if (client->closed || !turn(client->base, started)) {
            return false;
        }
    }
    return true;
}

bool http_client_until_closed(struct http_client *client)
{
    return http_client_until(client->base, &client->closed);
}
