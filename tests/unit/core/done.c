/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locks that the scheduler side frees (free=scheduler): the node side's last write is the
 * success on the pod, and the manager passes the lock on, or removes it, when it sees that.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

#define MARK "1,free=scheduler"
#define STANDS_MS 100 /* for a waiter that may come */
#define NODE_FREES_MS 1000
#define FOREIGN "2026-01-02T03:00:00Z,default,theirs"

static void start(uint32_t flags, const char *mark)
{
    struct scripted_options options = {
        .watch = true, .owners = true, .config = HAMI_NODELOCK_CONFIG_INIT};

    options.config.flags = flags;
    scripted_start(options);
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY, mark), 0);
}

static void set_up(void)
{
    start(HAMI_NODELOCK_FREE_BY_SCHEDULER, MARK);
}

/* Binds a pod under its lock and leaves the lock to the node side; returns the fence. */
static uint64_t bind(struct scripted_wait *wait, const char *name)
{
    uint64_t fence;

    ck_assert_msg(wait->ended && wait->code == 0, "%s: %s", name, wait->text);
    fence = hami_lease_fence(wait->lease);
    scripted_pod_facts(
        name, &(struct hami_owner_facts){.size = sizeof(struct hami_owner_facts),
                                         .exists = true,
                                         .uid = name[0] == 'a' ? "uid-a" : "uid-b",
                                         .node = "n1",
                                         .devices_left = true,
                                         .bind_phase = HAMI_BIND_PHASE_ALLOCATING,
                                         .fence = fence});
    ck_assert_int_eq(hami_lease_handoff(wait->lease), 0);
    return fence;
}

static void serve(const char *name, enum hami_bind_phase phase, uint64_t done)
{
    scripted_pod_facts(
        name, &(struct hami_owner_facts){.size = sizeof(struct hami_owner_facts),
                                         .exists = true,
                                         .uid = name[0] == 'a' ? "uid-a" : "uid-b",
                                         .node = "n1",
                                         .bind_phase = phase,
                                         .fence = done,
                                         .done = done});
    scripted_dispatch();
}

static const struct {
    const char *what;
    uint32_t flags;
    const char *mark;
    bool by_scheduler;
} modes[] = {
    {"the node leaves it", HAMI_NODELOCK_FREE_BY_SCHEDULER, MARK, true},
    {"the node frees", HAMI_NODELOCK_FREE_BY_SCHEDULER, "1,free=node", false},
    {"no agent", HAMI_NODELOCK_FREE_BY_SCHEDULER, NULL, false},
    {"an agent of another form", HAMI_NODELOCK_FREE_BY_SCHEDULER, "2,free=scheduler",
     false},
    {"the manager frees none", 0, MARK, false},
};

START_TEST(a_lease_says_who_frees_as_node_and_manager_agree)
{
    static struct scripted_wait a;

    start(modes[_i].flags, modes[_i].mark);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_msg(scripted_record("n1").free_by_scheduler == modes[_i].by_scheduler, "%s",
                  modes[_i].what);
    (void)bind(&a, "a");
}
END_TEST

START_TEST(a_mark_that_changes_counts_from_the_next_grant_on)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY, "1,free=node"),
        0);
    ck_assert(scripted_record("n1").free_by_scheduler);
    scripted_acquire(&b, "n1", "b", 1000);
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    ck_assert(b.ended && b.code == 0);
    ck_assert(!scripted_record("n1").free_by_scheduler);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_lock_that_is_done_is_passed_on_in_one_write)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert(!b.ended);
    size_t reads = scripted_count(SCRIPTED_READ),
           looks = scripted_count(SCRIPTED_INSPECT);
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    ck_assert(b.ended && b.code == 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 2);
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads);
    ck_assert_uint_eq(scripted_count(SCRIPTED_INSPECT), looks);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    struct hami_nodelock_stats stats = scripted_stats();
    ck_assert_uint_eq(stats.hand_overs, 1);
    ck_assert_uint_eq(stats.takeovers, 0);
    ck_assert_uint_eq(stats.lost, 0);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_lock_that_is_done_is_removed_if_nobody_comes)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    scripted_advance(STANDS_MS - 1);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    scripted_advance(2);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_record("n1").last_fence, fence);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 2);
    ck_assert_uint_eq(scripted_count(SCRIPTED_REVOKE), 0);
}
END_TEST

START_TEST(who_comes_while_it_stands_gets_it_in_one_write)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    scripted_advance(STANDS_MS / 2);
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert(b.ended && b.code == 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 2);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_node_side_that_was_quicker_costs_nothing)
{
    static struct scripted_wait a;
    char memory[64];

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    ck_assert_int_eq(hami_lease_memory_format(fence, memory, sizeof(memory)), 0);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, memory), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_advance(5000);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 1);
    ck_assert_uint_eq(scripted_stats().lost, 0);
}
END_TEST

static const struct {
    const char *what;
    enum hami_bind_phase phase;
    uint64_t less; /* than the grant's fence */
} unfinished[] = {
    {"phase failed", HAMI_BIND_PHASE_FAILED, 0},
    {"still allocating", HAMI_BIND_PHASE_ALLOCATING, 0},
    {"done under an earlier grant", HAMI_BIND_PHASE_SUCCESS, 1},
};

START_TEST(what_is_no_success_under_this_grant_frees_nothing)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    serve("a", unfinished[_i].phase, fence - unfinished[_i].less);
    scripted_advance(20000);
    scripted_acquire(&b, "n1", "b", 5000);
    scripted_advance(4000);
    ck_assert_msg(!b.ended, "%s", unfinished[_i].what);
    ck_assert_uint_eq(scripted_record("n1").fence, fence);
}
END_TEST

static void put_foreign(const char *fence, const char *free)
{
    char lease[512];

    (void)snprintf(
        lease, sizeof(lease),
        "{\"version\":1,\"lock\":\"" FOREIGN "\",\"uid\":\"uid-theirs\",\"fence\":\"%s\","
        "\"holder\":\"other_1\",\"attempt\":\"1\",\"hold_ms\":4000,\"free\":\"%s\"}",
        fence, free);
    scripted_pod("theirs", "uid-theirs");
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
}

static void serve_theirs(void)
{
    scripted_pod_facts("theirs",
                       &(struct hami_owner_facts){.size = sizeof(struct hami_owner_facts),
                                                  .exists = true,
                                                  .uid = "uid-theirs",
                                                  .node = "n1",
                                                  .bind_phase = HAMI_BIND_PHASE_SUCCESS,
                                                  .done = 7});
    scripted_dispatch();
}

START_TEST(a_lock_of_a_scheduler_that_died_after_its_pod_was_served_is_passed_on_here)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 1000); /* so that the node is known */
    (void)bind(&a, "a");
    put_foreign("7", "scheduler");
    static struct scripted_wait b;
    scripted_acquire(&b, "n1", "b", 5000);
    scripted_dispatch();
    ck_assert(!b.ended);
    serve_theirs();
    ck_assert(b.ended && b.code == 0);
    ck_assert_uint_eq(scripted_stats().takeovers, 0);
    ck_assert_uint_eq(scripted_stats().hand_overs, 1);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_lock_of_another_manager_is_left_to_it_while_nobody_waits)
{
    static struct scripted_wait a;

    scripted_acquire(&a, "n1", "a", 1000);
    (void)bind(&a, "a");
    put_foreign("7", "scheduler");
    serve_theirs();
    scripted_advance(3000);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
}
END_TEST

START_TEST(a_done_lock_is_left_to_the_node_side_that_frees_it_for_a_moment_only)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    (void)bind(&a, "a");
    put_foreign("7", "node");
    scripted_acquire(&b, "n1", "b", 5000);
    serve_theirs();
    scripted_advance(NODE_FREES_MS - 1);
    ck_assert(!b.ended);
    scripted_advance(2);
    ck_assert(b.ended && b.code == 0);
    ck_assert_uint_eq(scripted_stats().takeovers, 1);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_lock_of_several_keys_is_passed_on_once)
{
    static const char *const keys[] = {HAMI_NODELOCK_KEY, HAMI_NODELOCK_CAMBRICON_KEY};
    static struct scripted_wait a, b;
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", "a");
    request.keys = keys;
    request.key_count = 2;
    scripted_acquire_as(&a, &request, 1000);
    uint64_t fence = bind(&a, "a");
    scripted_request(&request, "n1", "b");
    request.keys = keys;
    request.key_count = 2;
    scripted_acquire_as(&b, &request, 5000);
    serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
    ck_assert(b.ended && b.code == 0);
    ck_assert_uint_eq(scripted_stats().hand_overs, 1);
    ck_assert_uint_eq(scripted_stats().grants, 2);
    (void)bind(&b, "b");
}
END_TEST

START_TEST(a_pod_that_is_told_of_again_and_again_does_not_put_off_what_is_done)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = bind(&a, "a");
    for (int told = 0; told < 10; told++) {
        serve("a", HAMI_BIND_PHASE_SUCCESS, fence);
        scripted_advance(STANDS_MS / 4);
    }
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    put_foreign("7", "node");
    scripted_acquire(&b, "n1", "b", 5000);
    for (int told = 0; told < 10; told++) {
        serve_theirs();
        scripted_advance(NODE_FREES_MS / 4);
    }
    ck_assert(b.ended && b.code == 0);
    (void)bind(&b, "b");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("done");
    TCase *plain = tcase_create("modes"), *cases = tcase_create("done");

    tcase_add_checked_fixture(plain, NULL, scripted_stop);
    tcase_add_loop_test(plain, a_lease_says_who_frees_as_node_and_manager_agree, 0,
                        (int)(sizeof(modes) / sizeof(modes[0])));
    tcase_add_checked_fixture(cases, set_up, scripted_stop);
    tcase_add_test(cases, a_mark_that_changes_counts_from_the_next_grant_on);
    tcase_add_test(cases, a_lock_that_is_done_is_passed_on_in_one_write);
    tcase_add_test(cases, a_lock_that_is_done_is_removed_if_nobody_comes);
    tcase_add_test(cases, who_comes_while_it_stands_gets_it_in_one_write);
    tcase_add_test(cases, a_node_side_that_was_quicker_costs_nothing);
    tcase_add_loop_test(cases, what_is_no_success_under_this_grant_frees_nothing, 0,
                        (int)(sizeof(unfinished) / sizeof(unfinished[0])));
    tcase_add_test(
        cases,
        a_lock_of_a_scheduler_that_died_after_its_pod_was_served_is_passed_on_here);
    tcase_add_test(cases, a_lock_of_another_manager_is_left_to_it_while_nobody_waits);
    tcase_add_test(cases,
                   a_done_lock_is_left_to_the_node_side_that_frees_it_for_a_moment_only);
    tcase_add_test(cases, a_lock_of_several_keys_is_passed_on_once);
    tcase_add_test(cases,
                   a_pod_that_is_told_of_again_and_again_does_not_put_off_what_is_done);
    suite_add_tcase(suite, plain);
    suite_add_tcase(suite, cases);
    return scripted_run(suite);
}
