/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a waiter of the Kubernetes transport waits for: a server that is busy, a watch
 * that ended. */
#include <hami/nodelock.h>
#include <hami/transport.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes_support.h"
#include "suite.h"

#define LOCK HAMI_NODELOCK_KEY
#define SECOND UINT64_C(1000000000)

static struct fixture fixture;
static struct hami_transport *transport;
static hami_nodelock *lock;

static void setup(void)
{
    struct hami_kubernetes_transport_config transport_config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    fixture_open(&fixture, NULL);
    fixture_connect(&fixture);
    ck_assert_int_eq(hami_kubernetes_transport_new(fixture.client, &transport_config,
                                                   &transport, NULL),
                     0);
    config.transport = transport;
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, NULL), 0);
}

static void teardown(void)
{
    (void)hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, 10000));
    lock = hami_nodelock_free(lock);
    transport = hami_kubernetes_transport_free(transport);
    fixture_close(&fixture);
}

static char *add_pod(const char *name)
{
    struct kubesim_pod pod = {.name = name};

    ck_assert_int_eq(kubesim_create_pod(fixture.sim, &pod), 201);
    return kubesim_text(fixture.sim, "pods", "default", name, "/metadata/uid");
}

static struct hami_nodelock_request request_of(const char *name, const char *uid,
                                               uint64_t ms)
{
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;

    request.node = "n1";
    request.owner = (struct hami_owner){"default", name, uid};
    request.deadline_ns = hami_nodelock_in_ms(lock, ms);
    return request;
}

static const struct {
    int retry_after;
    const char *text;
} busy_servers[] = {
    {30, "429"},           /* longer than a call may last: told at once, tried again */
    {2, "not answered a"}, /* waited for in the client, past the caller's deadline */
};

START_TEST(an_acquire_behind_a_busy_server_ends_by_its_deadline_and_says_why_case_2_03)
{
    struct kubesim_fault busy = {.match = {.verb = "patch", .resource = "nodes"},
                                 .action = KUBESIM_STATUS,
                                 .status = 429,
                                 .retry_after = busy_servers[_i].retry_after};
    struct hami_kubernetes_stats stats = HAMI_KUBERNETES_STATS_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    char *uid = add_pod("a");

    int id = kubesim_arm(fixture.sim, &busy);
    struct hami_nodelock_request request = request_of("a", uid, 700);
    uint64_t began = hami_nodelock_now(lock);
    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &lease, &error),
                     HAMI_E_TIMEDOUT);
    ck_assert_uint_lt(hami_nodelock_now(lock) - began, 2 * SECOND);
    ck_assert_msg(strstr(error.text, busy_servers[_i].text) != NULL, "%s", error.text);
    kubesim_disarm(fixture.sim, id);
    request = request_of("a", uid, WAIT_MS);
    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &lease, &error), 0);
    ck_assert_int_eq(hami_kubernetes_stats(fixture.client, &stats), 0);
    ck_assert(_i == 0 || stats.local_wait_ns > SECOND);
    ck_assert_int_eq(hami_lease_handoff(lease), 0);
    free(uid);
}
END_TEST

static pthread_mutex_t told_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t told_changed = PTHREAD_COND_INITIALIZER;
static uint64_t told_ns;
static hami_lease *told_lease;

static void hear(void *data, int code, hami_lease *lease, const struct hami_error *error)
{
    (void)data;
    (void)error;
    (void)pthread_mutex_lock(&told_mutex);
    told_ns = hami_nodelock_now(lock);
    told_lease = code == 0 ? lease : NULL;
    (void)pthread_cond_signal(&told_changed);
    (void)pthread_mutex_unlock(&told_mutex);
}

START_TEST(a_waiter_is_served_within_a_second_of_a_release_under_a_410_case_2_11)
{
    hami_lease *held = NULL;
    char *a = add_pod("a"), *b = add_pod("b");
    struct hami_nodelock_request request = request_of("a", a, WAIT_MS);
    struct kubesim_match look = {
        .verb = "get", .resource = "pods", .name = "a", .user = "admin"};

    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &held, NULL), 0);
    ck_assert_int_eq(
        hami_kubernetes_bind(fixture.client, held, hami_kubernetes_in_ms(5000), NULL), 0);
    ck_assert_int_eq(hami_lease_handoff(held), 0);
    kubesim_forget_log(fixture.sim);
    request = request_of("b", b, WAIT_MS);
    ck_assert_int_eq(hami_nodelock_acquire_start(lock, &request, hear, NULL, NULL), 0);
    ck_assert(kubesim_wait_count(fixture.sim, &look, 1, WAIT_MS));
    kubesim_expire_watches(fixture.sim, "nodes");
    uint64_t released = hami_nodelock_now(lock);
    ck_assert_int_eq(kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", LOCK, NULL),
                     200);
    (void)pthread_mutex_lock(&told_mutex);
    while (told_ns == 0) {
        (void)pthread_cond_wait(&told_changed, &told_mutex);
    }
    (void)pthread_mutex_unlock(&told_mutex);
    ck_assert_ptr_nonnull(told_lease);
    ck_assert_uint_lt(told_ns - released, SECOND);
    ck_assert_int_eq(hami_lease_handoff(told_lease), 0);
    free(a);
    free(b);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("waiting");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 60);
    tcase_add_loop_test(
        all, an_acquire_behind_a_busy_server_ends_by_its_deadline_and_says_why_case_2_03,
        0, 2);
    tcase_add_test(all,
                   a_waiter_is_served_within_a_second_of_a_release_under_a_410_case_2_11);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
