/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract suite for the node-annotation transport: on kubesim (argument "kubesim"),
 * or on the real API server that HAMI_TEST_KUBECONFIG names. Past the transport the suite
 * speaks plain Kubernetes (kubernetes_world.c); only the faults are kubesim's.
 */
#include "kubernetes_backend.h"

#include <string.h>

static const char *const schedulers[] = {WORLD_SCHEDULER};

int kubernetes_make(hami_kubernetes *client, struct hami_transport **ret,
                    struct hami_error *reterr)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    config.scheduler_names = schedulers;
    config.scheduler_name_count = 1;
    return hami_kubernetes_transport_new(client, &config, ret, reterr);
}

#define ON_NODES                                                                         \
    KUBERNETES_COMMON, .node_delete = world_node_delete, .put = world_put,               \
                       .get = world_get

static const struct contract_backend on_kubesim = {
    .name = "node annotation on kubesim",
    .capabilities = KUBERNETES_CAPABILITIES | CONTRACT_FAULTS,
    .open = kubernetes_open_kubesim,
    ON_NODES,
    .arm = kubernetes_arm,
};

static const struct contract_backend on_apiserver = {
    .name = "node annotation on a kube-apiserver",
    .capabilities = KUBERNETES_CAPABILITIES,
    .start = kubernetes_start_real,
    .open = kubernetes_open_real,
    ON_NODES,
};

int main(int count, char **arguments)
{
    bool simulated = count > 1 && strcmp(arguments[1], "kubesim") == 0;
    return contract_run(simulated ? &on_kubesim : &on_apiserver);
}
