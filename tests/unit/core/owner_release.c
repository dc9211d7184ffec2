/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Releases of a lock whose owner may be bound by then: it is revoked first, and what the
 * revocation finds decides.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static void owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("b", "uid-b");
}

START_TEST(a_release_revokes_an_unbound_owner_first)
{
    static struct scripted_wait a;
    static struct scripted_done done;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    struct hami_owner owner = {"default", "b", "uid-b"};
    char version[64];

    scripted_acquire(&a, "n1", "b", 1000);
    ck_assert_int_eq(hami_lease_facts(a.lease, &view), 0);
    (void)snprintf(version, sizeof(version), "%s", view.owner_version);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_stats().revocations, 1);
    ck_assert_int_eq(hami_memory_bind_owner(scripted_store, &owner, "n1", version),
                     HAMI_E_LOST);
}
END_TEST

START_TEST(a_release_of_an_owner_that_turns_out_bound_here_is_a_hand_off)
{
    static struct scripted_wait a;
    static struct scripted_done done;
    struct hami_owner owner = {"default", "b", "uid-b"};

    scripted_acquire(&a, "n1", "b", 1000);
    ck_assert_int_eq(hami_memory_bind_owner(scripted_store, &owner, "n1", NULL), 0);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_stats().handoffs, 1);
}
END_TEST

static const struct {
    const char *what;
    bool exists;
    struct hami_owner_facts facts;
} unneeded[] = {
    {"gone", false, {0}},
    {"another uid", true, {.uid = "uid-new"}},
    {"bound elsewhere", true, {.uid = "uid-b", .node = "n2"}},
    {"running here", true, {.uid = "uid-b", .node = "n1", .started = true}},
};

START_TEST(a_release_of_an_owner_that_can_not_allocate_here_removes_the_lock)
{
    static struct scripted_wait a;
    static struct scripted_done done;
    struct hami_owner_facts facts = unneeded[_i].facts;

    scripted_acquire(&a, "n1", "b", 1000);
    facts.size = sizeof(facts);
    facts.exists = unneeded[_i].exists;
    scripted_pod_facts("b", &facts);
    scripted_release(&done, a.lease, 1000);
    ck_assert_msg(done.code == 0, "%s", unneeded[_i].what);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(a_release_that_can_not_revoke_leaves_the_lock_and_tries_on)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "b", 1000);
    scripted_answer_all(HAMI_E_ACCESS);
    scripted_release(&done, a.lease, 2000);
    scripted_advance(2000);
    ck_assert_int_eq(done.code, HAMI_E_IN_DOUBT);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    scripted_answer_all(0);
    scripted_advance(7000);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(an_owner_revoked_by_a_release_can_be_locked_for_again)
{
    static struct scripted_wait a, again;
    static struct scripted_done done;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    struct hami_owner owner = {"default", "b", "uid-b"};

    scripted_acquire(&a, "n1", "b", 1000);
    scripted_release(&done, a.lease, 1000);
    scripted_acquire(&again, "n1", "b", 1000);
    ck_assert_int_eq(again.code, 0);
    ck_assert_int_eq(hami_lease_facts(again.lease, &view), 0);
    ck_assert_ptr_nonnull(view.owner_revoked);
    ck_assert_int_eq(
        hami_memory_bind_owner(scripted_store, &owner, "n1", view.owner_version), 0);
    ck_assert_int_eq(hami_lease_handoff(again.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owner release");
    TCase *judged = tcase_create("judged");

    tcase_add_checked_fixture(judged, owners, scripted_stop);
    tcase_add_test(judged, a_release_revokes_an_unbound_owner_first);
    tcase_add_test(judged, a_release_of_an_owner_that_turns_out_bound_here_is_a_hand_off);
    tcase_add_loop_test(judged,
                        a_release_of_an_owner_that_can_not_allocate_here_removes_the_lock,
                        0, sizeof(unneeded) / sizeof(unneeded[0]));
    tcase_add_test(judged, a_release_that_can_not_revoke_leaves_the_lock_and_tries_on);
    tcase_add_test(judged, an_owner_revoked_by_a_release_can_be_locked_for_again);
    suite_add_tcase(suite, judged);
    return scripted_run(suite);
}
