/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the agent's test programs share: a world with an agent, and a device plugin's
 * requests in short.
 */
#ifndef TESTS_NODE_AGENT_FIXTURE_H
#define TESTS_NODE_AGENT_FIXTURE_H

#include <check.h>

#include "agent_world.h"

#define ASK "{\"resource\":\"nvidia.com/gpu\",\"containers\":[[\"d-0\"]]}"

extern struct world world;
extern struct agent_process agent;

void set_up(void);
void tear_down(void);

/* Asks for one device, and fills in the id. */
struct reply ask(char *id, size_t size);
/* Says done or failed. */
struct reply end(const char *id, const char *verb, const char *body);

/* The whole of main(): ARGV has the paths of hamid and of the stand-in kubelet. */
int agent_main(int argc, char **argv, const char *title, TCase *cases);

#endif
