/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Many who wait, and nobody who does: order, and what waiting costs the store. */
#include <stdio.h>
#include <string.h>

#include "scripted.h"

#define CALLERS 100
#define HERD 40

static struct scripted_wait holder, waits[CALLERS];

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
}

static size_t all_calls(void)
{
    return scripted_count(SCRIPTED_READ) + scripted_count(SCRIPTED_WRITE) +
           scripted_count(SCRIPTED_INSPECT) + scripted_count(SCRIPTED_REVOKE);
}

START_TEST(a_hundred_callers_are_served_in_the_order_of_their_arrival_case_1_02)
{
    static struct scripted_done done;
    char name[16];

    for (unsigned i = 0; i < CALLERS; i++) {
        (void)snprintf(name, sizeof(name), "p%u", i);
        scripted_acquire(&waits[i], "n1", name, 20000);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        ck_assert_msg(waits[i].ended && waits[i].code == 0, "caller %u: %s", i,
                      waits[i].text);
        scripted_advance(10);
        ck_assert_msg(i + 1 == CALLERS || !waits[i + 1].ended,
                      "caller %u came back before its turn", i + 1);
        scripted_release(&done, waits[i].lease, 1000);
        ck_assert_int_eq(done.code, 0);
    }
    ck_assert_uint_eq(scripted_stats().grants, CALLERS);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(a_herd_of_waiters_costs_what_one_costs_case_1_25)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char name[16], uid[24];

    scripted_pod("holder", "uid-holder");
    scripted_acquire(&holder, "n1", "holder", 1000);
    facts.exists = facts.devices_left = true;
    facts.uid = "uid-holder";
    facts.node = "n1";
    scripted_pod_facts("holder", &facts);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    for (unsigned i = 0; i < HERD; i++) {
        (void)snprintf(name, sizeof(name), "w%u", i);
        (void)snprintf(uid, sizeof(uid), "uid-w%u", i);
        scripted_pod(name, uid);
        scripted_acquire(&waits[i], "n1", name, 60000);
    }
    size_t calls = all_calls(), writes = scripted_count(SCRIPTED_WRITE);
    scripted_advance(5000);
    /* For each second one look at the holder and one read of the node. */
    ck_assert_uint_le(all_calls() - calls, 12);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), writes);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE) - writes, 1);
    ck_assert_int_eq(waits[0].code, 0);
    ck_assert(!waits[1].ended);
    ck_assert_int_eq(hami_lease_handoff(waits[0].lease), 0);
}
END_TEST

START_TEST(a_manager_for_whom_nobody_waits_asks_the_store_for_nothing_case_3_13)
{
    scripted_acquire(&holder, "n1", "holder", 1000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    scripted_acquire(&waits[0], "n2", "p", 1000);
    static struct scripted_done done;
    scripted_release(&done, waits[0].lease, 1000);
    ck_assert_int_eq(done.code, 0);
    size_t calls = all_calls();
    scripted_advance(120000);
    ck_assert_uint_eq(all_calls(), calls);
}
END_TEST

/* ---- several keys ---- */

static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY,
                                   "vendor.example/third.lock"};

START_TEST(nothing_is_written_while_one_of_three_keys_is_anothers_case_1_23)
{
    struct hami_nodelock_request request;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    static struct scripted_done done;
    char value[512];

    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", keys[_i], "2026-01-02T03:00:00Z,other,pod"),
        0);
    scripted_request(&request, "n1", "p");
    request.keys = keys;
    request.key_count = 3;
    request.deadline_ns = scripted_now_ns + 1000 * MS;
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_HELD);
    ck_assert_msg(strstr(error.text, keys[_i]) != NULL, "%s", error.text);
    scripted_acquire_as(&waits[0], &request, 60000);
    scripted_advance(5000);
    ck_assert(!waits[0].ended);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", keys[_i], NULL), 0);
    scripted_advance(3000);
    ck_assert_int_eq(waits[0].code, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 1);
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(
            hami_memory_get(scripted_store, "n1", keys[i], value, sizeof(value)), 0);
        ck_assert_str_eq(value, "2026-01-02T03:04:05Z,default,p");
    }
    scripted_release(&done, waits[0].lease, 1000);
    ck_assert_int_eq(done.code, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("order");
    TCase *simple = tcase_create("plain");
    TCase *owners = tcase_create("owners");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple,
                   a_hundred_callers_are_served_in_the_order_of_their_arrival_case_1_02);
    tcase_add_test(simple,
                   a_manager_for_whom_nobody_waits_asks_the_store_for_nothing_case_3_13);
    tcase_add_loop_test(
        simple, nothing_is_written_while_one_of_three_keys_is_anothers_case_1_23, 0, 3);
    suite_add_tcase(suite, simple);
    tcase_add_checked_fixture(owners, with_owners, scripted_stop);
    tcase_add_test(owners, a_herd_of_waiters_costs_what_one_costs_case_1_25);
    suite_add_tcase(suite, owners);
    return scripted_run(suite);
}
