/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sweep.h: lives of a lock. Each goes on as far as the faults let it: who gets no
 * lock releases none.
 */
#include "sweep.h"

#include <stdio.h>
#include <string.h>

#define FOREIGN "2026-01-02T03:00:00Z,default,dead"

static void give_back(struct sweep_holder *holder)
{
    if (sweep_granted(holder)) {
        sweep_release(holder);
        (void)sweep_released(holder);
    }
}

/* ---- of one's own ---- */

static void take_and_release(void)
{
    give_back(sweep_acquire("a", false, SWEEP_WAIT_MS));
}

static void take_both_keys(void)
{
    give_back(sweep_acquire("a", true, SWEEP_WAIT_MS));
    give_back(sweep_acquire("b", true, SWEEP_WAIT_MS));
}

static void hand_over(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    bool granted = sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);
    struct sweep_holder *c = sweep_acquire("c", false, 2 * SWEEP_WAIT_MS);

    if (granted) {
        sweep_release(a);
        (void)sweep_released(a);
    }
    give_back(b);
    give_back(c);
}

static void hand_over_both_keys(void)
{
    struct sweep_holder *a = sweep_acquire("a", true, SWEEP_WAIT_MS);
    bool granted = sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", true, SWEEP_WAIT_MS);

    if (granted) {
        sweep_release(a);
        (void)sweep_released(a);
    }
    give_back(b);
}

static void take_two_shares(void)
{
    struct sweep_holder *first = sweep_acquire("a", false, SWEEP_WAIT_MS);
    bool granted = sweep_granted(first);
    struct sweep_holder *second = sweep_acquire("a", false, SWEEP_WAIT_MS);

    if (!sweep_granted(second)) {
        second = NULL;
    }
    if (granted) {
        sweep_release(first);
        (void)sweep_released(first);
    }
    if (second) {
        sweep_release(second);
        (void)sweep_released(second);
    }
}

static void check_lease(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);

    if (sweep_granted(a)) {
        sweep_look(a);
        sweep_release(a);
        (void)sweep_released(a);
    }
}

/* Nobody wants the lock any more after so many calls. */
static void leave(struct sweep_holder *a, unsigned calls)
{
    sweep_serve_calls(calls);
    if (!a->wait.ended) {
        ck_assert_int_eq(hami_wait_abort(a->wait.wait), 0);
        scripted_dispatch();
        SWEEP_CHECK(a->wait.ended, "an abort is not told at once");
    }
    if (a->wait.code == 0) {
        sweep_check_step();
        sweep_release(a);
        (void)sweep_released(a);
    }
}

static void leave_after(unsigned calls)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);

    leave(a, calls);
    give_back(b);
}

static void leave_alone(void)
{
    leave(sweep_acquire("a", false, SWEEP_WAIT_MS), 2);
}

static void leave_alone_at_last(void)
{
    leave(sweep_acquire("a", false, SWEEP_WAIT_MS), 3);
}

static void leave_at_once(void)
{
    leave_after(0);
}

static void leave_after_one_call(void)
{
    leave_after(1);
}

static void leave_after_two_calls(void)
{
    leave_after(2);
}

static void leave_after_three_calls(void)
{
    leave_after(3);
}

/* ---- with the node side ---- */

static void hand_off(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    bool granted = sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", false, 2 * SWEEP_WAIT_MS);

    if (granted) {
        sweep_bind_and_hand_off(a);
        sweep_serve_calls(3);
        SWEEP_CHECK(!b->wait.ended || b->wait.code != 0,
                    "a waiter passed an owner that waits for Allocate");
        sweep_serve(a);
    }
    give_back(b);
}

/* The watch dies without a word, and the plugin says nothing but by removing the lock. */
static void hand_off_while_the_watch_is_lost(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    bool granted = sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", false, 2 * SWEEP_WAIT_MS);

    if (granted) {
        struct hami_transport *store = hami_memory_transport(scripted_store);
        sweep_bind_and_hand_off(a);
        store->unwatch(store, scripted_lock);
        sweep_remove(a);
    }
    give_back(b);
}

static void hand_off_to_a_dead_plugin(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    bool granted = sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", false, 2 * SWEEP_WAIT_MS);

    if (granted) {
        struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
        sweep_bind_and_hand_off(a);
        sweep_serve_calls(3);
        facts.exists = facts.started = true;
        facts.uid = "uid-a";
        facts.node = SWEEP_NODE;
        scripted_pod_facts("a", &facts);
        scripted_dispatch();
    }
    give_back(b);
}

static void release_of_a_bound_owner(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);

    if (sweep_granted(a)) {
        struct hami_owner owner = {"default", "a", "uid-a"};
        ck_assert_int_eq(
            hami_memory_bind_owner(scripted_store, &owner, SWEEP_NODE, a->version), 0);
        sweep_release(a);
        if (sweep_released(a)) {
            sweep_serve(a);
        }
    }
    give_back(sweep_acquire("b", false, SWEEP_WAIT_MS));
}

/* ---- of others ---- */

static void put_foreign(const char *lease)
{
    ck_assert_int_eq(
        hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_LEASE_KEY, lease), 0);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_KEY, FOREIGN), 0);
    scripted_dispatch();
}

#define DEAD_LEASE                                                                       \
    "{\"version\":1,\"lock\":\"" FOREIGN "\",\"uid\":\"uid-dead\",\"fence\":\"7\","      \
    "\"holder\":\"other_1\",\"attempt\":\"1\",\"hold_ms\":4000,\"free\":\"node\"}"

static void take_over_from_a_pod_that_is_gone(void)
{
    put_foreign(DEAD_LEASE);
    give_back(sweep_acquire("b", false, SWEEP_WAIT_MS));
}

static void keep_version(void *data, int code, const struct hami_owner_facts *facts)
{
    ck_assert_int_eq(code, 0);
    (void)snprintf(data, 64, "%s", facts->version);
}

static void take_over_by_revocation(void)
{
    struct hami_owner dead = {"default", "dead", "uid-dead"};
    char version[64] = "";

    scripted_pod("dead", "uid-dead");
    ck_assert_int_eq(hami_transport_call_owner(hami_memory_transport(scripted_store),
                                               SWEEP_NODE, &dead, NULL, 1000,
                                               keep_version, version),
                     0);
    put_foreign(DEAD_LEASE);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);
    if (sweep_granted(b)) {
        SWEEP_CHECK(hami_memory_bind_owner(scripted_store, &dead, SWEEP_NODE, version) ==
                        HAMI_E_LOST,
                    "an owner was robbed that could still be bound");
        sweep_release(b);
        (void)sweep_released(b);
    }
}

/* Another replica writes its lock as soon as there is none. */
static void release_to_a_rival(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);

    if (sweep_granted(a)) {
        sweep_let_rival_take(FOREIGN, DEAD_LEASE);
        sweep_release(a);
        (void)sweep_released(a);
    }
    give_back(sweep_acquire("b", false, SWEEP_WAIT_MS));
}

static void take_over_by_age(void)
{
    put_foreign(NULL);
    give_back(sweep_acquire("b", false, SWEEP_WAIT_MS));
}

static void adopt(void)
{
    ck_assert_int_eq(hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_KEY,
                                     "2026-01-02T02:55:00Z,default,a"),
                     0);
    give_back(sweep_acquire("a", false, SWEEP_WAIT_MS));
}

/* ---- beside each other ---- */

static void release_all(struct sweep_holder *const *holders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (holders[i]->wait.code == 0 && !holders[i]->handed_off) {
            sweep_release(holders[i]);
            (void)sweep_released(holders[i]);
        }
    }
}

static void come_beside(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);

    (void)sweep_granted(a);
    (void)sweep_granted(b);
    release_all((struct sweep_holder *[]){b, a}, 2);
}

static void hand_over_beside(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    (void)sweep_granted(a);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);
    struct sweep_holder *c = sweep_acquire("c", false, 2 * SWEEP_WAIT_MS);

    (void)sweep_granted(b);
    release_all(&a, 1);
    give_back(c);
    release_all(&b, 1);
}

static void wait_for_all_beside(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);

    (void)sweep_granted(a);
    (void)sweep_granted(b);
    struct sweep_holder *all = sweep_acquire("z", false, 2 * SWEEP_WAIT_MS);
    struct sweep_holder *c = sweep_acquire("c", false, 2 * SWEEP_WAIT_MS);
    release_all((struct sweep_holder *[]){a, b}, 2);
    give_back(all);
    give_back(c);
}

static void serve_beside(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);
    struct sweep_holder *b = sweep_acquire("b", false, SWEEP_WAIT_MS);
    bool a_granted = sweep_granted(a), b_granted = sweep_granted(b);
    struct sweep_holder *c = sweep_acquire("c", false, 2 * SWEEP_WAIT_MS);

    if (a_granted) {
        sweep_bind_and_hand_off(a);
    }
    if (b_granted) {
        sweep_bind_and_hand_off(b);
        sweep_serve_calls(3);
        sweep_succeed(b);
    }
    if (a_granted) {
        sweep_serve_calls(3);
        SWEEP_CHECK(!c->wait.ended || c->wait.code != 0,
                    "a waiter passed an owner that waits for Allocate");
        sweep_succeed(a);
    }
    give_back(c);
}

static void leave_beside(void)
{
    struct sweep_holder *a = sweep_acquire("a", false, SWEEP_WAIT_MS);

    (void)sweep_granted(a);
    leave(sweep_acquire("b", false, SWEEP_WAIT_MS), 2);
    release_all(&a, 1);
}

const struct sweep_scenario sweep_scenarios[] = {
    {"take and release", true, true, take_and_release, false},
    {"take and release without news", false, true, take_and_release, false},
    {"take and release without owners", true, false, take_and_release, false},
    {"take both keys", true, true, take_both_keys, false},
    {"hand over", true, true, hand_over, false},
    {"hand over without news", false, true, hand_over, false},
    {"hand over without owners", true, false, hand_over, false},
    {"hand over both keys", true, true, hand_over_both_keys, false},
    {"two shares", true, true, take_two_shares, false},
    {"check a lease", true, true, check_lease, false},
    {"leave at once", true, true, leave_at_once, false},
    {"leave after one call", true, true, leave_after_one_call, false},
    {"leave after two calls", true, true, leave_after_two_calls, false},
    {"leave after three calls", true, true, leave_after_three_calls, false},
    {"leave without news", false, true, leave_after_two_calls, false},
    {"leave without owners", true, false, leave_after_one_call, false},
    {"leave alone", true, true, leave_alone, false},
    {"leave alone, later", true, true, leave_alone_at_last, false},
    {"leave alone without news", false, true, leave_alone, false},
    {"leave alone without news, later", false, true, leave_alone_at_last, false},
    {"leave alone without owners", true, false, leave_alone, false},
    {"hand off", true, true, hand_off, false},
    {"hand off without news", false, true, hand_off, false},
    {"hand off, watch lost", true, true, hand_off_while_the_watch_is_lost, false},
    {"hand off to a dead plugin", true, true, hand_off_to_a_dead_plugin, false},
    {"release of a bound owner", true, true, release_of_a_bound_owner, false},
    {"take over, pod gone", true, true, take_over_from_a_pod_that_is_gone, false},
    {"take over by revocation", true, true, take_over_by_revocation, false},
    {"release to a rival", true, true, release_to_a_rival, false},
    {"release to a rival without news", false, true, release_to_a_rival, false},
    {"take over by age", true, false, take_over_by_age, false},
    {"adopt", true, true, adopt, false},
    {"come beside", true, true, come_beside, true},
    {"come beside without news", false, true, come_beside, true},
    {"hand over beside", true, true, hand_over_beside, true},
    {"wait for all beside", true, true, wait_for_all_beside, true},
    {"serve beside", true, true, serve_beside, true},
    {"leave beside", true, true, leave_beside, true},
};
const int sweep_scenario_count =
    (int)(sizeof(sweep_scenarios) / sizeof(sweep_scenarios[0]));
