/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose lock a value is, and how old: names that are parts of names, pods that came again
 * under their name, holders that are parts of holders, clocks that are wrong, values
 * without an owner.
 */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

static struct scripted_wait a, b;
static struct scripted_done done;

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
}

static void put(const char *lock, const char *lease)
{
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, lock), 0);
}

static void put_with_lease(const char *lock, const char *uid, const char *holder)
{
    char lease[1024];

    (void)snprintf(lease, sizeof(lease),
                   "{\"version\":1,\"lock\":\"%s\",\"uid\":\"%s\",\"fence\":\"7\","
                   "\"holder\":\"%s\",\"attempt\":\"1\",\"hold_ms\":15000,"
                   "\"free\":\"node\"}",
                   lock, uid, holder);
    put(lock, lease);
}

static void pod(const char *name, const char *uid, struct hami_owner_facts facts)
{
    facts.size = sizeof(facts);
    facts.exists = true;
    facts.uid = uid;
    scripted_pod_facts(name, &facts);
}

/* ---- names ---- */

#define LONG_NAME "2026-01-02T03:00:00Z,ns,abc-123"

static const struct hami_owner others[] = {
    {"ns", "abc", "uid-1"},
    {"ns", "123", "uid-2"},
    {"s", "abc-123", "uid-3"},
    {"ns2", "abc-123", "uid-4"},
};

static void ask_as(const struct hami_owner *owner, uint64_t ms)
{
    struct hami_nodelock_request request = {
        .size = sizeof(request), .node = "n1", .owner = *owner};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.exists = facts.devices_left = true;
    facts.uid = owner->uid;
    ck_assert_int_eq(hami_memory_put_owner(scripted_store, owner, &facts), 0);
    scripted_acquire_as(&a, &request, ms);
}

START_TEST(a_lock_is_nobodys_whose_name_is_a_part_of_its_owners_case_1_06)
{
    struct hami_owner owner = {"ns", "abc-123", "uid-5"};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    put(LONG_NAME, NULL);
    facts.exists = facts.devices_left = true;
    facts.uid = "uid-5";
    ck_assert_int_eq(hami_memory_put_owner(scripted_store, &owner, &facts), 0);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        ask_as(&others[i], 1000);
        scripted_advance(1500);
        ck_assert_msg(a.code == HAMI_E_TIMEDOUT, "%s/%s: %s", others[i].namespace_name,
                      others[i].name, hami_errname(a.code));
        ck_assert_str_eq(scripted_lock_value("n1"), LONG_NAME);
    }
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
    ask_as(&owner, 1000);
    ck_assert_int_eq(a.code, 0);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(a_record_is_ours_only_if_its_holder_is_ours_to_the_last_letter_case_3_17)
{
    char holder[400];
    const char *own = hami_nodelock_holder(scripted_lock);
    const char *lock = "2026-01-02T03:00:00Z,default,a";

    switch (_i) {
    case 0:
        (void)snprintf(holder, sizeof(holder), "%s2", own);
        break;
    case 1:
        (void)snprintf(holder, sizeof(holder), "%.*s", (int)strlen(own) - 1, own);
        break;
    case 2:
        (void)snprintf(holder, sizeof(holder), "test-holder");
        break;
    default:
        (void)snprintf(holder, sizeof(holder), "%s", own);
    }
    put_with_lease(lock, "uid-a", holder);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(2000);
    if (_i < 3) {
        ck_assert_msg(!b.ended, "%s", holder);
        ck_assert_str_eq(scripted_lock_value("n1"), lock);
        ck_assert_uint_eq(scripted_stats().undone, 0);
    } else {
        /* Ours, and no take of ours wants it: it is undone. */
        ck_assert_int_eq(b.code, 0);
        ck_assert_uint_eq(scripted_stats().undone, 1);
        ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    }
}
END_TEST

/* ---- pods that came again ---- */

START_TEST(a_pod_that_came_again_gets_a_lock_of_its_own_age_case_1_22)
{
    put_with_lease("2026-01-02T02:59:15Z,default,a", "uid-before", "other_1");
    scripted_acquire(&a, "n1", "a", 10000);
    scripted_advance(1500);
    ck_assert_msg(a.ended && a.code == 0, "%s", a.text);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    ck_assert_str_eq(scripted_record("n1").uid, "uid-a");
    ck_assert_uint_gt(scripted_record("n1").fence, 7);
    pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .devices_left = true});
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(290000);
    ck_assert_uint_eq(scripted_stats().alarms, 0);
    scripted_advance(15000);
    ck_assert_uint_eq(scripted_stats().alarms, 1);
    ck_assert(!b.ended);
}
END_TEST

START_TEST(a_pod_that_was_bound_by_name_under_its_predecessors_lock_keeps_it_case_1_22)
{
    put_with_lease("2026-01-02T02:59:15Z,default,a", "uid-before", "other_1");
    pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(20000);
    ck_assert(!b.ended);
    pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .started = true});
    scripted_advance(6500); /* asked again by then: it has held for long */
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* ---- clocks ---- */

START_TEST(a_time_in_the_future_hides_no_dead_owner_case_1_46)
{
    put("2026-01-02T04:04:05Z,default,a", NULL);
    pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .devices_left = true});
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(301000);
    ck_assert(!b.ended);
    if (_i == 0) {
        scripted_pod_gone("a");
    } else {
        pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .finished = true});
    }
    scripted_advance(31000); /* asked again by then: it has held for long */
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_legacy_time_in_the_future_ages_by_our_own_clock_case_1_46)
{
    put("2036-01-02T04:04:05Z", NULL);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(299000);
    ck_assert(!b.ended);
    scripted_advance(2000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_wall_clock_that_steps_gives_a_held_lock_to_nobody_case_1_46)
{
    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = hami_lease_fence(a.lease);
    pod("a", "uid-a", (struct hami_owner_facts){.node = "n1", .devices_left = true});
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_realtime_s += _i == 0 ? -3600 : 3600;
    scripted_advance(60000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), _i == 0
                                                    ? "2026-01-02T02:04:05Z,default,b"
                                                    : "2026-01-02T04:04:05Z,default,b");
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* ---- owners that are being deleted ---- */

START_TEST(a_deletion_proves_nothing_while_the_kubelet_may_still_allocate_case_3_09)
{
    put_with_lease("2026-01-02T03:04:05Z,default,a", "uid-a", "other_1");
    pod("a", "uid-a",
        (struct hami_owner_facts){.node = "n1",
                                  .devices_left = true,
                                  .deleting = true,
                                  .bind_phase = HAMI_BIND_PHASE_ALLOCATING});
    scripted_acquire(&b, "n1", "b", 900000);
    scripted_advance(100000);
    ck_assert(!b.ended);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
    if (_i == 0) {
        scripted_pod_gone("a");
    } else {
        pod("a", "uid-a",
            (struct hami_owner_facts){.node = "n1", .deleting = true, .finished = true});
    }
    scripted_advance(31000); /* asked again by then: it has held for long */
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* ---- values that name nobody ---- */

START_TEST(an_empty_value_is_free_and_replaced_by_one_guarded_write_case_1_16)
{
    put("", NULL);
    scripted_set_manual(true);
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(scripted_call(SCRIPTED_WRITE), &count);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(edits[0].key, HAMI_NODELOCK_KEY);
    ck_assert_int_eq(edits[0].action, HAMI_EDIT_PUT);
    ck_assert_ptr_nonnull(edits[0].expect);
    ck_assert_str_eq(edits[0].expect, "");
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    scripted_dispatch();
    ck_assert_int_eq(a.code, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 1);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    ck_assert_uint_eq(scripted_stats().takeovers, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

static const char *const odd[] = {
    "x",
    "2026-01-02T03:04:05Z,ns",
    "2026-01-02T03:04:05Z,ns,a,b",
    "x,ns,a",
    "2026-01-02T03:04:05Z,,",
    "2026-01-02T03:04:05z,ns,a",
    "\"",
    "\xff\xfe",
};

START_TEST(an_odd_value_is_held_by_nobody_knows_whom_until_its_age_case_1_17)
{
    put(odd[_i], NULL);
    scripted_acquire(&a, "n1", "a", 900000);
    scripted_advance(299000);
    ck_assert_msg(!a.ended, "%s", odd[_i]);
    ck_assert_str_eq(scripted_lock_value("n1"), odd[_i]);
    scripted_advance(2000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_ptr_nonnull(strstr(scripted_last_log, "taken over"));
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whose lock");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, with_owners, scripted_stop);
    tcase_add_test(all, a_lock_is_nobodys_whose_name_is_a_part_of_its_owners_case_1_06);
    tcase_add_loop_test(
        all, a_record_is_ours_only_if_its_holder_is_ours_to_the_last_letter_case_3_17, 0,
        4);
    tcase_add_test(all, a_pod_that_came_again_gets_a_lock_of_its_own_age_case_1_22);
    tcase_add_test(
        all, a_pod_that_was_bound_by_name_under_its_predecessors_lock_keeps_it_case_1_22);
    tcase_add_loop_test(all, a_time_in_the_future_hides_no_dead_owner_case_1_46, 0, 2);
    tcase_add_test(all, a_legacy_time_in_the_future_ages_by_our_own_clock_case_1_46);
    tcase_add_loop_test(
        all, a_wall_clock_that_steps_gives_a_held_lock_to_nobody_case_1_46, 0, 2);
    tcase_add_loop_test(
        all, a_deletion_proves_nothing_while_the_kubelet_may_still_allocate_case_3_09, 0,
        2);
    tcase_add_test(all,
                   an_empty_value_is_free_and_replaced_by_one_guarded_write_case_1_16);
    tcase_add_loop_test(all,
                        an_odd_value_is_held_by_nobody_knows_whom_until_its_age_case_1_17,
                        0, sizeof(odd) / sizeof(odd[0]));
    suite_add_tcase(suite, all);
    return scripted_run(suite);
}
