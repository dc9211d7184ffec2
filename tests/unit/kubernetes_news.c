/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What managers are told by the transport's watches, and what inspect is answered from
 * them.
 */
#include "kubernetes_stand_in.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

static struct world world;
static hami_nodelock *manager;
static hami_nodelock *second;

static void begin(const char *const *schedulers)
{
    world_begin(&world, NULL, schedulers);
    world_add_node(&world, "n1");
    world_add_node(&world, "n2");
    manager = manager_new();
    second = manager_new();
}

static void setup(void)
{
    begin(NULL);
}

static void setup_with_pods(void)
{
    static const char *const schedulers[] = {"hami-scheduler", "other-scheduler", NULL};
    begin(schedulers);
}

static void teardown(void)
{
    world.transport->unwatch(world.transport, manager);
    world.transport->unwatch(world.transport, second);
    world_end(&world);
    manager_free(manager);
    manager_free(second);
}

static void watch(hami_nodelock *lock)
{
    ck_assert_int_eq(world.transport->watch(world.transport, lock), 0);
}

static void set_lock(const char *node, const char *value)
{
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "nodes", NULL, node, LOCK, value),
                     200);
}

START_TEST(a_manager_is_told_of_every_node_and_then_of_every_change)
{
    ck_assert(!hami_kubernetes_transport_is_synced(world.transport));
    watch(manager);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", "(absent)"), 0);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n2", "(absent)"), 0);
    ck_assert(wait_synced(&world));
    set_lock("n1", "x");
    size_t at = manager_wait(manager, 0, NEWS_OBSERVED, "n1", "x");
    ck_assert_uint_gt(at, 0);
    ck_assert_uint_eq(manager->news[at - 1].annotation_count, 2);
    ck_assert_str_ne(manager->news[at - 1].version, "(absent)");
    set_lock("n1", NULL);
    ck_assert_uint_gt(manager_wait(manager, at, NEWS_OBSERVED, "n1", "(absent)"), 0);
}
END_TEST

START_TEST(a_node_that_goes_is_forgotten)
{
    watch(manager);
    ck_assert(wait_synced(&world));
    kubesim_delete(world.sim, "nodes", NULL, "n2");
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_FORGOTTEN, "n2", NULL), 0);
}
END_TEST

START_TEST(a_node_that_goes_during_a_gap_is_forgotten_by_the_next_list)
{
    watch(manager);
    ck_assert(wait_synced(&world));
    kubesim_pause_watches(world.sim, true);
    kubesim_delete(world.sim, "nodes", NULL, "n2");
    kubesim_compact(world.sim);
    kubesim_expire_watches(world.sim, "nodes");
    kubesim_pause_watches(world.sim, false);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_FORGOTTEN, "n2", NULL), 0);
    ck_assert(wait_synced(&world));
}
END_TEST

/* What happened until now can be watched no more. */
static void release_and_forget(struct kubesim *sim, void *data)
{
    (void)data;
    kubesim_set_annotation(sim, "nodes", NULL, "n1", HAMI_NODELOCK_KEY, NULL);
    kubesim_compact(sim);
}

START_TEST(a_release_right_after_a_410_is_told_within_a_second_case_2_11)
{
    struct kubesim_fault release = {.match = {.verb = "watch", .resource = "nodes"},
                                    .count = 1,
                                    .hook = release_and_forget};
    set_lock("n1", "x");
    watch(manager);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", "x"), 0);
    ck_assert(wait_synced(&world));
    size_t from = manager_count(manager);
    uint64_t began = hami_kubernetes_now();
    kubesim_arm(world.sim, &release);
    kubesim_expire_watches(world.sim, "nodes");
    ck_assert_uint_gt(manager_wait(manager, from, NEWS_OBSERVED, "n1", "(absent)"), 0);
    ck_assert_uint_lt(hami_kubernetes_now() - began, UINT64_C(1000000000));
}
END_TEST

START_TEST(many_managers_share_one_watch_and_a_late_one_is_told_everything_case_1_25)
{
    watch(manager);
    ck_assert(wait_synced(&world));
    watch(second);
    ck_assert_uint_gt(manager_wait(second, 0, NEWS_OBSERVED, "n1", NULL), 0);
    ck_assert_uint_gt(manager_wait(second, 0, NEWS_OBSERVED, "n2", NULL), 0);
    ck_assert(wait_synced(&world));
    set_lock("n1", "x");
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", "x"), 0);
    ck_assert_uint_gt(manager_wait(second, 0, NEWS_OBSERVED, "n1", "x"), 0);
    ck_assert(kubesim_wait_watches(world.sim, "nodes", 1, WAIT_MS));
}
END_TEST

START_TEST(the_last_manager_ends_the_watch_and_a_new_one_begins_it_again)
{
    watch(manager);
    watch(second);
    ck_assert(wait_synced(&world));
    world.transport->unwatch(world.transport, manager);
    ck_assert(kubesim_wait_watches(world.sim, "nodes", 1, WAIT_MS));
    world.transport->unwatch(world.transport, second);
    ck_assert(kubesim_wait_watches(world.sim, "nodes", 0, WAIT_MS));
    ck_assert(!hami_kubernetes_transport_is_synced(world.transport));
    size_t from = manager_count(manager);
    watch(manager);
    ck_assert_uint_gt(manager_wait(manager, from, NEWS_OBSERVED, "n1", NULL), 0);
    ck_assert(wait_synced(&world));
}
END_TEST

static void *write_all_the_time(void *data)
{
    bool *stop = data;
    char value[16];
    for (unsigned i = 0; !__atomic_load_n(stop, __ATOMIC_RELAXED); i++) {
        snprintf(value, sizeof(value), "%u", i);
        kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, value);
    }
    return NULL;
}

START_TEST(nothing_is_told_after_unwatch_has_returned)
{
    bool stop = false;
    pthread_t writer;
    watch(second);
    ck_assert_int_eq(pthread_create(&writer, NULL, write_all_the_time, &stop), 0);
    for (int i = 0; i < 50; i++) {
        hami_nodelock *guest = manager_new();
        watch(guest);
        if (i % 2 == 0) {
            manager_wait(guest, 0, NEWS_OBSERVED, "n1", NULL);
        }
        world.transport->unwatch(world.transport, guest);
        pthread_mutex_lock(&guest->mutex);
        guest->closed = true;
        pthread_mutex_unlock(&guest->mutex);
        size_t from = manager_count(second);
        manager_wait(second, from, NEWS_OBSERVED, "n1", NULL);
        ck_assert_uint_eq(guest->late_news, 0);
        manager_free(guest);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
}
END_TEST

START_TEST(a_transport_told_not_to_watch_has_no_watch_and_counts_as_synced)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_transport *transport;
    config.flags = HAMI_KUBERNETES_NO_WATCH;
    ck_assert_int_eq(
        hami_kubernetes_transport_new(world.client, &config, &transport, NULL), 0);
    ck_assert_ptr_null(transport->watch);
    ck_assert(hami_kubernetes_transport_is_synced(transport));
    hami_kubernetes_transport_free(transport);
    ck_assert(!hami_kubernetes_transport_is_synced(NULL));
    ck_assert_ptr_null(hami_kubernetes_transport_free(NULL));
}
END_TEST

START_TEST(a_configuration_is_checked)
{
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_transport *transport = NULL;
    struct hami_error error = HAMI_ERROR_INIT;
    static const char *const bad[] = {"a,b", "", "a=b", "a b", NULL};
    config.flags = 0x80;
    ck_assert_int_eq(
        hami_kubernetes_transport_new(world.client, &config, &transport, &error),
        HAMI_E_INVAL);
    config.flags = 0;
    config.scheduler_name_count = 17;
    ck_assert_int_eq(
        hami_kubernetes_transport_new(world.client, &config, &transport, &error),
        HAMI_E_INVAL);
    config.scheduler_name_count = 1;
    ck_assert_int_eq(
        hami_kubernetes_transport_new(world.client, &config, &transport, &error),
        HAMI_E_INVAL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        config.scheduler_names = &bad[i];
        ck_assert_int_eq(
            hami_kubernetes_transport_new(world.client, &config, &transport, &error),
            HAMI_E_INVAL);
        ck_assert_ptr_nonnull(strstr(error.text, "scheduler_names"));
    }
    ck_assert_int_eq(hami_kubernetes_transport_new(NULL, NULL, &transport, &error),
                     HAMI_E_INVAL);
    ck_assert_ptr_null(transport);
}
END_TEST

START_TEST(a_transport_freed_while_it_watches_ends_its_watches)
{
    watch(manager);
    ck_assert(wait_synced(&world));
    world.transport->unwatch(world.transport, manager);
    watch(second);
    world.transport->unwatch(world.transport, second);
    hami_kubernetes_transport_free(world.transport);
    ck_assert(kubesim_wait_watches(world.sim, "nodes", 0, WAIT_MS));
    ck_assert_int_eq(
        hami_kubernetes_transport_new(world.client, NULL, &world.transport, NULL), 0);
}
END_TEST

START_TEST(a_forked_child_can_free_its_copy_and_disturbs_nothing)
{
    int status = 1;
    watch(manager);
    ck_assert(wait_synced(&world));
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        world.transport->unwatch(world.transport, manager);
        _exit(hami_kubernetes_transport_free(world.transport) == NULL ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    set_lock("n1", "x");
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", "x"), 0);
}
END_TEST

/* ---- pods ---- */

static void add_pod(const char *name, const char *scheduler)
{
    static const char *const annotations[] = {"hami.io/vgpu-node", "n1",
                                              "hami.io/vgpu-devices-to-allocate",
                                              "GPU-1,NVIDIA,100,10:;", NULL};
    struct kubesim_pod pod = {
        .name = name, .scheduler = scheduler, .annotations = annotations};
    ck_assert_int_eq(kubesim_create_pod(world.sim, &pod), 201);
}

static unsigned gets(void)
{
    return kubesim_count(
        world.sim,
        &(struct kubesim_match){.verb = "get", .resource = "pods", .user = "admin"});
}

static void ask(struct hami_call *call, const char *name)
{
    call_begin(call, "n1", 5000);
    call->owner = (struct hami_owner){"default", name, "u"};
    call->wants_read = false;
    ck_assert_int_eq(call_inspect(&world, call), 0);
}

/* Asks until the watch knows (or, source READ, no longer knows) the pod. */
static void ask_until(struct hami_call *call, const char *name,
                      enum hami_facts_source source)
{
    uint64_t until = hami_kubernetes_in_ms(WAIT_MS);
    ask(call, name);
    while (call->facts.source != source) {
        ck_assert_uint_lt(hami_kubernetes_now(), until);
        (void)poll(NULL, 0, 1);
        ask(call, name);
    }
}

START_TEST(an_unbound_pod_is_known_without_a_read)
{
    struct hami_call call;
    add_pod("a", "hami-scheduler");
    watch(manager);
    ck_assert(wait_synced(&world));
    ask(&call, "a");
    ck_assert_uint_eq(gets(), 0);
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_WATCH);
    ck_assert(call.facts.known && call.facts.exists && call.facts.devices_left);
    ck_assert_ptr_null(call.facts.node);
    ck_assert_str_eq(call.facts.assigned_node, "n1");
    char *uid = kubesim_text(world.sim, "pods", "default", "a", "/metadata/uid");
    char *version =
        kubesim_text(world.sim, "pods", "default", "a", "/metadata/resourceVersion");
    ck_assert_str_eq(call.facts.uid, uid);
    ck_assert_str_eq(call.facts.version, version);
    free(uid);
    free(version);
    add_pod("b", "other-scheduler");
    ask_until(&call, "b", HAMI_FACTS_WATCH);
}
END_TEST

START_TEST(a_read_that_is_asked_for_is_made_and_an_unknown_pod_is_read)
{
    struct hami_call call;
    add_pod("a", "hami-scheduler");
    add_pod("foreign", "default-scheduler");
    watch(manager);
    ck_assert(wait_synced(&world));
    call_begin(&call, "n1", 5000);
    call.owner = (struct hami_owner){"default", "a", "u"};
    ck_assert_int_eq(call_inspect(&world, &call), 0);
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_READ);
    ask(&call, "foreign");
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_READ);
    ck_assert(call.facts.exists);
    ask(&call, "gone");
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_READ);
    ck_assert(!call.facts.exists);
    ck_assert_uint_eq(gets(), 3);
}
END_TEST

START_TEST(a_pod_that_is_bound_or_gone_is_known_no_more)
{
    struct hami_call call;
    add_pod("a", "hami-scheduler");
    add_pod("b", "hami-scheduler");
    watch(manager);
    ck_assert(wait_synced(&world));
    kubesim_bind(world.sim, "default", "a", "n1");
    ask_until(&call, "a", HAMI_FACTS_READ);
    ck_assert_str_eq(call.facts.node, "n1");
    kubesim_delete(world.sim, "pods", "default", "b");
    ask_until(&call, "b", HAMI_FACTS_READ);
    ck_assert(!call.facts.exists);
}
END_TEST

START_TEST(a_pod_that_we_revoked_is_not_told_from_before)
{
    struct hami_call call;
    add_pod("a", "hami-scheduler");
    watch(manager);
    ck_assert(wait_synced(&world));
    char *uid = kubesim_text(world.sim, "pods", "default", "a", "/metadata/uid");
    kubesim_pause_watches(world.sim, true);
    call_begin(&call, "n1", 5000);
    call.owner = (struct hami_owner){"default", "a", uid};
    call.revocation = "n1,7,h,1";
    ck_assert_int_eq(call_revoke(&world, &call), 0);
    ask(&call, "a");
    ck_assert_int_eq(call.facts.source, HAMI_FACTS_READ);
    ck_assert_str_eq(call.facts.revoked, "n1,7,h,1");
    kubesim_pause_watches(world.sim, false);
    ask_until(&call, "a", HAMI_FACTS_WATCH);
    ck_assert_str_eq(call.facts.revoked, "n1,7,h,1");
    free(uid);
}
END_TEST

START_TEST(nothing_is_answered_from_a_watch_that_was_lost)
{
    struct hami_call call;
    struct kubesim_fault fault = {.match = {.verb = "watch", .resource = "pods"},
                                  .action = KUBESIM_STATUS,
                                  .status = 500};
    add_pod("a", "hami-scheduler");
    watch(manager);
    ck_assert(wait_synced(&world));
    ask_until(&call, "a", HAMI_FACTS_WATCH);
    kubesim_arm(world.sim, &fault);
    kubesim_cut_watches(world.sim, "pods");
    ask_until(&call, "a", HAMI_FACTS_READ);
    kubesim_disarm(world.sim, 0);
    ask_until(&call, "a", HAMI_FACTS_WATCH);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_news");
    TCase *nodes = tcase_create("nodes");
    tcase_add_checked_fixture(nodes, setup, teardown);
    tcase_set_timeout(nodes, 60);
    tcase_add_test(nodes, a_manager_is_told_of_every_node_and_then_of_every_change);
    tcase_add_test(nodes, a_node_that_goes_is_forgotten);
    tcase_add_test(nodes, a_node_that_goes_during_a_gap_is_forgotten_by_the_next_list);
    tcase_add_test(nodes, a_release_right_after_a_410_is_told_within_a_second_case_2_11);
    tcase_add_test(
        nodes, many_managers_share_one_watch_and_a_late_one_is_told_everything_case_1_25);
    tcase_add_test(nodes, the_last_manager_ends_the_watch_and_a_new_one_begins_it_again);
    tcase_add_test(nodes, nothing_is_told_after_unwatch_has_returned);
    tcase_add_test(nodes,
                   a_transport_told_not_to_watch_has_no_watch_and_counts_as_synced);
    tcase_add_test(nodes, a_configuration_is_checked);
    tcase_add_test(nodes, a_transport_freed_while_it_watches_ends_its_watches);
    tcase_add_test(nodes, a_forked_child_can_free_its_copy_and_disturbs_nothing);
    suite_add_tcase(suite, nodes);
    TCase *pods = tcase_create("pods");
    tcase_add_checked_fixture(pods, setup_with_pods, teardown);
    tcase_set_timeout(pods, 60);
    tcase_add_test(pods, an_unbound_pod_is_known_without_a_read);
    tcase_add_test(pods, a_read_that_is_asked_for_is_made_and_an_unknown_pod_is_read);
    tcase_add_test(pods, a_pod_that_is_bound_or_gone_is_known_no_more);
    tcase_add_test(pods, a_pod_that_we_revoked_is_not_told_from_before);
    tcase_add_test(pods, nothing_is_answered_from_a_watch_that_was_lost);
    suite_add_tcase(suite, pods);
    return run_suite(suite);
}
