/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The listening side of a stand-in extender: a small HTTP/1.1 server with a thread for
 * each connection and one request on each.
 */
#ifndef STANDIN_EXTENDER_LISTENER_H
#define STANDIN_EXTENDER_LISTENER_H

struct extender_call;

/* Runs on the connection's thread. BODY is ended by NUL. It has to answer once. */
typedef void (*extender_call_fn)(void *data, struct extender_call *call,
                                 const char *body);

/* Send the answer (200, JSON) and close the connection; the caller may go on working. */
void extender_answer(struct extender_call *call, const char *json);
/* ADDRESS is a.b.c.d:port on loopback, port 0 for any free one. Writes
 * "a.b.c.d:port" to ADDRESS_FILE (may be NULL) and serves until the process is
 * ended. Returns 1 when it can't begin. */
int extender_listen(const char *address, const char *address_file, extender_call_fn call,
                    void *data);

#endif
