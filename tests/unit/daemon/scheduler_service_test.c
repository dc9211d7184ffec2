/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler under a service manager: what it tells it, and the sockets that it
 * takes over from it.
 */
#include "running.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "suite.h"

#define PATIENCE_MS 30000
#define GRACE_S 30 /* what Kubernetes gives a pod by default */

static struct running running;
static struct http_client clients[4];
static char notify_path[64];
static int notify_fd;

static void open_notify(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(notify_path, sizeof(notify_path), "/tmp/hamid-notify-%d", getpid());
    (void)unlink(notify_path);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", notify_path);
    notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(notify_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(setenv("NOTIFY_SOCKET", notify_path, 1), 0);
}

static void close_notify(void)
{
    (void)close(notify_fd);
    (void)unlink(notify_path);
    (void)unsetenv("NOTIFY_SOCKET");
}

/* The next thing that was told begins so. */
static void assert_told(const char *state)
{
    char text[256];
    struct pollfd one = {.fd = notify_fd, .events = POLLIN};
    ck_assert_msg(poll(&one, 1, PATIENCE_MS) == 1, "%s was not told", state);
    ssize_t length = recv(notify_fd, text, sizeof(text) - 1, 0);
    ck_assert_int_gt(length, 0);
    text[length] = '\0';
    ck_assert_msg(strncmp(text, state, strlen(state)) == 0, "%s instead of %s", text,
                  state);
}

static bool is_anything_told(void)
{
    struct pollfd one = {.fd = notify_fd, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

/* A socket that listens on a loopback port; its address as "127.0.0.1:PORT". */
static int listening_socket(char *text, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(listen(fd, 16), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(text, size, "127.0.0.1:%u", ntohs(address.sin_port));
    return fd;
}

START_TEST(test_ready_is_told_when_a_bind_can_be_served_and_stopping_at_once)
{
    struct kubesim_fault slow = {
        .match = {.verb = "create", .resource = "pods", .subresource = "binding"},
        .delay_before_ms = 300};
    open_notify();
    running_start(&running, NULL);
    assert_told("READY=1\n");
    running_pods(&running, "p", 2);
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "p1", "n1");
    ck_assert(running_until(&running, "/metrics", "hamid_lock_waiters 1\n"));
    running_pods(&running, "q", 1);
    (void)kubesim_arm(running.sim, &slow);
    running_bind(&running, &clients[2], "q0", "n2");
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    (void)event_base_loop(running.base, EVLOOP_ONCE);
    ck_assert(kubesim_wait_count(running.sim, &slow.match, 2, PATIENCE_MS));
    http_client_open(&clients[3], running.base, running.address);
    http_client_send(&clients[3], "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert(http_client_until_text(&clients[3], "200 OK"));
    ck_assert(!is_anything_told());
    double started = running_seconds();
    (void)kill(running.pid, SIGTERM);
    assert_told("STOPPING=1\n");
    /* The one that waits is told to ask again; the one that is posted comes to its end.
     */
    ck_assert_ptr_nonnull(strstr(running_error(&clients[1]), "shutting down"));
    http_client_clear(&clients[3]);
    http_client_send(&clients[3], "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert(http_client_until_text(&clients[3], "503 "));
    ck_assert_str_eq(running_error(&clients[2]), "");
    ck_assert_int_eq(running_end(&running, 0), 0);
    ck_assert(running_seconds() - started < GRACE_S);
    running_release(&running, "n1", "p0");
    running_release(&running, "n2", "q0");
    running_close(clients, 4);
    running_stop(&running);
    close_notify();
}
END_TEST

START_TEST(test_a_reload_is_told_from_its_begin_to_its_end)
{
    open_notify();
    running_start(&running, NULL);
    assert_told("READY=1");
    ck_assert_int_eq(kill(running.pid, SIGHUP), 0);
    assert_told("RELOADING=1\nMONOTONIC_USEC=");
    assert_told("READY=1");
    running_still_binds(&running);
    running_stop(&running);
    close_notify();
}
END_TEST

START_TEST(test_a_passed_socket_is_served_with_what_came_before)
{
    char address[64];
    int fd = listening_socket(address, sizeof(address));
    struct event_base *early_base = event_base_new();
    http_client_open(&clients[0], early_base, address);
    http_client_send(&clients[0], "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
    (void)event_base_loop(early_base, EVLOOP_NONBLOCK);
    running_pass_socket(fd);
    running_start(&running, NULL);
    ck_assert_str_eq(running.address, address);
    ck_assert(http_client_until_text(&clients[0], "200 OK"));
    running_pods(&running, "p", 1);
    running_bind(&running, &clients[1], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p0");
    running_close(clients, 2);
    event_base_free(early_base);
    (void)close(fd);
    running_stop(&running);
}
END_TEST

START_TEST(test_a_restart_on_a_passed_socket_refuses_no_connection)
{
    char address[64];
    int fd = listening_socket(address, sizeof(address));
    running_pass_socket(fd);
    running_start(&running, NULL);
    ck_assert_int_eq(running_end(&running, SIGTERM), 0);
    running_pods(&running, "p", 1);
    running_bind(&running, &clients[0], "p0", "n1"); /* nobody is there to accept it */
    (void)event_base_loop(running.base, EVLOOP_NONBLOCK);
    running_pass_socket(fd);
    running_start_hamid(&running, NULL);
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_release(&running, "n1", "p0");
    running_close(clients, 1);
    (void)close(fd);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler as a service");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all,
                   test_ready_is_told_when_a_bind_can_be_served_and_stopping_at_once);
    tcase_add_test(all, test_a_reload_is_told_from_its_begin_to_its_end);
    tcase_add_test(all, test_a_passed_socket_is_served_with_what_came_before);
    tcase_add_test(all, test_a_restart_on_a_passed_socket_refuses_no_connection);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
