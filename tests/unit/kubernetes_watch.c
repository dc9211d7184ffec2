/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list-and-watch loop by itself against kubesim: what its sink is told through every
 * loss.
 */
#include "kubernetes_stand_in.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "object.h"
#include "watch.h"
#include "suite.h"

#define LINES_MAX 8192

/* What the sink was told, one text each: "begin", "complete", "ended", "+NAME=VALUE",
 * "-NAME". */
struct told {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char lines[LINES_MAX][80];
    size_t count;
};

static struct world world;
static struct told told;
static struct hami_internal_watch *watch;

static void keep(const char *kind, const json_t *object, const char *value)
{
    const char *name =
        object != NULL ? hami_internal_object_metadata(object, "name") : "";
    pthread_mutex_lock(&told.mutex);
    if (told.count < LINES_MAX) {
        snprintf(told.lines[told.count++], sizeof(told.lines[0]), "%s%.40s%s%.30s", kind,
                 name, value != NULL ? "=" : "", value != NULL ? value : "");
    }
    pthread_cond_broadcast(&told.changed);
    pthread_mutex_unlock(&told.mutex);
}

static void list_begins(void *data)
{
    (void)data;
    keep("begin", NULL, NULL);
}

static void changed(void *data, const json_t *object)
{
    (void)data;
    keep("+", object, hami_internal_object_annotation(object, LOCK));
}

static void gone(void *data, const json_t *object)
{
    (void)data;
    keep("-", object, NULL);
}

static void list_complete(void *data)
{
    (void)data;
    keep("complete", NULL, NULL);
}

static void ended(void *data)
{
    (void)data;
    keep("ended", NULL, NULL);
}

/* Waits for a line since the from-th. Returns its index + 1. */
static size_t wait_for(size_t from, const char *line)
{
    struct timespec until;
    size_t found = 0;
    int late = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    pthread_mutex_lock(&told.mutex);
    while (found == 0 && late == 0) {
        for (; from < told.count && found == 0; from++) {
            found = strcmp(told.lines[from], line) == 0 ? from + 1 : 0;
        }
        if (found == 0) {
            late = pthread_cond_timedwait(&told.changed, &told.mutex, &until);
        }
    }
    pthread_mutex_unlock(&told.mutex);
    ck_assert_msg(found > 0, "'%s' was not told", line);
    return found;
}

static size_t count_lines(const char *line)
{
    size_t count = 0;
    pthread_mutex_lock(&told.mutex);
    for (size_t i = 0; i < told.count; i++) {
        count += strcmp(told.lines[i], line) == 0;
    }
    pthread_mutex_unlock(&told.mutex);
    return count;
}

static void begin_options(const struct kubesim_options *options)
{
    world_begin(&world, options, NULL);
    memset(&told, 0, sizeof(told));
    pthread_mutex_init(&told.mutex, NULL);
    pthread_cond_init(&told.changed, NULL);
    world_add_node(&world, "n1");
    world_add_node(&world, "n2");
    watch = NULL;
}

static void setup(void)
{
    begin_options(NULL);
}

static void setup_old_server(void)
{
    begin_options(&(struct kubesim_options){.without_watch_list = true});
}

static void start(const char *path, const char *selector, uint64_t idle_ms)
{
    struct hami_internal_watch_options options = {
        .client = world.client,
        .path = path,
        .field_selector = selector,
        .idle_ms = idle_ms,
        .retry_ms = 20,
        .retry_most_ms = 100,
        .sink = {list_begins, changed, gone, list_complete, ended, NULL},
    };
    ck_assert_int_eq(hami_internal_watch_start(&options, &watch), 0);
}

static void teardown(void)
{
    if (watch != NULL) {
        hami_internal_watch_stop(watch);
        wait_for(0, "ended");
        ck_assert_uint_eq(count_lines("ended"), 1);
        ck_assert_str_eq(told.lines[told.count - 1], "ended");
        watch = NULL;
    }
    world_end(&world);
}

static void set_lock(const char *node, const char *value)
{
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "nodes", NULL, node, LOCK, value),
                     200);
}

static unsigned requests(const char *verb)
{
    return kubesim_count(
        world.sim,
        &(struct kubesim_match){.verb = verb, .resource = "nodes", .user = "admin"});
}

static void wait_requests(const char *verb, unsigned count)
{
    struct kubesim_match match = {.verb = verb, .resource = "nodes", .user = "admin"};
    ck_assert(kubesim_wait_count(world.sim, &match, count, WAIT_MS));
}

static void wait_state(bool synced)
{
    uint64_t until = hami_kubernetes_in_ms(WAIT_MS);
    while (hami_internal_watch_is_synced(watch) != synced) {
        ck_assert_uint_lt(hami_kubernetes_now(), until);
        (void)poll(NULL, 0, 1);
    }
}

static void start_and_sync(void)
{
    start("/api/v1/nodes", NULL, 0);
    wait_for(0, "complete");
    wait_state(true);
}

START_TEST(all_objects_are_told_and_then_each_change)
{
    start_and_sync();
    ck_assert_uint_eq(count_lines("+n1") + count_lines("+n2"), 2);
    set_lock("n1", "x");
    ck_assert_uint_gt(wait_for(0, "+n1=x"), wait_for(0, "begin"));
    kubesim_delete(world.sim, "nodes", NULL, "n2");
    wait_for(0, "-n2");
    ck_assert_uint_eq(count_lines("begin"), 1);
    ck_assert_uint_eq(count_lines("complete"), 1);
}
END_TEST

START_TEST(a_server_with_watch_list_is_not_asked_for_a_list)
{
    start_and_sync();
    ck_assert_uint_eq(requests("list"), 0);
    ck_assert_uint_eq(requests("watch"), 1);
}
END_TEST

START_TEST(an_older_server_is_listed_and_then_watched)
{
    start_and_sync();
    ck_assert_uint_eq(requests("list"), 1);
    set_lock("n1", "x");
    wait_for(0, "+n1=x");
    size_t from = told.count;
    kubesim_expire_watches(world.sim, "nodes");
    wait_for(from, "complete");
    ck_assert_uint_eq(requests("list"), 2);
    ck_assert_uint_eq(
        kubesim_count(
            world.sim,
            &(struct kubesim_match){.verb = "watch", .resource = "nodes", .code = 422}),
        1);
}
END_TEST

START_TEST(a_list_of_many_pages_is_one_list)
{
    char name[16];
    for (int i = 0; i < 1200; i++) {
        snprintf(name, sizeof(name), "m%04d", i);
        ck_assert_int_eq(kubesim_create_node(world.sim, name, NULL, 0), 201);
    }
    start_and_sync();
    ck_assert_uint_eq(count_lines("begin"), 1);
    ck_assert_uint_eq(count_lines("complete"), 1);
    ck_assert_uint_eq(count_lines("+m0000"), 1);
    ck_assert_uint_eq(count_lines("+m1199"), 1);
    ck_assert_uint_le(requests("list"), 3);
}
END_TEST

START_TEST(a_watch_that_ends_goes_on_where_it_was)
{
    start_and_sync();
    for (int i = 0; i < 5; i++) {
        char value[16];
        char line[32];
        snprintf(value, sizeof(value), "v%d", i);
        snprintf(line, sizeof(line), "+n1=v%d", i);
        kubesim_cut_watches(world.sim, "nodes");
        set_lock("n1", value);
        wait_for(0, line);
        ck_assert_uint_eq(count_lines(line), 1);
    }
    ck_assert_uint_eq(count_lines("begin"), 1);
}
END_TEST

START_TEST(a_version_that_is_too_old_is_listed_again)
{
    start_and_sync();
    size_t from = told.count;
    kubesim_pause_watches(world.sim, true);
    kubesim_delete(world.sim, "nodes", NULL, "n2");
    set_lock("n1", "x");
    kubesim_expire_watches(world.sim, "nodes");
    kubesim_pause_watches(world.sim, false);
    wait_for(from, "complete");
    ck_assert_uint_eq(count_lines("begin"), 2);
    from = wait_for(from, "begin");
    wait_for(from, "+n1=x");
    wait_state(true);
}
END_TEST

START_TEST(a_410_to_the_watch_itself_lists_too)
{
    start_and_sync();
    size_t from = told.count;
    struct kubesim_fault fault = {.match = {.verb = "watch", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_STATUS,
                                  .status = 410};
    kubesim_arm(world.sim, &fault);
    kubesim_cut_watches(world.sim, "nodes");
    wait_for(from, "complete");
    ck_assert_uint_eq(count_lines("begin"), 2);
}
END_TEST

START_TEST(a_bookmark_moves_the_version_past_what_is_forgotten)
{
    start_and_sync();
    size_t restarts = requests("watch");
    for (int i = 0; i < 5; i++) {
        struct kubesim_pod pod = {.name = "a"};
        ck_assert_int_eq(kubesim_create_pod(world.sim, &pod), 201);
        kubesim_delete(world.sim, "pods", "default", "a");
    }
    kubesim_bookmark_watches(world.sim);
    set_lock("n1", "x");
    wait_for(0, "+n1=x");
    kubesim_compact(world.sim);
    kubesim_cut_watches(world.sim, "nodes");
    set_lock("n1", "y");
    wait_for(0, "+n1=y");
    ck_assert_uint_eq(count_lines("begin"), 1);
    ck_assert_uint_eq(requests("watch"), restarts + 1);
}
END_TEST

START_TEST(refusals_are_waited_out)
{
    static const int statuses[] = {500, 503, 403, 401, 429};
    struct kubesim_fault fault = {.match = {.resource = "nodes", .user = "admin"},
                                  .count = 2,
                                  .action = KUBESIM_STATUS,
                                  .status = statuses[_i]};
    kubesim_arm(world.sim, &fault);
    start_and_sync();
    ck_assert_uint_eq(count_lines("complete"), 1);
    kubesim_arm(world.sim, &fault);
    kubesim_cut_watches(world.sim, "nodes");
    set_lock("n1", "x");
    wait_for(0, "+n1=x");
    wait_state(true);
}
END_TEST

START_TEST(a_lost_connection_is_no_longer_synced_and_then_is_again)
{
    start_and_sync();
    struct kubesim_fault fault = {.match = {.resource = "nodes", .user = "admin"},
                                  .action = KUBESIM_DROP_BEFORE};
    int id = kubesim_arm(world.sim, &fault);
    kubesim_cut_watches(world.sim, "nodes");
    wait_state(false);
    set_lock("n1", "x");
    kubesim_disarm(world.sim, id);
    wait_for(0, "+n1=x");
    wait_state(true);
}
END_TEST

START_TEST(a_silent_watch_is_begun_again)
{
    start("/api/v1/nodes", NULL, 150);
    wait_for(0, "complete");
    kubesim_pause_watches(world.sim, true);
    wait_requests("watch", 3);
    kubesim_pause_watches(world.sim, false);
    set_lock("n1", "x");
    wait_for(0, "+n1=x");
}
END_TEST

START_TEST(a_watch_that_never_answers_is_given_up_and_begun_again)
{
    struct kubesim_fault fault = {.match = {.verb = "watch", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_HANG_BEFORE};
    kubesim_arm(world.sim, &fault);
    start("/api/v1/nodes", NULL, 150);
    wait_for(0, "complete");
}
END_TEST

START_TEST(a_list_that_is_stuck_never_comes_after_a_newer_one_case_3_15)
{
    struct kubesim_fault fault = {.match = {.verb = "list", .resource = "nodes"},
                                  .count = 1,
                                  .action = KUBESIM_NOTHING,
                                  .delay_answer_ms = 400};
    kubesim_arm(world.sim, &fault);
    start("/api/v1/nodes", NULL, 0);
    wait_requests("list", 1);
    set_lock("n1", "new");
    hami_internal_watch_restart(watch);
    wait_for(0, "+n1=new");
    wait_for(0, "complete");
    set_lock("n2", "later");
    wait_for(0, "+n2=later");
    ck_assert_uint_eq(count_lines("+n1"), 0);
    ck_assert_uint_eq(count_lines("begin"), 1);
}
END_TEST

START_TEST(a_list_that_breaks_off_begins_again)
{
    struct kubesim_fault fault = {.match = {.verb = "list", .resource = "nodes"},
                                  .count = 2,
                                  .action = KUBESIM_TRUNCATE};
    kubesim_arm(world.sim, &fault);
    start_and_sync();
    ck_assert_uint_eq(count_lines("complete"), 1);
    ck_assert_uint_eq(requests("list"), 3);
}
END_TEST

START_TEST(a_restart_lists_again_without_losing_what_comes)
{
    start_and_sync();
    for (int i = 0; i < 10; i++) {
        hami_internal_watch_restart(watch);
        char value[16];
        char line[32];
        snprintf(value, sizeof(value), "v%d", i);
        snprintf(line, sizeof(line), "+n1=v%d", i);
        set_lock("n1", value);
        wait_for(0, line);
    }
    wait_state(true);
    ck_assert_uint_ge(count_lines("complete"), 2);
}
END_TEST

START_TEST(only_what_is_selected_is_told)
{
    struct kubesim_pod mine = {.name = "a", .scheduler = "hami"};
    struct kubesim_pod other = {.name = "b", .scheduler = "default-scheduler"};
    kubesim_create_pod(world.sim, &mine);
    kubesim_create_pod(world.sim, &other);
    start("/api/v1/pods", "spec.schedulerName=hami,spec.nodeName=", 0);
    wait_for(0, "complete");
    ck_assert_uint_eq(count_lines("+a"), 1);
    ck_assert_uint_eq(count_lines("+b"), 0);
    kubesim_bind(world.sim, "default", "a", "n1");
    wait_for(0, "-a");
}
END_TEST

START_TEST(it_can_be_stopped_in_any_state)
{
    struct kubesim_fault fault = {.match = {.resource = "nodes", .user = "admin"},
                                  .action = _i == 1   ? KUBESIM_HANG_BEFORE
                                            : _i == 2 ? KUBESIM_STATUS
                                                      : KUBESIM_NOTHING,
                                  .status = 500};
    kubesim_arm(world.sim, &fault);
    start("/api/v1/nodes", NULL, 0);
    if (_i == 1 || _i == 2) {
        wait_requests(NULL, 1);
    } else if (_i == 3) {
        wait_for(0, "complete");
    }
}
END_TEST

START_TEST(it_ends_after_the_client_did)
{
    start_and_sync();
    world.transport = hami_kubernetes_transport_free(world.transport);
    world.client = hami_kubernetes_free(world.client);
}
END_TEST

static TCase *add_cases(Suite *suite, const char *name, void (*begin)(void))
{
    TCase *cases = tcase_create(name);
    tcase_add_checked_fixture(cases, begin, teardown);
    tcase_set_timeout(cases, 60);
    suite_add_tcase(suite, cases);
    return cases;
}

int main(void)
{
    Suite *suite = suite_create("kubernetes_watch");
    TCase *cases = add_cases(suite, "watch", setup);
    tcase_add_test(cases, all_objects_are_told_and_then_each_change);
    tcase_add_test(cases, a_server_with_watch_list_is_not_asked_for_a_list);
    tcase_add_test(cases, a_watch_that_ends_goes_on_where_it_was);
    tcase_add_test(cases, a_version_that_is_too_old_is_listed_again);
    tcase_add_test(cases, a_410_to_the_watch_itself_lists_too);
    tcase_add_test(cases, a_bookmark_moves_the_version_past_what_is_forgotten);
    tcase_add_loop_test(cases, refusals_are_waited_out, 0, 5);
    tcase_add_test(cases, a_lost_connection_is_no_longer_synced_and_then_is_again);
    tcase_add_test(cases, a_silent_watch_is_begun_again);
    tcase_add_test(cases, a_watch_that_never_answers_is_given_up_and_begun_again);
    tcase_add_test(cases, a_restart_lists_again_without_losing_what_comes);
    tcase_add_test(cases, only_what_is_selected_is_told);
    tcase_add_loop_test(cases, it_can_be_stopped_in_any_state, 0, 4);
    tcase_add_test(cases, it_ends_after_the_client_did);
    TCase *old = add_cases(suite, "old server", setup_old_server);
    tcase_add_test(old, all_objects_are_told_and_then_each_change);
    tcase_add_test(old, an_older_server_is_listed_and_then_watched);
    tcase_add_test(old, a_list_of_many_pages_is_one_list);
    tcase_add_test(old, a_watch_that_ends_goes_on_where_it_was);
    tcase_add_test(old, a_version_that_is_too_old_is_listed_again);
    tcase_add_loop_test(old, refusals_are_waited_out, 0, 5);
    tcase_add_test(old, a_list_that_is_stuck_never_comes_after_a_newer_one_case_3_15);
    tcase_add_test(old, a_list_that_breaks_off_begins_again);
    tcase_add_test(old, a_restart_lists_again_without_losing_what_comes);
    return run_suite(suite);
}
