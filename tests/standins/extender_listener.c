/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See extender_listener.h. Threads share nothing here but the callback. */
#include "extender_listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUEST_MAX 65536

struct extender_call {
    int socket;
    extender_call_fn call;
    void *data;
};

void extender_answer(struct extender_call *call, const char *json)
{
    if (call->socket < 0) {
        return;
    }
    dprintf(call->socket,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
            strlen(json), json);
    close(call->socket);
    call->socket = -1;
}

/* Bytes of the whole request, 0 while its headers are not complete. */
static size_t request_length(const char *bytes, char **ret_body)
{
    char *end = strstr(bytes, "\r\n\r\n");
    char *length = strcasestr(bytes, "\r\nContent-Length:");
    if (end == NULL) {
        return 0;
    }
    *ret_body = end + 4;
    size_t body = length != NULL && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return (size_t)(end + 4 - bytes) + body;
}

/* Returns the body inside BYTES, NULL when the client left or sent too much. */
static char *read_request(int socket, char bytes[REQUEST_MAX])
{
    size_t got = 0;
    char *body = NULL;
    for (;;) {
        ssize_t more = read(socket, bytes + got, REQUEST_MAX - 1 - got);
        if (more <= 0) {
            return NULL;
        }
        got += (size_t)more;
        bytes[got] = '\0';
        size_t whole = request_length(bytes, &body);
        if (whole > 0 && got >= whole) {
            return body;
        }
    }
}

static void *serve(void *data)
{
    struct extender_call *call = data;
    char *bytes = malloc(REQUEST_MAX);
    char *body = bytes != NULL ? read_request(call->socket, bytes) : NULL;
    if (body != NULL) {
        call->call(call->data, call, body);
    }
    if (call->socket >= 0) {
        close(call->socket);
    }
    free(bytes);
    free(call);
    return NULL;
}

static int open_socket(const char *address, struct sockaddr_in *ret)
{
    char host[64];
    const char *colon = strrchr(address, ':');
    socklen_t length = sizeof(*ret);
    if (colon == NULL || (size_t)(colon - address) >= sizeof(host)) {
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
    memset(ret, 0, sizeof(*ret));
    ret->sin_family = AF_INET;
    ret->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, host, &ret->sin_addr) != 1 ||
        ntohl(ret->sin_addr.s_addr) >> 24 != 127) {
        return -1;
    }
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)ret, sizeof(*ret)) < 0 ||
        listen(fd, 1024) < 0 || getsockname(fd, (struct sockaddr *)ret, &length) < 0) {
        if (fd >= 0) {
            close(fd);
        }
        return -1;
    }
    return fd;
}

/* By rename, so that who waits for the file never sees half of it. */
static int write_address(const char *path, const struct sockaddr_in *address)
{
    char host[INET_ADDRSTRLEN];
    char temporary[4096];
    inet_ntop(AF_INET, &address->sin_addr, host, sizeof(host));
    snprintf(temporary, sizeof(temporary), "%s.new", path);
    FILE *file = fopen(temporary, "we");
    if (file == NULL) {
        return -1;
    }
    fprintf(file, "%s:%u\n", host, ntohs(address->sin_port));
    if (fclose(file) != 0) {
        return -1;
    }
    return rename(temporary, path);
}

static void start(int socket, extender_call_fn call, void *data)
{
    pthread_t thread;
    struct extender_call *box = malloc(sizeof(*box));
    if (box == NULL) {
        close(socket);
        return;
    }
    *box = (struct extender_call){socket, call, data};
    if (pthread_create(&thread, NULL, serve, box) != 0) {
        close(socket);
        free(box);
        return;
    }
    pthread_detach(thread);
}

int extender_listen(const char *address, const char *address_file, extender_call_fn call,
                    void *data)
{
    struct sockaddr_in bound;
    signal(SIGPIPE, SIG_IGN);
    int fd = open_socket(address, &bound);
    if (fd < 0) {
        fprintf(stderr, "can't listen on %s (an address of loopback and a free port)\n",
                address);
        return 1;
    }
    if (address_file != NULL && write_address(address_file, &bound) < 0) {
        fprintf(stderr, "can't write %s\n", address_file);
        return 1;
    }
    for (;;) {
        int socket = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (socket >= 0) {
            start(socket, call, data);
        }
    }
}
