/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What one call does to the store: compare, write, read, odd values. */
#include "edits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define OTHER "example.com/heartbeat"
#define A "2026-01-02T03:04:05Z,default,a"
#define B "2026-01-02T03:04:06Z,default,b"
#define LEASE_A "{\"version\":1,\"lock\":\"" A "\",\"uid\":\"a\",\"fence\":\"1\"}"
#define LEASE_B "{\"version\":1,\"lock\":\"" B "\",\"uid\":\"b\",\"fence\":\"2\"}"

static void take(const char *node)
{
    const struct hami_transport_edit edits[] = {PUT(LOCK, NULL, A),
                                                PUT(LEASE, NULL, LEASE_A)};
    ck_assert_int_eq(call(node, edits, 2), 0);
}

START_TEST(taking_an_absent_lock_writes_lock_and_lease)
{
    const char *node = contract_node();
    take(node);
    contract_assert_value(&answer, 0, A);
    contract_assert_value(&answer, 1, LEASE_A);
    contract_assert_stored(node, LOCK, A);
    contract_assert_stored(node, LEASE, LEASE_A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(taking_a_lock_that_is_there_is_refused_and_changes_nothing)
{
    const char *node = contract_node();
    const struct hami_transport_edit rival[] = {PUT(LOCK, NULL, B),
                                                PUT(LEASE, NULL, LEASE_B)};
    take(node);
    ck_assert_int_eq(call(node, rival, 2), HAMI_E_HELD);
    if (answer.has_values) {
        contract_assert_value(&answer, 0, A);
        contract_assert_value(&answer, 1, LEASE_A);
    }
    contract_assert_stored(node, LOCK, A);
    contract_assert_stored(node, LEASE, LEASE_A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(edits_are_all_or_nothing)
{
    const char *node = contract_node();
    contract_put(node, LEASE, LEASE_B);
    const struct hami_transport_edit last_fails[] = {PUT(LOCK, NULL, A),
                                                     TEST(LEASE, LEASE_A)};
    const struct hami_transport_edit first_fails[] = {TEST(LEASE, NULL),
                                                      PUT(LOCK, NULL, A)};
    ck_assert_int_eq(call(node, last_fails, 2), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, NULL);
    ck_assert_int_eq(call(node, first_fails, 2), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, NULL);
    contract_assert_stored(node, LEASE, LEASE_B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(an_empty_value_is_not_an_absent_one)
{
    const char *node = contract_node();
    contract_put(node, LOCK, "");
    const struct hami_transport_edit absent[] = {PUT(LOCK, NULL, A)};
    const struct hami_transport_edit empty[] = {PUT(LOCK, "", A)};
    ck_assert_int_eq(call(node, absent, 1), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, "");
    ck_assert_int_eq(call(node, empty, 1), 0);
    contract_assert_stored(node, LOCK, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(an_absent_value_is_not_an_empty_one)
{
    const char *node = contract_node();
    const struct hami_transport_edit put[] = {PUT(LOCK, "", A)};
    const struct hami_transport_edit test[] = {TEST(LOCK, "")};
    ck_assert_int_eq(call(node, put, 1), HAMI_E_HELD);
    ck_assert_int_eq(call(node, test, 1), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(an_empty_value_can_be_written_and_read)
{
    const char *node = contract_node();
    const struct hami_transport_edit put[] = {PUT(LOCK, NULL, ""), READ(LEASE)};
    ck_assert_int_eq(call(node, put, 2), 0);
    contract_assert_value(&answer, 0, "");
    contract_assert_value(&answer, 1, NULL);
    contract_assert_stored(node, LOCK, "");
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_put_replaces_only_the_value_that_it_expects)
{
    const char *node = contract_node();
    contract_put(node, LOCK, A);
    const struct hami_transport_edit longer[] = {PUT(LOCK, A "x", B)};
    const struct hami_transport_edit shorter[] = {
        PUT(LOCK, "2026-01-02T03:04:05Z,default,", B)};
    const struct hami_transport_edit right[] = {PUT(LOCK, A, B)};
    ck_assert_int_eq(call(node, longer, 1), HAMI_E_HELD);
    ck_assert_int_eq(call(node, shorter, 1), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, A);
    ck_assert_int_eq(call(node, right, 1), 0);
    contract_assert_stored(node, LOCK, B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_hand_over_replaces_the_pair_in_one_write_and_only_once)
{
    const char *node = contract_node();
    take(node);
    const struct hami_transport_edit over[] = {PUT(LOCK, A, B),
                                               PUT(LEASE, LEASE_A, LEASE_B)};
    ck_assert_int_eq(call(node, over, 2), 0);
    contract_assert_value(&answer, 0, B);
    contract_assert_value(&answer, 1, LEASE_B);
    ck_assert_int_eq(call(node, over, 2), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, B);
    contract_assert_stored(node, LEASE, LEASE_B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(the_same_lock_value_with_another_lease_is_refused)
{
    const char *node = contract_node();
    contract_put(node, LOCK, A);
    contract_put(node, LEASE, LEASE_B);
    const struct hami_transport_edit release[] = {PUT(LOCK, A, NULL),
                                                  PUT(LEASE, LEASE_A, "")};
    ck_assert_int_eq(call(node, release, 2), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, A);
    contract_assert_stored(node, LEASE, LEASE_B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_release_removes_the_lock_and_keeps_the_fence)
{
    const char *node = contract_node();
    const char *memory = "{\"version\":1,\"fence\":\"1\"}";
    take(node);
    const struct hami_transport_edit release[] = {PUT(LOCK, A, NULL),
                                                  PUT(LEASE, LEASE_A, memory)};
    ck_assert_int_eq(call(node, release, 2), 0);
    contract_assert_value(&answer, 0, NULL);
    contract_assert_value(&answer, 1, memory);
    contract_assert_stored(node, LOCK, NULL);
    contract_assert_stored(node, LEASE, memory);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(after_the_last_value_was_removed_a_lock_can_be_taken)
{
    const char *node = contract_node();
    const struct hami_transport_edit clear[] = {PUT(LOCK, A, NULL),
                                                PUT(LEASE, LEASE_A, NULL)};
    take(node);
    ck_assert_int_eq(call(node, clear, 2), 0);
    contract_assert_stored(node, LOCK, NULL);
    contract_assert_stored(node, LEASE, NULL);
    take(node);
    contract_assert_stored(node, LOCK, A);
    contract_assert_stored(node, LEASE, LEASE_A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(removing_what_is_absent_succeeds)
{
    const char *node = contract_node();
    contract_put(node, OTHER, "1");
    const struct hami_transport_edit remove[] = {PUT(LOCK, NULL, NULL), READ(OTHER)};
    ck_assert_int_eq(call(node, remove, 2), 0);
    contract_assert_value(&answer, 0, NULL);
    contract_assert_value(&answer, 1, "1");
    contract_answer_done(&answer);
}
END_TEST

START_TEST(values_come_in_the_order_of_the_edits)
{
    const char *node = contract_node();
    contract_put(node, "z.example.com/last", "z");
    contract_put(node, "a.example.com/first", "a");
    contract_put(node, LEASE, LEASE_A);
    const struct hami_transport_edit edits[] = {
        READ("z.example.com/last"), PUT(LOCK, NULL, A), TEST("a.example.com/first", "a"),
        READ("m.example.com/absent"), PUT(LEASE, LEASE_A, NULL)};
    const char *expect[] = {"z", A, "a", NULL, NULL};
    ck_assert_int_eq(call(node, edits, COUNT(edits)), 0);
    for (size_t i = 0; i < COUNT(expect); i++) {
        contract_assert_value(&answer, i, expect[i]);
    }
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_read_tells_what_is_there_and_changes_nothing)
{
    const char *node = contract_node();
    contract_put(node, LOCK, A);
    const struct hami_transport_edit read[] = {READ(LEASE), READ(LOCK)};
    ck_assert_int_eq(call(node, read, 2), 0);
    contract_assert_value(&answer, 0, NULL);
    contract_assert_value(&answer, 1, A);
    char version[128];
    snprintf(version, sizeof(version), "%s", answer.version);
    ck_assert_str_ne(version, "");
    ck_assert_int_eq(call(node, read, 2), 0);
    ck_assert_str_eq(answer.version, version);
    contract_assert_stored(node, LOCK, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_call_that_only_tests_answers_yes_or_no_and_changes_nothing)
{
    const char *node = contract_node();
    contract_put(node, LOCK, A);
    const struct hami_transport_edit yes[] = {TEST(LOCK, A), TEST(LEASE, NULL)};
    const struct hami_transport_edit no[] = {TEST(LOCK, A), TEST(LEASE, LEASE_A)};
    ck_assert_int_eq(call(node, yes, 2), 0);
    contract_assert_value(&answer, 0, A);
    ck_assert_int_eq(call(node, no, 2), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, A);
    contract_assert_stored(node, LEASE, NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_missing_node_is_told_to_readers_and_writers)
{
    const char *node = contract_node_name();
    const struct hami_transport_edit read[] = {READ(LOCK)};
    const struct hami_transport_edit write[] = {PUT(LOCK, NULL, A)};
    ck_assert_int_eq(call(node, read, 1), HAMI_E_NODE);
    ck_assert_int_eq(call(node, write, 1), HAMI_E_NODE);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(values_of_two_kilobytes_survive)
{
    const char *node = contract_node();
    char lease[2049];
    char lock[385];
    for (size_t i = 0; i < sizeof(lease) - 1; i++) {
        lease[i] = (char)('a' + i % 26);
    }
    lease[sizeof(lease) - 1] = '\0';
    memset(lock, 'l', sizeof(lock) - 1);
    lock[sizeof(lock) - 1] = '\0';
    const struct hami_transport_edit put[] = {PUT(LOCK, NULL, lock),
                                              PUT(LEASE, NULL, lease)};
    ck_assert_int_eq(call(node, put, 2), 0);
    contract_assert_value(&answer, 1, lease);
    contract_assert_stored(node, LEASE, lease);
    const struct hami_transport_edit remove[] = {PUT(LOCK, lock, NULL),
                                                 PUT(LEASE, lease, NULL)};
    ck_assert_int_eq(call(node, remove, 2), 0);
    contract_answer_done(&answer);
}
END_TEST

static const char *const odd_values[] = {
    "\"quoted\" \\ back \\\" both",
    "{\"json\":[1,null,true],\"text\":\"\\u0041\"}",
    "line\nfeed\ttab\r\b\f\x01\x1f\x7f",
    "gr\303\274\303\237e \346\227\245\346\234\254 \360\237\224\222 \342\200\250",
    "~1 ~0 / %2F %25 + & ? # '",
    " leading and trailing ",
    "null",
    "-1.5e300",
    "<a&b>\xc2\x80",
};

START_TEST(values_of_odd_bytes_survive)
{
    const char *node = contract_node();
    const char *value = odd_values[_i];
    const struct hami_transport_edit put[] = {PUT(LEASE, NULL, value), READ(LOCK)};
    const struct hami_transport_edit over[] = {PUT(LEASE, value, "plain")};
    const struct hami_transport_edit back[] = {PUT(LEASE, "plain", value)};
    ck_assert_int_eq(call(node, put, 2), 0);
    contract_assert_value(&answer, 0, value);
    contract_assert_stored(node, LEASE, value);
    ck_assert_int_eq(call(node, over, 1), 0);
    ck_assert_int_eq(call(node, back, 1), 0);
    contract_assert_value(&answer, 0, value);
    contract_put(node, LOCK, value);
    const struct hami_transport_edit test[] = {TEST(LOCK, value)};
    ck_assert_int_eq(call(node, test, 1), 0);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(foreign_values_survive_take_hand_over_and_release)
{
    const char *node = contract_node();
    const struct hami_transport_edit over[] = {PUT(LOCK, A, B),
                                               PUT(LEASE, LEASE_A, LEASE_B)};
    const struct hami_transport_edit free_it[] = {PUT(LOCK, B, NULL),
                                                  PUT(LEASE, LEASE_B, NULL)};
    contract_put(node, OTHER, "17");
    contract_put(node, "hami.io/mutex.lock.1", A);
    take(node);
    ck_assert_int_eq(call(node, over, 2), 0);
    ck_assert_int_eq(call(node, free_it, 2), 0);
    contract_assert_stored(node, OTHER, "17");
    contract_assert_stored(node, "hami.io/mutex.lock.1", A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_call_touches_its_own_node_only)
{
    const char *node = contract_node();
    const char *other = contract_node();
    contract_put(other, LOCK, B);
    take(node);
    contract_assert_stored(other, LOCK, B);
    contract_assert_stored(other, LEASE, NULL);
    const struct hami_transport_edit read[] = {READ(LOCK), READ(LEASE)};
    ck_assert_int_eq(call(other, read, 2), 0);
    contract_assert_value(&answer, 0, B);
    contract_assert_value(&answer, 1, NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(eight_keys_with_their_leases_are_one_write)
{
    const char *node = contract_node();
    struct hami_transport_edit edits[2 * HAMI_NODELOCK_KEYS_MAX];
    char keys[COUNT(edits)][64];
    for (size_t i = 0; i < COUNT(edits); i++) {
        snprintf(keys[i], sizeof(keys[i]), "vendor%zu.example.com/key.%s", i / 2,
                 i % 2 ? "lease" : "lock");
        edits[i] = (struct hami_transport_edit)PUT(keys[i], NULL, i % 2 ? LEASE_A : A);
    }
    edits[COUNT(edits) - 1].expect = "something";
    ck_assert_int_eq(call(node, edits, COUNT(edits)), HAMI_E_HELD);
    contract_assert_stored(node, keys[0], NULL);
    edits[COUNT(edits) - 1].expect = NULL;
    ck_assert_int_eq(call(node, edits, COUNT(edits)), 0);
    for (size_t i = 0; i < COUNT(edits); i++) {
        contract_assert_stored(node, keys[i], i % 2 ? LEASE_A : A);
    }
    contract_answer_done(&answer);
}
END_TEST

void contract_add_edits(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "edits");
    tcase_add_test(tests, taking_an_absent_lock_writes_lock_and_lease);
    tcase_add_test(tests, taking_a_lock_that_is_there_is_refused_and_changes_nothing);
    tcase_add_test(tests, edits_are_all_or_nothing);
    tcase_add_test(tests, an_empty_value_is_not_an_absent_one);
    tcase_add_test(tests, an_absent_value_is_not_an_empty_one);
    tcase_add_test(tests, an_empty_value_can_be_written_and_read);
    tcase_add_test(tests, a_put_replaces_only_the_value_that_it_expects);
    tcase_add_test(tests, a_hand_over_replaces_the_pair_in_one_write_and_only_once);
    tcase_add_test(tests, the_same_lock_value_with_another_lease_is_refused);
    tcase_add_test(tests, a_release_removes_the_lock_and_keeps_the_fence);
    tcase_add_test(tests, after_the_last_value_was_removed_a_lock_can_be_taken);
    tcase_add_test(tests, removing_what_is_absent_succeeds);
    tcase_add_test(tests, values_come_in_the_order_of_the_edits);
    tcase_add_test(tests, a_read_tells_what_is_there_and_changes_nothing);
    tcase_add_test(tests, a_call_that_only_tests_answers_yes_or_no_and_changes_nothing);
    tcase_add_test(tests, values_of_two_kilobytes_survive);
    tcase_add_loop_test(tests, values_of_odd_bytes_survive, 0, COUNT(odd_values));
    tcase_add_test(tests, foreign_values_survive_take_hand_over_and_release);
    tcase_add_test(tests, a_call_touches_its_own_node_only);
    tcase_add_test(tests, eight_keys_with_their_leases_are_one_write);
    if (backend->capabilities & CONTRACT_NODES) {
        tcase_add_test(tests, a_missing_node_is_told_to_readers_and_writers);
    }
    if (backend->capabilities & CONTRACT_CLOCK) {
    }
}
