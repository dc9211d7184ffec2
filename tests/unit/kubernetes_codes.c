/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes that the header lists for all that goes by the client, beyond the answers of a
 * server: in a forked child, from the client's last moments, with its queue full, for
 * structs of a newer header.
 */
#include "kubernetes_stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

static struct world world;
static struct hami_lease lease;
static hami_handshake *handshake;
static const char *const ids[] = {"d-0"};
static const struct hami_handshake_container container = {ids, 1};

static void setup(void)
{
    struct hami_handshake_config config = HAMI_HANDSHAKE_CONFIG_INIT;

    world_begin(&world, NULL, NULL);
    world_add_node(&world, "n1");
    config.node = "n1";
    ck_assert_int_eq(hami_handshake_new(world.client, &config, &handshake, NULL), 0);
    lease.view = (struct hami_lease_view){.size = sizeof(lease.view),
                                          .node = "n1",
                                          .owner = {"default", "a", "uid-a"},
                                          .fence = 7,
                                          .owner_version = "1"};
}

static void teardown(void)
{
    handshake = hami_handshake_free(handshake);
    world_end(&world);
}

/* Callbacks that must not come. */
static void no_end(void *data, int code, const struct hami_error *error)
{
    (void)code;
    (void)error;
    *(int *)data = 1;
}

static void no_pod(void *data, int code, const struct hami_kubernetes_pod *pod,
                   const char *text)
{
    (void)pod;
    (void)text;
    no_end(data, code, NULL);
}

static void no_job(void *data, int code, hami_handshake_job *job,
                   const struct hami_error *error)
{
    (void)job;
    no_end(data, code, error);
}

/* Starts one of all that can be started; returns which one gave another code, or 0. With
 * the client on its way out only what needs no handshake: that has gone before (K1). */
static int start_each(int wanted, int *called)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(WAIT_MS);
    const int codes[] = {
        hami_kubernetes_bind_start(world.client, &lease, deadline_ns, no_end, called),
        hami_kubernetes_read_pod_start(world.client, "default", "a", deadline_ns, no_pod,
                                       called),
        handshake == NULL
            ? wanted
            : hami_handshake_begin_start(handshake, "nvidia.com/gpu", &container, 1,
                                         deadline_ns, no_job, called),
        handshake == NULL
            ? wanted
            : hami_handshake_recover_start(handshake, deadline_ns, no_end, called),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i] != wanted) {
            return (int)i + 1;
        }
    }
    return *called ? 100 : 0;
}

/* ---- FORKED ---- */

static int be_forked_child(void)
{
    struct hami_handshake_stats stats = HAMI_HANDSHAKE_STATS_INIT;
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;
    uint64_t deadline_ns = hami_kubernetes_in_ms(WAIT_MS);
    hami_handshake_job *job = NULL;
    int called = 0;
    int wrong = start_each(HAMI_E_FORKED, &called);

    if (wrong != 0) {
        return wrong;
    }
    if (hami_kubernetes_bind(world.client, &lease, deadline_ns, NULL) != HAMI_E_FORKED) {
        return 11;
    }
    if (hami_handshake_begin(handshake, "nvidia.com/gpu", ids, 1, deadline_ns, &job,
                             NULL) != HAMI_E_FORKED) {
        return 12;
    }
    call.resource = "nvidia.com/gpu";
    call.containers = &container;
    call.container_count = 1;
    if (hami_handshake_call_start(handshake, &call, no_job, &called) != HAMI_E_FORKED) {
        return 14;
    }
    return hami_handshake_stats(handshake, &stats) == HAMI_E_FORKED ? 0 : 13;
}

START_TEST(in_a_forked_child_nothing_is_started)
{
    int status = -1;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        _exit(be_forked_child());
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "call %d",
                  WEXITSTATUS(status));
}
END_TEST

/* ---- CLOSED ---- */

static struct {
    int code;  /* of the request that was ended */
    int wrong; /* of start_each() */
    int called;
} last;

/* Runs inside hami_kubernetes_free(): the only moment in which a closed client may be
 * named. */
static void ended_by_free(void *data, const struct hami_kubernetes_answer *answer)
{
    (void)data;
    last.code = answer->code;
    last.wrong = start_each(HAMI_E_CLOSED, &last.called);
}

static void start_hanging(hami_kubernetes_answered_fn answered)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;

    request.path = "/api/v1/nodes/n1";
    request.deadline_ns = hami_kubernetes_in_ms(6 * WAIT_MS);
    ck_assert_int_eq(
        hami_kubernetes_request_start(world.client, &request, answered, NULL), 0);
}

static void hang_reads_of_the_node(void)
{
    struct kubesim_fault fault = {.match = {.verb = "get", .resource = "nodes"},
                                  .action = KUBESIM_HANG_BEFORE};

    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
}

START_TEST(a_client_that_is_being_freed_starts_nothing)
{
    struct kubesim_match get = {.verb = "get", .resource = "nodes"};

    last.wrong = -1;
    hang_reads_of_the_node();
    start_hanging(ended_by_free);
    ck_assert(kubesim_wait_count(world.sim, &get, 1, WAIT_MS));
    handshake = hami_handshake_free(handshake);
    world.transport = hami_kubernetes_transport_free(world.transport);
    world.client = hami_kubernetes_free(world.client);
    ck_assert_int_eq(last.code, HAMI_E_CLOSED);
    ck_assert_msg(last.wrong == 0, "call %d", last.wrong);
}
END_TEST

/* ---- LIMIT ---- */

#define IN_FLIGHT 64 /* at a time, unless configured */

static void ignore_answer(void *data, const struct hami_kubernetes_answer *answer)
{
    (void)data;
    (void)answer;
}

START_TEST(with_ten_thousand_waiting_one_more_is_refused)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct kubesim_match get = {.verb = "get", .resource = "nodes"};
    uint64_t deadline_ns = hami_kubernetes_in_ms(WAIT_MS);
    int called = 0, accepted = 0;

    hang_reads_of_the_node();
    request.path = "/api/v1/nodes/n1";
    request.deadline_ns = hami_kubernetes_in_ms(6 * WAIT_MS);
    while (accepted < 20000 && hami_kubernetes_request_start(world.client, &request,
                                                             ignore_answer, NULL) == 0) {
        if (++accepted == IN_FLIGHT) {
            /* Nobody leaves the queue for a place in flight any more. */
            ck_assert(kubesim_wait_count(world.sim, &get, IN_FLIGHT, WAIT_MS));
        }
    }
    ck_assert_int_lt(accepted, 20000);
    ck_assert_int_eq(
        hami_kubernetes_bind_start(world.client, &lease, deadline_ns, no_end, &called),
        HAMI_E_LIMIT);
    ck_assert_int_eq(hami_kubernetes_read_pod_start(world.client, "default", "a",
                                                    deadline_ns, no_pod, &called),
                     HAMI_E_LIMIT);
    /* Of the blocking form LIMIT is no answer: surely not sent is what it comes to. */
    ck_assert_int_eq(hami_kubernetes_bind(world.client, &lease, deadline_ns, NULL),
                     HAMI_E_TRANSPORT);
    ck_assert_int_eq(called, 0);
}
END_TEST

/* ---- ABI, INVAL ---- */

#define NEWER(type, name)                                                                \
    struct {                                                                             \
        type known;                                                                      \
        uint64_t more;                                                                   \
    } name = {.more = 1};                                                                \
    memcpy(&name.known, &(size_t){sizeof(name)}, sizeof(size_t))

START_TEST(a_set_member_of_a_newer_struct_is_refused)
{
    NEWER(struct hami_kubernetes_config, config);
    NEWER(struct hami_kubernetes_transport_config, transport_config);
    NEWER(struct hami_handshake_config, handshake_config);
    struct hami_transport *transport = NULL;
    hami_handshake *other = NULL;

    ck_assert_int_eq(hami_kubernetes_config_from_environment(&config.known), HAMI_E_ABI);
    ck_assert_int_eq(hami_kubernetes_transport_new(world.client, &transport_config.known,
                                                   &transport, NULL),
                     HAMI_E_ABI);
    ck_assert_int_eq(
        hami_handshake_new(world.client, &handshake_config.known, &other, NULL),
        HAMI_E_ABI);
    ck_assert_ptr_null(transport);
    ck_assert_ptr_null(other);
}
END_TEST

START_TEST(nothing_in_the_place_of_something_is_answered_not_followed)
{
    struct hami_handshake_stats stats = HAMI_HANDSHAKE_STATS_INIT;
    int called = 0;

    ck_assert_int_eq(hami_handshake_stats(NULL, &stats), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_stats(handshake, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_recover_start(NULL, 0, no_end, &called),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_recover_start(handshake, 0, NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_finish_start(NULL, 0, no_end, &called), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_fail_start(NULL, NULL, 0, no_end, &called),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_finish(NULL, 0, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_handshake_fail(NULL, NULL, 0, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(called, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes codes");
    TCase *tcase = tcase_create("codes");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, in_a_forked_child_nothing_is_started);
    tcase_add_test(tcase, a_client_that_is_being_freed_starts_nothing);
    tcase_add_test(tcase, with_ten_thousand_waiting_one_more_is_refused);
    tcase_add_test(tcase, a_set_member_of_a_newer_struct_is_refused);
    tcase_add_test(tcase, nothing_in_the_place_of_something_is_answered_not_followed);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
