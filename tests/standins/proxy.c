/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * standin-proxy: a bad network between a client and a server on loopback. Relays TCP
 * connections and makes the faults that its control socket is told. Runs until SIGTERM or
 * SIGINT.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "proxy_control.h"

struct options {
    struct sockaddr_in target;
    struct sockaddr_in listen;
    const char *control;
    const char *address_file;
};

static const char help[] =
    "usage: standin-proxy --target 127.0.0.1:PORT --control PATH [--listen "
    "127.0.0.1:PORT]\n"
    "                     [--address-file FILE]\n"
    "\n"
    "Relays TCP connections to a server on loopback, and makes the faults that its "
    "control\n"
    "socket is told.\n"
    "\n"
    "  --target ADDRESS     where connections go\n"
    "  --control PATH       unix socket for commands, a line each, answered by a line\n"
    "  --listen ADDRESS     default 127.0.0.1:0, a free port\n"
    "  --address-file FILE  the address that is listened on is written there, once it "
    "is\n"
    "\n"
    "Commands:\n";

static int complain(const char *text, const char *word)
{
    fprintf(stderr, "standin-proxy: %s%s (--help tells more)\n", text, word);
    return 2;
}

static int read_address(const char *text, struct sockaddr_in *ret)
{
    char host[64];
    char *end;
    const char *colon = strrchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host)) {
        return complain("no address and port: ", text);
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    unsigned long port = strtoul(colon + 1, &end, 10);
    memset(ret, 0, sizeof(*ret));
    ret->sin_family = AF_INET;
    ret->sin_port = htons((uint16_t)port);
    if (*end != '\0' || port > 65535 || inet_pton(AF_INET, host, &ret->sin_addr) != 1 ||
        ntohl(ret->sin_addr.s_addr) >> 24 != 127) {
        return complain("not an address of loopback: ", text);
    }
    return 0;
}

/* Returns the exit status, or -1 to go on. */
static int read_options(int count, char **words, struct options *options)
{
    static const struct option names[] = {{"target", required_argument, NULL, 't'},
                                          {"control", required_argument, NULL, 'c'},
                                          {"listen", required_argument, NULL, 'l'},
                                          {"address-file", required_argument, NULL, 'a'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;
    int wrong = read_address("127.0.0.1:0", &options->listen);
    while (wrong == 0 && (option = getopt_long(count, words, "", names, NULL)) != -1) {
        switch (option) {
        case 't':
            wrong = read_address(optarg, &options->target);
            break;
        case 'l':
            wrong = read_address(optarg, &options->listen);
            break;
        case 'c':
            options->control = optarg;
            break;
        case 'a':
            options->address_file = optarg;
            break;
        case 'h':
            printf("%s%s", help, proxy_faults_commands);
            return 0;
        default:
            return 2;
        }
    }
    if (wrong == 0 &&
        (optind < count || options->control == NULL || options->target.sin_port == 0)) {
        wrong = complain("--target and --control are needed, and nothing else", "");
    }
    return wrong != 0 ? wrong : -1;
}

/* By rename, so that who waits for the file never sees half of it. */
static int write_address(const char *path, evutil_socket_t socket)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    char host[INET_ADDRSTRLEN];
    char temporary[4096];
    if (getsockname(socket, (struct sockaddr *)&address, &length) < 0) {
        return -1;
    }
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof(host));
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *file = fopen(temporary, "we");
    if (file == NULL) {
        return -1;
    }
    fprintf(file, "%s:%u\n", host, ntohs(address.sin_port));
    if (fclose(file) != 0) {
        return -1;
    }
    return rename(temporary, path);
}

static void accepted(struct evconnlistener *listener, evutil_socket_t socket,
                     struct sockaddr *address, int length, void *data)
{
    (void)listener;
    (void)address;
    (void)length;
    proxy_relay_add(data, socket);
}

static void stop(evutil_socket_t number, short what, void *data)
{
    (void)number;
    (void)what;
    event_base_loopexit(data, NULL);
}

/* Returns the exit status. */
static int serve(const struct options *options, struct event_base *base,
                 struct proxy_control *control)
{
    int status = 1;
    struct evconnlistener *commands = NULL;
    struct evconnlistener *clients = evconnlistener_new_bind(
        base, accepted, control->relay,
        LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, 128,
        (const struct sockaddr *)&options->listen, sizeof(options->listen));
    if (clients != NULL) {
        commands = proxy_control_listen(control, options->control);
    }
    if (commands == NULL ||
        (options->address_file != NULL &&
         write_address(options->address_file, evconnlistener_get_fd(clients)) < 0)) {
        fprintf(stderr, "standin-proxy: can't listen: %s\n", strerror(errno));
    } else {
        event_base_dispatch(base);
        status = 0;
    }
    if (commands != NULL) {
        evconnlistener_free(commands);
    }
    if (clients != NULL) {
        evconnlistener_free(clients);
    }
    return status;
}

int main(int count, char **words)
{
    struct options options = {0};
    struct proxy_faults faults = {0};
    int status = read_options(count, words, &options);
    if (status >= 0) {
        return status;
    }
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();
    struct proxy_control control = {.base = base, .faults = &faults};
    struct event *term = base != NULL ? evsignal_new(base, SIGTERM, stop, base) : NULL;
    struct event *interrupt =
        base != NULL ? evsignal_new(base, SIGINT, stop, base) : NULL;
    control.relay = base != NULL ? proxy_relay_new(base, &faults, &options.target) : NULL;
    if (term == NULL || interrupt == NULL || control.relay == NULL) {
        fprintf(stderr, "standin-proxy: out of memory\n");
        return 1;
    }
    event_add(term, NULL);
    event_add(interrupt, NULL);
    status = serve(&options, base, &control);
    proxy_relay_free(control.relay);
    event_free(term);
    event_free(interrupt);
    event_base_free(base);
    return status;
}
