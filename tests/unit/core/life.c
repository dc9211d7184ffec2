/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manager's life: news, loss, checks, shutdown, free, bad arguments, forks, callbacks
 * that call back, memory that runs out. In virtual time where time matters.
 */
#include "scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOREIGN "2026-01-02T03:00:00Z,other,pod"

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

/* ---- news and loss ---- */

START_TEST(a_holder_whose_lock_is_overwritten_is_told_once)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 1);
    ck_assert_uint_eq(scripted_stats().lost, 1);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", "x.example/y", "z"), 0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 1);
    scripted_check(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_str_eq(scripted_lock_value("n1"), FOREIGN);
}
END_TEST

START_TEST(a_lease_that_vanishes_does_no_harm)
{
    static struct scripted_wait a, b;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 900000);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY, NULL),
                     0);
    scripted_advance(5000);
    ck_assert(!b.ended);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_advance(2000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(an_orderly_release_before_the_hand_off_is_no_loss)
{
    static struct scripted_wait a, b;
    char memory[64];

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 10000);
    ck_assert_int_eq(
        hami_lease_memory_format(hami_lease_fence(a.lease), memory, sizeof(memory)), 0);
    struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, HAMI_NODELOCK_KEY, scripted_lock_value("n1"), NULL},
        {HAMI_EDIT_PUT, HAMI_NODELOCK_LEASE_KEY, scripted_lease_value("n1"), memory}};
    ck_assert_int_eq(hami_transport_call(hami_memory_transport(scripted_store), "n1",
                                         edits, 2, NULL, 1000, NULL, NULL),
                     0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 0);
    ck_assert_msg(!b.ended, "nobody gets the slot before the holder has let go");
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(news_older_than_the_grant_is_not_believed)
{
    static struct scripted_wait a;
    struct hami_annotation stale[] = {{HAMI_NODELOCK_KEY, FOREIGN}};
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;

    scripted_acquire(&a, "n1", "a", 1000);
    size_t reads = scripted_count(SCRIPTED_READ);
    record.annotations = stale;
    record.annotation_count = 1;
    record.version = "1";
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads);
    /* Without an order between versions it costs a read. */
    record.version = "opaque";
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record), 0);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads + 1);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(a_node_that_goes_ends_its_waits_and_takes_its_lock_along_case_1_42)
{
    static struct scripted_wait a, waits[3], again;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 1000);
    for (int i = 0; i < 3; i++) {
        char name[8];
        (void)snprintf(name, sizeof(name), "w%d", i);
        scripted_acquire(&waits[i], "n1", name, 60000);
    }
    ck_assert_int_eq(hami_memory_delete(scripted_store, "n1"), 0);
    scripted_dispatch();
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(waits[i].code, HAMI_E_NODE);
    }
    ck_assert_uint_eq(scripted_lost, 1);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_lt(done.code, 0);
    scripted_acquire(&again, "n1", "b", 1000);
    ck_assert_int_eq(again.code, 0);
    ck_assert_int_eq(hami_lease_handoff(again.lease), 0);
}
END_TEST

START_TEST(a_node_forgotten_by_mistake_keeps_its_holder_case_1_45)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_nodelock_forget(scripted_lock, "n1"), 0);
    ck_assert_int_eq(hami_nodelock_forget(scripted_lock, "unknown"), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(2000);
    ck_assert(!b.ended);
    ck_assert_uint_eq(scripted_lost, 0);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_check_reads_the_store)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "a", 1000);
    size_t reads = scripted_count(SCRIPTED_READ);
    scripted_check(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_uint_eq(scripted_count(SCRIPTED_READ), reads + 1);
    scripted_answer_all(HAMI_E_TRANSPORT);
    scripted_check(&done, a.lease, 1000);
    ck_assert(!done.ended);
    scripted_advance(1000);
    ck_assert_int_eq(done.code, HAMI_E_IN_DOUBT);
    scripted_answer_all(HAMI_E_NODE);
    scripted_advance(5000);
    scripted_check(&done, a.lease, 1000);
    scripted_advance(1000);
    ck_assert_int_eq(done.code, HAMI_E_NODE);
    scripted_answer_all(0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

/* ---- shutdown ---- */

START_TEST(a_shutdown_tells_waiters_and_undoes_what_is_in_flight)
{
    static struct scripted_wait held, queued, flying;

    scripted_acquire(&held, "n1", "held", 1000);
    scripted_acquire(&queued, "n1", "queued", 60000);
    scripted_acquire(&flying, "n2", "x", 1000);
    static struct scripted_done done;
    scripted_release(&done, flying.lease, 1000);
    scripted_set_manual(true);
    scripted_acquire(&flying, "n2", "flying", 60000);
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    scripted_set_manual(false);
    ck_assert_int_eq(hami_nodelock_shutdown(scripted_lock, scripted_now_ns),
                     HAMI_E_TIMEDOUT);
    scripted_dispatch();
    ck_assert_int_eq(queued.code, HAMI_E_CLOSED);
    ck_assert_int_eq(flying.code, HAMI_E_CLOSED);
    scripted_answer(patch);
    ck_assert_int_eq(hami_nodelock_shutdown(scripted_lock, scripted_now_ns), 0);
    ck_assert_str_eq(scripted_lock_value("n2"), "");
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    struct hami_nodelock_request request;
    hami_lease *lease;
    struct hami_error error = HAMI_ERROR_INIT;
    scripted_request(&request, "n1", "late");
    request.deadline_ns = scripted_now_ns + MS;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_handoff(held.lease), 0);
}
END_TEST

START_TEST(a_lease_outlives_its_manager_and_counts_as_handed_off)
{
    static struct scripted_wait a, b, c, d, queued;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n2", "b", 1000);
    scripted_acquire(&c, "n3", "c", 1000);
    scripted_acquire(&d, "n4", "d", 1000);
    scripted_acquire(&queued, "n1", "queued", 60000);
    hami_nodelock_free(scripted_lock);
    ck_assert_int_eq(queued.code, HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_facts(a.lease, &view), HAMI_E_CLOSED);
    ck_assert_uint_eq(hami_lease_fence(a.lease), 0);
    ck_assert_int_eq(hami_lease_check(a.lease, HAMI_DEADLINE_NEVER, NULL), HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_check_start(a.lease, 0, (hami_done_fn)abort, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_release(a.lease, HAMI_DEADLINE_NEVER, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_handoff(b.lease), HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_release_start(c.lease, 0, NULL, NULL), HAMI_E_CLOSED);
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    scripted_lock = NULL;
    ck_assert_int_eq(hami_lease_handoff(d.lease), HAMI_E_CLOSED);
    scripted_stop();
}
END_TEST

/* ---- callbacks ---- */

static struct scripted_wait inner;
static int inner_codes[6];

static void call_back_in(void *data, int code, hami_lease *lease,
                         const struct hami_error *error)
{
    struct hami_nodelock_request request;
    hami_lease *blocked = NULL;

    (void)data;
    (void)error;
    ck_assert_int_eq(code, 0);
    scripted_request(&request, "n1", "inner");
    request.deadline_ns = scripted_now_ns + 1000 * MS;
    inner_codes[0] = hami_nodelock_acquire(scripted_lock, &request, &blocked, NULL);
    inner_codes[1] = hami_lease_release(lease, request.deadline_ns, NULL);
    inner_codes[2] = hami_lease_check(lease, request.deadline_ns, NULL);
    inner_codes[3] = hami_nodelock_dispatch(scripted_lock);
    inner_codes[4] = hami_nodelock_shutdown(scripted_lock, request.deadline_ns);
    inner_codes[5] = hami_lease_release_start(lease, request.deadline_ns, NULL, NULL);
}

START_TEST(a_callback_may_call_what_does_not_block_and_is_told_off_for_what_does)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", "outer");
    request.deadline_ns = scripted_now_ns + 1000 * MS;
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, call_back_in, NULL, NULL),
        0);
    scripted_dispatch();
    for (int i = 0; i < 5; i++) {
        ck_assert_msg(inner_codes[i] == HAMI_E_INVAL, "call %d", i);
    }
    ck_assert_int_eq(inner_codes[5], 0);
    scripted_dispatch();
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    scripted_acquire(&inner, "n1", "inner", 1000);
    ck_assert_int_eq(inner.code, 0);
    ck_assert_int_eq(hami_lease_handoff(inner.lease), 0);
}
END_TEST

/* ---- fork ---- */

static int in_child(hami_lease *lease, hami_wait *wait)
{
    struct hami_nodelock_request request;
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct hami_owner owner = {"default", "a", "u"};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    hami_lease *other = NULL;

    scripted_request(&request, "n1", "b");
    const int codes[] = {
        hami_nodelock_acquire(scripted_lock, &request, &other, NULL),
        hami_nodelock_try_acquire(scripted_lock, &request, &other, NULL),
        hami_nodelock_acquire_start(scripted_lock, &request, call_back_in, NULL, NULL),
        hami_nodelock_try_acquire_start(scripted_lock, &request, call_back_in, NULL,
                                        NULL),
        hami_wait_abort(wait),
        hami_lease_check(lease, 0, NULL),
        hami_lease_check_start(lease, 0, (hami_done_fn)abort, NULL),
        hami_lease_facts(lease, &view),
        hami_lease_release(lease, 0, NULL),
        hami_lease_release_start(lease, 0, NULL, NULL),
        hami_lease_handoff(lease),
        hami_nodelock_observe(scripted_lock, "n1", &record),
        hami_nodelock_observe_owner(scripted_lock, &owner, &facts),
        hami_nodelock_forget(scripted_lock, "n1"),
        hami_nodelock_snapshot(scripted_lock, NULL, (hami_snapshot_fn)abort, NULL),
        hami_nodelock_stats(scripted_lock, &stats),
        hami_nodelock_dispatch(scripted_lock),
        hami_nodelock_shutdown(scripted_lock, 0),
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (codes[i] != HAMI_E_FORKED) {
            return (int)i + 1;
        }
    }
    hami_nodelock_free(scripted_lock);
    return 0;
}

START_TEST(a_forked_child_is_told_and_touches_nothing)
{
    static struct scripted_wait a, b;
    int status = 0;

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 60000);
    pid_t child = fork();
    if (child == 0) {
        _exit(in_child(a.lease, b.wait));
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "call %d of the child",
                  WEXITSTATUS(status));
    ck_assert_str_ne(scripted_lock_value("n1"), "");
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

/* ---- snapshot ---- */

struct seen {
    size_t nodes, waiters;
    enum hami_slot_state state;
    char holder[64], reason[256], first[64];
};

static int see(void *data, const struct hami_node_view *view)
{
    struct seen *seen = data;

    seen->nodes++;
    seen->waiters = view->waiter_count;
    seen->state = view->slots[0].state;
    (void)snprintf(seen->holder, sizeof(seen->holder), "%s",
                   view->slots[0].owner.name ? view->slots[0].owner.name : "");
    (void)snprintf(seen->reason, sizeof(seen->reason), "%s", view->slots[0].reason);
    if (view->waiter_count > 0) {
        ck_assert_uint_eq(view->waiters[0].position, 0);
        (void)snprintf(seen->first, sizeof(seen->first), "%s",
                       view->waiters[0].owner.name);
    }
    return 0;
}

static struct seen look(const char *node)
{
    struct seen seen = {0};

    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, node, see, &seen), 0);
    return seen;
}

START_TEST(a_snapshot_shows_each_state_and_the_queue)
{
    static struct scripted_wait a, waits[20];
    struct seen seen = {0};

    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, "n1", see, &seen),
                     HAMI_E_NODE);
    scripted_set_manual(true);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(look("n1").state, HAMI_SLOT_UNKNOWN);
    scripted_answer(scripted_call(SCRIPTED_READ));
    ck_assert_int_eq(look("n1").state, HAMI_SLOT_ACQUIRING);
    scripted_answer(scripted_call(SCRIPTED_WRITE));
    scripted_dispatch();
    ck_assert_int_eq(look("n1").state, HAMI_SLOT_HELD);
    scripted_set_manual(false);
    for (int i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof(name), "waiter-%d", i);
        scripted_acquire(&waits[i], "n1", name, 60000);
    }
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    seen = look(NULL);
    ck_assert_int_eq(seen.state, HAMI_SLOT_HANDED_OFF);
    ck_assert_str_eq(seen.holder, "a");
    ck_assert_uint_eq(seen.waiters, 20);
    ck_assert_str_eq(seen.first, "waiter-0");
    ck_assert_str_ne(seen.reason, "");
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(hami_wait_abort(waits[i].wait), 0);
    }
    scripted_dispatch();
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, FOREIGN),
                     0);
    ck_assert_int_eq(look("n1").state, HAMI_SLOT_FOREIGN);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    ck_assert_int_eq(look("n1").state, HAMI_SLOT_FREE);
    ck_assert_uint_eq(look(NULL).nodes, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("life");
    TCase *simple = tcase_create("plain");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(simple, a_holder_whose_lock_is_overwritten_is_told_once);
    tcase_add_test(simple, a_lease_that_vanishes_does_no_harm);
    tcase_add_test(simple, an_orderly_release_before_the_hand_off_is_no_loss);
    tcase_add_test(simple, news_older_than_the_grant_is_not_believed);
    tcase_add_test(simple,
                   a_node_that_goes_ends_its_waits_and_takes_its_lock_along_case_1_42);
    tcase_add_test(simple, a_node_forgotten_by_mistake_keeps_its_holder_case_1_45);
    tcase_add_test(simple, a_check_reads_the_store);
    tcase_add_test(simple, a_shutdown_tells_waiters_and_undoes_what_is_in_flight);
    tcase_add_test(simple,
                   a_callback_may_call_what_does_not_block_and_is_told_off_for_what_does);
    tcase_add_test(simple, a_forked_child_is_told_and_touches_nothing);
    tcase_add_test(simple, a_snapshot_shows_each_state_and_the_queue);
    suite_add_tcase(suite, simple);
    TCase *outlived = tcase_create("outlived");
    tcase_add_checked_fixture(outlived, plain, NULL);
    tcase_add_test(outlived, a_lease_outlives_its_manager_and_counts_as_handed_off);
    suite_add_tcase(suite, outlived);
    return scripted_run(suite);
}
