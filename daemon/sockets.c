/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager's protocol for passed sockets: descriptors from 3 on, LISTEN_FDS of
 * them, for the process LISTEN_PID, with names between colons in LISTEN_FDNAMES.
 */
#include "sockets.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define FIRST_FD 3
#define FDS_MAX 64

static const char *const known_names[] = {"extender", "metrics"};

#define KNOWN_COUNT (sizeof(known_names) / sizeof(known_names[0]))

static size_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end = NULL;
    unsigned long value = text != NULL ? strtoul(text, &end, 10) : 0;
    return text != NULL && end != text && *end == '\0' ? value : 0;
}

static size_t count_passed(void)
{
    size_t count =
        number_of("LISTEN_PID") == (size_t)getpid() ? number_of("LISTEN_FDS") : 0;
    return count < FDS_MAX ? count : FDS_MAX;
}

/* The place of a name among the count names, from the first on; count where it is not
 * there. */
static size_t place_of(const char *name, size_t first, size_t count)
{
    const char *names = getenv("LISTEN_FDNAMES");
    for (size_t i = 0; names != NULL && i < count; i++) {
        size_t length = strcspn(names, ":");
        if (i >= first && length == strlen(name) && strncmp(names, name, length) == 0) {
            return i;
        }
        names = names[length] == ':' ? names + length + 1 : NULL;
    }
    return count;
}

static bool has_known_names(size_t count)
{
    bool has = false;
    for (size_t i = 0; i < KNOWN_COUNT; i++) {
        has = has || place_of(known_names[i], 0, count) < count;
    }
    return has;
}

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof(value);
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

static bool is_listening_tcp(int fd)
{
    int domain = option_of(fd, SO_DOMAIN);
    return (domain == AF_INET || domain == AF_INET6) &&
           option_of(fd, SO_TYPE) == SOCK_STREAM && option_of(fd, SO_ACCEPTCONN) == 1;
}

int hamid_socket_passed(const char *name, size_t index, char *error, size_t error_size)
{
    size_t count = count_passed();
    bool is_named = has_known_names(count);
    size_t place = is_named ? place_of(name, 0, count) : index;
    if (place >= count) {
        return -1;
    }
    /* Callers of a socket that nobody accepts from would wait for ever. */
    if (is_named ? place_of(name, place + 1, count) < count : count > KNOWN_COUNT) {
        (void)snprintf(error, error_size,
                       is_named ? "more than one socket is passed for %s"
                                : "more sockets are passed than have a use, none of them "
                                  "named %s",
                       name);
        return -2;
    }
    int fd = FIRST_FD + (int)place;
    if (!is_listening_tcp(fd)) {
        (void)snprintf(error, error_size,
                       "descriptor %d, passed for %s, is no TCP socket that listens", fd,
                       name);
        return -2;
    }
    (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
    (void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return fd;
}
