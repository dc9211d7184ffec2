/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls by verb and code, their durations, and the lag of watches.
 */
#include "kubernetes_stand_in.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

static struct world world;
static const int codes[HAMI_KUBERNETES_CODES] = HAMI_KUBERNETES_CODES_INIT;

static void setup(void)
{
    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
}

static void teardown(void)
{
    world_end(&world);
}

static struct hami_kubernetes_calls calls(void)
{
    struct hami_kubernetes_calls found = HAMI_KUBERNETES_CALLS_INIT;

    ck_assert_int_eq(hami_kubernetes_calls(world.client, &found), 0);
    return found;
}

static uint64_t answers(enum hami_kubernetes_verb verb, int code)
{
    struct hami_kubernetes_calls found = calls();
    size_t place = 0;

    while (place < HAMI_KUBERNETES_CODES - 1 && codes[place] != code) {
        place++;
    }
    return found.answers[verb][place];
}

static uint64_t count_of(const struct hami_kubernetes_times *times)
{
    uint64_t count = 0;

    for (size_t i = 0; i <= HAMI_KUBERNETES_BOUNDS; i++) {
        count += times->counts[i];
    }
    return count;
}

/* The code of the answer, or of there being none. */
static int ask(enum hami_kubernetes_method method, const char *path, const char *body,
               uint64_t timeout_ms)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_kubernetes_answer *answer = NULL;
    int code;

    request.method = method;
    request.path = path;
    request.body = body;
    request.body_length = body != NULL ? strlen(body) : 0;
    request.content_type =
        method == HAMI_KUBERNETES_PATCH ? "application/merge-patch+json" : NULL;
    request.deadline_ns = hami_kubernetes_in_ms(timeout_ms);
    code = hami_kubernetes_request(world.client, &request, &answer, NULL);
    code = code == 0 ? answer->status : code;
    (void)hami_kubernetes_answer_free(answer);
    return code;
}

static void arm(const char *verb, enum kubesim_action action, int status)
{
    struct kubesim_fault fault = {
        .match = {.verb = verb}, .count = 1, .action = action, .status = status};

    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

START_TEST(answers_are_counted_by_verb_and_code)
{
    static const char lease[] = "{\"metadata\":{\"name\":\"l\"}}";
    static const char leases[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    static const char one[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";

    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes/n1", NULL, 5000), 200);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes/n2", NULL, 5000), 404);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes?limit=1", NULL, 5000), 200);
    ck_assert_int_eq(
        ask(HAMI_KUBERNETES_GET, "/api/v1/namespaces/default/pods", NULL, 5000), 200);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_POST, leases, lease, 5000), 201);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_POST, leases, lease, 5000), 409);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_PATCH, one, "{}", 5000), 200);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_DELETE, one, NULL, 5000), 200);
    arm("get", KUBESIM_STATUS, 418);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes/n1", NULL, 5000), 418);
    arm("get", KUBESIM_HANG_BEFORE, 0);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes/n1", NULL, 50),
                     HAMI_E_IN_DOUBT);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_GET, 200), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_GET, 404), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_GET, -1), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_GET, 0), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_LIST, 200), 2);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_CREATE, 201), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_CREATE, 409), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_PATCH, 200), 1);
    ck_assert_uint_eq(answers(HAMI_KUBERNETES_VERB_DELETE, 200), 1);
}
END_TEST

/* How long the server took is in one of the later counts, and in the sum. */
START_TEST(durations_are_from_the_send_to_the_answer)
{
    struct kubesim_fault slow = {
        .match = {.verb = "get"}, .count = 1, .delay_answer_ms = 100};
    struct hami_kubernetes_calls found;

    ck_assert_int_gt(kubesim_arm(world.sim, &slow), 0);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes/n1", NULL, 5000), 200);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_GET, "/api/v1/nodes", NULL, 5000), 200);
    found = calls();
    ck_assert_uint_eq(count_of(&found.durations[HAMI_KUBERNETES_VERB_GET]), 1);
    ck_assert_uint_eq(count_of(&found.durations[HAMI_KUBERNETES_VERB_LIST]), 1);
    ck_assert_uint_ge(found.durations[HAMI_KUBERNETES_VERB_GET].sum_us, 60000);
    for (size_t i = 0; i < 6; i++) { /* up to 50 ms */
        ck_assert_uint_eq(found.durations[HAMI_KUBERNETES_VERB_GET].counts[i], 0);
    }
}
END_TEST

static uint64_t lags(void)
{
    struct hami_kubernetes_calls found = calls();

    return count_of(&found.watch_lag);
}

/* A write of ours is shown by the watch after a while: that while is the lag. */
START_TEST(a_watch_that_is_held_back_has_a_lag)
{
    hami_nodelock *manager = manager_new();
    struct hami_kubernetes_calls found;

    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    ck_assert(wait_synced(&world));
    ck_assert_uint_eq(lags(), 0);
    kubesim_pause_watches(world.sim, true);
    ck_assert_int_eq(ask(HAMI_KUBERNETES_PATCH, "/api/v1/nodes/n1",
                         "{\"metadata\":{\"annotations\":{\"a\":\"b\"}}}", 5000),
                     200);
    ck_assert_uint_eq(lags(), 0);
    uint64_t until = hami_kubernetes_in_ms(60);
    while (hami_kubernetes_now() < until) {
        (void)poll(NULL, 0, 1);
    }
    kubesim_pause_watches(world.sim, false);
    until = hami_kubernetes_in_ms(WAIT_MS);
    while (lags() == 0 && hami_kubernetes_now() < until) {
        (void)poll(NULL, 0, 1);
    }
    found = calls();
    ck_assert_uint_eq(count_of(&found.watch_lag), 1);
    ck_assert_uint_ge(found.watch_lag.sum_us, 60000);
    world.transport->unwatch(world.transport, manager);
    manager_free(manager);
}
END_TEST

/* What others write is not measured: when they did is not known here. */
START_TEST(a_watch_of_others_writes_has_no_lag)
{
    hami_nodelock *manager = manager_new();

    ck_assert_int_eq(world.transport->watch(world.transport, manager), 0);
    ck_assert(wait_synced(&world));
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "nodes", NULL, "n1", LOCK, "x"),
                     200);
    ck_assert_uint_gt(manager_wait(manager, 0, NEWS_OBSERVED, "n1", "x"), 0);
    ck_assert_uint_eq(lags(), 0);
    world.transport->unwatch(world.transport, manager);
    manager_free(manager);
}
END_TEST

START_TEST(counts_of_nobody_and_of_a_fork_are_refused)
{
    struct hami_kubernetes_calls found = HAMI_KUBERNETES_CALLS_INIT;
    int status = 0;
    pid_t child;

    ck_assert_int_eq(hami_kubernetes_calls(NULL, &found), HAMI_E_INVAL);
    ck_assert_int_eq(hami_kubernetes_calls(world.client, NULL), HAMI_E_INVAL);
    child = fork();
    if (child == 0) {
        _exit(hami_kubernetes_calls(world.client, &found) == HAMI_E_FORKED ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes_calls");
    TCase *cases = tcase_create("calls");

    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, answers_are_counted_by_verb_and_code);
    tcase_add_test(cases, durations_are_from_the_send_to_the_answer);
    tcase_add_test(cases, a_watch_that_is_held_back_has_a_lag);
    tcase_add_test(cases, a_watch_of_others_writes_has_no_lag);
    tcase_add_test(cases, counts_of_nobody_and_of_a_fork_are_refused);
    suite_add_tcase(suite, cases);
    return run_suite(suite);
}
