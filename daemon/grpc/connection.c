/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of one HTTP/2 connection: its socket, turns, pings and end. What nghttp2 says
 * of streams is stream.c's.
 *
 * nghttp2 must not be fed or asked for frames from within its own callbacks, so
 * everything that wants to send makes `turn` active, and frames are made there. `depth`
 * counts our functions on the stack that go on after calling out; is_dead tells them to
 * stop, and the last one frees.
 */
#include "connection.h"

#include <stdlib.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#define STREAM_WINDOW (1 << 20)
#define CONNECTION_WINDOW (4 << 20)
#define OUTPUT_HIGH (256u << 10) /* frames that are made ahead of the socket */
#define OUTPUT_LOW (64u << 10)
#define GREETING_MS 10000 /* for the other side's first frame */
#define KEEPALIVE_TIMEOUT_MS 20000

static void free_now(struct hamid_grpc_connection *connection)
{
    if (connection->turn != NULL) {
        event_free(connection->turn);
    }
    if (connection->timer != NULL) {
        event_free(connection->timer);
    }
    nghttp2_session_del(connection->session);
    if (connection->socket != NULL) {
        bufferevent_free(connection->socket);
    }
    free(connection);
}

static void leave(struct hamid_grpc_connection *connection)
{
    if (--connection->depth == 0 && connection->is_dead) {
        free_now(connection);
    }
}

/* Ends all streams; what is owed to the socket is tried once, as far as it takes it. */
static void die(struct hamid_grpc_connection *connection, const char *why)
{
    if (connection->is_dead) {
        return;
    }
    connection->is_dead = true;
    (void)event_del(connection->turn);
    (void)event_del(connection->timer);
    (void)bufferevent_disable(connection->socket, EV_READ | EV_WRITE);
    (void)evbuffer_unfreeze(bufferevent_get_output(connection->socket), 1);
    (void)evbuffer_write(bufferevent_get_output(connection->socket),
                         bufferevent_getfd(connection->socket));
    while (!LIST_EMPTY(&connection->streams)) {
        struct hamid_grpc_stream *stream = LIST_FIRST(&connection->streams);

        hamid_grpc_stream_unlink(stream);
        stream->events->closed(stream, HAMID_GRPC_LOST, why);
    }
}

static void die_and_tell(struct hamid_grpc_connection *connection, const char *why)
{
    if (connection->is_dead) {
        return;
    }
    die(connection, why);
    /* A stream's end may have made the owner close the connection. */
    if (!connection->is_disowned) {
        connection->is_disowned = true;
        connection->config.events->closed(connection->config.owner, why);
    }
}

static void arm(struct hamid_grpc_connection *connection, uint64_t milliseconds)
{
    struct timeval after = {(time_t)(milliseconds / 1000),
                            (suseconds_t)(milliseconds % 1000 * 1000)};

    (void)event_add(connection->timer, &after);
}

void hamid_grpc_connection_schedule(struct hamid_grpc_connection *connection)
{
    if (!connection->is_dead) {
        event_active(connection->turn, EV_TIMEOUT, 0);
    }
}

/* ---- turns ------------------------------------------------------------------------- */

/* Makes frames until the socket's buffer is full. */
static void send_frames(struct hamid_grpc_connection *connection)
{
    struct evbuffer *output = bufferevent_get_output(connection->socket);

    while (!connection->is_dead && evbuffer_get_length(output) < OUTPUT_HIGH) {
        const uint8_t *bytes = NULL;
        ssize_t length = nghttp2_session_mem_send(connection->session, &bytes);

        if (length < 0 ||
            (length > 0 && evbuffer_add(output, bytes, (size_t)length) != 0)) {
            die_and_tell(connection, "frames can't be made");
            return;
        }
        if (length == 0) {
            break;
        }
    }
    if (!connection->is_dead && evbuffer_get_length(output) == 0 &&
        !nghttp2_session_want_read(connection->session) &&
        !nghttp2_session_want_write(connection->session)) {
        die_and_tell(connection, connection->why);
    }
}

static void take_turn(evutil_socket_t fd, short what, void *data)
{
    struct hamid_grpc_connection *connection = data;

    (void)fd;
    (void)what;
    connection->depth++;
    send_frames(connection);
    leave(connection);
}

static void was_written(struct bufferevent *socket, void *data)
{
    (void)socket;
    take_turn(-1, 0, data);
}

static void was_read(struct bufferevent *socket, void *data)
{
    struct hamid_grpc_connection *connection = data;
    struct evbuffer *input = bufferevent_get_input(socket);
    struct evbuffer_iovec part;

    connection->depth++;
    connection->has_heard = true;
    connection->is_pinged = false;
    while (!connection->is_dead && evbuffer_peek(input, -1, NULL, &part, 1) > 0) {
        ssize_t taken =
            nghttp2_session_mem_recv(connection->session, part.iov_base, part.iov_len);

        if (connection->is_dead) {
            break;
        }
        if (taken < 0) {
            /* A GOAWAY that says why may be waiting. */
            send_frames(connection);
            die_and_tell(connection, "what came is not HTTP/2");
            break;
        }
        (void)evbuffer_drain(input, (size_t)taken);
    }
    send_frames(connection);
    leave(connection);
}

static void has_happened(struct bufferevent *socket, short what, void *data)
{
    struct hamid_grpc_connection *connection = data;

    (void)socket;
    connection->depth++;
    die_and_tell(connection, (what & BEV_EVENT_EOF) != 0 ? "the connection was closed"
                                                         : "the connection broke");
    leave(connection);
}

/* The first time: have the settings come? Later: has the other side been silent? */
static void time_passed(evutil_socket_t fd, short what, void *data)
{
    struct hamid_grpc_connection *connection = data;
    const struct hamid_grpc_connection_config *config = &connection->config;

    (void)fd;
    (void)what;
    connection->depth++;
    if (!connection->has_settings) {
        die_and_tell(connection, "nothing of HTTP/2 came in time");
    } else if (connection->is_pinged) {
        die_and_tell(connection, "a ping was not answered in time");
    } else if (config->keepalive_ms != 0) {
        if (connection->has_heard || LIST_EMPTY(&connection->streams)) {
            arm(connection, config->keepalive_ms);
        } else {
            connection->is_pinged = true;
            (void)nghttp2_submit_ping(connection->session, NGHTTP2_FLAG_NONE, NULL);
            arm(connection, config->keepalive_timeout_ms != 0
                                ? config->keepalive_timeout_ms
                                : KEEPALIVE_TIMEOUT_MS);
            hamid_grpc_connection_schedule(connection);
        }
        connection->has_heard = false;
    }
    leave(connection);
}

/* ---- public ------------------------------------------------------------------------ */

/* Until the server's settings are known a client opens one stream, not 100: a server that
 * takes fewer would refuse the rest. */
static nghttp2_session *make_session(struct hamid_grpc_connection *connection,
                                     const nghttp2_session_callbacks *callbacks)
{
    nghttp2_session *session = NULL;
    nghttp2_option *option = NULL;

    if (connection->config.is_server) {
        return nghttp2_session_server_new(&session, callbacks, connection) == 0 ? session
                                                                                : NULL;
    }
    if (nghttp2_option_new(&option) != 0) {
        return NULL;
    }
    nghttp2_option_set_peer_max_concurrent_streams(option, 1);
    int code = nghttp2_session_client_new2(&session, callbacks, connection, option);
    nghttp2_option_del(option);
    return code == 0 ? session : NULL;
}

static nghttp2_session *new_session(struct hamid_grpc_connection *connection)
{
    nghttp2_session_callbacks *callbacks = NULL;
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HAMID_GRPC_HEADER_BYTES_MAX},
        {connection->config.is_server ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
                                      : NGHTTP2_SETTINGS_ENABLE_PUSH,
         connection->config.is_server ? connection->config.streams_max : 0}};

    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return NULL;
    }
    (void)hamid_grpc_stream_callbacks(callbacks);
    nghttp2_session *session = make_session(connection, callbacks);
    nghttp2_session_callbacks_del(callbacks);
    if (session != NULL &&
        (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 3) != 0 ||
         nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0,
                                               CONNECTION_WINDOW) != 0)) {
        nghttp2_session_del(session);
        return NULL;
    }
    return session;
}

struct hamid_grpc_connection *
hamid_grpc_connection_new(struct event_base *base, int fd,
                          const struct hamid_grpc_connection_config *config)
{
    struct hamid_grpc_connection *connection = calloc(1, sizeof(*connection));

    if (connection == NULL) {
        (void)evutil_closesocket(fd);
        return NULL;
    }
    connection->config = *config;
    connection->base = base;
    connection->why = "the connection was closed after an error in what came";
    LIST_INIT(&connection->streams);
    connection->socket = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (connection->socket == NULL) {
        (void)evutil_closesocket(fd);
    }
    connection->session = new_session(connection);
    connection->turn = event_new(base, -1, 0, take_turn, connection);
    connection->timer = event_new(base, -1, 0, time_passed, connection);
    if (connection->socket == NULL || connection->session == NULL ||
        connection->turn == NULL || connection->timer == NULL) {
        free_now(connection);
        return NULL;
    }
    bufferevent_setcb(connection->socket, was_read, was_written, has_happened,
                      connection);
    bufferevent_setwatermark(connection->socket, EV_WRITE, OUTPUT_LOW, 0);
    (void)bufferevent_enable(connection->socket, EV_READ | EV_WRITE);
    arm(connection, config->greeting_ms != 0 ? config->greeting_ms : GREETING_MS);
    hamid_grpc_connection_schedule(connection);
    return connection;
}

void hamid_grpc_connection_close(struct hamid_grpc_connection *connection)
{
    if (connection != NULL) {
        connection->depth++;
        connection->is_disowned = true;
        die(connection, "the connection was closed here");
        leave(connection);
    }
}

void hamid_grpc_connection_go_away(struct hamid_grpc_connection *connection)
{
    if (connection->is_dead || connection->is_leaving) {
        return;
    }
    connection->is_leaving = true;
    (void)nghttp2_submit_goaway(
        connection->session, NGHTTP2_FLAG_NONE,
        nghttp2_session_get_last_proc_stream_id(connection->session), NGHTTP2_NO_ERROR,
        NULL, 0);
    hamid_grpc_connection_schedule(connection);
}
