/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract suite for the Lease transport. Arguments: "kubesim", else the API server
 * that HAMI_TEST_KUBECONFIG names; "mirror": with the lock mirrored to the Node.
 *
 * Past the transport a Lease is what a foreign writer makes of it. With a mirror such a
 * writer keeps both objects in step, as one does that follows the rules; one that writes
 * the Node alone has tests of its own (tests/unit/kubernetes_lease_mirror.c).
 */
#include "kubernetes_backend.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE "contract-leases"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/" NAMESPACE "/leases"
#define MERGE "application/merge-patch+json"

static const char *const schedulers[] = {WORLD_SCHEDULER};
static bool mirrored;

int kubernetes_make(hami_kubernetes *client, struct hami_transport **ret,
                    struct hami_error *reterr)
{
    struct hami_kubernetes_lease_transport_config config =
        HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
    config.flags = mirrored ? HAMI_KUBERNETES_LEASE_MIRROR : 0;
    config.namespace_name = NAMESPACE;
    config.scheduler_names = schedulers;
    config.scheduler_name_count = 1;
    return hami_kubernetes_lease_transport_new(client, &config, ret, reterr);
}

static void make_namespace(struct contract *contract)
{
    json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "kind", "Namespace", "apiVersion",
                             "v1", "metadata", "name", NAMESPACE);
    world_expect(world_request(contract->data, HAMI_KUBERNETES_POST, "/api/v1/namespaces",
                               NULL, body, NULL),
                 201, 409, "a namespace");
}

static void open_kubesim(struct contract *contract)
{
    kubernetes_open_kubesim(contract);
    make_namespace(contract);
}

static void open_real(struct contract *contract)
{
    kubernetes_open_real(contract);
    make_namespace(contract);
}

/* The garbage collector follows the Node's deletion; here it has done so at once. */
static void node_delete(struct contract *contract, const char *node)
{
    char path[512];
    world_node_delete(contract, node);
    snprintf(path, sizeof(path), LEASES "/%s", node);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_DELETE, path, NULL, NULL, NULL),
        200, 404, "the deletion of a Lease");
}

/* A Lease as the first take makes it, but with a value. Status. */
static int make_lease(struct contract *contract, const char *node, const char *key,
                      const char *value)
{
    char path[512];
    json_t *object = NULL;
    snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_GET, path, NULL, NULL, &object),
        200, 200, "a look at a node");
    const char *uid =
        json_string_value(json_object_get(json_object_get(object, "metadata"), "uid"));
    json_t *lease =
        json_pack("{s:s, s:s, s:{s:s, s:{s:s}, s:[{s:s, s:s, s:s, s:s}]}, s:{}}", "kind",
                  "Lease", "apiVersion", "coordination.k8s.io/v1", "metadata", "name",
                  node, "annotations", key, value, "ownerReferences", "apiVersion", "v1",
                  "kind", "Node", "name", node, "uid", uid, "spec");
    json_decref(object);
    return world_request(contract->data, HAMI_KUBERNETES_POST, LEASES, NULL, lease, NULL);
}

static void put_lease(struct contract *contract, const char *node, const char *key,
                      const char *value)
{
    char path[512];
    snprintf(path, sizeof(path), LEASES "/%s", node);
    for (;;) {
        json_t *body = json_pack("{s:{s:{s:s?}}}", "metadata", "annotations", key, value);
        int status =
            world_request(contract->data, HAMI_KUBERNETES_PATCH, path, MERGE, body, NULL);
        world_expect(status, 200, 404, "a foreign writer's patch");
        if (status == 200 || !value) {
            return;
        }
        status = make_lease(contract, node, key, value);
        world_expect(status, 201, 409, "a Lease");
        if (status == 201) {
            return;
        }
    }
}

static void put(struct contract *contract, const char *node, const char *key,
                const char *value)
{
    bool both = mirrored && (strcmp(key, HAMI_NODELOCK_KEY) == 0 ||
                             strcmp(key, HAMI_NODELOCK_LEASE_KEY) == 0);
    if (both && !value) {
        world_put(contract, node, key, value);
    }
    put_lease(contract, node, key, value);
    if (both && value) {
        world_put(contract, node, key, value);
    }
}

static char *get(struct contract *contract, const char *node, const char *key)
{
    char path[512];
    json_t *object = NULL;
    snprintf(path, sizeof(path), LEASES "/%s", node);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_GET, path, NULL, NULL, &object),
        200, 404, "a look at a Lease");
    char *value = world_annotation_of(object, key);
    json_decref(object);
    return value;
}

#define ON_LEASES KUBERNETES_COMMON, .node_delete = node_delete, .put = put, .get = get

static const struct contract_backend on_kubesim = {
    .name = "Lease on kubesim",
    .capabilities = KUBERNETES_CAPABILITIES | CONTRACT_FAULTS,
    .open = open_kubesim,
    ON_LEASES,
    .arm = kubernetes_arm,
};

static const struct contract_backend on_apiserver = {
    .name = "Lease on a kube-apiserver",
    .capabilities = KUBERNETES_CAPABILITIES,
    .start = kubernetes_start_real,
    .open = open_real,
    ON_LEASES,
};

int main(int count, char **arguments)
{
    bool simulated = false;
    for (int i = 1; i < count; i++) {
        simulated = simulated || strcmp(arguments[i], "kubesim") == 0;
        mirrored = mirrored || strcmp(arguments[i], "mirror") == 0;
    }
    return contract_run(simulated ? &on_kubesim : &on_apiserver);
}
