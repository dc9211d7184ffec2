/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-in proxy's control socket: commands in lines, an answer in a line for each:
 * "ok", "error WHY", or for "status" its JSON. One thread, that of the event loop.
 */
#ifndef STANDIN_PROXY_CONTROL_H
#define STANDIN_PROXY_CONTROL_H

#include "proxy_relay.h"

#include <event2/listener.h>

struct proxy_control {
    struct event_base *base;
    struct proxy_faults *faults;
    struct proxy_relay *relay;
};

/* Listens on the unix socket PATH. CONTROL is borrowed. NULL: see errno. */
struct evconnlistener *proxy_control_listen(struct proxy_control *control,
                                            const char *path);

#endif
