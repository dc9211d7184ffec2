/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connections that the stand-in proxy relays, with the faults that it was told to
 * make. Bytes are passed on as they are, so TLS goes through untouched. One thread, that
 * of the event loop.
 */
#ifndef STANDIN_PROXY_RELAY_H
#define STANDIN_PROXY_RELAY_H

#include "proxy_faults.h"

#include <event2/event.h>
#include <netinet/in.h>

struct proxy_relay;

/* BASE and FAULTS are borrowed for the life of the object. NULL: out of memory. */
struct proxy_relay *proxy_relay_new(struct event_base *base, struct proxy_faults *faults,
                                    const struct sockaddr_in *target);
/* Takes over a client's socket; it is closed if nothing can be made of it. */
void proxy_relay_add(struct proxy_relay *relay, evutil_socket_t client);
/* The faults have changed: whatever they held up may be due now. */
void proxy_relay_look(struct proxy_relay *relay);
/* Cuts all connections. */
void proxy_relay_free(struct proxy_relay *relay);
/* The clock of the faults' moments. */
int64_t proxy_now_ms(void);

#endif
