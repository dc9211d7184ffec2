/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service manager's notification protocol: one datagram to a unix socket, whose name
 * may be an abstract one (a leading '@').
 */
#include "notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void hamid_notify(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t length;
    int fd;

    if (name == NULL || (name[0] != '/' && name[0] != '@') ||
        strlen(name) >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, name, strlen(name));
    if (name[0] == '@') {
        address.sun_path[0] = '\0';
    }
    length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return;
    }
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
                 (const struct sockaddr *)&address, length);
    (void)close(fd);
}
