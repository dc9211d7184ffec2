/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that stand in the way: whose proofs are honoured, who is revoked first, who is
 * waited for. The decisions themselves are tested as tables in protocol.c; here is what
 * the manager makes of them.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

#define FOREIGN "2026-01-02T03:00:00Z,default,dead"

static void owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("b", "uid-b");
}

static void ages(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

static void put_foreign(const char *uid, const char *fence)
{
    char lease[512];

    (void)snprintf(
        lease, sizeof(lease),
        "{\"version\":1,\"lock\":\"" FOREIGN "\",\"uid\":\"%s\",\"fence\":\"%s\","
        "\"holder\":\"other_1\",\"attempt\":\"1\",\"hold_ms\":4000,\"free\":\"node\"}",
        uid, fence);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY,
                                     uid ? lease : NULL),
                     0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
}

static void pod(struct hami_owner_facts facts)
{
    facts.size = sizeof(facts);
    facts.exists = true;
    facts.uid = facts.uid ? facts.uid : "uid-dead";
    scripted_pod_facts("dead", &facts);
}

static const struct {
    const char *what;
    bool exists;
    struct hami_owner_facts facts;
} proofs[] = {
    {"gone", false, {0}},
    {"another uid", true, {.uid = "uid-new"}},
    {"failed or succeeded", true, {.finished = true, .node = "n1"}},
    {"running", true, {.started = true, .node = "n1"}},
    {"bound elsewhere", true, {.node = "n2"}},
    {"deleting and unbound", true, {.deleting = true}},
    {"served under this fence",
     true,
     {.node = "n1", .bind_phase = HAMI_BIND_PHASE_SUCCESS, .done = 7}},
};

START_TEST(a_lock_whose_owner_is_proven_past_allocate_is_taken_over_case_1_08_case_1_09)
{
    static struct scripted_wait b;

    put_foreign("uid-dead", "7");
    if (proofs[_i].exists) {
        pod(proofs[_i].facts);
    }
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(1000);
    ck_assert_msg(b.ended && b.code == 0, "%s: %s", proofs[_i].what, b.text);
    ck_assert_uint_gt(hami_lease_fence(b.lease), 7);
    ck_assert_uint_eq(scripted_stats().takeovers, 1);
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

static const struct {
    const char *what;
    struct hami_owner_facts facts;
} waits[] = {
    {"pending, allocating",
     {.node = "n1", .devices_left = true, .bind_phase = HAMI_BIND_PHASE_ALLOCATING}},
    {"deleted and bound, case 3.09",
     {.node = "n1", .devices_left = true, .deleting = true}},
    {"phase failed alone", {.node = "n1", .bind_phase = HAMI_BIND_PHASE_FAILED}},
    {"success that our node side did not write",
     {.node = "n1", .bind_phase = HAMI_BIND_PHASE_SUCCESS}},
    {"success under another fence",
     {.node = "n1", .bind_phase = HAMI_BIND_PHASE_SUCCESS, .done = 6}},
    {"another uid bound here by name", {.uid = "uid-new", .node = "n1"}},
};

START_TEST(an_owner_that_may_still_call_allocate_is_waited_for_case_1_10)
{
    static struct scripted_wait b;

    put_foreign("uid-dead", "7");
    pod(waits[_i].facts);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(301000);
    ck_assert_msg(!b.ended, "%s", waits[_i].what);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    ck_assert_uint_eq(scripted_stats().alarms, 1);
    ck_assert_ptr_nonnull(strstr(scripted_last_log, "default/dead"));
    struct hami_owner_facts failed = {.finished = true, .node = "n1"};
    pod(failed);
    scripted_advance(2000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(an_overdue_owner_is_taken_over_only_where_the_operator_said_so)
{
    static struct scripted_wait b;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    config.flags = HAMI_NODELOCK_EXPIRE_BOUND_OWNERS;
    scripted_start(
        (struct scripted_options){.watch = true, .owners = true, .config = config});
    scripted_pod("b", "uid-b");
    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(299000);
    ck_assert(!b.ended);
    scripted_advance(3000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    scripted_stop();
}
END_TEST

START_TEST(an_unbound_owner_is_revoked_after_its_hold_limit_and_its_late_binding_fails)
{
    static struct scripted_wait b;
    struct hami_owner dead = {"default", "dead", "uid-dead"};

    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.devices_left = true});
    /* What the paused holder read before it wrote the lock. */
    char version[24];
    (void)snprintf(version, sizeof(version), "%d", 4);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(3500);
    ck_assert(!b.ended);
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 0);
    scripted_advance(1500);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_eq(scripted_stats().revocations, 1);
    ck_assert_int_eq(hami_memory_bind_owner(scripted_store, &dead, "n1", version),
                     HAMI_E_LOST);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(an_owner_that_turns_out_bound_when_it_is_revoked_keeps_its_lock)
{
    static struct scripted_wait b;
    struct hami_owner dead = {"default", "dead", "uid-dead"};

    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.devices_left = true});
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(3999);
    scripted_set_manual(true);
    scripted_advance(1);
    hami_call *revoke = scripted_call(SCRIPTED_REVOKE);
    ck_assert_int_eq(hami_memory_bind_owner(scripted_store, &dead, "n1", NULL), 0);
    scripted_set_manual(false);
    scripted_answer(revoke);
    scripted_advance(3000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
}
END_TEST

START_TEST(an_owner_that_can_not_be_read_is_waited_for_not_guessed_case_1_08)
{
    static struct scripted_wait b;

    put_foreign("uid-dead", "7");
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_answer_kind(SCRIPTED_INSPECT, HAMI_E_TRANSPORT);
    scripted_advance(3000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    scripted_answer_kind(SCRIPTED_INSPECT, 0);
    scripted_advance(8000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(owners_are_asked_about_at_most_once_a_second_and_less_the_longer_they_hold)
{
    static struct scripted_wait b;

    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 600000);
    size_t before = scripted_count(SCRIPTED_INSPECT);
    scripted_advance(10000);
    size_t soon = scripted_count(SCRIPTED_INSPECT) - before;
    ck_assert_uint_le(soon, 11);
    ck_assert_uint_ge(soon, 7);
    scripted_advance(90000);
    size_t later = scripted_count(SCRIPTED_INSPECT) - before - soon;
    ck_assert_uint_le(later, 14);
    ck_assert_uint_ge(later, 7);
}
END_TEST

START_TEST(a_final_fact_from_a_watch_frees_the_waiter_at_once)
{
    static struct scripted_wait a, b;
    struct hami_owner_facts facts = {.size = sizeof(facts),
                                     .exists = true,
                                     .uid = "uid-a",
                                     .node = "n1",
                                     .started = true};

    scripted_pod("a", "uid-a");
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    ck_assert(!b.ended);
    scripted_pod_facts("a", &facts);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_lock_that_a_dead_manager_left_is_removed_though_nobody_waits)
{
    put_foreign("uid-dead", "7");
    scripted_advance(60000);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    put_foreign("uid-dead", "8");
    pod((struct hami_owner_facts){.node = "n2"});
    scripted_advance(14000);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    scripted_advance(2000);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 0);
    ck_assert_ptr_nonnull(strstr(scripted_last_log, "default/dead"));
    static struct scripted_wait b;
    scripted_acquire(&b, "n1", "b", 60000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), 8);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_lock_that_nobody_waits_for_stays_where_its_owner_may_need_it)
{
    put_foreign("uid-dead", "7");
    pod(waits[_i].facts);
    scripted_advance(900000);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
    ck_assert_uint_eq(scripted_stats().releases, 0);
}
END_TEST

START_TEST(a_handed_off_lock_whose_pod_vanishes_is_taken_over)
{
    static struct scripted_wait a, b;

    scripted_pod("a", "uid-a");
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_pod_gone("a");
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(1500);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_eq(scripted_stats().takeovers, 1);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_try_takes_over_what_is_proven_dead_and_names_who_holds_otherwise)
{
    struct hami_nodelock_request request;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;

    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_request(&request, "n1", "b");
    request.deadline_ns = scripted_now_ns + 5000 * MS;
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_HELD);
    ck_assert_ptr_nonnull(strstr(error.text, "default,dead"));
    ck_assert_ptr_null(lease);
    scripted_pod_gone("dead");
    scripted_advance(1500);
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, &error),
                     0);
    hami_lease *second = NULL;
    struct hami_nodelock_request other;
    scripted_request(&other, "n1", "c");
    other.deadline_ns = request.deadline_ns;
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &other, &second, &error),
                     HAMI_E_BUSY);
    ck_assert_int_eq(hami_lease_handoff(lease), 0);
}
END_TEST

START_TEST(a_holder_that_stalls_makes_the_queue_fail_fast_case_3_32)
{
    static struct scripted_wait b, late;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    config.stall_limit_ms = 5000;
    scripted_start(
        (struct scripted_options){.watch = true, .owners = true, .config = config});
    scripted_pod("b", "uid-b");
    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(4900);
    ck_assert(!b.ended);
    scripted_advance(200);
    ck_assert_int_eq(b.code, HAMI_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(b.text, "default,dead"));
    ck_assert_ptr_nonnull(strstr(b.text, "Allocate"));
    scripted_acquire(&late, "n1", "b", 60000);
    scripted_advance(1100);
    ck_assert_int_eq(late.code, HAMI_E_LIMIT);
    scripted_stop();
}
END_TEST

START_TEST(who_comes_after_a_stalled_holder_ended_is_not_judged_by_what_was_case_1_27)
{
    static struct scripted_wait b, later;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    config.stall_limit_ms = 5000;
    scripted_start((struct scripted_options){.owners = true, .config = config});
    scripted_pod("b", "uid-b");
    put_foreign("uid-dead", "7");
    pod((struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(5100);
    ck_assert_int_eq(b.code, HAMI_E_LIMIT);
    pod((struct hami_owner_facts){.node = "n1", .finished = true});
    scripted_acquire(&later, "n1", "b", 60000);
    scripted_advance(1100);
    ck_assert(later.ended);
    ck_assert_int_eq(later.code, 0);
    ck_assert_int_eq(hami_lease_handoff(later.lease), 0);
    scripted_stop();
}
END_TEST

/* ---- re-entry ---- */

START_TEST(the_owners_own_lock_of_another_replica_is_granted_again_under_a_higher_fence)
{
    static struct scripted_wait first, own;

    scripted_pod("dead", "uid-dead");
    put_foreign("uid-dead", "7");
    scripted_acquire(&first, "n1", "b", 60000);
    scripted_acquire(&own, "n1", "dead", 60000);
    ck_assert_int_eq(own.code, 0);
    ck_assert_uint_gt(hami_lease_fence(own.lease), 7);
    ck_assert(!first.ended);
    ck_assert_int_eq(hami_lease_handoff(own.lease), 0);
}
END_TEST

START_TEST(a_lock_without_a_lease_that_names_the_asker_is_adopted)
{
    static struct scripted_wait b;

    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY,
                                     "2026-01-02T02:55:00Z,default,b"),
                     0);
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert_int_eq(b.code, 0);
    ck_assert(scripted_record("n1").has_lease);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,b");
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* ---- by age alone ---- */

static const struct {
    const char *what, *value;
    bool free;
} values[] = {
    {"empty, case 1.16", "", true},
    {"legacy, case 1.19", "2026-01-02T03:00:00Z", false},
    {"malformed, case 1.17", "x", false},
    {"a future time, case 1.46", "2036-01-02T03:00:00Z,other,pod", false},
    {"nobody's", "2026-01-02T03:00:00Z,,", false},
};

START_TEST(what_can_not_be_judged_is_taken_after_its_age_since_it_was_first_seen)
{
    static struct scripted_wait b;

    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, values[_i].value), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    if (!values[_i].free) {
        scripted_advance(299000);
        ck_assert_msg(!b.ended, "%s", values[_i].what);
        ck_assert_str_eq(scripted_lock_value("n1"), values[_i].value);
        scripted_advance(2000);
    }
    ck_assert_msg(b.ended && b.code == 0, "%s", values[_i].what);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_value_that_changes_ages_anew)
{
    static struct scripted_wait b;

    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, "2026-01-02T03:00:00Z"),
        0);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(200000);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, "2026-01-02T03:00:01Z"),
        0);
    scripted_advance(200000);
    ck_assert(!b.ended);
    scripted_advance(101000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("takeover");
    TCase *judged = tcase_create("judged");
    TCase *aged = tcase_create("aged");
    TCase *bare = tcase_create("bare");

    tcase_add_checked_fixture(judged, owners, scripted_stop);
    tcase_add_loop_test(
        judged,
        a_lock_whose_owner_is_proven_past_allocate_is_taken_over_case_1_08_case_1_09, 0,
        sizeof(proofs) / sizeof(proofs[0]));
    tcase_add_loop_test(judged,
                        an_owner_that_may_still_call_allocate_is_waited_for_case_1_10, 0,
                        sizeof(waits) / sizeof(waits[0]));
    tcase_add_test(
        judged,
        an_unbound_owner_is_revoked_after_its_hold_limit_and_its_late_binding_fails);
    tcase_add_test(judged,
                   an_owner_that_turns_out_bound_when_it_is_revoked_keeps_its_lock);
    tcase_add_test(judged,
                   an_owner_that_can_not_be_read_is_waited_for_not_guessed_case_1_08);
    tcase_add_test(
        judged,
        owners_are_asked_about_at_most_once_a_second_and_less_the_longer_they_hold);
    tcase_add_test(judged, a_final_fact_from_a_watch_frees_the_waiter_at_once);
    tcase_add_test(judged,
                   a_lock_that_a_dead_manager_left_is_removed_though_nobody_waits);
    tcase_add_loop_test(judged,
                        a_lock_that_nobody_waits_for_stays_where_its_owner_may_need_it, 0,
                        (int)(sizeof(waits) / sizeof(waits[0])));
    tcase_add_test(judged, a_handed_off_lock_whose_pod_vanishes_is_taken_over);
    tcase_add_test(judged,
                   a_try_takes_over_what_is_proven_dead_and_names_who_holds_otherwise);
    tcase_add_test(
        judged,
        the_owners_own_lock_of_another_replica_is_granted_again_under_a_higher_fence);
    tcase_add_test(judged, a_lock_without_a_lease_that_names_the_asker_is_adopted);
    suite_add_tcase(suite, judged);
    tcase_add_checked_fixture(aged, ages, scripted_stop);
    tcase_add_loop_test(
        aged, what_can_not_be_judged_is_taken_after_its_age_since_it_was_first_seen, 0,
        sizeof(values) / sizeof(values[0]));
    tcase_add_test(aged, a_value_that_changes_ages_anew);
    suite_add_tcase(suite, aged);
    tcase_add_test(bare, an_overdue_owner_is_taken_over_only_where_the_operator_said_so);
    tcase_add_test(
        bare, who_comes_after_a_stalled_holder_ended_is_not_judged_by_what_was_case_1_27);
    tcase_add_test(bare, a_holder_that_stalls_makes_the_queue_fail_fast_case_3_32);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
