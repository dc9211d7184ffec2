/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid probe: asks a hamid on this computer whether it is ready, for a container's
 * probes. Both roles answer on the loopback or on a unix socket, where a kubelet can't
 * ask. One request, one deadline, no state.
 *
 * With TLS the certificate is not verified: it is the same computer that is asked, and
 * the answer's truth is worth no more than a probe's.
 */
#include "roles.h"

#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <openssl/ssl.h>

#include "http/address.h"

#define DEADLINE_MS 2000
#define ANSWER_MAX 4096

static const char help[] =
    "usage: hamid probe WHERE [PATH]\n\n"
    "Ends with 0 if a hamid at WHERE answers 200 within 2 s, with 1 if not, and prints "
    "what it "
    "said.\nWHERE is HOST:PORT, such as 127.0.0.1:9397, or https://HOST:PORT where it "
    "speaks TLS\n(whose certificate is not verified), or the path of a unix socket, such "
    "as\n/run/hamid/agent.sock. PATH is /readyz unless given; /livez tells whether it is "
    "alive.\n";

struct line {
    int fd;
    SSL_CTX *context; /* NULL = plain text */
    SSL *ssl;
};

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

/* ---- TLS or not ----------------------------------------------------------------- */

/* False: it is over. */
static bool wait_for_tls(const struct line *line, int result, long until_ms)
{
    switch (SSL_get_error(line->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return wait_for(line->fd, POLLIN, until_ms);
    case SSL_ERROR_WANT_WRITE:
        return wait_for(line->fd, POLLOUT, until_ms);
    default:
        return false;
    }
}

static bool start_tls(struct line *line, long until_ms)
{
    int result = -1;
    line->context = SSL_CTX_new(TLS_client_method());
    line->ssl = line->context != NULL ? SSL_new(line->context) : NULL;
    if (line->ssl == NULL || SSL_set_fd(line->ssl, line->fd) != 1) {
        return false;
    }
    while (result != 1) {
        result = SSL_connect(line->ssl);
        if (result != 1 && !wait_for_tls(line, result, until_ms)) {
            return false;
        }
    }
    return true;
}

/* Small enough for a new connection's buffer. */
static bool send_text(const struct line *line, const char *text, size_t length)
{
    return line->ssl != NULL
               ? SSL_write(line->ssl, text, (int)length) == (int)length
               : send(line->fd, text, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* What there is, at least one byte; 0 at the end, in trouble, or when time is over. */
static size_t receive(const struct line *line, char *bytes, size_t size, long until_ms)
{
    int got = 0;
    if (line->ssl == NULL) {
        ssize_t length =
            wait_for(line->fd, POLLIN, until_ms) ? recv(line->fd, bytes, size, 0) : 0;
        return length > 0 ? (size_t)length : 0;
    }
    do {
        got = SSL_read(line->ssl, bytes, (int)size);
    } while (got <= 0 && wait_for_tls(line, got, until_ms));
    return got > 0 ? (size_t)got : 0;
}

static void hang_up(struct line *line)
{
    SSL_free(line->ssl);
    SSL_CTX_free(line->context);
    (void)close(line->fd);
}

/* ---- asking --------------------------------------------------------------------- */

/* The whole answer, ended with NUL, for the connection closes after it; "" if none came.
 */
static void ask(const struct line *line, const char *path, long until_ms,
                char answer[ANSWER_MAX])
{
    char request[512];
    size_t length = 0;
    size_t got = 1;
    int size =
        snprintf(request, sizeof(request),
                 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
    answer[0] = '\0';
    if (size < 0 || (size_t)size >= sizeof(request) ||
        !send_text(line, request, (size_t)size)) {
        return;
    }
    while (got > 0 && length + 1 < ANSWER_MAX) {
        got = receive(line, answer + length, ANSWER_MAX - 1 - length, until_ms);
        length += got;
        answer[length] = '\0';
    }
}

int hamid_probe_main(int argc, char **argv)
{
    static const char https[] = "https://";
    char answer[ANSWER_MAX] = "";
    struct line line = {.fd = -1};
    long until_ms = now_ms() + DEADLINE_MS;
    if (argc == 1 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
        (void)fputs(help, stdout);
        return 0;
    }
    if (argc < 1 || argc > 2 || argv[0][0] == '-' || (argc == 2 && argv[1][0] != '/')) {
        (void)fputs(help, stderr);
        return 2;
    }
    bool has_tls = strncmp(argv[0], https, sizeof(https) - 1) == 0;
    const char *where = has_tls ? argv[0] + sizeof(https) - 1 : argv[0];
    line.fd = where[0] == '/' ? connect_unix(where) : connect_tcp(where, until_ms);
    if (line.fd < 0) {
        (void)printf("nobody answers at %s\n", argv[0]);
        return 1;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (!has_tls || start_tls(&line, until_ms)) {
        ask(&line, argc == 2 ? argv[1] : "/readyz", until_ms, answer);
    }
    hang_up(&line);
    const char *body = strstr(answer, "\r\n\r\n");
    if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || body == NULL) {
        (void)printf("no answer from %s within %d ms\n", argv[0], DEADLINE_MS);
        return 1;
    }
    (void)printf("%.3s %s", answer + 9, body + 4);
    return strncmp(answer + 9, "200", 3) == 0 ? 0 : 1;
}
