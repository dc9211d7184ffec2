/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of the sockets that a service manager passed is whose. They have fixed numbers,
 * so each question is asked in a process of its own.
 */
#include "sockets.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define NONE 250
#define WRONG 251
#define UNPREPARED 252

enum kind { LISTENING = 0, NOT_LISTENING, DATAGRAM };

static int make_socket(enum kind kind)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, kind == DATAGRAM ? SOCK_DGRAM : SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        (kind == LISTENING && listen(fd, 1) != 0)) {
        _exit(UNPREPARED);
    }
    return fd;
}

/* What the process answers: the descriptor, NONE or WRONG. */
static int ask(const char *name, size_t index)
{
    char error[256];
    int fd = hamid_socket_passed(name, index, error, sizeof(error));
    if (fd < 0) {
        return fd == -1 ? NONE : WRONG;
    }
    bool is_set =
        (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0 && (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
    return is_set ? fd : UNPREPARED;
}

/* Two sockets are passed, the first of that kind. @pid 0 = to this very process */
static int answer(const char *names, enum kind first, int pid, const char *name,
                  size_t index)
{
    char text[24];
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        int ends[2] = {make_socket(first), make_socket(LISTENING)};
        int apart[2] = {fcntl(ends[0], F_DUPFD, 10), fcntl(ends[1], F_DUPFD, 10)};
        (void)dup2(apart[0], 3);
        (void)dup2(apart[1], 4);
        (void)snprintf(text, sizeof(text), "%d", pid != 0 ? pid : getpid());
        (void)setenv("LISTEN_PID", text, 1);
        (void)setenv("LISTEN_FDS", "2", 1);
        (void)(names != NULL ? setenv("LISTEN_FDNAMES", names, 1)
                             : unsetenv("LISTEN_FDNAMES"));
        _exit(ask(name, index));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(test_without_names_that_are_known_the_order_counts)
{
    static const char *const names[] = {NULL, "hamid.socket:hamid.socket", "extenders:x"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ck_assert_int_eq(answer(names[i], LISTENING, 0, "extender", 0), 3);
        ck_assert_int_eq(answer(names[i], LISTENING, 0, "metrics", 1), 4);
        ck_assert_int_eq(answer(names[i], LISTENING, 0, "metrics", 2), NONE);
    }
}
END_TEST

START_TEST(test_a_name_counts_more_than_the_order)
{
    ck_assert_int_eq(answer("metrics:extender", LISTENING, 0, "extender", 0), 4);
    ck_assert_int_eq(answer("metrics:extender", LISTENING, 0, "metrics", 1), 3);
    ck_assert_int_eq(answer("other:metrics", LISTENING, 0, "extender", 0), NONE);
    ck_assert_int_eq(answer("other:metrics", LISTENING, 0, "metrics", 1), 4);
}
END_TEST

START_TEST(test_what_is_passed_to_another_process_is_left_alone)
{
    ck_assert_int_eq(answer(NULL, LISTENING, 1, "extender", 0), NONE);
}
END_TEST

START_TEST(test_only_a_tcp_socket_that_listens_is_taken)
{
    ck_assert_int_eq(answer(NULL, NOT_LISTENING, 0, "extender", 0), WRONG);
    ck_assert_int_eq(answer(NULL, DATAGRAM, 0, "extender", 0), WRONG);
}
END_TEST

START_TEST(test_a_second_socket_of_a_name_is_not_left_without_anybody_who_accepts)
{
    ck_assert_int_eq(answer("extender:extender", LISTENING, 0, "extender", 0), WRONG);
    ck_assert_int_eq(answer("metrics:metrics", LISTENING, 0, "metrics", 1), WRONG);
    ck_assert_int_eq(answer("metrics:metrics", LISTENING, 0, "extender", 0), NONE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("passed sockets");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_without_names_that_are_known_the_order_counts);
    tcase_add_test(all, test_a_name_counts_more_than_the_order);
    tcase_add_test(all, test_what_is_passed_to_another_process_is_left_alone);
    tcase_add_test(all, test_only_a_tcp_socket_that_listens_is_taken);
    tcase_add_test(
        all, test_a_second_socket_of_a_name_is_not_left_without_anybody_who_accepts);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
