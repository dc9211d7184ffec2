/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of sockets, held by its descriptor. Everything in it is reached relative to
 * that, no link is followed, and who is not root (or this daemon's user) is neither
 * connected to nor let in: whoever may write into a plugin folder's parent can still not
 * lead the gateway elsewhere. Never blocks.
 */
#ifndef HAMID_GATEWAY_FOLDER_H
#define HAMID_GATEWAY_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FOLDER_NAME_MAX 64 /* bytes of a socket's name, with the NUL */

struct folder {
    int fd; /* -1: not open */
};

/* A socket that was made here; zero: none. */
struct folder_socket {
    char name[FOLDER_NAME_MAX];
    dev_t device;
    ino_t inode;
};

/* False with a line in error: not a folder, or one that others may write to. */
bool folder_open(struct folder *folder, const char *path, char *error, size_t size);
void folder_close(struct folder *folder);

/* Are both open, and one and the same, whatever their paths are? */
bool folder_is_same(const struct folder *one, const struct folder *other);

/* Is it a plain name that a socket in a plugin folder may have? */
bool folder_is_name(const char *name);

/* Is this user one whom we deal with? */
bool folder_is_trusted(uid_t uid);

/*
 * Listens on a socket with mode 0600. A socket that stood under the name is removed;
 * anything else is an error.
 * Returns   the descriptor, or -1 with a line in error
 */
int folder_listen(const struct folder *folder, const char *name,
                  struct folder_socket *ret, char *error, size_t size);

/* Is the socket that was made still there? */
bool folder_has(const struct folder *folder, const struct folder_socket *socket);

/* Removes the socket if it is still the one that was made. */
void folder_remove(const struct folder *folder, struct folder_socket *socket);

/* A connected socket to a trusted process, or -errno (EPERM: it is none; EAGAIN: its
 * queue is full). */
int folder_connect(const struct folder *folder, const char *name);

#endif
