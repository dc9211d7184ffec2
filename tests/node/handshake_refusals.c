/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node side answers that finds no memory on its caller's thread, a device string
 * that fits no call, or a server that fails it just when a job ends badly. The linker
 * leads allocations through the functions below (--wrap).
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client_fixture.h"

static _Thread_local bool is_out_of_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return is_out_of_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_out_of_memory ? NULL : __real_calloc(count, size);
}

/* Callbacks that must not come. */
static void no_end(void *data, int code, const struct hami_error *ignored)
{
    (void)code;
    (void)ignored;
    *(int *)data = 1;
}

static void no_job(void *data, int code, hami_handshake_job *job,
                   const struct hami_error *ignored)
{
    (void)job;
    no_end(data, code, ignored);
}

START_TEST(without_memory_nothing_is_started_and_a_job_is_consumed_unwritten)
{
    uint64_t deadline_ns = hami_kubernetes_in_ms(5000);
    struct hami_handshake_container container = {device_ids, 1};
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;
    hami_handshake_job *jobs[4], *none = NULL;
    int called = 0;

    call.resource = WORLD_GPU;
    call.containers = &container;
    call.container_count = 1;
    call.deadline_ns = deadline_ns;
    for (size_t i = 0; i < 4; i++) {
        jobs[i] = begin_well(1);
    }
    is_out_of_memory = true;
    const int codes[] = {
        hami_handshake_finish(jobs[0], deadline_ns, NULL),
        hami_handshake_fail(jobs[1], NULL, deadline_ns, NULL),
        hami_handshake_finish_start(jobs[2], deadline_ns, no_end, &called),
        hami_handshake_fail_start(jobs[3], NULL, deadline_ns, no_end, &called),
        hami_handshake_recover_start(handshake, deadline_ns, no_end, &called),
        hami_handshake_begin(handshake, WORLD_GPU, device_ids, 1, deadline_ns, &none,
                             NULL),
        hami_handshake_begin_start(handshake, WORLD_GPU, &container, 1, deadline_ns,
                                   no_job, &called),
        hami_handshake_call_start(handshake, &call, no_job, &called),
    };
    is_out_of_memory = false;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        ck_assert_msg(codes[i] == HAMI_E_NOMEM, "call %zu: %s", i,
                      hami_errname(codes[i]));
    }
    ck_assert_int_eq(called, 0);
    ck_assert_uint_eq(world_writes(&world), 0);
    finish_well(begin_well(1));
}
END_TEST

START_TEST(a_call_of_a_newer_header_is_refused)
{
    struct {
        struct hami_handshake_call known;
        uint64_t more;
    } call = {.more = 1};
    int called = 0;

    memcpy(&call.known, &(size_t){sizeof(call)}, sizeof(size_t));
    ck_assert_int_eq(hami_handshake_call_start(handshake, &call.known, no_job, &called),
                     HAMI_E_ABI);
    ck_assert_int_eq(called, 0);
}
END_TEST

static const struct {
    const char *devices;
    int code;
} strings[] = {{"GPU-1,NVIDIA,1000,10:GPU-2,NVIDIA,1000,10:;", HAMI_E_LIMIT},
               {"GPU-1,NVIDIA:;", HAMI_E_PROTO}};

START_TEST(a_device_string_that_fits_no_call_is_told)
{
    static const unsigned asks[] = {1, 0};
    hami_handshake_job *job = NULL;

    set_up();
    world_pod(&world, "a", asks, strings[_i].devices);
    world_lock(&world, "a");
    ck_assert_int_eq(begin(1, &job), strings[_i].code);
    ck_assert_ptr_null(job);
    ck_assert_uint_eq(world_writes(&world), 0);
    tear_down();
}
END_TEST

/* ---- a job that ends badly, with a server that fails, too ---- */

static const struct {
    enum kubesim_action action;
    int status, code;
} faults[] = {{KUBESIM_STATUS, 400, HAMI_E_PROTO},
              {KUBESIM_HANG_AFTER, 0, HAMI_E_IN_DOUBT}};

START_TEST(a_failure_that_could_not_be_written_is_told_and_goes_on_behind)
{
    struct kubesim_fault fault = {
        .match = {.verb = "patch", .resource = "pods", .user = "admin"},
        .action = faults[_i].action,
        .status = faults[_i].status,
        .count = 1};
    uint64_t ms = faults[_i].code == HAMI_E_IN_DOUBT ? 300 : 5000;
    hami_handshake_job *job = begin_well(1);

    if (faults[_i].code == HAMI_E_IN_DOUBT) {
        /* What could tell how it ended hangs, too. */
        struct kubesim_fault read = {
            .match = {.verb = "get", .resource = "pods", .user = "admin"},
            .action = KUBESIM_HANG_BEFORE,
            .count = 1};
        ck_assert_int_gt(kubesim_arm(world.sim, &read), 0);
    }
    ck_assert_int_gt(kubesim_arm(world.sim, &fault), 0);
    ck_assert_int_eq(hami_handshake_fail(job, "why", hami_kubernetes_in_ms(ms), &error),
                     faults[_i].code);
}
END_TEST

START_TEST(a_failure_that_could_not_be_sent_is_told)
{
    hami_handshake_job *job = begin_well(1);

    kubesim_stop(world.sim);
    ck_assert_int_eq(hami_handshake_fail(job, NULL, hami_kubernetes_in_ms(300), &error),
                     HAMI_E_TRANSPORT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake refusals");
    TCase *cases = tcase_create("refusals"), *bare = tcase_create("bare");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_set_timeout(cases, 60);
    tcase_set_timeout(bare, 60);
    tcase_add_checked_fixture(cases, set_up_pod, tear_down);
    tcase_add_test(cases,
                   without_memory_nothing_is_started_and_a_job_is_consumed_unwritten);
    tcase_add_test(cases, a_call_of_a_newer_header_is_refused);
    tcase_add_loop_test(cases,
                        a_failure_that_could_not_be_written_is_told_and_goes_on_behind, 0,
                        sizeof(faults) / sizeof(faults[0]));
    tcase_add_test(cases, a_failure_that_could_not_be_sent_is_told);
    tcase_add_loop_test(bare, a_device_string_that_fits_no_call_is_told, 0,
                        sizeof(strings) / sizeof(strings[0]));
    suite_add_tcase(suite, cases);
    suite_add_tcase(suite, bare);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
