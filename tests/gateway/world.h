/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the gateway's tests share: kubesim, a played kubelet, a played vendor's plugin,
 * and hamid node as a process between them.
 */
#ifndef TESTS_GATEWAY_WORLD_H
#define TESTS_GATEWAY_WORLD_H

#include <check.h>

#include "agent_world.h"
#include "played.h"

extern struct world world;
extern struct agent_process agent;
extern struct stage stage;
extern struct played_kubelet kubelet;
extern struct played_vendor vendor;

/* Everything runs, but nobody has registered. */
void set_up(void);
void tear_down(void);

/* The vendor registers, and the kubelet sees its 8 devices. */
void connect_vendor(void);

/* Starts hamid node --gateway; `extra` are more flags, NULL-terminated, or NULL. */
void start_hamid(const char *const *extra);

/* A line of /metrics, such as "hamid_node_swapped 1". */
void expect_metric(const char *line);

/* Writes to pods of anybody but the test, and to nodes, so far. */
unsigned pod_writes(void);

/* The whole of main(): ARGV has the path of hamid. */
int world_main(int argc, char **argv, const char *title, TCase *cases);

#endif
