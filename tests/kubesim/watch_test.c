/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Watches of kubesim that are cut, expired, paused, or fall out of the history. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"

/* A watch on a thread of its own; the test thread looks at `events` after the join. */
struct watcher {
    struct peer peer;
    pthread_t thread;
    char path[256];
    size_t count;
    json_t *events;
};

static void *run_watcher(void *data)
{
    struct watcher *watcher = data;
    watcher->events = peer_watch(&watcher->peer, watcher->path, NULL, watcher->count);
    return NULL;
}

static void watch_start(struct watcher *watcher, const char *parameters, size_t count)
{
    memset(watcher, 0, sizeof(*watcher));
    peer_open_sim(&watcher->peer, sim, "admin");
    snprintf(watcher->path, sizeof(watcher->path), NODES "?watch=1&%s", parameters);
    watcher->count = count;
    ck_assert_int_eq(pthread_create(&watcher->thread, NULL, run_watcher, watcher), 0);
    ck_assert(kubesim_wait_watches(sim, "nodes", 1, 30000));
}

static const char *event_text(const struct watcher *watcher, size_t index,
                              const char *pointer)
{
    return json_text_at(json_array_get(watcher->events, index), pointer);
}

static void watch_join(struct watcher *watcher)
{
    pthread_join(watcher->thread, NULL);
    peer_close(&watcher->peer);
}

START_TEST(a_watch_that_is_cut_ends_without_an_error)
{
    struct watcher watcher;
    watch_start(&watcher, "resourceVersion=0", 100);
    annotate(1);
    kubesim_cut_watches(sim, "pods");
    ck_assert_uint_eq(kubesim_watches(sim, "nodes"), 1);
    kubesim_cut_watches(sim, "nodes");
    watch_join(&watcher);
    ck_assert_uint_eq(kubesim_watches(sim, NULL), 0);
    ck_assert_uint_le(json_array_size(watcher.events), 2);
    ck_assert_str_eq(event_text(&watcher, 0, "/type"), "ADDED");
    json_decref(watcher.events);
}
END_TEST

START_TEST(a_watch_that_is_expired_gets_an_error_event_with_410)
{
    struct watcher watcher;
    watch_start(&watcher, "resourceVersion=0", 100);
    kubesim_expire_watches(sim, NULL);
    watch_join(&watcher);
    json_t *last = json_array_get(watcher.events, json_array_size(watcher.events) - 1);
    ck_assert_str_eq(json_text_at(last, "/type"), "ERROR");
    ck_assert_str_eq(json_text_at(last, "/object/reason"), "Expired");
    ck_assert_int_eq(
        json_integer_value(json_object_get(json_object_get(last, "object"), "code")),
        410);
    json_decref(watcher.events);
}
END_TEST

START_TEST(a_version_that_fell_out_of_the_history_gets_410)
{
    const struct kubesim_options options = {.history = 8};
    scene_restart(&options);
    uint64_t version = kubesim_version(sim);
    char parameters[64];
    for (int i = 0; i < 8; i++) {
        annotate(i);
    }
    snprintf(parameters, sizeof(parameters), NODES "?watch=1&resourceVersion=%llu",
             (unsigned long long)version);
    json_t *events = peer_watch(&peer, parameters, NULL, 8);
    ck_assert_str_eq(json_text_at(json_array_get(events, 7), "/type"), "MODIFIED");
    json_decref(events);
    annotate(8);
    events = peer_watch(&peer, parameters, NULL, 8);
    ck_assert_uint_eq(json_array_size(events), 1);
    ck_assert_str_eq(json_text_at(json_array_get(events, 0), "/type"), "ERROR");
    json_decref(events);
}
END_TEST

START_TEST(after_a_compaction_every_older_version_gets_410)
{
    char path[96];
    uint64_t version = kubesim_version(sim);
    annotate(1);
    kubesim_compact(sim);
    snprintf(path, sizeof(path), NODES "?watch=1&resourceVersion=%llu",
             (unsigned long long)version);
    json_t *events = peer_watch(&peer, path, NULL, 8);
    ck_assert_str_eq(json_text_at(json_array_get(events, 0), "/type"), "ERROR");
    json_decref(events);
    snprintf(path, sizeof(path), NODES "?resourceVersionMatch=Exact&resourceVersion=%llu",
             (unsigned long long)version);
    struct reply reply = peer_send(&peer, "GET", path, NULL, NULL, NULL);
    ck_assert_int_eq(reply.code, 410);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_paused_watch_gets_everything_later_and_in_order)
{
    struct watcher watcher;
    watch_start(&watcher, "resourceVersion=0", 4);
    kubesim_pause_watches(sim, true);
    annotate(1);
    annotate(2);
    annotate(3);
    ck_assert_uint_eq(kubesim_watches(sim, NULL), 1);
    kubesim_pause_watches(sim, false);
    watch_join(&watcher);
    ck_assert_uint_eq(json_array_size(watcher.events), 4);
    ck_assert_str_eq(event_text(&watcher, 1, "/object/metadata/annotations/a"), "1");
    ck_assert_str_eq(event_text(&watcher, 3, "/object/metadata/annotations/a"), "3");
    json_decref(watcher.events);
}
END_TEST

START_TEST(a_bookmark_moves_the_version_without_an_object)
{
    struct watcher watcher;
    const struct kubesim_pod pod = {.name = "p"};
    char expected[24];
    watch_start(&watcher, "resourceVersion=0&allowWatchBookmarks=true", 2);
    ck_assert_int_eq(kubesim_create_pod(sim, &pod), 201); /* no event for nodes */
    snprintf(expected, sizeof(expected), "%llu",
             (unsigned long long)kubesim_version(sim));
    kubesim_bookmark_watches(sim);
    watch_join(&watcher);
    ck_assert_str_eq(event_text(&watcher, 1, "/type"), "BOOKMARK");
    ck_assert_str_eq(event_text(&watcher, 1, "/object/kind"), "Node");
    ck_assert_str_eq(event_text(&watcher, 1, "/object/metadata/resourceVersion"),
                     expected);
    json_decref(watcher.events);
}
END_TEST

START_TEST(bookmarks_come_by_themselves_at_their_interval)
{
    const struct kubesim_options options = {.bookmark_ms = 20};
    scene_restart(&options);
    json_t *events = peer_watch(
        &peer, NODES "?watch=1&resourceVersion=0&allowWatchBookmarks=true", NULL, 4);
    ck_assert_str_eq(json_text_at(json_array_get(events, 3), "/type"), "BOOKMARK");
    json_decref(events);
}
END_TEST

START_TEST(an_old_server_refuses_to_send_initial_events)
{
    const struct kubesim_options options = {.without_watch_list = true};
    scene_restart(&options);
    struct reply reply = peer_send(
        &peer, "GET",
        NODES "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", NULL,
        NULL, NULL);
    ck_assert_int_eq(reply.code, 422);
    reply_clear(&reply);
}
END_TEST

START_TEST(watches_are_cut_or_expired_by_a_fault_as_well)
{
    struct watcher watcher;
    struct kubesim_fault fault = {.match = {.verb = "patch"},
                                  .count = 1,
                                  .action = KUBESIM_EXPIRE_WATCHES,
                                  .watches = "nodes"};
    watch_start(&watcher, "resourceVersion=0", 100);
    kubesim_arm(sim, &fault);
    struct reply reply = peer_send(&peer, "PATCH", NODE, MERGE_PATCH, "{}", NULL);
    ck_assert_int_eq(reply.code, 200);
    reply_clear(&reply);
    watch_join(&watcher);
    ck_assert_str_eq(event_text(&watcher, 1, "/type"), "ERROR");
    json_decref(watcher.events);
    fault.match.verb = "watch";
    kubesim_arm(sim, &fault);
    json_t *events = peer_watch(&peer, NODES "?watch=1&resourceVersion=0", NULL, 100);
    ck_assert_str_eq(
        json_text_at(json_array_get(events, json_array_size(events) - 1), "/type"),
        "ERROR");
    json_decref(events);
}
END_TEST

START_TEST(a_slow_watcher_does_not_grow_the_server_without_bound)
{
    const struct kubesim_options options = {.history = 50};
    struct watcher watcher;
    char *big = malloc(200001);
    memset(big, 'x', 200000);
    big[200000] = '\0';
    scene_restart(&options);
    watch_start(&watcher, "resourceVersion=0", 1000);
    kubesim_pause_watches(sim, true); /* stands for a client that does not read */
    for (int i = 0; i < 60; i++) {
        big[0] = (char)('a' + i % 26);
        kubesim_set_annotation(sim, "nodes", NULL, "n1", "big", big);
    }
    kubesim_pause_watches(sim, false);
    watch_join(&watcher);
    json_t *last = json_array_get(watcher.events, json_array_size(watcher.events) - 1);
    ck_assert_str_eq(json_text_at(last, "/type"), "ERROR");
    json_decref(watcher.events);
    free(big);
}
END_TEST

START_TEST(a_big_list_and_a_big_watch_arrive_whole)
{
    char name[32];
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "m-%04d", i);
        ck_assert_int_eq(kubesim_create_node(sim, name, NULL, 0), 201);
    }
    for (int i = 0; i < 2; i++) {
        peer.http_version = i == 0 ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1;
        struct reply reply = peer_send(&peer, "GET", NODES, NULL, NULL, NULL);
        ck_assert_uint_eq(json_array_size(json_object_get(reply.json, "items")), 3001);
        reply_clear(&reply);
        json_t *events =
            peer_watch(&peer, NODES "?watch=1&resourceVersion=1", NULL, 3001);
        ck_assert_uint_eq(json_array_size(events), 3001);
        ck_assert_str_eq(
            json_text_at(json_array_get(events, 3000), "/object/metadata/name"),
            "m-2999");
        json_decref(events);
    }
}
END_TEST

int main(void)
{
    TCase *test_case = tcase_create("watches");
    tcase_add_checked_fixture(test_case, scene_setup, scene_teardown);
    tcase_add_test(test_case, a_watch_that_is_cut_ends_without_an_error);
    tcase_add_test(test_case, a_watch_that_is_expired_gets_an_error_event_with_410);
    tcase_add_test(test_case, a_version_that_fell_out_of_the_history_gets_410);
    tcase_add_test(test_case, after_a_compaction_every_older_version_gets_410);
    tcase_add_test(test_case, a_paused_watch_gets_everything_later_and_in_order);
    tcase_add_test(test_case, a_bookmark_moves_the_version_without_an_object);
    tcase_add_test(test_case, bookmarks_come_by_themselves_at_their_interval);
    tcase_add_test(test_case, an_old_server_refuses_to_send_initial_events);
    tcase_add_test(test_case, watches_are_cut_or_expired_by_a_fault_as_well);
    tcase_add_test(test_case, a_slow_watcher_does_not_grow_the_server_without_bound);
    tcase_add_test(test_case, a_big_list_and_a_big_watch_arrive_whole);
    return scene_run("kubesim-watch", test_case);
}
