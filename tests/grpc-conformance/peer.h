/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc-peer: our gRPC as a process, for a partner in another language. It is told what to
 * do by lines on standard input and tells what happened by lines on standard output.
 */
#ifndef TESTS_GRPC_CONFORMANCE_PEER_H
#define TESTS_GRPC_CONFORMANCE_PEER_H

struct event_base;

/* Says one line, at once. */
void peer_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Each returns what handles a line; NULL where it could not start. */
typedef void (*peer_line_fn)(char *line);
peer_line_fn peer_serve(struct event_base *base, const char *path);
peer_line_fn peer_call(struct event_base *base, const char *path);

#endif
