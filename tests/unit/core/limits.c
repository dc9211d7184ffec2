/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused, and what happens at the limits: bad arguments, structs of another age,
 * full queues and tables, memory that runs out.
 */
#include "scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

static void never(void *data, int code, hami_lease *lease, const struct hami_error *error)
{
    (void)data;
    (void)lease;
    ck_abort_msg("a callback came with code %d: %s", code, error->text);
}

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
    {"calls of no form",
     {.node = "n1", .owner = {"ns", "a", "u"}, .calls = "nvidia.com/gpu"}},
    {"no calls", {.node = "n1", .owner = {"ns", "a", "u"}, .calls = ""}},
    {"calls out of order",
     {.node = "n1", .owner = {"ns", "a", "u"}, .calls = "b/gpu=1,a/gpu=1"}},
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
        hami_nodelock_acquire_start(scripted_lock, &request, never, NULL, NULL),
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
    REFUSED(HAMI_E_INVAL, config.side_by_side = 2);
    REFUSED(HAMI_E_INVAL, config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
            config.side_by_side = HAMI_NODELOCK_SIDE_BY_SIDE_MAX + 1);
    REFUSED(HAMI_E_INVAL, config.flags = HAMI_NODELOCK_FREE_BY_SCHEDULER;
            config.side_by_side = 2; config.permits = 2);
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
        hami_nodelock_acquire_start(scripted_lock, &request, never, NULL, NULL),
        HAMI_E_LIMIT);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_stop();
}
END_TEST

START_TEST(a_full_queue_keeps_the_place_of_one_that_comes_back)
{
    static struct scripted_wait holder, first, other, again;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_nodelock_request request;

    config.waiters_per_node_max = 2;
    scripted_start((struct scripted_options){.watch = true, .config = config});
    scripted_acquire(&holder, "n1", "holder", 1000);
    scripted_acquire(&first, "n1", "first", 100);
    scripted_acquire(&other, "n1", "other", 60000);
    scripted_advance(200);
    ck_assert_int_eq(first.code, HAMI_E_TIMEDOUT);
    static struct scripted_wait filler;
    scripted_acquire(&filler, "n1", "filler", 100);
    scripted_request(&request, "n1", "first");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, never, NULL, NULL),
        HAMI_E_LIMIT);
    scripted_advance(200);
    ck_assert_int_eq(filler.code, HAMI_E_TIMEDOUT);
    scripted_acquire(&again, "n1", "first", 60000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
    scripted_dispatch();
    ck_assert_int_eq(again.code, 0);
    ck_assert(!other.ended);
    ck_assert_int_eq(hami_lease_handoff(again.lease), 0);
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
    Suite *suite = suite_create("limits");
    TCase *simple = tcase_create("plain");
    TCase *bare = tcase_create("bare");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_loop_test(simple, a_malformed_request_is_refused_and_touches_nothing, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(simple, keys_are_checked);
    tcase_add_test(simple, structs_of_another_age_are_read_as_far_as_they_go);
    tcase_add_test(simple, null_is_answered_not_followed);
    suite_add_tcase(suite, simple);
    tcase_set_timeout(bare, 30);
    tcase_add_test(bare, a_configuration_is_checked_as_a_whole);
    tcase_add_test(bare, a_full_queue_refuses_the_next);
    tcase_add_test(bare, a_full_queue_keeps_the_place_of_one_that_comes_back);
    tcase_add_test(bare, a_full_table_makes_room_by_an_idle_node_or_says_so);
    tcase_add_test(bare, memory_that_runs_out_at_any_point_is_told_and_leaks_nothing);
    tcase_add_test(bare, a_manager_without_memory_is_not_made_and_leaks_nothing);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
