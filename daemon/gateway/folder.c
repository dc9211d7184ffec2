/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets in a folder that is held open. bind() and connect() know no "at" form: the
 * folder, and a socket within, are named to them by /proc/self/fd, which leads to the
 * very object that was looked at.
 */
#include "folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 64

bool folder_is_trusted(uid_t uid)
{
    return uid == 0 || uid == geteuid();
}

static bool complain(char *error, size_t size, const char *path, const char *what)
{
    (void)snprintf(error, size, "%.200s: %.200s", path, what);
    return false;
}

bool folder_open(struct folder *folder, const char *path, char *error, size_t size)
{
    struct stat status;

    folder->fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder->fd < 0) {
        return complain(error, size, path, strerror(errno));
    }
    if (fstat(folder->fd, &status) < 0 || !folder_is_trusted(status.st_uid) ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        folder_close(folder);
        return complain(error, size, path,
                        "others than root may write into this folder: make it mode 0700");
    }
    return true;
}

void folder_close(struct folder *folder)
{
    if (folder->fd >= 0) {
        (void)close(folder->fd);
    }
    folder->fd = -1;
}

bool folder_is_same(const struct folder *one, const struct folder *other)
{
    struct stat status, status_of_other;

    return fstat(one->fd, &status) == 0 && fstat(other->fd, &status_of_other) == 0 &&
           status.st_dev == status_of_other.st_dev &&
           status.st_ino == status_of_other.st_ino;
}

bool folder_is_name(const char *name)
{
    size_t length = strnlen(name, FOLDER_NAME_MAX);

    if (length == 0 || length >= FOLDER_NAME_MAX || name[0] == '.') {
        return false;
    }
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '/' || (unsigned char)*c < 0x21 || (unsigned char)*c > 0x7e) {
            return false;
        }
    }
    return true;
}

static bool name_address(int fd, const char *name, struct sockaddr_un *ret)
{
    int length;

    memset(ret, 0, sizeof(*ret));
    ret->sun_family = AF_UNIX;
    length = snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d%s%s", fd,
                      *name != '\0' ? "/" : "", name);
    return length > 0 && (size_t)length < sizeof(ret->sun_path);
}

/* Makes room for a new socket of this name. */
static bool clear_name(const struct folder *folder, const char *name)
{
    struct stat status;

    if (fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return errno == ENOENT;
    }
    if (!S_ISSOCK(status.st_mode)) {
        errno = EEXIST;
        return false;
    }
    return unlinkat(folder->fd, name, 0) == 0 || errno == ENOENT;
}

static bool remember(const struct folder *folder, const char *name,
                     struct folder_socket *ret)
{
    struct stat status;

    if (fchmodat(folder->fd, name, 0600, 0) < 0 ||
        fstatat(folder->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0) {
        return false;
    }
    (void)snprintf(ret->name, sizeof(ret->name), "%s", name);
    ret->device = status.st_dev;
    ret->inode = status.st_ino;
    return true;
}

int folder_listen(const struct folder *folder, const char *name,
                  struct folder_socket *ret, char *error, size_t size)
{
    struct sockaddr_un address;
    int fd = -1;

    if (folder_is_name(name) && name_address(folder->fd, name, &address) &&
        clear_name(folder, name)) {
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    }
    /* Nobody can connect before listen(): the mode is right by then. */
    if (fd >= 0 &&
        bind(fd, (const struct sockaddr *)&address, (socklen_t)sizeof(address)) == 0 &&
        remember(folder, name, ret) && listen(fd, BACKLOG) == 0) {
        return fd;
    }
    (void)complain(error, size, name, strerror(errno));
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

bool folder_has(const struct folder *folder, const struct folder_socket *socket)
{
    struct stat status;

    return socket->inode != 0 &&
           fstatat(folder->fd, socket->name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           status.st_dev == socket->device && status.st_ino == socket->inode;
}

void folder_remove(const struct folder *folder, struct folder_socket *socket)
{
    if (folder_has(folder, socket)) {
        (void)unlinkat(folder->fd, socket->name, 0);
    }
    memset(socket, 0, sizeof(*socket));
}

/* The socket file's descriptor, or -errno. */
static int look_up(const struct folder *folder, const char *name)
{
    struct stat status;
    int fd = openat(folder->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &status) < 0 || !S_ISSOCK(status.st_mode) ||
        !folder_is_trusted(status.st_uid)) {
        (void)close(fd);
        return -EPERM;
    }
    return fd;
}

static int connect_to(int file)
{
    struct sockaddr_un address;
    struct ucred peer;
    socklen_t length = sizeof(peer);
    int code = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -errno;
    }
    if (!name_address(file, "", &address)) {
        code = -ENAMETOOLONG;
    } else if (connect(fd, (const struct sockaddr *)&address,
                       (socklen_t)sizeof(address)) < 0 ||
               getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0) {
        code = -errno;
    } else if (!folder_is_trusted(peer.uid)) {
        code = -EPERM;
    }
    if (code < 0) {
        (void)close(fd);
        return code;
    }
    return fd;
}

int folder_connect(const struct folder *folder, const char *name)
{
    int file, fd;

    if (!folder_is_name(name)) {
        return -EINVAL;
    }
    file = look_up(folder, name);
    if (file < 0) {
        return file;
    }
    fd = connect_to(file);
    (void)close(file);
    return fd;
}
