/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one connection: HEAD -> BODY -> ARRIVED -> PENDING -> WRITING -> HEAD
 * again, or LINGER and closed.
 *
 * Reading is on in nearly every state, because that is what notices a client that goes
 * away; bytes that come while a request is pending are thrown away. A refused request
 * whose body was not read ends in LINGER: closing a socket with unread bytes resets it,
 * and the reset can overtake the answer. Any function that may close the connection says
 * so by its answer; callers then touch it no more.
 */
#include "internal.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define INPUT_MAX (1u << 20)
#define PIECE_MAX (256u << 10) /* of one write */
#define LINGER_MS 2000

static void set_timer(struct hamid_http_exchange *exchange, uint64_t milliseconds)
{
    struct timeval when = {.tv_sec = (time_t)(milliseconds / 1000),
                           .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)};
    (void)event_add(exchange->timer, &when);
}

/* Keeps the server's sum of body bytes; a handler may have taken some. */
static void count_body(struct hamid_http_exchange *exchange)
{
    size_t length = evbuffer_get_length(exchange->body);
    exchange->server->bodies_bytes += length - exchange->body_counted;
    exchange->body_counted = length;
}

static void forget_request(struct hamid_http_exchange *exchange)
{
    free(exchange->head_text);
    exchange->head_text = NULL;
    exchange->has_head = false;
    exchange->route = NULL;
    exchange->gone = NULL;
    memset(&exchange->chunks, 0, sizeof(exchange->chunks));
    (void)evbuffer_drain(exchange->body, evbuffer_get_length(exchange->body));
    count_body(exchange);
}

static bool is_busy(enum hamid_http_state state)
{
    return state == HAMID_HTTP_ARRIVED || state == HAMID_HTTP_PENDING ||
           state == HAMID_HTTP_WRITING;
}

static void set_state(struct hamid_http_exchange *exchange, enum hamid_http_state state)
{
    exchange->server->busy -= is_busy(exchange->state) ? 1 : 0;
    exchange->server->busy += is_busy(state) ? 1 : 0;
    exchange->state = state;
}

void hamid_http_connection_close(struct hamid_http_exchange *exchange)
{
    void (*gone)(void *) = exchange->state == HAMID_HTTP_PENDING ? exchange->gone : NULL;
    void *data = exchange->gone_data;
    set_state(exchange, HAMID_HTTP_LINGER);
    LIST_REMOVE(exchange, siblings);
    hamid_http_arrival_forget(exchange);
    exchange->server->connections--;
    exchange->server->bodies_bytes -= exchange->body_counted;
    if (exchange->readable != NULL) {
        event_free(exchange->readable);
    }
    if (exchange->input != NULL) {
        evbuffer_free(exchange->input);
    }
    if (exchange->stream != NULL) {
        bufferevent_free(exchange->stream);
    }
    if (exchange->timer != NULL) {
        event_free(exchange->timer);
    }
    if (exchange->body != NULL) {
        evbuffer_free(exchange->body);
    }
    free(exchange->head_text);
    free(exchange);
    if (gone != NULL) {
        gone(data);
    }
}

/* ---- refusing ------------------------------------------------------------------- */

/* Answers a request that no handler gets to see; the connection closes afterwards. */
static void refuse(struct hamid_http_exchange *exchange, int status, const char *text)
{
    const struct hamid_http_config *config = &exchange->server->config;
    exchange->close_after = true;
    set_state(exchange, HAMID_HTTP_PENDING);
    if (config->refuse != NULL) {
        config->refuse(exchange, status, text, config->data);
        return;
    }
    hamid_http_answer(exchange, status, "text/plain; charset=utf-8", text, strlen(text));
}

static const char *refusal_text(int status)
{
    switch (status) {
    case 413:
        return "the request's body is too large\n";
    case 417:
        return "that expectation is not known here\n";
    case 431:
        return "the request's head is too large\n";
    case 501:
        return "no transfer coding but chunked is known here\n";
    case 505:
        return "only HTTP/1.1 and HTTP/1.0 are spoken here\n";
    default:
        return "the request is malformed\n";
    }
}

/* ---- reading -------------------------------------------------------------------- */

/* The request is whole. Not read on until it is handled: a client that has closed its
 * half by now gets its answer if that is made at once. */
static void arrive(struct hamid_http_exchange *exchange)
{
    (void)event_del(exchange->timer);
    (void)event_del(exchange->readable);
    exchange->timer_is_of_request = false;
    set_state(exchange, HAMID_HTTP_ARRIVED);
    hamid_http_arrival_add(exchange);
}

void hamid_http_connection_handle(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->input;
    if (evbuffer_get_length(input) > 0) {
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        exchange->close_after = true;
    }
    (void)event_add(exchange->readable, NULL);
    set_state(exchange, HAMID_HTTP_PENDING);
    exchange->route->handle(exchange, exchange->server->config.data);
}

/* Is the whole body there? Returns 1, 0 or a status. */
static int read_body(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->input;
    size_t limit = exchange->route->body_bytes_max;
    if (exchange->head.is_chunked) {
        return hamid_http_chunks_feed(&exchange->chunks, input, exchange->body, limit);
    }
    size_t left =
        (size_t)exchange->head.body_length - evbuffer_get_length(exchange->body);
    (void)evbuffer_remove_buffer(input, exchange->body, left);
    return evbuffer_get_length(exchange->body) == exchange->head.body_length;
}

static void continue_body(struct hamid_http_exchange *exchange)
{
    int status = read_body(exchange);
    count_body(exchange);
    if (exchange->server->bodies_bytes > exchange->server->config.bodies_bytes_max) {
        refuse(exchange, 503, "too many requests have large bodies at the moment\n");
    } else if (status == 1) {
        arrive(exchange);
    } else if (status > 1) {
        refuse(exchange, status, refusal_text(status));
    }
}

/* The head is parsed: is there a route, and may the body come? */
static void accept_head(struct hamid_http_exchange *exchange)
{
    const char *text = NULL;
    struct hamid_http_head *head = &exchange->head;
    exchange->has_head = true;
    exchange->close_after = !head->keep_alive || exchange->server->draining;
    int status = hamid_http_route_find(exchange->server, head, &exchange->route, &text);
    if (status != 0) {
        refuse(exchange, status, text);
        return;
    }
    if (head->has_body_length && head->body_length > exchange->route->body_bytes_max) {
        refuse(exchange, 413, refusal_text(413));
        return;
    }
    if (head->expects_continue && (head->is_chunked || head->body_length > 0)) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        (void)bufferevent_write(exchange->stream, go_on, sizeof(go_on) - 1);
    }
    set_state(exchange, HAMID_HTTP_BODY);
    continue_body(exchange);
}

static void continue_head(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->input;
    size_t length = evbuffer_get_length(input);
    if (length == 0) {
        return;
    }
    if (!exchange->timer_is_of_request) {
        exchange->timer_is_of_request = true;
        set_timer(exchange, exchange->server->config.read_ms);
    }
    struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    if (end.pos < 0 || end.pos + 4 > HAMID_HTTP_HEAD_MAX) {
        if (length > HAMID_HTTP_HEAD_MAX) {
            refuse(exchange, 431, refusal_text(431));
        }
        return;
    }
    length = (size_t)end.pos + 4;
    exchange->head_text = malloc(length + 1);
    if (exchange->head_text == NULL) {
        hamid_http_connection_close(exchange);
        return;
    }
    (void)evbuffer_remove(input, exchange->head_text, length);
    exchange->head_text[length] = '\0';
    int status = hamid_http_head_parse(exchange->head_text, length, &exchange->head);
    if (status != 0) {
        refuse(exchange, status, refusal_text(status));
        return;
    }
    accept_head(exchange);
}

static void take_input(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->input;
    switch (exchange->state) {
    case HAMID_HTTP_HEAD:
        continue_head(exchange);
        break;
    case HAMID_HTTP_BODY:
        continue_body(exchange);
        break;
    case HAMID_HTTP_PENDING:
        exchange->close_after = true;
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        break;
    case HAMID_HTTP_ARRIVED:
        break;
    case HAMID_HTTP_WRITING: /* the next request, looked at when this answer is out */
        if (evbuffer_get_length(input) >= INPUT_MAX) {
            (void)event_del(exchange->readable);
        }
        break;
    case HAMID_HTTP_LINGER:
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        break;
    }
}

/* The client has closed its half, or the connection is broken. */
static void end_input(struct hamid_http_exchange *exchange)
{
    struct evbuffer *output = bufferevent_get_output(exchange->stream);
    if (exchange->state == HAMID_HTTP_WRITING && evbuffer_get_length(output) > 0) {
        (void)event_del(exchange->readable);
        exchange->close_after = true;
        return;
    }
    hamid_http_connection_close(exchange);
}

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_exchange *exchange = data;
    (void)what;
    switch (hamid_http_arrival_read(exchange, fd)) {
    case HAMID_HTTP_READ_BYTES:
        take_input(exchange);
        break;
    case HAMID_HTTP_READ_NOTHING:
        break;
    case HAMID_HTTP_READ_END:
        end_input(exchange);
        break;
    }
}

/* ---- writing and the end -------------------------------------------------------- */

static void start_linger(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->input;
    set_state(exchange, HAMID_HTTP_LINGER);
    (void)evbuffer_drain(input, evbuffer_get_length(input));
    (void)shutdown(bufferevent_getfd(exchange->stream), SHUT_WR);
    set_timer(exchange, LINGER_MS);
}

/* The output is empty: after an answer the connection goes on or ends. */
static void on_written(struct bufferevent *stream, void *data)
{
    struct hamid_http_exchange *exchange = data;
    (void)stream;
    if (exchange->state != HAMID_HTTP_WRITING) {
        return;
    }
    if (exchange->close_after || exchange->server->draining) {
        start_linger(exchange);
        return;
    }
    forget_request(exchange);
    (void)event_add(exchange->readable, NULL);
    set_state(exchange, HAMID_HTTP_HEAD);
    set_timer(exchange, exchange->server->config.idle_ms);
    continue_head(exchange);
}

/* Only writing is the stream's; so it is broken. */
static void on_event(struct bufferevent *stream, short what, void *data)
{
    (void)stream;
    (void)what;
    hamid_http_connection_close(data);
}

static void on_timer(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_exchange *exchange = data;
    (void)fd;
    (void)what;
    bool is_reading =
        exchange->state == HAMID_HTTP_BODY || exchange->state == HAMID_HTTP_HEAD;
    if (is_reading && exchange->timer_is_of_request) {
        exchange->timer_is_of_request = false;
        refuse(exchange, 408, "the request took too long to arrive\n");
        return;
    }
    hamid_http_connection_close(exchange);
}

void hamid_http_connection_open(struct hamid_http_server *server, int fd, bool is_unix)
{
    struct hamid_http_exchange *exchange = calloc(1, sizeof(*exchange));
    if (exchange == NULL) {
        (void)evutil_closesocket(fd);
        return;
    }
    exchange->server = server;
    LIST_INSERT_HEAD(&server->exchanges, exchange, siblings);
    server->connections++;
    if (!is_unix) {
        int one = 1;
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    } else {
        struct ucred credentials;
        socklen_t size = sizeof(credentials);
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
            exchange->has_peer = true;
            exchange->peer.pid = credentials.pid;
            exchange->peer.uid = credentials.uid;
            exchange->peer.gid = credentials.gid;
        }
    }
    exchange->stream = bufferevent_socket_new(server->base, fd, BEV_OPT_CLOSE_ON_FREE);
    exchange->readable =
        event_new(server->base, fd, EV_READ | EV_PERSIST, on_readable, exchange);
    exchange->timer = evtimer_new(server->base, on_timer, exchange);
    exchange->input = evbuffer_new();
    exchange->body = evbuffer_new();
    if (exchange->stream == NULL) {
        (void)evutil_closesocket(fd);
    }
    if (exchange->stream == NULL || exchange->readable == NULL ||
        exchange->timer == NULL || exchange->input == NULL || exchange->body == NULL) {
        hamid_http_connection_close(exchange);
        return;
    }
    bufferevent_setcb(exchange->stream, NULL, on_written, on_event, exchange);
    (void)bufferevent_set_max_single_write(exchange->stream, PIECE_MAX);
    set_timer(exchange, server->config.idle_ms);
    if (bufferevent_enable(exchange->stream, EV_WRITE) != 0 ||
        event_add(exchange->readable, NULL) != 0) {
        hamid_http_connection_close(exchange);
    }
}

/* ---- answering ------------------------------------------------------------------ */

static void write_head(struct hamid_http_exchange *exchange, int status,
                       const char *content_type, size_t length)
{
    struct evbuffer *output = bufferevent_get_output(exchange->stream);
    (void)evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\n", status,
                              hamid_http_reason(status));
    if (content_type != NULL) {
        (void)evbuffer_add_printf(output, "Content-Type: %s\r\n", content_type);
    }
    if (status != 204) {
        (void)evbuffer_add_printf(output, "Content-Length: %zu\r\n", length);
    }
    if (status == 405 && exchange->route != NULL) {
        (void)evbuffer_add_printf(output, "Allow: %s\r\n", exchange->route->method);
    }
    if (exchange->header_lines != NULL) {
        (void)evbuffer_add(output, exchange->header_lines,
                           strlen(exchange->header_lines));
        exchange->header_lines = NULL;
    }
    (void)evbuffer_add_printf(output, "%s\r\n",
                              exchange->close_after ? "Connection: close\r\n" : "");
}

void hamid_http_answer_buffer(struct hamid_http_exchange *exchange, int status,
                              const char *content_type, struct evbuffer *body)
{
    exchange->close_after = exchange->close_after || exchange->server->draining;
    exchange->gone = NULL;
    write_head(exchange, status, content_type, evbuffer_get_length(body));
    (void)bufferevent_write_buffer(exchange->stream, body);
    (void)evbuffer_drain(exchange->body, evbuffer_get_length(exchange->body));
    count_body(exchange);
    set_state(exchange, HAMID_HTTP_WRITING);
    set_timer(exchange, exchange->server->config.write_ms);
}

void hamid_http_answer(struct hamid_http_exchange *exchange, int status,
                       const char *content_type, const void *body, size_t length)
{
    exchange->close_after = exchange->close_after || exchange->server->draining;
    exchange->gone = NULL;
    write_head(exchange, status, content_type, length);
    (void)bufferevent_write(exchange->stream, body, length);
    (void)evbuffer_drain(exchange->body, evbuffer_get_length(exchange->body));
    count_body(exchange);
    set_state(exchange, HAMID_HTTP_WRITING);
    set_timer(exchange, exchange->server->config.write_ms);
}
