/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about guards other than a key's value: versions and UIDs in patches, PUT and
 * DELETE, metadata-only answers, and the patch that revokes a Binding.
 */
#include "facts.h"

#include <stdio.h>

START_TEST(a_stale_version_in_a_merge_patch_gives_409)
{
    facts_make_node("{\"other\":\"1\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"resourceVersion\":\"%s\",\"annotations\":{\"a\":\"1\"}}}",
           version);
    struct reply reply = facts_send(
        "PATCH", facts.node_path, MERGE_PATCH,
        "{\"metadata\":{\"resourceVersion\":\"%s\",\"annotations\":{\"a\":\"2\"}}}",
        version);
    ck_assert_int_eq(reply.code, 409);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Conflict");
    ck_assert_str_eq(reply_text(&reply, "/details/kind"), "nodes");
    reply_clear(&reply);
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/a", "1");
    free(version);
}
END_TEST

START_TEST(a_json_patch_test_of_a_stale_version_or_uid_gives_422)
{
    facts_make_node("{\"other\":\"1\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    char *uid = facts_text(facts.node_path, "/metadata/uid");
    static const char body[] =
        "[{\"op\":\"test\",\"path\":\"/metadata/%s\",\"value\":\"%s\"},"
        "{\"op\":\"add\",\"path\":\"/metadata/annotations/%s\",\"value\":\"1\"}]";
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, body, "resourceVersion", version,
           "x");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, body, "resourceVersion", version,
           "y");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, body, "uid", uid, "y");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, body, "uid", "another", "z");
    free(version);
    free(uid);
}
END_TEST

START_TEST(a_json_patch_replace_of_the_version_gives_409_when_stale)
{
    facts_make_node("{\"other\":\"1\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    static const char body[] =
        "[{\"op\":\"replace\",\"path\":\"/metadata/resourceVersion\",\"value\":\"%s\"},"
        "{\"op\":\"add\",\"path\":\"/metadata/annotations/%s\",\"value\":\"1\"}]";
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, body, version, "x");
    EXPECT(409, "PATCH", facts.node_path, JSON_PATCH, body, version, "y");
    free(version);
}
END_TEST

START_TEST(a_wrong_uid_in_a_merge_patch_gives_422_with_its_cause)
{
    facts_make_node(NULL);
    char *uid = facts_text(facts.node_path, "/metadata/uid");
    static const char body[] =
        "{\"metadata\":{\"uid\":\"%s\",\"annotations\":{\"a\":\"1\"}}}";
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH, body, uid);
    struct reply reply =
        facts_send("PATCH", facts.node_path, MERGE_PATCH, body, "another");
    ck_assert_int_eq(reply.code, 422);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Invalid");
    ck_assert_str_eq(reply_text(&reply, "/details/causes/0/field"), "metadata.uid");
    reply_clear(&reply);
    free(uid);
}
END_TEST

START_TEST(put_replaces_the_object_and_compares_version_and_uid)
{
    facts_make_node("{\"" LOCK "\":\"a\",\"other\":\"1\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    static const char body[] =
        "{\"metadata\":{\"name\":\"%s\",\"%s\":\"%s\",\"annotations\":{\"a\":\"1\"}}}";
    EXPECT(409, "PUT", facts.node_path, JSON_TYPE, body, facts.node, "uid", "another");
    EXPECT(200, "PUT", facts.node_path, JSON_TYPE, body, facts.node, "resourceVersion",
           version);
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/other", "");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "");
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"a\":\"2\"}}}");
    EXPECT(409, "PUT", facts.node_path, JSON_TYPE, body, facts.node, "resourceVersion",
           version);
    free(version);
}
END_TEST

START_TEST(delete_compares_its_preconditions)
{
    facts_make_pod(NULL);
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    EXPECT(409, "DELETE", facts.pod_path, JSON_TYPE,
           "{\"preconditions\":{\"uid\":\"another\"}}");
    EXPECT(200, "DELETE", facts.pod_path, JSON_TYPE,
           "{\"preconditions\":{\"uid\":\"%s\"}}", uid);
    EXPECT(404, "GET", facts.pod_path, NULL, "%s", "");
    free(uid);
}
END_TEST

START_TEST(an_object_that_comes_back_has_another_uid)
{
    facts_make_pod(NULL);
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    EXPECT(200, "DELETE", facts.pod_path, NULL, "%s", "");
    facts_make_pod(NULL);
    char *again = facts_text(facts.pod_path, "/metadata/uid");
    ck_assert_str_ne(uid, again);
    free(uid);
    free(again);
}
END_TEST

#define GUARDED(annotate)                                                                \
    "[{\"op\":\"test\",\"path\":\"/metadata/uid\",\"value\":\"%s\"},"                    \
    "{\"op\":\"test\",\"path\":\"/spec/nodeName\",\"value\":null}," annotate "]"
#define BY_KEY                                                                           \
    "{\"op\":\"add\",\"path\":\"/metadata/annotations/hami.io~1mutex.revoked\","         \
    "\"value\":\"r\"}"
#define BY_MAP                                                                           \
    "{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},"               \
    "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"hami.io/"           \
    "mutex.revoked\":\"r\"}}"

START_TEST(a_pod_patch_guarded_by_uid_and_no_node_works_until_it_is_bound)
{
    facts_make_pod("{\"other\":\"1\"}");
    char binding[256];
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    snprintf(binding, sizeof(binding), "%s/binding", facts.pod_path);
    EXPECT(422, "PATCH", facts.pod_path, JSON_PATCH, GUARDED(BY_KEY), "another");
    EXPECT(200, "PATCH", facts.pod_path, JSON_PATCH, GUARDED(BY_KEY), uid);
    EXPECT(
        201, "POST", binding, JSON_TYPE,
        "{\"metadata\":{\"name\":\"%s\"},\"target\":{\"kind\":\"Node\",\"name\":\"n\"}}",
        facts.pod);
    EXPECT(422, "PATCH", facts.pod_path, JSON_PATCH, GUARDED(BY_KEY), uid);
    free(uid);
}
END_TEST

START_TEST(that_patch_takes_its_second_form_where_there_is_no_map)
{
    facts_make_pod(NULL);
    char *uid = facts_text(facts.pod_path, "/metadata/uid");
    EXPECT(422, "PATCH", facts.pod_path, JSON_PATCH, GUARDED(BY_KEY), uid);
    EXPECT(200, "PATCH", facts.pod_path, JSON_PATCH, GUARDED(BY_MAP), uid);
    free(uid);
}
END_TEST

START_TEST(a_pods_node_and_scheduler_cannot_be_patched)
{
    facts_make_pod(NULL);
    EXPECT(422, "PATCH", facts.pod_path, MERGE_PATCH, "{\"spec\":{\"nodeName\":\"n\"}}");
    EXPECT(422, "PATCH", facts.pod_path, MERGE_PATCH,
           "{\"spec\":{\"schedulerName\":\"x\"}}");
}
END_TEST

START_TEST(status_is_written_through_its_own_path_only)
{
    char path[256];
    facts_make_pod(NULL);
    snprintf(path, sizeof(path), "%s/status", facts.pod_path);
    EXPECT(200, "PATCH", facts.pod_path, MERGE_PATCH,
           "{\"status\":{\"phase\":\"Running\"}}");
    EXPECT_TEXT(facts.pod_path, "/status/phase", "Pending");
    EXPECT(200, "PATCH", path, MERGE_PATCH, "{\"status\":{\"phase\":\"Running\"}}");
    EXPECT_TEXT(facts.pod_path, "/status/phase", "Running");
    EXPECT(200, "PATCH", path, MERGE_PATCH, "{\"spec\":{\"schedulerName\":\"x\"}}");
    EXPECT_TEXT(facts.pod_path, "/spec/schedulerName", "nobody");
}
END_TEST

START_TEST(a_lease_is_made_by_post_or_put_and_then_needs_its_version)
{
    char path[256], list[] = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    static const char body[] =
        "{\"metadata\":{\"name\":\"%s\"%s%s%s},\"spec\":{\"holderIdentity\":\"%s\"}}";
    snprintf(path, sizeof(path), "%s/%s", list, facts.node);
    EXPECT(201, "POST", list, JSON_TYPE, body, facts.node, "", "", "", "a");
    EXPECT(409, "POST", list, JSON_TYPE, body, facts.node, "", "", "", "b");
    char *version = facts_text(path, "/metadata/resourceVersion");
    EXPECT(422, "PUT", path, JSON_TYPE, body, facts.node, "", "", "", "b");
    EXPECT(200, "PUT", path, JSON_TYPE, body, facts.node, ",\"resourceVersion\":\"",
           version, "\"", "b");
    EXPECT(409, "PUT", path, JSON_TYPE, body, facts.node, ",\"resourceVersion\":\"",
           version, "\"", "c");
    EXPECT_TEXT(path, "/spec/holderIdentity", "b");
    EXPECT(200, "DELETE", path, NULL, "%s", "");
    EXPECT(201, "PUT", path, JSON_TYPE, body, facts.node, "", "", "", "d");
    EXPECT(200, "DELETE", path, NULL, "%s", "");
    free(version);
}
END_TEST

/* A metadata-only object: its kind, and nothing beyond metadata. */
static void check_partial(const json_t *object)
{
    ck_assert_str_eq(json_string_value(json_object_get(object, "kind")),
                     "PartialObjectMetadata");
    ck_assert_str_eq(json_string_value(json_object_get(object, "apiVersion")),
                     "meta.k8s.io/v1");
    ck_assert_ptr_null(json_object_get(object, "spec"));
    ck_assert_ptr_null(json_object_get(object, "status"));
    ck_assert_ptr_nonnull(
        json_object_get(json_object_get(object, "metadata"), "resourceVersion"));
}

START_TEST(get_and_patch_answer_with_metadata_only)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    struct reply reply = facts_get(facts.node_path, METADATA);
    ck_assert_int_eq(reply.code, 200);
    check_partial(reply.json);
    ck_assert_str_eq(reply_text(&reply, LOCK_PATH), "a");
    ck_assert_str_ne(reply_text(&reply, "/metadata/uid"), "");
    reply_clear(&reply);
    reply = peer_send(&facts.peer, "PATCH", facts.node_path, MERGE_PATCH,
                      "{\"metadata\":{\"annotations\":{\"b\":\"1\"}}}", METADATA);
    ck_assert_int_eq(reply.code, 200);
    check_partial(reply.json);
    ck_assert_str_eq(reply_text(&reply, "/metadata/annotations/b"), "1");
    reply_clear(&reply);
}
END_TEST

START_TEST(a_list_wants_the_list_form_of_metadata)
{
    facts_make_node(NULL);
    struct reply reply = facts_get("/api/v1/nodes", METADATA);
    ck_assert_int_eq(reply.code, 406);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "NotAcceptable");
    reply_clear(&reply);
    reply = facts_get("/api/v1/nodes", METADATA_LIST);
    ck_assert_int_eq(reply.code, 200);
    ck_assert_str_eq(reply_text(&reply, "/kind"), "PartialObjectMetadataList");
    check_partial(json_array_get(json_object_get(reply.json, "items"), 0));
    reply_clear(&reply);
    reply = facts_get(facts.node_path, METADATA_LIST);
    ck_assert_int_eq(reply.code, 406);
    reply_clear(&reply);
}
END_TEST

TCase *facts_guard_case(void)
{
    TCase *test_case = facts_case("guard");
    tcase_add_test(test_case, a_stale_version_in_a_merge_patch_gives_409);
    tcase_add_test(test_case, a_json_patch_test_of_a_stale_version_or_uid_gives_422);
    tcase_add_test(test_case, a_json_patch_replace_of_the_version_gives_409_when_stale);
    tcase_add_test(test_case, a_wrong_uid_in_a_merge_patch_gives_422_with_its_cause);
    tcase_add_test(test_case, put_replaces_the_object_and_compares_version_and_uid);
    tcase_add_test(test_case, delete_compares_its_preconditions);
    tcase_add_test(test_case, an_object_that_comes_back_has_another_uid);
    tcase_add_test(test_case,
                   a_pod_patch_guarded_by_uid_and_no_node_works_until_it_is_bound);
    tcase_add_test(test_case, that_patch_takes_its_second_form_where_there_is_no_map);
    tcase_add_test(test_case, a_pods_node_and_scheduler_cannot_be_patched);
    tcase_add_test(test_case, status_is_written_through_its_own_path_only);
    tcase_add_test(test_case, a_lease_is_made_by_post_or_put_and_then_needs_its_version);
    return test_case;
}

TCase *facts_metadata_case(void)
{
    TCase *test_case = facts_case("metadata");
    tcase_add_test(test_case, get_and_patch_answer_with_metadata_only);
    tcase_add_test(test_case, a_list_wants_the_list_form_of_metadata);
    return test_case;
}
