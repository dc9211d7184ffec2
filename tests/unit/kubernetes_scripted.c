/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plain HTTP/1.1 server on loopback that follows a script: for each request the next
 * step, over one connection after another. Its thread records what came; scripted->mutex
 * guards the records.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kubernetes_support.h"

/* Waits until the socket has something; false when the server is to stop. */
static bool wait_for(struct scripted *server, int socket)
{
    struct pollfd polled[2] = {{.fd = socket, .events = POLLIN},
                               {.fd = server->stop[0], .events = POLLIN}};

    (void)poll(polled, 2, -1);
    return polled[1].revents == 0;
}

/* Bytes of a whole request, as far as they are known: 0 while its headers are incomplete.
 */
static size_t request_length(const char *request)
{
    const char *end = strstr(request, "\r\n\r\n");
    const char *content = strcasestr(request, "content-length:");

    if (end == NULL) {
        return 0;
    }
    return (size_t)(end - request) + 4 +
           (content != NULL && content < end ? strtoul(content + 15, NULL, 10) : 0);
}

/* Reads one request and records it. False if the connection ends or the server is to
 * stop. */
static bool read_request(struct scripted *server, int connection, size_t read_max)
{
    char request[65536] = "";
    size_t length = 0;

    for (;;) {
        ssize_t got;

        if (!wait_for(server, connection)) {
            return false;
        }
        got = read(connection, request + length, sizeof(request) - 1 - length);
        if (got <= 0) {
            return false;
        }
        length += (size_t)got;
        request[length] = '\0';
        if ((request_length(request) != 0 && length >= request_length(request)) ||
            (read_max != 0 && length >= read_max)) {
            break;
        }
    }
    pthread_mutex_lock(&server->mutex);
    if (server->request_count < 16) {
        size_t room = sizeof(server->requests[0]) - 1;
        size_t kept = length < room ? length : room;
        memcpy(server->requests[server->request_count], request, kept);
        server->requests[server->request_count][kept] = '\0';
    }
    server->request_count++;
    pthread_mutex_unlock(&server->mutex);
    return true;
}

static void send_text(int connection, const char *text)
{
    size_t length = text != NULL ? strlen(text) : 0;

    while (length > 0) {
        ssize_t sent = send(connection, text, length, MSG_NOSIGNAL);

        if (sent <= 0) {
            return;
        }
        text += sent;
        length -= (size_t)sent;
    }
}

/* Serves one connection; false when the server is to stop. */
static bool serve(struct scripted *server, int connection, size_t *step)
{
    while (*step < server->step_count) {
        const struct scripted_step *now = &server->steps[*step];

        if (!read_request(server, connection, now->read_max)) {
            return wait_for(server, server->listener);
        }
        (*step)++;
        send_text(connection, now->answer);
        for (size_t i = 0; i < now->repeat; i++) {
            send_text(connection, now->answer_part);
        }
        if (now->end == SCRIPTED_HANG) {
            (void)wait_for(server, server->stop[0]);
            return false;
        }
        if (now->end == SCRIPTED_CLOSE) {
            return true;
        }
    }
    return true;
}

static void *run(void *data)
{
    struct scripted *server = data;
    size_t step = 0;
    bool goes_on = true;

    while (goes_on && wait_for(server, server->listener)) {
        int connection = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);

        pthread_mutex_lock(&server->mutex);
        server->connection_count++;
        pthread_mutex_unlock(&server->mutex);
        goes_on = serve(server, connection, &step);
        (void)close(connection);
    }
    return NULL;
}

void scripted_start(struct scripted *server, const struct scripted_step *steps,
                    size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);

    memset(server, 0, sizeof(*server));
    server->steps = steps;
    server->step_count = count;
    (void)pthread_mutex_init(&server->mutex, NULL);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(server->listener, 0);
    ck_assert_int_eq(bind(server->listener, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(server->listener, 16), 0);
    ck_assert_int_eq(getsockname(server->listener, (struct sockaddr *)&address, &length),
                     0);
    server->port = ntohs(address.sin_port);
    (void)snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", server->port);
    ck_assert_int_eq(pipe(server->stop), 0);
    ck_assert_int_eq(pthread_create(&server->thread, NULL, run, server), 0);
}

void scripted_stop(struct scripted *server)
{
    (void)close(server->stop[1]);
    (void)pthread_join(server->thread, NULL);
    (void)close(server->stop[0]);
    (void)close(server->listener);
    (void)pthread_mutex_destroy(&server->mutex);
}

size_t scripted_requests(struct scripted *server)
{
    size_t count;

    pthread_mutex_lock(&server->mutex);
    count = server->request_count;
    pthread_mutex_unlock(&server->mutex);
    return count;
}

hami_kubernetes *scripted_client(const struct scripted *server,
                                 void (*adjust)(struct hami_kubernetes_config *config))
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_kubernetes *client = NULL;

    config.server = server->url;
    if (adjust != NULL) {
        adjust(&config);
    }
    ck_assert_msg(hami_kubernetes_new(&config, &client, &error) == 0, "%s", error.text);
    return client;
}
