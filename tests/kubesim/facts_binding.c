/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about POST pods/NAME/binding. */
#include "facts.h"

#include <stdio.h>

#define BINDING                                                                          \
    "{\"kind\":\"Binding\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"%s},"      \
    "\"target\":{\"kind\":\"Node\",\"name\":\"%s\"}}"

static const char *binding_path(void)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/binding", facts.pod_path);
    return path;
}

/* ",KEY:VALUE" for the Binding's metadata. */
static const char *extra(const char *key, const char *value)
{
    static char text[256];
    snprintf(text, sizeof(text), ",\"%s\":\"%s\"", key, value);
    return text;
}

static struct reply bind_to(const char *more, const char *node)
{
    return facts_send("POST", binding_path(), JSON_TYPE, BINDING, facts.pod, more, node);
}

/* 409 about KIND, with TEXT in the message. */
static void expect_conflict(const char *more, const char *kind, const char *text)
{
    struct reply reply = bind_to(more, "n");
    ck_assert_int_eq(reply.code, 409);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Conflict");
    ck_assert_str_eq(reply_text(&reply, "/details/kind"), kind);
    ck_assert_msg(strstr(reply_text(&reply, "/message"), text) != NULL, "message: %s",
                  reply_text(&reply, "/message"));
    reply_clear(&reply);
}

START_TEST(a_binding_is_answered_with_201_and_a_status)
{
    facts_make_pod(NULL);
    struct reply reply = bind_to("", "n");
    ck_assert_int_eq(reply.code, 201);
    ck_assert_str_eq(reply_text(&reply, "/kind"), "Status");
    ck_assert_str_eq(reply_text(&reply, "/status"), "Success");
    ck_assert_uint_le(reply.length, 100);
    reply_clear(&reply);
    EXPECT_TEXT(facts.pod_path, "/spec/nodeName", "n");
    EXPECT_TEXT(facts.pod_path, "/status/phase", "Pending");
}
END_TEST

START_TEST(annotations_and_labels_of_the_binding_go_onto_the_pod_with_the_node)
{
    facts_make_pod("{\"kept\":\"1\",\"over\":\"old\"}");
    char *version = facts_text(facts.pod_path, "/metadata/resourceVersion");
    char list[256];
    struct reply reply =
        bind_to(",\"annotations\":{\"over\":\"new\",\"added\":\"2\"},\"labels\":{\"l\":"
                "\"3\"}",
                "n");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
    EXPECT_TEXT(facts.pod_path, "/metadata/annotations/kept", "1");
    EXPECT_TEXT(facts.pod_path, "/metadata/annotations/over", "new");
    EXPECT_TEXT(facts.pod_path, "/metadata/annotations/added", "2");
    EXPECT_TEXT(facts.pod_path, "/metadata/labels/l", "3");
    /* in one write: the first event that has the node has the annotations, too */
    snprintf(list, sizeof(list),
             PODS "?watch=1&timeoutSeconds=5&resourceVersion=%s&fieldSelector="
                  "metadata.name=%s",
             version, facts.pod);
    json_t *events = peer_watch(&facts.peer, list, NULL, 1);
    json_t *event = json_array_get(events, 0);
    ck_assert_str_eq(json_text_at(event, "/object/spec/nodeName"), "n");
    ck_assert_str_eq(json_text_at(event, "/object/metadata/annotations/added"), "2");
    json_decref(events);
    free(version);
}
END_TEST

START_TEST(a_wrong_uid_in_the_binding_gives_409_about_pods)
{
    facts_make_pod(NULL);
    expect_conflict(extra("uid", "another"), "pods", "Precondition failed: UID");
    EXPECT_TEXT(facts.pod_path, "/spec/nodeName", "");
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    struct reply reply = bind_to(extra("uid", uid), "n");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
    free(uid);
}
END_TEST

START_TEST(a_stale_version_in_the_binding_gives_409_about_pods)
{
    facts_make_pod("{\"a\":\"1\"}");
    char *version = facts_text(facts.pod_path, "/metadata/resourceVersion");
    EXPECT(200, "PATCH", facts.pod_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":\"2\"}}}");
    expect_conflict(extra("resourceVersion", version), "pods",
                    "Precondition failed: ResourceVersion");
    free(version);
    version = facts_text(facts.pod_path, "/metadata/resourceVersion");
    struct reply reply = bind_to(extra("resourceVersion", version), "n");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
    free(version);
}
END_TEST

START_TEST(one_patch_of_the_pod_revokes_a_binding_in_flight)
{
    facts_make_pod(NULL);
    char *version = facts_text(facts.pod_path, "/metadata/resourceVersion");
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    EXPECT(200, "PATCH", facts.pod_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},{\"op\":"
           "\"test\",\"path\":\"/spec/nodeName\",\"value\":null},{\"op\":\"add\","
           "\"path\":\"/metadata/annotations\",\"value\":{\"hami.io/mutex.revoked\":"
           "\"n,1,h,1\"}}]",
           uid);
    expect_conflict(extra("resourceVersion", version), "pods", "Precondition failed");
    EXPECT_TEXT(facts.pod_path, "/spec/nodeName", "");
    free(version);
    free(uid);
}
END_TEST

START_TEST(a_node_that_does_not_exist_is_bound_to_all_the_same)
{
    facts_make_pod(NULL);
    struct reply reply = bind_to("", "no-such-node");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
}
END_TEST

START_TEST(a_bound_pod_gives_409_about_the_binding_even_for_the_same_node)
{
    facts_make_pod(NULL);
    struct reply reply = bind_to("", "n");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
    expect_conflict("", "pods/binding", "already assigned to node \"n\"");
}
END_TEST

START_TEST(a_pod_that_is_being_deleted_gives_409_about_the_binding)
{
    facts_make_pod(NULL);
    EXPECT(200, "PATCH", facts.pod_path, MERGE_PATCH,
           "{\"metadata\":{\"finalizers\":[\"facts.example/hold\"]}}");
    EXPECT(200, "DELETE", facts.pod_path, NULL, "%s", "");
    expect_conflict("", "pods/binding", "is being deleted");
    EXPECT(200, "PATCH", facts.pod_path, MERGE_PATCH,
           "{\"metadata\":{\"finalizers\":null}}");
    EXPECT(404, "GET", facts.pod_path, NULL, "%s", "");
}
END_TEST

START_TEST(a_gated_pod_gives_409_about_the_binding)
{
    EXPECT(201, "POST", PODS, JSON_TYPE,
           "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"schedulingGates\":[{\"name\":"
           "\"facts.example/gate\"}],\"containers\":[{\"name\":\"main\",\"image\":"
           "\"pause\"}]}}",
           facts.pod);
    expect_conflict("", "pods/binding", "non-empty .spec.schedulingGates");
}
END_TEST

START_TEST(a_missing_pod_gives_404_and_a_wrong_name_400)
{
    struct reply reply = bind_to("", "n");
    ck_assert_int_eq(reply.code, 404);
    ck_assert_str_eq(reply_text(&reply, "/details/kind"), "pods");
    reply_clear(&reply);
    facts_make_pod(NULL);
    EXPECT(400, "POST", binding_path(), JSON_TYPE, BINDING, "another", "", "n");
}
END_TEST

START_TEST(a_bound_pod_stays_through_its_grace_period_when_it_is_deleted)
{
    facts_make_pod(NULL);
    struct reply reply = bind_to("", "n");
    ck_assert_int_eq(reply.code, 201);
    reply_clear(&reply);
    EXPECT(200, "DELETE", facts.pod_path, NULL, "%s", "");
    char *deleted = facts_text(facts.pod_path, "/metadata/deletionTimestamp");
    ck_assert_str_ne(deleted, "");
    free(deleted);
    EXPECT(200, "DELETE", facts.pod_path, JSON_TYPE, "{\"gracePeriodSeconds\":0}");
    EXPECT(404, "GET", facts.pod_path, NULL, "%s", "");
}
END_TEST

TCase *facts_binding_case(void)
{
    TCase *test_case = facts_case("binding");
    tcase_add_test(test_case, a_binding_is_answered_with_201_and_a_status);
    tcase_add_test(test_case,
                   annotations_and_labels_of_the_binding_go_onto_the_pod_with_the_node);
    tcase_add_test(test_case, a_wrong_uid_in_the_binding_gives_409_about_pods);
    tcase_add_test(test_case, a_stale_version_in_the_binding_gives_409_about_pods);
    tcase_add_test(test_case, one_patch_of_the_pod_revokes_a_binding_in_flight);
    tcase_add_test(test_case, a_node_that_does_not_exist_is_bound_to_all_the_same);
    tcase_add_test(test_case,
                   a_bound_pod_gives_409_about_the_binding_even_for_the_same_node);
    tcase_add_test(test_case, a_pod_that_is_being_deleted_gives_409_about_the_binding);
    tcase_add_test(test_case, a_gated_pod_gives_409_about_the_binding);
    tcase_add_test(test_case, a_missing_pod_gives_404_and_a_wrong_name_400);
    tcase_add_test(test_case,
                   a_bound_pod_stays_through_its_grace_period_when_it_is_deleted);
    return test_case;
}
