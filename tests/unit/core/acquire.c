/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Acquire, hand-off, release, shares, order: the ordinary life of a lock, in virtual
 * time. */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
}

START_TEST(a_granted_lock_stands_in_the_store_with_its_lease)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    struct hami_lock_record record = scripted_record("n1");
    ck_assert(record.has_lease);
    ck_assert_str_eq(record.uid, "uid-a");
    ck_assert_str_eq(record.holder, hami_nodelock_holder(scripted_lock));
    ck_assert_uint_eq(record.fence, hami_lease_fence(a.lease));
    ck_assert_uint_eq(record.hold_ms, 15000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(a_release_leaves_only_the_memory_of_the_fence)
{
    static struct scripted_wait a;
    static struct scripted_done done;
    char memory[64];

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = hami_lease_fence(a.lease);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_int_eq(hami_lease_memory_format(fence, memory, sizeof(memory)), 0);
    ck_assert_str_eq(scripted_lease_value("n1"), memory);
}
END_TEST

START_TEST(fences_grow_whoever_grants)
{
    uint64_t last = 0;

    for (int i = 0; i < 20; i++) {
        static struct scripted_wait a;
        static struct scripted_done done;
        char name[16];
        (void)snprintf(name, sizeof(name), "p%d", i);
        scripted_acquire(&a, "n1", name, 1000);
        ck_assert_uint_gt(hami_lease_fence(a.lease), last);
        last = hami_lease_fence(a.lease);
        scripted_release(&done, a.lease, 1000);
        if (i % 5 == 4) {
            /* another replica was granted meanwhile */
            last += 1000;
            char text[64];
            ck_assert_int_eq(hami_lease_memory_format(last, text, sizeof(text)), 0);
            ck_assert_int_eq(
                hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, text), 0);
        }
    }
}
END_TEST

START_TEST(waiters_are_served_in_arrival_order)
{
    static struct scripted_wait waits[40];
    char name[16];

    for (unsigned i = 0; i < 40; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        scripted_acquire(&waits[i], "n1", name, 60000);
    }
    for (unsigned i = 0; i < 40; i++) {
        ck_assert_msg(waits[i].ended && waits[i].code == 0, "waiter %u has its turn", i);
        ck_assert(i == 39 || !waits[i + 1].ended);
        ck_assert_int_eq(hami_lease_handoff(waits[i].lease), 0);
        scripted_advance(20);
        ck_assert(i == 39 || !waits[i + 1].ended);
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL),
                         0);
        scripted_dispatch();
    }
    ck_assert_uint_eq(scripted_stats().grants, 40);
}
END_TEST

START_TEST(a_hand_off_keeps_the_slot_until_the_node_side_has_released_case_1_15)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 10000);
    scripted_advance(2000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_release_hands_over_to_the_next_waiter_in_one_write)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 10000);
    size_t writes = scripted_count(SCRIPTED_WRITE);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE) - writes, 1);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,b");
    ck_assert_uint_eq(scripted_stats().hand_overs, 1);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(hand_overs_without_a_gap_end_where_another_replica_was_seen)
{
    static struct scripted_wait waits[20];
    static struct scripted_done done;
    const char *rival = "{\"version\":1,\"lock\":\"2026-01-02T03:00:00Z,default,x\","
                        "\"uid\":\"x\",\"fence\":\"5\",\"holder\":\"rival_1\","
                        "\"attempt\":\"1\",\"hold_ms\":15000,\"free\":\"node\"}";
    char name[16];

    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, rival), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY,
                                     "2026-01-02T03:00:00Z,default,x"),
                     0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        scripted_acquire(&waits[i], "n1", name, 60000);
    }
    for (unsigned i = 0; i < 16; i++) {
        scripted_release(&done, waits[i].lease, 1000);
        ck_assert_msg(waits[i + 1].ended, "hand-over %u", i);
    }
    scripted_release(&done, waits[16].lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert(!waits[17].ended);
    scripted_advance(100);
    ck_assert_int_eq(waits[17].code, 0);
    scripted_release(&done, waits[17].lease, 1000);
    ck_assert_int_eq(waits[18].code, 0);
    scripted_release(&done, waits[18].lease, 1000);
    scripted_release(&done, waits[19].lease, 1000);
}
END_TEST

START_TEST(the_same_owner_gets_shares_of_one_grant_case_1_21)
{
    static struct scripted_wait first, second;
    static struct scripted_done done;

    scripted_acquire(&first, "n1", "a", 1000);
    size_t writes = scripted_count(SCRIPTED_WRITE);
    scripted_acquire(&second, "n1", "a", 1000);
    ck_assert_int_eq(second.code, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), writes);
    ck_assert_uint_eq(hami_lease_fence(first.lease), hami_lease_fence(second.lease));
    scripted_release(&done, first.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    scripted_release(&done, second.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(a_share_released_after_another_was_handed_off_keeps_the_lock_case_1_21)
{
    static struct scripted_wait first, second;
    static struct scripted_done done;

    scripted_acquire(&first, "n1", "a", 1000);
    scripted_acquire(&second, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(first.lease), 0);
    scripted_release(&done, second.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(an_owner_that_waits_behind_others_shares_its_grant_at_once)
{
    static struct scripted_wait a, b, again;

    scripted_acquire(&a, "n1", "a", 10000);
    scripted_acquire(&b, "n1", "b", 10000);
    scripted_acquire(&again, "n1", "a", 10000);
    ck_assert(!b.ended);
    ck_assert_int_eq(again.code, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    ck_assert_int_eq(hami_lease_handoff(again.lease), 0);
}
END_TEST

START_TEST(a_waiter_that_left_gets_its_place_back)
{
    static struct scripted_wait holder, waits[3], again;

    scripted_acquire(&holder, "n1", "holder", 1000);
    scripted_acquire(&waits[0], "n1", "p0", 100);
    scripted_acquire(&waits[1], "n1", "p1", 60000);
    scripted_acquire(&waits[2], "n1", "p2", 60000);
    scripted_advance(200);
    ck_assert_int_eq(waits[0].code, HAMI_E_TIMEDOUT);
    scripted_acquire(&again, "n1", "p0", 60000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(again.code, 0);
    ck_assert(!waits[1].ended && !waits[2].ended);
    ck_assert_int_eq(hami_lease_handoff(again.lease), 0);
}
END_TEST

START_TEST(a_kept_place_is_void_after_a_while_or_for_another_node)
{
    static struct scripted_wait holder, first, other, again, elsewhere;

    scripted_acquire(&holder, "n1", "holder", 1000);
    scripted_acquire(&first, "n1", "p0", 100);
    scripted_advance(200);
    scripted_acquire(&other, "n1", "p1", 600000);
    scripted_advance(31000);
    scripted_acquire(&again, "n1", "p0", 100);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(other.code, 0);
    scripted_advance(200);
    ck_assert_int_eq(again.code, HAMI_E_TIMEDOUT);
    scripted_acquire(&elsewhere, "n2", "p0", 1000);
    ck_assert_int_eq(elsewhere.code, 0);
    ck_assert_int_eq(hami_lease_handoff(other.lease), 0);
    ck_assert_int_eq(hami_lease_handoff(elsewhere.lease), 0);
}
END_TEST

START_TEST(a_higher_priority_goes_first_but_passes_nobody_more_than_four_times_case_3_31)
{
    static struct scripted_wait holder, low, high[6];
    struct hami_nodelock_request request;

    scripted_acquire(&holder, "n1", "holder", 1000);
    scripted_acquire(&low, "n1", "low", 600000);
    for (unsigned i = 0; i < 6; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "high%u", i);
        scripted_request(&request, "n1", name);
        request.priority = 10;
        scripted_acquire_as(&high[i], &request, 600000);
    }
    static struct scripted_wait *expected[] = {&high[0], &high[1], &high[2], &high[3],
                                               &low,     &high[4], &high[5]};
    hami_lease *held = holder.lease;
    for (size_t i = 0; i < 7; i++) {
        static struct scripted_done done;
        scripted_release(&done, held, 1000);
        ck_assert_msg(expected[i]->ended && expected[i]->code == 0, "turn %zu", i);
        held = expected[i]->lease;
    }
    ck_assert_int_eq(hami_lease_handoff(held), 0);
}
END_TEST

START_TEST(nodes_do_not_wait_for_each_other_case_1_03)
{
    static struct scripted_wait stuck, other;

    scripted_set_manual(true);
    scripted_acquire(&stuck, "n1", "a", 60000);
    ck_assert_uint_eq(scripted_waiting(), 1);
    scripted_set_manual(false);
    scripted_acquire(&other, "n2", "b", 1000);
    ck_assert_int_eq(other.code, 0);
    ck_assert(!stuck.ended);
    ck_assert_int_eq(hami_lease_handoff(other.lease), 0);
}
END_TEST

START_TEST(an_unbound_owner_is_inspected_before_its_lock_is_written)
{
    static struct scripted_wait a;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    scripted_pod("a", "uid-a");
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_int_eq(hami_lease_facts(a.lease, &view), 0);
    ck_assert_str_eq(view.owner.name, "a");
    ck_assert_str_eq(view.node, "n1");
    ck_assert_str_eq(view.key, HAMI_NODELOCK_KEY);
    ck_assert_ptr_nonnull(view.owner_version);
    ck_assert_ptr_null(view.owner_revoked);
    struct hami_owner owner = {"default", "a", "uid-a"};
    ck_assert_int_eq(
        hami_memory_bind_owner(scripted_store, &owner, "n1", view.owner_version), 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

static const struct {
    const char *what;
    struct hami_owner_facts facts;
} unfit[] = {
    {"gone", {.exists = false}},
    {"another uid", {.exists = true, .uid = "other"}},
    {"finished", {.exists = true, .uid = "uid-a", .finished = true}},
    {"bound here", {.exists = true, .uid = "uid-a", .node = "n1"}},
    {"bound elsewhere", {.exists = true, .uid = "uid-a", .node = "n2"}},
    {"deleting", {.exists = true, .uid = "uid-a", .deleting = true}},
    {"assigned elsewhere", {.exists = true, .uid = "uid-a", .assigned_node = "n2"}},
};

START_TEST(an_owner_that_cannot_use_a_lock_is_refused_and_nothing_is_written)
{
    struct hami_owner_facts facts = unfit[_i].facts;
    static struct scripted_wait a;

    facts.size = sizeof(facts);
    scripted_pod_facts("a", &facts);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_msg(a.code == HAMI_E_LOST, "%s: %s", unfit[_i].what, hami_errname(a.code));
    ck_assert_str_ne(a.text, "");
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
}
END_TEST

START_TEST(a_pod_deleted_while_it_waits_leaves_the_queue_case_3_22)
{
    static struct scripted_wait a, b, c;

    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
    scripted_pod("c", "uid-c");
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_acquire(&c, "n1", "c", 60000);
    scripted_pod_gone("c");
    scripted_dispatch();
    ck_assert_int_eq(c.code, HAMI_E_LOST);
    scripted_pod_gone("b");
    scripted_dispatch();
    ck_assert_int_eq(b.code, HAMI_E_LOST);
    ck_assert_uint_eq(scripted_stats().waiters, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("acquire");
    TCase *simple = tcase_create("plain");
    TCase *owners = tcase_create("owners");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple, a_granted_lock_stands_in_the_store_with_its_lease);
    tcase_add_test(simple, a_release_leaves_only_the_memory_of_the_fence);
    tcase_add_test(simple, fences_grow_whoever_grants);
    tcase_add_test(simple, waiters_are_served_in_arrival_order);
    tcase_add_test(simple,
                   a_hand_off_keeps_the_slot_until_the_node_side_has_released_case_1_15);
    tcase_add_test(simple, a_release_hands_over_to_the_next_waiter_in_one_write);
    tcase_add_test(simple, hand_overs_without_a_gap_end_where_another_replica_was_seen);
    tcase_add_test(simple, the_same_owner_gets_shares_of_one_grant_case_1_21);
    tcase_add_test(
        simple, a_share_released_after_another_was_handed_off_keeps_the_lock_case_1_21);
    tcase_add_test(simple, an_owner_that_waits_behind_others_shares_its_grant_at_once);
    tcase_add_test(simple, a_waiter_that_left_gets_its_place_back);
    tcase_add_test(simple, a_kept_place_is_void_after_a_while_or_for_another_node);
    tcase_add_test(
        simple,
        a_higher_priority_goes_first_but_passes_nobody_more_than_four_times_case_3_31);
    tcase_add_test(simple, nodes_do_not_wait_for_each_other_case_1_03);
    suite_add_tcase(suite, simple);
    tcase_add_checked_fixture(owners, with_owners, scripted_stop);
    tcase_add_test(owners, an_unbound_owner_is_inspected_before_its_lock_is_written);
    tcase_add_loop_test(owners,
                        an_owner_that_cannot_use_a_lock_is_refused_and_nothing_is_written,
                        0, sizeof(unfit) / sizeof(unfit[0]));
    tcase_add_test(owners, a_pod_deleted_while_it_waits_leaves_the_queue_case_3_22);
    suite_add_tcase(suite, owners);
    return scripted_run(suite);
}
