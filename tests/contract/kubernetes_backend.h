/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a contract_backend on kubesim, or on the API server that HAMI_TEST_KUBECONFIG
 * names. contract->data is a struct world.
 */
#ifndef CONTRACT_KUBERNETES_BACKEND_H
#define CONTRACT_KUBERNETES_BACKEND_H

#include "kubernetes_world.h"

/* Defined by each program: makes a transport of its kind. Returns as the library does. */
int kubernetes_make(hami_kubernetes *client, struct hami_transport **ret,
                    struct hami_error *reterr);

int kubernetes_start_real(const char **ret_reason);
void kubernetes_open_real(struct contract *contract);
void kubernetes_open_kubesim(struct contract *contract);
void kubernetes_close(struct contract *contract);
struct hami_transport *kubernetes_transport_new(struct contract *contract);
struct hami_transport *kubernetes_transport_nowhere(struct contract *contract);
void kubernetes_transport_free(struct contract *contract,
                               struct hami_transport *transport);
void kubernetes_arm(struct contract *contract, enum contract_fault fault);

/* What an API server has beyond the edits; kubesim has faults, too. */
#define KUBERNETES_CAPABILITIES                                                          \
    (CONTRACT_NODES | CONTRACT_OWNERS | CONTRACT_WATCH | CONTRACT_CLOCK)

#define KUBERNETES_COMMON                                                                \
    .has_abort = true, .close = kubernetes_close,                                        \
    .transport_new = kubernetes_transport_new,                                           \
    .transport_free = kubernetes_transport_free,                                         \
    .transport_nowhere = kubernetes_transport_nowhere, .node_make = world_node_make,     \
    .owner_make = world_owner_make, .owner_set = world_owner_set,                        \
    .owner_bind = world_owner_bind, .owner_revoked = world_owner_revoked

#endif
