/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods side by side, as the node side's client serves them, against kubesim. How it frees
 * their locks is in handshake_beside_free.c.
 */
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "beside_fixture.h"

START_TEST(pods_in_flight_are_served_in_whatever_order_their_calls_come)
{
    static const unsigned orders[6][3] = {{1, 2, 3}, {1, 3, 2}, {2, 1, 3},
                                          {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
    static const char *const names[] = {"a", "b", "c"};

    for (size_t i = 0; i < 3; i++) {
        unsigned count = orders[_i][i];

        serve(count, names[count - 1], 10 + count);
    }
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "11");
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_DONE_KEY, "12");
    world_expect_pod(&world, "c", HAMI_HANDSHAKE_DONE_KEY, "13");
    expect_held(1, "a", "11", CALL("1"));
    expect_held(COVER, "c", "13", CALL("3"));
    ck_assert_uint_eq(world_reads(&world), 3 * 2);
    ck_assert_uint_eq(world_writes(&world), 3);
    ck_assert_uint_eq(stats().left, 3);
    ck_assert_uint_eq(stats().without_fence, 0);
}
END_TEST

START_TEST(containers_of_two_pods_come_in_turns_over_restarts_of_the_agent)
{
    static const unsigned odd[] = {1, 3, 0}, even[] = {2, 4, 0};

    world_pod(&world, "a", odd, "u,N,1,0:;v,N,1,0:w,N,1,0:x,N,1,0:;");
    world_pod(&world, "b", even, "e,N,1,0:f,N,1,0:;g,N,1,0:h,N,1,0:i,N,1,0:j,N,1,0:;");
    take(1, "a", "11", CALL("1") "," CALL("3"));
    take(2, "b", "12", CALL("2") "," CALL("4"));
    serve(1, "a", 11);
    restart();
    recover();
    serve(2, "b", 12);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_PHASE_KEY, "allocating");
    restart();
    serve(3, "a", 11);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "success");
    serve(4, "b", 12);
    world_expect_pod(&world, "b", HAMI_HANDSHAKE_DONE_KEY, "12");
    expect_held(2, "b", "12", CALL("2") "," CALL("4"));
}
END_TEST

START_TEST(two_equal_pods_that_somebody_put_beside_each_other_are_both_refused)
{
    pod_of("a", 1);
    pod_of("b", 1);
    take(1, "a", "11", CALL("1"));
    take(2, "b", "12", CALL("1"));
    expect_refusal(1, HAMI_E_BUSY);
    ck_assert_uint_eq(stats().several, 1);
}
END_TEST

START_TEST(pod_in_no_permit_is_refused)
{
    pod_of("a", 1);
    pod_of("d", 4);
    take(1, "a", "11", CALL("1"));
    expect_refusal(4, HAMI_E_HELD);
    ck_assert_ptr_nonnull(strstr(error.text, "ns/d"));
    serve(1, "a", 11);
}
END_TEST

START_TEST(permit_of_the_same_name_is_another_pods)
{
    char *uid = world_uid(&world, "a"), *other;

    take(1, "a", "11", CALL("1"));
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "a"), 200);
    pod_of("a", 1);
    other = world_uid(&world, "a");
    ck_assert_str_ne(uid, other);
    expect_refusal(1, HAMI_E_HELD);
    free(other);
    free(uid);
}
END_TEST

START_TEST(cover_without_calls_decides_as_ever)
{
    pod_of("a", 1);
    pod_of("b", 2);
    put(COVER, "b", "12", NULL);
    set(HAMI_NODELOCK_LEASE_KEY, 1, MEMORY("9"));
    expect_refusal(1, HAMI_E_HELD);
    serve(2, "b", 12);
    expect_held(COVER, "b", "12", NULL);
    world_expect_node(&world, key_of(HAMI_NODELOCK_LEASE_KEY, 1), MEMORY("9"));
}
END_TEST

/* Pod a in a permit whose cover has the name of b, a pod of that many devices: HAMi's own
 * scheduler goes by the cover, and took that over once its owner was done. */
static void cover_by_another_name(unsigned count)
{
    pod_of("a", 1);
    pod_of("b", count);
    take(1, "a", "11", CALL("1"));
    set(HAMI_NODELOCK_KEY, COVER, WORLD_TIME ",ns,b");
}

START_TEST(pod_in_a_permit_is_served_though_another_name_covers_it)
{
    cover_by_another_name(2);
    serve(1, "a", 11);
    serve(2, "b", 0);
    ck_assert_uint_eq(stats().without_fence, 1);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "11");
}
END_TEST

START_TEST(equal_pod_whose_name_covers_the_permits_has_both_refused)
{
    cover_by_another_name(1);
    expect_refusal(1, HAMI_E_BUSY);
}
END_TEST

START_TEST(of_two_records_of_one_pod_the_higher_fence_is_its_lock)
{
    pod_of("a", 1);
    put(1, "a", "11", CALL("1"));
    put(2, "a", "14", CALL("1"));
    put(COVER, "a", "12", NULL);
    serve(1, "a", 14);
    put(COVER, "a", "15", NULL);
    ck_assert_int_eq(
        kubesim_set_annotation(world.sim, "pods", "ns", "a", WORLD_GPU_KEY, "u,N,1,0:;"),
        200);
    serve(1, "a", 15);
}
END_TEST

START_TEST(a_fence_is_required_of_the_permit)
{
    pod_of("a", 1);
    pod_of("b", 2);
    take(1, "a", "11", CALL("1"));
    hami_handshake_free(handshake);
    handshake = world_handshake(&world, HAMI_HANDSHAKE_REQUIRE_FENCE);
    serve(1, "a", 11);
    set(HAMI_NODELOCK_KEY, COVER, WORLD_TIME ",ns,b");
    expect_refusal(2, HAMI_E_HELD);
}
END_TEST

/* Asks with the books of a kubelet that knows of nobody. */
static int ask_without_books(size_t count, hami_handshake_job **ret)
{
    struct hami_handshake_call call = HAMI_HANDSHAKE_CALL_INIT;

    return begin_with_books(&call, count, ret);
}

/* Pod a is served, and its node side wrote down what it was given. */
static void serve_and_tell_devices(void)
{
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", "a",
                                            "hami.io/vgpu-devices-allocated",
                                            "GPU-a0,NVIDIA,1000,10:;"),
                     200);
    serve(1, "a", 11);
}

START_TEST(kubelet_that_lost_its_books_asks_again_beside_others)
{
    hami_handshake_job *job = NULL;

    serve_and_tell_devices();
    ck_assert_int_eq(ask_without_books(2, &job), 0);
    ck_assert_str_eq(hami_handshake_owner(job)->name, "b");
    finish_well(job);
    ck_assert_int_eq(ask_without_books(1, &job), 0);
    ck_assert(hami_handshake_is_again(job));
    ck_assert_str_eq(hami_handshake_device(job, 0)->uuid, "GPU-a0");
    finish_well(job);
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_DONE_KEY, "11");
}
END_TEST

START_TEST(pod_that_asks_again_after_its_permit_was_passed_on_is_refused)
{
    hami_handshake_job *job = NULL;

    serve_and_tell_devices();
    pod_of("d", 1);
    take(1, "d", "14", CALL("1"));
    ck_assert_int_eq(ask_without_books(1, &job), HAMI_E_BUSY); /* a's, or d's */
    ck_assert_int_eq(kubesim_delete(world.sim, "pods", "ns", "d"), 200);
    ck_assert_int_eq(ask_without_books(1, &job), HAMI_E_HELD);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake beside");
    TCase *bare = beside_case(suite, "bare", set_up);
    TCase *three = beside_case(suite, "three in flight", set_up_three);

    tcase_add_test(bare, containers_of_two_pods_come_in_turns_over_restarts_of_the_agent);
    tcase_add_test(bare,
                   two_equal_pods_that_somebody_put_beside_each_other_are_both_refused);
    tcase_add_test(bare, pod_in_no_permit_is_refused);
    tcase_add_test(bare, cover_without_calls_decides_as_ever);
    tcase_add_test(bare, pod_in_a_permit_is_served_though_another_name_covers_it);
    tcase_add_test(bare, equal_pod_whose_name_covers_the_permits_has_both_refused);
    tcase_add_test(bare, of_two_records_of_one_pod_the_higher_fence_is_its_lock);
    tcase_add_test(bare, a_fence_is_required_of_the_permit);
    tcase_add_loop_test(
        three, pods_in_flight_are_served_in_whatever_order_their_calls_come, 0, 6);
    tcase_add_test(three, permit_of_the_same_name_is_another_pods);
    tcase_add_test(three, kubelet_that_lost_its_books_asks_again_beside_others);
    tcase_add_test(three, pod_that_asks_again_after_its_permit_was_passed_on_is_refused);
    return run_suite(suite);
}
