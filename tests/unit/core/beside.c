/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods beside each other on one node: who may, in which order, and what stands there. */
#include "beside_world.h"

#include <stdio.h>
#include <string.h>

START_TEST(distinct_pods_hold_the_node_at_the_same_time)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU3);
    beside_assert_granted(&a, "a");
    beside_assert_granted(&b, "b");
    beside_assert_granted(&c, "c");
    ck_assert_uint_eq(beside_held(), 3);
    ck_assert_str_eq(beside_record(beside_permit_of("b")).calls, GPU2);
    ck_assert_str_eq(beside_record(0).uid, "uid-c");
    beside_assert_sound();
    ck_assert_uint_gt(hami_lease_fence(b.lease), hami_lease_fence(a.lease));
    ck_assert_uint_gt(hami_lease_fence(c.lease), hami_lease_fence(b.lease));
    beside_bind_and_serve(&a, "a");
    beside_bind_and_serve(&b, "b");
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    beside_assert_empty();
}
END_TEST

START_TEST(a_take_beside_others_costs_one_inspection_and_one_write)
{
    static struct scripted_wait a, b;

    beside_take(&a, "a", GPU1);
    size_t reads = scripted_count(SCRIPTED_READ);
    size_t looks = scripted_count(SCRIPTED_INSPECT);
    size_t writes = scripted_count(SCRIPTED_WRITE);
    beside_take(&b, "b", GPU2);
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads);
    ck_assert_uint_eq(scripted_count(SCRIPTED_INSPECT), looks + 1);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), writes + 1);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(equal_pods_come_one_by_one_in_their_order)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU12);
    beside_take(&c, "c", GPU1);
    beside_assert_waits(&b, "b");
    beside_assert_waits(&c, "c");
    uint64_t fence = beside_bind(&a, "a");
    unsigned permit = beside_permit_of("a");
    beside_serve("a", fence);
    beside_assert_granted(&b, "b");
    beside_assert_waits(&c, "c");
    /* What was done is used again before an empty permit. */
    ck_assert_uint_eq(beside_permit_of("b"), permit);
    ck_assert_uint_eq(beside_held(), 1);
    beside_assert_sound();
    ck_assert_uint_eq(scripted_stats().hand_overs, 1);
    ck_assert_uint_eq(scripted_stats().takeovers, 0);
    beside_bind_and_serve(&b, "b");
    beside_assert_granted(&c, "c");
    ck_assert_uint_gt(c.order, b.order);
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    beside_assert_empty();
}
END_TEST

START_TEST(who_must_wait_is_not_passed_by_a_later_pod_with_one_of_its_calls)
{
    static struct scripted_wait a, b, c, d;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU12);
    beside_take(&c, "c", GPU2); /* free, but b came before and has it */
    beside_take(&d, "d", GPU3);
    beside_assert_waits(&b, "b");
    beside_assert_waits(&c, "c");
    beside_assert_granted(&d, "d");
    beside_bind_and_serve(&a, "a");
    beside_assert_granted(&b, "b");
    beside_assert_waits(&c, "c");
    beside_bind_and_serve(&b, "b");
    beside_assert_granted(&c, "c");
    beside_assert_sound();
    beside_bind_and_serve(&c, "c");
    beside_bind_and_serve(&d, "d");
}
END_TEST

START_TEST(an_exclusive_pod_waits_for_all_and_is_not_passed)
{
    static struct scripted_wait a, b, all, c;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&all, "e", NULL);
    beside_take(&c, "c", GPU3);
    beside_assert_waits(&all, "e");
    beside_assert_waits(&c, "c");
    beside_bind_and_serve(&a, "a");
    beside_assert_waits(&all, "e");
    beside_assert_waits(&c, "c");
    beside_bind_and_serve(&b, "b");
    beside_assert_granted(&all, "e");
    beside_assert_waits(&c, "c");
    struct hami_lock_record cover = beside_record(0);
    ck_assert_str_eq(cover.uid, "uid-e");
    ck_assert_str_eq(cover.calls, "");
    ck_assert(cover.free_by_scheduler);
    for (unsigned i = 1; i <= HAMI_NODELOCK_SIDE_BY_SIDE_MAX; i++) {
        ck_assert_uint_lt(beside_record(i).last_fence, cover.fence);
    }
    beside_bind_and_serve(&all, "e");
    beside_assert_granted(&c, "c");
    beside_assert_sound();
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    beside_assert_empty();
}
END_TEST

START_TEST(a_pod_beside_waits_for_an_exclusive_one)
{
    static struct scripted_wait all, a, b;

    beside_take(&all, "e", NULL);
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_assert_waits(&a, "a");
    beside_assert_waits(&b, "b");
    beside_bind_and_serve(&all, "e");
    beside_assert_granted(&a, "a");
    beside_assert_granted(&b, "b");
    ck_assert_uint_eq(beside_held(), 2);
    beside_assert_sound();
    beside_bind_and_serve(&a, "a");
    beside_bind_and_serve(&b, "b");
    scripted_advance(200);
    beside_assert_empty();
}
END_TEST

START_TEST(no_more_are_beside_each_other_than_are_allowed)
{
    static struct scripted_wait a, b, c;

    scripted_stop();
    beside_start(2);
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU3);
    beside_assert_granted(&b, "b");
    beside_assert_waits(&c, "c");
    beside_bind_and_serve(&a, "a");
    beside_assert_granted(&c, "c");
    ck_assert_uint_eq(beside_held(), 2);
    beside_bind_and_serve(&b, "b");
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    beside_assert_empty();
}
END_TEST

START_TEST(eight_are_beside_each_other_and_a_ninth_waits)
{
    static struct scripted_wait waits[9];

    for (int i = 0; i < 9; i++) {
        char name[2] = {(char)('a' + i), '\0'}, calls[32];
        (void)snprintf(calls, sizeof(calls), "nvidia.com/gpu=%d", i + 1);
        beside_take(&waits[i], name, calls);
    }
    beside_assert_granted(&waits[7], "h");
    beside_assert_waits(&waits[8], "i");
    beside_assert_sound();
    ck_assert_uint_eq(beside_held(), 8);
    for (int i = 0; i < 9; i++) {
        char name[2] = {(char)('a' + i), '\0'};
        beside_bind_and_serve(&waits[i], name);
        beside_assert_sound();
    }
    scripted_advance(300);
    beside_assert_empty();
}
END_TEST

static const struct {
    const char *what, *mark, *calls;
    uint32_t most;
} exclusive[] = {
    {"the option is off", MARK, GPU1, 0},
    {"the node frees", "1,free=node", GPU1, 8},
    {"the node leaves freeing and no more", "1,free=scheduler", GPU1, 8},
    {"there is no node side", NULL, GPU1, 8},
    {"a node side of another form", "2,free=scheduler,side-by-side", GPU1, 8},
    {"the pod has no calls", MARK, NULL, 8},
};

START_TEST(all_others_are_exclusive)
{
    static struct scripted_wait a, b;
    struct scripted_options options = {
        .watch = true, .owners = true, .config = HAMI_NODELOCK_CONFIG_INIT};

    scripted_stop();
    options.config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
    options.config.side_by_side = exclusive[_i].most;
    beside_start_as(options, exclusive[_i].mark);
    beside_take(&a, "a", exclusive[_i].calls);
    beside_take(&b, "b", exclusive[_i].calls ? GPU2 : NULL);
    beside_assert_granted(&a, "a");
    ck_assert_msg(!b.ended, "%s", exclusive[_i].what);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    ck_assert_str_eq(beside_record(0).calls, "");
    ck_assert_uint_eq(beside_held(), 0);
    ck_assert_ptr_null(strstr(beside_lease(0), "calls"));
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_dispatch();
}
END_TEST

START_TEST(a_pod_with_several_keys_is_exclusive)
{
    static struct scripted_wait a, b;
    static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY};
    struct hami_nodelock_request request;

    beside_take(&a, "a", GPU1);
    scripted_request(&request, "n1", "b");
    request.keys = keys;
    request.key_count = 2;
    request.calls = GPU2;
    scripted_acquire_as(&b, &request, 60000);
    beside_assert_waits(&b, "b");
    beside_bind_and_serve(&a, "a");
    beside_assert_granted(&b, "b");
    ck_assert_str_eq(beside_record(0).uid, "uid-b");
    ck_assert_str_eq(beside_record(0).calls, "");
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_release_promotes_the_newest_that_is_left)
{
    static struct scripted_wait a, b, c;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU3);
    unsigned permit = beside_permit_of("b");
    beside_release(&b); /* the cover is another's */
    ck_assert_str_eq(beside_value(permit), "");
    ck_assert_str_eq(beside_record(0).uid, "uid-c");
    beside_assert_sound();
    beside_release(&c);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_assert_sound();
    size_t reads = scripted_count(SCRIPTED_READ);
    beside_release(&a);
    beside_assert_empty();
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads);
    ck_assert_uint_eq(scripted_stats().releases, 3);
}
END_TEST

START_TEST(of_several_that_are_left_the_newest_is_promoted)
{
    static struct scripted_wait a, b, c, d;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU3);
    beside_release(&b); /* so that the newest is not in the last permit */
    beside_take(&d, "d", GPU2);
    beside_take(&b, "b", "amd.com/gpu=1");
    ck_assert_uint_lt(beside_permit_of("d"), beside_permit_of("c"));
    beside_release(&b);
    ck_assert_str_eq(beside_record(0).uid, "uid-d");
    beside_assert_sound();
    beside_release(&d);
    ck_assert_str_eq(beside_record(0).uid, "uid-c");
    beside_release(&c);
    ck_assert_str_eq(beside_record(0).uid, "uid-a");
    beside_release(&a);
    beside_assert_empty();
}
END_TEST

START_TEST(an_exclusive_pod_does_not_pass_one_that_tries_again)
{
    static struct scripted_wait a, all;

    scripted_answer_kind(SCRIPTED_WRITE, HAMI_E_TRANSPORT);
    beside_take(&a, "a", GPU1);
    beside_assert_waits(&a, "a");
    scripted_answer_kind(SCRIPTED_WRITE, 0);
    beside_take(&all, "e", NULL);
    beside_assert_waits(&all, "e");
    scripted_advance(100);
    beside_assert_granted(&a, "a");
    beside_assert_waits(&all, "e");
    beside_bind_and_serve(&a, "a");
    beside_assert_granted(&all, "e");
    ck_assert_int_eq(hami_lease_handoff(all.lease), 0);
}
END_TEST

START_TEST(the_fence_of_a_take_is_above_the_memories_of_all_records)
{
    static struct scripted_wait a;

    beside_put(0, NULL, "{\"version\":1,\"fence\":\"1000\"}");
    beside_put(7, NULL, "{\"version\":1,\"fence\":\"70000\"}");
    beside_take(&a, "a", GPU1);
    beside_assert_granted(&a, "a");
    ck_assert_uint_gt(hami_lease_fence(a.lease), 70000);
    beside_assert_sound();
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(the_same_pod_shares_its_grant_beside_others)
{
    static struct scripted_wait a, again, b;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&again, "a", GPU1);
    beside_assert_granted(&again, "a");
    ck_assert_uint_eq(hami_lease_fence(a.lease), hami_lease_fence(again.lease));
    ck_assert_uint_eq(beside_held(), 2);
    beside_release(&a);
    ck_assert_uint_eq(beside_held(), 2);
    scripted_check(&done, again.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    beside_release(&again);
    ck_assert_uint_eq(beside_held(), 1);
    beside_assert_sound();
    beside_release(&b);
    beside_assert_empty();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside");
    TCase *world = tcase_create("beside");

    tcase_add_checked_fixture(world, beside_set_up, scripted_stop);
    tcase_add_test(world, distinct_pods_hold_the_node_at_the_same_time);
    tcase_add_test(world, a_take_beside_others_costs_one_inspection_and_one_write);
    tcase_add_test(world, equal_pods_come_one_by_one_in_their_order);
    tcase_add_test(world,
                   who_must_wait_is_not_passed_by_a_later_pod_with_one_of_its_calls);
    tcase_add_test(world, an_exclusive_pod_waits_for_all_and_is_not_passed);
    tcase_add_test(world, a_pod_beside_waits_for_an_exclusive_one);
    tcase_add_test(world, no_more_are_beside_each_other_than_are_allowed);
    tcase_add_test(world, eight_are_beside_each_other_and_a_ninth_waits);
    tcase_add_loop_test(world, all_others_are_exclusive, 0,
                        (int)(sizeof(exclusive) / sizeof(exclusive[0])));
    tcase_add_test(world, a_pod_with_several_keys_is_exclusive);
    tcase_add_test(world, a_release_promotes_the_newest_that_is_left);
    tcase_add_test(world, of_several_that_are_left_the_newest_is_promoted);
    tcase_add_test(world, an_exclusive_pod_does_not_pass_one_that_tries_again);
    tcase_add_test(world, the_fence_of_a_take_is_above_the_memories_of_all_records);
    tcase_add_test(world, the_same_pod_shares_its_grant_beside_others);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
