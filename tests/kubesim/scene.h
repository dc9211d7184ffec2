/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What most of kubesim's own tests begin with: a server with the node "n1", a client of
 * it, and the end of both.
 */
#ifndef KUBESIM_SCENE_H
#define KUBESIM_SCENE_H

#include <check.h>

#include "peer.h"

#define NODE "/api/v1/nodes/n1"
#define NODES "/api/v1/nodes"
#define SET_A "{\"metadata\":{\"annotations\":{\"a\":\"1\"}}}"

extern struct kubesim *sim;
extern struct peer peer;
/* Of the users' patches in the scene of two users. */
extern const struct kubesim_match patches;

/* With the client as "admin". @options NULL = none */
void scene_start(const struct kubesim_options *options);
void scene_setup(void);
void scene_teardown(void);
void scene_restart(const struct kubesim_options *options);

/* The users "u" and "v", the client as "u". */
void scene_setup_users(void);

/* Loop index 0 is HTTP/2, 1 is HTTP/1.1. */
bool choose(int index);

/* Sets n1's annotation "a". */
void annotate(int value);

/* Sets it to 1 by a merge patch of the client. */
struct reply patch(void);

/* Patch, and expect CODE (0: no whole answer), the write applied or not, and COUNT
 * deliveries. */
void expect_patch(long code, bool applied, unsigned count);

/* Runs it as a suite of that name; the exit status. */
int scene_run(const char *name, TCase *test_case);

#endif
