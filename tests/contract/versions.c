/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The version of a node: what makes a new one, and what an old one is good for. */
#include "edits.h"

#include <stdio.h>

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define OTHER "example.com/heartbeat"
#define A "2026-01-02T03:04:05Z,default,a"
#define B "2026-01-02T03:04:06Z,default,b"

static void take(const char *node)
{
    const struct hami_transport_edit edits[] = {PUT(LOCK, NULL, A)};
    ck_assert_int_eq(call(node, edits, 1), 0);
}

START_TEST(a_stale_version_is_refused)
{
    const char *node = contract_node();
    const struct hami_transport_edit read[] = {READ(LOCK)};
    const struct hami_transport_edit write[] = {PUT(LOCK, NULL, A)};
    contract_put(node, OTHER, "1");
    ck_assert_int_eq(call(node, read, 1), 0);
    char stale[128];
    snprintf(stale, sizeof(stale), "%s", answer.version);
    contract_put(node, OTHER, "2");
    ck_assert_int_eq(contract_call(node, write, 1, stale, &answer), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, NULL);
    ck_assert_int_eq(call(node, read, 1), 0);
    ck_assert_str_ne(answer.version, stale);
    snprintf(stale, sizeof(stale), "%s", answer.version);
    ck_assert_int_eq(contract_call(node, write, 1, stale, &answer), 0);
    contract_assert_stored(node, LOCK, A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_removal_by_another_makes_the_version_stale)
{
    const char *node = contract_node();
    const struct hami_transport_edit read[] = {READ(LOCK)};
    const struct hami_transport_edit write[] = {PUT(LOCK, NULL, A)};
    contract_put(node, OTHER, "1");
    contract_put(node, "example.com/stays", "1");
    ck_assert_int_eq(call(node, read, 1), 0);
    char stale[128];
    snprintf(stale, sizeof(stale), "%s", answer.version);
    contract_put(node, OTHER, NULL);
    ck_assert_int_eq(contract_call(node, write, 1, stale, &answer), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(the_version_that_a_write_tells_is_good_for_the_next_write)
{
    const char *node = contract_node();
    take(node);
    char version[128];
    snprintf(version, sizeof(version), "%s", answer.version);
    ck_assert_str_ne(version, "");
    const struct hami_transport_edit over[] = {PUT(LOCK, A, B)};
    ck_assert_int_eq(contract_call(node, over, 1, version, &answer), 0);
    ck_assert_str_ne(answer.version, version);
    const struct hami_transport_edit back[] = {PUT(LOCK, B, A)};
    ck_assert_int_eq(contract_call(node, back, 1, version, &answer), HAMI_E_HELD);
    contract_assert_stored(node, LOCK, B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_removal_makes_earlier_versions_stale)
{
    const char *node = contract_node();
    const struct hami_transport_edit remove[] = {PUT(LOCK, A, NULL)};
    const struct hami_transport_edit write[] = {PUT(LEASE, NULL, "lease")};
    char stale[128];
    contract_put(node, OTHER, "1");
    take(node);
    snprintf(stale, sizeof(stale), "%s", answer.version);
    ck_assert_int_eq(call(node, remove, 1), 0);
    ck_assert_str_ne(answer.version, stale);
    ck_assert_int_eq(contract_call(node, write, 1, stale, &answer), HAMI_E_HELD);
    contract_assert_stored(node, LEASE, NULL);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(answers_carry_the_stores_clock)
{
    const char *node = contract_node();
    const struct hami_transport_edit read[] = {READ(LOCK)};
    ck_assert_int_eq(call(node, read, 1), 0);
    uint64_t now = (uint64_t)time(NULL) * 1000000u;
    ck_assert_uint_gt(answer.server_time_us, now - UINT64_C(86400000000));
    ck_assert_uint_lt(answer.server_time_us, now + UINT64_C(86400000000));
    contract_answer_done(&answer);
}
END_TEST

void contract_add_versions(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "versions");
    tcase_add_test(tests, a_stale_version_is_refused);
    tcase_add_test(tests, a_removal_by_another_makes_the_version_stale);
    tcase_add_test(tests, the_version_that_a_write_tells_is_good_for_the_next_write);
    tcase_add_test(tests, a_removal_makes_earlier_versions_stale);
    if (backend->capabilities & CONTRACT_CLOCK) {
        tcase_add_test(tests, answers_carry_the_stores_clock);
    }
}
