/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's texts: what plugins send, and what they are answered. Pure.
 */
#ifndef HAMID_NODE_AGENT_JSON_H
#define HAMID_NODE_AGENT_JSON_H

#include <hami/kubernetes.h>

#include <jansson.h>

#define AGENT_CONTAINERS_MAX 64
#define AGENT_IDS_MAX 8192 /* ids of one request, all containers together */

/* A request for an allocation. Zero = empty; texts are borrowed from `root`. */
struct agent_ask {
    json_t *root;
    const char *resource;
    struct hami_handshake_container containers[AGENT_CONTAINERS_MAX];
    const char **ids;
    size_t count;
};

/* Reads {"resource":"..","containers":[["id",..],..]}. False with a line in problem. */
bool agent_ask_read(const char *text, size_t length, struct agent_ask *ret, char *problem,
                    size_t size);
void agent_ask_done(struct agent_ask *ask);

/* A question before a start. Zero = empty; texts are borrowed from `root`. */
struct agent_start {
    json_t *root;
    const char *resource;
    const char **ids;
    size_t count;
};

/* Reads {"resource":"..","ids":["..",..]}. False with a line in problem. */
bool agent_start_read(const char *text, size_t length, struct agent_start *ret,
                      char *problem, size_t size);
void agent_start_done(struct agent_start *start);

/* Reads {} or {"reason":".."}, or an empty body. The reason comes out as one line. */
bool agent_reason_read(const char *text, size_t length, char *reason, size_t reason_size,
                       char *problem, size_t size);

/* The answer to a request that is served; NULL without memory. */
json_t *agent_allocation_json(const char *id, const hami_handshake_job *job);

#endif
