/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods beside each other: what is told of them, what many of them cost, and a manager
 * that has nobody beside each other but sees that others have.
 */
#include "beside_world.h"

#include <stdio.h>
#include <string.h>

#include "beside.h"

/* ---- a manager without the option ---- */

START_TEST(without_the_option_a_manager_waits_for_all_who_are_beside_each_other)
{
    static struct scripted_wait a, b, mine, second;

    beside_restart((struct hami_nodelock_config){.side_by_side = 0}, true);
    hami_nodelock *other = beside_other(8);
    beside_take_by(other, &a, "a", GPU1);
    beside_take_by(other, &b, "b", GPU2);
    beside_assert_granted(&b, "b");
    beside_take(&mine, "c", GPU3);
    beside_take(&second, "d", NULL);
    beside_bind_and_serve(&b, "b"); /* the cover's owner is done */
    scripted_advance(2000);
    beside_assert_waits(&mine, "c");
    beside_bind_and_serve(&a, "a");
    scripted_advance(2000);
    beside_assert_granted(&mine, "c");
    beside_assert_waits(&second, "d");
    ck_assert_str_eq(beside_record(0).uid, "uid-c");
    ck_assert_str_eq(beside_record(0).calls, "");
    beside_hand_off(&mine, "c");
    ck_assert_int_eq(hami_wait_abort(second.wait), 0);
    hami_nodelock_free(other);
}
END_TEST

START_TEST(without_a_watch_and_the_option_a_cover_is_known_by_its_calls)
{
    static struct scripted_wait a, b, mine;
    struct scripted_options options = {.owners = true,
                                       .config = HAMI_NODELOCK_CONFIG_INIT};

    scripted_stop();
    beside_start_as(options, MARK);
    hami_nodelock *other = beside_other(8);
    beside_take_by(other, &a, "a", GPU1);
    beside_take_by(other, &b, "b", GPU2);
    beside_take(&mine, "c", NULL);
    beside_bind_and_serve(&b, "b");
    scripted_advance(5000);
    beside_assert_waits(&mine, "c");
    beside_bind_and_serve(&a, "a");
    scripted_advance(5000);
    beside_assert_granted(&mine, "c");
    beside_hand_off(&mine, "c");
    hami_nodelock_free(other);
}
END_TEST

/* ---- many ---- */

enum { MANY = 2000 };

START_TEST(thousands_of_equal_pods_are_served_in_order_and_distinct_ones_beside)
{
    static struct scripted_wait waits[MANY], late;
    unsigned served = 0;

    for (int i = 0; i < MANY; i++) {
        struct hami_nodelock_request request;
        char name[16], uid[24];
        (void)snprintf(name, sizeof(name), "p%d", i);
        (void)snprintf(uid, sizeof(uid), "uid-%s", name);
        scripted_pod(name, uid);
        scripted_request(&request, "n1", name);
        request.calls = GPU1;
        scripted_acquire_as(&waits[i], &request, 600000);
    }
    beside_take(&late, "a", GPU2); /* behind more than are looked at */
    beside_assert_waits(&late, "a");
    for (int i = 0; i < MANY; i++) {
        beside_assert_granted(&waits[i], "p");
        ck_assert(i + 1 == MANY || !waits[i + 1].ended);
        served += !late.ended;
        beside_release(&waits[i]);
    }
    ck_assert_uint_lt(served, MANY - 200);
    beside_hand_off(&late, "a");
}
END_TEST

START_TEST(more_calls_than_there_is_room_for_count_as_all)
{
    struct hami_internal_claims claims;
    struct hami_internal_call_set set;
    char calls[32];

    hami_internal_beside_clear(&claims);
    for (int i = 1; i <= HAMI_INTERNAL_CLAIMS_ROOM / 2; i++) {
        (void)snprintf(calls, sizeof(calls), "a=%d", i);
        hami_internal_beside_read(calls, &set);
        ck_assert(!hami_internal_beside_is_claimed(&claims, &set));
        hami_internal_beside_claim(&claims, &set);
        hami_internal_beside_claim(&claims, &set);
        ck_assert(hami_internal_beside_is_claimed(&claims, &set));
    }
    hami_internal_beside_read("b=1", &set);
    ck_assert(!hami_internal_beside_is_claimed(&claims, &set));
    hami_internal_beside_claim(&claims, &set);
    hami_internal_beside_read("c=1", &set);
    ck_assert(hami_internal_beside_is_claimed(&claims, &set));
}
END_TEST

static const struct {
    const char *a, *b;
    bool meets;
} sets[] = {
    {GPU1, GPU1, true},
    {GPU1, GPU2, false},
    {GPU1, GPU12, true},
    {GPU3, GPU12, false},
    {GPU1, "nvidia.com/gpu=11", false},
    {GPU1, "amd.com/gpu=1", false},
    {"a=1,b=1,c=1", "c=1,d=1", true},
};

START_TEST(calls_are_compared_whole)
{
    struct hami_internal_call_set a, b;

    hami_internal_beside_read(sets[_i].a, &a);
    hami_internal_beside_read(sets[_i].b, &b);
    ck_assert_msg(hami_internal_beside_meets(&a, &b) == sets[_i].meets, "%s %s",
                  sets[_i].a, sets[_i].b);
    ck_assert(hami_internal_beside_meets(&b, &a) == sets[_i].meets);
}
END_TEST

/* ---- looking in ---- */

struct seen {
    char text[2048];
};

static int see(void *data, const struct hami_node_view *view)
{
    static const char *const states[] = {"unknown",    "free",      "acquiring", "held",
                                         "handed-off", "releasing", "foreign"};
    struct seen *seen = data;
    size_t length = 0;

    for (size_t i = 0; i < view->slot_count; i++) {
        const struct hami_slot_view *slot = &view->slots[i];
        int bytes =
            snprintf(seen->text + length, sizeof(seen->text) - length, "%s=%s:%s ",
                     strrchr(slot->key, '/') + 1, states[slot->state],
                     slot->owner.name ? slot->owner.name : "-");
        length += (size_t)bytes;
        ck_assert_str_ne(slot->reason, "");
    }
    return 0;
}

static void assert_seen(const char *expected)
{
    struct seen seen = {""};

    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, "n1", see, &seen), 0);
    ck_assert_str_eq(seen.text, expected);
}

START_TEST(a_snapshot_shows_the_cover_and_the_permits_that_are_held)
{
    static struct scripted_wait a, b, c;

    assert_seen("mutex.lock=free:- ");
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU1);
    assert_seen("mutex.lock=held:b mutex.lock.1=held:a mutex.lock.2=held:b ");
    uint64_t fence = beside_bind(&b, "b");
    assert_seen("mutex.lock=handed-off:b mutex.lock.1=held:a mutex.lock.2=handed-off:b ");
    beside_serve("b", fence);
    scripted_advance(200);
    assert_seen("mutex.lock=held:a mutex.lock.1=held:a ");
    beside_bind_and_serve(&a, "a");
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    assert_seen("mutex.lock=free:- ");
}
END_TEST

/* ---- what a waiter is told ---- */

START_TEST(who_waits_too_long_is_told_who_is_in_its_way)
{
    static struct scripted_wait a, b, late;
    struct hami_nodelock_request request;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    scripted_request(&request, "n1", "c");
    request.calls = GPU1;
    scripted_acquire_as(&late, &request, 500);
    scripted_advance(600);
    ck_assert_int_eq(late.code, HAMI_E_TIMEDOUT);
    ck_assert_msg(strstr(late.text, "default/a") != NULL, "%s", late.text);
    beside_hand_off(&a, "a");
    beside_hand_off(&b, "b");
}
END_TEST

START_TEST(a_stalled_pod_refuses_those_alone_who_wait_for_it)
{
    static struct scripted_wait a, b, c, d, all;
    const struct hami_nodelock_config config = {.side_by_side = 8,
                                                .stall_limit_ms = 20000};

    beside_restart(config, true);
    beside_take(&a, "a", GPU1);
    (void)beside_bind(&a, "a"); /* and never served */
    scripted_advance(30000);
    beside_take(&b, "b", GPU2);
    beside_assert_granted(&b, "b");
    beside_take(&c, "c", GPU1);
    beside_take(&d, "d", GPU3);
    beside_take(&all, "e", NULL);
    scripted_advance(3000);
    ck_assert_int_eq(c.code, HAMI_E_LIMIT);
    ck_assert_msg(strstr(c.text, "default,a") != NULL, "%s", c.text);
    beside_assert_granted(&d, "d");
    ck_assert_int_eq(all.code, HAMI_E_LIMIT);
    beside_hand_off(&b, "b");
    beside_hand_off(&d, "d");
}
END_TEST

static void try_to_take(struct scripted_wait *wait, const char *name, const char *calls)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", name);
    request.deadline_ns = scripted_now_ns + 1000 * MS;
    request.calls = calls;
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request,
                                                     scripted_acquired, wait, NULL),
                     0);
    scripted_dispatch();
}

START_TEST(a_try_takes_what_is_free_beside_others_and_says_who_is_in_its_way)
{
    static struct scripted_wait a, free_one, met;

    beside_take(&a, "a", GPU1);
    try_to_take(&free_one, "b", GPU2);
    beside_assert_granted(&free_one, "b");
    try_to_take(&met, "c", GPU1);
    ck_assert_int_eq(met.code, HAMI_E_BUSY);
    ck_assert_msg(strstr(met.text, "default/a") != NULL, "%s", met.text);
    beside_hand_off(&a, "a");
    beside_hand_off(&free_one, "b");
}
END_TEST

START_TEST(equal_pods_are_foreseen_one_by_one_and_distinct_ones_refused_for_nobody)
{
    static struct scripted_wait holds[5], queue[5], distinct, all;
    struct hami_nodelock_request request;
    struct hami_error error = HAMI_ERROR_INIT;

    beside_restart((struct hami_nodelock_config){.side_by_side = 8,
                                                 .flags = HAMI_NODELOCK_REFUSE_EARLY},
                   true);
    for (int i = 0; i < 5; i++) { /* each holds for a second */
        char name[2] = {(char)('a' + i), '\0'};
        beside_take(&holds[i], name, GPU1);
        scripted_advance(1000);
        beside_release(&holds[i]);
    }
    for (int i = 0; i < 5; i++) {
        char name[2] = {(char)('m' + i), '\0'};
        beside_take(&queue[i], name, GPU1);
    }
    scripted_request(&request, "n1", "f");
    request.calls = GPU1;
    request.deadline_ns = scripted_now_ns + 3000 * MS;
    request.reterr = &error;
    ck_assert_int_eq(hami_nodelock_acquire_start(scripted_lock, &request,
                                                 scripted_acquired, &all, NULL),
                     HAMI_E_LIMIT);
    ck_assert_uint_eq(error.position, 4);
    ck_assert_uint_ge(error.expected_ns, 4000 * MS);
    request.calls = NULL; /* an exclusive one waits for all of them as well */
    ck_assert_int_eq(hami_nodelock_acquire_start(scripted_lock, &request,
                                                 scripted_acquired, &all, NULL),
                     HAMI_E_LIMIT);
    scripted_request(&request, "n1", "g");
    request.calls = GPU2;
    scripted_acquire_as(&distinct, &request, 3000);
    beside_assert_granted(&distinct, "g");
    beside_hand_off(&distinct, "g");
    beside_hand_off(&queue[0], "m");
}
END_TEST

/* ---- changes and the end ---- */

static char changes[1024];

static void changed(void *data, const struct hami_lock_change *change)
{
    size_t length = strlen(changes);

    (void)data;
    (void)snprintf(changes + length, sizeof(changes) - length, "%s:%s->%s ",
                   strrchr(change->key, '.') + 1,
                   change->from.name ? change->from.name : "-",
                   change->to.name ? change->to.name : "-");
}

START_TEST(each_lock_beside_others_changes_hands_once_and_covers_never)
{
    static struct scripted_wait a, b, c, all;

    changes[0] = '\0';
    beside_restart((struct hami_nodelock_config){.side_by_side = 8, .changed = changed},
                   true);
    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU1);
    beside_take(&all, "e", NULL);
    ck_assert_str_eq(changes, "1:-->a 2:-->b ");
    changes[0] = '\0';
    beside_bind_and_serve(&a, "a");
    beside_bind_and_serve(&b, "b");
    scripted_advance(200);
    ck_assert_str_eq(changes, "1:a->c 2:b->- ");
    changes[0] = '\0';
    beside_bind_and_serve(&c, "c");
    scripted_advance(200);
    ck_assert_str_eq(changes, "lock:-->e 1:c->- ");
    changes[0] = '\0';
    beside_bind_and_serve(&all, "e");
    scripted_advance(200);
    ck_assert_str_eq(changes, "lock:e->- ");
    ck_assert_uint_eq(scripted_stats().lost, 0);
}
END_TEST

START_TEST(a_shutdown_ends_waits_and_leaves_what_is_held_beside_others)
{
    static struct scripted_wait a, b, c;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_take(&c, "c", GPU2);
    ck_assert_int_eq(
        hami_nodelock_shutdown(scripted_lock, hami_nodelock_in_ms(scripted_lock, 100)),
        0);
    scripted_dispatch();
    ck_assert_int_eq(c.code, HAMI_E_CLOSED);
    ck_assert_uint_eq(beside_held(), 2);
    scripted_check(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    beside_release(&a);
    ck_assert_uint_eq(beside_held(), 1);
    beside_assert_sound();
    beside_hand_off(&b, "b");
}
END_TEST

START_TEST(a_lock_beside_others_that_vanishes_is_lost_and_no_other)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    beside_take(&a, "a", GPU1);
    beside_take(&b, "b", GPU2);
    beside_put(beside_permit_of("a"), NULL, NULL);
    scripted_advance(1);
    ck_assert_uint_eq(scripted_lost, 1);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    scripted_check(&done, b.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    beside_release(&b);
    beside_assert_empty();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("beside look");
    TCase *world = tcase_create("beside look");

    tcase_add_checked_fixture(world, beside_set_up, scripted_stop);
    tcase_add_test(world,
                   without_the_option_a_manager_waits_for_all_who_are_beside_each_other);
    tcase_add_test(world, without_a_watch_and_the_option_a_cover_is_known_by_its_calls);
    tcase_add_test(world,
                   thousands_of_equal_pods_are_served_in_order_and_distinct_ones_beside);
    tcase_add_test(world, more_calls_than_there_is_room_for_count_as_all);
    tcase_add_loop_test(world, calls_are_compared_whole, 0,
                        (int)(sizeof(sets) / sizeof(sets[0])));
    tcase_add_test(world, a_snapshot_shows_the_cover_and_the_permits_that_are_held);
    tcase_add_test(world, who_waits_too_long_is_told_who_is_in_its_way);
    tcase_add_test(world, a_stalled_pod_refuses_those_alone_who_wait_for_it);
    tcase_add_test(world,
                   a_try_takes_what_is_free_beside_others_and_says_who_is_in_its_way);
    tcase_add_test(
        world, equal_pods_are_foreseen_one_by_one_and_distinct_ones_refused_for_nobody);
    tcase_add_test(world, each_lock_beside_others_changes_hands_once_and_covers_never);
    tcase_add_test(world, a_shutdown_ends_waits_and_leaves_what_is_held_beside_others);
    tcase_add_test(world, a_lock_beside_others_that_vanishes_is_lost_and_no_other);
    suite_add_tcase(suite, world);
    return scripted_run(suite);
}
