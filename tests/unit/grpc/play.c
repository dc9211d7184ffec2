/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other side of a connection, played byte by byte. Its sockets don't block, and the
 * loop turns between tries.
 */
#include "world.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define TURN_MS 2

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void set_address(struct sockaddr_un *address, const char *path)
{
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    strcpy(address->sun_path, path);
}

int world_play_server(struct world *world)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    world->server = hamid_grpc_server_free(world->server);
    set_address(&address, world->path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

/* Reads exactly so many bytes; false: closed before. */
static bool read_all(struct world *world, int fd, unsigned char *buffer, size_t length)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    size_t used = 0;

    while (used < length) {
        ssize_t taken = recv(fd, buffer + used, length - used, 0);

        if (taken == 0 || (taken < 0 && errno != EAGAIN)) {
            return false;
        }
        if (taken > 0) {
            used += (size_t)taken;
        } else {
            ck_assert_msg(now_ms() < until, "nothing came in time");
            world_turn(world, TURN_MS);
        }
    }
    return true;
}

int world_play_accept(struct world *world, int listener)
{
    uint64_t until = now_ms() + PATIENCE_MS;
    unsigned char preface[24];
    int fd = -1;

    while (fd < 0 && now_ms() < until) {
        world_turn(world, TURN_MS);
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    }
    ck_assert_int_ge(fd, 0);
    ck_assert(read_all(world, fd, preface, sizeof(preface)));
    ck_assert_int_eq(memcmp(preface, "PRI * HTTP/2.0", 14), 0);
    return fd;
}

int world_play_client(struct world *world)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    set_address(&address, world->path);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

void play_bytes(int fd, const void *bytes, size_t length)
{
    ck_assert_msg(send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length,
                  "it can not be sent: %s", strerror(errno));
}

void play_frame(int fd, unsigned type, unsigned flags, unsigned stream,
                const void *payload, size_t length)
{
    const unsigned char head[9] = {
        (unsigned char)(length >> 16), (unsigned char)(length >> 8),
        (unsigned char)length,         (unsigned char)type,
        (unsigned char)flags,          (unsigned char)(stream >> 24),
        (unsigned char)(stream >> 16), (unsigned char)(stream >> 8),
        (unsigned char)stream};

    play_bytes(fd, head, sizeof(head));
    if (length > 0) {
        play_bytes(fd, payload, length);
    }
}

size_t play_fields(unsigned char *block, const char *const *pairs)
{
    size_t used = 0;

    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        block[used++] = 0;
        for (size_t j = i; j < i + 2; j++) {
            size_t length = strlen(pairs[j]);

            ck_assert_uint_lt(length, 127);
            block[used++] = (unsigned char)length;
            memcpy(block + used, pairs[j], length);
            used += length;
        }
    }
    return used;
}

void play_headers(int fd, unsigned flags, unsigned stream, const char *const *pairs)
{
    unsigned char block[16384];

    play_frame(fd, 1, flags | 4, stream, block, play_fields(block, pairs));
}

bool world_play_read(struct world *world, int fd, unsigned type, unsigned char *payload,
                     size_t *length)
{
    static unsigned char buffer[1 << 17];
    unsigned char head[9];

    while (read_all(world, fd, head, sizeof(head))) {
        size_t size = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];

        ck_assert_uint_le(size, sizeof(buffer));
        if (!read_all(world, fd, buffer, size)) {
            return false;
        }
        if (head[3] == type) {
            if (payload != NULL) {
                memcpy(payload, buffer, size);
                *length = size;
            }
            return true;
        }
    }
    return false;
}

/* One block; true where it has the field. */
static bool find_field(nghttp2_hd_inflater *inflater, const unsigned char *block,
                       size_t length, const char *name, char *value, size_t size)
{
    bool is_there = false;
    int flags = 0;

    while ((flags & NGHTTP2_HD_INFLATE_FINAL) == 0) {
        nghttp2_nv field;
        ssize_t taken =
            nghttp2_hd_inflate_hd2(inflater, &field, &flags, block, length, 1);

        ck_assert_int_ge(taken, 0);
        block += taken;
        length -= (size_t)taken;
        if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0 && field.namelen == strlen(name) &&
            memcmp(field.name, name, field.namelen) == 0) {
            snprintf(value, size, "%.*s", (int)field.valuelen, (const char *)field.value);
            is_there = true;
        }
    }
    nghttp2_hd_inflate_end_headers(inflater);
    return is_there;
}

bool world_play_field(struct world *world, int fd, const char *name, char *value,
                      size_t size)
{
    static unsigned char block[1 << 17];
    nghttp2_hd_inflater *inflater;
    size_t length;
    bool is_there = false;

    ck_assert_int_eq(nghttp2_hd_inflate_new(&inflater), 0);
    while (!is_there && world_play_read(world, fd, 1, block, &length)) {
        is_there = find_field(inflater, block, length, name, value, size);
    }
    nghttp2_hd_inflate_del(inflater);
    return is_there;
}

int world_play_greeting(struct world *world)
{
    int fd = world_play_client(world);

    play_bytes(fd, PREFACE, strlen(PREFACE));
    play_frame(fd, 4, 0, 0, NULL, 0);
    return fd;
}
