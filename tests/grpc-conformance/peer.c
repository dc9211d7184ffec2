/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * grpc-peer serve|call SOCKET: lines in, lines out. It ends with its standard input.
 */
#include "peer.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

static peer_line_fn handle;
static struct event_base *loop;

void peer_say(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)putchar('\n');
    (void)fflush(stdout);
}

static void input_came(evutil_socket_t fd, short what, void *data)
{
    struct evbuffer *input = data;
    char *line;

    (void)what;
    if (evbuffer_read(input, fd, 65536) <= 0) {
        (void)event_base_loopbreak(loop);
        return;
    }
    for (line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF); line != NULL;
         line = evbuffer_readln(input, NULL, EVBUFFER_EOL_LF)) {
        handle(line);
        free(line);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s serve|call SOCKET\n", argv[0]);
        return 2;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    loop = event_base_new();
    handle = strcmp(argv[1], "serve") == 0 ? peer_serve(loop, argv[2])
                                           : peer_call(loop, argv[2]);
    struct evbuffer *lines = evbuffer_new();
    struct event *input =
        event_new(loop, STDIN_FILENO, EV_READ | EV_PERSIST, input_came, lines);
    if (handle == NULL || input == NULL || event_add(input, NULL) != 0) {
        return 1;
    }
    peer_say("ready");
    (void)event_base_dispatch(loop);
    return 0;
}
