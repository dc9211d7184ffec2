/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepting, the TLS handshake (bounded in time), choice of protocol by ALPN, and the
 * end of connections: see connection.h. Server's thread only, no lock.
 */
#include "connection.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tls.h"

static const struct timeval handshake_limit = {10, 0};
static const struct timeval linger_limit = {2, 0};

static void close_protocol(struct sim_connection *connection)
{
    if (connection->protocol != NULL) {
        connection->protocol->close(connection->state);
        connection->protocol = NULL;
    }
}

static void destroy(struct sim_connection *connection)
{
    close_protocol(connection);
    if (connection->reset) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        (void)setsockopt(bufferevent_getfd(connection->stream), SOL_SOCKET, SO_LINGER,
                         &linger, sizeof(linger));
    }
    bufferevent_free(connection->stream);
    event_free(connection->turn_event);
    *connection->link = connection->next;
    if (connection->next != NULL) {
        connection->next->link = connection->link;
    }
    connection->server->connection_count--;
    free(connection->certificate_user);
    free(connection);
}

/* Closing a socket with unread bytes resets it, and the reset can overtake what was
 * written last, such as the word which requests were left out. */
static void linger(struct sim_connection *connection)
{
    close_protocol(connection);
    connection->fate = SIM_LINGERING;
    bufferevent_set_timeouts(connection->stream, &linger_limit, &linger_limit);
    (void)SSL_shutdown(bufferevent_openssl_get_ssl(connection->stream));
    (void)shutdown(bufferevent_getfd(connection->stream), SHUT_WR);
}

static void on_turn(evutil_socket_t fd, short what, void *data)
{
    struct sim_connection *connection = data;
    (void)fd;
    (void)what;
    if (connection->fate == SIM_ALIVE && connection->protocol != NULL) {
        connection->protocol->turn(connection->state);
    }
    if (connection->fate == SIM_DRAINING &&
        evbuffer_get_length(connection->output) == 0) {
        linger(connection);
    } else if (connection->fate == SIM_DEAD) {
        destroy(connection);
    }
}

static void on_read(struct bufferevent *stream, void *data)
{
    struct sim_connection *connection = data;
    struct evbuffer *input = bufferevent_get_input(stream);
    if (connection->fate != SIM_ALIVE || connection->protocol == NULL) {
        evbuffer_drain(input, evbuffer_get_length(input));
        return;
    }
    if (connection->protocol->input(connection->state, input) < 0) {
        sim_connection_drain(connection);
    }
    sim_connection_schedule(connection);
}

static void on_write(struct bufferevent *stream, void *data)
{
    struct sim_connection *connection = data;
    (void)stream;
    if (connection->fate == SIM_ALIVE && connection->protocol != NULL) {
        connection->protocol->drained(connection->state);
    }
    sim_connection_schedule(connection);
}

static void on_event(struct bufferevent *stream, short what, void *data)
{
    struct sim_connection *connection = data;
    if ((what & BEV_EVENT_CONNECTED) == 0) {
        sim_connection_kill(connection, false);
        return;
    }
    SSL *ssl = bufferevent_openssl_get_ssl(stream);
    connection->certificate_user = sim_tls_user(ssl);
    connection->protocol = sim_tls_is_http2(ssl) ? &sim_http2 : &sim_http1;
    connection->state = connection->protocol->open(connection);
    bufferevent_set_timeouts(stream, NULL, NULL);
    if (connection->state == NULL) {
        connection->protocol = NULL;
        sim_connection_kill(connection, false);
        return;
    }
    sim_connection_schedule(connection);
}

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd,
                      struct sockaddr *address, int length, void *data)
{
    struct kubesim *sim = data;
    int yes = 1;
    (void)listener;
    (void)address;
    (void)length;
    SSL *ssl =
        sim->connection_count < SIM_CONNECTION_LIMIT ? SSL_new(sim->tls->context) : NULL;
    struct sim_connection *connection =
        ssl != NULL ? calloc(1, sizeof(*connection)) : NULL;
    if (connection == NULL) {
        SSL_free(ssl);
        evutil_closesocket(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    connection->server = sim;
    connection->turn_event = event_new(sim->base, -1, EV_PERSIST, on_turn, connection);
    connection->stream =
        bufferevent_openssl_socket_new(sim->base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                       BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (connection->stream == NULL || connection->turn_event == NULL) {
        abort();
    }
    bufferevent_openssl_set_allow_dirty_shutdown(connection->stream, 1);
    connection->output = bufferevent_get_output(connection->stream);
    connection->next = sim->connections;
    connection->link = &sim->connections;
    if (connection->next != NULL) {
        connection->next->link = &connection->next;
    }
    sim->connections = connection;
    sim->connection_count++;
    sim->accepted_count++;
    bufferevent_setcb(connection->stream, on_read, on_write, on_event, connection);
    bufferevent_set_timeouts(connection->stream, &handshake_limit, &handshake_limit);
    bufferevent_enable(connection->stream, EV_READ | EV_WRITE);
}

void sim_connection_schedule(struct sim_connection *connection)
{
    event_active(connection->turn_event, EV_TIMEOUT, 0);
}

void sim_connection_drain(struct sim_connection *connection)
{
    if (connection->fate == SIM_ALIVE) {
        connection->fate = SIM_DRAINING;
        bufferevent_set_timeouts(connection->stream, &handshake_limit, &handshake_limit);
    }
    sim_connection_schedule(connection);
}

void sim_connection_kill(struct sim_connection *connection, bool reset)
{
    connection->fate = SIM_DEAD;
    connection->reset = connection->reset || reset;
    sim_connection_schedule(connection);
}

struct sim_exchange *sim_connection_exchange(struct sim_connection *connection,
                                             const struct sim_transport *transport,
                                             void *stream)
{
    struct sim_exchange *exchange =
        sim_exchange_new(connection->server, transport, stream);
    if (connection->certificate_user != NULL) {
        exchange->certificate_user = strdup(connection->certificate_user);
    }
    return exchange;
}

const char *sim_date(const struct kubesim *sim, int skew, char *buffer)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t now = time(NULL) + sim->date_skew + skew;
    struct tm parts;
    gmtime_r(&now, &parts);
    snprintf(buffer, 40, "%s, %02d %s %d %02d:%02d:%02d GMT", days[parts.tm_wday],
             parts.tm_mday, months[parts.tm_mon], 1900 + parts.tm_year, parts.tm_hour,
             parts.tm_min, parts.tm_sec);
    return buffer;
}

int sim_listen(struct kubesim *sim)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)sim->options.port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    sim->listener = evconnlistener_new_bind(
        sim->base, on_accept, sim,
        LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_REUSEABLE, 512,
        (struct sockaddr *)&address, sizeof(address));
    if (sim->listener == NULL) {
        return errno > 0 ? -errno : -EADDRINUSE;
    }
    if (getsockname(evconnlistener_get_fd(sim->listener), (struct sockaddr *)&address,
                    &length) < 0) {
        return -errno;
    }
    sim->port = ntohs(address.sin_port);
    snprintf(sim->url, sizeof(sim->url), "https://127.0.0.1:%u", sim->port);
    return 0;
}

void sim_connections_close(struct kubesim *sim)
{
    struct sim_connection *next;
    for (struct sim_connection *connection = sim->connections; connection != NULL;
         connection = next) {
        next = connection->next;
        destroy(connection);
    }
}
