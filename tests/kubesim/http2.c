/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 on one connection, by nghttp2: 100 streams at once, windows of 256 KiB. Frames
 * are made from the connection's turn only, never from within a callback of nghttp2.
 * Server's thread only, no lock.
 */
#include "connection.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAMS 100
#define STREAM_WINDOW (256 << 10)
#define CONNECTION_WINDOW (1 << 20)
#define OUTPUT_LIMIT (1u << 20)
#define RECORD (16u << 10)
#define MEASURED (4u << 10)
#define WATCH_LOW_WATER (512u << 10)

struct http2 {
    struct sim_connection *connection;
    nghttp2_session *session;
    struct stream *streams;
};

struct stream {
    struct http2 *http;
    struct stream *next, **link;
    struct sim_exchange *exchange;
    struct evbuffer *output;
    int32_t id;
    bool ended, deferred, truncate, refused;
};

static void stream_free(struct stream *stream)
{
    *stream->link = stream->next;
    if (stream->next != NULL) {
        stream->next->link = stream->link;
    }
    sim_exchange_detach(stream->exchange);
    evbuffer_free(stream->output);
    free(stream);
}

/* ---- answers ---- */

static ssize_t read_output(nghttp2_session *session, int32_t id, uint8_t *buffer,
                           size_t length, uint32_t *flags, nghttp2_data_source *source,
                           void *data)
{
    struct stream *stream = source->ptr;
    size_t before = evbuffer_get_length(stream->output);
    (void)session;
    (void)id;
    (void)data;
    if (before == 0 && !stream->ended) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (before == 0 && stream->truncate) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* becomes RST_STREAM */
    }
    int taken = evbuffer_remove(stream->output, buffer, length);
    size_t after = evbuffer_get_length(stream->output);
    if (after == 0 && stream->ended && !stream->truncate) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    if (before > WATCH_LOW_WATER && after <= WATCH_LOW_WATER) {
        sim_watch_wake(stream->http->connection->server);
    }
    return taken > 0 ? taken : 0;
}

static nghttp2_nv header(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static void submit(struct stream *stream, const struct sim_answer *answer, bool streaming)
{
    nghttp2_nv headers[8];
    size_t count = 0;
    char date[40], status[12], length[24], retry[12];
    const char *audit = sim_audit_id(stream->exchange);
    nghttp2_data_provider provider = {.source.ptr = stream, .read_callback = read_output};
    snprintf(status, sizeof(status), "%d", answer->code);
    headers[count++] = header(":status", status);
    headers[count++] =
        header("date", sim_date(stream->exchange->server, answer->date_skew, date));
    headers[count++] = header("content-type", answer->content_type);
    headers[count++] = header("cache-control", "no-cache, private");
    if (audit != NULL) {
        headers[count++] = header("audit-id", audit);
    }
    /* A real server tells the length only of what it had as a whole in a small buffer. */
    if (!streaming && answer->length <= MEASURED) {
        snprintf(length, sizeof(length), "%zu", answer->length);
        headers[count++] = header("content-length", length);
    }
    if (answer->retry_after >= 0) {
        snprintf(retry, sizeof(retry), "%d", answer->retry_after);
        headers[count++] = header("retry-after", retry);
    }
    if (answer->allow_patch != NULL) {
        headers[count++] = header("accept-patch", answer->allow_patch);
    }
    (void)nghttp2_submit_response(stream->http->session, stream->id, headers, count,
                                  &provider);
    sim_connection_schedule(stream->http->connection);
}

static void respond(struct sim_exchange *exchange, const struct sim_answer *answer)
{
    struct stream *stream = exchange->stream;
    stream->truncate = answer->truncate;
    stream->ended = true;
    evbuffer_add(stream->output, answer->body,
                 answer->truncate ? answer->length / 2 : answer->length);
    submit(stream, answer, false);
}

static void start_stream(struct sim_exchange *exchange, const struct sim_answer *answer)
{
    submit(exchange->stream, answer, true);
}

static void resume(struct stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        (void)nghttp2_session_resume_data(stream->http->session, stream->id);
    }
    sim_connection_schedule(stream->http->connection);
}

static void write_stream(struct sim_exchange *exchange, const char *data, size_t length)
{
    struct stream *stream = exchange->stream;
    evbuffer_add(stream->output, data, length);
    resume(stream);
}

static void end_stream(struct sim_exchange *exchange)
{
    struct stream *stream = exchange->stream;
    stream->ended = true;
    resume(stream);
}

static size_t pending(struct sim_exchange *exchange)
{
    struct stream *stream = exchange->stream;
    return evbuffer_get_length(stream->output);
}

static int32_t last_stream(const struct http2 *http)
{
    return nghttp2_session_get_last_proc_stream_id(http->session);
}

static void go_away(struct sim_exchange *exchange)
{
    struct stream *stream = exchange->stream;
    struct http2 *http = stream->http;
    (void)nghttp2_submit_goaway(http->session, NGHTTP2_FLAG_NONE, last_stream(http),
                                NGHTTP2_NO_ERROR, NULL, 0);
    sim_connection_schedule(http->connection);
}

static void refuse(struct stream *stream, uint32_t error)
{
    struct http2 *http = stream->http;
    stream->refused = true;
    (void)nghttp2_submit_rst_stream(http->session, NGHTTP2_FLAG_NONE, stream->id, error);
    sim_connection_schedule(http->connection);
}

/* The last stream id tells the client what it may send again. It must not disown a
 * later stream, which may have been applied: then this one alone is refused. */
static void refuse_by_goaway(struct stream *stream)
{
    struct http2 *http = stream->http;
    int32_t last = stream->id - 2;
    if (last_stream(http) > stream->id) {
        last = last_stream(http);
        refuse(stream, NGHTTP2_REFUSED_STREAM);
    }
    stream->refused = true;
    (void)nghttp2_submit_goaway(http->session, NGHTTP2_FLAG_NONE, last > 0 ? last : 0,
                                NGHTTP2_NO_ERROR, NULL, 0);
    sim_connection_schedule(http->connection);
}

static void abort_stream(struct sim_exchange *exchange, enum sim_abort how)
{
    struct stream *stream = exchange->stream;
    switch (how) {
    case SIM_ABORT_CONNECTION:
        sim_connection_kill(stream->http->connection, true);
        break;
    case SIM_ABORT_STREAM:
        refuse(stream, NGHTTP2_INTERNAL_ERROR);
        break;
    case SIM_ABORT_REFUSED:
        refuse(stream, NGHTTP2_REFUSED_STREAM);
        break;
    case SIM_ABORT_GOAWAY:
        refuse_by_goaway(stream);
        break;
    }
}

static const struct sim_transport transport = {.respond = respond,
                                               .start = start_stream,
                                               .write = write_stream,
                                               .end = end_stream,
                                               .pending = pending,
                                               .abort = abort_stream,
                                               .go_away = go_away};

/* ---- requests ---- */

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
                            void *data)
{
    struct http2 *http = data;
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) {
        return 0;
    }
    struct stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    stream->http = http;
    stream->id = frame->hd.stream_id;
    stream->output = evbuffer_new();
    stream->exchange = sim_connection_exchange(http->connection, &transport, stream);
    stream->next = http->streams;
    stream->link = &http->streams;
    if (stream->next != NULL) {
        stream->next->link = &stream->next;
    }
    http->streams = stream;
    (void)nghttp2_session_set_stream_user_data(session, stream->id, stream);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame,
                     const uint8_t *name, size_t name_length, const uint8_t *value,
                     size_t value_length, uint8_t flags, void *data)
{
    struct stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    (void)name_length;
    (void)value_length;
    (void)flags;
    (void)data;
    if (stream != NULL && !sim_exchange_add_header(stream->exchange, (const char *)name,
                                                   (const char *)value)) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id,
                   const uint8_t *bytes, size_t length, void *data)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    (void)flags;
    (void)data;
    if (stream != NULL && !stream->refused &&
        !sim_exchange_add_body(stream->exchange, bytes, length)) {
        refuse(stream, NGHTTP2_CANCEL);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    (void)data;
    if ((frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) ||
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) == 0) {
        return 0;
    }
    struct stream *stream =
        nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
    if (stream == NULL || stream->refused) {
        return 0;
    }
    sim_router_begin(stream->exchange);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error,
                           void *data)
{
    struct stream *stream = nghttp2_session_get_stream_user_data(session, id);
    (void)error;
    (void)data;
    if (stream != NULL) {
        (void)nghttp2_session_set_stream_user_data(session, id, NULL);
        stream_free(stream);
    }
    return 0;
}

/* ---- the connection ---- */

static nghttp2_session *new_session(struct http2 *http)
{
    nghttp2_session_callbacks *callbacks;
    nghttp2_session *session = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return NULL;
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    if (nghttp2_session_server_new(&session, callbacks, http) != 0) {
        session = NULL;
    }
    nghttp2_session_callbacks_del(callbacks);
    return session;
}

static void *open_protocol(struct sim_connection *connection)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, SIM_HEADER_LIMIT}};
    struct http2 *http = calloc(1, sizeof(*http));
    if (http == NULL) {
        return NULL;
    }
    http->connection = connection;
    http->session = new_session(http);
    if (http->session == NULL) {
        free(http);
        return NULL;
    }
    (void)nghttp2_submit_settings(http->session, NGHTTP2_FLAG_NONE, settings,
                                  sizeof(settings) / sizeof(settings[0]));
    (void)nghttp2_session_set_local_window_size(http->session, NGHTTP2_FLAG_NONE, 0,
                                                CONNECTION_WINDOW);
    return http;
}

static int input(void *state, struct evbuffer *buffer)
{
    struct http2 *http = state;
    size_t length = evbuffer_get_length(buffer);
    const uint8_t *bytes = evbuffer_pullup(buffer, -1);
    ssize_t taken =
        bytes != NULL ? nghttp2_session_mem_recv(http->session, bytes, length) : 0;
    evbuffer_drain(buffer, length);
    return taken < 0 ? -1 : 0;
}

static void turn(void *state)
{
    struct http2 *http = state;
    struct sim_connection *connection = http->connection;
    /* What is written in one turn is to leave in as few records as possible. */
    (void)evbuffer_expand(connection->output, 2 * RECORD);
    while (evbuffer_get_length(connection->output) < OUTPUT_LIMIT) {
        const uint8_t *bytes;
        ssize_t length = nghttp2_session_mem_send(http->session, &bytes);
        if (length < 0) {
            sim_connection_kill(connection, false);
            return;
        }
        if (length == 0) {
            break;
        }
        evbuffer_add(connection->output, bytes, (size_t)length);
    }
    if (!nghttp2_session_want_read(http->session) &&
        !nghttp2_session_want_write(http->session)) {
        sim_connection_drain(connection);
    }
}

static void drained(void *state)
{
    (void)state; /* the turn that follows writes on */
}

static void close_protocol(void *state)
{
    struct http2 *http = state;
    while (http->streams != NULL) {
        stream_free(http->streams);
    }
    nghttp2_session_del(http->session);
    free(http);
}

const struct sim_protocol sim_http2 = {.open = open_protocol,
                                       .input = input,
                                       .turn = turn,
                                       .drained = drained,
                                       .close = close_protocol};
