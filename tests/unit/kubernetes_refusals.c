/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the client's blocking functions answer where nothing is sent, or the answer can't
 * be had, and what each function answers that finds no memory on its caller's thread. The
 * linker leads allocations through the functions below (--wrap).
 */
#include "kubernetes_support.h"

#include <hami/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suite.h"

static _Thread_local bool is_out_of_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return is_out_of_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_out_of_memory ? NULL : __real_calloc(count, size);
}

char *__wrap_strdup(const char *text)
{
    return is_out_of_memory ? NULL : __real_strdup(text);
}

static struct fixture fixture;

static void setup(void)
{
    fixture_open(&fixture, NULL);
    fixture.config.answer_bytes_max = 64;
    fixture_connect(&fixture);
}

static void teardown(void)
{
    fixture_close(&fixture);
}

/* ---- requests ---- */

/* Asserts nothing, since that allocates. */
static int request_within(uint64_t ms)
{
    struct hami_kubernetes_request request = get_node();
    struct hami_kubernetes_answer *answer = NULL;

    request.deadline_ns = ms > 0 ? hami_kubernetes_in_ms(ms) : 1;
    int code = hami_kubernetes_request(fixture.client, &request, &answer, NULL);
    return answer == NULL ? code : 0;
}

START_TEST(a_request_tells_why_there_is_no_answer)
{
    ck_assert_int_eq(request_within(0), HAMI_E_TIMEDOUT);
    ck_assert_int_eq(request_within(WAIT_MS), HAMI_E_LIMIT);
    is_out_of_memory = true;
    int code = request_within(WAIT_MS);
    is_out_of_memory = false;
    ck_assert_int_eq(code, HAMI_E_NOMEM);
    kubesim_stop(fixture.sim);
    ck_assert_int_eq(request_within(300), HAMI_E_TRANSPORT);
}
END_TEST

START_TEST(a_request_of_a_newer_header_is_refused)
{
    struct {
        struct hami_kubernetes_request known;
        uint64_t more;
    } request = {.more = 1};
    struct hami_kubernetes_answer *answer = NULL;

    memcpy(&request.known, &(size_t){sizeof(request)}, sizeof(size_t));
    ck_assert_int_eq(
        hami_kubernetes_request(fixture.client, &request.known, &answer, NULL),
        HAMI_E_ABI);
    ck_assert_ptr_null(answer);
}
END_TEST

/* ---- the login ---- */

START_TEST(a_login_that_needs_a_credential_plugin_is_not_supported)
{
    struct hami_kubernetes_config config = HAMI_KUBERNETES_CONFIG_INIT;
    char *path = write_file(fixture.directory, "plugin",
                            "apiVersion: v1\nkind: Config\ncurrent-context: x\n"
                            "clusters:\n- name: c\n  cluster: {server: 'https://a'}\n"
                            "contexts:\n- name: x\n  context: {cluster: c, user: u}\n"
                            "users:\n- name: u\n  user:\n    exec: {command: aws}\n");
    hami_kubernetes *client = NULL;

    config.kubeconfig = path;
    ck_assert_int_eq(hami_kubernetes_new(&config, &client, NULL), HAMI_E_NOTSUP);
    ck_assert_ptr_null(client);
    free(path);
}
END_TEST

/* ---- what is made from a client ---- */

START_TEST(without_memory_no_transport_is_made)
{
    struct hami_kubernetes_lease_transport_config config =
        HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
    struct hami_transport *transport = NULL;

    config.namespace_name = "locks";
    is_out_of_memory = true;
    int lease =
        hami_kubernetes_lease_transport_new(fixture.client, &config, &transport, NULL);
    int node = hami_kubernetes_transport_new(fixture.client, NULL, &transport, NULL);
    is_out_of_memory = false;
    ck_assert_int_eq(lease, HAMI_E_NOMEM);
    ck_assert_int_eq(node, HAMI_E_NOMEM);
    ck_assert_ptr_null(transport);
}
END_TEST

/* ---- binds ---- */

static void no_end(void *data, int code, const struct hami_error *error)
{
    (void)code;
    (void)error;
    *(int *)data = 1;
}

START_TEST(a_bind_needs_memory_and_a_lease_whose_manager_lives)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(WAIT_MS);
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;
    hami_memory *store = NULL;
    hami_nodelock *lock = NULL;
    hami_lease *lease = NULL;
    int called = 0;

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    config.transport = hami_memory_transport(store);
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, NULL), 0);
    request.node = "n1";
    request.owner = (struct hami_owner){"default", "a", "uid-a"};
    request.deadline_ns = hami_nodelock_in_ms(lock, WAIT_MS);
    ck_assert_int_eq(hami_nodelock_acquire(lock, &request, &lease, NULL), 0);
    is_out_of_memory = true;
    int blocking = hami_kubernetes_bind(fixture.client, lease, deadline_ns, NULL);
    int started =
        hami_kubernetes_bind_start(fixture.client, lease, deadline_ns, no_end, &called);
    is_out_of_memory = false;
    ck_assert_int_eq(blocking, HAMI_E_NOMEM);
    ck_assert_int_eq(started, HAMI_E_NOMEM);
    hami_nodelock_free(lock);
    ck_assert_int_eq(hami_kubernetes_bind(fixture.client, lease, deadline_ns, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(
        hami_kubernetes_bind_start(fixture.client, lease, deadline_ns, no_end, &called),
        HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_handoff(lease), HAMI_E_CLOSED);
    ck_assert_int_eq(called, 0);
    ck_assert_uint_eq(kubesim_count(fixture.sim, NULL), 0);
    hami_memory_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kubernetes refusals");
    TCase *tcase = tcase_create("refusals");

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_request_tells_why_there_is_no_answer);
    tcase_add_test(tcase, a_request_of_a_newer_header_is_refused);
    tcase_add_test(tcase, a_login_that_needs_a_credential_plugin_is_not_supported);
    tcase_add_test(tcase, without_memory_no_transport_is_made);
    tcase_add_test(tcase, a_bind_needs_memory_and_a_lease_whose_manager_lives);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
