/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See kubernetes_lease_world.h. Used by the test's thread alone. */
#include "kubernetes_lease_world.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_LEASE LEASES_PATH "/n1"
#define MERGE "application/merge-patch+json"

void lease_world_begin(struct world *world, uint32_t flags)
{
    struct hami_kubernetes_lease_transport_config config =
        HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    world_begin(world, NULL, NULL);
    world_add_node(world, "n1");
    ck_assert_int_eq(kubesim_request(world->sim, "POST", "/api/v1/namespaces", NULL,
                                     "{\"metadata\":{\"name\":\"" NAMESPACE "\"}}", NULL),
                     201);
    hami_kubernetes_transport_free(world->transport);
    config.flags = flags;
    config.namespace_name = NAMESPACE;
    int code = hami_kubernetes_lease_transport_new(world->client, &config,
                                                   &world->transport, &error);
    ck_assert_msg(code == 0, "%s", error.text);
}

void lease_world_renew_node(struct world *world, const char *name)
{
    ck_assert_int_eq(kubesim_delete(world->sim, "nodes", NULL, name), 200);
    world_add_node(world, name);
}

void lease_world_make_lease(struct world *world, const char *metadata)
{
    char body[4096];
    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"n1\"%s%s},\"spec\":{}}",
             metadata ? "," : "", metadata ? metadata : "");
    ck_assert_int_eq(kubesim_request(world->sim, "POST", LEASES_PATH, NULL, body, NULL),
                     201);
}

void lease_world_patch_lease(struct world *world, const char *merge)
{
    ck_assert_int_eq(kubesim_request(world->sim, "PATCH", ONE_LEASE, MERGE, merge, NULL),
                     200);
}

void lease_world_delete_lease(struct world *world)
{
    ck_assert_int_eq(kubesim_delete(world->sim, "leases", NAMESPACE, "n1"), 200);
}

void expect_on_lease(struct world *world, const char *key, const char *value)
{
    expect_annotation(world, "leases", NAMESPACE, "n1", key, value);
}

void expect_on_node(struct world *world, const char *key, const char *value)
{
    expect_annotation(world, "nodes", NULL, "n1", key, value);
}

void expect_lease_text(struct world *world, const char *pointer, const char *value)
{
    char *found = kubesim_text(world->sim, "leases", NAMESPACE, "n1", pointer);
    if (value) {
        ck_assert_ptr_nonnull(found);
        ck_assert_str_eq(found, value);
    } else {
        ck_assert_ptr_null(found);
    }
    free(found);
}

int64_t lease_transitions(struct world *world)
{
    json_t *lease = kubesim_get(world->sim, "leases", NAMESPACE, "n1");
    ck_assert_ptr_nonnull(lease);
    int64_t count = json_integer_value(
        json_object_get(json_object_get(lease, "spec"), "leaseTransitions"));
    json_decref(lease);
    return count;
}

int put_pair(struct world *world, struct hami_call *call, const char *lock,
             const char *lease, const char *new_lock, const char *new_lease)
{
    call_begin(call, "n1", 5000);
    call_edit(call, HAMI_EDIT_PUT, LOCK, lock, new_lock);
    call_edit(call, HAMI_EDIT_PUT, LEASE, lease, new_lease);
    return call_submit(world, call);
}

int take_a(struct world *world, struct hami_call *call)
{
    return put_pair(world, call, NULL, NULL, LOCK_A, LEASE_A);
}

int free_a(struct world *world, struct hami_call *call)
{
    return put_pair(world, call, LOCK_A, LEASE_A, NULL, MEMORY_OF("5"));
}

int read_pair(struct world *world, struct hami_call *call)
{
    call_begin(call, "n1", 5000);
    call_edit(call, HAMI_EDIT_READ, LOCK, NULL, NULL);
    call_edit(call, HAMI_EDIT_READ, LEASE, NULL, NULL);
    return call_submit(world, call);
}

void arm_next(struct world *world, const char *verb, const char *resource,
              enum kubesim_action action, int status)
{
    struct kubesim_fault fault = {.match = {.verb = verb, .resource = resource},
                                  .count = 1,
                                  .action = action,
                                  .status = status};
    ck_assert_int_gt(kubesim_arm(world->sim, &fault), 0);
}

unsigned count_of(struct world *world, const char *verb, const char *resource)
{
    return kubesim_count(
        world->sim,
        &(struct kubesim_match){.verb = verb, .resource = resource, .user = "admin"});
}
