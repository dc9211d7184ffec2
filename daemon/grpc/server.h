/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC server on unix sockets. Thread of its event loop only; see grpc.h.
 */
#ifndef HAMID_GRPC_SERVER_H
#define HAMID_GRPC_SERVER_H

#include <sys/types.h>

#include "grpc.h"

struct event_base;
struct hamid_grpc_server;
struct hamid_grpc_call;

/* The process at the other end of a unix socket, when it connected. */
struct hamid_grpc_peer {
    pid_t pid;
    uid_t uid;
    gid_t gid;
};

/*
 * A call's request has come whole. The call is the handler's until it ends it
 * (hamid_grpc_call_end(), _reply()) or its gone-function is called; a handler that keeps
 * it beyond this function sets one.
 * @message  borrowed for the function; length may be 0 (then not NULL)
 */
typedef void (*hamid_grpc_handler_fn)(void *data, struct hamid_grpc_call *call,
                                      const uint8_t *message, size_t length);

struct hamid_grpc_method {
    const char *path; /* "/v1beta1.Registration/Register"; NULL ends a table */
    hamid_grpc_handler_fn handle;
};

struct hamid_grpc_server_config {
    const struct hamid_grpc_method *methods; /* borrowed for the server's life */
    void *data;                              /* for the handlers and accept */
    /* NULL = everybody whom the socket's mode lets in */
    bool (*accept)(void *data, const struct hamid_grpc_peer *peer);
    size_t message_max; /* bytes of one message; 0 = HAMID_GRPC_MESSAGE_MAX */
    size_t bodies_max;  /* bytes of requests that are still coming, of all calls; 0 = 64
                           MiB */
    unsigned connections_max; /* 0 = 32 */
    unsigned streams_max;     /* calls at a time on one connection; 0 = 100 */
    uint64_t greeting_ms;     /* for a new connection's first frame; 0 = 10 s */
    uint64_t keepalive_ms;    /* ping a silent peer with calls so often; 0 = never */
    uint64_t
        keepalive_timeout_ms; /* and hang up without an answer for so long; 0 = 20 s */
};

/* Returns NULL without memory. config is copied. */
struct hamid_grpc_server *
hamid_grpc_server_new(struct event_base *base,
                      const struct hamid_grpc_server_config *config);

/*
 * Listens on a socket of this path. What stood there, if a socket, is removed first.
 * @mode     of the socket: 0600
 * @error    size bytes, says what failed
 * Returns   0, or -1
 */
int hamid_grpc_server_listen(struct hamid_grpc_server *server, const char *path,
                             mode_t mode, char *error, size_t size);

/* The same on a socket that listens already; it is closed with the server, also on -1. */
int hamid_grpc_server_adopt(struct hamid_grpc_server *server, int fd);

/*
 * Takes no new connection or call, and tells the peers so (GOAWAY); calls that run go on.
 * A socket that hamid_grpc_server_listen() made, and that is still ours, is unlinked.
 */
void hamid_grpc_server_stop(struct hamid_grpc_server *server);

/* Calls that have not ended: 0 after a stop means that it may be freed without harm. */
size_t hamid_grpc_server_calls(const struct hamid_grpc_server *server);

/* Stops and frees; gone-functions of open calls run within. Takes NULL, returns NULL. */
struct hamid_grpc_server *hamid_grpc_server_free(struct hamid_grpc_server *server);

/* ---- a call ------------------------------------------------------------------------ */

/*
 * Sends one message of the answer. Any number may wait to be sent; whoever sends many
 * looks at hamid_grpc_call_pending() and leaves out what is outdated. Returns   0, or -1:
 * longer than message_max, or no memory (the call goes on)
 */
int hamid_grpc_call_send(struct hamid_grpc_call *call, const uint8_t *message,
                         size_t length);

/* Bytes of messages that wait to be sent. */
size_t hamid_grpc_call_pending(const struct hamid_grpc_call *call);

/*
 * Ends the call; what was sent goes out before.
 * @call     consumed
 * @text     for people, any bytes; NULL = none. Cut at HAMID_GRPC_TEXT_MAX
 */
void hamid_grpc_call_end(struct hamid_grpc_call *call, int code, const char *text);

/* One message and OK: the answer of a unary method. On -1 of the send: INTERNAL. */
void hamid_grpc_call_reply(struct hamid_grpc_call *call, const uint8_t *message,
                           size_t length);

/*
 * @gone     called at most once, when the call has ended by itself: cancelled by the
 * client, its deadline passed, its connection is gone. The call is no longer the
 * handler's
 * @drained  NULL, or called whenever the last message that waited has left
 */
void hamid_grpc_call_watch(struct hamid_grpc_call *call, void (*gone)(void *data),
                           void (*drained)(void *data), void *data);

/* Milliseconds until the client's deadline; UINT64_MAX without one. */
uint64_t hamid_grpc_call_time_left(const struct hamid_grpc_call *call);

const struct hamid_grpc_peer *hamid_grpc_call_peer(const struct hamid_grpc_call *call);

#endif
