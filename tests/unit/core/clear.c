/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release by hand: what an operator's tool may remove, and what it leaves.
 */
#include "clear_world.h"

#include <stdio.h>
#include <string.h>

#include "scripted.h"

/* ---- tokens ---- */

START_TEST(a_token_tells_each_pair_from_each_other)
{
    static const char *const pairs[][2] = {
        {NULL, NULL}, {"", NULL}, {NULL, ""},   {"", ""},       {"a", NULL},
        {NULL, "a"},  {"a", ""},  {"ab", "c"},  {"a", "bc"},    {"abc", ""},
        {"b", "a"},   {"a", "b"}, {LOCK, NULL}, {LOCK, MEMORY},
    };
    size_t count = sizeof(pairs) / sizeof(pairs[0]);
    char tokens[sizeof(pairs) / sizeof(pairs[0])][HAMI_PAIR_TOKEN_BYTES];

    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(hami_pair_token(pairs[i][0], pairs[i][1], tokens[i], 17), 0);
        ck_assert_uint_eq(strlen(tokens[i]), 16);
        for (size_t k = 0; k < i; k++) {
            ck_assert_msg(strcmp(tokens[i], tokens[k]) != 0, "pairs %zu and %zu", i, k);
        }
    }
    ck_assert_int_eq(hami_pair_token("a", "b", tokens[0], 16), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_pair_token("a", "b", NULL, 17), HAMI_E_INVAL);
}
END_TEST

/* ---- what goes ---- */

START_TEST(an_owner_that_is_gone_needs_no_revocation)
{
    put(LOCK, LEASE("uid-a"));
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands("-", MEMORY);
    ck_assert_uint_eq(counts[REVOKE], 0);
}
END_TEST

START_TEST(an_unbound_owner_is_revoked_before_its_lock_goes)
{
    put(LOCK, LEASE("uid-a"));
    put_pod((struct hami_owner_facts){.size = 0});
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands("-", MEMORY);
    ck_assert_uint_eq(counts[REVOKE], 1);
    /* The version that its Binding carries stands no more. */
    ck_assert_int_eq(hami_memory_bind_owner(store, &pod_a, "n1", "1"), HAMI_E_LOST);
}
END_TEST

START_TEST(the_owner_of_a_lock_without_a_lease_is_revoked_by_its_name)
{
    put(LOCK, NULL);
    put_pod((struct hami_owner_facts){.size = 0});
    ck_assert_int_eq(clear_with(LOCK, NULL, 0), 0);
    assert_stands("-", "-");
    ck_assert_uint_eq(counts[REVOKE], 1);
}
END_TEST

START_TEST(a_lock_that_names_nobody_goes_without_asking)
{
    static const char *const locks[] = {"2026-01-02T03:04:05Z", "what,is", "no,t,hing,x",
                                        "2026-01-02T03:04:05Z,Not A,Name"};
    for (size_t i = 0; i < sizeof(locks) / sizeof(locks[0]); i++) {
        put(locks[i], i == 0 ? "{broken" : MEMORY);
        ck_assert_int_eq(clear_with(locks[i], i == 0 ? "{broken" : MEMORY, 0), 0);
        assert_stands("-", i == 0 ? "-" : MEMORY);
    }
    ck_assert_uint_eq(counts[INSPECT] + counts[REVOKE], 0);
}
END_TEST

START_TEST(a_store_that_knows_no_owners_is_written_plainly)
{
    played.inspect = NULL;
    played.revoke = NULL;
    put(LOCK, LEASE("uid-a"));
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands("-", MEMORY);
}
END_TEST

/* ---- what stays ---- */

START_TEST(another_pair_than_that_of_the_token_is_left)
{
    put(LOCK, LEASE("uid-b"));
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), HAMI_CLEAR_BOUND_OWNERS),
                     HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, LOCK));
    assert_stands(LOCK, LEASE("uid-b"));
    put(NULL, LEASE("uid-a"));
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "not locked"));
    ck_assert_uint_eq(counts[WRITE] + counts[REVOKE] + counts[INSPECT], 0);
}
END_TEST

START_TEST(an_owner_that_waits_for_allocate_stays_unless_it_is_forced)
{
    put(LOCK, LEASE("uid-a"));
    put_pod((struct hami_owner_facts){.node = "n1"});
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), HAMI_E_HELD);
    ck_assert_ptr_nonnull(strstr(error.text, "default/a is bound to node n1"));
    assert_stands(LOCK, LEASE("uid-a"));
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), HAMI_CLEAR_BOUND_OWNERS), 0);
    assert_stands("-", MEMORY);
    ck_assert_uint_eq(counts[REVOKE], 0);
}
END_TEST

static void bind_now(void)
{
    struct hami_owner_facts bound = {.size = sizeof(bound),
                                     .known = true,
                                     .exists = true,
                                     .uid = "uid-a",
                                     .node = "n1"};
    (void)hami_memory_put_owner(store, &pod_a, &bound);
}

static int inspect_then_bind(struct hami_transport *transport, hami_call *call)
{
    int code = inspect(transport, call);
    bind_now();
    return code;
}

START_TEST(an_owner_that_was_bound_before_it_was_revoked_keeps_its_lock)
{
    put(LOCK, LEASE("uid-a"));
    put_pod((struct hami_owner_facts){.size = 0});
    played.inspect = inspect_then_bind;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), HAMI_E_HELD);
    ck_assert_uint_eq(counts[REVOKE], 1);
    assert_stands(LOCK, LEASE("uid-a"));
}
END_TEST

static void let_another_take(void)
{
    before_write = NULL;
    put("2026-01-02T03:04:06Z,default,b", NULL);
}

static void let_the_node_side_release(void)
{
    before_write = NULL;
    put(NULL, MEMORY);
}

START_TEST(what_changes_before_the_write_is_not_written_over)
{
    put(LOCK, LEASE("uid-a"));
    before_write = let_another_take;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(error.text, "default,b"));
    ck_assert_str_eq(value_of(HAMI_NODELOCK_KEY), "2026-01-02T03:04:06Z,default,b");
    put(LOCK, LEASE("uid-a"));
    before_write = let_the_node_side_release;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
}
END_TEST

/* ---- failures ---- */

START_TEST(a_write_that_was_not_answered_is_looked_at_again)
{
    put(LOCK, LEASE("uid-a"));
    answers[WRITE] = HAMI_E_IN_DOUBT;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), HAMI_E_IN_DOUBT);
    assert_stands(LOCK, LEASE("uid-a"));
    applies[WRITE] = true;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands("-", MEMORY);
}
END_TEST

static const struct {
    enum step step;
    int answer, code;
} failures[] = {
    {READ, HAMI_E_NODE, HAMI_E_NODE},
    {READ, HAMI_E_ACCESS, HAMI_E_ACCESS},
    {READ, HAMI_E_TRANSPORT, HAMI_E_TRANSPORT},
    {READ, HAMI_E_IN_DOUBT, HAMI_E_TRANSPORT},
    {READ, HAMI_E_NOMEM, HAMI_E_NOMEM},
    {INSPECT, HAMI_E_ACCESS, HAMI_E_ACCESS},
    {INSPECT, HAMI_E_PROTO, HAMI_E_PROTO},
    {REVOKE, HAMI_E_ACCESS, HAMI_E_ACCESS},
    {REVOKE, HAMI_E_IN_DOUBT, HAMI_E_IN_DOUBT},
    {WRITE, HAMI_E_ACCESS, HAMI_E_ACCESS},
    {WRITE, HAMI_E_TRANSPORT, HAMI_E_TRANSPORT},
    {WRITE, HAMI_E_HELD, HAMI_E_PROTO},
};

START_TEST(where_a_step_fails_the_lock_stands)
{
    put(LOCK, LEASE("uid-a"));
    put_pod((struct hami_owner_facts){.size = 0});
    answers[failures[_i].step] = failures[_i].answer;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), failures[_i].code);
    ck_assert_int_eq(error.code, failures[_i].code);
    ck_assert_str_ne(error.text, "");
    if (failures[_i].step == INSPECT || failures[_i].step == REVOKE) {
        ck_assert_ptr_nonnull(strstr(error.text, ": played"));
    }
    assert_stands(LOCK, LEASE("uid-a"));
}
END_TEST

START_TEST(an_owner_that_nothing_is_known_of_keeps_its_lock)
{
    put(LOCK, LEASE("uid-a"));
    says_nothing = true;
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), HAMI_CLEAR_BOUND_OWNERS),
                     HAMI_E_TRANSPORT);
    assert_stands(LOCK, LEASE("uid-a"));
}
END_TEST

START_TEST(what_is_asked_is_checked_first)
{
    struct {
        struct hami_clear clear;
        uint64_t more;
    } newer = {.clear = {.size = sizeof(newer), .node = "n1", .token = "0"}, .more = 1};
    struct hami_clear good = HAMI_CLEAR_INIT, bad;

    good.node = "n1";
    good.token = "0";
    ck_assert_int_eq(hami_transport_clear(&played, NULL, &error), HAMI_E_INVAL);
    ck_assert_int_eq(hami_transport_clear(NULL, &good, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_transport_clear(&played, &newer.clear, &error), HAMI_E_ABI);
#define REFUSED(member, wrong)                                                           \
    bad = good;                                                                          \
    bad.member = wrong;                                                                  \
    ck_assert_int_eq(hami_transport_clear(&played, &bad, &error), HAMI_E_INVAL)
    REFUSED(node, NULL);
    REFUSED(node, "N 1");
    REFUSED(token, NULL);
    REFUSED(key, "a b");
    REFUSED(holder, "A,B");
    REFUSED(flags, 2u);
    REFUSED(timeout_ms, 600001);
    REFUSED(permit, HAMI_NODELOCK_SIDE_BY_SIDE_MAX + 1);
    ck_assert_uint_eq(counts[READ], 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clear");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, start, stop);
    tcase_add_test(all, a_token_tells_each_pair_from_each_other);
    tcase_add_test(all, an_owner_that_is_gone_needs_no_revocation);
    tcase_add_test(all, an_unbound_owner_is_revoked_before_its_lock_goes);
    tcase_add_test(all, the_owner_of_a_lock_without_a_lease_is_revoked_by_its_name);
    tcase_add_test(all, a_lock_that_names_nobody_goes_without_asking);
    tcase_add_test(all, a_store_that_knows_no_owners_is_written_plainly);
    tcase_add_test(all, another_pair_than_that_of_the_token_is_left);
    tcase_add_test(all, an_owner_that_waits_for_allocate_stays_unless_it_is_forced);
    tcase_add_test(all, an_owner_that_was_bound_before_it_was_revoked_keeps_its_lock);
    tcase_add_test(all, what_changes_before_the_write_is_not_written_over);
    tcase_add_test(all, a_write_that_was_not_answered_is_looked_at_again);
    tcase_add_loop_test(all, where_a_step_fails_the_lock_stands, 0,
                        (int)(sizeof(failures) / sizeof(failures[0])));
    tcase_add_test(all, an_owner_that_nothing_is_known_of_keeps_its_lock);
    tcase_add_test(all, what_is_asked_is_checked_first);
    suite_add_tcase(suite, all);
    return scripted_run(suite);
}
