/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an operator can see: the pace of a node, its last hand-overs, and what waiters may
 * expect.
 */
#include "history.h"
#include "pace.h"
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

/* ---- snapshot ---- */

struct seen {
    struct hami_node_view view;
    struct hami_slot_view slot;
    struct hami_waiter_view waiters[4];
    struct hami_hand_over_view hand_overs[HAMI_NODELOCK_HAND_OVERS_MAX];
    char from[8], to[8], reason[128], group[16];
};

static int see(void *data, const struct hami_node_view *view)
{
    struct seen *seen = data;

    seen->view = *view;
    seen->slot = view->slots[0];
    for (size_t i = 0; i < view->waiter_count && i < 4; i++) {
        seen->waiters[i] = view->waiters[i];
    }
    if (view->waiter_count > 0 && view->waiters[0].group) {
        (void)snprintf(seen->group, sizeof(seen->group), "%s", view->waiters[0].group);
    }
    for (size_t i = 0; i < view->hand_over_count; i++) {
        seen->hand_overs[i] = view->hand_overs[i];
    }
    if (view->hand_over_count > 0) {
        const struct hami_hand_over_view *last = &view->hand_overs[0];
        (void)snprintf(seen->from, sizeof(seen->from), "%s",
                       last->from.name ? last->from.name : "-");
        (void)snprintf(seen->to, sizeof(seen->to), "%s",
                       last->to.name ? last->to.name : "-");
        (void)snprintf(seen->reason, sizeof(seen->reason), "%s", last->reason);
    }
    return 0;
}

static struct seen look(void)
{
    struct seen seen = {.from = "", .to = "", .reason = "", .group = ""};

    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, "n1", see, &seen), 0);
    return seen;
}

static uint64_t look_pace(void)
{
    return hami_nodelock_snapshot(scripted_lock, "n1", see, &(struct seen){0}) == 0
               ? look().view.pace_ns
               : 0;
}

/* One after the other is granted, holds for this long, and gives back. */
static void hold_one(const char *name, uint64_t ms)
{
    struct scripted_wait wait;

    scripted_acquire(&wait, "n1", name, 60000);
    ck_assert(wait.ended);
    ck_assert_int_eq(wait.code, 0);
    scripted_advance(ms);
    struct scripted_done done;
    scripted_release(&done, wait.lease, 1000);
    ck_assert(done.ended);
}

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

struct change {
    enum hami_hand_over how;
    char from[8], to[8], proof[16];
    uint64_t held_ns, fence;
};
static struct change changes[16];
static unsigned change_count;

static void keep_change(void *data, const struct hami_lock_change *change)
{
    struct change *kept = &changes[change_count++ % 16];

    ck_assert_ptr_eq(data, changes);
    ck_assert_uint_eq(change->size, sizeof(*change));
    ck_assert_str_eq(change->node, "n1");
    ck_assert_str_eq(change->key, HAMI_NODELOCK_KEY);
    ck_assert((change->how == HAMI_HAND_OVER_TAKEOVER) == (*change->reason != '\0'));
    kept->how = change->how;
    kept->held_ns = change->held_ns;
    kept->fence = change->fence;
    snprintf(kept->from, sizeof(kept->from), "%s",
             change->from.name != NULL ? change->from.name : "");
    snprintf(kept->to, sizeof(kept->to), "%s",
             change->to.name != NULL ? change->to.name : "");
    snprintf(kept->proof, sizeof(kept->proof), "%s", change->proof);
}

static void expect_change(unsigned index, enum hami_hand_over how, const char *from,
                          const char *to, uint64_t held_ns)
{
    ck_assert_uint_gt(change_count, index);
    ck_assert_int_eq(changes[index].how, how);
    ck_assert_str_eq(changes[index].from, from);
    ck_assert_str_eq(changes[index].to, to);
    ck_assert_uint_eq(changes[index].held_ns, held_ns);
}

static void told_changes(void)
{
    struct scripted_options options = {.owners = true, .watch = true};

    change_count = 0;
    options.config.size = sizeof(options.config);
    options.config.changed = keep_change;
    options.config.changed_data = changes;
    scripted_start(options);
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
    scripted_pod("c", "uid-c");
    scripted_pod("d", "uid-d");
}

/* Each hold is told once, when it ends: to the next one, or to nobody. */
START_TEST(each_change_of_hands_is_told_as_it_comes)
{
    static struct scripted_wait a, b, c, d;
    static struct scripted_done done;
    uint64_t fence;

    scripted_acquire(&a, "n1", "a", 60000);
    scripted_acquire(&b, "n1", "b", 60000);
    expect_change(0, HAMI_HAND_OVER_TAKE, "", "a", 0);
    ck_assert_uint_eq(changes[0].fence, hami_lease_fence(a.lease));
    scripted_advance(300);
    scripted_release(&done, a.lease, 5000);
    expect_change(1, HAMI_HAND_OVER_DIRECT, "a", "b", 300 * MS);
    fence = hami_lease_fence(b.lease);
    ck_assert_uint_eq(changes[1].fence, fence);
    scripted_advance(200);
    scripted_release(&done, b.lease, 5000);
    scripted_advance(1000);
    expect_change(2, HAMI_HAND_OVER_NONE, "b", "", 200 * MS);
    ck_assert_uint_eq(changes[2].fence, fence);
    scripted_acquire(&c, "n1", "c", 60000);
    expect_change(3, HAMI_HAND_OVER_TAKE, "", "c", 0);
    ck_assert_int_eq(hami_lease_handoff(c.lease), 0);
    scripted_pod_gone("c");
    scripted_acquire(&d, "n1", "d", 60000);
    scripted_advance(30000);
    ck_assert(d.ended);
    expect_change(4, HAMI_HAND_OVER_TAKEOVER, "c", "d", changes[4].held_ns);
    ck_assert_str_eq(changes[4].proof, "gone");
    ck_assert_uint_eq(change_count, 5);
    scripted_release(&done, d.lease, 5000);
}
END_TEST

START_TEST(a_snapshot_tells_the_last_hand_overs)
{
    static struct scripted_wait b, c;
    struct scripted_wait a;
    struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 60000);
    struct seen seen = look();
    ck_assert_uint_eq(seen.view.hand_over_count, 1);
    ck_assert_int_eq(seen.hand_overs[0].how, HAMI_HAND_OVER_TAKE);
    ck_assert_str_eq(seen.from, "-");
    ck_assert_str_eq(seen.to, "a");
    ck_assert_uint_eq(seen.hand_overs[0].fence, hami_lease_fence(a.lease));
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(300);
    scripted_release(&done, a.lease, 1000);
    seen = look();
    ck_assert_uint_eq(seen.view.hand_over_count, 2);
    ck_assert_int_eq(seen.hand_overs[0].how, HAMI_HAND_OVER_DIRECT);
    ck_assert_uint_eq(seen.hand_overs[0].held_ns, 300 * MS);
    ck_assert_uint_eq(seen.hand_overs[0].at_ns, scripted_now_ns);
    ck_assert_str_eq(seen.hand_overs[0].key, HAMI_NODELOCK_KEY);
    ck_assert_str_eq(seen.from, "a");
    ck_assert_str_eq(seen.to, "b");
    ck_assert_int_eq(seen.hand_overs[1].how, HAMI_HAND_OVER_TAKE);
    /* Another's lock, taken over by its age: there is nobody to ask. */
    scripted_release(&done, b.lease, 1000);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY,
                                     "2026-01-01T00:00:00Z,ns,x"),
                     0);
    scripted_acquire(&c, "n1", "c", 3600000);
    scripted_advance(300000);
    ck_assert(c.ended);
    seen = look();
    ck_assert_int_eq(seen.hand_overs[0].how, HAMI_HAND_OVER_TAKEOVER);
    ck_assert_str_ne(seen.reason, "");
    ck_assert_str_eq(seen.from, "x");
    ck_assert_str_eq(seen.to, "c");
    ck_assert_int_eq(seen.hand_overs[1].how, HAMI_HAND_OVER_FOREIGN);
    ck_assert_int_eq(hami_lease_handoff(c.lease), 0);
}
END_TEST

START_TEST(a_snapshot_tells_pace_expected_times_and_groups)
{
    static struct scripted_wait waits[3];
    struct hami_nodelock_request request;

    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(look_pace(), 0);
        hold_one("h", 2000);
    }
    ck_assert_uint_eq(look_pace(), 2 * SECOND);
    scripted_acquire(&waits[0], "n1", "a", 60000);
    scripted_advance(500);
    ck_assert_int_eq(hami_lease_handoff(waits[0].lease), 0);
    scripted_request(&request, "n1", "b");
    request.group = "gang";
    scripted_acquire_as(&waits[1], &request, 60000);
    scripted_acquire(&waits[2], "n1", "c", 60000);
    scripted_advance(100);
    struct seen seen = look();
    ck_assert_uint_eq(seen.view.now_ns, scripted_now_ns);
    ck_assert_int_eq(seen.slot.state, HAMI_SLOT_HANDED_OFF);
    ck_assert_uint_eq(seen.slot.state_since_ns, scripted_now_ns - 100 * MS);
    ck_assert_uint_eq(seen.slot.since_ns, scripted_now_ns - 600 * MS);
    ck_assert_uint_eq(seen.view.waiter_count, 2);
    ck_assert_uint_eq(seen.waiters[0].expected_ns, 1400 * MS);
    ck_assert_uint_eq(seen.waiters[1].expected_ns, 3400 * MS);
    ck_assert_str_eq(seen.group, "gang");
    ck_assert_ptr_null(seen.waiters[1].group);
    ck_assert(!seen.waiters[0].returned);
}
END_TEST

static int count_node(void *data, const struct hami_node_view *view)
{
    (void)view;
    (*(size_t *)data)++;
    return 0;
}

START_TEST(a_node_without_a_lock_is_shown_as_free)
{
    struct hami_node_record record = {.size = sizeof(record), .version = "7"};
    struct hami_annotation lock[] = {
        {HAMI_NODELOCK_KEY, "2026-01-02T03:04:05Z,ns,other"}};
    size_t count = 0;

    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, NULL, count_node, &count), 0);
    ck_assert_uint_eq(count, 1);
    struct seen seen = look();
    ck_assert_uint_eq(seen.view.slot_count, 1);
    ck_assert_str_eq(seen.slot.key, HAMI_NODELOCK_KEY);
    ck_assert_int_eq(seen.slot.state, HAMI_SLOT_FREE);
    /* Older news says nothing, newer news does. */
    record.annotations = lock;
    record.annotation_count = 1;
    record.version = "6";
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    ck_assert_int_eq(look().slot.state, HAMI_SLOT_FREE);
    record.version = "8";
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    ck_assert_int_eq(look().slot.state, HAMI_SLOT_FOREIGN);
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), 0);
}
END_TEST

START_TEST(a_node_that_was_forgotten_is_not_taken_for_a_free_one)
{
    struct hami_node_record record = {.size = sizeof(record), .version = "7"};
    struct scripted_wait wait;

    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    ck_assert_int_eq(hami_nodelock_forget(scripted_lock, "n1"), 0);
    size_t reads = scripted_count(SCRIPTED_READ);
    scripted_acquire(&wait, "n1", "a", 60000);
    ck_assert_int_eq(wait.code, 0);
    ck_assert_uint_gt(scripted_count(SCRIPTED_READ), reads);
    struct scripted_done done;
    scripted_release(&done, wait.lease, 1000);
    ck_assert(done.ended);
}
END_TEST

START_TEST(a_snapshot_of_many_waiters_is_whole)
{
    enum { WAITERS = 3000 };
    static struct scripted_wait waits[WAITERS];
    struct scripted_wait holder;

    scripted_acquire(&holder, "n1", "holder", 3600000);
    for (int i = 0; i < WAITERS; i++) {
        char name[64];
        (void)snprintf(name, sizeof(name), "a-pod-with-a-rather-long-name-%d", i);
        scripted_acquire(&waits[i], "n1", name, 3600000);
    }
    struct seen seen = look();
    ck_assert_uint_eq(seen.view.waiter_count, WAITERS);
    ck_assert_uint_eq(seen.waiters[3].position, 3);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("insight");
    TCase *pure = tcase_create("pure"), *simple = tcase_create("snapshot");
    TCase *told = tcase_create("told");

    tcase_add_test(pure,
                   a_pace_is_measured_after_a_few_holds_and_forgotten_when_it_is_old);
    tcase_add_test(pure, outliers_do_not_move_the_pace_and_a_change_does);
    tcase_add_test(pure, expected_waits_follow_from_pace_permits_and_who_is_ahead);
    tcase_add_test(pure, a_history_keeps_the_newest_within_its_bounds);
    tcase_add_test(pure, a_history_grows_with_those_who_wait_and_keeps_what_it_has);
    tcase_add_test(pure, a_history_grows_for_names_that_it_had_no_room_for);
    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple, a_snapshot_tells_the_last_hand_overs);
    tcase_add_test(simple, a_snapshot_tells_pace_expected_times_and_groups);
    tcase_add_test(simple, a_snapshot_of_many_waiters_is_whole);
    tcase_add_test(simple, a_node_without_a_lock_is_shown_as_free);
    tcase_add_test(simple, a_node_that_was_forgotten_is_not_taken_for_a_free_one);
    suite_add_tcase(suite, pure);
    tcase_add_checked_fixture(told, told_changes, scripted_stop);
    tcase_add_test(told, each_change_of_hands_is_told_as_it_comes);
    suite_add_tcase(suite, simple);
    suite_add_tcase(suite, told);
    return scripted_run(suite);
}
