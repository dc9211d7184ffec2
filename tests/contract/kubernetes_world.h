/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The contract suite's own hands on an API server: nodes and pods, past the transport. */
#ifndef CONTRACT_KUBERNETES_WORLD_H
#define CONTRACT_KUBERNETES_WORLD_H

#include "contract.h"

#include <hami/kubernetes.h>

#include <jansson.h>

#define WORLD_TRANSPORTS 16
#define WORLD_OWNERS 64
#define WORLD_SCHEDULER "contract-scheduler" /* of all pods: no real one takes them */

struct kubesim;

struct world_transport {
    hami_kubernetes *client;
    struct hami_transport *transport;
};

struct world {
    struct hami_kubernetes_config login;
    char texts[3][512]; /* what login borrows */
    hami_kubernetes *client;
    struct kubesim *sim; /* NULL = a real server */
    struct world_transport transports[WORLD_TRANSPORTS];
    char owners[WORLD_OWNERS][CONTRACT_NAME]; /* names of pods to be deleted */
    size_t owner_count;
    int unserved; /* socket of a port where nobody listens; -1 = none */
};

struct world *world_new(const struct hami_kubernetes_config *login);
/* Deletes the pods that were made. */
void world_free(struct world *world);

/* Status of the answer; the body (consumed: json) goes to ret, NULL = not wanted. */
int world_request(struct world *world, enum hami_kubernetes_method method,
                  const char *path, const char *content_type, json_t *json, json_t **ret);
/* Ends the program unless the status is one of these. */
void world_expect(int status, int first, int second, const char *what);
/* New text; NULL = absent. */
char *world_annotation_of(const json_t *object, const char *key);

void world_node_make(struct contract *contract, const char *node);
void world_node_delete(struct contract *contract, const char *node);
void world_put(struct contract *contract, const char *node, const char *key,
               const char *value);
char *world_get(struct contract *contract, const char *node, const char *key);
void world_owner_make(struct contract *contract, struct contract_owner *owner);
void world_owner_set(struct contract *contract, struct contract_owner *owner,
                     enum contract_state state);
bool world_owner_bind(struct contract *contract, const struct contract_owner *owner,
                      const char *node, const char *version);
char *world_owner_revoked(struct contract *contract, const struct contract_owner *owner);

#endif
