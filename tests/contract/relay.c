/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See relay.h. One thread, one poll() over the listening socket and the pairs; a socket
 * pair wakes it up to end. The mutex guards the armed fault alone; pairs belong to the
 * thread.
 */
#include "relay.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAIRS_MAX 64

enum plan { PLAN_PASS, PLAN_LOSE_ANSWER, PLAN_LOSE_REQUEST, PLAN_HANG };

struct pair {
    int client; /* -1 = free place */
    int server;
    enum plan plan;
};

struct relay {
    pthread_t thread;
    pthread_mutex_t mutex;
    enum plan armed;
    unsigned port;
    unsigned upstream;
    int listener;
    int wake[2];
    struct pair pairs[PAIRS_MAX];
};

static int connect_to(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static void end_pair(struct pair *pair)
{
    if (pair->client >= 0) {
        close(pair->client);
        close(pair->server);
        pair->client = -1;
        pair->server = -1;
    }
}

static void accept_one(struct relay *relay)
{
    struct pair *place = NULL;
    int client = accept4(relay->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = client >= 0 ? connect_to(relay->upstream) : -1;
    for (size_t i = 0; i < PAIRS_MAX && !place; i++) {
        place = relay->pairs[i].client < 0 ? &relay->pairs[i] : NULL;
    }
    if (server < 0 || !place) {
        close(client);
        close(server);
        return;
    }
    place->client = client;
    place->server = server;
    pthread_mutex_lock(&relay->mutex);
    place->plan = relay->armed;
    relay->armed = PLAN_PASS;
    pthread_mutex_unlock(&relay->mutex);
}

static bool send_all(int fd, const char *bytes, ssize_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, (size_t)count, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        if (sent > 0) {
            bytes += sent;
            count -= sent;
        }
    }
    return true;
}

/* Moves what is there; ends the pair where the plan or a side says so. */
static void move(struct pair *pair, bool from_client)
{
    char bytes[16384];
    int from = from_client ? pair->client : pair->server;
    int to = from_client ? pair->server : pair->client;
    ssize_t count = recv(from, bytes, sizeof(bytes), 0);
    bool lost =
        from_client ? pair->plan == PLAN_LOSE_REQUEST : pair->plan == PLAN_LOSE_ANSWER;
    if (count <= 0 || lost) {
        end_pair(pair);
        return;
    }
    if (!from_client && pair->plan == PLAN_HANG) {
        return; /* the answer is swallowed, the client waits on */
    }
    if (!send_all(to, bytes, count)) {
        end_pair(pair);
    }
}

static void *serve(void *data)
{
    struct relay *relay = data;
    for (;;) {
        struct pollfd polls[2 + 2 * PAIRS_MAX];
        polls[0] = (struct pollfd){.fd = relay->wake[0], .events = POLLIN};
        polls[1] = (struct pollfd){.fd = relay->listener, .events = POLLIN};
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            polls[2 + 2 * i] =
                (struct pollfd){.fd = relay->pairs[i].client, .events = POLLIN};
            polls[3 + 2 * i] =
                (struct pollfd){.fd = relay->pairs[i].server, .events = POLLIN};
        }
        if (poll(polls, 2 + 2 * PAIRS_MAX, -1) < 0 && errno != EINTR) {
            abort();
        }
        if (polls[0].revents) {
            return NULL;
        }
        for (size_t i = 0; i < PAIRS_MAX; i++) {
            struct pair *pair = &relay->pairs[i];
            if (pair->client >= 0 && polls[2 + 2 * i].revents) {
                move(pair, true);
            }
            if (pair->client >= 0 && polls[3 + 2 * i].revents) {
                move(pair, false);
            }
        }
        if (polls[1].revents) {
            accept_one(relay);
        }
    }
}

static bool listen_on(struct relay *relay)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    relay->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (relay->listener < 0 ||
        bind(relay->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(relay->listener, PAIRS_MAX) != 0 ||
        getsockname(relay->listener, (struct sockaddr *)&address, &size) != 0) {
        return false;
    }
    relay->port = ntohs(address.sin_port);
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, relay->wake) == 0;
}

struct relay *relay_new(unsigned port)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    if (!relay) {
        return NULL;
    }
    relay->upstream = port;
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        relay->pairs[i].client = -1;
        relay->pairs[i].server = -1;
    }
    pthread_mutex_init(&relay->mutex, NULL);
    if (!listen_on(relay) || pthread_create(&relay->thread, NULL, serve, relay) != 0) {
        abort();
    }
    return relay;
}

struct relay *relay_free(struct relay *relay)
{
    close(relay->wake[1]);
    pthread_join(relay->thread, NULL);
    for (size_t i = 0; i < PAIRS_MAX; i++) {
        end_pair(&relay->pairs[i]);
    }
    close(relay->wake[0]);
    close(relay->listener);
    pthread_mutex_destroy(&relay->mutex);
    free(relay);
    return NULL;
}

unsigned relay_port(const struct relay *relay)
{
    return relay->port;
}

void relay_arm(struct relay *relay, enum contract_fault fault)
{
    pthread_mutex_lock(&relay->mutex);
    relay->armed = fault == CONTRACT_LOSE_ANSWER    ? PLAN_LOSE_ANSWER
                   : fault == CONTRACT_LOSE_REQUEST ? PLAN_LOSE_REQUEST
                                                    : PLAN_HANG;
    pthread_mutex_unlock(&relay->mutex);
}
