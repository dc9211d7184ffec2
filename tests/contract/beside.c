/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes of pods side by side: a permit and its cover in one, tested together with
 * what the node side says of itself.
 */
#include "edits.h"

#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>

#define COVER HAMI_NODELOCK_KEY
#define COVER_LEASE HAMI_NODELOCK_LEASE_KEY
#define KEY1 HAMI_NODELOCK_KEY ".1"
#define LEASE1 HAMI_NODELOCK_LEASE_KEY ".1"
#define KEY2 HAMI_NODELOCK_KEY ".2"
#define LEASE2 HAMI_NODELOCK_LEASE_KEY ".2"
#define LEASE8 HAMI_NODELOCK_LEASE_KEY ".8"
#define MARK HAMI_HANDSHAKE_AGENT_KEY
#define ABLE "1,free=scheduler,side-by-side"

#define A "2026-01-02T03:04:05Z,default,a"
#define B "2026-01-02T03:04:06Z,default,b"
#define LEASE(lock, uid, fence, calls)                                                   \
    "{\"version\":1,\"lock\":\"" lock "\",\"uid\":\"" uid "\",\"fence\":\"" fence        \
    "\",\"holder\":\"h_1\",\"attempt\":\"7\",\"hold_ms\":15000,\"free\":\"scheduler\","  \
    "\"calls\":\"" calls "\"}"
#define LEASE_A LEASE(A, "a", "11", "example.com/gpu=1,example.com/gpu=2")
#define LEASE_B LEASE(B, "b", "12", "example.com/gpu=3")
#define MEMORY_A "{\"version\":1,\"fence\":\"11\"}"
#define MEMORY_B "{\"version\":1,\"fence\":\"12\"}"

static int take_first(const char *node)
{
    const struct hami_transport_edit edits[] = {
        TEST(MARK, ABLE), PUT(COVER, NULL, A), PUT(COVER_LEASE, NULL, LEASE_A),
        PUT(KEY1, NULL, A), PUT(LEASE1, NULL, LEASE_A)};
    return call(node, edits, COUNT(edits));
}

/* The leases of the other permits as well: nobody came and went meanwhile. */
static int take_second(const char *node, const char *mark)
{
    const struct hami_transport_edit edits[] = {
        TEST(MARK, mark),
        PUT(COVER, A, B),
        PUT(COVER_LEASE, LEASE_A, LEASE_B),
        PUT(KEY2, NULL, B),
        PUT(LEASE2, NULL, LEASE_B),
        TEST(LEASE1, LEASE_A),
        TEST(HAMI_NODELOCK_LEASE_KEY ".3", NULL),
        TEST(HAMI_NODELOCK_LEASE_KEY ".4", NULL),
        TEST(HAMI_NODELOCK_LEASE_KEY ".5", NULL),
        TEST(HAMI_NODELOCK_LEASE_KEY ".6", NULL),
        TEST(HAMI_NODELOCK_LEASE_KEY ".7", NULL),
        TEST(LEASE8, NULL),
    };
    return call(node, edits, COUNT(edits));
}

static const char *able_node(void)
{
    const char *node = contract_node();
    contract_put(node, MARK, ABLE);
    return node;
}

static void assert_pair(const char *node, const char *key, const char *lock,
                        const char *lease_key, const char *lease)
{
    contract_assert_stored(node, key, lock);
    contract_assert_stored(node, lease_key, lease);
}

START_TEST(a_take_beside_writes_permit_and_cover_and_tells_the_mark)
{
    const char *node = able_node();
    ck_assert_int_eq(take_first(node), 0);
    contract_assert_value(&answer, 0, ABLE);
    contract_assert_value(&answer, 1, A);
    contract_assert_value(&answer, 4, LEASE_A);
    ck_assert_int_eq(take_second(node, ABLE), 0);
    assert_pair(node, COVER, B, COVER_LEASE, LEASE_B);
    assert_pair(node, KEY1, A, LEASE1, LEASE_A);
    assert_pair(node, KEY2, B, LEASE2, LEASE_B);
    contract_assert_stored(node, MARK, ABLE);
    contract_answer_done(&answer);
}
END_TEST

/* What has changed since the manager looked, one at a time. */
static const struct {
    const char *key, *value;
} changes[] = {
    {MARK, NULL},       {MARK, "1,free=scheduler"}, {COVER, B},
    {COVER, NULL},      {COVER_LEASE, MEMORY_A},    {KEY2, B},
    {LEASE2, MEMORY_B}, {LEASE8, MEMORY_B},
};

START_TEST(a_take_beside_is_refused_whole_where_anything_has_changed)
{
    const char *node = able_node();
    ck_assert_int_eq(take_first(node), 0);
    contract_put(node, changes[_i].key, changes[_i].value);
    ck_assert_int_eq(take_second(node, ABLE), HAMI_E_HELD);
    contract_assert_stored(node, changes[_i].key, changes[_i].value);
    assert_pair(node, KEY1, A, LEASE1, LEASE_A);
    const char *const keys[] = {COVER, COVER_LEASE, KEY2, LEASE2};
    const char *const before[] = {A, LEASE_A, NULL, NULL};
    for (size_t i = 0; i < COUNT(keys); i++) {
        if (strcmp(keys[i], changes[_i].key) != 0) {
            contract_assert_stored(node, keys[i], before[i]);
        }
    }
    contract_answer_done(&answer);
}
END_TEST

START_TEST(of_two_takes_from_one_look_at_the_cover_one_wins)
{
    const char *node = able_node();
    const struct hami_transport_edit alone[] = {PUT(COVER, A, B),
                                                PUT(COVER_LEASE, LEASE_A, LEASE_B)};
    ck_assert_int_eq(take_first(node), 0);
    ck_assert_int_eq(take_second(node, ABLE), 0);
    ck_assert_int_eq(call(node, alone, COUNT(alone)), HAMI_E_HELD);
    ck_assert_int_eq(take_second(node, ABLE), HAMI_E_HELD);
    assert_pair(node, COVER, B, COVER_LEASE, LEASE_B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_release_under_anothers_cover_frees_the_permit_alone)
{
    const char *node = able_node();
    const struct hami_transport_edit edits[] = {
        TEST(COVER, B), TEST(COVER_LEASE, LEASE_B), PUT(KEY1, A, NULL),
        PUT(LEASE1, LEASE_A, MEMORY_A)};
    ck_assert_int_eq(take_first(node), 0);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), HAMI_E_HELD);
    ck_assert_int_eq(take_second(node, ABLE), 0);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), 0);
    assert_pair(node, COVER, B, COVER_LEASE, LEASE_B);
    assert_pair(node, KEY1, NULL, LEASE1, MEMORY_A);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(a_release_gives_its_cover_to_another_that_still_holds_its_permit)
{
    const char *node = able_node();
    const struct hami_transport_edit edits[] = {
        PUT(COVER, B, A),   PUT(COVER_LEASE, LEASE_B, LEASE_A),
        PUT(KEY2, B, NULL), PUT(LEASE2, LEASE_B, MEMORY_B),
        TEST(KEY1, A),      TEST(LEASE1, LEASE_A)};
    ck_assert_int_eq(take_first(node), 0);
    ck_assert_int_eq(take_second(node, ABLE), 0);
    contract_put(node, KEY1, NULL);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), HAMI_E_HELD);
    assert_pair(node, COVER, B, COVER_LEASE, LEASE_B);
    assert_pair(node, KEY2, B, LEASE2, LEASE_B);
    contract_put(node, KEY1, A);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), 0);
    assert_pair(node, COVER, A, COVER_LEASE, LEASE_A);
    assert_pair(node, KEY1, A, LEASE1, LEASE_A);
    assert_pair(node, KEY2, NULL, LEASE2, MEMORY_B);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(the_release_of_the_last_takes_the_cover_along)
{
    const char *node = able_node();
    const struct hami_transport_edit edits[] = {
        PUT(COVER, A, NULL), PUT(COVER_LEASE, LEASE_A, MEMORY_A), PUT(KEY1, A, NULL),
        PUT(LEASE1, LEASE_A, MEMORY_A)};
    ck_assert_int_eq(take_first(node), 0);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), 0);
    assert_pair(node, COVER, NULL, COVER_LEASE, MEMORY_A);
    assert_pair(node, KEY1, NULL, LEASE1, MEMORY_A);
    ck_assert_int_eq(call(node, edits, COUNT(edits)), HAMI_E_HELD);
    contract_answer_done(&answer);
}
END_TEST

START_TEST(one_read_tells_the_mark_the_cover_and_all_permits)
{
    const char *node = able_node();
    struct hami_transport_edit edits[3 + 2 * HAMI_NODELOCK_SIDE_BY_SIDE_MAX];
    char keys[COUNT(edits)][64];
    size_t count = 0;
    ck_assert_int_eq(take_first(node), 0);
    edits[count++] = (struct hami_transport_edit){.key = MARK};
    for (unsigned i = 0; i <= HAMI_NODELOCK_SIDE_BY_SIDE_MAX; i++) {
        for (unsigned k = 0; k < 2; k++) {
            int length =
                snprintf(keys[count], sizeof(keys[count]), i == 0 ? "%s" : "%s.%u",
                         k == 0 ? COVER : COVER_LEASE, i);
            ck_assert_int_lt(length, (int)sizeof(keys[count]));
            edits[count] = (struct hami_transport_edit){.key = keys[count]};
            count++;
        }
    }
    ck_assert_int_eq(call(node, edits, count), 0);
    const char *const expect[] = {ABLE, A, LEASE_A, A, LEASE_A};
    for (size_t i = 0; i < count; i++) {
        contract_assert_value(&answer, i, i < COUNT(expect) ? expect[i] : NULL);
    }
    contract_answer_done(&answer);
}
END_TEST

void contract_add_beside(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "beside");
    (void)backend;
    tcase_add_test(tests, a_take_beside_writes_permit_and_cover_and_tells_the_mark);
    tcase_add_loop_test(tests, a_take_beside_is_refused_whole_where_anything_has_changed,
                        0, COUNT(changes));
    tcase_add_test(tests, of_two_takes_from_one_look_at_the_cover_one_wins);
    tcase_add_test(tests, a_release_under_anothers_cover_frees_the_permit_alone);
    tcase_add_test(tests,
                   a_release_gives_its_cover_to_another_that_still_holds_its_permit);
    tcase_add_test(tests, the_release_of_the_last_takes_the_cover_along);
    tcase_add_test(tests, one_read_tells_the_mark_the_cover_and_all_permits);
}
