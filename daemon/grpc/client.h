/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A gRPC client on a unix socket. Thread of its event loop only; see grpc.h.
 *
 * It connects with the first call, keeps the connection, and connects anew with the next
 * call after that was lost or the server said that it is about to close it (GOAWAY; calls
 * that run there go on). It never repeats a call by itself.
 */
#ifndef HAMID_GRPC_CLIENT_H
#define HAMID_GRPC_CLIENT_H

#include "grpc.h"

struct event_base;
struct hamid_grpc_client;
struct hamid_grpc_request;

struct hamid_grpc_client_config {
    const char
        *path; /* of the socket; copied. A path longer than a socket address is refused */
    /* Instead of path: returns a connected socket, or -errno. It must not block. */
    int (*dial)(void *data);
    void *data;         /* for dial */
    size_t message_max; /* bytes of one message; 0 = HAMID_GRPC_MESSAGE_MAX */
    uint64_t
        connect_timeout_ms; /* while the server's queue is full, or silent; 0 = 5 s */
    uint64_t keepalive_ms;  /* ping a silent server with calls so often; 0 = never */
    uint64_t
        keepalive_timeout_ms; /* and hang up without an answer for so long; 0 = 20 s */
};

/* How a call ended. */
struct hamid_grpc_status {
    int code;         /* enum hamid_grpc_code, or another number that the server sent */
    const char *text; /* never NULL */
    bool never_ran;   /* the server surely has not looked at it: it may be sent again */
};

/* Returns NULL without memory. */
struct hamid_grpc_client *
hamid_grpc_client_new(struct event_base *base,
                      const struct hamid_grpc_client_config *config);

/* Frees it; calls that run end with CANCELLED within. Takes NULL, returns NULL. */
struct hamid_grpc_client *hamid_grpc_client_free(struct hamid_grpc_client *client);

/* What to call, and who is told. */
struct hamid_grpc_call_config {
    const char *method;     /* "/v1beta1.DevicePlugin/Allocate"; copied */
    const uint8_t *message; /* copied */
    size_t length;
    uint64_t timeout_ms; /* 0 = none, as for a stream that lasts */
    bool many;           /* any number of messages is an answer; else exactly one is */
    /* A message has come; borrowed for the function. */
    void (*message_came)(void *data, const uint8_t *message, size_t length);
    /* Comes exactly once, last, never within hamid_grpc_client_call(). Without `many`, OK
     * comes only after exactly one message. */
    void (*ended)(void *data, const struct hamid_grpc_status *status);
    void *data;
};

/*
 * Starts a call.
 * Returns   the call, good until `ended`; NULL without memory, or if method or message is
 * too long (then nothing comes)
 */
struct hamid_grpc_request *
hamid_grpc_client_call(struct hamid_grpc_client *client,
                       const struct hamid_grpc_call_config *config);

/* Gives a call up: the server is told, and none of the call's functions is called any
 * more. */
void hamid_grpc_request_cancel(struct hamid_grpc_request *request);

#endif
