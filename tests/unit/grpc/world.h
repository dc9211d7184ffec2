/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server and a client of ours in one event loop, with methods that tests need, and what
 * each call saw. Every turn of the loop is bounded by PATIENCE_MS.
 */
#ifndef TESTS_UNIT_GRPC_WORLD_H
#define TESTS_UNIT_GRPC_WORLD_H

#include <event2/event.h>

#include "grpc/client.h"
#include "grpc/server.h"

#define PATIENCE_MS 20000

struct world {
    char folder[64];
    char path[96];
    struct event_base *base;
    struct hamid_grpc_server *server;
    struct hamid_grpc_client *client;
    struct hamid_grpc_call *kept[8]; /* calls of /t/keep, in their order */
    size_t kept_count;
    size_t gone_count; /* calls whose gone-function was called */
    size_t drained_count;
    size_t served; /* calls that reached a handler */
    pid_t peer_pid;
    uint64_t time_left_ms; /* of the last call */
    bool free_in_gone;
};

/* What a call saw. */
struct seen {
    struct world *world;
    struct hamid_grpc_request *request;
    size_t messages;
    size_t bytes; /* of all messages */
    unsigned char first, last;
    bool ended;
    int code;
    bool never_ran;
    char text[2048];
    size_t cancel_after;   /* messages; 0 = never */
    bool free_client_then; /* when it ends */
};

void world_open(struct world *world);
void world_open_with(struct world *world, const struct hamid_grpc_server_config *server,
                     const struct hamid_grpc_client_config *client);
void world_close(struct world *world);

/* A unary call, or one without a deadline whose answer is a stream; all of *seen is
 * zeroed first. */
void world_call(struct world *world, struct seen *seen, const char *method,
                const void *message, size_t length, uint64_t timeout_ms);
void world_stream(struct world *world, struct seen *seen, const char *method,
                  const void *message, size_t length);

/* Turns the loop until *flag, or fails the test. */
void world_until(struct world *world, const bool *flag);

/* The same until *count has become `wanted`. */
void world_until_count(struct world *world, const size_t *count, size_t wanted);

/* ---- the other side played by hand, byte by byte ---- */

/* Ends the server and listens on its socket; returns the listening socket. */
int world_play_server(struct world *world);

/* Turns the loop until the client has connected; returns the connection. */
int world_play_accept(struct world *world, int listener);

/* What a client of HTTP/2 says first. */
#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* Connects to the server. */
int world_play_client(struct world *world);

/* Connects and says what a client has to before its first request. */
int world_play_greeting(struct world *world);

/* A call that must be answered: the server still serves others. */
void world_expect_service(struct world *world);

/* One frame, or bytes as they are. Ends the test if they can't be written. */
void play_frame(int fd, unsigned type, unsigned flags, unsigned stream,
                const void *payload, size_t length);
void play_bytes(int fd, const void *bytes, size_t length);

/* A header block of literals, "name\0value\0...": returns its length in `block`. */
size_t play_fields(unsigned char *block, const char *const *pairs);

/* A HEADERS frame of such a block; flags: 1 ends the stream, 4 (end of the block) is
 * added. */
void play_headers(int fd, unsigned flags, unsigned stream, const char *const *pairs);

/* Reads header blocks until one has the field; false: closed before. */
bool world_play_field(struct world *world, int fd, const char *name, char *value,
                      size_t size);

/* Turns the loop until the other side has closed, or a frame of that type has come;
 * false: closed before. What comes is thrown away, but for the last such frame's payload.
 */
bool world_play_read(struct world *world, int fd, unsigned type, unsigned char *payload,
                     size_t *length);

/* Turns it for a while, to see that nothing happens. */
void world_turn(struct world *world, unsigned milliseconds);

#endif
