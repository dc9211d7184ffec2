/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The two backends: a store in memory, and an API server found by KUBECONFIG. */
#include "consumer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HAMI_CONSUMER_PODS: a line "NAME<tab>UID" for each pod. */
static int read_pods(struct world *world)
{
    const char *path = getenv("HAMI_CONSUMER_PODS");
    FILE *file = path ? fopen(path, "r") : NULL;

    if (!file) {
        return -1;
    }
    while (world->pod_count < PODS_MAX) {
        struct pod *pod = &world->pods[world->pod_count];
        if (fscanf(file, "%15s %63s", pod->name, pod->uid) != 2) {
            break;
        }
        world->pod_count++;
    }
    (void)fclose(file);
    return world->pod_count > 0 ? 0 : -1;
}

static int open_memory(struct world *world)
{
    int code = hami_memory_new(HAMI_MEMORY_OWNERS, &world->store);

    for (size_t i = 0; code == 0 && i < world->pod_count; i++) {
        struct hami_owner owner = {"default", world->pods[i].name, world->pods[i].uid};
        struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
        facts.known = true;
        facts.exists = true;
        facts.uid = world->pods[i].uid;
        code = hami_memory_put_owner(world->store, &owner, &facts);
    }
    world->transport = hami_memory_transport(world->store);
    return code;
}

static int open_kubesim(struct world *world)
{
    struct hami_kubernetes_config login = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    int code = hami_kubernetes_config_from_environment(&login);

    if (code == 0) {
        code = hami_kubernetes_new(&login, &world->client, &error);
    }
    if (code == 0) {
        code =
            hami_kubernetes_transport_new(world->client, NULL, &world->transport, &error);
    }
    if (code != 0) {
        printf("# %s: %s\n", hami_errname(code), error.text);
    }
    return code;
}

int world_open(struct world *world, const char *backend)
{
    world->kubesim = strcmp(backend, "kubesim") == 0;
    if ((!world->kubesim && strcmp(backend, "memory") != 0) || read_pods(world) != 0) {
        return -1;
    }
    return world->kubesim ? open_kubesim(world) : open_memory(world);
}

void world_close(struct world *world)
{
    if (world->kubesim) {
        hami_kubernetes_transport_free(world->transport);
        hami_kubernetes_free(world->client);
    } else {
        hami_memory_free(world->store);
    }
}

const char *world_node(struct world *world)
{
    static char names[NODES_MAX][16];
    size_t index = world->nodes_used++;

    if (index >= NODES_MAX) {
        abort();
    }
    (void)snprintf(names[index], sizeof(names[index]), "node-%u", (unsigned)index);
    return names[index];
}

const struct pod *world_pod(struct world *world)
{
    if (world->pods_used >= world->pod_count) {
        abort();
    }
    return &world->pods[world->pods_used++];
}

struct seen {
    char *buffer;
    size_t size;
    bool there;
};

static void receive(void *data, const struct hami_transport_result *result)
{
    struct seen *seen = (struct seen *)data;

    seen->there = result->code == 0 && result->values && result->values[0] != NULL;
    if (seen->there) {
        (void)snprintf(seen->buffer, seen->size, "%s", result->values[0]);
    }
}

bool world_value(struct world *world, const char *node, char *buffer, size_t size)
{
    struct hami_transport_edit edit = {HAMI_EDIT_READ, HAMI_NODELOCK_KEY, NULL, NULL};
    struct seen seen = {buffer, size, false};
    int code = hami_transport_call(world->transport, node, &edit, 1, NULL, PATIENCE_MS,
                                   receive, &seen);

    CHECK(code == 0 || code == HAMI_E_NODE);
    return seen.there;
}

bool world_is_locked(struct world *world, const char *node)
{
    char value[512];

    return world_value(world, node, value, sizeof(value));
}

void world_remove(struct world *world, const char *node)
{
    char value[512];
    struct hami_transport_edit edit = {HAMI_EDIT_PUT, HAMI_NODELOCK_KEY, value, NULL};

    CHECK(world_value(world, node, value, sizeof(value)));
    CHECK_CODE(hami_transport_call(world->transport, node, &edit, 1, NULL, PATIENCE_MS,
                                   NULL, NULL),
               0);
}

int world_bind(struct world *world, const hami_lease *lease)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    if (world->kubesim) {
        return hami_kubernetes_bind(world->client, lease,
                                    hami_kubernetes_in_ms(PATIENCE_MS), NULL);
    }
    int code = hami_lease_facts(lease, &view);
    return code != 0 ? code
                     : hami_memory_bind_owner(world->store, &view.owner, view.node,
                                              view.owner_version);
}
