/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the watches of nodes and Leases tell the managers, and what calls cost while they
 * stand.
 */
#include "kubernetes_lease_world.h"

#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct world world;
static struct hami_call call;
static hami_nodelock *manager;

static void setup(void)
{
    lease_world_begin(&world, 0);
    manager = manager_new();
}

static void teardown(void)
{
    world.transport->unwatch(world.transport, manager);
    world_end(&world);
    manager_free(manager);
}

static void watch(void)
{
    ck_assert(!hami_kubernetes_transport_is_synced(world.transport));
    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    ck_assert(wait_synced(&world));
}

static size_t wait_lock(size_t from, const char *value)
{
    size_t at = manager_wait(manager, from, NEWS_OBSERVED, "n1", value);
    ck_assert_uint_gt(at, 0);
    return at;
}

START_TEST(a_manager_is_told_of_every_lease_and_then_of_every_change)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    size_t at = wait_lock(0, LOCK_A);
    ck_assert_uint_eq(manager->news[at - 1].annotation_count, 2);
    ck_assert_str_eq(manager->news[at - 1].version, call.node_version);
    ck_assert_int_eq(free_a(&world, &call), 0);
    wait_lock(at, "(absent)");
}
END_TEST

START_TEST(while_the_watches_stand_a_take_and_a_release_cost_a_patch_each)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    ck_assert_int_eq(free_a(&world, &call), 0);
    watch();
    kubesim_forget_log(world.sim);
    ck_assert_int_eq(put_pair(&world, &call, NULL, MEMORY_OF("5"), LOCK_B, LEASE_B), 0);
    ck_assert_int_eq(put_pair(&world, &call, LOCK_B, LEASE_B, NULL, MEMORY_OF("6")), 0);
    ck_assert_uint_eq(count_of(&world, "patch", "leases"), 2);
    ck_assert_uint_eq(count_of(&world, "get", NULL), 0);
    ck_assert_int_eq(lease_transitions(&world), 2);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_uint_eq(count_of(&world, "get", NULL), 1);
}
END_TEST

START_TEST(a_lease_that_goes_leaves_a_node_without_locks)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    size_t at = wait_lock(0, LOCK_A);
    lease_world_delete_lease(&world);
    at = wait_lock(at, "(absent)");
    ck_assert_str_ne(manager->news[at - 1].version, "(absent)");
    for (size_t i = 0; i < manager_count(manager); i++) {
        ck_assert_int_ne(manager->news[i].kind, NEWS_FORGOTTEN);
    }
    /* What was known of it is of no use now, and is not used. */
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), 0);
    wait_lock(at, LOCK_B);
}
END_TEST

START_TEST(a_lease_that_went_unseen_is_found_missing_by_the_next_list)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    size_t at = wait_lock(0, LOCK_A);
    kubesim_pause_watches(world.sim, true);
    lease_world_delete_lease(&world);
    kubesim_compact(world.sim);
    kubesim_expire_watches(world.sim, NULL);
    kubesim_pause_watches(world.sim, false);
    at = wait_lock(at, "(absent)");
}
END_TEST

START_TEST(a_node_that_goes_is_forgotten_and_its_calls_are_told)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    wait_lock(0, LOCK_A);
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_FORGOTTEN, "n1", NULL), 0);
    ck_assert_int_eq(read_pair(&world, &call), HAMI_E_NODE);
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_NODE);
}
END_TEST

START_TEST(a_node_that_went_before_the_first_list_of_nodes_is_forgotten_as_well)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    const struct kubesim_fault refusal = {
        .match = {.resource = "nodes"}, .action = KUBESIM_STATUS, .status = 503};
    int fault = kubesim_arm(world.sim, &refusal);
    ck_assert_int_gt(fault, 0);
    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    size_t at = wait_lock(0, LOCK_A);
    ck_assert_int_eq(kubesim_delete(world.sim, "nodes", NULL, "n1"), 200);
    kubesim_disarm(world.sim, fault);
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_FORGOTTEN, "n1", NULL), 0);
}
END_TEST

START_TEST(a_node_made_anew_between_two_lists_is_forgotten_as_well)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    wait_lock(0, LOCK_A);
    kubesim_pause_watches(world.sim, true);
    lease_world_renew_node(&world, "n1");
    kubesim_compact(world.sim);
    kubesim_expire_watches(world.sim, NULL);
    kubesim_pause_watches(world.sim, false);
    size_t at = manager_wait(manager, 0, NEWS_FORGOTTEN, "n1", NULL);
    ck_assert_uint_gt(at, 0);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], "(absent)");
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), 0);
    wait_lock(at, LOCK_B);
}
END_TEST

START_TEST(a_lease_left_over_is_told_as_a_node_without_locks)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    wait_lock(0, LOCK_A);
    lease_world_renew_node(&world, "n1");
    size_t at = manager_wait(manager, 0, NEWS_FORGOTTEN, "n1", NULL);
    ck_assert_uint_gt(at, 0);
    /* Until the watch of nodes has seen the new one the Lease is told as it is. */
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(kubesim_set_annotation(world.sim, "leases", NAMESPACE, "n1",
                                                "example.com/touched",
                                                i % 2 == 0 ? "0" : "1"),
                         200);
        at = wait_lock(at, NULL);
        if (strcmp(manager->news[at - 1].lock, "(absent)") == 0) {
            return;
        }
    }
    ck_abort_msg("a lock was told that an earlier node has left");
}
END_TEST

/* The watch of nodes is behind: the node is another by now. */
START_TEST(a_patch_by_an_old_uid_is_refused_and_nobodys_lease_is_deleted)
{
    ck_assert_int_eq(take_a(&world, &call), 0);
    watch();
    wait_lock(0, LOCK_A);
    kubesim_pause_watches(world.sim, true);
    lease_world_renew_node(&world, "n1");
    lease_world_delete_lease(&world);
    struct hami_transport *first = world.transport;
    struct hami_kubernetes_lease_transport_config config =
        HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
    config.namespace_name = NAMESPACE;
    ck_assert_int_eq(hami_kubernetes_lease_transport_new(world.client, &config,
                                                         &world.transport, NULL),
                     0);
    /* Another replica, which knows the new node, takes. */
    ck_assert_int_eq(put_pair(&world, &call, NULL, NULL, LOCK_B, LEASE_B), 0);
    hami_kubernetes_transport_free(world.transport);
    world.transport = first;
    ck_assert_int_eq(free_a(&world, &call), HAMI_E_HELD);
    ck_assert_str_eq(call.values[0], LOCK_B);
    ck_assert_int_eq(read_pair(&world, &call), 0);
    ck_assert_str_eq(call.values[0], LOCK_B);
    expect_on_lease(&world, LOCK, LOCK_B);
    ck_assert_uint_eq(count_of(&world, "delete", "leases"), 0);
    kubesim_pause_watches(world.sim, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes-lease-news");
    TCase *tests = tcase_create("news");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    tcase_add_test(tests, a_manager_is_told_of_every_lease_and_then_of_every_change);
    tcase_add_test(tests, while_the_watches_stand_a_take_and_a_release_cost_a_patch_each);
    tcase_add_test(tests, a_lease_that_goes_leaves_a_node_without_locks);
    tcase_add_test(tests, a_lease_that_went_unseen_is_found_missing_by_the_next_list);
    tcase_add_test(tests, a_node_that_goes_is_forgotten_and_its_calls_are_told);
    tcase_add_test(tests,
                   a_node_that_went_before_the_first_list_of_nodes_is_forgotten_as_well);
    tcase_add_test(tests, a_node_made_anew_between_two_lists_is_forgotten_as_well);
    tcase_add_test(tests, a_lease_left_over_is_told_as_a_node_without_locks);
    tcase_add_test(tests, a_patch_by_an_old_uid_is_refused_and_nobodys_lease_is_deleted);
    return run_suite(suite);
}
