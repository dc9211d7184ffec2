/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bindings against kubesim, with faults: every way in which one can end.
 */
#include "kubernetes_stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#define REVOKED HAMI_HANDSHAKE_REVOKED_KEY

static struct world world;
static struct hami_lease lease;
static char *uid;
static char *version;

/* The lease as if the pod had been read now. */
static void read_lease(void)
{
    free(uid);
    free(version);
    uid = kubesim_text(world.sim, "pods", "default", "a", "/metadata/uid");
    version =
        kubesim_text(world.sim, "pods", "default", "a", "/metadata/resourceVersion");
    lease.view = (struct hami_lease_view){.size = sizeof(lease.view),
                                          .node = "n1",
                                          .owner = {"default", "a", uid},
                                          .fence = 77,
                                          .owner_version = version};
}

static void add_pod(void)
{
    struct kubesim_pod pod = {
        .namespace_name = "default", .name = "a", .scheduler = "hami"};
    ck_assert_int_eq(kubesim_create_pod(world.sim, &pod), 201);
}

static void setup(void)
{
    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
    world_add_node(&world, "n2");
    add_pod();
    read_lease();
}

static void teardown(void)
{
    free(uid);
    free(version);
    uid = version = NULL;
    world_end(&world);
}

static unsigned sends(void)
{
    return kubesim_count(world.sim, &(struct kubesim_match){.verb = "create",
                                                            .resource = "pods",
                                                            .subresource = "binding",
                                                            .user = "admin"});
}

static void arm(enum kubesim_action action, int status, unsigned count)
{
    struct kubesim_fault fault = {
        .match = {.verb = "create", .resource = "pods", .subresource = "binding"},
        .count = count,
        .action = action,
        .status = status};
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

static int bind_within(uint64_t timeout_ms, struct hami_error *error)
{
    *error = (struct hami_error)HAMI_ERROR_INIT;
    return hami_kubernetes_bind(world.client, &lease, hami_kubernetes_in_ms(timeout_ms),
                                error);
}

static void expect_bound(const char *node)
{
    char *found = kubesim_text(world.sim, "pods", "default", "a", "/spec/nodeName");
    ck_assert_msg(node == NULL ? found == NULL
                               : found != NULL && strcmp(found, node) == 0,
                  "bound to %s", found != NULL ? found : "nothing");
    free(found);
}

START_TEST(a_binding_writes_node_phase_time_and_fence_at_once)
{
    struct hami_error error;
    ck_assert_int_eq(bind_within(5000, &error), 0);
    expect_bound("n1");
    expect_annotation(&world, "pods", "default", "a", "hami.io/bind-phase", "allocating");
    expect_annotation(&world, "pods", "default", "a", "hami.io/mutex.fence", "77");
    char *time =
        kubesim_annotation(world.sim, "pods", "default", "a", "hami.io/bind-time");
    ck_assert_ptr_nonnull(time);
    ck_assert_uint_gt(strtoull(time, NULL, 10), 1600000000);
    free(time);
    ck_assert_uint_eq(sends(), 1);
    ck_assert_uint_eq(
        kubesim_count(world.sim, &(struct kubesim_match){.verb = "get", .user = "admin"}),
        0);
}
END_TEST

START_TEST(a_pod_that_is_bound_here_already_is_success)
{
    struct hami_error error;
    kubesim_bind(world.sim, "default", "a", "n1");
    ck_assert_int_eq(bind_within(5000, &error), 0);
    ck_assert_uint_eq(sends(), 1);
}
END_TEST

START_TEST(a_pod_that_changed_harmlessly_is_bound_by_its_new_version)
{
    struct hami_error error;
    kubesim_set_annotation(world.sim, "pods", "default", "a", "other", "1");
    ck_assert_int_eq(bind_within(5000, &error), 0);
    expect_bound("n1");
    ck_assert_uint_eq(sends(), 2);
    expect_annotation(&world, "pods", "default", "a", "other", "1");
}
END_TEST

START_TEST(a_lease_without_a_version_reads_one_first)
{
    struct hami_error error;
    lease.view.owner_version = NULL;
    ck_assert_int_eq(bind_within(5000, &error), 0);
    expect_bound("n1");
    ck_assert_uint_eq(sends(), 1);
    ck_assert_uint_eq(
        kubesim_count(world.sim, &(struct kubesim_match){.verb = "create",
                                                         .subresource = "binding",
                                                         .body = "resourceVersion"}),
        1);
}
END_TEST

START_TEST(a_revoked_binding_is_lost)
{
    struct hami_error error;
    kubesim_set_annotation(world.sim, "pods", "default", "a", REVOKED, "n1,77,h,2");
    ck_assert_int_eq(bind_within(5000, &error), HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "revoked"));
    expect_bound(NULL);
    ck_assert_uint_eq(sends(), 1);
}
END_TEST

START_TEST(a_revocation_from_before_the_take_does_no_harm)
{
    struct hami_error error;
    kubesim_set_annotation(world.sim, "pods", "default", "a", REVOKED, "n1,76,h,2");
    read_lease();
    lease.view.owner_revoked = "n1,76,h,2";
    kubesim_set_annotation(world.sim, "pods", "default", "a", "other", "1");
    ck_assert_int_eq(bind_within(5000, &error), 0);
    expect_bound("n1");
}
END_TEST

static void lose_to_elsewhere(void)
{
    kubesim_bind(world.sim, "default", "a", "n2");
}

static void lose_to_assignment(void)
{
    kubesim_set_annotation(world.sim, "pods", "default", "a", "hami.io/vgpu-node", "n2");
}

static void lose_to_deletion(void)
{
    kubesim_delete(world.sim, "pods", "default", "a");
}

static void lose_to_another(void)
{
    kubesim_delete(world.sim, "pods", "default", "a");
    add_pod();
}

START_TEST(a_pod_that_can_never_be_bound_by_us_is_lost)
{
    static void (*const ways[])(void) = {lose_to_elsewhere, lose_to_assignment,
                                         lose_to_deletion, lose_to_another};
    static const char *const words[] = {"another node", "assigned", "gone", "another of"};
    struct hami_error error;
    ways[_i]();
    ck_assert_int_eq(bind_within(5000, &error), HAMI_E_LOST);
    ck_assert_msg(strstr(error.text, words[_i]) != NULL, "%s", error.text);
    ck_assert_int_eq(error.code, HAMI_E_LOST);
}
END_TEST

START_TEST(a_binding_whose_answer_is_lost_is_read_back)
{
    static const enum kubesim_action actions[] = {
        KUBESIM_DROP_AFTER,   KUBESIM_RESET_AFTER, KUBESIM_TWICE,
        KUBESIM_TWICE_SECOND, KUBESIM_HANG_AFTER,  KUBESIM_STATUS_AFTER};
    struct hami_error error;
    arm(actions[_i], 500, 1);
    int code = bind_within(2000, &error);
    ck_assert_msg(code == 0, "%d: %s", code, error.text);
    expect_bound("n1");
    ck_assert_uint_eq(sends(), _i == 2 || _i == 3 ? 2 : 1);
}
END_TEST

START_TEST(a_binding_that_was_perhaps_not_carried_out_is_in_doubt)
{
    static const enum kubesim_action actions[] = {KUBESIM_DROP_BEFORE,
                                                  KUBESIM_HANG_BEFORE, KUBESIM_STATUS};
    struct hami_error error;
    arm(actions[_i], 500, 1);
    int code = bind_within(1500, &error);
    ck_assert_msg(code == HAMI_E_IN_DOUBT, "%d: %s", code, error.text);
    expect_bound(NULL);
    ck_assert_uint_eq(sends(), 1);
}
END_TEST

START_TEST(a_refusal_that_is_none_of_the_pods_is_told_as_it_is)
{
    static const struct {
        int status;
        int code;
        unsigned sends;
    } rows[] = {{403, HAMI_E_ACCESS, 1},
                {400, HAMI_E_PROTO, 1},
                {409, HAMI_E_PROTO, 3},
                {404, HAMI_E_NODE, 1}};
    struct hami_error error;
    arm(KUBESIM_STATUS, rows[_i].status, 0);
    int code = bind_within(5000, &error);
    ck_assert_msg(code == rows[_i].code, "%d: %s", code, error.text);
    ck_assert_int_eq(error.status, rows[_i].status);
    ck_assert_uint_eq(sends(), rows[_i].sends);
    expect_bound(NULL);
}
END_TEST

START_TEST(a_busy_server_is_waited_for_and_then_surely_not_bound)
{
    struct hami_error error;
    struct kubesim_fault fault = {.match = {.verb = "create", .subresource = "binding"},
                                  .count = 1,
                                  .action = KUBESIM_STATUS,
                                  .status = 429,
                                  .retry_after = -1};
    kubesim_arm(world.sim, &fault);
    ck_assert_int_eq(bind_within(5000, &error), 0);
    ck_assert_uint_eq(sends(), 2);
    teardown();
    setup();
    fault.count = 0;
    fault.retry_after = 60;
    kubesim_arm(world.sim, &fault);
    int code = bind_within(500, &error);
    ck_assert_msg(code == HAMI_E_TRANSPORT || code == HAMI_E_TIMEDOUT, "%d: %s", code,
                  error.text);
    expect_bound(NULL);
}
END_TEST

START_TEST(a_deadline_in_the_past_sends_nothing)
{
    struct hami_error error = HAMI_ERROR_INIT;
    ck_assert_int_eq(hami_kubernetes_bind(world.client, &lease, 1, &error),
                     HAMI_E_TIMEDOUT);
    ck_assert_int_eq(hami_kubernetes_bind(world.client, &lease, 0, &error),
                     HAMI_E_TIMEDOUT);
    ck_assert_uint_eq(sends(), 0);
}
END_TEST

START_TEST(a_server_that_is_gone_is_surely_not_reached)
{
    struct hami_error error;
    kubesim_stop(world.sim);
    int code = bind_within(1000, &error);
    ck_assert_msg(code == HAMI_E_TRANSPORT || code == HAMI_E_TIMEDOUT, "%d: %s", code,
                  error.text);
}
END_TEST

static void ignore(void *data, int code, const struct hami_error *error)
{
    (void)data;
    (void)code;
    (void)error;
}

START_TEST(arguments_are_checked)
{
    ck_assert_int_eq(hami_kubernetes_bind(NULL, &lease, 1, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_bind(world.client, NULL, 1, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_bind_start(world.client, &lease, 1, NULL, NULL),
                     HAMI_E_INVAL);
    lease.view.owner.name = "../a";
    ck_assert_int_eq(hami_kubernetes_bind_start(world.client, &lease, 1, ignore, NULL),
                     HAMI_E_INVAL);
    ck_assert_uint_eq(sends(), 0);
}
END_TEST

struct within {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool done;
    int inner;
};

static void bind_from_inside(void *data, int code, const struct hami_error *error)
{
    struct within *within = data;
    (void)code;
    (void)error;
    int inner =
        hami_kubernetes_bind(world.client, &lease, hami_kubernetes_in_ms(100), NULL);
    pthread_mutex_lock(&within->mutex);
    within->inner = inner;
    within->done = true;
    pthread_cond_signal(&within->ended);
    pthread_mutex_unlock(&within->mutex);
}

START_TEST(the_blocking_form_is_refused_on_the_clients_own_thread)
{
    struct within within = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false,
                            0};
    ck_assert_int_eq(hami_kubernetes_bind_start(world.client, &lease,
                                                hami_kubernetes_in_ms(5000),
                                                bind_from_inside, &within),
                     0);
    pthread_mutex_lock(&within.mutex);
    while (!within.done) {
        pthread_cond_wait(&within.ended, &within.mutex);
    }
    pthread_mutex_unlock(&within.mutex);
    ck_assert_int_eq(within.inner, HAMI_E_INVAL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_binding");
    TCase *cases = tcase_create("binding");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, a_binding_writes_node_phase_time_and_fence_at_once);
    tcase_add_test(cases, a_pod_that_is_bound_here_already_is_success);
    tcase_add_test(cases, a_pod_that_changed_harmlessly_is_bound_by_its_new_version);
    tcase_add_test(cases, a_lease_without_a_version_reads_one_first);
    tcase_add_test(cases, a_revoked_binding_is_lost);
    tcase_add_test(cases, a_revocation_from_before_the_take_does_no_harm);
    tcase_add_loop_test(cases, a_pod_that_can_never_be_bound_by_us_is_lost, 0, 4);
    tcase_add_loop_test(cases, a_binding_whose_answer_is_lost_is_read_back, 0, 6);
    tcase_add_loop_test(cases, a_binding_that_was_perhaps_not_carried_out_is_in_doubt, 0,
                        3);
    tcase_add_loop_test(cases, a_refusal_that_is_none_of_the_pods_is_told_as_it_is, 0, 4);
    tcase_add_test(cases, a_busy_server_is_waited_for_and_then_surely_not_bound);
    tcase_add_test(cases, a_deadline_in_the_past_sends_nothing);
    tcase_add_test(cases, a_server_that_is_gone_is_surely_not_reached);
    tcase_add_test(cases, arguments_are_checked);
    tcase_add_test(cases, the_blocking_form_is_refused_on_the_clients_own_thread);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
