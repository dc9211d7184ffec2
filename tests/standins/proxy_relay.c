/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See proxy_relay.h.
 *
 * A link is one client's connection with ours to the server. Bytes that came in one read
 * are a chunk; chunks of a way go on in order, each when it is due and the way is not
 * stalled. A cut after forwarding drops the client at once and keeps the server's side
 * for a while, so that the server has no reason to give up the request half done.
 */
#include "proxy_relay.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define HELD_MAX (1024 * 1024) /* bytes of one way; beyond it nothing is read */
#define LINGER_MS 1000

struct chunk {
    struct chunk *next;
    int64_t due_ms;
    bool is_last; /* the client is cut once these are with the server */
    struct evbuffer *bytes;
};

struct way {
    struct link *link;
    enum proxy_way name;
    struct bufferevent *from;
    struct bufferevent *to;
    struct chunk *first;
    struct chunk **end;
    size_t held;
    bool is_ended; /* nothing more comes */
    bool is_shut;  /* and the other side was told */
    struct event *timer;
};

struct link {
    struct link *next;
    struct link **place; /* the pointer that points to it */
    struct proxy_relay *relay;
    struct bufferevent *client; /* NULL: cut */
    struct bufferevent *server;
    struct way ways[PROXY_WAYS];
    uint64_t request_bytes;
    bool is_meant;   /* by a rule for connections */
    bool is_cutting; /* the client is cut as soon as the server has all */
    struct event *linger;
};

struct proxy_relay {
    struct event_base *base;
    struct proxy_faults *faults;
    struct sockaddr_in target;
    struct link *links;
};

int64_t proxy_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- ends ------------------------------------------------------------------------ */

/* A reset instead of an orderly end: what was sent last may be lost on the way. */
static void reset(struct bufferevent *side)
{
    struct linger none = {.l_onoff = 1, .l_linger = 0};
    if (side != NULL) {
        setsockopt(bufferevent_getfd(side), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
        bufferevent_free(side);
    }
}

static void drop_chunks(struct way *way)
{
    while (way->first != NULL) {
        struct chunk *chunk = way->first;
        way->first = chunk->next;
        evbuffer_free(chunk->bytes);
        free(chunk);
    }
    way->end = &way->first;
    way->held = 0;
}

static void end_link(struct link *link)
{
    for (int i = 0; i < PROXY_WAYS; i++) {
        drop_chunks(&link->ways[i]);
        if (link->ways[i].timer != NULL) {
            event_free(link->ways[i].timer);
        }
    }
    if (link->linger != NULL) {
        event_free(link->linger);
    }
    reset(link->client);
    reset(link->server);
    if (link->place != NULL) {
        *link->place = link->next;
        if (link->next != NULL) {
            link->next->place = link->place;
        }
    }
    free(link);
}

static void linger_over(evutil_socket_t socket, short what, void *data)
{
    (void)socket;
    (void)what;
    end_link(data);
}

/* The server has the request; the client learns nothing more. */
static void cut_client(struct link *link)
{
    struct timeval time = {LINGER_MS / 1000, LINGER_MS % 1000 * 1000};
    reset(link->client);
    link->client = NULL;
    for (int i = 0; i < PROXY_WAYS; i++) {
        drop_chunks(&link->ways[i]);
        evtimer_del(link->ways[i].timer);
    }
    evtimer_add(link->linger, &time);
}

/* ---- one way --------------------------------------------------------------------- */

static void wake_at(struct way *way, int64_t due_ms, int64_t now_ms)
{
    int64_t wait_ms = due_ms > now_ms ? due_ms - now_ms : 0;
    struct timeval time = {wait_ms / 1000, wait_ms % 1000 * 1000};
    evtimer_add(way->timer, &time);
}

/* Tells the other side of this way's end once everything went on. */
static void shut(struct way *way)
{
    struct link *link = way->link;
    if (!way->is_ended || way->is_shut || way->first != NULL ||
        evbuffer_get_length(bufferevent_get_output(way->to)) > 0) {
        return;
    }
    way->is_shut = true;
    shutdown(bufferevent_getfd(way->to), SHUT_WR);
    if (link->ways[PROXY_REQUESTS].is_shut && link->ways[PROXY_ANSWERS].is_shut) {
        bufferevent_free(link->client);
        bufferevent_free(link->server);
        link->client = NULL;
        link->server = NULL;
        end_link(link);
    }
}

/* Passes on what is due. The link may be gone afterwards. */
static void pump(struct way *way)
{
    struct link *link = way->link;
    int64_t now_ms = proxy_now_ms();
    int64_t stalled_ms = link->relay->faults->stalled_until_ms[way->name];
    while (way->first != NULL && way->first->due_ms <= now_ms && stalled_ms <= now_ms &&
           !link->is_cutting) {
        struct chunk *chunk = way->first;
        way->first = chunk->next;
        way->end = way->first == NULL ? &way->first : way->end;
        way->held -= evbuffer_get_length(chunk->bytes);
        link->is_cutting |= chunk->is_last;
        bufferevent_write_buffer(way->to, chunk->bytes);
        evbuffer_free(chunk->bytes);
        free(chunk);
    }
    if (way->first != NULL && stalled_ms != INT64_MAX) {
        wake_at(way, stalled_ms > way->first->due_ms ? stalled_ms : way->first->due_ms,
                now_ms);
    }
    if (way->held + evbuffer_get_length(bufferevent_get_output(way->to)) >= HELD_MAX) {
        bufferevent_disable(way->from, EV_READ);
    } else if (!way->is_ended) {
        bufferevent_enable(way->from, EV_READ);
    }
    shut(way);
}

static void timer_fired(evutil_socket_t socket, short what, void *data)
{
    (void)socket;
    (void)what;
    pump(data);
}

/* Returns -1 when out of memory; the bytes stay where they are. */
static int hold(struct way *way, bool is_last)
{
    struct proxy_faults *faults = way->link->relay->faults;
    struct chunk *chunk = calloc(1, sizeof(*chunk));
    if (chunk == NULL || (chunk->bytes = evbuffer_new()) == NULL) {
        free(chunk);
        return -1;
    }
    chunk->due_ms = proxy_faults_due(faults, way->name, proxy_now_ms());
    chunk->is_last = is_last;
    bufferevent_read_buffer(way->from, chunk->bytes);
    way->held += evbuffer_get_length(chunk->bytes);
    *way->end = chunk;
    way->end = &chunk->next;
    return 0;
}

static void came(struct bufferevent *from, void *data)
{
    struct link *link = data;
    size_t size = evbuffer_get_length(bufferevent_get_input(from));
    enum proxy_cut cut = PROXY_CUT_NONE;
    if (link->client == NULL || (link->is_cutting && from == link->server)) {
        evbuffer_drain(bufferevent_get_input(from), size);
        return;
    }
    if (from == link->client) {
        cut = proxy_faults_request(link->relay->faults, link->is_meant,
                                   link->request_bytes, size);
        link->request_bytes += size;
    } else {
        link->relay->faults->bytes[PROXY_ANSWERS] += size;
    }
    struct way *way = &link->ways[from == link->client ? PROXY_REQUESTS : PROXY_ANSWERS];
    if (cut == PROXY_CUT_BEFORE || hold(way, cut == PROXY_CUT_AFTER) < 0) {
        end_link(link);
        return;
    }
    pump(way);
}

static void went(struct bufferevent *to, void *data)
{
    struct link *link = data;
    if (link->client == NULL) {
        return;
    }
    if (link->is_cutting && to == link->server) {
        cut_client(link);
        return;
    }
    pump(&link->ways[to == link->server ? PROXY_REQUESTS : PROXY_ANSWERS]);
}

static void happened(struct bufferevent *side, short what, void *data)
{
    struct link *link = data;
    if (what & BEV_EVENT_CONNECTED) {
        return;
    }
    if (!(what & BEV_EVENT_EOF) || link->client == NULL) {
        end_link(link);
        return;
    }
    struct way *way = &link->ways[side == link->client ? PROXY_REQUESTS : PROXY_ANSWERS];
    way->is_ended = true;
    pump(way);
}

/* ---- public ---------------------------------------------------------------------- */

static int open_link(struct link *link, evutil_socket_t client)
{
    struct proxy_relay *relay = link->relay;
    int on = 1;
    evutil_make_socket_nonblocking(client);
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    link->client = bufferevent_socket_new(
        relay->base, client, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (link->client == NULL) {
        evutil_closesocket(client);
        return -1;
    }
    link->server = bufferevent_socket_new(
        relay->base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    link->linger = evtimer_new(relay->base, linger_over, link);
    if (link->server == NULL || link->linger == NULL) {
        return -1;
    }
    for (int i = 0; i < PROXY_WAYS; i++) {
        struct way *way = &link->ways[i];
        way->from = i == PROXY_REQUESTS ? link->client : link->server;
        way->to = i == PROXY_REQUESTS ? link->server : link->client;
        way->timer = evtimer_new(relay->base, timer_fired, way);
        if (way->timer == NULL) {
            return -1;
        }
    }
    bufferevent_setcb(link->client, came, went, happened, link);
    bufferevent_setcb(link->server, came, went, happened, link);
    if (bufferevent_socket_connect(link->server, (struct sockaddr *)&relay->target,
                                   sizeof(relay->target)) < 0) {
        return -1;
    }
    setsockopt(bufferevent_getfd(link->server), IPPROTO_TCP, TCP_NODELAY, &on,
               sizeof(on));
    bufferevent_enable(link->client, EV_READ | EV_WRITE);
    bufferevent_enable(link->server, EV_READ | EV_WRITE);
    return 0;
}

void proxy_relay_add(struct proxy_relay *relay, evutil_socket_t client)
{
    struct link *link = calloc(1, sizeof(*link));
    if (link == NULL) {
        evutil_closesocket(client);
        return;
    }
    link->relay = relay;
    for (int i = 0; i < PROXY_WAYS; i++) {
        link->ways[i].link = link;
        link->ways[i].name = (enum proxy_way)i;
        link->ways[i].end = &link->ways[i].first;
    }
    link->is_meant = proxy_faults_connected(relay->faults);
    if (open_link(link, client) < 0) {
        end_link(link);
        return;
    }
    link->next = relay->links;
    link->place = &relay->links;
    if (link->next != NULL) {
        link->next->place = &link->next;
    }
    relay->links = link;
}

void proxy_relay_look(struct proxy_relay *relay)
{
    /* The timers do it: a pump may end its link, and with it this walk's place. */
    for (struct link *link = relay->links; link != NULL; link = link->next) {
        for (int i = 0; link->client != NULL && i < PROXY_WAYS; i++) {
            wake_at(&link->ways[i], 0, 0);
        }
    }
}

struct proxy_relay *proxy_relay_new(struct event_base *base, struct proxy_faults *faults,
                                    const struct sockaddr_in *target)
{
    struct proxy_relay *relay = calloc(1, sizeof(*relay));
    if (relay != NULL) {
        relay->base = base;
        relay->faults = faults;
        relay->target = *target;
    }
    return relay;
}

void proxy_relay_free(struct proxy_relay *relay)
{
    while (relay != NULL && relay->links != NULL) {
        end_link(relay->links);
    }
    free(relay);
}
