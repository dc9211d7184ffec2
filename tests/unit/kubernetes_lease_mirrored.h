/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The world of the tests of mirrored Leases: one of kubernetes_lease_world.h, a manager,
 * and the call that is made. Each program that includes this has its own.
 */
#ifndef TESTS_KUBERNETES_LEASE_MIRRORED_H
#define TESTS_KUBERNETES_LEASE_MIRRORED_H

#include "kubernetes_lease_world.h"

#include <string.h>

static struct world world;
static struct hami_call call;
static hami_nodelock *manager;

static inline void setup(void)
{
    lease_world_begin(&world, HAMI_KUBERNETES_LEASE_MIRROR);
    manager = manager_new();
}

static inline void setup_for_tools(void)
{
    lease_world_begin(&world, HAMI_KUBERNETES_LEASE_MIRROR | HAMI_KUBERNETES_NO_WATCH);
    manager = manager_new();
}

static inline void teardown(void)
{
    if (world.transport->unwatch) {
        world.transport->unwatch(world.transport, manager);
    }
    world_end(&world);
    manager_free(manager);
}

static inline void watch(void)
{
    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    ck_assert(wait_synced(&world));
}

static inline void set_on(const char *resource, const char *key, const char *value)
{
    const char *space = strcmp(resource, "nodes") == 0 ? NULL : NAMESPACE;
    ck_assert_int_eq(kubesim_set_annotation(world.sim, resource, space, "n1", key, value),
                     200);
}

static inline void expect_both(const char *lock, const char *lease)
{
    expect_on_lease(&world, LOCK, lock);
    expect_on_lease(&world, LEASE, lease);
    expect_on_node(&world, LOCK, lock);
    expect_on_node(&world, LEASE, lease);
}

static inline void expect_read(const char *lock, const char *lease)
{
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], lock);
    ck_assert_str_eq(call.values[1], lease);
}

/* A take that a crash has cut off after its first write. */
static inline void take_half(void)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    set_on("nodes", LOCK, NULL);
    set_on("nodes", LEASE, NULL);
}

static inline TCase *add_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return tests;
}

#endif
