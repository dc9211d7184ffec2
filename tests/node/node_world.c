/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The world of the node side's tests. */
#include "node_world.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 30000

static void remove_file(const char *folder, const char *name)
{
    char path[160];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
}

void world_start(struct world *world)
{
    struct kubesim_options options = {0};
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;

    memset(world, 0, sizeof(*world));
    strcpy(world->folder, "/tmp/hami-node-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(world->folder));
    snprintf(world->kubeconfig, sizeof(world->kubeconfig), "%s/kubeconfig",
             world->folder);
    ck_assert_int_eq(kubesim_start(&options, &world->sim), 0);
    ck_assert_int_eq(kubesim_write_files(world->sim, world->folder), 0);
    ck_assert_int_eq(kubesim_request(world->sim, "POST", "/api/v1/namespaces",
                                     "application/json",
                                     "{\"metadata\":{\"name\":\"ns\"}}", NULL),
                     201);
    ck_assert_int_eq(kubesim_create_node(world->sim, "n1", WORLD_GPU, 8), 201);
    config.kubeconfig = world->kubeconfig;
    ck_assert_msg(hami_kubernetes_new(&config, &world->client, &error) == 0, "%s",
                  error.text);
}

void world_stop(struct world *world)
{
    hami_kubernetes_free(world->client);
    kubesim_free(world->sim);
    remove_file(world->folder, "kubeconfig");
    remove_file(world->folder, "kubeconfig-admin");
    remove_file(world->folder, "kubeconfig-certificate");
    remove_file(world->folder, "ready");
    rmdir(world->folder);
}

hami_handshake *world_handshake(struct world *world, uint32_t flags)
{
    struct hami_handshake_config config = HAMI_HANDSHAKE_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_handshake *handshake = NULL;

    config.node = "n1";
    config.flags = flags;
    ck_assert_msg(hami_handshake_new(world->client, &config, &handshake, &error) == 0,
                  "%s", error.text);
    return handshake;
}

void world_pod(struct world *world, const char *name, const unsigned *asks,
               const char *devices)
{
    json_t *containers = json_array();
    json_t *pod;
    char *body;

    for (size_t i = 0; asks[i] != 0; i++) {
        char container[32], count[16];

        snprintf(container, sizeof(container), "c%zu", i);
        snprintf(count, sizeof(count), "%u", asks[i]);
        json_array_append_new(containers, json_pack("{s:s, s:s, s:{s:{s:s}}}", "name",
                                                    container, "image", "x", "resources",
                                                    "limits", WORLD_GPU, count));
    }
    pod = json_pack("{s:s, s:s, s:{s:s, s:{s:s, s:s, s:s, s:s}}, s:{s:o}}", "apiVersion",
                    "v1", "kind", "Pod", "metadata", "name", name, "annotations",
                    WORLD_GPU_KEY, devices, HAMI_HANDSHAKE_PHASE_KEY, "allocating",
                    HAMI_HANDSHAKE_FENCE_KEY, "7", HAMI_HANDSHAKE_NODE_KEY, "n1", "spec",
                    "containers", containers);
    body = json_dumps(pod, JSON_COMPACT);
    ck_assert_int_eq(kubesim_request(world->sim, "POST", "/api/v1/namespaces/ns/pods",
                                     "application/json", body, NULL),
                     201);
    ck_assert_int_eq(kubesim_bind(world->sim, "ns", name, "n1"), 201);
    free(body);
    json_decref(pod);
}

void world_simple_pod(struct world *world, const char *name)
{
    static const unsigned one[] = {1, 0};
    char devices[64];

    snprintf(devices, sizeof(devices), "GPU-%s,NVIDIA,1000,10:;", name);
    world_pod(world, name, one, devices);
}

char *world_uid(struct world *world, const char *name)
{
    char *uid = kubesim_text(world->sim, "pods", "ns", name, "/metadata/uid");

    ck_assert_ptr_nonnull(uid);
    return uid;
}

char *world_lease_text(const char *lock, const char *uid, const char *fence)
{
    char *text;

    ck_assert_int_gt(
        asprintf(&text,
                 "{\"version\":1,\"lock\":\"%s\",\"uid\":\"%s\",\"fence\":\"%s\","
                 "\"holder\":\"h_1\",\"attempt\":\"1\",\"hold_ms\":15000,"
                 "\"free\":\"node\"}",
                 lock, uid, fence),
        0);
    return text;
}

void world_pair(struct world *world, const char *lock, const char *lease)
{
    ck_assert_int_eq(
        kubesim_set_annotation(world->sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY, lock),
        200);
    ck_assert_int_eq(kubesim_set_annotation(world->sim, "nodes", NULL, "n1",
                                            HAMI_NODELOCK_LEASE_KEY, lease),
                     200);
}

void world_lock(struct world *world, const char *pod)
{
    char lock[320];
    char *uid = world_uid(world, pod);
    char *lease;

    snprintf(lock, sizeof(lock), WORLD_TIME ",ns,%s", pod);
    lease = world_lease_text(lock, uid, "7");
    world_pair(world, lock, lease);
    free(lease);
    free(uid);
}

static void expect(const char *what, const char *key, char *value, const char *expected)
{
    bool is_same = (value == NULL && expected == NULL) ||
                   (value != NULL && expected != NULL && strcmp(value, expected) == 0);

    ck_assert_msg(is_same, "%s: %s is %s, not %s", what, key, value ? value : "(absent)",
                  expected ? expected : "(absent)");
    free(value);
}

void world_expect_node(struct world *world, const char *key, const char *value)
{
    expect("n1", key, kubesim_annotation(world->sim, "nodes", NULL, "n1", key), value);
}

void world_expect_pod(struct world *world, const char *pod, const char *key,
                      const char *value)
{
    expect(pod, key, kubesim_annotation(world->sim, "pods", "ns", pod, key), value);
}

/* "/metadata/annotations/KEY", escaped. */
static void pointer_of(const char *key, char *pointer, size_t size)
{
    size_t length = (size_t)snprintf(pointer, size, "/metadata/annotations/");

    for (; *key != '\0'; key++) {
        length += (size_t)snprintf(pointer + length, size - length,
                                   *key == '/' ? "~1" : "%c", *key);
    }
}

void world_wait_node(struct world *world, const char *key, const char *value)
{
    char pointer[400];

    pointer_of(key, pointer, sizeof(pointer));
    ck_assert_msg(
        kubesim_wait_text(world->sim, "nodes", NULL, "n1", pointer, value, WAIT_MS),
        "n1: %s did not become %s", key, value ? value : "(absent)");
}

void world_wait_pod(struct world *world, const char *pod, const char *key,
                    const char *value)
{
    char pointer[400];

    pointer_of(key, pointer, sizeof(pointer));
    ck_assert_msg(
        kubesim_wait_text(world->sim, "pods", "ns", pod, pointer, value, WAIT_MS),
        "%s: %s did not become %s", pod, key, value ? value : "(absent)");
}

static unsigned count(struct world *world, const char *verb)
{
    struct kubesim_match match = {.verb = verb, .user = "admin"};

    return kubesim_count(world->sim, &match);
}

unsigned world_reads(struct world *world)
{
    return count(world, "get") + count(world, "list");
}

unsigned world_writes(struct world *world)
{
    return count(world, "patch") + count(world, "update") + count(world, "create") +
           count(world, "delete");
}
