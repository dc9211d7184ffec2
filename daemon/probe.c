/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid probe: asks a hamid on this computer whether it is ready, for a container's
 * probes. Both roles answer on the loopback or on a unix socket, where a kubelet can't
 * ask. One request, one deadline, no state.
 */
#include "roles.h"

#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "http/address.h"

#define DEADLINE_MS 2000
#define ANSWER_MAX 4096

static const char help[] =
    "usage: hamid probe WHERE [PATH]\n\n"
    "Ends with 0 if a hamid at WHERE answers 200 within 2 s, with 1 if not, and prints "
    "what it "
    "said.\nWHERE is HOST:PORT without TLS, such as 127.0.0.1:9397, or the path of a "
    "unix "
    "socket, such\nas /run/hamid/agent.sock. PATH is /readyz unless given; /livez tells "
    "whether it is alive.\n";

static long now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && strlen(path) < sizeof(address.sun_path)) {
        memcpy(address.sun_path, path, strlen(path) + 1);
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
            return fd;
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

static bool wait_for(int fd, short what, long until_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = what};
    long left = until_ms - now_ms();
    return left > 0 && poll(&poll_fd, 1, (int)left) == 1;
}

static int connect_tcp(const char *where, long until_ms)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char host[256];
    char port[8];
    if (hamid_http_address_split(where, host, sizeof(host), port, sizeof(port)) != 0 ||
        getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found) != 0) {
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        int error = 0;
        socklen_t size = sizeof(error);
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0) {
            continue;
        }
        (void)connect(fd, at->ai_addr, at->ai_addrlen);
        if (!wait_for(fd, POLLOUT, until_ms) ||
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

/* The whole answer, ended with NUL, for the connection closes after it; "" if none came.
 */
static void ask(int fd, const char *path, long until_ms, char answer[ANSWER_MAX])
{
    char request[512];
    size_t length = 0;
    ssize_t got;
    int size =
        snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    answer[0] = '\0';
    if (size < 0 || (size_t)size >= sizeof(request) ||
        send(fd, request, (size_t)size, MSG_NOSIGNAL) != size) {
        return;
    }
    while (length + 1 < ANSWER_MAX && wait_for(fd, POLLIN, until_ms)) {
        got = recv(fd, answer + length, ANSWER_MAX - 1 - length, 0);
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
        answer[length] = '\0';
    }
}

int hamid_probe_main(int argc, char **argv)
{
    char answer[ANSWER_MAX];
    long until_ms = now_ms() + DEADLINE_MS;
    if (argc == 1 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (argc < 1 || argc > 2 || argv[0][0] == '-' || (argc == 2 && argv[1][0] != '/')) {
        (void)fputs(help, stderr);
        return 2;
    }
    int fd = argv[0][0] == '/' ? connect_unix(argv[0]) : connect_tcp(argv[0], until_ms);
    if (fd < 0) {
        (void)printf("nobody answers at %s\n", argv[0]);
        return 1;
    }
    ask(fd, argc == 2 ? argv[1] : "/readyz", until_ms, answer);
    (void)close(fd);
    const char *body = strstr(answer, "\r\n\r\n");
    if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || body == NULL) {
        (void)printf("no answer from %s within %d ms\n", argv[0], DEADLINE_MS);
        return 1;
    }
    (void)printf("%.3s %s", answer + 9, body + 4);
    return strncmp(answer + 9, "200", 3) == 0 ? 0 : 1;
}
