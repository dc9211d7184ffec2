/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hamid scheduler as a whole: who is served before whom, and who is refused at once.
 */
#include "running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static struct running running;
static struct http_client clients[16];

/* @more  further members of the metadata; @spec  of the spec; each begins with a comma */
static void create_pod(const char *namespace_name, const char *name, const char *more,
                       const char *spec)
{
    char path[128];
    char body[1024];
    (void)snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", namespace_name);
    (void)snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"name\":\"%s\"%s},\"spec\":{\"schedulerName\":\"hami-scheduler\""
        "%s,\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":"
        "{\"nvidia.com/gpu\":\"1\"}}}]},\"status\":{\"phase\":\"Pending\"}}",
        name, more, spec);
    ck_assert_int_eq(
        kubesim_request(running.sim, "POST", path, "application/json", body, NULL), 201);
}

static bool is_waiting(unsigned count)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "hamid_lock_waiters %u\n", count);
    return running_until(&running, "/metrics", text);
}

/* The pods ask for n1 one after the other, while p0 holds it. */
static void all_ask(const char *const *names, size_t count)
{
    running_bind(&running, &clients[0], "p0", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    for (size_t i = 0; i < count; i++) {
        running_bind(&running, &clients[i + 1], names[i], "n1");
        ck_assert(is_waiting((unsigned)i + 1));
    }
}

/* They are served in this order: each holds the node until it is released. */
static void assert_served(const char *const *names, size_t count)
{
    running_release(&running, "n1", "p0");
    for (size_t i = 0; i < count; i++) {
        ck_assert(is_waiting((unsigned)(count - i - 1)));
        char *lock = running_lock(&running, "n1");
        ck_assert_ptr_nonnull(lock);
        ck_assert_msg(strstr(lock, names[i]) != NULL, "%zu: %s, not %s", i, lock,
                      names[i]);
        free(lock);
        while (running_bindings(&running, names[i]) == 0) {
            (void)event_base_loop(running.base, EVLOOP_NONBLOCK);
        }
        running_release(&running, "n1", names[i]);
    }
}

START_TEST(test_case_3_31_pods_of_a_higher_priority_go_first_and_pass_one_only_so_often)
{
    static const char *const ask[] = {"low", "mid", "high1", "high2", "high3"};
    running_start(&running, (const char *const[]){"--lanes", "--overtaken-max=2", NULL});
    running_pods(&running, "p", 1);
    create_pod("ns", "low", "", ",\"priority\":-5");
    create_pod("ns", "mid", "", ",\"priority\":1000");
    create_pod("ns", "high1", "", ",\"priority\":2000000000");
    create_pod("ns", "high2", "", ",\"priority\":2000000000");
    create_pod("ns", "high3", "", ",\"priority\":2000000000");
    all_ask(ask, 5);
    assert_served((const char *const[]){"high1", "mid", "low", "high2", "high3"}, 5);
    running_close(clients, 6);
    running_stop(&running);
}
END_TEST

START_TEST(pods_of_a_group_are_bound_one_after_the_other)
{
    static const char *const ask[] = {"gang1", "one", "gang2", "other", "gang3"};
    static const char gang[] = ",\"labels\":{\"scheduling.x-k8s.io/pod-group\":\"gang\"}";
    running_start(&running,
                  (const char *const[]){"--scheduler-name=hami-scheduler", NULL});
    running_pods(&running, "p", 1);
    create_pod("ns", "gang1", gang, "");
    create_pod("ns", "gang2", gang, "");
    create_pod("ns", "gang3", gang, "");
    create_pod("ns", "one", "", "");
    create_pod("ns", "other", "", "");
    all_ask(ask, 5);
    assert_served((const char *const[]){"gang1", "gang2", "gang3", "one", "other"}, 5);
    running_close(clients, 6);
    running_stop(&running);
}
END_TEST

START_TEST(a_bind_that_a_full_queue_refuses_hears_who_fills_it)
{
    running_start(&running, (const char *const[]){"--waiters-per-node=2",
                                                  "--waiters-per-namespace=0", NULL});
    running_pods(&running, "p", 4);
    all_ask((const char *const[]){"p1", "p2"}, 2);
    running_bind(&running, &clients[3], "p3", "n1");
    const char *error = running_error(&clients[3]);
    ck_assert_msg(strstr(error,
                         "node lock contention: node n1 has been locked within 5m0s "
                         "by pod ns/p0") != NULL,
                  "%s", error);
    ck_assert_msg(strstr(error,
                         "queue of n1 is full: 2 of 2 waiters are of namespace ns; "
                         "the place in the queue is kept") != NULL,
                  "%s", error);
    running_close(clients, 4);
    running_stop(&running);
}
END_TEST

START_TEST(a_namespace_that_has_its_share_is_refused_while_the_node_has_room)
{
    running_start(&running, (const char *const[]){"--waiters-per-namespace=1", NULL});
    running_pods(&running, "p", 3);
    all_ask((const char *const[]){"p1"}, 1);
    running_bind(&running, &clients[2], "p2", "n1");
    const char *error = running_error(&clients[2]);
    ck_assert_msg(strstr(error,
                         "queue of n1 is full for namespace ns: 1 of 1 waiters are "
                         "its own, and it may have 1") != NULL,
                  "%s", error);
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

/* Each holds the node for as long as another's patience lasts. */
static void measure_pace(void)
{
    char name[16];
    for (int i = 0; i < 4; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[0], name, "n1");
        ck_assert_str_eq(running_error(&clients[0]), "");
        running_bind(&running, &clients[1], "w0", "n1");
        const char *error = running_error(&clients[1]);
        ck_assert_msg(strstr(error, "node lock contention") != NULL &&
                          strstr(error, "of late") == NULL,
                      "%s", error);
        running_close(clients, 2);
        running_release(&running, "n1", name);
    }
}

START_TEST(test_case_3_03_a_bind_whose_turn_can_not_come_in_time_is_answered_at_once)
{
    running_start(&running, (const char *const[]){"--patience=300ms", NULL});
    running_pods(&running, "p", 5);
    running_pods(&running, "w", 2);
    measure_pace();
    running_bind(&running, &clients[0], "p4", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "w1", "n1");
    const char *error = running_error(&clients[1]);
    ck_assert_msg(
        strstr(error, "0 wait for node n1 before this one, and a lock is held") != NULL,
        "%s", error);
    ck_assert_msg(strstr(error, "its turn is expected in ") != NULL, "%s", error);
    ck_assert_msg(strstr(error, "the place in the queue is kept") != NULL, "%s", error);
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

START_TEST(a_bind_is_left_to_wait_all_the_same_where_that_is_asked_for)
{
    running_start(&running,
                  (const char *const[]){"--patience=300ms", "--admission=wait", NULL});
    running_pods(&running, "p", 5);
    running_pods(&running, "w", 2);
    measure_pace();
    running_bind(&running, &clients[0], "p4", "n1");
    ck_assert_str_eq(running_error(&clients[0]), "");
    running_bind(&running, &clients[1], "w1", "n1");
    ck_assert_ptr_null(strstr(running_error(&clients[1]), "its turn is expected"));
    running_close(clients, 2);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("daemon scheduler_queue");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 60);
    tcase_add_test(
        tests,
        test_case_3_31_pods_of_a_higher_priority_go_first_and_pass_one_only_so_often);
    tcase_add_test(tests, pods_of_a_group_are_bound_one_after_the_other);
    tcase_add_test(tests, a_bind_that_a_full_queue_refuses_hears_who_fills_it);
    tcase_add_test(tests,
                   a_namespace_that_has_its_share_is_refused_while_the_node_has_room);
    tcase_add_test(
        tests, test_case_3_03_a_bind_whose_turn_can_not_come_in_time_is_answered_at_once);
    tcase_add_test(tests, a_bind_is_left_to_wait_all_the_same_where_that_is_asked_for);
    suite_add_tcase(suite, tests);
    return run_suite(suite);
}
