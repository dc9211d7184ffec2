/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A server of a few paths, and what its handlers saw: POST /echo, POST /json, GET /hello, GET
 * /tree/.., and POST /park, which is answered by the test. One test's at a time. */
#ifndef TESTS_HTTP_WORLD_H
#define TESTS_HTTP_WORLD_H

#include <stdbool.h>
#include <stddef.h>

#include "http/server.h"

#define PARKED_MAX 64

#define POST(path, body, length)                                                         \
    "POST " path " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " length "\r\n\r"      \
    "\n" body

extern struct event_base *http_base;
extern struct hamid_http_server *http_server;
extern char http_address[64];
extern struct hamid_http_exchange *http_parked[PARKED_MAX];
extern size_t http_parked_count;
extern size_t http_gone_count;
extern size_t http_handled;
extern bool http_is_gone;

/* Takes the paths; the rest of the config is the test's. */
void http_start(struct hamid_http_config config);
void http_start_default(void);
void http_stop(void);

#endif
