/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 on one connection: one request at a time, keep-alive, bodies by length or in
 * chunks, watches as chunked answers. What follows an unanswered request stays in the
 * input buffer. Server's thread only, no lock.
 */
#include "connection.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_LIMIT (16u << 10)
#define INPUT_LIMIT (256u << 10)

enum stage { START_LINE, HEADERS, BODY, CHUNK_SIZE, CHUNK_END, TRAILERS, WAITING };

struct http1 {
    struct sim_connection *connection;
    struct sim_exchange *exchange; /* from the start line until it is answered */
    enum stage stage;
    size_t remaining; /* of the body or the chunk */
    bool keep_alive, chunked, answered;
};

static void put_head(struct http1 *http, const struct sim_answer *answer, bool streaming)
{
    struct evbuffer *output = http->connection->output;
    const struct kubesim *sim = http->connection->server;
    char date[40];
    if (answer->close) {
        http->keep_alive = false;
    }
    evbuffer_add_printf(output, "HTTP/1.1 %d %s\r\nDate: %s\r\n", answer->code,
                        sim_reason_phrase(answer->code),
                        sim_date(sim, answer->date_skew, date));
    if (http->exchange != NULL && sim_audit_id(http->exchange) != NULL) {
        evbuffer_add_printf(output, "Audit-Id: %s\r\n", sim_audit_id(http->exchange));
    }
    evbuffer_add_printf(output,
                        "Cache-Control: no-cache, private\r\nContent-Type: %s\r\n",
                        answer->content_type);
    if (answer->retry_after >= 0) {
        evbuffer_add_printf(output, "Retry-After: %d\r\n", answer->retry_after);
    }
    if (answer->allow_patch != NULL) {
        evbuffer_add_printf(output, "Accept-Patch: %s\r\n", answer->allow_patch);
    }
    if (!http->keep_alive) {
        evbuffer_add_printf(output, "Connection: close\r\n");
    }
    if (streaming) {
        evbuffer_add_printf(output, "Transfer-Encoding: chunked\r\n\r\n");
    } else {
        evbuffer_add_printf(output, "Content-Length: %zu\r\n\r\n", answer->length);
    }
}

static void respond(struct sim_exchange *exchange, const struct sim_answer *answer)
{
    struct http1 *http = exchange->stream;
    size_t length = answer->truncate ? answer->length / 2 : answer->length;
    put_head(http, answer, false);
    evbuffer_add(http->connection->output, answer->body, length);
    http->answered = true;
    if (answer->truncate) {
        sim_connection_drain(http->connection);
    }
    sim_connection_schedule(http->connection);
}

static void start_stream(struct sim_exchange *exchange, const struct sim_answer *answer)
{
    struct http1 *http = exchange->stream;
    put_head(http, answer, true);
    sim_connection_schedule(http->connection);
}

static void write_stream(struct sim_exchange *exchange, const char *data, size_t length)
{
    struct http1 *http = exchange->stream;
    evbuffer_add_printf(http->connection->output, "%zx\r\n", length);
    evbuffer_add(http->connection->output, data, length);
    evbuffer_add(http->connection->output, "\r\n", 2);
}

static void end_stream(struct sim_exchange *exchange)
{
    struct http1 *http = exchange->stream;
    evbuffer_add(http->connection->output, "0\r\n\r\n", 5);
    http->answered = true;
    sim_connection_schedule(http->connection);
}

static size_t pending(struct sim_exchange *exchange)
{
    struct http1 *http = exchange->stream;
    return evbuffer_get_length(http->connection->output);
}

static void abort_stream(struct sim_exchange *exchange, enum sim_abort how)
{
    struct http1 *http = exchange->stream;
    (void)how; /* there is but one way to leave a request unanswered */
    sim_connection_kill(http->connection, true);
}

static void go_away(struct sim_exchange *exchange)
{
    struct http1 *http = exchange->stream;
    http->keep_alive = false;
}

static const struct sim_transport transport = {.respond = respond,
                                               .start = start_stream,
                                               .write = write_stream,
                                               .end = end_stream,
                                               .pending = pending,
                                               .abort = abort_stream,
                                               .go_away = go_away};

/* Answer garbage with a plain status and close. */
static int refuse(struct http1 *http, int code)
{
    struct sim_answer answer = {.code = code,
                                .content_type = "text/plain; charset=utf-8",
                                .retry_after = -1,
                                .close = true};
    put_head(http, &answer, false);
    return -1;
}

static int start_line(struct http1 *http, char *line)
{
    char *rest = NULL;
    const char *method = strtok_r(line, " ", &rest);
    const char *uri = method != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    const char *version = uri != NULL ? strtok_r(NULL, " ", &rest) : NULL;
    if (version == NULL || uri[0] != '/' || strtok_r(NULL, " ", &rest) != NULL ||
        (strcmp(version, "HTTP/1.1") != 0 && strcmp(version, "HTTP/1.0") != 0)) {
        return refuse(http, 400);
    }
    http->exchange = sim_connection_exchange(http->connection, &transport, http);
    http->keep_alive = strcmp(version, "HTTP/1.1") == 0;
    http->remaining = 0;
    http->chunked = http->answered = false;
    (void)sim_exchange_add_header(http->exchange, ":method", method);
    if (!sim_exchange_add_header(http->exchange, ":path", uri)) {
        return refuse(http, 431);
    }
    http->stage = HEADERS;
    return 0;
}

static bool is_number(const char *text)
{
    size_t length = strlen(text);
    return length > 0 && length < 10 && strspn(text, "0123456789") == length;
}

static int header_line(struct http1 *http, char *line)
{
    char *value = strchr(line, ':');
    if (value == NULL || value == line || isspace((unsigned char)value[-1])) {
        return refuse(http, 400);
    }
    *value++ = '\0';
    value += strspn(value, " \t");
    for (size_t end = strlen(value); end > 0 && isspace((unsigned char)value[end - 1]);) {
        value[--end] = '\0';
    }
    if (strcasecmp(line, "content-length") == 0) {
        if (!is_number(value)) {
            return refuse(http, 400);
        }
        http->remaining = strtoul(value, NULL, 10);
    } else if (strcasecmp(line, "transfer-encoding") == 0) {
        if (strcasecmp(value, "chunked") != 0) {
            return refuse(http, 400);
        }
        http->chunked = true;
    } else if (strcasecmp(line, "connection") == 0 && strcasecmp(value, "close") == 0) {
        http->keep_alive = false;
    } else if (strcasecmp(line, "expect") == 0 &&
               strcasecmp(value, "100-continue") == 0) {
        evbuffer_add_printf(http->connection->output, "HTTP/1.1 100 Continue\r\n\r\n");
    }
    return sim_exchange_add_header(http->exchange, line, value) ? 0 : refuse(http, 431);
}

static int complete(struct http1 *http)
{
    http->stage = WAITING;
    sim_router_begin(http->exchange);
    return 0;
}

static int headers_done(struct http1 *http)
{
    if (http->chunked) {
        http->stage = CHUNK_SIZE;
        return 0;
    }
    if (http->remaining >= SIM_BODY_LIMIT) {
        return refuse(http, 413);
    }
    http->stage = BODY;
    return http->remaining == 0 ? complete(http) : 0;
}

static int chunk_line(struct http1 *http, const char *line)
{
    char *end;
    unsigned long size = strtoul(line, &end, 16);
    if (end == line || !isxdigit((unsigned char)line[0]) ||
        (*end != '\0' && *end != ';')) {
        return refuse(http, 400);
    }
    if (size >= SIM_BODY_LIMIT) {
        return refuse(http, 413);
    }
    http->remaining = size;
    http->stage = size > 0 ? BODY : TRAILERS;
    return 0;
}

static int handle_line(struct http1 *http, char *line)
{
    switch (http->stage) {
    case START_LINE:
        return line[0] == '\0' ? 0 : start_line(http, line);
    case HEADERS:
        return line[0] == '\0' ? headers_done(http) : header_line(http, line);
    case CHUNK_SIZE:
        return chunk_line(http, line);
    case CHUNK_END:
        http->stage = CHUNK_SIZE;
        return line[0] == '\0' ? 0 : refuse(http, 400);
    default:
        return line[0] == '\0' ? complete(http) : 0; /* trailers are read over */
    }
}

static int take_line(struct http1 *http, struct evbuffer *input, bool *more)
{
    size_t length;
    char *line = evbuffer_readln(input, &length, EVBUFFER_EOL_CRLF);
    if (line == NULL) {
        *more = false;
        return evbuffer_get_length(input) > LINE_LIMIT ? refuse(http, 431) : 0;
    }
    int result = strlen(line) == length && length <= LINE_LIMIT ? handle_line(http, line)
                                                                : refuse(http, 400);
    free(line);
    return result;
}

static int take_body(struct http1 *http, struct evbuffer *input, bool *more)
{
    char piece[16384];
    size_t wanted = http->remaining < sizeof(piece) ? http->remaining : sizeof(piece);
    int length = evbuffer_remove(input, piece, wanted);
    if (length <= 0) {
        *more = false;
        return 0;
    }
    if (!sim_exchange_add_body(http->exchange, piece, (size_t)length)) {
        return refuse(http, 413);
    }
    http->remaining -= (size_t)length;
    if (http->remaining > 0) {
        return 0;
    }
    if (http->chunked) {
        http->stage = CHUNK_END;
        return 0;
    }
    return complete(http);
}

static int input(void *state, struct evbuffer *buffer)
{
    struct http1 *http = state;
    bool more = true;
    int result = 0;
    while (result == 0 && more && http->stage != WAITING) {
        result = http->stage == BODY ? take_body(http, buffer, &more)
                                     : take_line(http, buffer, &more);
    }
    if (result == 0 && evbuffer_get_length(buffer) > INPUT_LIMIT) {
        return -1; /* pipelining beyond measure */
    }
    return result;
}

static void turn(void *state)
{
    struct http1 *http = state;
    if (!http->answered || http->stage != WAITING) {
        return;
    }
    struct sim_exchange *exchange = http->exchange;
    http->exchange = NULL;
    http->answered = false;
    sim_exchange_detach(exchange);
    if (!http->keep_alive) {
        sim_connection_drain(http->connection);
        return;
    }
    http->stage = START_LINE;
    if (input(http, bufferevent_get_input(http->connection->stream)) < 0) {
        sim_connection_drain(http->connection);
    }
}

static void drained(void *state)
{
    struct http1 *http = state;
    if (http->exchange != NULL && http->exchange->watch != NULL) {
        sim_watch_wake(http->connection->server);
    }
}

static void *open_protocol(struct sim_connection *connection)
{
    struct http1 *http = calloc(1, sizeof(*http));
    if (http != NULL) {
        http->connection = connection;
    }
    return http;
}

static void close_protocol(void *state)
{
    struct http1 *http = state;
    if (http->exchange != NULL) {
        sim_exchange_detach(http->exchange);
    }
    free(http);
}

const struct sim_protocol sim_http1 = {.open = open_protocol,
                                       .input = input,
                                       .turn = turn,
                                       .drained = drained,
                                       .close = close_protocol};
