/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of the agent that keep time and bounds, at times of the test's choice.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "node/agent_json.h"
#include "node/allocations.h"
#include "node/node_events.h"

#define SECOND UINT64_C(1000000000)

static struct allocations table;

static void set_up(void)
{
    ck_assert_int_eq(allocations_init(&table, 60 * SECOND), 0);
}

static void tear_down(void)
{
    allocations_done(&table);
}

/* An entry without a job: the table does not look into it. */
static struct allocation *add(uint64_t now_ns)
{
    struct allocation *entry = allocations_add(&table, NULL, now_ns);

    ck_assert_ptr_nonnull(entry);
    return entry;
}

static void end_entry(struct allocation *entry)
{
    ck_assert_ptr_null(allocations_take(&table, entry, false));
    entry->state = ALLOCATION_ENDED;
}

START_TEST(ids_are_found_and_unlike)
{
    struct allocation *one = add(0), *other = add(0);

    ck_assert(allocations_is_id(one->id));
    ck_assert(allocations_is_own(&table, one->id));
    ck_assert_str_ne(one->id, other->id);
    ck_assert_ptr_eq(allocations_find(&table, one->id), one);
    ck_assert_ptr_eq(allocations_find(&table, other->id), other);
    ck_assert_ptr_null(allocations_find(&table, "0123456789abcdef0123456789abcdef"));
    ck_assert_ptr_null(allocations_find(&table, ""));
    ck_assert_ptr_null(allocations_find(&table, "0123456789ABCDEF0123456789ABCDEF"));
    ck_assert(!allocations_is_own(&table, "................................"));
}
END_TEST

START_TEST(entries_are_forgotten_by_age_and_never_while_they_end)
{
    struct allocation *open = add(0), *ending = add(0);
    char id[ALLOCATION_ID_LENGTH + 1], ending_id[ALLOCATION_ID_LENGTH + 1];

    add(30 * SECOND);
    memcpy(id, open->id, sizeof(id));
    memcpy(ending_id, ending->id, sizeof(ending_id));
    allocations_take(&table, ending, true);
    ck_assert_uint_eq(allocations_expire(&table, 59 * SECOND), 0);
    ck_assert_ptr_nonnull(allocations_find(&table, id));
    ck_assert_uint_eq(allocations_expire(&table, 60 * SECOND), 1);
    ck_assert_ptr_null(allocations_find(&table, id));
    ck_assert_ptr_nonnull(allocations_find(&table, ending_id));
    ck_assert_uint_eq(table.open, 1);
    ck_assert_uint_eq(table.forgotten, 1);
    ending->state = ALLOCATION_ENDED;
    ck_assert_uint_eq(allocations_expire(&table, 90 * SECOND), 1);
    ck_assert_uint_eq(table.count, 0);
    add(91 * SECOND); /* the list's end is where it must be */
    ck_assert_uint_eq(table.count, 1);
}
END_TEST

START_TEST(open_entries_are_bounded_and_ended_ones_give_way)
{
    char first[ALLOCATION_ID_LENGTH + 1];

    for (size_t i = 0; i < ALLOCATIONS_MAX; i++) {
        struct allocation *entry = add(0);

        if (i == 0) {
            memcpy(first, entry->id, sizeof(first));
        }
        end_entry(entry);
    }
    ck_assert_ptr_nonnull(allocations_find(&table, first));
    for (size_t i = 0; i < ALLOCATIONS_MAX / 2; i++) {
        add(0);
    }
    ck_assert_ptr_null(allocations_find(&table, first));
    ck_assert_uint_eq(table.count, ALLOCATIONS_MAX);
    ck_assert_ptr_null(allocations_add(&table, NULL, 0));
    ck_assert_uint_eq(table.open, ALLOCATIONS_MAX / 2);
}
END_TEST

START_TEST(case_2_01_events_have_a_budget)
{
    struct node_events events;
    uint64_t now = 1000 * SECOND;

    node_events_init(&events, NULL, "n1", now);
    for (int i = 0; i < NODE_EVENTS_BURST; i++) {
        ck_assert(node_events_may_send(&events, now));
    }
    ck_assert(!node_events_may_send(&events, now));
    ck_assert(!node_events_may_send(&events, now + NODE_EVENTS_EVERY_NS - 1));
    ck_assert(node_events_may_send(&events, now + NODE_EVENTS_EVERY_NS));
    ck_assert(!node_events_may_send(&events, now + NODE_EVENTS_EVERY_NS));
    now += 1000 * NODE_EVENTS_EVERY_NS; /* no more than a burst is saved */
    for (int i = 0; i < NODE_EVENTS_BURST; i++) {
        ck_assert(node_events_may_send(&events, now));
    }
    ck_assert(!node_events_may_send(&events, now));
    ck_assert_uint_eq(events.dropped, 4);
}
END_TEST

START_TEST(reason_becomes_one_line)
{
    static const char body[] = "{\"reason\":\"a\\nb\\u0001c\"}";
    char reason[8], problem[64];

    ck_assert(agent_reason_read(body, strlen(body), reason, sizeof(reason), problem,
                                sizeof(problem)));
    ck_assert_str_eq(reason, "a b c");
    ck_assert(agent_reason_read("", 0, reason, sizeof(reason), problem, sizeof(problem)));
    ck_assert_str_eq(reason, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parts of the agent");
    TCase *cases = tcase_create("parts");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, ids_are_found_and_unlike);
    tcase_add_test(cases, entries_are_forgotten_by_age_and_never_while_they_end);
    tcase_add_test(cases, open_entries_are_bounded_and_ended_ones_give_way);
    tcase_add_test(cases, case_2_01_events_have_a_budget);
    tcase_add_test(cases, reason_becomes_one_line);
    suite_add_tcase(suite, cases);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
