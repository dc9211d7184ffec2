/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory after a wave of requests. While thousands arrive at a time each has buffers for
 * a moment, and what stays of it, for as long as it waits, lies between them: most of the
 * memory would be holes, until the next wave. A while after so many requests the C
 * library is asked to give back the pages in which nothing is.
 */
#include "internal.h"

#include <malloc.h>

#define REQUESTS 1000
#define QUIET_MS 2000 /* it takes some milliseconds: not more often than that */

void hamid_http_tidy_count(struct hamid_http_server *server)
{
    static const struct timeval quiet = {.tv_sec = QUIET_MS / 1000};
    server->handed++;
    if (server->handed == REQUESTS) {
        (void)event_add(server->tidy, &quiet);
    }
}

void hamid_http_tidy_on_quiet(evutil_socket_t fd, short what, void *data)
{
    struct hamid_http_server *server = data;
    (void)fd;
    (void)what;
    server->handed = 0;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
}
