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

/* ---- arguments ---- */

static const struct {
    const char *what;
    struct hami_nodelock_request request;
} bad[] = {
    {"no node", {.owner = {"ns", "a", "u"}}},
    {"a node in capitals", {.node = "N1", .owner = {"ns", "a", "u"}}},
    {"a node with a comma", {.node = "n,1", .owner = {"ns", "a", "u"}}},
    {"no namespace", {.node = "n1", .owner = {NULL, "a", "u"}}},
    {"a namespace with a dot", {.node = "n1", .owner = {"n.s", "a", "u"}}},
    {"a name with a quote", {.node = "n1", .owner = {"ns", "a\"", "u"}}},
    {"an empty uid", {.node = "n1", .owner = {"ns", "a", ""}}},
    {"a uid with a backslash", {.node = "n1", .owner = {"ns", "a", "u\\"}}},
    {"keys counted but not given",
     {.node = "n1", .owner = {"ns", "a", "u"}, .key_count = 1}},
};

START_TEST(a_malformed_request_is_refused_and_touches_nothing)
{
    struct hami_nodelock_request request = bad[_i].request;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;

    request.size = sizeof(request);
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_msg(hami_nodelock_acquire(scripted_lock, &request, &lease, &error) ==
                      HAMI_E_INVAL,
                  "%s", bad[_i].what);
    ck_assert_str_ne(error.text, "");
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, call_back_in, NULL, NULL),
        HAMI_E_INVAL);
    ck_assert_uint_eq(scripted_stats().calls, 0);
    ck_assert_uint_eq(scripted_stats().nodes, 0);
}
END_TEST

START_TEST(keys_are_checked)
{
    static const char *const twice[] = {"a.b/c", "a.b/c"};
    static const char *const odd[] = {"a b"};
    const char *many[HAMI_NODELOCK_KEYS_MAX + 1];
    struct hami_nodelock_request request;
    hami_lease *lease;

    scripted_request(&request, "n1", "a");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    request.keys = twice;
    request.key_count = 2;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_INVAL);
    request.keys = odd;
    request.key_count = 1;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_INVAL);
    for (size_t i = 0; i <= HAMI_NODELOCK_KEYS_MAX; i++) {
        many[i] = twice[0];
    }
    request.keys = many;
    request.key_count = HAMI_NODELOCK_KEYS_MAX + 1;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_INVAL);
}
END_TEST

START_TEST(structs_of_another_age_are_read_as_far_as_they_go)
{
    struct {
        struct hami_nodelock_request request;
        uint64_t newer;
    } larger = {0};
    struct hami_nodelock_request request;
    static struct scripted_wait a;
    hami_lease *lease;

    scripted_request(&request, "n1", "a");
    larger.request = request;
    larger.request.size = sizeof(larger);
    larger.request.deadline_ns = scripted_now_ns + MS;
    larger.newer = 1;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &larger.request, &lease, NULL),
                     HAMI_E_ABI);
    larger.newer = 0;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &larger.request, &lease, NULL),
                     0);
    ck_assert_int_eq(hami_lease_handoff(lease), 0);
    scripted_request(&request, "n2", "b");
    request.size = offsetof(struct hami_nodelock_request, keys);
    request.keys = (const char *const *)1; /* beyond the size: never looked at */
    scripted_acquire_as(&a, &request, 1000);
    ck_assert_int_eq(a.code, 0);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    request.size = 4;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_INVAL);
}
END_TEST

START_TEST(null_is_answered_not_followed)
{
    struct hami_nodelock_request request;
    hami_lease *lease;
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;

    scripted_request(&request, "n1", "a");
    ck_assert_int_eq(hami_nodelock_acquire(NULL, &request, &lease, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, NULL, &lease, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, NULL, NULL, NULL),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_wait_abort(NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_cancel_new(NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_cancel_fire(NULL), HAMI_E_INVAL);
    ck_assert(!hami_cancel_is_fired(NULL));
    ck_assert_ptr_null(hami_cancel_ref(NULL));
    ck_assert_ptr_null(hami_cancel_unref(NULL));
    ck_assert_int_eq(hami_lease_handoff(NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_release(NULL, 0, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_release_start(NULL, 0, NULL, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_check(NULL, 0, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_check_start(NULL, 0, NULL, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_lease_facts(NULL, NULL), HAMI_E_INVAL);
    ck_assert_uint_eq(hami_lease_fence(NULL), 0);
    ck_assert_int_eq(hami_nodelock_observe(NULL, "n1", &record), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "N 1", &record), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_observe_owner(scripted_lock, NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_forget(scripted_lock, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, NULL, NULL, NULL),
                     HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_stats(scripted_lock, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_dispatch(NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_shutdown(NULL, 0), HAMI_E_INVAL);
    ck_assert_uint_eq(hami_nodelock_next_deadline(NULL), HAMI_DEADLINE_NEVER);
    ck_assert_uint_eq(hami_nodelock_now(NULL), 0);
    ck_assert_ptr_null(hami_nodelock_holder(NULL));
    ck_assert_ptr_null(hami_nodelock_free(NULL));
    ck_assert_uint_eq(hami_nodelock_in_ms(scripted_lock, UINT64_MAX),
                      HAMI_DEADLINE_NEVER);
    ck_assert_uint_eq(hami_nodelock_in_ms(scripted_lock, 5), scripted_now_ns + 5 * MS);
}
END_TEST

static int no_submit(struct hami_transport *transport, hami_call *call)
{
    (void)transport;
    (void)call;
    return HAMI_E_TRANSPORT;
}

static int no_watch(struct hami_transport *transport, hami_nodelock *lock)
{
    (void)transport;
    (void)lock;
    return HAMI_E_TRANSPORT;
}

static void no_unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    (void)transport;
    (void)lock;
}

static void nothing(void *data)
{
    (void)data;
}

static uint64_t stopped(void *data)
{
    (void)data;
    return 1;
}

static void *no_memory(size_t bytes, void *data)
{
    (void)bytes;
    (void)data;
    return NULL;
}

START_TEST(a_configuration_is_checked_as_a_whole)
{
    struct hami_transport transport = {
        .size = sizeof(transport), .name = "t", .submit = no_submit};
    struct hami_transport nameless = {.size = sizeof(transport), .submit = no_submit};
    struct hami_transport deaf = {
        .size = sizeof(deaf), .name = "deaf", .submit = no_submit, .watch = no_watch};
    struct hami_transport broken = deaf;
    struct hami_transport single = transport;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_nodelock *lock = NULL;
    const struct hami_nodelock_config good = {.size = sizeof(good),
                                              .transport = &transport};
    struct hami_nodelock_config config;

    broken.unwatch = no_unwatch;
    single.flags = HAMI_TRANSPORT_ONE_PERMIT;
    ck_assert_int_eq(hami_nodelock_new(NULL, &lock, &error), HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_new(&good, NULL, &error), HAMI_E_INVAL);
#define REFUSED(code, ...)                                                               \
    config = good;                                                                       \
    __VA_ARGS__;                                                                         \
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, &error), code);                   \
    ck_assert_str_ne(error.text, "")
    REFUSED(HAMI_E_INVAL, config.transport = NULL);
    REFUSED(HAMI_E_INVAL, config.transport = &nameless);
    REFUSED(HAMI_E_INVAL, config.transport = &deaf);
    REFUSED(HAMI_E_TRANSPORT, config.transport = &broken);
    REFUSED(HAMI_E_INVAL, config.permits = HAMI_NODELOCK_PERMITS_MAX + 1);
    REFUSED(HAMI_E_NOTSUP, config.permits = 2; config.transport = &single);
    REFUSED(HAMI_E_INVAL, config.flags = 0x80);
    REFUSED(HAMI_E_INVAL, config.hold_limit_ms = 600001);
    REFUSED(HAMI_E_INVAL, config.call_timeout_ms = 600001);
    REFUSED(HAMI_E_INVAL, config.expire_ms = UINT64_MAX);
    REFUSED(HAMI_E_INVAL, config.key = "no key");
    REFUSED(HAMI_E_INVAL, config.holder = "Not A Name");
    REFUSED(HAMI_E_INVAL, config.clock.monotonic_ns = stopped);
    REFUSED(HAMI_E_INVAL, config.allocator.allocate = no_memory);
    REFUSED(HAMI_E_INVAL, config.size = 8);
    ck_assert_ptr_null(lock);
    config = good;
    config.wakeup = nothing;
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, &error), 0);
    hami_nodelock_free(lock);
}
END_TEST

/* ---- limits ---- */

START_TEST(a_full_queue_refuses_the_next)
{
    static struct scripted_wait a, b;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_nodelock_request request;

    config.waiters_per_node_max = 1;
    scripted_start((struct scripted_options){.watch = true, .config = config});
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_acquire(&b, "n1", "b", 1000);
    scripted_request(&request, "n1", "c");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, call_back_in, NULL, NULL),
        HAMI_E_LIMIT);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_stop();
}
END_TEST

START_TEST(a_full_table_makes_room_by_an_idle_node_or_says_so)
{
    static struct scripted_wait waits[3];
    static struct scripted_done done;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_nodelock_request request;
    hami_lease *lease;
    struct hami_error error = HAMI_ERROR_INIT;

    config.nodes_max = 2;
    scripted_start((struct scripted_options){.config = config});
    scripted_acquire(&waits[0], "n0", "a", 1000);
    scripted_acquire(&waits[1], "n1", "b", 1000);
    scripted_request(&request, "n2", "c");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(error.text, "n2"));
    scripted_release(&done, waits[0].lease, 1000);
    ck_assert_int_eq(done.code, 0);
    scripted_advance(10000);
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, &error), 0);
    ck_assert_uint_eq(scripted_stats().nodes, 2);
    ck_assert_int_eq(hami_lease_handoff(lease), 0);
    ck_assert_int_eq(hami_lease_handoff(waits[1].lease), 0);
    scripted_stop();
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

/* ---- memory ---- */

struct budget {
    long left; /* allocations that succeed; negative = all */
    size_t failed;
};

static bool spend(struct budget *budget)
{
    if (budget->left == 0) {
        budget->failed++;
        return false;
    }
    budget->left -= budget->left > 0;
    return true;
}

static void *budget_allocate(size_t bytes, void *data)
{
    return spend(data) ? malloc(bytes) : NULL;
}

static void *budget_reallocate(void *memory, size_t bytes, void *data)
{
    return spend(data) ? realloc(memory, bytes) : NULL;
}

static void budget_release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

static void give_back(void *data, int code, hami_lease *lease,
                      const struct hami_error *error)
{
    (void)data;
    ck_assert_msg(code == 0, "%s", error->text);
    ck_assert_int_eq(hami_lease_release_start(lease, HAMI_DEADLINE_NEVER, NULL, NULL), 0);
}

/* Fails the n-th allocation and those after it, for each n; then there is memory again.
 */
START_TEST(memory_that_runs_out_at_any_point_is_told_and_leaks_nothing)
{
    struct budget budget = {.left = -1};

    for (long n = 0; n < 60; n++) {
        struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
        static struct scripted_wait a;
        static struct scripted_done done;
        struct hami_nodelock_request request;
        config.allocator = (struct hami_allocator){budget_allocate, budget_reallocate,
                                                   budget_release, &budget};
        scripted_start(
            (struct scripted_options){.watch = true, .owners = true, .config = config});
        scripted_pod("a", "uid-a");
        budget.left = n;
        scripted_request(&request, "n1", "a");
        request.deadline_ns = scripted_now_ns + 10000 * MS;
        a = (struct scripted_wait){.code = 1};
        int code =
            hami_nodelock_acquire_start(scripted_lock, &request, give_back, NULL, NULL);
        if (code == 0) {
            /* It waits until there is memory. */
            scripted_advance(100);
            budget.left = -1;
            scripted_advance(1000);
            ck_assert_uint_eq(scripted_stats().waiters, 0);
        } else {
            ck_assert_int_eq(code, HAMI_E_NOMEM);
            budget.left = -1;
        }
        scripted_acquire(&a, "n1", "a", 10000);
        scripted_advance(1000);
        ck_assert_msg(a.code == 0, "after %ld allocations: %s", n, a.text);
        scripted_release(&done, a.lease, 1000);
        scripted_advance(1000);
        ck_assert_int_eq(done.code, 0);
        scripted_stop();
    }
    ck_assert_uint_gt(budget.failed, 0);
}
END_TEST

START_TEST(a_manager_without_memory_is_not_made_and_leaks_nothing)
{
    struct budget budget = {0};
    struct hami_error error = HAMI_ERROR_INIT;
    hami_memory *store;
    int code = HAMI_E_NOMEM;

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    for (long n = 0; code != 0 && n < 20; n++) {
        hami_nodelock *lock = NULL;
        struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
        config.transport = hami_memory_transport(store);
        config.wakeup = nothing;
        config.allocator = (struct hami_allocator){budget_allocate, budget_reallocate,
                                                   budget_release, &budget};
        budget.left = n;
        code = hami_nodelock_new(&config, &lock, &error);
        ck_assert(code == 0 || code == HAMI_E_NOMEM);
        hami_nodelock_free(lock);
    }
    ck_assert_int_eq(code, 0);
    hami_memory_free(store);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("life");
    TCase *simple = tcase_create("plain");
    TCase *bare = tcase_create("bare");

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
    tcase_add_loop_test(simple, a_malformed_request_is_refused_and_touches_nothing, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(simple, keys_are_checked);
    tcase_add_test(simple, structs_of_another_age_are_read_as_far_as_they_go);
    tcase_add_test(simple, null_is_answered_not_followed);
    tcase_add_test(simple, a_forked_child_is_told_and_touches_nothing);
    tcase_add_test(simple, a_snapshot_shows_each_state_and_the_queue);
    suite_add_tcase(suite, simple);
    tcase_set_timeout(bare, 30);
    tcase_add_checked_fixture(bare, NULL, NULL);
    tcase_add_test(bare, a_configuration_is_checked_as_a_whole);
    tcase_add_test(bare, a_full_queue_refuses_the_next);
    tcase_add_test(bare, a_full_table_makes_room_by_an_idle_node_or_says_so);
    tcase_add_test(bare, memory_that_runs_out_at_any_point_is_told_and_leaks_nothing);
    tcase_add_test(bare, a_manager_without_memory_is_not_made_and_leaks_nothing);
    suite_add_tcase(suite, bare);
    TCase *outlived = tcase_create("outlived");
    tcase_add_checked_fixture(outlived, plain, NULL);
    tcase_add_test(outlived, a_lease_outlives_its_manager_and_counts_as_handed_off);
    suite_add_tcase(suite, outlived);
    return scripted_run(suite);
}
