/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about writing one annotation with patches, and about rivals for it. */
#include "facts.h"

#include <stdio.h>

#define TAKE_KEY                                                                         \
    "[{\"op\":\"test\",\"path\":\"" LOCK_PATH                                            \
    "\",\"value\":null},{\"op\":\"add\",\"path\":\"" LOCK_PATH "\",\"value\":\"%s\"}]"
#define TAKE_MAP                                                                         \
    "[{\"op\":\"test\",\"path\":\"/metadata/annotations\",\"value\":null},{\"op\":"      \
    "\"add\",\"path\":\"/metadata/annotations\",\"value\":{\"" LOCK "\":\"%s\"}}]"
#define TAKE_OVER                                                                        \
    "[{\"op\":\"test\",\"path\":\"" LOCK_PATH                                            \
    "\",\"value\":\"%s\"},{\"op\":\"replace\",\"path\":\"" LOCK_PATH                     \
    "\",\"value\":\"%s\"}]"
#define GIVE_BACK                                                                        \
    "[{\"op\":\"test\",\"path\":\"" LOCK_PATH                                            \
    "\",\"value\":\"%s\"},{\"op\":\"remove\",\"path\":\"" LOCK_PATH "\"}]"

START_TEST(take_if_absent_succeeds_where_the_map_exists)
{
    facts_make_node("{\"other\":\"1\"}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_KEY, "a");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "a");
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/other", "1");
}
END_TEST

START_TEST(take_if_absent_fails_where_the_key_is_present)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_KEY, "b");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "a");
}
END_TEST

START_TEST(take_if_absent_fails_without_a_map)
{
    facts_make_node(NULL);
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_KEY, "a");
}
END_TEST

START_TEST(taking_the_whole_map_works_only_without_one)
{
    facts_make_node(NULL);
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_MAP, "a");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_MAP, "b");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "a");
}
END_TEST

START_TEST(the_map_goes_with_its_last_key)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, GIVE_BACK, "a");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_KEY, "b");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_MAP, "b");
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"" LOCK "\":null}}}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_MAP, "c");
}
END_TEST

START_TEST(a_guarded_replace_or_remove_needs_the_very_value)
{
    facts_make_node("{\"" LOCK "\":\"old\",\"other\":\"1\"}");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_OVER, "ol", "new");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_OVER, "old", "new");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, GIVE_BACK, "old");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, GIVE_BACK, "new");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, TAKE_OVER, "new", "newer");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, GIVE_BACK, "new");
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/other", "1");
}
END_TEST

START_TEST(an_unguarded_replace_creates_and_an_unguarded_remove_fails)
{
    facts_make_node("{\"other\":\"1\"}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"replace\",\"path\":\"" LOCK_PATH "\",\"value\":\"a\"}]");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "a");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"remove\",\"path\":\"/metadata/annotations/absent\"}]");
}
END_TEST

#define TEST_OF(value)                                                                   \
    "[{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":" value "}]"

/* A value as it is given at creation, how the server spells it, and another spelling. */
static const struct {
    const char *given;
    const char *spelled;
    const char *other;
} spellings[] = {
    {"\"<a&b>\"", TEST_OF("\"\\u003ca\\u0026b\\u003e\""), TEST_OF("\"<a&b>\"")},
    {"\"<a&b>\"", TEST_OF("\"\\u003ca\\u0026b\\u003e\""),
     TEST_OF("\"\\u003Ca\\u0026b\\u003E\"")},
    {"\"x\xe2\x80\xa8y\xe2\x80\xa9\"", TEST_OF("\"x\\u2028y\\u2029\""),
     TEST_OF("\"x\xe2\x80\xa8y\xe2\x80\xa9\"")},
    {"\"\\u001f\\t\\n\\r\"", TEST_OF("\"\\u001f\\t\\n\\r\""),
     TEST_OF("\"\\u001F\\t\\n\\r\"")},
    {"\"a/b\"", TEST_OF("\"a/b\""), TEST_OF("\"a\\/b\"")},
    {"\"\\u00e4\"", TEST_OF("\"\xc3\xa4\""), TEST_OF("\"\\u00e4\"")},
    {"\"\xf0\x9f\x94\x92\"", TEST_OF("\"\xf0\x9f\x94\x92\""),
     TEST_OF("\"\\ud83d\\udd12\"")},
    {"\"\\\"\\\\\"", TEST_OF("\"\\\"\\\\\""), TEST_OF("\"\\u0022\\\\\"")},
};

START_TEST(a_test_compares_texts_as_the_server_spells_them)
{
    char annotations[256];
    snprintf(annotations, sizeof(annotations), "{\"" LOCK "\":%s}", spellings[_i].given);
    facts_make_node(annotations);
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, "%s", spellings[_i].spelled);
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH, "%s", spellings[_i].other);
}
END_TEST

START_TEST(a_test_compares_maps_by_what_they_hold_and_not_by_their_order)
{
    facts_make_node("{\"a\":\"<\",\"b\":\"2\"}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\": \"test\", \"path\": \"/metadata/annotations\","
           " \"value\": { \"b\" : \"2\" , \"\\u0061\" : \"\\u003c\" } } ]");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/metadata/annotations\","
           "\"value\":{\"a\":\"<\",\"b\":\"2\"}}]");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/metadata/annotations\","
           "\"value\":{\"a\":\"\\u003c\"}}]");
}
END_TEST

START_TEST(a_test_compares_what_the_same_patch_wrote_as_it_was_written)
{
    facts_make_node("{\"other\":\"1\"}");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"add\",\"path\":\"" LOCK_PATH "\",\"value\":\"<\"},"
           "{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":\"<\"}]");
    EXPECT(422, "PATCH", facts.node_path, JSON_PATCH,
           "[{\"op\":\"replace\",\"path\":\"" LOCK_PATH "\",\"value\":\">\"},"
           "{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":\"\\u003e\"}]");
}
END_TEST

START_TEST(a_test_compares_numbers_by_their_spelling)
{
    facts_make_pod(NULL);
    EXPECT(200, "PATCH", facts.pod_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/spec/terminationGracePeriodSeconds\","
           "\"value\":30}]");
    EXPECT(422, "PATCH", facts.pod_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/spec/terminationGracePeriodSeconds\","
           "\"value\":30.0}]");
    EXPECT(422, "PATCH", facts.pod_path, JSON_PATCH,
           "[{\"op\":\"test\",\"path\":\"/spec/terminationGracePeriodSeconds\","
           "\"value\":3e1}]");
}
END_TEST

START_TEST(a_failed_test_leaves_everything_and_says_not_which)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    struct reply reply = facts_send(
        "PATCH", facts.node_path, JSON_PATCH,
        "[{\"op\":\"add\",\"path\":\"/metadata/annotations/x\",\"value\":\"1\"},"
        "{\"op\":\"test\",\"path\":\"" LOCK_PATH "\",\"value\":\"b\"}]");
    ck_assert_int_eq(reply.code, 422);
    ck_assert_str_eq(reply_text(&reply, "/kind"), "Status");
    ck_assert_str_eq(reply_text(&reply, "/status"), "Failure");
    ck_assert_str_eq(reply_text(&reply, "/reason"), "Invalid");
    ck_assert_uint_eq(json_object_size(json_object_get(reply.json, "details")), 0);
    reply_clear(&reply);
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/x", "");
    EXPECT_TEXT(facts.node_path, "/metadata/resourceVersion", version);
    free(version);
}
END_TEST

START_TEST(a_patch_that_changes_nothing_keeps_the_version)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    char *version = facts_text(facts.node_path, "/metadata/resourceVersion");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_OVER, "a", "a");
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"" LOCK "\":\"a\",\"absent\":null}}}");
    EXPECT_TEXT(facts.node_path, "/metadata/resourceVersion", version);
    free(version);
}
END_TEST

START_TEST(every_change_moves_the_version_on)
{
    facts_make_node("{\"" LOCK "\":\"a\"}");
    char *before = facts_text(facts.node_path, "/metadata/resourceVersion");
    EXPECT(200, "PATCH", facts.node_path, JSON_PATCH, TAKE_OVER, "a", "b");
    char *after = facts_text(facts.node_path, "/metadata/resourceVersion");
    ck_assert(strtoull(after, NULL, 10) > strtoull(before, NULL, 10));
    free(before);
    free(after);
}
END_TEST

START_TEST(a_merge_patch_null_removes_that_key_only)
{
    facts_make_node("{\"" LOCK "\":\"a\",\"other\":\"1\"}");
    EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
           "{\"metadata\":{\"annotations\":{\"" LOCK "\":null}}}");
    EXPECT_TEXT(facts.node_path, LOCK_PATH, "");
    EXPECT_TEXT(facts.node_path, "/metadata/annotations/other", "1");
}
END_TEST

START_TEST(a_missing_node_or_pod_gives_404)
{
    struct reply reply = facts_send("PATCH", facts.node_path, JSON_PATCH, TAKE_KEY, "a");
    ck_assert_int_eq(reply.code, 404);
    ck_assert_str_eq(reply_text(&reply, "/reason"), "NotFound");
    ck_assert_str_eq(reply_text(&reply, "/details/kind"), "nodes");
    ck_assert_str_eq(reply_text(&reply, "/details/name"), facts.node);
    reply_clear(&reply);
    EXPECT(404, "GET", facts.node_path, NULL, "%s", "");
    EXPECT(404, "GET", facts.pod_path, NULL, "%s", "");
    EXPECT(404, "DELETE", facts.pod_path, NULL, "%s", "");
}
END_TEST

#define RIVALS 10
#define WRITERS 4
#define ROUNDS 20

/* One round: all want the key while others write; returns the winners. */
static int compete(int round, int *rest)
{
    struct shot shots[RIVALS + WRITERS];
    char bodies[RIVALS + WRITERS][512];
    int winners = 0;
    memset(shots, 0, sizeof(shots));
    for (int i = 0; i < RIVALS + WRITERS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "%d-%d", round, i);
        if (i < RIVALS) {
            snprintf(bodies[i], sizeof(bodies[i]), TAKE_KEY, name);
        } else {
            snprintf(bodies[i], sizeof(bodies[i]),
                     "{\"metadata\":{\"annotations\":{\"writer-%d\":\"%s\"}}}", i, name);
        }
        shots[i] = (struct shot){.method = "PATCH",
                                 .path = facts.node_path,
                                 .content_type = i < RIVALS ? JSON_PATCH : MERGE_PATCH,
                                 .body = bodies[i]};
    }
    peer_send_all(&facts.peer, shots, RIVALS + WRITERS);
    for (int i = 0; i < RIVALS + WRITERS; i++) {
        long code = shots[i].reply.code;
        winners += i < RIVALS && code == 200;
        *rest += i < RIVALS ? code != 200 && code != 422 : code != 200;
        reply_clear(&shots[i].reply);
    }
    return winners;
}

START_TEST(of_rivals_exactly_one_wins_each_round_and_no_writer_conflicts)
{
    int winners = 0, rest = 0;
    facts_make_node("{\"other\":\"1\"}");
    for (int round = 0; round < ROUNDS; round++) {
        int won = compete(round, &rest);
        ck_assert_int_eq(won, 1);
        winners += won;
        EXPECT(200, "PATCH", facts.node_path, MERGE_PATCH,
               "{\"metadata\":{\"annotations\":{\"" LOCK "\":null}}}");
    }
    ck_assert_int_eq(winners, ROUNDS);
    ck_assert_int_eq(rest, 0);
}
END_TEST

TCase *facts_patch_case(void)
{
    TCase *test_case = facts_case("patch");
    tcase_add_test(test_case, take_if_absent_succeeds_where_the_map_exists);
    tcase_add_test(test_case, take_if_absent_fails_where_the_key_is_present);
    tcase_add_test(test_case, take_if_absent_fails_without_a_map);
    tcase_add_test(test_case, taking_the_whole_map_works_only_without_one);
    tcase_add_test(test_case, the_map_goes_with_its_last_key);
    tcase_add_test(test_case, a_guarded_replace_or_remove_needs_the_very_value);
    tcase_add_test(test_case, an_unguarded_replace_creates_and_an_unguarded_remove_fails);
    tcase_add_loop_test(test_case, a_test_compares_texts_as_the_server_spells_them, 0,
                        (int)(sizeof(spellings) / sizeof(spellings[0])));
    tcase_add_test(test_case,
                   a_test_compares_maps_by_what_they_hold_and_not_by_their_order);
    tcase_add_test(test_case,
                   a_test_compares_what_the_same_patch_wrote_as_it_was_written);
    tcase_add_test(test_case, a_test_compares_numbers_by_their_spelling);
    tcase_add_test(test_case, a_failed_test_leaves_everything_and_says_not_which);
    tcase_add_test(test_case, a_patch_that_changes_nothing_keeps_the_version);
    tcase_add_test(test_case, every_change_moves_the_version_on);
    tcase_add_test(test_case, a_merge_patch_null_removes_that_key_only);
    tcase_add_test(test_case, a_missing_node_or_pod_gives_404);
    tcase_add_test(test_case,
                   of_rivals_exactly_one_wins_each_round_and_no_writer_conflicts);
    return test_case;
}
