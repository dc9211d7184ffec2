/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listening addresses. A unix socket's file is made under a mask, so that at no moment it
 * is open to more than its mode says.
 */
#include "address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server.h"

int hamid_http_address_split(const char *text, char *host, size_t host_size, char *port,
                             size_t port_size)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        strtoul(colon + 1, NULL, 10) > UINT16_MAX) { /* getaddrinfo would fold it */
        return -1;
    }
    size_t length = (size_t)(colon - text);
    if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
        text++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        return -1;
    }
    if (length >= host_size || strlen(colon + 1) >= port_size) {
        return -1;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return 0;
}

/* The addresses of a text; NULL and a line in error where there are none. */
static struct addrinfo *resolve(const char *text, char *error, size_t error_size)
{
    char host[256];
    char port[8];
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (hamid_http_address_split(text, host, sizeof(host), port, sizeof(port)) != 0) {
        (void)snprintf(error, error_size, "'%.200s' is no address such as 127.0.0.1:8080",
                       text);
        return NULL;
    }
    int status = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found);
    if (status != 0) {
        (void)snprintf(error, error_size, "'%.200s': %s", text, gai_strerror(status));
        return NULL;
    }
    return found;
}

int hamid_http_address_bind_tcp(const char *text, char *error, size_t error_size)
{
    int one = 1;
    int fd = -1;
    struct addrinfo *found = resolve(text, error, error_size);
    for (struct addrinfo *one_address = found; one_address != NULL && fd < 0;
         one_address = one_address->ai_next) {
        fd =
            socket(one_address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (fd < 0) {
            (void)snprintf(error, error_size, "'%.200s': %s", text, strerror(errno));
            continue;
        }
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (bind(fd, one_address->ai_addr, one_address->ai_addrlen) != 0) {
            (void)snprintf(error, error_size, "could not bind '%.200s': %s", text,
                           strerror(errno));
            (void)close(fd);
            fd = -1;
        }
    }
    if (found != NULL) {
        freeaddrinfo(found);
    }
    return fd;
}

/* Does a server answer on that file? */
static bool is_alive(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return true;
    }
    int status = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    bool is_dead = status != 0 && (errno == ECONNREFUSED || errno == ENOENT);
    (void)close(fd);
    return !is_dead;
}

int hamid_http_address_bind_unix(const char *path, mode_t mode, char *error,
                                 size_t error_size)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat status;
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)snprintf(error, error_size,
                       "'%.200s' is longer than a socket's path can be", path);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (lstat(path, &status) == 0) {
        if (!S_ISSOCK(status.st_mode)) {
            (void)snprintf(error, error_size, "'%s' is there and is no socket", path);
            return -1;
        }
        if (is_alive(&address)) {
            (void)snprintf(error, error_size, "'%s' is served by another process", path);
            return -1;
        }
        (void)unlink(path);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        (void)snprintf(error, error_size, "'%s': %s", path, strerror(errno));
        return -1;
    }
    mode_t mask = umask((mode_t)(0777 & ~mode));
    int bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
    int reason = errno;
    (void)umask(mask);
    if (bound != 0) {
        (void)snprintf(error, error_size, "could not bind '%s': %s", path,
                       strerror(reason));
        (void)close(fd);
        return -1;
    }
    return fd;
}

void hamid_http_address_name(int fd, char *text, size_t size)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    bool is_six = false;
    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        is_six = address.ss_family == AF_INET6;
        if (is_six) {
            const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
            (void)inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
            port = ntohs(six->sin6_port);
        } else {
            const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
            (void)inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
            port = ntohs(four->sin_port);
        }
    }
    (void)snprintf(text, size, is_six ? "[%s]:%u" : "%s:%u", host, port);
}

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        return ntohl(four->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
    }
    return false;
}

bool hamid_http_is_loopback(const char *text)
{
    char error[256];
    bool is_all = true;
    struct addrinfo *found = resolve(text, error, sizeof(error));
    if (found == NULL) {
        return false;
    }
    for (struct addrinfo *one = found; one != NULL; one = one->ai_next) {
        is_all = is_all && is_loopback(one->ai_addr);
    }
    freeaddrinfo(found);
    return is_all;
}
