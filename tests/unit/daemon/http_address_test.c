/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server's addresses: unix sockets, and what counts as the loopback.
 */
#include "http/server.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <event2/event.h>

#include "http_client.h"
#include "suite.h"

static struct event_base *base;
static struct hamid_http_server *server;
static struct hamid_http_peer peer;

static void hello(struct hamid_http_exchange *exchange, void *data)
{
    (void)data;
    ck_assert(hamid_http_peer(exchange, &peer));
    hamid_http_answer(exchange, 200, "text/plain", "hello", 5);
}

static const struct hamid_http_route routes[] = {{"GET", "/hello", hello, 0, false}};

static void start_default(void)
{
    struct hamid_http_config config = {.routes = routes, .route_count = 1};
    base = event_base_new();
    server = hamid_http_server_new(base, &config);
}

static void stop(void)
{
    server = hamid_http_server_free(server);
    event_base_free(base);
}

START_TEST(test_a_unix_socket_tells_who_calls_and_leaves_no_file)
{
    char directory[] = "/tmp/hamid-http-XXXXXX";
    char path[64];
    char error[256];
    struct stat status;
    struct http_client client;
    struct hamid_http_server *second = NULL;
    start_default();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/agent.sock", directory);
    ck_assert_int_eq(hamid_http_listen_unix(server, path, 0600, error, sizeof(error)), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    ck_assert_int_eq(status.st_mode & 0777, 0600);
    http_client_open(&client, base, path);
    http_client_send(&client, "GET /hello HTTP/1.1\r\n\r\n");
    ck_assert(http_client_until_text(&client, "200 OK"));
    ck_assert_int_eq(peer.pid, getpid());
    ck_assert_int_eq(peer.uid, getuid());
    http_client_close(&client);
    struct hamid_http_config config = {.routes = routes, .route_count = 1};
    second = hamid_http_server_new(base, &config);
    ck_assert_int_ne(hamid_http_listen_unix(second, path, 0600, error, sizeof(error)), 0);
    ck_assert_ptr_nonnull(strstr(error, "another process"));
    (void)hamid_http_server_free(second);
    stop();
    ck_assert_int_ne(stat(path, &status), 0);
    (void)rmdir(directory);
}
END_TEST

START_TEST(test_a_stale_socket_file_is_replaced_but_no_other_file)
{
    char directory[] = "/tmp/hamid-http-XXXXXX";
    char path[64];
    char error[256];
    struct sockaddr_un stale = {.sun_family = AF_UNIX};
    start_default();
    ck_assert_ptr_nonnull(mkdtemp(directory));
    (void)snprintf(path, sizeof(path), "%s/agent.sock", directory);
    (void)snprintf(stale.sun_path, sizeof(stale.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&stale, sizeof(stale)), 0);
    (void)close(fd);
    ck_assert_int_eq(hamid_http_listen_unix(server, path, 0600, error, sizeof(error)), 0);
    (void)snprintf(path, sizeof(path), "%s", directory);
    ck_assert_int_ne(hamid_http_listen_unix(server, path, 0600, error, sizeof(error)), 0);
    ck_assert_ptr_nonnull(strstr(error, "no socket"));
    stop();
    (void)rmdir(directory);
}
END_TEST

START_TEST(test_addresses_of_the_loopback)
{
    ck_assert(hamid_http_is_loopback("127.0.0.1:80"));
    ck_assert(hamid_http_is_loopback("localhost:80"));
    ck_assert(hamid_http_is_loopback("[::1]:80"));
    ck_assert(!hamid_http_is_loopback("0.0.0.0:80"));
    ck_assert(!hamid_http_is_loopback(":80"));
    ck_assert(!hamid_http_is_loopback("::1:80"));
    ck_assert(!hamid_http_is_loopback("127.0.0.1"));
    ck_assert(!hamid_http_is_loopback("127.0.0.1:port"));
}
END_TEST

START_TEST(test_a_port_beyond_the_last_one_is_no_address)
{
    ck_assert(hamid_http_is_loopback("127.0.0.1:65535"));
    ck_assert(!hamid_http_is_loopback("127.0.0.1:65536"));
    ck_assert(!hamid_http_is_loopback("localhost:99999"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("HTTP addresses");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_unix_socket_tells_who_calls_and_leaves_no_file);
    tcase_add_test(all, test_a_stale_socket_file_is_replaced_but_no_other_file);
    tcase_add_test(all, test_addresses_of_the_loopback);
    tcase_add_test(all, test_a_port_beyond_the_last_one_is_no_address);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
