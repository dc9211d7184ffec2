/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a transport knows about owners, and how it makes a Binding on its way fail. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 12

static struct contract_facts facts;

static bool bind_at(const struct contract_owner *owner, const char *node,
                    const char *version)
{
    return contract_now.backend->owner_bind(&contract_now, owner, node, version);
}

static void set(struct contract_owner *owner, enum contract_state state)
{
    contract_now.backend->owner_set(&contract_now, owner, state);
}

static void assert_revoked(const struct contract_owner *owner, const char *expect)
{
    char *have = contract_now.backend->owner_revoked(&contract_now, owner);
    ck_assert_msg(expect ? have && strcmp(have, expect) == 0 : !have, "found '%s'",
                  have ? have : "(nothing)");
    free(have);
}

static bool empty(const char *text)
{
    return !text || !*text;
}

START_TEST(inspect_knows_an_owner_that_waits)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert_int_eq(facts.facts.source, HAMI_FACTS_READ);
    ck_assert(facts.facts.exists);
    ck_assert_str_eq(facts.facts.uid, owner.uid);
    ck_assert(empty(facts.facts.node));
    ck_assert(!empty(facts.facts.version));
    ck_assert(empty(facts.facts.revoked));
    ck_assert(!facts.facts.deleting);
    ck_assert(!facts.facts.finished);
    ck_assert(!facts.facts.started);
    ck_assert_int_eq(facts.facts.bind_phase, HAMI_BIND_PHASE_NONE);
    ck_assert_uint_eq(facts.facts.fence, 0);
    ck_assert_uint_eq(facts.facts.done, 0);
}
END_TEST

START_TEST(inspect_knows_that_there_is_no_such_owner)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    set(&owner, CONTRACT_GONE);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(!facts.facts.exists);
}
END_TEST

START_TEST(inspect_knows_another_owner_under_the_same_name)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    set(&owner, CONTRACT_REPLACED);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(facts.facts.exists);
    ck_assert(!empty(facts.facts.uid));
    ck_assert_str_ne(facts.facts.uid, owner.uid);
}
END_TEST

START_TEST(inspect_knows_where_an_owner_is_bound)
{
    const char *node = contract_node();
    const char *elsewhere = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert(bind_at(&owner, elsewhere, NULL));
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert_str_eq(facts.facts.node, elsewhere);
    ck_assert(!facts.facts.started);
}
END_TEST

START_TEST(inspect_knows_that_an_owner_started)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert(bind_at(&owner, node, NULL));
    set(&owner, CONTRACT_STARTED);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(facts.facts.started);
    ck_assert(!facts.facts.finished);
}
END_TEST

START_TEST(inspect_knows_that_an_owner_finished)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert(bind_at(&owner, node, NULL));
    set(&owner, CONTRACT_FINISHED);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(facts.facts.finished);
}
END_TEST

START_TEST(inspect_knows_that_a_bound_owner_is_being_deleted)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert(bind_at(&owner, node, NULL));
    set(&owner, CONTRACT_DELETING);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(facts.facts.exists);
    ck_assert(facts.facts.deleting);
    ck_assert_str_eq(facts.facts.node, node);
}
END_TEST

START_TEST(inspect_knows_fence_phase_devices_and_assignment)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    set(&owner, CONTRACT_ANNOTATED);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(facts.facts.fence == CONTRACT_FENCE);
    ck_assert(facts.facts.done == CONTRACT_DONE);
    ck_assert(facts.facts.devices_left);
    ck_assert_int_eq(facts.facts.bind_phase, HAMI_BIND_PHASE_SUCCESS);
    ck_assert_str_eq(facts.facts.assigned_node, CONTRACT_ASSIGNED);
}
END_TEST

START_TEST(inspect_changes_nothing)
{
    const char *node = contract_node();
    struct contract_owner owner;
    char version[128];
    contract_owner(&owner);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    snprintf(version, sizeof(version), "%s", facts.version);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert_str_eq(facts.version, version);
}
END_TEST

START_TEST(a_revocation_is_written_and_changes_the_version)
{
    const char *node = contract_node();
    struct contract_owner owner;
    char before[128];
    contract_owner(&owner);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    snprintf(before, sizeof(before), "%s", facts.version);
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,1", &facts), 0);
    ck_assert(facts.facts.exists);
    ck_assert_str_eq(facts.facts.uid, owner.uid);
    ck_assert_str_eq(facts.facts.revoked, "n,7,h_1,1");
    ck_assert_str_ne(facts.version, before);
    assert_revoked(&owner, "n,7,h_1,1");
    char told[128];
    snprintf(told, sizeof(told), "%s", facts.version);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert_str_eq(facts.facts.revoked, "n,7,h_1,1");
    ck_assert_str_eq(facts.version, told);
}
END_TEST

START_TEST(a_binding_with_the_version_from_before_the_revocation_is_refused)
{
    const char *node = contract_node();
    struct contract_owner owner;
    char before[128];
    contract_owner(&owner);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    snprintf(before, sizeof(before), "%s", facts.version);
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,1", &facts), 0);
    ck_assert_msg(!bind_at(&owner, node, before), "the old version was accepted");
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    ck_assert(empty(facts.facts.node));
    ck_assert(bind_at(&owner, node, facts.version));
}
END_TEST

START_TEST(each_of_two_revocations_changes_the_version)
{
    const char *node = contract_node();
    struct contract_owner owner;
    char first[128];
    contract_owner(&owner);
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,1", &facts), 0);
    snprintf(first, sizeof(first), "%s", facts.version);
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,2", &facts), 0);
    ck_assert_str_ne(facts.version, first);
    assert_revoked(&owner, "n,7,h_1,2");
    ck_assert_msg(!bind_at(&owner, node, first), "the first revocation's version passed");
}
END_TEST

START_TEST(a_bound_owner_is_not_revoked)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert(bind_at(&owner, node, NULL));
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,1", &facts), HAMI_E_HELD);
    ck_assert_str_eq(facts.facts.node, node);
    ck_assert_str_eq(facts.facts.uid, owner.uid);
    assert_revoked(&owner, NULL);
}
END_TEST

START_TEST(another_owner_of_that_name_is_not_revoked)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    set(&owner, CONTRACT_REPLACED);
    ck_assert_int_eq(contract_revoke(node, &owner, "n,7,h_1,1", &facts), HAMI_E_HELD);
    ck_assert_str_ne(facts.facts.uid, owner.uid);
    assert_revoked(&owner, NULL);
}
END_TEST

START_TEST(revoking_an_owner_that_is_gone_tells_that_it_is_gone)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    set(&owner, CONTRACT_GONE);
    int code = contract_revoke(node, &owner, "n,7,h_1,1", &facts);
    ck_assert_msg(code == 0 || code == HAMI_E_HELD, "%s", hami_errname(code));
    ck_assert(!facts.facts.exists);
}
END_TEST

struct binder {
    const struct contract_owner *owner;
    const char *node;
    char version[128];
    bool bound;
};

static void *bind_in_background(void *data)
{
    struct binder *binder = data;
    binder->bound = bind_at(binder->owner, binder->node, binder->version);
    return NULL;
}

START_TEST(of_a_binding_and_a_revocation_at_the_same_time_one_wins)
{
    const char *node = contract_node();
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct contract_owner owner;
        contract_owner(&owner);
        struct binder binder = {.owner = &owner, .node = node};
        ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
        snprintf(binder.version, sizeof(binder.version), "%s", facts.version);
        pthread_t thread;
        ck_assert_int_eq(pthread_create(&thread, NULL, bind_in_background, &binder), 0);
        int code = contract_revoke(node, &owner, "n,7,h_1,1", &facts);
        pthread_join(thread, NULL);
        ck_assert_msg(code == (binder.bound ? HAMI_E_HELD : 0), "bound %d, revoked %s",
                      binder.bound, hami_errname(code));
        assert_revoked(&owner, binder.bound ? NULL : "n,7,h_1,1");
    }
}
END_TEST

START_TEST(a_revocation_whose_answer_was_lost_is_in_doubt)
{
    const char *node = contract_node();
    struct contract_owner owner;
    contract_owner(&owner);
    ck_assert_int_eq(contract_inspect(node, &owner, &facts), 0);
    contract_now.backend->arm(&contract_now, CONTRACT_LOSE_ANSWER);
    int code = contract_revoke(node, &owner, "n,7,h_1,1", &facts);
    ck_assert_msg(code == HAMI_E_IN_DOUBT || code == 0, "%s", hami_errname(code));
    assert_revoked(&owner, "n,7,h_1,1");
}
END_TEST

void contract_add_owners(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "owners");
    tcase_add_test(tests, inspect_knows_an_owner_that_waits);
    tcase_add_test(tests, inspect_knows_that_there_is_no_such_owner);
    tcase_add_test(tests, inspect_knows_another_owner_under_the_same_name);
    tcase_add_test(tests, inspect_knows_where_an_owner_is_bound);
    tcase_add_test(tests, inspect_knows_that_an_owner_started);
    tcase_add_test(tests, inspect_knows_that_an_owner_finished);
    tcase_add_test(tests, inspect_knows_that_a_bound_owner_is_being_deleted);
    tcase_add_test(tests, inspect_knows_fence_phase_devices_and_assignment);
    tcase_add_test(tests, inspect_changes_nothing);
    tcase_add_test(tests, a_revocation_is_written_and_changes_the_version);
    tcase_add_test(tests,
                   a_binding_with_the_version_from_before_the_revocation_is_refused);
    tcase_add_test(tests, each_of_two_revocations_changes_the_version);
    tcase_add_test(tests, a_bound_owner_is_not_revoked);
    tcase_add_test(tests, another_owner_of_that_name_is_not_revoked);
    tcase_add_test(tests, revoking_an_owner_that_is_gone_tells_that_it_is_gone);
    tcase_add_test(tests, of_a_binding_and_a_revocation_at_the_same_time_one_wins);
    if (backend->capabilities & CONTRACT_FAULTS) {
        tcase_add_test(tests, a_revocation_whose_answer_was_lost_is_in_doubt);
    }
}
