/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch of the pods that are bound to one node: what a kubelet, and whoever passes the
 * node's lock on, learn by. Whatever fails here ends the program.
 */
#ifndef BENCH_FLOOR_WATCH_H
#define BENCH_FLOOR_WATCH_H

#include "floor_lines.h"

struct watch;

/* A pod was told of. Comes in a callback of libcurl: no request may be started from it. */
typedef void (*watch_saw_fn)(struct node *node, const char *pod, bool is_served);

/* Adds it to the multi handle and waits until it stands. Its handle's private pointer is
 * NULL. */
struct watch *watch_open(const struct login *login, CURLM *multi, const char *name,
                         watch_saw_fn saw, struct node *node);
/* Takes NULL. */
void watch_close(CURLM *multi, struct watch *watch);

#endif
