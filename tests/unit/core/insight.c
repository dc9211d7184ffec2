/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator is shown of a node: who has it, who waits and for how long, who had it. */
#include "history.h"
#include "pace.h"
#include "scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

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
    TCase *simple = tcase_create("snapshot"), *told = tcase_create("told");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple, a_snapshot_tells_the_last_hand_overs);
    tcase_add_test(simple, a_snapshot_tells_pace_expected_times_and_groups);
    tcase_add_test(simple, a_snapshot_of_many_waiters_is_whole);
    tcase_add_test(simple, a_node_without_a_lock_is_shown_as_free);
    tcase_add_test(simple, a_node_that_was_forgotten_is_not_taken_for_a_free_one);
    tcase_add_checked_fixture(told, told_changes, scripted_stop);
    tcase_add_test(told, each_change_of_hands_is_told_as_it_comes);
    suite_add_tcase(suite, simple);
    suite_add_tcase(suite, told);
    return scripted_run(suite);
}
