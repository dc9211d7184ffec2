/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What hamid scheduler writes on pods that wait long, and that it costs no bind anything.
 */
#include "running.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "suite.h"

#define WAIT_MS 30000

#define POD_EVENTS_BURST 20 /* and one a second */

static const char *const soon[] = {"--event-after=100ms", NULL};
static const struct kubesim_match creations = {.verb = "create", .resource = "events"};
static const struct kubesim_match changes = {.verb = "patch", .resource = "events"};
static struct running running;
static struct http_client clients[32];

/* p0 has n1, and the others wait for it. */
static void park(int count)
{
    char name[16];
    char metric[64];
    running_pods(&running, "p", count);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof(name), "p%d", i);
        running_bind(&running, &clients[i], name, "n1");
        if (i == 0) {
            ck_assert_str_eq(running_error(&clients[0]), "");
        }
    }
    (void)snprintf(metric, sizeof(metric), "hamid_lock_waiters %d\n", count - 1);
    ck_assert(running_until(&running, "/metrics", metric));
}

/* A text below a path of an audit event, "" where there is none. */
static const char *text_at(json_t *event, const char *outer, const char *inner,
                           const char *name)
{
    json_t *part = json_object_get(event, outer);
    part = inner != NULL ? json_object_get(part, inner) : part;
    const char *text = json_string_value(json_object_get(part, name));
    return text != NULL ? text : "";
}

/* What was asked of the server about the pod's event, or about the event of that name;
 * borrowed, the last one; NULL without. */
static json_t *last_of(json_t *log, const char *outer, const char *inner,
                       const char *name)
{
    json_t *found = NULL;
    json_t *event;
    size_t i;
    json_array_foreach(log, i, event)
    {
        found = strcmp(text_at(event, outer, inner, "name"), name) == 0 ? event : found;
    }
    return found;
}

START_TEST(test_a_pod_that_waits_long_gets_one_event_that_is_brought_up_to_date)
{
    running_start(&running, soon);
    park(3);
    ck_assert(kubesim_wait_count(running.sim, &creations, 2, WAIT_MS));
    ck_assert(kubesim_wait_count(running.sim, &changes, 3, WAIT_MS));
    json_t *made = kubesim_log(running.sim, &creations);
    json_t *changed = kubesim_log(running.sim, &changes);
    ck_assert_uint_eq(json_array_size(made), 2);
    ck_assert_ptr_null(last_of(made, "requestObject", "involvedObject", "p0"));
    json_t *first = last_of(made, "requestObject", "involvedObject", "p2");
    ck_assert_ptr_nonnull(first);
    json_t *body = json_object_get(first, "requestObject");
    char *uid = kubesim_text(running.sim, "pods", "ns", "p2", "/metadata/uid");
    ck_assert_str_eq(text_at(body, "involvedObject", NULL, "uid"), uid);
    ck_assert_str_eq(text_at(first, "requestObject", NULL, "reason"),
                     "WaitingForNodeLock");
    const char *message = text_at(first, "requestObject", NULL, "message");
    ck_assert_ptr_nonnull(strstr(message, "on node n1"));
    ck_assert_ptr_nonnull(strstr(message, "behind 1 other pod;"));
    ck_assert_ptr_nonnull(strstr(message, "held for pod ns/p0"));
    json_t *later = last_of(changed, "objectRef", NULL,
                            text_at(first, "requestObject", "metadata", "name"));
    ck_assert_ptr_nonnull(later);
    ck_assert_int_ge(json_integer_value(json_object_get(
                         json_object_get(later, "requestObject"), "count")),
                     2);
    free(uid);
    json_decref(made);
    json_decref(changed);
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_no_event_is_written_where_none_is_wanted_or_nobody_waits_long)
{
    static const char *const none[] = {"--event-after=0", NULL};
    running_start(&running, _i == 0 ? none : NULL);
    park(3);
    running_release(&running, "n1", "p0");
    ck_assert_str_eq(running_error(&clients[1]), "");
    running_release(&running, "n1", "p1");
    ck_assert_str_eq(running_error(&clients[2]), "");
    running_release(&running, "n1", "p2");
    ck_assert_uint_eq(kubesim_count(running.sim, &creations), 0);
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_2_01_events_that_are_forbidden_or_hang_hold_up_no_bind)
{
    struct kubesim_fault fault = {.match = creations,
                                  .action =
                                      _i == 0 ? KUBESIM_STATUS : KUBESIM_HANG_BEFORE,
                                  .status = 403};
    running_start(&running, soon);
    (void)kubesim_arm(running.sim, &fault);
    park(3);
    ck_assert(kubesim_wait_count(running.sim, &creations, 1, WAIT_MS));
    double started = running_seconds();
    for (int i = 1; i < 3; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i - 1);
        running_release(&running, "n1", name);
        ck_assert_str_eq(running_error(&clients[i]), "");
    }
    /* An event's own time is over after 5 s. */
    ck_assert(running_seconds() - started < 5);
    running_release(&running, "n1", "p2");
    running_close(clients, 3);
    running_stop(&running);
}
END_TEST

START_TEST(test_case_2_01_a_crowd_of_waiters_gets_no_more_events_than_the_budget_has)
{
    const int count = 32;
    double started = running_seconds();
    running_start(&running, soon);
    park(count);
    ck_assert(kubesim_wait_count(running.sim, &creations, POD_EVENTS_BURST, WAIT_MS));
    ck_assert(running_until(&running, "/metrics",
                            "hamid_pod_events_total{outcome=\"left_out\"} 1"));
    unsigned sent =
        kubesim_count(running.sim, &creations) + kubesim_count(running.sim, &changes);
    ck_assert_uint_le(sent,
                      POD_EVENTS_BURST + (unsigned)(running_seconds() - started) + 1);
    running_close(clients, count);
    running_stop(&running);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scheduler events");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all,
                   test_a_pod_that_waits_long_gets_one_event_that_is_brought_up_to_date);
    tcase_add_loop_test(
        all, test_no_event_is_written_where_none_is_wanted_or_nobody_waits_long, 0, 2);
    tcase_add_loop_test(
        all, test_case_2_01_events_that_are_forbidden_or_hang_hold_up_no_bind, 0, 2);
    tcase_add_test(
        all, test_case_2_01_a_crowd_of_waiters_gets_no_more_events_than_the_budget_has);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
