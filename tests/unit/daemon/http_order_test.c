/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order requests come to their handlers. The clients are plain sockets, and the
 * loop does not turn while they connect and send: all that they sent is in the kernel
 * before the server looks, as when a busy machine lets it run late.
 */
#include "http/server.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "suite.h"

#define CLIENTS_MAX 160
#define TRIES_MAX 100000

static struct event_base *base;
static struct hamid_http_server *server;
static unsigned short port;
static int handled[CLIENTS_MAX];
static size_t handled_count;

/* The path is the request's number. */
static void note(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    ck_assert_uint_lt(handled_count, CLIENTS_MAX);
    handled[handled_count++] = atoi(hamid_http_path(exchange) + 1);
    hamid_http_answer(exchange, 204, NULL, NULL, 0);
}

static const struct hamid_http_route routes[] = {{"GET", "/*", note, 0, false}};

static int new_client(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1;
    ck_assert_int_ge(fd, 0);
    /* Each send at once, as by nearly all HTTP clients. */
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

static void send_text(int fd, const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), 0), (ssize_t)strlen(text));
}

static void ask(int fd, int number)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\n\r\n", number);
    send_text(fd, text);
}

static void turn_until_handled(size_t count)
{
    while (handled_count < count) {
        (void)event_base_loop(base, EVLOOP_ONCE);
    }
}

/* A connection that the server knows: one request of it was answered. */
static int known_client(void)
{
    char answer[256];
    int fd = new_client();
    ask(fd, 0);
    turn_until_handled(handled_count + 1);
    ssize_t length = 0;
    while (length <= 0) {
        (void)event_base_loop(base, EVLOOP_NONBLOCK);
        length = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
    }
    handled_count = 0;
    return fd;
}

/* One byte over a connection; is it stamped? */
static bool is_stamped(int from, int to)
{
    char byte = 'x';
    char space[256];
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = space,
                             .msg_controllen = sizeof(space)};
    ck_assert_int_eq(send(from, "x", 1, 0), 1);
    ck_assert_int_eq(recvmsg(to, &message, 0), 1);
    return message.msg_controllen > 0;
}

/* The kernel stamps only while somebody wants it, and begins some time after it was asked
 * by the first one. */
static void wait_for_stamps(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    int one = 1;
    int tries = 0;
    int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(setsockopt(listening, SOL_SOCKET, SO_TIMESTAMPNS, &one, sizeof(one)),
                     0);
    ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(listen(listening, 1), 0);
    int from = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(from, (struct sockaddr *)&address, size), 0);
    int to = accept(listening, NULL, NULL);
    ck_assert_int_ge(to, 0);
    while (!is_stamped(from, to)) {
        ck_assert_int_lt(tries++, TRIES_MAX);
    }
    (void)close(to);
    (void)close(from);
    (void)close(listening);
}

static void start(void)
{
    static const struct hamid_http_config config = {.routes = routes, .route_count = 1};
    char address[64];
    char error[256];
    (void)signal(SIGPIPE, SIG_IGN);
    handled_count = 0;
    base = event_base_new();
    server = hamid_http_server_new(base, &config);
    ck_assert_int_eq(hamid_http_listen_tcp(server, "127.0.0.1:0", address,
                                           sizeof(address), error, sizeof(error)),
                     0);
    port = (unsigned short)atoi(strchr(address, ':') + 1);
    wait_for_stamps();
}

static void stop(void)
{
    server = hamid_http_server_free(server);
    event_base_free(base);
}

START_TEST(test_a_request_on_a_new_connection_is_not_overtaken_by_one_on_a_known_one)
{
    start();
    int known = known_client();
    int fresh = new_client();
    ask(fresh, 1);
    ask(known, 2);
    turn_until_handled(2);
    ck_assert_int_eq(handled[0], 1);
    ck_assert_int_eq(handled[1], 2);
    (void)close(known);
    (void)close(fresh);
    stop();
}
END_TEST

START_TEST(test_a_request_on_a_known_connection_is_not_overtaken_by_one_on_a_new_one)
{
    start();
    int known = known_client();
    int first = new_client();
    ask(first, 1);
    ask(known, 2);
    int last = new_client();
    ask(last, 3);
    turn_until_handled(3);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(handled[i], i + 1);
    }
    (void)close(known);
    (void)close(first);
    (void)close(last);
    stop();
}
END_TEST

/* More of them than one look at the sockets brings, the known ones in another order than
 * the one in which the server came to know them. */
START_TEST(test_a_burst_on_old_and_new_connections_is_handed_out_as_it_was_sent)
{
    int clients[CLIENTS_MAX];
    start();
    for (int i = CLIENTS_MAX - 1; i >= 0; i--) {
        clients[i] = i % 2 == 0 ? known_client() : -1;
    }
    for (int i = 0; i < CLIENTS_MAX; i++) {
        clients[i] = clients[i] >= 0 ? clients[i] : new_client();
        ask(clients[i], i);
    }
    turn_until_handled(CLIENTS_MAX);
    for (int i = 0; i < CLIENTS_MAX; i++) {
        ck_assert_int_eq(handled[i], i);
    }
    for (int i = 0; i < CLIENTS_MAX; i++) {
        (void)close(clients[i]);
    }
    stop();
}
END_TEST

START_TEST(test_a_request_counts_from_its_last_byte)
{
    start();
    int slow = known_client();
    int quick = known_client();
    send_text(slow, "GET /2 HTTP/1.1\r\n");
    (void)event_base_loop(base, EVLOOP_ONCE);
    ask(quick, 1);
    send_text(slow, "\r\n");
    turn_until_handled(2);
    ck_assert_int_eq(handled[0], 1);
    ck_assert_int_eq(handled[1], 2);
    (void)close(slow);
    (void)close(quick);
    stop();
}
END_TEST

/* No turn of the loop is without something to read. */
START_TEST(test_a_client_that_never_pauses_holds_up_nobody)
{
    start();
    int chatty = known_client();
    int patient = known_client();
    ask(patient, 1);
    send_text(chatty, "GET /2 HTTP/1.1\r\nX-Long: ");
    for (int i = 0; i < 1000 && handled_count == 0; i++) {
        send_text(chatty, "x");
        (void)event_base_loop(base, EVLOOP_ONCE);
    }
    ck_assert_uint_eq(handled_count, 1);
    (void)close(chatty);
    (void)close(patient);
    stop();
}
END_TEST

START_TEST(test_a_server_may_end_while_a_request_waits_to_be_handed_out)
{
    start();
    int client = known_client();
    ask(client, 1);
    (void)event_base_loop(base, EVLOOP_ONCE);
    ck_assert_uint_eq(hamid_http_server_busy(server), 1);
    ck_assert_uint_eq(handled_count, 0);
    stop();
    (void)close(client);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HTTP order");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(
        all, test_a_request_on_a_new_connection_is_not_overtaken_by_one_on_a_known_one);
    tcase_add_test(
        all, test_a_request_on_a_known_connection_is_not_overtaken_by_one_on_a_new_one);
    tcase_add_test(all,
                   test_a_burst_on_old_and_new_connections_is_handed_out_as_it_was_sent);
    tcase_add_test(all, test_a_request_counts_from_its_last_byte);
    tcase_add_test(all, test_a_client_that_never_pauses_holds_up_nobody);
    tcase_add_test(all, test_a_server_may_end_while_a_request_waits_to_be_handed_out);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
