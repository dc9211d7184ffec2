/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See kubernetes_world.h. Plain requests with bodies written here; nothing of the
 * transport's own patches is used. May be called from several threads: the client is
 * MT-Safe, and the list of pods is only changed by the test thread.
 */
#include "kubernetes_world.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MERGE "application/merge-patch+json"
#define POD_PATH "/api/v1/namespaces/default/pods/%s"

/* Ends the program where no answer comes: the suite has no other way to look at the
 * store. */
int world_request(struct world *world, enum hami_kubernetes_method method,
                  const char *path, const char *content_type, json_t *json, json_t **ret)
{
    struct hami_kubernetes_request want = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_kubernetes_answer *answer = NULL;
    struct hami_error error = HAMI_ERROR_INIT;
    char *body = json ? json_dumps(json, JSON_COMPACT) : NULL;
    want.method = method;
    want.path = path;
    want.content_type = content_type;
    want.body = body;
    want.body_length = body ? strlen(body) : 0;
    want.deadline_ns = hami_kubernetes_in_ms(20000);
    int code = hami_kubernetes_request(world->client, &want, &answer, &error);
    if (code != 0) {
        fprintf(stderr, "%s: %s: %s\n", path, hami_errname(code), error.text);
        abort();
    }
    int status = answer->status;
    if (ret) {
        *ret = json_loadb(answer->body, answer->body_length, 0, NULL);
    }
    hami_kubernetes_answer_free(answer);
    json_decref(json);
    free(body);
    return status;
}

void world_expect(int status, int first, int second, const char *what)
{
    if (status != first && status != second) {
        fprintf(stderr, "%s: status %d\n", what, status);
        abort();
    }
}

static const char *keep_text(char *buffer, size_t size, const char *text)
{
    if (text) {
        snprintf(buffer, size, "%s", text);
    }
    return text ? buffer : NULL;
}

struct world *world_new(const struct hami_kubernetes_config *login)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct world *world = calloc(1, sizeof(*world));
    ck_assert_ptr_nonnull(world);
    world->unserved = -1;
    world->login = *login;
    world->login.server =
        keep_text(world->texts[0], sizeof(world->texts[0]), login->server);
    world->login.token =
        keep_text(world->texts[1], sizeof(world->texts[1]), login->token);
    world->login.ca_file =
        keep_text(world->texts[2], sizeof(world->texts[2]), login->ca_file);
    int code = hami_kubernetes_new(&world->login, &world->client, &error);
    ck_assert_msg(code == 0, "%s", error.text);
    return world;
}

static void delete_pod(struct world *world, const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), POD_PATH, name);
    json_t *release = json_pack("{s:{s:n}}", "metadata", "finalizers");
    world_request(world, HAMI_KUBERNETES_PATCH, path, MERGE, release, NULL);
    json_t *now = json_pack("{s:s, s:s, s:i}", "kind", "DeleteOptions", "apiVersion",
                            "v1", "gracePeriodSeconds", 0);
    world_request(world, HAMI_KUBERNETES_DELETE, path, NULL, now, NULL);
}

void world_free(struct world *world)
{
    for (size_t i = 0; i < world->owner_count; i++) {
        delete_pod(world, world->owners[i]);
    }
    hami_kubernetes_free(world->client);
    free(world);
}

/* ---- nodes ---- */

void world_node_make(struct contract *contract, const char *node)
{
    json_t *body = json_pack("{s:s, s:s, s:{s:s}}", "kind", "Node", "apiVersion", "v1",
                             "metadata", "name", node);
    int status = world_request(contract->data, HAMI_KUBERNETES_POST, "/api/v1/nodes",
                               NULL, body, NULL);
    ck_assert_int_eq(status, 201);
}

void world_node_delete(struct contract *contract, const char *node)
{
    char path[512];
    snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
    int status =
        world_request(contract->data, HAMI_KUBERNETES_DELETE, path, NULL, NULL, NULL);
    ck_assert(status == 200 || status == 404);
}

void world_put(struct contract *contract, const char *node, const char *key,
               const char *value)
{
    char path[512];
    snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
    json_t *body = json_pack("{s:{s:{s:s?}}}", "metadata", "annotations", key, value);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_PATCH, path, MERGE, body, NULL),
        200, 200, "a foreign writer's patch");
}

char *world_annotation_of(const json_t *object, const char *key)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const char *text =
        json_string_value(json_object_get(json_object_get(metadata, "annotations"), key));
    return text ? strdup(text) : NULL;
}

char *world_get(struct contract *contract, const char *node, const char *key)
{
    char path[512];
    json_t *object = NULL;
    snprintf(path, sizeof(path), "/api/v1/nodes/%s", node);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_GET, path, NULL, NULL, &object),
        200, 404, "a look at a node");
    char *value = world_annotation_of(object, key);
    json_decref(object);
    return value;
}

/* ---- pods ---- */

static void create_pod(struct world *world, struct contract_owner *owner)
{
    json_t *pod =
        json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:b, s:[{s:s, s:s}]}}", "kind", "Pod",
                  "apiVersion", "v1", "metadata", "name", owner->name, "spec",
                  "schedulerName", WORLD_SCHEDULER, "automountServiceAccountToken", 0,
                  "containers", "name", "main", "image", "example.com/none");
    json_t *made = NULL;
    int status = world_request(world, HAMI_KUBERNETES_POST,
                               "/api/v1/namespaces/default/pods", NULL, pod, &made);
    ck_assert_int_eq(status, 201);
    const char *uid =
        json_string_value(json_object_get(json_object_get(made, "metadata"), "uid"));
    ck_assert_ptr_nonnull(uid);
    snprintf(owner->uid, sizeof(owner->uid), "%s", uid);
    json_decref(made);
}

void world_owner_make(struct contract *contract, struct contract_owner *owner)
{
    struct world *world = contract->data;
    /* Pods are refused while their namespace has no such account; a controller makes it
     * later. */
    json_t *account = json_pack("{s:s, s:s, s:{s:s}}", "kind", "ServiceAccount",
                                "apiVersion", "v1", "metadata", "name", "default");
    if (!world->sim) {
        world_expect(world_request(world, HAMI_KUBERNETES_POST,
                                   "/api/v1/namespaces/default/serviceaccounts", NULL,
                                   account, NULL),
                     201, 409, "a service account");
    } else {
        json_decref(account);
    }
    ck_assert_uint_lt(world->owner_count, WORLD_OWNERS);
    snprintf(world->owners[world->owner_count++], CONTRACT_NAME, "%s", owner->name);
    create_pod(world, owner);
}

static void patch_pod(struct world *world, const struct contract_owner *owner,
                      const char *below, json_t *body)
{
    char path[512];
    snprintf(path, sizeof(path), POD_PATH "%s", owner->name, below);
    ck_assert_int_eq(world_request(world, HAMI_KUBERNETES_PATCH, path, MERGE, body, NULL),
                     200);
}

static void set_phase(struct world *world, const struct contract_owner *owner,
                      const char *phase)
{
    patch_pod(world, owner, "/status", json_pack("{s:{s:s}}", "status", "phase", phase));
}

static void annotate(struct world *world, const struct contract_owner *owner)
{
    char fence[24];
    char done[24];
    snprintf(fence, sizeof(fence), "%llu", (unsigned long long)CONTRACT_FENCE);
    snprintf(done, sizeof(done), "%llu", (unsigned long long)CONTRACT_DONE);
    patch_pod(world, owner, "",
              json_pack("{s:{s:{s:s, s:s, s:s, s:s, s:s}}}", "metadata", "annotations",
                        HAMI_HANDSHAKE_FENCE_KEY, fence, HAMI_HANDSHAKE_DONE_KEY, done,
                        HAMI_HANDSHAKE_PHASE_KEY, "success", HAMI_HANDSHAKE_NODE_KEY,
                        CONTRACT_ASSIGNED, "hami.io/vgpu-devices-to-allocate",
                        "GPU-1,NVIDIA,1024,10:;"));
}

/* A finalizer keeps it, with its deletion timestamp. */
static void start_deletion(struct world *world, const struct contract_owner *owner)
{
    char path[512];
    patch_pod(world, owner, "",
              json_pack("{s:{s:[s]}}", "metadata", "finalizers", "example.com/contract"));
    snprintf(path, sizeof(path), POD_PATH, owner->name);
    world_expect(world_request(world, HAMI_KUBERNETES_DELETE, path, NULL, NULL, NULL),
                 200, 202, "a deletion");
}

void world_owner_set(struct contract *contract, struct contract_owner *owner,
                     enum contract_state state)
{
    struct world *world = contract->data;
    struct contract_owner another = *owner;
    switch (state) {
    case CONTRACT_STARTED:
        set_phase(world, owner, "Running");
        break;
    case CONTRACT_FINISHED:
        set_phase(world, owner, "Succeeded");
        break;
    case CONTRACT_DELETING:
        start_deletion(world, owner);
        break;
    case CONTRACT_GONE:
        delete_pod(world, owner->name);
        break;
    case CONTRACT_REPLACED:
        delete_pod(world, owner->name);
        create_pod(world, &another);
        break;
    case CONTRACT_ANNOTATED:
        annotate(world, owner);
        break;
    }
}

bool world_owner_bind(struct contract *contract, const struct contract_owner *owner,
                      const char *node, const char *version)
{
    char path[512];
    snprintf(path, sizeof(path), POD_PATH "/binding", owner->name);
    json_t *body = json_pack("{s:s, s:s, s:{s:s, s:s, s:s*}, s:{s:s, s:s, s:s}}", "kind",
                             "Binding", "apiVersion", "v1", "metadata", "name",
                             owner->name, "uid", owner->uid, "resourceVersion", version,
                             "target", "kind", "Node", "apiVersion", "v1", "name", node);
    int status =
        world_request(contract->data, HAMI_KUBERNETES_POST, path, NULL, body, NULL);
    world_expect(status, 201, 409, "a Binding");
    return status == 201;
}

char *world_owner_revoked(struct contract *contract, const struct contract_owner *owner)
{
    char path[512];
    json_t *object = NULL;
    snprintf(path, sizeof(path), POD_PATH, owner->name);
    world_expect(
        world_request(contract->data, HAMI_KUBERNETES_GET, path, NULL, NULL, &object),
        200, 404, "a look at a pod");
    char *value = world_annotation_of(object, HAMI_HANDSHAKE_REVOKED_KEY);
    json_decref(object);
    return value;
}
