/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers. They go to the connection's output; the loop sends them, so that a handler
 * that answers at once does not lose its exchange before it returns.
 *
 * A large answer while all connections together hold too much becomes a 503: clients that
 * ask and do not read can't fill the memory with lists.
 */
#include "internal.h"

#include <string.h>

#define SMALL_MAX 65536 /* such answers are always given */

static void write_head(struct hamid_http_exchange *exchange, int status,
                       const char *content_type, size_t length)
{
    struct evbuffer *output = exchange->stream.output;
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

static void begin(struct hamid_http_exchange *exchange)
{
    exchange->close_after = exchange->close_after || exchange->server->draining;
    exchange->gone = NULL;
    if (exchange->body != NULL) {
        (void)evbuffer_drain(exchange->body, evbuffer_get_length(exchange->body));
    }
}

static void end(struct hamid_http_exchange *exchange)
{
    hamid_http_connection_count(exchange);
    hamid_http_connection_set_state(exchange, HAMID_HTTP_WRITING);
    hamid_http_connection_set_timer(exchange, exchange->server->config.write_ms);
    (void)event_add(&exchange->writable, NULL);
}

static bool is_too_large(const struct hamid_http_exchange *exchange, size_t length)
{
    const struct hamid_http_server *server = exchange->server;
    return length > SMALL_MAX &&
           server->held_bytes + length > server->config.held_bytes_max;
}

static void answer_busy(struct hamid_http_exchange *exchange)
{
    static const char text[] = "too many large answers are under way at the moment\n";
    hamid_http_answer(exchange, 503, "text/plain; charset=utf-8", text, sizeof(text) - 1);
}

void hamid_http_answer_buffer(struct hamid_http_exchange *exchange, int status,
                              const char *content_type, struct evbuffer *body)
{
    size_t length = evbuffer_get_length(body);
    if (is_too_large(exchange, length)) {
        (void)evbuffer_drain(body, length);
        answer_busy(exchange);
        return;
    }
    begin(exchange);
    write_head(exchange, status, content_type, length);
    (void)evbuffer_add_buffer(exchange->stream.output, body);
    end(exchange);
}

void hamid_http_answer(struct hamid_http_exchange *exchange, int status,
                       const char *content_type, const void *body, size_t length)
{
    if (is_too_large(exchange, length)) {
        answer_busy(exchange);
        return;
    }
    /* The body that is answered may be the request's own. */
    exchange->close_after = exchange->close_after || exchange->server->draining;
    write_head(exchange, status, content_type, length);
    (void)evbuffer_add(exchange->stream.output, body, length);
    begin(exchange);
    end(exchange);
}
