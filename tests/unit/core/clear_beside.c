/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release by hand of what pods hold that are side by side, and of what covers them.
 */
#include "clear_world.h"

#include <string.h>

#include "scripted.h"

#define KEY1 HAMI_NODELOCK_KEY ".1"
#define KEY2 HAMI_NODELOCK_KEY ".2"
#define KEY3 HAMI_NODELOCK_KEY ".3"
#define LEASE_KEY1 HAMI_NODELOCK_LEASE_KEY ".1"
#define LOCK_B "2026-01-02T03:04:06Z,default,b"
#define LOCK_C "2026-01-02T03:04:06Z,default,c"
#define BESIDE(lock, uid, fence, calls)                                                  \
    "{\"version\":1,\"lock\":\"" lock "\",\"uid\":\"" uid "\",\"fence\":\"" fence        \
    "\",\"holder\":\"h_1\",\"attempt\":\"7\",\"hold_ms\":15000,\"free\":\"scheduler\","  \
    "\"calls\":\"" calls "\"}"
#define BESIDE_A BESIDE(LOCK, "uid-a", "41", "x.io/gpu=1")
#define BESIDE_B BESIDE(LOCK_B, "uid-b", "44", "x.io/gpu=2")
#define BESIDE_C BESIDE(LOCK_C, "uid-c", "43", "x.io/gpu=3")

static void put_permit(const char *key, const char *lease_key, const char *lock,
                       const char *lease)
{
    ck_assert_int_eq(hami_memory_put(store, "n1", key, lock), 0);
    ck_assert_int_eq(hami_memory_put(store, "n1", lease_key, lease), 0);
}

START_TEST(the_last_permit_takes_its_cover_along)
{
    put(LOCK, BESIDE_A);
    put_permit(KEY1, LEASE_KEY1, LOCK, BESIDE_A);
    ck_assert_int_eq(clear_permit(1, LOCK, BESIDE_A), 0);
    assert_stands("-", MEMORY);
    ck_assert_str_eq(value_of(KEY1), "-");
    ck_assert_str_eq(value_of(LEASE_KEY1), MEMORY);
}
END_TEST

START_TEST(a_permit_leaves_the_cover_to_the_other_of_the_highest_fence)
{
    put(LOCK, BESIDE_A);
    put_permit(KEY1, LEASE_KEY1, LOCK, BESIDE_A);
    put_permit(KEY2, HAMI_NODELOCK_LEASE_KEY ".2", LOCK_B, BESIDE_B);
    put_permit(KEY3, HAMI_NODELOCK_LEASE_KEY ".3", LOCK_C, BESIDE_C);
    ck_assert_int_eq(clear_permit(1, LOCK, BESIDE_A), 0);
    assert_stands(LOCK_B, BESIDE_B);
    ck_assert_str_eq(value_of(KEY1), "-");
    ck_assert_str_eq(value_of(KEY2), LOCK_B);
    ck_assert_int_eq(clear_permit(3, LOCK_C, BESIDE_C), 0);
    assert_stands(LOCK_B, BESIDE_B);
    ck_assert_str_eq(value_of(KEY3), "-");
    ck_assert_uint_eq(counts[WRITE], 2);
}
END_TEST

START_TEST(a_cover_stays_while_a_pod_beside_holds_its_permit)
{
    put(LOCK, BESIDE_A);
    put_permit(KEY2, HAMI_NODELOCK_LEASE_KEY ".2", LOCK_B, BESIDE_B);
    ck_assert_int_eq(clear_with(LOCK, BESIDE_A, HAMI_CLEAR_BOUND_OWNERS), HAMI_E_HELD);
    ck_assert_ptr_nonnull(strstr(error.text, KEY2));
    ck_assert_ptr_nonnull(strstr(error.text, LOCK_B));
    assert_stands(LOCK, BESIDE_A);
    ck_assert_uint_eq(counts[WRITE], 0);
    put_permit(KEY2, HAMI_NODELOCK_LEASE_KEY ".2", NULL, MEMORY);
    ck_assert_int_eq(clear_with(LOCK, BESIDE_A, 0), 0);
    assert_stands("-", MEMORY);
}
END_TEST

START_TEST(a_lock_over_pods_beside_gives_way_to_their_cover)
{
    put(LOCK, LEASE("uid-a"));
    put_permit(KEY2, HAMI_NODELOCK_LEASE_KEY ".2", LOCK_B, BESIDE_B);
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands(LOCK_B, BESIDE_B);
    ck_assert_str_eq(value_of(KEY2), LOCK_B);
}
END_TEST

static void let_another_come_beside(void)
{
    before_write = NULL;
    put(LOCK_B, BESIDE_B);
    put_permit(KEY2, HAMI_NODELOCK_LEASE_KEY ".2", LOCK_B, BESIDE_B);
}

START_TEST(a_permit_does_not_go_by_an_old_look_at_the_cover)
{
    put(LOCK, BESIDE_A);
    put_permit(KEY1, LEASE_KEY1, LOCK, BESIDE_A);
    before_write = let_another_come_beside;
    ck_assert_int_eq(clear_permit(1, LOCK, BESIDE_A), HAMI_E_PROTO);
    assert_stands(LOCK_B, BESIDE_B);
    ck_assert_str_eq(value_of(KEY1), LOCK);
    ck_assert_int_eq(clear_permit(1, LOCK, BESIDE_A), 0);
    assert_stands(LOCK_B, BESIDE_B);
    ck_assert_str_eq(value_of(KEY1), "-");
}
END_TEST

START_TEST(permits_without_calls_have_no_cover)
{
    put(LOCK, LEASE("uid-a"));
    put_permit(KEY1, LEASE_KEY1, LOCK_B, NULL);
    ck_assert_int_eq(clear_with(LOCK, LEASE("uid-a"), 0), 0);
    assert_stands("-", MEMORY);
    ck_assert_str_eq(value_of(KEY1), LOCK_B);
    ck_assert_int_eq(clear_permit(1, LOCK_B, NULL), 0);
    ck_assert_str_eq(value_of(KEY1), "-");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clear beside");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, start, stop);
    tcase_add_test(all, the_last_permit_takes_its_cover_along);
    tcase_add_test(all, a_permit_leaves_the_cover_to_the_other_of_the_highest_fence);
    tcase_add_test(all, a_cover_stays_while_a_pod_beside_holds_its_permit);
    tcase_add_test(all, a_lock_over_pods_beside_gives_way_to_their_cover);
    tcase_add_test(all, a_permit_does_not_go_by_an_old_look_at_the_cover);
    tcase_add_test(all, permits_without_calls_have_no_cover);
    suite_add_tcase(suite, all);
    return scripted_run(suite);
}
