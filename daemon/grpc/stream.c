/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The streams of a connection: what nghttp2 says of them goes to their owners, what
 * owners send goes to nghttp2.
 *
 * nghttp2 knows a stream by its user data only, which is taken from it when the stream is
 * unlinked: frames that still come or go for it then find nothing. An owner's event may
 * free the stream and kill the connection, so after one nothing is used but the
 * connection, which its depth keeps.
 */
#include "connection.h"

#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "text.h"

static nghttp2_nv make_field(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value),
                        NGHTTP2_NV_FLAG_NONE};
}

static struct hamid_grpc_stream *find(const struct hamid_grpc_connection *connection,
                                      int32_t id)
{
    return connection->is_dead
               ? NULL
               : nghttp2_session_get_stream_user_data(connection->session, id);
}

/* To nghttp2's callbacks: go on, or stop here, since the connection is closed. */
static int verdict(const struct hamid_grpc_connection *connection)
{
    return connection->is_dead ? NGHTTP2_ERR_CALLBACK_FAILURE : 0;
}

static void uncount_body(struct hamid_grpc_stream *stream)
{
    if (stream->connection != NULL && stream->connection->config.bodies != NULL) {
        *stream->connection->config.bodies -= stream->body_counted;
    }
    stream->body_counted = 0;
}

/* False where the bodies of all calls together are too much. */
static bool count_body(struct hamid_grpc_stream *stream, size_t length)
{
    const struct hamid_grpc_connection_config *config = &stream->connection->config;

    if (config->bodies == NULL) {
        return true;
    }
    if (*config->bodies + length > config->bodies_max) {
        return false;
    }
    *config->bodies += length;
    stream->body_counted += length;
    return true;
}

void hamid_grpc_stream_unlink(struct hamid_grpc_stream *stream)
{
    uncount_body(stream);
    LIST_REMOVE(stream, siblings);
    (void)nghttp2_session_set_stream_user_data(stream->connection->session, stream->id,
                                               NULL);
    stream->connection = NULL;
}

/* ---- what goes out ----------------------------------------------------------------- */

/* The trailers of an answer. */
static void put_trailers(struct hamid_grpc_stream *stream)
{
    nghttp2_nv fields[2] = {make_field("grpc-status", stream->trailer_code)};
    size_t count = 1;

    if (stream->trailer_text != NULL) {
        fields[count++] = make_field("grpc-message", stream->trailer_text);
    }
    (void)nghttp2_submit_trailer(stream->connection->session, stream->id, fields, count);
}

static ssize_t read_output(nghttp2_session *session, int32_t id, uint8_t *buffer,
                           size_t length, uint32_t *flags, nghttp2_data_source *source,
                           void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct hamid_grpc_stream *stream = find(connection, id);

    (void)session;
    (void)source;
    if (stream == NULL) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    int taken = evbuffer_remove(stream->output, buffer, length);
    if (taken < 0) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (evbuffer_get_length(stream->output) > 0) {
        return taken;
    }
    if (stream->output_ended) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
        if (connection->config.is_server) {
            *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
            put_trailers(stream);
        }
        return taken;
    }
    if (taken == 0) {
        stream->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    stream->events->drained(stream);
    return taken;
}

static const nghttp2_data_provider provider = {.read_callback = read_output};

static void resume(struct hamid_grpc_stream *stream)
{
    if (stream->deferred) {
        stream->deferred = false;
        (void)nghttp2_session_resume_data(stream->connection->session, stream->id);
    }
    hamid_grpc_connection_schedule(stream->connection);
}

int hamid_grpc_stream_request(struct hamid_grpc_connection *connection,
                              struct hamid_grpc_stream *stream, const nghttp2_nv *fields,
                              size_t count)
{
    stream->output_ended = true;
    int32_t id = nghttp2_submit_request(connection->session, NULL, fields, count,
                                        &provider, stream);

    if (id < 0) {
        return -1;
    }
    stream->id = id;
    stream->connection = connection;
    LIST_INSERT_HEAD(&connection->streams, stream, siblings);
    hamid_grpc_connection_schedule(connection);
    return 0;
}

int hamid_grpc_stream_put(struct hamid_grpc_stream *stream, const uint8_t *message,
                          size_t length)
{
    uint8_t prefix[HAMID_GRPC_PREFIX] = {0, (uint8_t)(length >> 24),
                                         (uint8_t)(length >> 16), (uint8_t)(length >> 8),
                                         (uint8_t)length};

    if (evbuffer_expand(stream->output, sizeof(prefix) + length) != 0) {
        return -1;
    }
    (void)evbuffer_add(stream->output, prefix, sizeof(prefix));
    (void)evbuffer_add(stream->output, message, length);
    return 0;
}

void hamid_grpc_stream_flush(struct hamid_grpc_stream *stream)
{
    nghttp2_nv fields[2] = {make_field(":status", "200"),
                            make_field("content-type", "application/grpc")};

    if (stream->connection == NULL) {
        return;
    }
    if (!stream->is_answered) {
        stream->is_answered = true;
        (void)nghttp2_submit_response(stream->connection->session, stream->id, fields, 2,
                                      &provider);
    }
    resume(stream);
}

/* An answer without any message: one header block says it all. */
static void finish_at_once(struct hamid_grpc_stream *stream)
{
    nghttp2_nv fields[5] = {make_field(":status", "200"),
                            make_field("content-type", "application/grpc"),
                            make_field("grpc-status", stream->trailer_code)};
    size_t count = 3;

    if (stream->trailer_text != NULL) {
        fields[count++] = make_field("grpc-message", stream->trailer_text);
    }
    if (strcmp(stream->trailer_code, "12") == 0) {
        fields[count++] = make_field("grpc-accept-encoding", "identity");
    }
    stream->is_answered = true;
    (void)nghttp2_submit_response(stream->connection->session, stream->id, fields, count,
                                  NULL);
    hamid_grpc_connection_schedule(stream->connection);
}

void hamid_grpc_stream_finish(struct hamid_grpc_stream *stream, int code,
                              const char *text)
{
    if (stream->connection == NULL || stream->output_ended) {
        return;
    }
    (void)evutil_snprintf(stream->trailer_code, sizeof(stream->trailer_code), "%d", code);
    if (text != NULL && *text != '\0') {
        stream->trailer_text = malloc(3 * HAMID_GRPC_TEXT_MAX + 1);
        if (stream->trailer_text != NULL) {
            hamid_grpc_text_encode(text, stream->trailer_text,
                                   3 * HAMID_GRPC_TEXT_MAX + 1);
        }
    }
    stream->output_ended = true;
    stream->is_deaf = true;
    if (!stream->is_answered && evbuffer_get_length(stream->output) == 0) {
        finish_at_once(stream);
    } else {
        hamid_grpc_stream_flush(stream);
    }
}

void hamid_grpc_stream_refuse(struct hamid_grpc_stream *stream, const char *status)
{
    nghttp2_nv fields[1] = {make_field(":status", status)};

    if (stream->connection == NULL || stream->is_answered) {
        return;
    }
    stream->is_answered = true;
    stream->output_ended = true;
    stream->is_deaf = true;
    (void)nghttp2_submit_response(stream->connection->session, stream->id, fields, 1,
                                  NULL);
    hamid_grpc_connection_schedule(stream->connection);
}

void hamid_grpc_stream_drop(struct hamid_grpc_stream *stream, uint32_t error)
{
    struct hamid_grpc_connection *connection = stream->connection;

    if (connection == NULL) {
        return;
    }
    bool is_over = stream->is_input_ended && nghttp2_session_get_stream_local_close(
                                                 connection->session, stream->id) == 1;

    hamid_grpc_stream_unlink(stream);
    if (!connection->is_dead && !is_over) {
        (void)nghttp2_submit_rst_stream(connection->session, NGHTTP2_FLAG_NONE,
                                        stream->id, error);
        hamid_grpc_connection_schedule(connection);
    }
}

bool hamid_grpc_stream_lives(const struct hamid_grpc_connection *connection, int32_t id,
                             const struct hamid_grpc_stream *stream)
{
    return find(connection, id) == stream;
}

bool hamid_grpc_stream_init(struct hamid_grpc_stream *stream,
                            const struct hamid_grpc_stream_events *events,
                            size_t message_max)
{
    memset(stream, 0, sizeof(*stream));
    stream->events = events;
    stream->inbox.message_max = message_max;
    stream->output = evbuffer_new();
    return stream->output != NULL;
}

void hamid_grpc_stream_done(struct hamid_grpc_stream *stream)
{
    hamid_grpc_inbox_done(&stream->inbox);
    if (stream->output != NULL) {
        evbuffer_free(stream->output);
        stream->output = NULL;
    }
    free(stream->trailer_text);
    stream->trailer_text = NULL;
}

/* ---- what comes in ----------------------------------------------------------------- */

static int block_begins(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct hamid_grpc_connection *connection = data;

    if (connection->is_dead) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    if (frame->hd.type != NGHTTP2_HEADERS) {
        return 0;
    }
    struct hamid_grpc_stream *stream = find(connection, frame->hd.stream_id);
    if (stream == NULL && connection->config.is_server &&
        frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        stream = connection->config.events->opened(connection->config.owner);
        if (stream == NULL) {
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        stream->id = frame->hd.stream_id;
        stream->connection = connection;
        LIST_INSERT_HEAD(&connection->streams, stream, siblings);
        (void)nghttp2_session_set_stream_user_data(session, stream->id, stream);
    }
    if (stream != NULL) {
        stream->field_count = 0;
        stream->field_bytes = 0;
    }
    return 0;
}

static int field_came(nghttp2_session *session, const nghttp2_frame *frame,
                      const uint8_t *name, size_t name_length, const uint8_t *value,
                      size_t value_length, uint8_t flags, void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct hamid_grpc_stream *stream = find(connection, frame->hd.stream_id);

    (void)session;
    (void)flags;
    if (stream == NULL) {
        return verdict(connection);
    }
    stream->field_bytes += name_length + value_length + 32;
    if (++stream->field_count > HAMID_GRPC_HEADERS_MAX ||
        stream->field_bytes > HAMID_GRPC_HEADER_BYTES_MAX) {
        stream->is_too_large = true;
        return 0;
    }
    stream->events->field(stream, (const char *)name, (const char *)value, value_length);
    return verdict(connection);
}

static int give_message(void *data, const uint8_t *message, size_t length)
{
    struct hamid_grpc_stream *stream = data;

    uncount_body(stream);
    return stream->events->message(stream, message, length) != 0 ? -1 : 0;
}

static void break_off(struct hamid_grpc_stream *stream, int code, const char *text)
{
    stream->is_deaf = true;
    stream->events->broken(stream, code, text);
}

static int bytes_came(nghttp2_session *session, uint8_t flags, int32_t id,
                      const uint8_t *bytes, size_t length, void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct hamid_grpc_stream *stream = find(connection, id);
    const char *text = "too much is being sent at once";
    int code = HAMID_GRPC_RESOURCE_EXHAUSTED;

    (void)session;
    (void)flags;
    if (stream == NULL || stream->is_deaf) {
        return verdict(connection);
    }
    if (count_body(stream, length)) {
        code = hamid_grpc_inbox_take(&stream->inbox, bytes, length, give_message, stream,
                                     &text);
    }
    if (code > 0) {
        break_off(stream, code, text);
    }
    return verdict(connection);
}

static void settings_came(struct hamid_grpc_connection *connection)
{
    if (!connection->has_settings) {
        struct timeval after = {
            (time_t)(connection->config.keepalive_ms / 1000),
            (suseconds_t)(connection->config.keepalive_ms % 1000 * 1000)};

        connection->has_settings = true;
        (void)event_del(connection->timer);
        if (connection->config.keepalive_ms != 0) {
            (void)event_add(connection->timer, &after);
        }
    }
}

/* A header block is whole, or the stream's last frame has come. */
static void stream_frame_came(struct hamid_grpc_connection *connection,
                              const nghttp2_frame *frame)
{
    struct hamid_grpc_stream *stream = find(connection, frame->hd.stream_id);
    bool is_last = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

    if (stream == NULL) {
        return;
    }
    stream->is_input_ended = is_last;
    if (stream->is_deaf) {
        return;
    }
    if (frame->hd.type == NGHTTP2_HEADERS) {
        if (stream->is_too_large) {
            break_off(stream, HAMID_GRPC_RESOURCE_EXHAUSTED,
                      "the header fields are more than what is taken");
            return;
        }
        stream->events->block(stream, is_last);
        stream = find(connection, frame->hd.stream_id);
    }
    if (is_last && stream != NULL && !stream->is_deaf) {
        if (hamid_grpc_inbox_is_torn(&stream->inbox)) {
            break_off(stream, HAMID_GRPC_INTERNAL,
                      "the stream ended in the middle of a message");
        } else {
            stream->events->ended(stream);
        }
    }
}

static int frame_came(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct hamid_grpc_connection *connection = data;

    (void)session;
    if (connection->is_dead) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    switch (frame->hd.type) {
    case NGHTTP2_SETTINGS:
        settings_came(connection);
        break;
    case NGHTTP2_GOAWAY:
        connection->config.events->going_away(connection->config.owner);
        break;
    case NGHTTP2_HEADERS:
    case NGHTTP2_DATA:
        stream_frame_came(connection, frame);
        break;
    default:
        break;
    }
    return verdict(connection);
}

/* A server that has said all does not want the rest of the request. */
static int frame_left(nghttp2_session *session, const nghttp2_frame *frame, void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct hamid_grpc_stream *stream = find(connection, frame->hd.stream_id);

    if (stream != NULL) {
        stream->has_left = true;
    }
    if (connection->config.is_server && frame->hd.type == NGHTTP2_HEADERS &&
        (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0 &&
        nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0) {
        (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id,
                                        NGHTTP2_NO_ERROR);
    }
    return verdict(connection);
}

/* Never fails: nghttp2 1.52 would leak a request that it could not send. */
static int stream_closes(nghttp2_session *session, int32_t id, uint32_t error, void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct hamid_grpc_stream *stream = find(connection, id);

    (void)session;
    if (stream != NULL) {
        hamid_grpc_stream_unlink(stream);
        stream->events->closed(stream, error, "the stream was reset");
    }
    if (!connection->is_dead && LIST_EMPTY(&connection->streams)) {
        connection->config.events->idle(connection->config.owner);
    }
    return 0;
}

int hamid_grpc_stream_callbacks(nghttp2_session_callbacks *callbacks)
{
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, block_begins);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, field_came);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bytes_came);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frame_came);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frame_left);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, stream_closes);
    return 0;
}
