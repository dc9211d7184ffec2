/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one connection: HEAD -> BODY -> ARRIVED -> PENDING -> WRITING -> HEAD
 * again, or LINGER and closed. Over TLS the handshake is part of HEAD.
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
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "tls.h"

#define INPUT_MAX                                                                        \
    (64u << 10) /* of a request that comes before the last answer is out   \
                               */
#define LINGER_MS 2000

void hamid_http_connection_set_timer(struct hamid_http_exchange *exchange,
                                     uint64_t milliseconds)
{
    struct timeval when = {.tv_sec = (time_t)(milliseconds / 1000),
                           .tv_usec = (suseconds_t)(milliseconds % 1000 * 1000)};
    (void)event_add(&exchange->timer, &when);
}

/* A handler may have taken some of the body. */
void hamid_http_connection_count(struct hamid_http_exchange *exchange)
{
    size_t length = (exchange->body != NULL ? evbuffer_get_length(exchange->body) : 0) +
                    evbuffer_get_length(exchange->stream.input) +
                    evbuffer_get_length(exchange->stream.output);
    exchange->server->held_bytes += length - exchange->counted;
    exchange->counted = length;
}

static bool is_too_much_held(const struct hamid_http_server *server)
{
    return server->held_bytes > server->config.held_bytes_max;
}

static void forget_request(struct hamid_http_exchange *exchange)
{
    hamid_http_release_request(exchange);
    exchange->route = NULL;
    exchange->gone = NULL;
    memset(&exchange->chunks, 0, sizeof(exchange->chunks));
}

static bool is_busy(enum hamid_http_state state)
{
    return state == HAMID_HTTP_ARRIVED || state == HAMID_HTTP_PENDING ||
           state == HAMID_HTTP_WRITING;
}

void hamid_http_connection_set_state(struct hamid_http_exchange *exchange,
                                     enum hamid_http_state state)
{
    exchange->server->busy -= is_busy(exchange->state) ? 1 : 0;
    exchange->server->busy += is_busy(state) ? 1 : 0;
    exchange->state = state;
    if (state == HAMID_HTTP_HEAD) {
        hamid_http_limits_enter(exchange);
    } else if (state != HAMID_HTTP_BODY) {
        hamid_http_limits_leave(exchange);
    }
}

void hamid_http_connection_close(struct hamid_http_exchange *exchange)
{
    void (*gone)(void *) = exchange->state == HAMID_HTTP_PENDING ? exchange->gone : NULL;
    void *data = exchange->gone_data;
    hamid_http_connection_set_state(exchange, HAMID_HTTP_LINGER);
    LIST_REMOVE(exchange, siblings);
    hamid_http_arrival_forget(exchange);
    exchange->server->connections--;
    exchange->server->held_bytes -= exchange->counted;
    (void)event_del(&exchange->readable);
    (void)event_del(&exchange->writable);
    (void)event_del(&exchange->timer);
    hamid_http_stream_done(&exchange->stream);
    if (exchange->body != NULL) {
        evbuffer_free(exchange->body);
    }
    if (exchange->request != NULL) {
        free(exchange->request->text);
    }
    free(exchange->request);
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
    hamid_http_connection_set_state(exchange, HAMID_HTTP_PENDING);
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
    case 503:
        return "too many large requests and answers are under way at the moment\n";
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
    (void)event_del(&exchange->timer);
    (void)event_del(&exchange->readable);
    exchange->timer_is_of_request = false;
    hamid_http_connection_set_state(exchange, HAMID_HTTP_ARRIVED);
    hamid_http_arrival_add(exchange);
}

void hamid_http_connection_handle(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->stream.input;
    if (evbuffer_get_length(input) > 0) {
        (void)evbuffer_drain(input, evbuffer_get_length(input));
        exchange->close_after = true;
    }
    (void)event_add(&exchange->readable, NULL);
    hamid_http_connection_set_state(exchange, HAMID_HTTP_PENDING);
    exchange->route->handle(exchange, exchange->server->config.data);
}

/* Is the whole body there? Returns 1, 0 or a status. */
static int read_body(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->stream.input;
    size_t limit = exchange->route->body_bytes_max;
    if (exchange->request->head.is_chunked) {
        return hamid_http_chunks_feed(&exchange->chunks, input, exchange->body, limit);
    }
    size_t left =
        (size_t)exchange->request->head.body_length - evbuffer_get_length(exchange->body);
    (void)evbuffer_remove_buffer(input, exchange->body, left);
    return evbuffer_get_length(exchange->body) == exchange->request->head.body_length;
}

static void continue_body(struct hamid_http_exchange *exchange)
{
    int status = read_body(exchange);
    hamid_http_connection_count(exchange);
    if (is_too_much_held(exchange->server)) {
        refuse(exchange, 503, refusal_text(503));
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
    struct hamid_http_head *head = &exchange->request->head;
    exchange->close_after = !head->keep_alive || exchange->server->draining;
    int status = hamid_http_route_find(exchange->server, head, &exchange->route, &text);
    if (exchange->is_stranger) {
        refuse(exchange, 403, "the name in your certificate is not served here\n");
        return;
    }
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
        (void)evbuffer_add(exchange->stream.output, go_on, sizeof(go_on) - 1);
        (void)event_add(&exchange->writable, NULL);
    }
    if (exchange->body == NULL) {
        exchange->body = evbuffer_new();
    }
    if (exchange->body == NULL) {
        refuse(exchange, 503, refusal_text(503));
        return;
    }
    hamid_http_connection_set_state(exchange, HAMID_HTTP_BODY);
    continue_body(exchange);
}

/* Takes a head of that length off the input. Returns 0, or the status to refuse it with;
 * -1 without memory. */
static int take_head(struct hamid_http_exchange *exchange, size_t length)
{
    struct hamid_http_request *request = malloc(sizeof(*request));
    char *text = malloc(length + 1);
    int status = -1;
    if (request != NULL && text != NULL) {
        (void)evbuffer_remove(exchange->stream.input, text, length);
        text[length] = '\0';
        status = hamid_http_head_parse(text, length, &request->head);
    }
    if (status != 0) {
        free(request);
        free(text);
        return status;
    }
    request->text = text;
    size_t bytes = offsetof(struct hamid_http_request, head.headers) +
                   request->head.header_count * sizeof(request->head.headers[0]);
    struct hamid_http_request *smaller = realloc(request, bytes);
    request = smaller != NULL ? smaller : request;
    exchange->request = request;
    return 0;
}

static void continue_head(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->stream.input;
    size_t length = evbuffer_get_length(input);
    if (length == 0) {
        return;
    }
    if (!exchange->timer_is_of_request) {
        exchange->timer_is_of_request = true;
        hamid_http_connection_set_timer(exchange, exchange->server->config.read_ms);
    }
    struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
    if (end.pos < 0 || end.pos + 4 > HAMID_HTTP_HEAD_MAX) {
        hamid_http_connection_count(exchange);
        if (length > HAMID_HTTP_HEAD_MAX) {
            refuse(exchange, 431, refusal_text(431));
        } else if (is_too_much_held(exchange->server)) {
            refuse(exchange, 503, refusal_text(503));
        }
        return;
    }
    int status = take_head(exchange, (size_t)end.pos + 4);
    if (status < 0) {
        hamid_http_connection_close(exchange);
    } else if (status > 0) {
        refuse(exchange, status, refusal_text(status));
    } else {
        accept_head(exchange);
    }
}

static void take_input(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->stream.input;
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
            (void)event_del(&exchange->readable);
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
    if (exchange->state == HAMID_HTTP_WRITING &&
        evbuffer_get_length(exchange->stream.output) > 0) {
        (void)event_del(&exchange->readable);
        exchange->close_after = true;
        return;
    }
    hamid_http_connection_close(exchange);
}

static void start_linger(struct hamid_http_exchange *exchange)
{
    struct evbuffer *input = exchange->stream.input;
    hamid_http_connection_set_state(exchange, HAMID_HTTP_LINGER);
    (void)evbuffer_drain(input, evbuffer_get_length(input));
    hamid_http_connection_count(exchange);
    hamid_http_stream_end(&exchange->stream);
    hamid_http_connection_set_timer(exchange, LINGER_MS);
}

/* ---- reading -------------------------------------------------------------------- */

static void on_readable(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_exchange *exchange = data;
    struct hamid_http_stream *stream = &exchange->stream;
    char failure[HAMID_HTTP_FAILURE_MAX];
    bool was_shaken = stream->is_shaken;
    (void)fd;
    (void)what;
    enum hamid_http_read found = hamid_http_stream_read(stream, failure);
    if (!was_shaken && stream->is_shaken && stream->ssl != NULL) {
        hamid_http_handshake_done(exchange);
    }
    if (stream->reading_wants_room) {
        (void)event_add(&exchange->writable, NULL);
    }
    switch (found) {
    case HAMID_HTTP_READ_BYTES:
        exchange->server->has_stirred = true;
        take_input(exchange);
        break;
    case HAMID_HTTP_READ_NOTHING:
        break;
    case HAMID_HTTP_READ_END:
        end_input(exchange);
        break;
    case HAMID_HTTP_READ_NO_TLS:
        hamid_http_handshake_failed(exchange->server, "the client spoke plain HTTP");
        refuse(exchange, 400, "this port speaks HTTPS, and that was plain HTTP\n");
        break;
    case HAMID_HTTP_READ_BAD_SHAKE:
        hamid_http_handshake_failed(exchange->server, failure);
        start_linger(exchange);
        break;
    }
}

/* ---- writing and the end -------------------------------------------------------- */

/* The output is empty: after an answer the connection goes on or ends. */
static void end_writing(struct hamid_http_exchange *exchange)
{
    if (exchange->state != HAMID_HTTP_WRITING) {
        return;
    }
    if (exchange->close_after || exchange->server->draining) {
        start_linger(exchange);
        return;
    }
    forget_request(exchange);
    (void)event_add(&exchange->readable, NULL);
    hamid_http_connection_set_state(exchange, HAMID_HTTP_HEAD);
    hamid_http_connection_set_timer(exchange, exchange->server->config.idle_ms);
    continue_head(exchange);
}

static void on_writable(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_exchange *exchange = data;
    if (exchange->stream.reading_wants_room) {
        if (evbuffer_get_length(exchange->stream.output) > 0) {
            (void)event_add(&exchange->writable, NULL);
        }
        on_readable(fd, what, exchange);
        return;
    }
    switch (hamid_http_stream_write(&exchange->stream)) {
    case HAMID_HTTP_WRITE_ALL:
        end_writing(exchange);
        break;
    case HAMID_HTTP_WRITE_SOME:
        (void)event_add(&exchange->writable, NULL);
        break;
    case HAMID_HTTP_WRITE_BROKEN:
        hamid_http_connection_close(exchange);
        break;
    }
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
    if (!exchange->stream.is_shaken) {
        hamid_http_handshake_failed(exchange->server, "it took too long");
    }
    hamid_http_connection_close(exchange);
}

static void note_peer(struct hamid_http_exchange *exchange, int fd)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) == 0) {
        exchange->has_peer = true;
        exchange->peer.pid = credentials.pid;
        exchange->peer.uid = credentials.uid;
        exchange->peer.gid = credentials.gid;
    }
}

/* A client that vanished without a word, with its computer or the way to it, is noticed
 * within a minute though its request is parked. */
static void set_socket(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 30}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
    };
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                         sizeof(options[i].value));
    }
}

/* False without memory; the exchange owns the socket all the same. */
static bool set_up(struct hamid_http_exchange *exchange, int fd, bool is_unix)
{
    struct hamid_http_server *server = exchange->server;
    struct hamid_tls *tls = is_unix ? NULL : server->config.tls;
    SSL *ssl = tls != NULL ? hamid_tls_accept(tls) : NULL;
    bool is_good = hamid_http_stream_init(&exchange->stream, fd, ssl);
    (void)event_assign(&exchange->readable, server->base, fd, EV_READ | EV_PERSIST,
                       on_readable, exchange);
    (void)event_assign(&exchange->writable, server->base, fd, EV_WRITE, on_writable,
                       exchange);
    (void)evtimer_assign(&exchange->timer, server->base, on_timer, exchange);
    if (is_unix) {
        note_peer(exchange, fd);
    } else {
        set_socket(fd);
    }
    return is_good && (ssl != NULL || tls == NULL);
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
    bool is_good = set_up(exchange, fd, is_unix);
    hamid_http_connection_set_state(exchange, HAMID_HTTP_HEAD);
    if (!is_good || event_add(&exchange->readable, NULL) != 0) {
        hamid_http_connection_close(exchange);
        return;
    }
    hamid_http_connection_set_timer(exchange, exchange->stream.is_shaken
                                                  ? server->config.idle_ms
                                                  : server->config.handshake_ms);
}
