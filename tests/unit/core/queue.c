/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Who is next: places that are kept, timers, the order of waiters. No manager is made. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "queue.h"
#include "scripted.h"
#include "timers.h"

/* ---- places ---- */

START_TEST(a_place_is_kept_for_its_owner_and_node_and_time)
{
    struct hami_internal_places *places = calloc(1, sizeof(*places));
    uint64_t keep = HAMI_INTERNAL_PLACES_KEEP_NS;

    hami_internal_places_keep(places, "u", "n", 7, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "v", "n", 1000), 0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000), 7);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000), 0);
    hami_internal_places_keep(places, "u", "n", 7, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000 + keep), 0);
    /* Of two that one owner had at a time the older one, unless it is too old or of
     * another node. */
    hami_internal_places_keep(places, "u", "n", 7, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000), 7);
    hami_internal_places_keep(places, "u", "n", 7, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 1000 + keep);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000 + keep), 9);
    hami_internal_places_keep(places, "u", "other", 7, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000), 9);
    hami_internal_places_keep(places, "u", "n", 7, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "other", 1000), 0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000), 0);
    for (int i = 0; i < 100000; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        hami_internal_places_keep(places, uid, "n", (uint64_t)i + 1, 1000 + (uint64_t)i);
    }
    ck_assert_uint_eq(hami_internal_places_take(places, "u99999", "n", 101000), 100000);
    free(places);
}
END_TEST

/* ---- timers ---- */

START_TEST(timers_come_in_order_whatever_is_armed_moved_and_cleared)
{
    enum { TIMERS = 500 };
    static struct hami_internal_timer timers[TIMERS];
    struct hami_internal_heap heap = {0};
    uint64_t random = 12345, last = 0;
    size_t count = 0;

    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TIMERS; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
            if (random >> 62 == 0) {
                hami_internal_timers_clear(&heap, &timers[i]);
            } else if (random >> 62 == 1) {
                hami_internal_timers_set(&heap, &timers[i], UINT64_MAX);
                ck_assert(!timers[i].armed);
            } else {
                hami_internal_timers_set(&heap, &timers[i], random >> 40);
            }
        }
    }
    for (int i = 0; i < TIMERS; i++) {
        count += timers[i].armed;
    }
    ck_assert_ptr_null(
        hami_internal_timers_pop(&heap, hami_internal_timers_next(&heap) - 1));
    for (struct hami_internal_timer *timer;
         (timer = hami_internal_timers_pop(&heap, UINT64_MAX)); count--) {
        ck_assert_uint_ge(timer->due_ns, last);
        ck_assert(!timer->armed);
        last = timer->due_ns;
    }
    ck_assert_uint_eq(count, 0);
    ck_assert_uint_eq(hami_internal_timers_next(&heap), UINT64_MAX);
}
END_TEST

/* ---- order ---- */

static void insert(struct hami_internal_list *list, struct hami_wait *wait,
                   uint64_t place, int32_t priority, bool returned)
{
    *wait =
        (struct hami_wait){.place = place, .priority = priority, .returned = returned};
    hami_internal_queue_insert(list, wait);
}

static void assert_order(struct hami_internal_list *list, const uint64_t *places,
                         size_t count)
{
    size_t i = 0;

    LIST_EACH(link, list)
    {
        ck_assert_uint_lt(i, count);
        ck_assert_uint_eq(LIST_ENTRY(link, struct hami_wait, link)->place, places[i]);
        i++;
    }
    ck_assert_uint_eq(i, count);
}

START_TEST(one_that_comes_back_is_put_where_its_number_says)
{
    struct hami_internal_list list;
    struct hami_wait waits[5];

    list_init(&list);
    insert(&list, &waits[0], 10, 0, false);
    insert(&list, &waits[1], 30, 0, false);
    insert(&list, &waits[2], 40, 0, false);
    insert(&list, &waits[3], 20, 0, true);
    insert(&list, &waits[4], 50, 0, true);
    assert_order(&list, (const uint64_t[]){10, 20, 30, 40, 50}, 5);
}
END_TEST

START_TEST(priorities_are_lanes_with_bounded_overtaking)
{
    struct hami_internal_list list;
    struct hami_wait waits[8];

    list_init(&list);
    insert(&list, &waits[0], 1, 0, false);
    insert(&list, &waits[1], 2, 5, false);
    insert(&list, &waits[2], 3, 5, false);
    insert(&list, &waits[3], 4, 9, false);
    insert(&list, &waits[4], 5, -1, false);
    insert(&list, &waits[5], 6, 5, false);
    assert_order(&list, (const uint64_t[]){4, 2, 3, 6, 1, 5}, 6);
    insert(&list, &waits[6], 7, 9, false);
    /* The first has been passed four times: nobody passes it any more. */
    assert_order(&list, (const uint64_t[]){4, 2, 3, 6, 1, 7, 5}, 7);
    insert(&list, &waits[7], 0, 5, true);
    assert_order(&list, (const uint64_t[]){4, 0, 2, 3, 6, 1, 7, 5}, 8);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue");
    TCase *pure = tcase_create("queue");

    tcase_add_test(pure, a_place_is_kept_for_its_owner_and_node_and_time);
    tcase_add_test(pure, timers_come_in_order_whatever_is_armed_moved_and_cleared);
    tcase_add_test(pure, one_that_comes_back_is_put_where_its_number_says);
    tcase_add_test(pure, priorities_are_lanes_with_bounded_overtaking);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
