/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods beside each other, where somebody else writes: HAMi, another manager, or one that
 * is gone. */
#include "beside_world.h"

#include <stdio.h>
#include <string.h>

#define TIME "2026-01-02T03:04:05Z"
#define HAMIS TIME ",default,z"

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
    beside_hand_off(&b, "b");
    beside_hand_off(&c, "c");
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
    beside_hand_off(&a, "a");
}
END_TEST

START_TEST(a_release_covers_the_node_with_an_odd_lock_where_only_that_is_left)
{
    static struct scripted_wait a;

    beside_take(&a, "a", GPU1);
    put_bound("z", "n1", false);
    beside_put(8, odd[_i].lock, odd[_i].lease);
    scripted_dispatch();
    beside_release(&a);
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
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
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
    beside_hand_off(&a, "a");
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
    beside_hand_off(&all, "e");
}
END_TEST

static const struct {
    uint32_t most;
    const char *calls;
} latecomers[] = {{0, NULL}, {8, NULL}, {4, "nvidia.com/gpu=9"}};

START_TEST(nobody_is_refused_for_the_locks_of_many_dead_while_they_are_found_out)
{
    static struct scripted_wait late;

    beside_restart((struct hami_nodelock_config){.side_by_side = latecomers[_i].most,
                                                 .stall_limit_ms = 5000},
                   true);
    for (unsigned i = 1; i <= HAMI_NODELOCK_SIDE_BY_SIDE_MAX; i++) {
        char name[2] = {(char)('n' + i), '\0'}, calls[32];
        (void)snprintf(calls, sizeof(calls), "nvidia.com/gpu=%u", i);
        scripted_pod_gone(name);
        put_others(i, name, calls, i == HAMI_NODELOCK_SIDE_BY_SIDE_MAX);
    }
    beside_take(&late, "a", latecomers[_i].calls);
    scripted_advance(3000);
    beside_hand_off(&late, "a");
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
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
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
    beside_hand_off(&a, "a");
}
END_TEST

/* One of many pods, each with a name of its own. */
static void put_pod(int number, uint64_t fence, bool bound)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char name[16], uid[24];

    (void)snprintf(name, sizeof(name), "p%d", number);
    (void)snprintf(uid, sizeof(uid), "uid-%s", name);
    facts.known = facts.exists = true;
    facts.uid = uid;
    facts.node = bound ? "n1" : NULL;
    facts.bind_phase = bound ? HAMI_BIND_PHASE_SUCCESS : HAMI_BIND_PHASE_NONE;
    facts.fence = facts.done = fence;
    scripted_pod_facts(name, &facts);
}

static void come(struct scripted_wait *wait, int number)
{
    struct hami_nodelock_request request;
    char name[16], calls[32];

    put_pod(number, 0, false);
    (void)snprintf(name, sizeof(name), "p%d", number);
    (void)snprintf(calls, sizeof(calls), "nvidia.com/gpu=%d", 1 + number);
    scripted_request(&request, "n1", name);
    request.calls = calls;
    scripted_acquire_as(wait, &request, 600000);
}

START_TEST(an_exclusive_pod_of_another_replica_is_not_kept_waiting_for_ever)
{
    static struct scripted_wait first, all, waits[2];
    hami_nodelock *other = beside_other(8);
    int takes = 0;

    beside_take_by(other, &first, "f", "amd.com/gpu=1"); /* so that it is known here */
    come(&waits[0], takes);
    beside_bind_and_serve(&first, "f");
    beside_take_by(other, &all, "e", NULL);
    beside_assert_waits(&all, "e");
    /* The next one comes before the last one is served: somebody is always in flight. */
    while (takes < 400 && waits[takes % 2].ended) {
        struct scripted_wait *now = &waits[takes % 2];
        uint64_t fence = hami_lease_fence(now->lease);
        takes++;
        come(&waits[takes % 2], takes);
        ck_assert_int_eq(hami_lease_handoff(now->lease), 0);
        scripted_advance(150); /* what was done before is given back meanwhile */
        put_pod(takes - 1, fence, true);
        beside_dispatch(other);
        scripted_advance(5);
        beside_dispatch(other);
    }
    beside_assert_granted(&all, "e");
    ck_assert_int_gt(takes, 60);
    ck_assert_int_lt(takes, 80);
    ck_assert_int_eq(hami_lease_handoff(all.lease), 0);
    scripted_advance(1000);
    hami_nodelock_free(other);
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
    beside_hand_off(&a, "a");
}
END_TEST

START_TEST(the_last_release_leaves_the_higher_memory_in_a_cover_of_anothers)
{
    static struct scripted_wait a;

    beside_take(&a, "a", GPU2);
    put_others(6, "o", GPU1, true);
    beside_put(6, NULL, NULL); /* with its memory */
    scripted_dispatch();
    beside_release(&a);
    beside_assert_empty();
    ck_assert_uint_eq(beside_record(0).last_fence, 5006);
}
END_TEST

START_TEST(no_cover_is_taken_for_a_stray_while_permits_are_held)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
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
    beside_hand_off(&a, "a");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside others");
    TCase *world = tcase_create("beside others");

    tcase_add_checked_fixture(world, beside_set_up, scripted_stop);
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
    tcase_add_loop_test(
        world, nobody_is_refused_for_the_locks_of_many_dead_while_they_are_found_out, 0,
        (int)(sizeof(latecomers) / sizeof(latecomers[0])));
    tcase_add_test(world, a_lock_of_the_asker_itself_in_a_permit_is_its_own);
    tcase_add_test(
        world, an_own_lock_in_a_permit_is_not_in_the_way_of_a_pod_that_became_exclusive);
    tcase_add_test(world,
                   an_exclusive_pod_of_another_replica_is_not_kept_waiting_for_ever);
    tcase_add_test(world, a_cover_of_ours_that_is_a_copy_of_nothing_is_removed);
    tcase_add_test(
        world,
        a_cover_of_anothers_that_is_a_copy_of_nothing_is_removed_past_the_hold_limit);
    tcase_add_loop_test(world, a_cover_that_is_a_copy_of_nothing_is_in_nobodys_way, 0, 2);
    tcase_add_test(world,
                   the_last_release_leaves_the_higher_memory_in_a_cover_of_anothers);
    tcase_add_test(world, no_cover_is_taken_for_a_stray_while_permits_are_held);
    tcase_add_test(
        world,
        a_permit_of_a_dead_manager_whose_pod_is_elsewhere_is_removed_with_its_cover);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
