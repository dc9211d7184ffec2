/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a lock with nothing played: manager, node-annotation transport and Binding
 * against kubesim, and what went over the wire for it.
 */
#include "kubernetes_support.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>
#include <hami/nodelock.h>
#include <hami/transport.h>

#include "suite.h"

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define SCHEDULER "hami-scheduler"

/* One replica of a scheduler. */
struct replica {
    struct hami_transport *transport;
    hami_nodelock *lock;
};

static struct fixture fixture;
static struct replica one;
static struct replica two;

static void replica_begin(struct replica *replica, const char *holder)
{
    static const char *const schedulers[] = {SCHEDULER};
    struct hami_kubernetes_transport_config transport =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    transport.scheduler_names = schedulers;
    transport.scheduler_name_count = 1;
    ck_assert_int_eq(hami_kubernetes_transport_new(fixture.client, &transport,
                                                   &replica->transport, NULL),
                     0);
    config.transport = replica->transport;
    config.holder = holder;
    config.hold_limit_ms = 300;
    config.call_timeout_ms = 1000;
    ck_assert_int_eq(hami_nodelock_new(&config, &replica->lock, NULL), 0);
}

static void replica_end(struct replica *replica)
{
    if (replica->lock != NULL) {
        (void)hami_nodelock_shutdown(replica->lock,
                                     hami_nodelock_in_ms(replica->lock, 5000));
    }
    replica->lock = hami_nodelock_free(replica->lock);
    replica->transport = hami_kubernetes_transport_free(replica->transport);
}

static void setup(void)
{
    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    replica_begin(&one, "one");
    replica_begin(&two, "two");
}

static void teardown(void)
{
    replica_end(&one);
    replica_end(&two);
    fixture_close(&fixture);
}

/* Adds a pod and gives its uid, new. */
static char *add_pod(const char *name)
{
    struct kubesim_pod pod = {.name = name, .scheduler = SCHEDULER};
    ck_assert_int_eq(kubesim_create_pod(fixture.sim, &pod), 201);
    return kubesim_text(fixture.sim, "pods", "default", name, "/metadata/uid");
}

static int acquire(struct replica *replica, const char *node, const char *name,
                   const char *uid, uint64_t timeout_ms, hami_lease **ret)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;
    request.node = node;
    request.owner = (struct hami_owner){"default", name, uid};
    request.deadline_ns = hami_nodelock_in_ms(replica->lock, timeout_ms);
    *ret = NULL;
    return hami_nodelock_acquire(replica->lock, &request, ret, &error);
}

static int bind_lease(hami_lease *lease)
{
    return hami_kubernetes_bind(fixture.client, lease, hami_kubernetes_in_ms(5000), NULL);
}

/* What a device plugin does in the end, guarded by nothing. */
static void serve(const char *node, const char *pod)
{
    ck_assert(kubesim_wait_text(fixture.sim, "pods", "default", pod, "/spec/nodeName",
                                node, WAIT_MS));
    ck_assert_int_eq(kubesim_set_annotation(fixture.sim, "nodes", NULL, node, LOCK, NULL),
                     200);
}

static char *lock_of(const char *node)
{
    return kubesim_annotation(fixture.sim, "nodes", NULL, node, LOCK);
}

static unsigned count(const char *verb, const char *resource, const char *body)
{
    return kubesim_count(fixture.sim, &(struct kubesim_match){.verb = verb,
                                                              .resource = resource,
                                                              .user = "admin",
                                                              .body = body});
}

/* cases 1.39 and 2.06 */
static void expect_guarded_patches(void)
{
    json_t *log = kubesim_log(fixture.sim,
                              &(struct kubesim_match){.verb = "patch", .user = "admin"});
    size_t at;
    json_t *event;
    ck_assert_uint_gt(json_array_size(log), 0);
    json_array_foreach(log, at, event)
    {
        const json_t *patch = json_object_get(event, "requestObject");
        /* A merge patch would be an object. */
        ck_assert_msg(json_is_array(patch), "patch %zu is no JSON Patch", at);
        ck_assert_str_eq(
            json_string_value(json_object_get(json_array_get(patch, 0), "op")), "test");
    }
    json_decref(log);
}

START_TEST(ten_pods_in_a_row_are_bound_by_guarded_patches_alone_case_1_39)
{
    for (int i = 0; i < 10; i++) {
        hami_lease *lease;
        char name[16];
        snprintf(name, sizeof(name), "p%d", i);
        char *uid = add_pod(name);
        if (i == 1) {
            /* The first take seeds the fence; from here on it is the warm path. */
            kubesim_forget_log(fixture.sim);
        }
        ck_assert_int_eq(acquire(&one, "n1", name, uid, 10000, &lease), 0);
        ck_assert_int_eq(bind_lease(lease), 0);
        ck_assert_int_eq(hami_lease_handoff(lease), 0);
        serve("n1", name);
        free(uid);
    }
    ck_assert_uint_eq(count("patch", "nodes", NULL), 9);
    ck_assert_uint_eq(count("create", "pods", "Binding"), 9);
    ck_assert_uint_eq(count("get", "nodes", NULL), 0);
    ck_assert_uint_le(count("get", "pods", NULL), 9);
    expect_guarded_patches();
}
END_TEST

START_TEST(a_released_lease_leaves_only_the_fence)
{
    hami_lease *lease;
    char *uid = add_pod("a");
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 10000, &lease), 0);
    char *value = lock_of("n1");
    ck_assert_ptr_nonnull(value);
    ck_assert_ptr_nonnull(strstr(value, ",default,a"));
    ck_assert_int_eq(hami_lease_release(lease, hami_nodelock_in_ms(one.lock, 5000), NULL),
                     0);
    free(value);
    ck_assert_ptr_null(lock_of("n1"));
    value = kubesim_annotation(fixture.sim, "nodes", NULL, "n1", LEASE);
    ck_assert_ptr_nonnull(value);
    ck_assert_ptr_nonnull(strstr(value, "{\"version\":1,\"fence\":\""));
    free(value);
    free(uid);
    expect_guarded_patches();
}
END_TEST

START_TEST(a_take_whose_answer_is_lost_is_one_take_case_1_14)
{
    static const enum kubesim_action actions[] = {KUBESIM_DROP_AFTER, KUBESIM_RESET_AFTER,
                                                  KUBESIM_STATUS_AFTER,
                                                  KUBESIM_TWICE_SECOND};
    hami_lease *lease;
    char *uid = add_pod("a");
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .count = 1,
                                  .action = actions[_i],
                                  .status = 500};
    kubesim_arm(fixture.sim, &fault);
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 10000, &lease), 0);
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    ck_assert_int_eq(hami_lease_facts(lease, &view), 0);
    char *value = lock_of("n1");
    ck_assert_str_eq(value, view.value);
    ck_assert_int_eq(bind_lease(lease), 0);
    hami_lease_handoff(lease);
    free(value);
    free(uid);
}
END_TEST

static void lock_for_another(struct kubesim *sim, void *data)
{
    kubesim_set_annotation(sim, "nodes", NULL, "n1", LOCK, data);
}

START_TEST(a_lock_that_another_sets_during_the_take_stays_anothers_case_1_12)
{
    hami_lease *lease;
    char *uid = add_pod("a");
    char *other = add_pod("b");
    static char value[] = "2026-01-01T00:00:00Z,default,b";
    kubesim_bind(fixture.sim, "default", "b", "n1");
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_NOTHING,
                                  .hook = lock_for_another,
                                  .hook_data = value};
    kubesim_arm(fixture.sim, &fault);
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 1000, &lease), HAMI_E_TIMEDOUT);
    char *found = lock_of("n1");
    ck_assert_str_eq(found, value);
    free(found);
    free(uid);
    free(other);
}
END_TEST

START_TEST(a_call_that_never_answers_blocks_nobody_after_it_case_2_09)
{
    hami_lease *lease;
    char *uid = add_pod("a");
    char *other = add_pod("b");
    struct kubesim_fault fault = {.match = {.verb = "patch", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_HANG_BEFORE};
    kubesim_arm(fixture.sim, &fault);
    uint64_t began = hami_kubernetes_now();
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 300, &lease), HAMI_E_TIMEDOUT);
    ck_assert_uint_lt(hami_kubernetes_now() - began, UINT64_C(2000000000));
    ck_assert_int_eq(acquire(&one, "n1", "b", other, 10000, &lease), 0);
    hami_lease_release(lease, hami_nodelock_in_ms(one.lock, 5000), NULL);
    free(uid);
    free(other);
}
END_TEST

START_TEST(a_node_name_of_253_characters_goes_all_the_way_case_2_07)
{
    hami_lease *lease;
    char node[254];
    memset(node, 'n', 253);
    node[63] = node[127] = node[191] = '.';
    node[253] = '\0';
    ck_assert_int_eq(kubesim_create_node(fixture.sim, node, NULL, 0), 201);
    char *uid = add_pod("a");
    ck_assert_int_eq(acquire(&one, node, "a", uid, 10000, &lease), 0);
    ck_assert_int_eq(bind_lease(lease), 0);
    hami_lease_handoff(lease);
    serve(node, "a");
    free(uid);
}
END_TEST

static void *beat(void *data)
{
    bool *stop = data;
    char value[16];
    for (unsigned i = 0; !__atomic_load_n(stop, __ATOMIC_RELAXED); i++) {
        snprintf(value, sizeof(value), "%u", i);
        kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", "heartbeat", value);
        (void)poll(NULL, 0, 5); /* the pace of the beats; nothing waits for it */
    }
    return NULL;
}

START_TEST(writers_that_never_rest_hinder_nobody_case_1_47)
{
    bool stop = false;
    pthread_t writer;
    hami_lease *lease;
    char *uid = add_pod("a");
    ck_assert_int_eq(pthread_create(&writer, NULL, beat, &stop), 0);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(acquire(&one, "n1", "a", uid, 20000, &lease), 0);
        ck_assert_int_eq(
            hami_lease_release(lease, hami_nodelock_in_ms(one.lock, 5000), NULL), 0);
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(writer, NULL);
    char *value = kubesim_annotation(fixture.sim, "nodes", NULL, "n1", "heartbeat");
    ck_assert_ptr_nonnull(value);
    free(value);
    free(uid);
    ck_assert_uint_eq(kubesim_count(fixture.sim, &(struct kubesim_match){.code = 409}),
                      0);
}
END_TEST

START_TEST(an_owner_that_is_never_bound_is_revoked_and_can_bind_no_more)
{
    hami_lease *stale;
    hami_lease *lease;
    char *uid = add_pod("a");
    char *other = add_pod("b");
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 10000, &stale), 0);
    ck_assert_int_eq(acquire(&two, "n1", "b", other, 10000, &lease), 0);
    ck_assert_uint_gt(hami_lease_fence(lease), hami_lease_fence(stale));
    char *revoked = kubesim_annotation(fixture.sim, "pods", "default", "a",
                                       HAMI_HANDSHAKE_REVOKED_KEY);
    ck_assert_ptr_nonnull(revoked);
    ck_assert_ptr_nonnull(strstr(revoked, "n1,"));
    ck_assert_int_eq(bind_lease(stale), HAMI_E_LOST);
    ck_assert_int_eq(bind_lease(lease), 0);
    hami_lease_handoff(lease);
    (void)hami_lease_release(stale, hami_nodelock_in_ms(one.lock, 5000), NULL);
    char *value = lock_of("n1");
    ck_assert_ptr_nonnull(strstr(value, ",default,b"));
    free(value);
    free(revoked);
    free(uid);
    free(other);
    expect_guarded_patches();
}
END_TEST

START_TEST(the_lock_of_a_pod_that_is_gone_is_taken_at_once_case_1_08)
{
    hami_lease *lease;
    char *other = add_pod("b");
    kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", LOCK,
                           "2026-01-01T00:00:00Z,default,gone");
    ck_assert_int_eq(acquire(&one, "n1", "b", other, 10000, &lease), 0);
    hami_lease_release(lease, hami_nodelock_in_ms(one.lock, 5000), NULL);
    free(other);
}
END_TEST

START_TEST(a_waiter_is_served_though_the_watch_ends_right_before_the_release_case_2_11)
{
    hami_lease *lease;
    hami_lease *next;
    char *uid = add_pod("a");
    char *other = add_pod("b");
    ck_assert_int_eq(acquire(&one, "n1", "a", uid, 10000, &lease), 0);
    ck_assert_int_eq(bind_lease(lease), 0);
    hami_lease_handoff(lease);
    kubesim_expire_watches(fixture.sim, "nodes");
    serve("n1", "a");
    uint64_t began = hami_kubernetes_now();
    ck_assert_int_eq(acquire(&one, "n1", "b", other, 10000, &next), 0);
    ck_assert_uint_lt(hami_kubernetes_now() - began, UINT64_C(2000000000));
    hami_lease_release(next, hami_nodelock_in_ms(one.lock, 5000), NULL);
    free(uid);
    free(other);
}
END_TEST

#define CROWD 20

/* Waiters of one burst; `granted` holds their leases in order. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    hami_lease *granted[CROWD];
    size_t count;
    size_t failed;
} crowd;

static void keep_lease(void *data, int code, hami_lease *lease,
                       const struct hami_error *error)
{
    (void)data;
    (void)error;
    pthread_mutex_lock(&crowd.mutex);
    if (code == 0) {
        crowd.granted[crowd.count++] = lease;
    } else {
        crowd.failed++;
    }
    pthread_cond_signal(&crowd.changed);
    pthread_mutex_unlock(&crowd.mutex);
}

static hami_lease *wait_lease(size_t place)
{
    pthread_mutex_lock(&crowd.mutex);
    while (crowd.count <= place && crowd.failed == 0) {
        pthread_cond_wait(&crowd.changed, &crowd.mutex);
    }
    hami_lease *lease = crowd.failed == 0 ? crowd.granted[place] : NULL;
    pthread_mutex_unlock(&crowd.mutex);
    ck_assert_ptr_nonnull(lease);
    return lease;
}

START_TEST(a_crowd_of_waiters_asks_for_little_and_one_of_them_patches_case_1_25)
{
    hami_lease *holder;
    char name[16];
    char *uid = add_pod("holder");
    memset(&crowd, 0, sizeof(crowd));
    pthread_mutex_init(&crowd.mutex, NULL);
    pthread_cond_init(&crowd.changed, NULL);
    ck_assert_int_eq(acquire(&one, "n1", "holder", uid, 10000, &holder), 0);
    ck_assert_int_eq(bind_lease(holder), 0);
    hami_lease_handoff(holder);
    kubesim_forget_log(fixture.sim);
    for (int i = 0; i < CROWD; i++) {
        struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;
        snprintf(name, sizeof(name), "w%d", i);
        char *waiting = add_pod(name);
        request.node = "n1";
        request.owner = (struct hami_owner){"default", name, waiting};
        request.deadline_ns = hami_nodelock_in_ms(one.lock, 20000);
        ck_assert_int_eq(
            hami_nodelock_acquire_start(one.lock, &request, keep_lease, NULL, NULL), 0);
        free(waiting);
    }
    /* The pods of two looks at the holder, a second apart at least, have passed by then.
     */
    ck_assert(kubesim_wait_count(
        fixture.sim,
        &(struct kubesim_match){
            .verb = "get", .resource = "pods", .name = "holder", .user = "admin"},
        2, WAIT_MS));
    unsigned asked = kubesim_count(fixture.sim, &(struct kubesim_match){.user = "admin"});
    ck_assert_msg(asked < CROWD, "%u requests", asked);
    ck_assert_uint_eq(count("patch", "nodes", NULL), 0);
    serve("n1", "holder");
    hami_lease *first = wait_lease(0);
    ck_assert_uint_eq(count("patch", "nodes", NULL), 1);
    for (size_t i = 0; i < CROWD; i++) {
        hami_lease *lease = i == 0 ? first : wait_lease(i);
        struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
        ck_assert_int_eq(hami_lease_facts(lease, &view), 0);
        snprintf(name, sizeof(name), "w%zu", i);
        ck_assert_str_eq(view.owner.name, name);
        ck_assert_int_eq(bind_lease(lease), 0);
        hami_lease_handoff(lease);
        serve("n1", name);
    }
    free(uid);
    expect_guarded_patches();
}
END_TEST

START_TEST(a_node_that_is_not_there_ends_the_wait)
{
    hami_lease *lease;
    char *uid = add_pod("a");
    ck_assert_int_eq(acquire(&one, "missing", "a", uid, 10000, &lease), HAMI_E_NODE);
    free(uid);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_life");
    TCase *cases = tcase_create("life");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, ten_pods_in_a_row_are_bound_by_guarded_patches_alone_case_1_39);
    tcase_add_test(cases, a_released_lease_leaves_only_the_fence);
    tcase_add_loop_test(cases, a_take_whose_answer_is_lost_is_one_take_case_1_14, 0, 4);
    tcase_add_test(cases,
                   a_lock_that_another_sets_during_the_take_stays_anothers_case_1_12);
    tcase_add_test(cases, a_call_that_never_answers_blocks_nobody_after_it_case_2_09);
    tcase_add_test(cases, a_node_name_of_253_characters_goes_all_the_way_case_2_07);
    tcase_add_test(cases, writers_that_never_rest_hinder_nobody_case_1_47);
    tcase_add_test(cases, an_owner_that_is_never_bound_is_revoked_and_can_bind_no_more);
    tcase_add_test(cases, the_lock_of_a_pod_that_is_gone_is_taken_at_once_case_1_08);
    tcase_add_test(
        cases,
        a_waiter_is_served_though_the_watch_ends_right_before_the_release_case_2_11);
    tcase_add_test(cases,
                   a_crowd_of_waiters_asks_for_little_and_one_of_them_patches_case_1_25);
    tcase_add_test(cases, a_node_that_is_not_there_ends_the_wait);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
