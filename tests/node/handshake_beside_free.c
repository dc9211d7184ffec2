/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The locks of pods side by side, as the node side's client frees them, against kubesim.
 */
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "beside_fixture.h"

START_TEST(failed_pod_gives_its_own_permit_up_at_once)
{
    fail_well(begin_well(1));
    expect_free(1, MEMORY("11"));
    expect_held(2, "b", "12", CALL("2"));
    expect_held(3, "c", "13", CALL("3"));
    expect_held(COVER, "c", "13", CALL("3"));
    world_expect_pod(&world, "a", HAMI_HANDSHAKE_PHASE_KEY, "failed");
    ck_assert_uint_eq(stats().released, 1);
    ck_assert_uint_eq(world_writes(&world), 2);
    serve(2, "b", 12);
    serve(3, "c", 13);
}
END_TEST

START_TEST(cover_of_a_failed_pod_goes_to_the_permit_with_the_highest_fence)
{
    fail_well(begin_well(3));
    expect_free(3, MEMORY("13"));
    expect_held(COVER, "b", "12", CALL("2"));
    fail_well(begin_well(2));
    expect_free(2, MEMORY("12"));
    expect_held(COVER, "a", "11", CALL("1"));
    fail_well(begin_well(1));
    expect_free(1, MEMORY("11"));
    expect_free(COVER, MEMORY("11"));
    ck_assert_uint_eq(world_writes(&world), 6);
}
END_TEST

START_TEST(last_permit_takes_a_stale_cover_with_it_and_keeps_the_higher_fence)
{
    pod_of("a", 1);
    pod_of("b", 2);
    put(1, "a", "11", CALL("1"));
    put(COVER, "b", "12", CALL("2")); /* its permit is gone */
    fail_well(begin_well(1));
    expect_free(1, MEMORY("11"));
    expect_free(COVER, MEMORY("12"));
}
END_TEST

/* Pod a in a permit, beside b, which has the cover for itself. */
static void take_beside_an_exclusive_one(void)
{
    pod_of("a", 1);
    pod_of("b", 2);
    put(1, "a", "11", CALL("1"));
    put(COVER, "b", "12", NULL);
}

START_TEST(cover_of_an_exclusive_pod_is_left_to_it)
{
    take_beside_an_exclusive_one();
    fail_well(begin_well(1));
    expect_free(1, MEMORY("11"));
    expect_held(COVER, "b", "12", NULL);
}
END_TEST

START_TEST(exclusive_cover_that_goes_is_not_free_while_a_permit_is_held)
{
    take_beside_an_exclusive_one();
    fail_well(begin_well(2));
    expect_held(1, "a", "11", CALL("1"));
    expect_held(COVER, "a", "11", CALL("1"));
}
END_TEST

START_TEST(permit_that_tells_no_calls_keeps_the_cover_as_well)
{
    pod_of("a", 1);
    pod_of("b", 2);
    put(2, "b", "10", NULL);
    take(1, "a", "11", CALL("1"));
    fail_well(begin_well(1));
    expect_free(1, MEMORY("11"));
    expect_held(2, "b", "10", NULL);
    expect_held(COVER, "b", "10", NULL);
}
END_TEST

START_TEST(release_beside_takes_of_others_reads_and_tries_again)
{
    hami_handshake_job *job = begin_well(3);

    pod_of("d", 4);
    take(4, "d", "14", CALL("4")); /* the cover was c's when the job began */
    fail_well(job);
    expect_free(3, MEMORY("13"));
    expect_held(4, "d", "14", CALL("4"));
    expect_held(COVER, "d", "14", CALL("4"));
    ck_assert_uint_eq(stats().released, 1);
}
END_TEST

START_TEST(permit_that_was_granted_to_another_since_is_left_alone)
{
    hami_handshake_job *job = begin_well(3);

    pod_of("d", 4);
    take(3, "d", "14", CALL("4"));
    fail_well(job);
    expect_held(3, "d", "14", CALL("4"));
    expect_held(COVER, "d", "14", CALL("4"));
}
END_TEST

START_TEST(locks_that_nobody_frees_are_all_removed_two_seconds_later)
{
    serve(2, "b", 12);
    serve(3, "c", 13);
    serve(1, "a", 11);
    world_wait_node(&world, HAMI_NODELOCK_KEY, NULL);
    expect_free(1, MEMORY("11"));
    expect_free(2, MEMORY("12"));
    expect_free(3, MEMORY("13"));
    ck_assert_uint_eq(stats().given_up, 0);
}
END_TEST

START_TEST(permit_that_was_passed_on_is_looked_at_once_for_its_last_owner)
{
    struct kubesim_match reads = {.verb = "get", .resource = "nodes", .user = "admin"};

    serve(1, "a", 11);
    pod_of("d", 4);
    take(1, "d", "14", CALL("4"));
    serve(4, "d", 14);
    world_wait_node(&world, key_of(HAMI_NODELOCK_KEY, 1), NULL);
    expect_free(1, MEMORY("14"));
    expect_held(2, "b", "12", CALL("2"));
    expect_held(COVER, "c", "13", CALL("3"));
    ck_assert_uint_eq(kubesim_count(world.sim, &reads), 2 + 1);
}
END_TEST

START_TEST(next_start_frees_the_permits_of_pods_that_were_served)
{
    serve(3, "c", 13);
    serve(1, "a", 11);
    restart();
    recover();
    expect_free(1, MEMORY("11"));
    expect_free(3, MEMORY("13"));
    expect_held(2, "b", "12", CALL("2"));
    expect_held(COVER, "b", "12", CALL("2"));
    serve(2, "b", 12);
}
END_TEST

START_TEST(next_start_frees_the_last_ones_with_their_cover)
{
    serve(3, "c", 13);
    serve(2, "b", 12);
    serve(1, "a", 11);
    restart();
    recover();
    for (unsigned permit = 0; permit <= 3; permit++) {
        world_expect_node(&world, key_of(HAMI_NODELOCK_KEY, permit), NULL);
    }
}
END_TEST

START_TEST(nothing_is_put_back_into_a_permit)
{
    static const unsigned odd[] = {1, 3, 0};
    hami_handshake_job *job;

    world_pod(&world, "a", odd, "u,N,1,0:;v,N,1,0:w,N,1,0:x,N,1,0:;");
    take(1, "a", "11", CALL("1") "," CALL("3"));
    job = begin_well(1);
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "pods", "ns", "a", WORLD_GPU_KEY,
                                            ";v,N,1,0:w,N,1,0:x,N,1,0:;"),
                     200);
    set(HAMI_NODELOCK_KEY, 1, NULL);
    set(HAMI_NODELOCK_LEASE_KEY, 1, MEMORY("11"));
    finish_well(job);
    expect_free(1, MEMORY("11"));
    ck_assert_uint_eq(stats().restored, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("handshake beside, freeing");
    TCase *bare = beside_case(suite, "bare", set_up);
    TCase *three = beside_case(suite, "three in flight", set_up_three);

    tcase_add_test(bare,
                   last_permit_takes_a_stale_cover_with_it_and_keeps_the_higher_fence);
    tcase_add_test(bare, cover_of_an_exclusive_pod_is_left_to_it);
    tcase_add_test(bare, exclusive_cover_that_goes_is_not_free_while_a_permit_is_held);
    tcase_add_test(bare, nothing_is_put_back_into_a_permit);
    tcase_add_test(three, failed_pod_gives_its_own_permit_up_at_once);
    tcase_add_test(three,
                   cover_of_a_failed_pod_goes_to_the_permit_with_the_highest_fence);
    tcase_add_test(bare, permit_that_tells_no_calls_keeps_the_cover_as_well);
    tcase_add_test(three, release_beside_takes_of_others_reads_and_tries_again);
    tcase_add_test(three, permit_that_was_granted_to_another_since_is_left_alone);
    tcase_add_test(three, locks_that_nobody_frees_are_all_removed_two_seconds_later);
    tcase_add_test(three, permit_that_was_passed_on_is_looked_at_once_for_its_last_owner);
    tcase_add_test(three, next_start_frees_the_permits_of_pods_that_were_served);
    tcase_add_test(three, next_start_frees_the_last_ones_with_their_cover);
    return run_suite(suite);
}
