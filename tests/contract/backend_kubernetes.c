/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The contract suite for the node-annotation transport: on kubesim (argument "kubesim"),
 * or on the real API server that HAMI_TEST_KUBECONFIG names. Past the transport the suite
 * speaks plain Kubernetes (kubernetes_world.c); only the faults are kubesim's.
 */
#include "contract.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kubernetes_world.h"
#include "kubesim.h"

static const char *kubeconfig; /* of the real server */
static const char *const schedulers[] = {WORLD_SCHEDULER};

/* ---- which server ---- */

static int start_real(const char **ret_reason)
{
    kubeconfig = getenv("HAMI_TEST_KUBECONFIG");
    *ret_reason = "HAMI_TEST_KUBECONFIG names no API server (scripts/test-cluster does)";
    return kubeconfig && *kubeconfig ? 0 : CONTRACT_SKIP;
}

static void open_real(struct contract *contract)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    login.kubeconfig = kubeconfig;
    contract->data = world_new(&login);
}

static void open_kubesim(struct contract *contract)
{
    struct kubesim *sim = NULL;
    struct kubesim_options options = {0};
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    char ca[] = "/tmp/hami-contract-ca-XXXXXX";
    ck_assert_int_eq(kubesim_start(&options, &sim), 0);
    int fd = mkstemp(ca);
    const char *pem = kubesim_ca_pem(sim);
    ck_assert(fd >= 0 && write(fd, pem, strlen(pem)) == (ssize_t)strlen(pem));
    close(fd);
    login.server = kubesim_url(sim);
    login.token = kubesim_token(sim, "admin");
    login.ca_file = ca;
    struct world *world = world_new(&login);
    world->sim = sim;
    contract->data = world;
}

static void close_world(struct contract *contract)
{
    struct world *world = contract->data;
    struct kubesim *sim = world->sim;
    bool has_file = sim != NULL;
    if (has_file) {
        unlink(world->login.ca_file);
    }
    if (world->unserved >= 0) {
        close(world->unserved);
    }
    world_free(world);
    kubesim_free(sim);
}

/* ---- transports: each with a client of its own, as another process would have ---- */

static struct hami_transport *transport_with(struct world *world,
                                             const struct hami_kubernetes_config *login)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    struct world_transport *place = NULL;
    for (size_t i = 0; i < WORLD_TRANSPORTS && !place; i++) {
        place = world->transports[i].client ? NULL : &world->transports[i];
    }
    ck_assert_ptr_nonnull(place);
    config.scheduler_names = schedulers;
    config.scheduler_name_count = 1;
    ck_assert_msg(hami_kubernetes_new(login, &place->client, &error) == 0, "%s",
                  error.text);
    ck_assert_msg(hami_kubernetes_transport_new(place->client, &config, &place->transport,
                                                &error) == 0,
                  "%s", error.text);
    return place->transport;
}

static struct hami_transport *transport_new(struct contract *contract)
{
    struct world *world = contract->data;
    return transport_with(world, &world->login);
}

static struct hami_transport *transport_nowhere(struct contract *contract)
{
    struct world *world = contract->data;
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof(address);
    char server[64];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    world->unserved = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(world->unserved, (struct sockaddr *)&address, sizeof(address)),
                     0);
    ck_assert_int_eq(getsockname(world->unserved, (struct sockaddr *)&address, &size), 0);
    snprintf(server, sizeof(server), "https://127.0.0.1:%u", ntohs(address.sin_port));
    login.server = server;
    login.token = "none";
    return transport_with(world, &login);
}

static void transport_free(struct contract *contract, struct hami_transport *transport)
{
    struct world *world = contract->data;
    for (size_t i = 0; i < WORLD_TRANSPORTS; i++) {
        struct world_transport *place = &world->transports[i];
        if (place->transport == transport) {
            hami_kubernetes_transport_free(place->transport);
            hami_kubernetes_free(place->client);
            memset(place, 0, sizeof(*place));
        }
    }
}

/* ---- faults: of kubesim, for the next PATCH ---- */

static void arm(struct contract *contract, enum contract_fault fault)
{
    struct world *world = contract->data;
    struct kubesim_fault armed = {.match = {.verb = "patch"}, .count = 1};
    armed.action = fault == CONTRACT_LOSE_ANSWER    ? KUBESIM_DROP_AFTER
                   : fault == CONTRACT_LOSE_REQUEST ? KUBESIM_DROP_BEFORE
                                                    : KUBESIM_HANG_AFTER;
    ck_assert_int_gt(kubesim_arm(world->sim, &armed), 0);
}

#define KUBERNETES_COMMON                                                                \
    .has_abort = true, .close = close_world, .transport_new = transport_new,             \
    .transport_free = transport_free, .transport_nowhere = transport_nowhere,            \
    .node_make = world_node_make, .node_delete = world_node_delete, .put = world_put,    \
    .get = world_get, .owner_make = world_owner_make, .owner_set = world_owner_set,      \
    .owner_bind = world_owner_bind, .owner_revoked = world_owner_revoked

static const struct contract_backend on_kubesim = {
    .name = "node annotation on kubesim",
    .capabilities = CONTRACT_NODES | CONTRACT_OWNERS | CONTRACT_WATCH | CONTRACT_CLOCK |
                    CONTRACT_FAULTS,
    .open = open_kubesim,
    KUBERNETES_COMMON,
    .arm = arm,
};

static const struct contract_backend on_apiserver = {
    .name = "node annotation on a kube-apiserver",
    .capabilities = CONTRACT_NODES | CONTRACT_OWNERS | CONTRACT_WATCH | CONTRACT_CLOCK,
    .start = start_real,
    .open = open_real,
    KUBERNETES_COMMON,
};

int main(int count, char **arguments)
{
    bool simulated = count > 1 && strcmp(arguments[1], "kubesim") == 0;
    return contract_run(simulated ? &on_kubesim : &on_apiserver);
}
