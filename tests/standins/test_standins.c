/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the stand-ins that decide something: turns, back-off, permits, login. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "burst.h"
#include "duration.h"
#include "kubeconfig.h"
#include "turns.h"
#include "suite.h"

static const char *const two_nodes[] = {"first", "second"};

static void create_all(struct burst *burst)
{
    for (size_t i = 0; i < burst->pod_count; i++) {
        burst->pods[i].place = BURST_QUEUED;
        burst->pods[i].due_ms = 0;
    }
}

START_TEST(backoff_doubles_from_one_second_to_ten)
{
    static const int64_t expected[] = {1000, 2000, 4000, 8000, 10000, 10000};
    for (unsigned i = 0; i < 6; i++) {
        ck_assert_int_eq(burst_backoff_ms(i + 1), expected[i]);
    }
    ck_assert_int_eq(burst_backoff_ms(4000000000u), 10000);
}
END_TEST

START_TEST(pods_of_a_node_are_created_one_after_another_in_order)
{
    struct burst burst;
    ck_assert_int_eq(burst_init(&burst, 4, two_nodes, 2, 5), 0);
    struct burst_pod *first = burst_take_new(&burst, 0);
    ck_assert_str_eq(first->name, "burst-0001");
    ck_assert_ptr_null(burst_take_new(&burst, 0));
    ck_assert_str_eq(burst_take_new(&burst, 1)->name, "burst-0002");
    first->place = BURST_QUEUED;
    ck_assert_str_eq(burst_take_new(&burst, 0)->name, "burst-0003");
    burst.pods[2].place = BURST_QUEUED;
    ck_assert_ptr_null(burst_take_new(&burst, 0));
    burst_done(&burst);
}
END_TEST

START_TEST(calls_for_one_node_go_out_in_order_and_apart_and_never_wait_for_an_answer)
{
    struct burst burst;
    ck_assert_int_eq(burst_init(&burst, 4, two_nodes, 1, 5), 0);
    create_all(&burst);
    ck_assert_ptr_eq(burst_take_due(&burst, 0, 98), &burst.pods[0]);
    ck_assert_ptr_null(burst_take_due(&burst, 0, 1000));
    burst_note_sent(&burst, &burst.pods[0], 100);
    burst_note_sent(&burst, &burst.pods[0], 200);
    ck_assert_ptr_null(burst_take_due(&burst, 0, 104));
    ck_assert_int_eq(burst_wait_ms(&burst, 104, 50), 1);
    ck_assert_ptr_eq(burst_take_due(&burst, 0, 105), &burst.pods[1]);
    ck_assert_int_eq(burst.pods[0].place, BURST_BINDING);
    burst_done(&burst);
}
END_TEST

START_TEST(nodes_do_not_wait_for_each_other)
{
    struct burst burst;
    ck_assert_int_eq(burst_init(&burst, 4, two_nodes, 2, 5), 0);
    create_all(&burst);
    ck_assert_ptr_eq(burst_take_due(&burst, 0, 100), &burst.pods[0]);
    ck_assert_ptr_eq(burst_take_due(&burst, 1, 100), &burst.pods[1]);
    burst_done(&burst);
}
END_TEST

START_TEST(a_failed_pod_comes_again_after_its_backoff_with_a_new_filter)
{
    struct burst burst;
    ck_assert_int_eq(burst_init(&burst, 1, two_nodes, 1, 5), 0);
    create_all(&burst);
    struct burst_pod *pod = burst_take_due(&burst, 0, 100);
    burst_note_sent(&burst, pod, 100);
    burst_put_back(&burst, pod, 200);
    ck_assert_uint_eq(burst.failed_binds, 1);
    ck_assert_ptr_null(burst_take_due(&burst, 0, 1199));
    ck_assert_ptr_eq(burst_take_due(&burst, 0, 1200), pod);
    ck_assert_int_eq(pod->place, BURST_FILTERING);
    burst_note_sent(&burst, pod, 1250);
    burst_put_back(&burst, pod, 1300);
    ck_assert_ptr_null(burst_take_due(&burst, 0, 3299));
    ck_assert_ptr_nonnull(burst_take_due(&burst, 0, 3300));
    burst_done(&burst);
}
END_TEST

START_TEST(a_pod_that_is_known_to_have_a_node_is_not_put_back)
{
    struct burst burst;
    ck_assert_int_eq(burst_init(&burst, 2, two_nodes, 1, 5), 0);
    create_all(&burst);
    struct burst_pod *late = burst_take_due(&burst, 0, 100);
    burst_note_bound(late);
    burst_put_back(&burst, late, 200);
    ck_assert_int_eq(late->place, BURST_DROPPED);
    /* The other one is bound while it waits for its turn: it leaves the queue. */
    burst_note_bound(&burst.pods[1]);
    ck_assert_ptr_null(burst_take_due(&burst, 0, 100000));
    ck_assert_uint_eq(burst_count_bound(&burst), 2);
    ck_assert_uint_eq(burst.failed_binds, 1);
    burst_done(&burst);
}
END_TEST

START_TEST(durations_are_read_as_written)
{
    ck_assert_int_eq(duration_parse_ms("30s"), 30000);
    ck_assert_int_eq(duration_parse_ms("1.5s"), 1500);
    ck_assert_int_eq(duration_parse_ms("250ms"), 250);
    ck_assert_int_eq(duration_parse_ms("2m"), 120000);
    ck_assert_int_eq(duration_parse_ms("30"), -1);
    ck_assert_int_eq(duration_parse_ms("s"), -1);
    ck_assert_int_eq(duration_parse_ms("-1s"), -1);
    ck_assert_int_eq(duration_parse_ms("nans"), -1);
}
END_TEST

struct call {
    struct turns *turns;
    bool has_permit;
};

static void *take_and_record(void *data)
{
    struct call *call = data;
    call->has_permit = turns_take(call->turns, "node", 60000);
    return NULL;
}

START_TEST(a_permit_is_handed_to_a_waiter)
{
    struct call call = {.turns = turns_new(false)};
    pthread_t thread;
    ck_assert(turns_take(call.turns, "node", 1000));
    ck_assert(turns_take(call.turns, "another", 1000));
    pthread_create(&thread, NULL, take_and_record, &call);
    turns_give(call.turns, "node");
    pthread_join(thread, NULL);
    ck_assert(call.has_permit);
    turns_free(call.turns);
}
END_TEST

START_TEST(a_waiter_that_gave_up_takes_no_permit_with_it)
{
    struct turns *turns = turns_new(false);
    ck_assert(turns_take(turns, "node", 1000));
    ck_assert(!turns_take(turns, "node", 1));
    turns_give(turns, "node");
    ck_assert(turns_take(turns, "node", 1));
    turns_free(turns);
}
END_TEST

START_TEST(the_leaking_fault_loses_the_permit_to_a_waiter_that_gave_up)
{
    struct turns *turns = turns_new(true);
    ck_assert(turns_take(turns, "node", 1000));
    ck_assert(!turns_take(turns, "node", 1));
    turns_give(turns, "node");
    ck_assert(!turns_take(turns, "node", 1));
    turns_free(turns);
}
END_TEST

static int read_text(struct kubeconfig *config, const char *text)
{
    char path[] = "/tmp/standin-kubeconfig-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_ge(dprintf(fd, "%s", text), 0);
    close(fd);
    int code = kubeconfig_read(config, path);
    unlink(path);
    return code;
}

START_TEST(the_current_context_of_a_kubeconfig_is_taken)
{
    static const char text[] = "current-context: b\n"
                               "contexts:\n"
                               "- {name: a, context: {cluster: one, user: first}}\n"
                               "- {name: b, context: {cluster: two, user: second}}\n"
                               "clusters:\n"
                               "- {name: one, cluster: {server: 'https://one'}}\n"
                               "- {name: two, cluster: {server: 'https://two/', "
                               "certificate-authority-data: aGVsbG8=}}\n"
                               "users:\n"
                               "- {name: first, user: {token: wrong}}\n"
                               "- {name: second, user: {token: right}}\n";
    struct kubeconfig config;
    ck_assert_int_eq(read_text(&config, text), 0);
    ck_assert_str_eq(config.server, "https://two");
    ck_assert_str_eq(config.bearer, "Authorization: Bearer right");
    ck_assert_uint_eq(config.ca.length, 5);
    ck_assert_mem_eq(config.ca.bytes, "hello", 5);
    kubeconfig_free(&config);
}
END_TEST

START_TEST(a_kubeconfig_that_is_wrong_is_refused_with_a_reason)
{
    struct kubeconfig config;
    ck_assert_int_eq(read_text(&config, "current-context: nothing\n"), -1);
    ck_assert_str_ne(config.problem, "");
    kubeconfig_free(&config);
    ck_assert_int_eq(read_text(&config, "{]"), -1);
    ck_assert_str_ne(config.problem, "");
    kubeconfig_free(&config);
    ck_assert_int_eq(kubeconfig_read(&config, "/nowhere/at/all"), -1);
    kubeconfig_free(&config);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stand-ins");
    TCase *all = tcase_create("all");
    tcase_add_test(all, backoff_doubles_from_one_second_to_ten);
    tcase_add_test(all, pods_of_a_node_are_created_one_after_another_in_order);
    tcase_add_test(
        all, calls_for_one_node_go_out_in_order_and_apart_and_never_wait_for_an_answer);
    tcase_add_test(all, nodes_do_not_wait_for_each_other);
    tcase_add_test(all, a_failed_pod_comes_again_after_its_backoff_with_a_new_filter);
    tcase_add_test(all, a_pod_that_is_known_to_have_a_node_is_not_put_back);
    tcase_add_test(all, durations_are_read_as_written);
    tcase_add_test(all, a_permit_is_handed_to_a_waiter);
    tcase_add_test(all, a_waiter_that_gave_up_takes_no_permit_with_it);
    tcase_add_test(all, the_leaking_fault_loses_the_permit_to_a_waiter_that_gave_up);
    tcase_add_test(all, the_current_context_of_a_kubeconfig_is_taken);
    tcase_add_test(all, a_kubeconfig_that_is_wrong_is_refused_with_a_reason);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
