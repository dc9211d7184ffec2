/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over unix sockets, on nghttp2 and libevent: what server.h and client.h share.
 *
 * What is there is what the kubelet's sockets need: methods with one request message and
 * one or many answers, no compression, no TLS. Messages go in and out as bytes, so that a
 * relay passes on what it does not know; daemon/kubelet has typed forms.
 *
 * All of it belongs to the thread of one event loop, and nothing blocks. The program
 * ignores SIGPIPE. A callback may call everything here, also what ends the very call,
 * server or client that it is about.
 */
#ifndef HAMID_GRPC_GRPC_H
#define HAMID_GRPC_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The status codes of gRPC, by their numbers on the wire. */
enum hamid_grpc_code {
    HAMID_GRPC_OK = 0,
    HAMID_GRPC_CANCELLED = 1,
    HAMID_GRPC_UNKNOWN = 2,
    HAMID_GRPC_INVALID_ARGUMENT = 3,
    HAMID_GRPC_DEADLINE_EXCEEDED = 4,
    HAMID_GRPC_NOT_FOUND = 5,
    HAMID_GRPC_ALREADY_EXISTS = 6,
    HAMID_GRPC_PERMISSION_DENIED = 7,
    HAMID_GRPC_RESOURCE_EXHAUSTED = 8,
    HAMID_GRPC_FAILED_PRECONDITION = 9,
    HAMID_GRPC_ABORTED = 10,
    HAMID_GRPC_OUT_OF_RANGE = 11,
    HAMID_GRPC_UNIMPLEMENTED = 12,
    HAMID_GRPC_INTERNAL = 13,
    HAMID_GRPC_UNAVAILABLE = 14,
    HAMID_GRPC_DATA_LOSS = 15,
    HAMID_GRPC_UNAUTHENTICATED = 16
};

#define HAMID_GRPC_MESSAGE_MAX                                                           \
    (16u << 20)                           /* default limit of one message, either way    \
                                           */
#define HAMID_GRPC_TEXT_MAX 1024          /* bytes of a status text that are kept */
#define HAMID_GRPC_PATH_MAX 256           /* "/package.Service/Method" */
#define HAMID_GRPC_HEADERS_MAX 64         /* fields of one header block */
#define HAMID_GRPC_HEADER_BYTES_MAX 16384 /* of one header block, names and values */

/* The code's name as gRPC writes it ("UNAVAILABLE"); "UNKNOWN" for other numbers. */
const char *hamid_grpc_code_name(int code);

#endif
