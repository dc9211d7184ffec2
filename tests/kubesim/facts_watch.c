/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about lists, watches and selectors, and about how refusals look. */
#include "facts.h"

#include <stdio.h>

static json_t *watch(const char *list, const char *accept, size_t count,
                     const char *parameters)
{
    char path[768];
    snprintf(path, sizeof(path), "%s?watch=1&%s", list, parameters);
    return peer_watch(&facts.peer, path, accept, count);
}

/* "TYPE" of the event at INDEX, "" beyond the end. */
static const char *type_at(json_t *events, size_t index)
{
    return json_text_at(json_array_get(events, index), "/type");
}

static const char *text_at(json_t *events, size_t index, const char *pointer)
{
    return json_text_at(json_array_get(events, index), pointer);
}

static void annotate(const char *value)
{
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":\"%s\"}}}", value);
}

START_TEST(a_watch_from_a_lists_version_tells_what_came_after_in_order)
{
    char parameters[256];
    facts_make_node(NULL);
    struct reply list = facts_get("/api/v1/nodes", NULL);
    ck_assert_str_eq(reply_text(&list, "/kind"), "NodeList");
    annotate("1");
    annotate("2");
    EXPECT(200, "DELETE", facts.node_path, NULL, "%s", "");
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=metadata.name%%3D%s&resourceVersion=%s",
             facts.node, reply_text(&list, "/metadata/resourceVersion"));
    json_t *events = watch("/api/v1/nodes", NULL, 3, parameters);
    ck_assert_str_eq(type_at(events, 0), "MODIFIED");
    ck_assert_str_eq(text_at(events, 0, "/object/metadata/annotations/a"), "1");
    ck_assert_str_eq(type_at(events, 1), "MODIFIED");
    ck_assert_str_eq(text_at(events, 1, "/object/metadata/annotations/a"), "2");
    ck_assert_str_eq(type_at(events, 2), "DELETED");
    ck_assert_str_eq(text_at(events, 2, "/object/kind"), "Node");
    json_decref(events);
    reply_clear(&list);
}
END_TEST

START_TEST(a_watch_goes_on_from_any_version_that_it_has_seen)
{
    char parameters[256];
    facts_make_node(NULL);
    annotate("1");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    annotate("2");
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=metadata.name=%s&resourceVersion=%s",
             facts.node, version);
    json_t *events = watch("/api/v1/nodes", NULL, 1, parameters);
    ck_assert_str_eq(text_at(events, 0, "/object/metadata/annotations/a"), "2");
    json_decref(events);
    free(version);
}
END_TEST

START_TEST(a_watch_without_a_version_begins_with_the_present_state)
{
    char parameters[256];
    facts_make_node("{\"a\":\"1\"}");
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=metadata.name=%s", facts.node);
    json_t *events = watch("/api/v1/nodes", NULL, 1, parameters);
    ck_assert_str_eq(type_at(events, 0), "ADDED");
    ck_assert_str_eq(text_at(events, 0, "/object/metadata/name"), facts.node);
    json_decref(events);
}
END_TEST

START_TEST(a_watch_list_ends_its_first_part_with_a_marked_bookmark)
{
    char parameters[512];
    facts_make_node("{\"a\":\"1\"}");
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=metadata.name=%s&sendInitialEvents=true&"
             "resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true",
             facts.node);
    json_t *events = watch("/api/v1/nodes", METADATA, 2, parameters);
    ck_assert_str_eq(type_at(events, 0), "ADDED");
    ck_assert_str_eq(text_at(events, 0, "/object/kind"), "PartialObjectMetadata");
    ck_assert_str_eq(text_at(events, 0, "/object/metadata/annotations/a"), "1");
    ck_assert_str_eq(type_at(events, 1), "BOOKMARK");
    ck_assert_str_eq(
        text_at(events, 1, "/object/metadata/annotations/k8s.io~1initial-events-end"),
        "true");
    ck_assert_str_ne(text_at(events, 1, "/object/metadata/resourceVersion"), "");
    json_decref(events);
}
END_TEST

START_TEST(a_watch_list_needs_its_version_match)
{
    EXPECT(422, "GET", "/api/v1/nodes?watch=1&sendInitialEvents=true", NULL, "%s", "");
    EXPECT(422, "GET", "/api/v1/nodes?watch=1&resourceVersionMatch=NotOlderThan", NULL,
           "%s", "");
}
END_TEST

START_TEST(a_watch_ends_at_its_timeout_without_an_error)
{
    struct reply reply = facts_get(
        "/api/v1/nodes?watch=1&timeoutSeconds=1&resourceVersion=99999999", NULL);
    ck_assert_int_eq(reply.result, CURLE_OK);
    ck_assert_int_eq(reply.code, 200); /* a version of the future: silent */
    ck_assert_uint_eq(reply.length, 0);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_version_of_the_future_gives_504_with_retry_after_1)
{
    struct reply reply = facts_get("/api/v1/nodes?resourceVersion=99999999", NULL);
    ck_assert_int_eq(reply.code, 504);
    ck_assert_int_eq(reply.retry_after, 1);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Timeout");
    reply_clear(&reply);
}
END_TEST

/* Names that a list of pods gives for a field selector, as a count of ours. */
static unsigned count_pods(const char *selector)
{
    char path[512];
    unsigned count = 0;
    size_t index;
    json_t *item;
    snprintf(path, sizeof(path), PODS "?fieldSelector=metadata.name=%s,%s", facts.pod,
             selector);
    struct reply reply = facts_get(path, NULL);
    ck_assert_msg(reply.code == 200, "%s: %ld %s", path, reply.code, reply.body);
    json_array_foreach(json_object_get(reply.json, "items"), index, item)
    {
        ck_assert_ptr_null(json_object_get(item, "kind"));
        count++;
    }
    reply_clear(&reply);
    return count;
}

START_TEST(field_selectors_of_pods_compare_equal_and_unequal)
{
    facts_make_pod(NULL);
    ck_assert_uint_eq(count_pods("spec.nodeName="), 1);
    ck_assert_uint_eq(count_pods("spec.nodeName=n"), 0);
    ck_assert_uint_eq(count_pods("spec.nodeName!=n"), 1);
    ck_assert_uint_eq(count_pods("spec.schedulerName==nobody"), 1);
    ck_assert_uint_eq(count_pods("spec.schedulerName!=nobody"), 0);
    ck_assert_uint_eq(count_pods("status.phase=Pending,metadata.namespace=default"), 1);
    ck_assert_uint_eq(count_pods("status.phase!=Pending"), 0);
    EXPECT(400, "GET", PODS "?fieldSelector=spec.foo=1", NULL, "%s", "");
}
END_TEST

START_TEST(a_pod_that_stops_matching_is_deleted_for_that_watch)
{
    char parameters[256], path[256];
    facts_make_pod("{\"a\":\"1\"}");
    char *version = facts_text(facts.pod_path, "/metadata/resourceVersion");
    snprintf(path, sizeof(path), "%s/binding", facts.pod_path);
    EXPECT(201, "POST", path, JSON_TYPE,
           "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"name\":\"%s\"}}", facts.pod,
           facts.node);
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=spec.nodeName=,metadata.name=%s&"
             "resourceVersion=%s",
             facts.pod, version);
    json_t *events = watch(PODS, NULL, 1, parameters);
    ck_assert_str_eq(type_at(events, 0), "DELETED");
    json_decref(events);
    snprintf(parameters, sizeof(parameters),
             "timeoutSeconds=5&fieldSelector=spec.nodeName=%s&resourceVersion=%s",
             facts.node, version);
    events = watch("/api/v1/pods", NULL, 1, parameters);
    ck_assert_str_eq(type_at(events, 0), "ADDED");
    json_decref(events);
    free(version);
}
END_TEST

START_TEST(label_selectors_compare_equal_and_unequal)
{
    char path[256];
    facts_make_node(NULL);
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"labels\":{\"facts\":\"%.60s\"}}}", facts.node);
    snprintf(path, sizeof(path), "/api/v1/nodes?labelSelector=facts%%3D%s", facts.node);
    struct reply reply = facts_get(path, METADATA_LIST);
    ck_assert_uint_eq(json_array_size(json_object_get(reply.json, "items")), 1);
    reply_clear(&reply);
    snprintf(path, sizeof(path), "/api/v1/nodes?labelSelector=facts,facts!=%s",
             facts.node);
    reply = facts_get(path, METADATA_LIST);
    ck_assert_int_eq(reply.code, 200);
    ck_assert_uint_eq(json_array_size(json_object_get(reply.json, "items")), 0);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_list_in_pages_is_one_state)
{
    struct reply first = facts_get("/api/v1/namespaces?limit=1", NULL);
    char path[512];
    ck_assert_int_eq(first.code, 200);
    ck_assert_uint_eq(json_array_size(json_object_get(first.json, "items")), 1);
    ck_assert_str_ne(reply_text(&first, "/metadata/continue"), "");
    snprintf(path, sizeof(path), "/api/v1/namespaces?limit=500&continue=%s",
             reply_text(&first, "/metadata/continue"));
    facts_make_node(NULL);
    struct reply rest = facts_get(path, NULL);
    ck_assert_int_eq(rest.code, 200);
    ck_assert_str_eq(reply_text(&rest, "/metadata/resourceVersion"),
                     reply_text(&first, "/metadata/resourceVersion"));
    ck_assert_str_ne(reply_text(&rest, "/items/0/metadata/name"),
                     reply_text(&first, "/items/0/metadata/name"));
    reply_clear(&first);
    reply_clear(&rest);
}
END_TEST

/* ---- refusals ---- */

START_TEST(no_token_or_a_wrong_one_gives_401)
{
    char *right = facts.peer.token;
    facts.peer.token = strdup("wrong");
    char *key = facts.peer.key_pem, *certificate = facts.peer.certificate_pem;
    facts.peer.key_pem = facts.peer.certificate_pem = NULL;
    struct reply reply = facts_get("/api/v1/nodes", NULL);
    ck_assert_int_eq(reply.code, 401);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Unauthorized");
    reply_clear(&reply);
    free(facts.peer.token);
    facts.peer.token = right;
    facts.peer.key_pem = key;
    facts.peer.certificate_pem = certificate;
}
END_TEST

START_TEST(media_types_and_bodies_that_are_none_give_415_and_400)
{
    facts_make_node(NULL);
    struct reply reply = facts_send("PATCH", facts.node_path, "text/plain", "[]");
    ck_assert_int_eq(reply.code, 415);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "UnsupportedMediaType");
    reply_clear(&reply);
    EXPECT(415, "POST", "/api/v1/nodes", "text/plain", "x");
    EXPECT(400, "PATCH", facts.node_path, JSON_PATCH, "{x");
    EXPECT(400, "PATCH", facts.node_path, JSON_PATCH, "{}");
    EXPECT(400, "PATCH", facts.node_path, MERGE_PATCH, "[]");
    EXPECT(400, "POST", "/api/v1/nodes", JSON_TYPE, "{x");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"fly\",\"path\":\"/metadata\"}]");
}
END_TEST

START_TEST(an_invalid_object_gives_422_with_causes)
{
    facts_make_node(NULL);
    struct reply reply = facts_send("PATCH", facts.node_path, MERGE_PATCH,
                                    "{\"metadata\":{\"labels\":{\"a\":\"%064d\"}}}", 0);
    ck_assert_int_eq(reply.code, 422);
    ck_assert_str_eq(reply_text(&reply, "/details/causes/0/field"), "metadata.labels");
    reply_clear(&reply);
    EXPECT(422, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a b\":\"1\"}}}");
    EXPECT(422, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":1}}}");
    EXPECT(422, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":\"%0263000d\"}}}", 0);
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":\"%0261000d\"}}}", 0);
}
END_TEST

START_TEST(names_that_exist_or_are_none_are_refused)
{
    facts_make_node(NULL);
    struct reply reply = facts_send("POST", "/api/v1/nodes", JSON_TYPE,
                                    "{\"metadata\":{\"name\":\"%s\"}}", facts.node);
    ck_assert_int_eq(reply.code, 409);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "AlreadyExists");
    reply_clear(&reply);
    EXPECT(422, "POST", "/api/v1/nodes", JSON_TYPE, "{\"metadata\":{\"name\":\"A_b\"}}");
    EXPECT(405, "POST", facts.node_path, JSON_TYPE, "{}");
    EXPECT(404, "GET", "/api/v1/unheard-of", NULL, "%s", "");
}
END_TEST

START_TEST(both_protocols_are_spoken_and_health_needs_no_token)
{
    struct reply reply = facts_get("/version", NULL);
    ck_assert_int_eq(reply.code, 200);
    ck_assert_int_eq(reply.http_version, CURL_HTTP_VERSION_2_0);
    ck_assert_str_eq(reply_text(&reply, "/major"), "1");
    reply_clear(&reply);
    facts.peer.http_version = CURL_HTTP_VERSION_1_1;
    curl_easy_cleanup(facts.peer.easy);
    facts.peer.easy = NULL;
    reply = facts_get("/readyz", NULL);
    ck_assert_int_eq(reply.code, 200);
    ck_assert_int_eq(reply.http_version, CURL_HTTP_VERSION_1_1);
    ck_assert_str_eq(reply.body, "ok");
    reply_clear(&reply);
}
END_TEST

TCase *facts_watch_case(void)
{
    TCase *test_case = facts_case("watch");
    tcase_add_test(test_case,
                   a_watch_from_a_lists_version_tells_what_came_after_in_order);
    tcase_add_test(test_case, a_watch_goes_on_from_any_version_that_it_has_seen);
    tcase_add_test(test_case, a_watch_without_a_version_begins_with_the_present_state);
    tcase_add_test(test_case, a_watch_list_ends_its_first_part_with_a_marked_bookmark);
    tcase_add_test(test_case, a_watch_list_needs_its_version_match);
    tcase_add_test(test_case, a_watch_ends_at_its_timeout_without_an_error);
    tcase_add_test(test_case, a_version_of_the_future_gives_504_with_retry_after_1);
    tcase_add_test(test_case, field_selectors_of_pods_compare_equal_and_unequal);
    tcase_add_test(test_case, a_pod_that_stops_matching_is_deleted_for_that_watch);
    tcase_add_test(test_case, label_selectors_compare_equal_and_unequal);
    tcase_add_test(test_case, a_list_in_pages_is_one_state);
    return test_case;
}

TCase *facts_error_case(void)
{
    TCase *test_case = facts_case("refusals");
    tcase_add_test(test_case, no_token_or_a_wrong_one_gives_401);
    tcase_add_test(test_case, media_types_and_bodies_that_are_none_give_415_and_400);
    tcase_add_test(test_case, an_invalid_object_gives_422_with_causes);
    tcase_add_test(test_case, names_that_exist_or_are_none_are_refused);
    tcase_add_test(test_case, both_protocols_are_spoken_and_health_needs_no_token);
    return test_case;
}
