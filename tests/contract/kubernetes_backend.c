/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backends on an API server share: which server, transports with a client of
 * their own each, and kubesim's faults.
 */
#include "kubernetes_backend.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kubesim.h"

static const char *kubeconfig; /* of the real server */

/* ---- which server ---- */

int kubernetes_start_real(const char **ret_reason)
{
    kubeconfig = getenv("HAMI_TEST_KUBECONFIG");
    *ret_reason = "HAMI_TEST_KUBECONFIG names no API server (scripts/test-cluster does)";
    return kubeconfig && *kubeconfig ? 0 : CONTRACT_SKIP;
}

void kubernetes_open_real(struct contract *contract)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    login.kubeconfig = kubeconfig;
    contract->data = world_new(&login);
}

void kubernetes_open_kubesim(struct contract *contract)
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

void kubernetes_close(struct contract *contract)
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
    struct hami_error error = HAMI_ERROR_INIT;
    struct world_transport *place = NULL;
    for (size_t i = 0; i < WORLD_TRANSPORTS && !place; i++) {
        place = world->transports[i].client ? NULL : &world->transports[i];
    }
    ck_assert_ptr_nonnull(place);
    ck_assert_msg(hami_kubernetes_new(login, &place->client, &error) == 0, "%s",
                  error.text);
    ck_assert_msg(kubernetes_make(place->client, &place->transport, &error) == 0, "%s",
                  error.text);
    return place->transport;
}

struct hami_transport *kubernetes_transport_new(struct contract *contract)
{
    struct world *world = contract->data;
    return transport_with(world, &world->login);
}

struct hami_transport *kubernetes_transport_nowhere(struct contract *contract)
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

void kubernetes_transport_free(struct contract *contract,
                               struct hami_transport *transport)
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

void kubernetes_arm(struct contract *contract, enum contract_fault fault)
{
    struct world *world = contract->data;
    struct kubesim_fault armed = {.match = {.verb = "patch"}, .count = 1};
    armed.action = fault == CONTRACT_LOSE_ANSWER    ? KUBESIM_DROP_AFTER
                   : fault == CONTRACT_LOSE_REQUEST ? KUBESIM_DROP_BEFORE
                                                    : KUBESIM_HANG_AFTER;
    ck_assert_int_gt(kubesim_arm(world->sim, &armed), 0);
}
