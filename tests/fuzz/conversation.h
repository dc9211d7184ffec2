/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of the daemon's HTTP server that says anything: bytes in, answers out, and a
 * server that has forgotten the connection afterwards.
 */
#ifndef TESTS_FUZZ_CONVERSATION_H
#define TESTS_FUZZ_CONVERSATION_H

#include "fuzz.h"

struct event_base;
struct hamid_http_server;

struct conversation {
    struct event_base *base;
    struct hamid_http_server *server;
    bool is_unix;
    /* Each answer but 100; the body is ended with NUL. */
    void (*answered)(int status, const char *content_type, const char *body);
    /* NULL, or called after each piece of the input: the time for late answers. */
    void (*pause)(void);
};

/*
 * Holds one connection's conversation. The input's first byte is the size of the pieces
 * that it is written in (0 = all at once); at each byte 0x1e all answers are awaited.
 */
void conversation_hold(const struct conversation *conversation, const uint8_t *data,
                       size_t size);

#endif
