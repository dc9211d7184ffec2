/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node's past tells: the pace at which it is given on, and its last hand-overs. No
 * manager is made.
 */
#include "pace.h"
#include "history.h"
#include "scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

/* ---- pace ---- */

START_TEST(a_pace_is_measured_after_a_few_holds_and_forgotten_when_it_is_old)
{
    struct hami_internal_pace pace = {0};

    for (int i = 0; i < 3; i++) {
        hami_internal_pace_add(&pace, 2 * SECOND, 10 * SECOND);
        ck_assert_uint_eq(hami_internal_pace_hold(&pace, 10 * SECOND), 0);
    }
    hami_internal_pace_add(&pace, 2 * SECOND, 10 * SECOND);
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, 10 * SECOND), 2 * SECOND);
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, 609 * SECOND), 2 * SECOND);
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, 610 * SECOND), 0);
}
END_TEST

START_TEST(outliers_do_not_move_the_pace_and_a_change_does)
{
    struct hami_internal_pace pace = {0};

    for (int i = 0; i < 12; i++) {
        hami_internal_pace_add(&pace, SECOND, SECOND);
    }
    /* Two stalls of five minutes, and two binds that failed at once. */
    hami_internal_pace_add(&pace, 300 * SECOND, SECOND);
    hami_internal_pace_add(&pace, 1000, SECOND);
    hami_internal_pace_add(&pace, UINT64_MAX, SECOND);
    hami_internal_pace_add(&pace, 0, SECOND);
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, SECOND), SECOND);
    for (int i = 0; i < HAMI_INTERNAL_PACE_HOLDS; i++) {
        hami_internal_pace_add(&pace, 3 * SECOND, SECOND);
    }
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, SECOND), 3 * SECOND);
    for (int i = 0; i < HAMI_INTERNAL_PACE_HOLDS; i++) {
        hami_internal_pace_add(&pace, 0, SECOND);
    }
    ck_assert_uint_eq(hami_internal_pace_hold(&pace, SECOND), 1000);
}
END_TEST

START_TEST(expected_waits_follow_from_pace_permits_and_who_is_ahead)
{
    static const struct {
        uint64_t hold, ahead, permits, standing, oldest, least, most;
    } cases[] = {
        {0, 9, 1, 1, 0, 0, 0},    /* not measured */
        {10, 0, 1, 0, 0, 0, 0},   /* free, and nobody before */
        {10, 0, 1, 1, 0, 10, 10}, /* a hold has just begun */
        {10, 0, 1, 1, 4, 6, 6},   /* it is under way */
        {10, 0, 1, 1, 99, 0, 0},  /* it is overdue: any moment */
        {10, 3, 1, 1, 4, 36, 36}, /* and three are before */
        {10, 2, 1, 0, 0, 20, 20}, /* it is free, and two are before */
        {10, 0, 2, 1, 4, 0, 0},   /* the second permit is free */
        {10, 4, 2, 2, 4, 23, 23}, /* two at a time */
        /* nothing overflows */
        {10, UINT64_MAX, 1, 1, 4, UINT64_MAX / 8, UINT64_MAX / 2 + 10},
        {UINT64_MAX / 4, 9, 1, 1, 0, UINT64_MAX / 8, UINT64_MAX},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        uint64_t found =
            hami_internal_pace_expect(cases[i].hold, cases[i].ahead, cases[i].permits,
                                      cases[i].standing, cases[i].oldest);
        ck_assert_msg(found >= cases[i].least && found <= cases[i].most,
                      "row %zu: expected %llu", i, (unsigned long long)found);
    }
}
END_TEST

/* ---- history ---- */

static void add(struct hami_internal_history *history, uint64_t fence, size_t length)
{
    static char name[254];

    memset(name, 'x', sizeof(name));
    name[length] = '\0';
    struct hami_internal_hand_over entry = {.how = HAMI_HAND_OVER_TAKE,
                                            .fence = fence,
                                            .from = {"ns", name, ""},
                                            .to = {"", name, "u"}};
    hami_internal_history_add(history, &entry);
}

START_TEST(a_history_keeps_the_newest_within_its_bounds)
{
    struct hami_internal_history *history =
        calloc(1, sizeof(*history) + HAMI_INTERNAL_HISTORY_BYTES);
    uint64_t random = 7;

    history->size = HAMI_INTERNAL_HISTORY_BYTES;

    for (uint64_t fence = 1; fence <= 2000; fence++) {
        struct hami_internal_hand_over entry;
        size_t at = 0, count = 0;
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        add(history, fence, fence % 100 < 50 ? 1 : random >> 56 & 0xfd);
        while (hami_internal_history_read(history, &at, &entry)) {
            ck_assert_uint_eq(entry.fence, fence - history->count + 1 + count);
            ck_assert_str_eq(entry.from.namespace_name, "ns");
            ck_assert_str_eq(entry.from.name, entry.to.name);
            ck_assert_str_eq(entry.to.uid, "u");
            count++;
        }
        ck_assert_uint_eq(count, history->count);
        ck_assert_uint_le(count, HAMI_NODELOCK_HAND_OVERS_MAX);
        ck_assert_uint_ge(count, fence < 5 ? fence : 5);
        if (fence % 100 == 49) {
            ck_assert_uint_eq(count, HAMI_NODELOCK_HAND_OVERS_MAX);
        }
    }
    free(history);
}
END_TEST

START_TEST(a_history_grows_for_names_that_it_had_no_room_for)
{
    static const size_t length = 253;
    struct hami_internal_history *small =
        calloc(1, sizeof(*small) + HAMI_INTERNAL_HISTORY_LEAST);
    struct hami_internal_hand_over entry;
    size_t at = 0;

    small->size = HAMI_INTERNAL_HISTORY_LEAST;
    add(small, 1, length);
    ck_assert(!hami_internal_history_read(small, &at, &entry));
    size_t size = hami_internal_history_fit(small, 0);
    struct hami_internal_history *larger = calloc(1, sizeof(*larger) + size);
    larger->size = (uint32_t)size;
    hami_internal_history_move(larger, small);
    add(larger, 2, length);
    ck_assert(hami_internal_history_read(larger, &at, &entry));
    ck_assert_uint_eq(entry.fence, 2);
    ck_assert_uint_eq(strlen(entry.to.name), length);
    free(larger);
    free(small);
}
END_TEST

START_TEST(a_history_grows_with_those_who_wait_and_keeps_what_it_has)
{
    struct hami_internal_history *few =
        calloc(1, sizeof(*few) + HAMI_INTERNAL_HISTORY_LEAST);
    struct hami_internal_history *many =
        calloc(1, sizeof(*many) + HAMI_INTERNAL_HISTORY_BYTES);
    struct hami_internal_hand_over entry;
    size_t at = 0;

    ck_assert_uint_eq(hami_internal_history_fit(NULL, 0), HAMI_INTERNAL_HISTORY_LEAST);
    few->size = HAMI_INTERNAL_HISTORY_LEAST;
    many->size = HAMI_INTERNAL_HISTORY_BYTES;
    ck_assert_uint_eq(hami_internal_history_fit(few, 0), HAMI_INTERNAL_HISTORY_LEAST);
    ck_assert_uint_eq(hami_internal_history_fit(few, 3), 1024);
    ck_assert_uint_eq(hami_internal_history_fit(few, SIZE_MAX),
                      HAMI_INTERNAL_HISTORY_BYTES);
    add(few, 1, 8);
    add(few, 2, 8);
    ck_assert_uint_gt(hami_internal_history_fit(few, 1), HAMI_INTERNAL_HISTORY_LEAST);
    hami_internal_history_move(many, few);
    ck_assert_uint_eq(hami_internal_history_fit(many, SIZE_MAX),
                      HAMI_INTERNAL_HISTORY_BYTES);
    for (uint64_t fence = 1; fence <= 2; fence++) {
        ck_assert(hami_internal_history_read(many, &at, &entry));
        ck_assert_uint_eq(entry.fence, fence);
        ck_assert_uint_eq(strlen(entry.from.name), 8);
    }
    ck_assert(!hami_internal_history_read(many, &at, &entry));
    free(few);
    free(many);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pace");
    TCase *pure = tcase_create("pure");

    tcase_add_test(pure,
                   a_pace_is_measured_after_a_few_holds_and_forgotten_when_it_is_old);
    tcase_add_test(pure, outliers_do_not_move_the_pace_and_a_change_does);
    tcase_add_test(pure, expected_waits_follow_from_pace_permits_and_who_is_ahead);
    tcase_add_test(pure, a_history_keeps_the_newest_within_its_bounds);
    tcase_add_test(pure, a_history_grows_with_those_who_wait_and_keeps_what_it_has);
    tcase_add_test(pure, a_history_grows_for_names_that_it_had_no_room_for);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
