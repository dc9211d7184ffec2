/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods beside each other, where something goes wrong or somebody else writes. */
#include "beside_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME "2026-01-02T03:04:05Z"
#define HAMIS TIME ",default,z"

static void set_up(void)
{
    beside_start(8);
}

static void hand_off(struct scripted_wait *wait, const char *name)
{
    beside_assert_granted(wait, name);
    ck_assert_int_eq(hami_lease_handoff(wait->lease), 0);
    scripted_dispatch();
}

/* A lock of another manager in a permit and in the cover. */
static void put_others(unsigned permit, const char *name, const char *calls, bool covers)
{
    char lock[128], lease[1024];

    (void)snprintf(lock, sizeof(lock), TIME ",default,%s", name);
    (void)snprintf(lease, sizeof(lease),
                   "{\"version\":1,\"lock\":\"%s\",\"uid\":\"uid-%s\",\"fence\":\"%u\","
                   "\"holder\":\"gone_1\",\"attempt\":\"7\",\"hold_ms\":15000,"
                   "\"free\":\"scheduler\"%s%s%s}",
                   lock, name, 5000 + permit, calls ? ",\"calls\":\"" : "",
                   calls ? calls : "", calls ? "\"" : "");
    beside_put(permit, lock, lease);
    if (covers) {
        beside_put(0, lock, lease);
    }
    scripted_dispatch();
}

static void put_bound(const char *name, const char *node, bool started)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[16];

    (void)snprintf(uid, sizeof(uid), "uid-%s", name);
    facts.known = facts.exists = true;
    facts.uid = uid;
    facts.node = node;
    facts.started = started;
    facts.devices_left = !started;
    scripted_pod_facts(name, &facts);
    scripted_dispatch();
}

/* ---- answers ---- */

START_TEST(a_take_whose_answer_is_lost_and_that_landed_is_found)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    scripted_set_manual(false);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(a_take_that_was_sent_twice_is_a_success_once)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    hami_call *call = scripted_call(SCRIPTED_WRITE);
    scripted_answer_code(call, 2, HAMI_E_HELD);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    scripted_set_manual(false);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(a_take_that_lands_when_nobody_wants_it_any_more_is_undone)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    struct scripted_copy *late = scripted_copy(scripted_call(SCRIPTED_WRITE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, HAMI_E_CANCELED);
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_uint_eq(beside_held(), 1);
    ck_assert(scripted_land(late));
    scripted_advance(10);
    ck_assert_uint_eq(beside_held(), 1);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    ck_assert_uint_ge(scripted_stats().undone, 1);
    ck_assert_uint_eq(scripted_stats().lost, 0);
    hand_off(&a, "a");
}
END_TEST

START_TEST(a_late_take_is_refused_once_another_one_has_changed_the_cover)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    scripted_set_manual(true);
    beside_take(&b, "b", GPU2);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    struct scripted_copy *late = scripted_copy(scripted_call(SCRIPTED_WRITE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 0, HAMI_E_IN_DOUBT);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_set_manual(false);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    beside_take(&c, "c", GPU2);
    beside_assert_granted(&c, "c");
    ck_assert(!scripted_land(late));
    beside_assert_sound();
    hand_off(&a, "a");
    hand_off(&c, "c");
}
END_TEST

START_TEST(a_release_in_doubt_is_settled_by_its_permit)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    scripted_set_manual(true);
    scripted_release(&done, b.lease, 1000);
    scripted_answer(scripted_call(SCRIPTED_REVOKE));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert(done.ended && done.code == 0);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    scripted_set_manual(false);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    beside_assert_empty();
}
END_TEST

static hami_nodelock *other;
static struct scripted_wait others;
static const char *others_calls;
static bool interferes;

/* Somebody else is quicker than the write that is about to be carried out. */
static int interfere(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    if (kind == SCRIPTED_WRITE && interferes) {
        interferes = false;
        beside_take_by(other, &others, "o", others_calls);
    }
    return 0;
}

START_TEST(of_two_managers_that_take_at_a_time_one_wins_the_cover)
{
    static struct scripted_wait a;

    other = beside_other(8);
    others_calls = _i == 0 ? GPU1 : GPU2;
    interferes = true;
    scripted_submitted = interfere;
    beside_take(&a, "a", GPU1);
    scripted_advance(100);
    beside_assert_granted(&others, "o");
    if (_i == 0) {
        beside_assert_waits(&a, "a");
        ck_assert_int_eq(hami_wait_abort(a.wait), 0);
        scripted_dispatch();
    } else {
        beside_assert_granted(&a, "a");
        ck_assert_uint_eq(beside_held(), 2);
        hand_off(&a, "a");
    }
    beside_assert_sound();
    ck_assert_int_eq(hami_lease_handoff(others.lease), 0);
    hami_nodelock_free(other);
}
END_TEST

/* ---- the mark ---- */

static int unmark(hami_call *call, enum scripted_kind kind)
{
    (void)call;
    if (kind == SCRIPTED_WRITE && interferes) {
        interferes = false;
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY,
                                         "1,free=scheduler"),
                         0);
    }
    return 0;
}

START_TEST(a_mark_that_goes_before_the_patch_makes_the_take_fail_and_the_pod_exclusive)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    interferes = true;
    scripted_submitted = unmark;
    beside_take(&b, "b", GPU2);
    scripted_advance(100);
    beside_assert_waits(&b, "b");
    ck_assert_uint_eq(beside_held(), 1);
    beside_assert_sound();
    beside_bind_and_serve(&a, "a"); /* what is in flight stays in flight */
    beside_assert_granted(&b, "b");
    ck_assert_str_eq(beside_record(0).uid, "uid-b");
    ck_assert_str_eq(beside_record(0).calls, "");
    beside_bind_and_serve(&b, "b");
    scripted_advance(300);
    beside_assert_empty();
}
END_TEST

START_TEST(without_a_watch_the_mark_is_known_from_reads)
{
    static struct scripted_wait a, b, c;
    struct scripted_options options = {.owners = true,
                                       .config = HAMI_NODELOCK_CONFIG_INIT};

    scripted_stop();
    options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    options.config.side_by_side = 8;
    beside_start_as(options, MARK);
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU2);
    beside_assert_granted(&a, "a");
    beside_assert_granted(&b, "b");
    beside_assert_waits(&c, "c");
    beside_assert_sound();
    ck_assert_uint_eq(beside_held(), 2);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY, NULL), 0);
    scripted_advance(1000);
    ck_assert_int_eq(hami_wait_abort(c.wait), 0);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

/* ---- what others write ---- */

START_TEST(a_foreign_lock_in_the_cover_is_in_everybodys_way_and_releases_leave_it)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    uint64_t fence = beside_bind(&a, "a");
    beside_put(0, HAMIS, beside_lease(0)); /* HAMi writes the lock alone */
    put_bound("z", "n1", false);
    beside_take(&c, "c", GPU3);
    scripted_advance(3000);
    beside_assert_waits(&c, "c");
    unsigned permit = beside_permit_of("a");
    beside_serve("a", fence);
    scripted_advance(300);
    ck_assert_str_eq(beside_value(permit), ""); /* given back, though c waits */
    ck_assert_str_eq(beside_value(0), HAMIS);
    beside_assert_waits(&c, "c");
    /* its device plugin removes it */
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    beside_assert_granted(&c, "c");
    beside_assert_sound();
    hand_off(&b, "b");
    hand_off(&c, "c");
}
END_TEST

static const struct {
    const char *what, *lock, *lease;
} odd[] = {
    {"no lease", HAMIS, NULL},
    {"no calls", HAMIS,
     "{\"version\":1,\"lock\":\"" HAMIS "\",\"uid\":\"uid-z\",\"fence\":\"9\","
     "\"holder\":\"h_1\",\"attempt\":\"1\"}"},
    {"calls of no form", HAMIS,
     "{\"version\":1,\"lock\":\"" HAMIS "\",\"uid\":\"uid-z\",\"fence\":\"9\","
     "\"holder\":\"h_1\",\"attempt\":\"1\",\"calls\":\"b=1,a=1\"}"},
    {"another's lease", HAMIS,
     "{\"version\":1,\"lock\":\"" TIME ",default,y\",\"uid\":\"uid-y\","
     "\"fence\":\"9\",\"holder\":\"h_1\",\"attempt\":\"1\",\"calls\":\"" GPU3 "\"}"},
    {"nobody's", "held", NULL},
};

START_TEST(a_lock_in_a_permit_without_calls_stands_for_all_calls)
{
    static struct scripted_wait a;

    put_bound("z", "n1", false);
    beside_put(3, odd[_i].lock, odd[_i].lease);
    scripted_dispatch();
    beside_take(&a, "a", GPU1);
    scripted_advance(2000);
    ck_assert_msg(!a.ended, "%s", odd[_i].what);
    beside_put(3, NULL, NULL);
    scripted_dispatch();
    beside_assert_granted(&a, "a");
    hand_off(&a, "a");
}
END_TEST

START_TEST(a_release_covers_the_node_with_an_odd_lock_where_only_that_is_left)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    put_bound("z", "n1", false);
    beside_put(8, odd[_i].lock, odd[_i].lease);
    scripted_dispatch();
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(beside_value(0), odd[_i].lock);
    ck_assert_str_eq(beside_lease(0), odd[_i].lease ? odd[_i].lease : "");
    ck_assert_uint_eq(beside_held(), 1);
}
END_TEST

START_TEST(another_managers_permit_is_waited_for_and_taken_over_on_proof)
{
    static struct scripted_wait a, b;

    put_bound("o", "n1", false);
    put_others(5, "o", GPU1, true);
    beside_take(&b, "b", GPU2);
    beside_assert_granted(&b, "b"); /* the cover's owner is judged in its permit */
    beside_take(&a, "a", GPU1);
    scripted_advance(3000);
    beside_assert_waits(&a, "a");
    put_bound("o", "n1", true);
    scripted_advance(10);
    beside_assert_granted(&a, "a");
    ck_assert_uint_eq(beside_permit_of("a"), 5);
    ck_assert_uint_eq(scripted_stats().takeovers, 1);
    beside_assert_sound();
    ck_assert_uint_gt(hami_lease_fence(b.lease), 5005);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(a_permit_whose_owner_was_never_bound_is_revoked_past_its_limit)
{
    static struct scripted_wait a;

    put_others(2, "o", GPU1, true);
    beside_take(&a, "a", GPU1);
    scripted_advance(14000);
    beside_assert_waits(&a, "a");
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 0);
    scripted_advance(4000);
    beside_assert_granted(&a, "a");
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 1);
    ck_assert_uint_eq(beside_permit_of("a"), 2);
    beside_assert_sound();
    hand_off(&a, "a");
}
END_TEST

START_TEST(an_exclusive_pod_asks_about_all_who_are_in_its_way)
{
    static struct scripted_wait all;

    put_others(1, "o", GPU1, false);
    put_others(2, "p", GPU2, false);
    put_others(3, "q", GPU3, true);
    put_bound("o", "n2", false);
    put_bound("p", "n2", false);
    put_bound("q", "n2", false);
    beside_take(&all, "e", NULL);
    scripted_advance(10000);
    beside_assert_granted(&all, "e");
    ck_assert_str_eq(beside_record(0).uid, "uid-e");
    hand_off(&all, "e");
}
END_TEST

START_TEST(a_lock_of_the_asker_itself_in_a_permit_is_its_own)
{
    static struct scripted_wait a, b;

    beside_take(&b, "b", GPU2);
    put_others(4, "a", GPU1, true);
    beside_take(&a, "a", GPU1);
    beside_assert_granted(&a, "a");
    ck_assert_uint_eq(beside_permit_of("a"), 4);
    ck_assert_str_eq(beside_record(4).holder, beside_record(0).holder);
    beside_assert_sound();
    ck_assert_uint_eq(scripted_stats().takeovers, 0);
    hand_off(&a, "a");
    hand_off(&b, "b");
}
END_TEST

START_TEST(an_own_lock_in_a_permit_is_not_in_the_way_of_a_pod_that_became_exclusive)
{
    static struct scripted_wait a;

    put_others(4, "a", GPU1, true);
    beside_take(&a, "a", NULL);
    beside_assert_granted(&a, "a");
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    ck_assert_str_eq(beside_record(0).calls, "");
    hand_off(&a, "a");
}
END_TEST

/* ---- covers that are left ---- */

START_TEST(a_cover_of_ours_that_is_a_copy_of_nothing_is_removed)
{
    static struct scripted_wait a;
    char lock[256], lease[2048];

    beside_take(&a, "a", GPU1);
    (void)snprintf(lock, sizeof(lock), "%s", beside_value(0));
    (void)snprintf(lease, sizeof(lease), "%s", beside_lease(0));
    beside_bind_and_serve(&a, "a");
    scripted_advance(200);
    beside_assert_empty();
    beside_put(0, lock, lease);
    scripted_advance(100);
    beside_assert_empty();
    ck_assert_uint_eq(beside_record(0).last_fence, beside_record(1).last_fence);
}
END_TEST

START_TEST(a_cover_of_anothers_that_is_a_copy_of_nothing_is_removed_past_the_hold_limit)
{
    put_others(6, "o", GPU1, true);
    beside_put(6, NULL, "{\"version\":1,\"fence\":\"5006\"}");
    scripted_advance(14000);
    ck_assert_str_eq(beside_record(0).uid, "uid-o");
    scripted_advance(2000);
    beside_assert_empty();
}
END_TEST

START_TEST(a_cover_that_is_a_copy_of_nothing_is_in_nobodys_way)
{
    static struct scripted_wait a;

    put_others(6, "o", GPU1, true);
    beside_put(6, NULL, "{\"version\":1,\"fence\":\"5006\"}");
    beside_take(&a, "a", _i == 0 ? GPU1 : NULL);
    beside_assert_granted(&a, "a");
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    ck_assert_uint_gt(hami_lease_fence(a.lease), 5006);
    beside_assert_sound();
    hand_off(&a, "a");
}
END_TEST

START_TEST(no_cover_is_taken_for_a_stray_while_permits_are_held)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    hand_off(&a, "a");
    hand_off(&b, "b");
    scripted_advance(60000);
    ck_assert_uint_eq(beside_held(), 2);
    ck_assert_str_eq(beside_record(0).uid, "uid-b");
    ck_assert_uint_eq(scripted_stats().undone, 0);
}
END_TEST

START_TEST(a_permit_of_a_dead_manager_whose_pod_is_elsewhere_is_removed_with_its_cover)
{
    static struct scripted_wait a;

    beside_take(&a, "a", GPU2);
    put_others(5, "o", GPU1, true);
    put_bound("o", "n2", false);
    scripted_advance(16000);
    ck_assert_str_eq(beside_value(5), "");
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    hand_off(&a, "a");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside faults");
    TCase *world = tcase_create("beside faults");

    tcase_add_checked_fixture(world, set_up, scripted_stop);
    tcase_add_test(world, a_take_whose_answer_is_lost_and_that_landed_is_found);
    tcase_add_test(world, a_take_that_was_sent_twice_is_a_success_once);
    tcase_add_test(world, a_take_that_lands_when_nobody_wants_it_any_more_is_undone);
    tcase_add_test(world, a_late_take_is_refused_once_another_one_has_changed_the_cover);
    tcase_add_test(world, a_release_in_doubt_is_settled_by_its_permit);
    tcase_add_loop_test(world, of_two_managers_that_take_at_a_time_one_wins_the_cover, 0,
                        2);
    tcase_add_test(
        world,
        a_mark_that_goes_before_the_patch_makes_the_take_fail_and_the_pod_exclusive);
    tcase_add_test(world, without_a_watch_the_mark_is_known_from_reads);
    tcase_add_test(
        world, a_foreign_lock_in_the_cover_is_in_everybodys_way_and_releases_leave_it);
    tcase_add_loop_test(world, a_lock_in_a_permit_without_calls_stands_for_all_calls, 0,
                        (int)(sizeof(odd) / sizeof(odd[0])));
    tcase_add_loop_test(
        world, a_release_covers_the_node_with_an_odd_lock_where_only_that_is_left, 0,
        (int)(sizeof(odd) / sizeof(odd[0])));
    tcase_add_test(world, another_managers_permit_is_waited_for_and_taken_over_on_proof);
    tcase_add_test(world, a_permit_whose_owner_was_never_bound_is_revoked_past_its_limit);
    tcase_add_test(world, an_exclusive_pod_asks_about_all_who_are_in_its_way);
    tcase_add_test(world, a_lock_of_the_asker_itself_in_a_permit_is_its_own);
    tcase_add_test(
        world, an_own_lock_in_a_permit_is_not_in_the_way_of_a_pod_that_became_exclusive);
    tcase_add_test(world, a_cover_of_ours_that_is_a_copy_of_nothing_is_removed);
    tcase_add_test(
        world,
        a_cover_of_anothers_that_is_a_copy_of_nothing_is_removed_past_the_hold_limit);
    tcase_add_loop_test(world, a_cover_that_is_a_copy_of_nothing_is_in_nobodys_way, 0, 2);
    tcase_add_test(world, no_cover_is_taken_for_a_stray_while_permits_are_held);
    tcase_add_test(
        world,
        a_permit_of_a_dead_manager_whose_pod_is_elsewhere_is_removed_with_its_cover);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
