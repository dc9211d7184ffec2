/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A raw client on the event loop of the server that is tested: it sends bytes and
 * collects what comes back. Nothing sleeps; http_client_until_* turn the loop until
 * something is so, at most 10 s.
 */
#ifndef TESTS_DAEMON_HTTP_CLIENT_H
#define TESTS_DAEMON_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>

#include <event2/event.h>

struct http_client {
    struct event_base *base;
    struct bufferevent *stream;
    bool closed;        /* by the server */
    char answer[65536]; /* all bytes so far, ended with NUL */
    size_t length;
};

/* Connects to "127.0.0.1:PORT", or to a unix socket's path. */
void http_client_open(struct http_client *client, struct event_base *base,
                      const char *address);
void http_client_send(struct http_client *client, const char *bytes);
void http_client_send_bytes(struct http_client *client, const char *bytes, size_t length);

/* Closes from this side. */
void http_client_close(struct http_client *client);

/* Half-closes: no more bytes will be sent. */
void http_client_end(struct http_client *client);

/* Forgets what came so far. */
void http_client_clear(struct http_client *client);

/* False after 10 s without it. */
bool http_client_until_text(struct http_client *client, const char *text);
bool http_client_until_closed(struct http_client *client);
bool http_client_until_bytes(struct http_client *client, size_t length);

/* Turns the loop until *flag, at most 10 s. */
bool http_client_until(struct event_base *base, const bool *flag);

#endif
