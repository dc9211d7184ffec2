/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP/2 connection that carries gRPC, of either side: frames, windows, pings,
 * limits, and the two byte streams of each call. server.c and client.c give it its
 * meaning.
 *
 * A stream is part of its owner's call. It belongs to the connection from its start until
 * `closed` was called for it or hamid_grpc_stream_drop(); then only its owner has it. Any
 * of the events may drop it, or close the connection: nothing of the stream is touched
 * after an event, and a connection is freed when the last of its own functions has
 * returned.
 */
#ifndef HAMID_GRPC_CONNECTION_H
#define HAMID_GRPC_CONNECTION_H

#include <sys/queue.h>

#include <nghttp2/nghttp2.h>

#include "inbox.h"

struct event_base;
struct evbuffer;
struct hamid_grpc_connection;
struct hamid_grpc_stream;

#define HAMID_GRPC_LOST 0xffffffffu /* as an HTTP/2 error: the connection has gone */

struct hamid_grpc_stream_events {
    /* A field of the header block, or of the trailers. */
    void (*field)(struct hamid_grpc_stream *stream, const char *name, const char *value,
                  size_t value_length);
    /* The block is whole; ended: nothing follows. */
    void (*block)(struct hamid_grpc_stream *stream, bool ended);
    /* Returns 0 while the stream is still wanted. */
    int (*message)(struct hamid_grpc_stream *stream, const uint8_t *message,
                   size_t length);
    /* The other side has sent all, after its last message. */
    void (*ended)(struct hamid_grpc_stream *stream);
    /* It sent what can't be taken; the owner answers and drops. */
    void (*broken)(struct hamid_grpc_stream *stream, int code, const char *text);
    /* All that waited has left. */
    void (*drained)(struct hamid_grpc_stream *stream);
    /* By both sides, by a reset (the HTTP/2 error says why), or with the connection
     * (HAMID_GRPC_LOST). */
    void (*closed)(struct hamid_grpc_stream *stream, uint32_t error, const char *why);
};

struct hamid_grpc_stream {
    LIST_ENTRY(hamid_grpc_stream) siblings;
    struct hamid_grpc_connection *connection; /* NULL: not, or no longer, with one */
    const struct hamid_grpc_stream_events *events;
    int32_t id;
    struct hamid_grpc_inbox inbox;
    size_t body_counted; /* what the connection's body counter has of it */
    struct evbuffer *output;
    bool output_ended, deferred, has_left; /* has_left: its first frame was sent */
    bool is_answered;      /* server: the first header block was submitted */
    char trailer_code[12]; /* server: sent after the output */
    char *trailer_text;
    size_t field_count, field_bytes; /* of the block that is coming */
    bool is_too_large;
    bool is_deaf;        /* what still comes is thrown away */
    bool is_input_ended; /* nothing more comes */
};
LIST_HEAD(hamid_grpc_streams, hamid_grpc_stream);

struct hamid_grpc_connection_events {
    /* A request begins: the owner's new stream, or NULL to refuse it. Server only. */
    struct hamid_grpc_stream *(*opened)(void *owner);
    /* The other side takes no new calls. */
    void (*going_away)(void *owner);
    /* The last stream has closed. */
    void (*idle)(void *owner);
    /* Gone; its streams were told before. The owner forgets it. */
    void (*closed)(void *owner, const char *why);
};

struct hamid_grpc_connection_config {
    bool is_server;
    size_t message_max;
    size_t *bodies; /* NULL, or counts the bytes of bodies that are coming; shared */
    size_t bodies_max;
    unsigned streams_max;
    uint64_t greeting_ms; /* for the other side's settings; 0 = 10 s */
    uint64_t keepalive_ms, keepalive_timeout_ms;
    const struct hamid_grpc_connection_events *events;
    void *owner;
};

/* Takes a connected socket; closes it on failure. Returns NULL without memory. */
struct hamid_grpc_connection *
hamid_grpc_connection_new(struct event_base *base, int fd,
                          const struct hamid_grpc_connection_config *config);

/* Closes at once: each stream's `closed` is called, the owner's is not. Takes NULL. */
void hamid_grpc_connection_close(struct hamid_grpc_connection *connection);

/* Tells the other side that no new call is taken. */
void hamid_grpc_connection_go_away(struct hamid_grpc_connection *connection);

/* ---- streams ----------------------------------------------------------------------- */

/* Readies a stream; false without memory. */
bool hamid_grpc_stream_init(struct hamid_grpc_stream *stream,
                            const struct hamid_grpc_stream_events *events,
                            size_t message_max);

/* Frees what is within; it must be with no connection. */
void hamid_grpc_stream_done(struct hamid_grpc_stream *stream);

/* Client: sends the headers; output follows, and ends the stream. 0 or -1. */
int hamid_grpc_stream_request(struct hamid_grpc_connection *connection,
                              struct hamid_grpc_stream *stream, const nghttp2_nv *fields,
                              size_t count);

/* Puts a message behind what waits. 0, or -1 without memory. */
int hamid_grpc_stream_put(struct hamid_grpc_stream *stream, const uint8_t *message,
                          size_t length);

/* Server: sends the first header block, if that was not done, and what waits. */
void hamid_grpc_stream_flush(struct hamid_grpc_stream *stream);

/* Server: ends the stream by status and text, behind what waits. */
void hamid_grpc_stream_finish(struct hamid_grpc_stream *stream, int code,
                              const char *text);

/* Server: refuses by an HTTP status alone. */
void hamid_grpc_stream_refuse(struct hamid_grpc_stream *stream, const char *status);

/* Is this still that connection's stream? For an owner whose callback may have freed it:
 * the pointer is compared only. The connection must be one of those on the stack. */
bool hamid_grpc_stream_lives(const struct hamid_grpc_connection *connection, int32_t id,
                             const struct hamid_grpc_stream *stream);

/* Takes it from its connection and resets it there, if it still lives. */
void hamid_grpc_stream_drop(struct hamid_grpc_stream *stream, uint32_t error);

/* ---- between connection.c and stream.c --------------------------------------------- */

struct hamid_grpc_connection {
    struct hamid_grpc_connection_config config;
    struct event_base *base;
    struct bufferevent *socket;
    nghttp2_session *session;
    struct event *turn;  /* made active when something may be to be sent */
    struct event *timer; /* first: the other side's settings; then pings */
    struct hamid_grpc_streams streams;
    size_t depth;     /* of our functions on the stack: may not be freed */
    bool is_dead;     /* closed; frees itself when depth is 0 */
    bool is_disowned; /* closed by its owner, who is not told */
    bool has_settings, has_heard, is_pinged, is_leaving;
    const char *why;
};

void hamid_grpc_connection_schedule(struct hamid_grpc_connection *connection);
void hamid_grpc_stream_unlink(struct hamid_grpc_stream *stream);
int hamid_grpc_stream_callbacks(nghttp2_session_callbacks *callbacks);

#endif
