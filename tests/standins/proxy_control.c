/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See proxy_control.h. */
#include "proxy_control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define LINE_MAX_BYTES 256

static void answer(struct proxy_control *control, struct evbuffer *output,
                   const char *line)
{
    char text[512];
    if (strcmp(line, "status") == 0) {
        proxy_faults_status(control->faults, text, sizeof(text));
        evbuffer_add_printf(output, "%s\n", text);
        return;
    }
    const char *problem = proxy_faults_obey(control->faults, line, proxy_now_ms());
    if (problem != NULL) {
        evbuffer_add_printf(output, "error %s\n", problem);
        return;
    }
    proxy_relay_look(control->relay);
    evbuffer_add_printf(output, "ok\n");
}

static void came(struct bufferevent *side, void *data)
{
    struct evbuffer *input = bufferevent_get_input(side);
    char *line;
    while ((line = evbuffer_readln(input, NULL, EVBUFFER_EOL_CRLF)) != NULL) {
        answer(data, bufferevent_get_output(side), line);
        free(line);
    }
    if (evbuffer_get_length(input) > LINE_MAX_BYTES) {
        bufferevent_free(side);
    }
}

static void ended(struct bufferevent *side, short what, void *data)
{
    (void)what;
    (void)data;
    bufferevent_free(side);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t socket,
                     struct sockaddr *address, int length, void *data)
{
    struct bufferevent *side = bufferevent_socket_new(evconnlistener_get_base(listener),
                                                      socket, BEV_OPT_CLOSE_ON_FREE);
    (void)address;
    (void)length;
    if (side == NULL) {
        evutil_closesocket(socket);
        return;
    }
    bufferevent_setcb(side, came, NULL, ended, data);
    bufferevent_enable(side, EV_READ | EV_WRITE);
}

struct evconnlistener *proxy_control_listen(struct proxy_control *control,
                                            const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(address.sun_path, path, strlen(path));
    return evconnlistener_new_bind(control->base, accepted, control,
                                   LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE, 16,
                                   (struct sockaddr *)&address, sizeof(address));
}
