/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Several keys, and several permits, of one node. */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

START_TEST(several_keys_are_one_grant_and_one_write_or_none_case_1_23)
{
    static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY};
    static const char *const one[] = {HAMI_NODELOCK_CAMBRICON_KEY};
    static struct scripted_wait mlu, both;
    static struct scripted_done done;
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", "mlu");
    request.keys = one;
    request.key_count = 1;
    scripted_acquire_as(&mlu, &request, 1000);
    ck_assert_int_eq(mlu.code, 0);
    scripted_request(&request, "n1", "both");
    request.keys = keys;
    request.key_count = 2;
    scripted_acquire_as(&both, &request, 60000);
    ck_assert(!both.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    size_t writes = scripted_count(SCRIPTED_WRITE);
    scripted_release(&done, mlu.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(both.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,both");
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE) - writes, 2);
    scripted_release(&done, both.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(a_younger_waiter_may_not_take_a_key_that_an_older_one_waits_for)
{
    static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY};
    static const char *const one[] = {HAMI_NODELOCK_CAMBRICON_KEY};
    static struct scripted_wait a, both, mlu;
    struct hami_nodelock_request request;

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_request(&request, "n1", "both");
    request.keys = keys;
    request.key_count = 2;
    scripted_acquire_as(&both, &request, 60000);
    scripted_request(&request, "n1", "mlu");
    request.keys = one;
    request.key_count = 1;
    scripted_acquire_as(&mlu, &request, 60000);
    ck_assert(!both.ended && !mlu.ended);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(both.code, 0);
    ck_assert(!mlu.ended);
    ck_assert_int_eq(hami_lease_handoff(both.lease), 0);
}
END_TEST

START_TEST(permits_are_that_many_records)
{
    static struct scripted_wait a, b, c;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    char second[512];

    config.permits = 2;
    scripted_start((struct scripted_options){.watch = true, .config = config});
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 1000);
    scripted_acquire(&c, "n1", "c", 60000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert(!c.ended);
    ck_assert_uint_ne(hami_lease_fence(a.lease), hami_lease_fence(b.lease));
    ck_assert_int_eq(hami_memory_get(scripted_store, "n1", HAMI_NODELOCK_KEY ".1", second,
                                     sizeof(second)),
                     0);
    ck_assert_str_eq(second, "2026-01-02T03:04:05Z,default,b");
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY ".1", NULL),
                     0);
    /* Keys beside the configured one are looked at when somebody waits. */
    scripted_advance(3000);
    ck_assert_int_eq(c.code, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    ck_assert_int_eq(hami_lease_handoff(c.lease), 0);
    scripted_stop();
}
END_TEST

/* A node's store has 256 seats, and keeps those of values that were removed. */
START_TEST(a_take_on_a_node_full_of_values_puts_each_into_a_seat_of_its_own)
{
    static struct scripted_wait a;
    char key[64], value[512];

    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, "x"),
                     0);
    for (int i = 1; i < 256; i++) {
        (void)snprintf(key, sizeof(key), "example.com/%d", i);
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", key, "x"), 0);
    }
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, NULL),
                     0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", key, NULL), 0);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z,default,a");
    ck_assert_int_eq(hami_memory_get(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, value,
                                     sizeof(value)),
                     0);
    ck_assert_uint_eq(scripted_record("n1").fence, hami_lease_fence(a.lease));
    struct scripted_done done;
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("keys");
    TCase *simple = tcase_create("plain");
    TCase *bare = tcase_create("bare");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple, several_keys_are_one_grant_and_one_write_or_none_case_1_23);
    tcase_add_test(simple,
                   a_younger_waiter_may_not_take_a_key_that_an_older_one_waits_for);
    tcase_add_test(simple,
                   a_take_on_a_node_full_of_values_puts_each_into_a_seat_of_its_own);
    suite_add_tcase(suite, simple);
    tcase_add_test(bare, permits_are_that_many_records);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
