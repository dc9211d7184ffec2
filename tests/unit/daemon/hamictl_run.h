/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamictl as a whole: runs the program that the environment variable HAMICTL names, with
 * the login of a kubesim.
 */
#ifndef TESTS_DAEMON_HAMICTL_RUN_H
#define TESTS_DAEMON_HAMICTL_RUN_H

#include "running.h"

/* What the last run printed, both streams together. */
extern char hamictl_output[16384];

/* Runs "hamictl ARGUMENTS"; its exit status. @arguments as in printf(3) */
int hamictl_run(const struct running *running, const char *arguments, ...)
    __attribute__((format(printf, 2, 3)));

/* Runs it on a terminal of its own, where this line is typed. */
int hamictl_terminal(const struct running *running, const char *typed,
                     const char *arguments);

/* Asserts that the output has this text. */
void hamictl_expect(const char *text);

/* p0 holds n1 and is bound there, p1 waits. */
void hamictl_start_with_a_queue(struct running *running, struct http_client *clients);

/* The token of n1's lock, as the program prints it; borrowed until the next call. */
const char *hamictl_token(const struct running *running);

#endif
