/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What the order of waiters rests on: places that are kept, timers, keys. No manager is
 * made. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "places.h"
#include "scripted.h"
#include "sorted.h"
#include "timers.h"

/* ---- places ---- */

START_TEST(a_place_is_kept_for_its_owner_and_node_and_time)
{
    size_t sets = hami_internal_places_sets(1);
    struct hami_internal_places *places = calloc(1, hami_internal_places_size(sets));
    uint32_t overtaken = 0;
    uint64_t keep = HAMI_INTERNAL_PLACES_KEEP_NS;

    places->sets = sets;
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "v", "n", 1000, &overtaken), 0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 7);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 0);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u", "n", 1000 + keep, &overtaken), 0);
    /* Of two that one owner had at a time the older one, unless it is too old or of
     * another node. */
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 7);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000 + keep);
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u", "n", 1000 + keep, &overtaken), 9);
    hami_internal_places_keep(places, "u", "other", 7, 0, 1000);
    hami_internal_places_keep(places, "u", "n", 9, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 9);
    hami_internal_places_keep(places, "u", "n", 7, 0, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "other", 1000, &overtaken),
                      0);
    ck_assert_uint_eq(hami_internal_places_take(places, "u", "n", 1000, &overtaken), 0);
    for (int i = 0; i < 100000; i++) {
        char uid[16];
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        hami_internal_places_keep(places, uid, "n", (uint64_t)i + 1, 0,
                                  1000 + (uint64_t)i);
    }
    ck_assert_uint_eq(
        hami_internal_places_take(places, "u99999", "n", 101000, &overtaken), 100000);
    /* How often it was overtaken stays with its place. */
    hami_internal_places_keep(places, "w", "n", 7, 3, 1000);
    hami_internal_places_keep(places, "w", "n", 9, 1, 1000);
    ck_assert_uint_eq(hami_internal_places_take(places, "w", "n", 1000, &overtaken), 7);
    ck_assert_uint_eq(overtaken, 3);
    free(places);
}
END_TEST

START_TEST(a_table_of_places_has_room_for_the_waiters_within_reason)
{
    ck_assert_uint_eq(hami_internal_places_sets(1), 1024);
    ck_assert_uint_eq(hami_internal_places_sets(4097), 2048);
    ck_assert_uint_eq(hami_internal_places_sets(100000), 16384);
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

/* ---- keys ---- */

struct numbered {
    struct hami_internal_leaf leaf;
    uint32_t number;
    bool listed;
};

static int compare_numbered(const struct hami_internal_leaf *a,
                            const struct hami_internal_leaf *b)
{
    const struct numbered *one = LIST_ENTRY(a, struct numbered, leaf);
    const struct numbered *other = LIST_ENTRY(b, struct numbered, leaf);

    return (one->number > other->number) - (one->number < other->number);
}

/* What a look at all of them finds; 0 = none. */
static uint32_t look(const struct numbered *all, size_t count, uint32_t key, int which)
{
    uint32_t found = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t number = all[i].number;
        bool below = number < key, fits = which < 0    ? below
                                          : which == 0 ? !below
                                                       : number > key;
        bool nearer = found == 0 || (which < 0 ? number > found : number < found);
        if (all[i].listed && fits && nearer) {
            found = number;
        }
    }
    return found;
}

static uint32_t number_of(const struct hami_internal_leaf *leaf)
{
    return leaf ? LIST_ENTRY(leaf, struct numbered, leaf)->number : 0;
}

START_TEST(elements_are_found_by_their_key_whatever_comes_and_goes)
{
    enum { ALL = 300 };
    static struct numbered all[ALL];
    struct hami_internal_sorted sorted = {.compare = compare_numbered};
    uint64_t random = 42;

    for (size_t i = 0; i < ALL; i++) {
        all[i].number = 2 * (uint32_t)i + 2;
    }
    ck_assert_ptr_null(hami_internal_sorted_first(&sorted));
    for (size_t step = 0; step < 20000; step++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        struct numbered *one = &all[(random >> 40) % ALL];
        if (one->listed) {
            hami_internal_sorted_remove(&sorted, &one->leaf);
        } else {
            hami_internal_sorted_insert(&sorted, &one->leaf);
        }
        one->listed = !one->listed;
        if (step % 16 != 0) {
            continue;
        }
        struct numbered key = {.number = (uint32_t)(random >> 20) % (2 * ALL + 4)};
        ck_assert_uint_eq(number_of(hami_internal_sorted_first(&sorted)),
                          look(all, ALL, 0, 1));
        ck_assert_uint_eq(number_of(hami_internal_sorted_below(&sorted, &key.leaf)),
                          look(all, ALL, key.number, -1));
        ck_assert_uint_eq(number_of(hami_internal_sorted_from(&sorted, &key.leaf)),
                          look(all, ALL, key.number, 0));
        ck_assert_uint_eq(number_of(hami_internal_sorted_after(&sorted, &key.leaf)),
                          look(all, ALL, key.number, 1));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("places");
    TCase *pure = tcase_create("places");

    tcase_add_test(pure, a_place_is_kept_for_its_owner_and_node_and_time);
    tcase_add_test(pure, timers_come_in_order_whatever_is_armed_moved_and_cleared);
    tcase_add_test(pure, a_table_of_places_has_room_for_the_waiters_within_reason);
    tcase_add_test(pure, elements_are_found_by_their_key_whatever_comes_and_goes);
    tcase_set_timeout(pure, 60);
    suite_add_tcase(suite, pure);
    return scripted_run(suite);
}
