/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Codes that a header lists and that no other test happens to meet: structs of a newer
 * header, calls from a manager's last moments, a store's refusals, and no memory.
 */
#include "scripted.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int nothing_seen(void *data, const struct hami_node_view *view)
{
    (void)data;
    (void)view;
    return 0;
}

static void not_called(void *data, int code, hami_lease *lease,
                       const struct hami_error *error)
{
    (void)code;
    (void)lease;
    (void)error;
    *(int *)data = 1;
}

static void ignore_end(void *data, int code, const struct hami_error *error)
{
    (void)data;
    (void)code;
    (void)error;
}

/* ---- ABI ---- */

/* A struct with one member more than this library knows, and it is set. */
#define NEWER(type, name)                                                                \
    struct {                                                                             \
        type known;                                                                      \
        uint64_t more;                                                                   \
    } name = {.more = 1};                                                                \
    memcpy(&name.known, &(size_t){sizeof(name)}, sizeof(size_t))

START_TEST(a_set_member_of_a_newer_struct_is_refused_by_each_function_that_takes_one)
{
    static struct scripted_wait a;
    NEWER(struct hami_nodelock_request, request);
    NEWER(struct hami_nodelock_config, config);
    NEWER(struct hami_node_record, record);
    NEWER(struct hami_owner_facts, facts);
    NEWER(struct hami_nodelock_stats, stats);
    NEWER(struct hami_lease_view, view);
    NEWER(struct hami_lock_record, parsed);
    struct hami_owner owner = {"default", "a", "uid-a"};
    hami_nodelock *lock = NULL;
    hami_lease *lease = NULL;
    int called = 0;

    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_nodelock_new(&config.known, &lock, NULL), HAMI_E_ABI);
    ck_assert_int_eq(
        hami_nodelock_try_acquire(scripted_lock, &request.known, &lease, NULL),
        HAMI_E_ABI);
    ck_assert_int_eq(hami_nodelock_acquire_start(scripted_lock, &request.known,
                                                 not_called, &called, NULL),
                     HAMI_E_ABI);
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request.known,
                                                     not_called, &called, NULL),
                     HAMI_E_ABI);
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n1", &record.known),
                     HAMI_E_ABI);
    ck_assert_int_eq(hami_nodelock_observe_owner(scripted_lock, &owner, &facts.known),
                     HAMI_E_ABI);
    ck_assert_int_eq(hami_nodelock_stats(scripted_lock, &stats.known), HAMI_E_ABI);
    ck_assert_int_eq(hami_lease_facts(a.lease, &view.known), HAMI_E_ABI);
    ck_assert_int_eq(hami_lock_record_parse(NULL, NULL, &parsed.known), HAMI_E_ABI);
    ck_assert_int_eq(hami_memory_put_owner(scripted_store, &owner, &facts.known),
                     HAMI_E_ABI);
    scripted_dispatch();
    ck_assert_int_eq(called, 0);
    ck_assert_ptr_null(lock);
    ck_assert_ptr_null(lease);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

/* ---- CLOSED ---- */

static int last_codes[5];

/* Runs inside hami_nodelock_free(), the only place where a freed manager may be named. */
static void call_in_the_last_moment(void *data, int code, hami_lease *lease,
                                    const struct hami_error *error)
{
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    struct hami_owner owner = {"default", "a", "uid-a"};
    struct hami_nodelock_request request;

    (void)lease;
    (void)error;
    scripted_request(&request, "n1", "late");
    last_codes[0] = hami_nodelock_observe(scripted_lock, "n1", &record);
    last_codes[1] = hami_nodelock_observe_owner(scripted_lock, &owner, &facts);
    last_codes[2] = hami_nodelock_forget(scripted_lock, "n1");
    last_codes[3] = hami_nodelock_snapshot(scripted_lock, NULL, nothing_seen, NULL);
    last_codes[4] =
        hami_nodelock_acquire_start(scripted_lock, &request, not_called, data, NULL);
    *(int *)data = code;
}

START_TEST(a_manager_that_is_being_freed_answers_closed)
{
    static struct scripted_wait a;
    struct hami_nodelock_request request;
    int code = 0;

    scripted_acquire(&a, "n1", "a", 1000);
    scripted_request(&request, "n1", "b");
    request.deadline_ns = scripted_now_ns + 60000 * MS;
    ck_assert_int_eq(hami_nodelock_acquire_start(scripted_lock, &request,
                                                 call_in_the_last_moment, &code, NULL),
                     0);
    hami_nodelock_free(scripted_lock);
    scripted_lock = NULL;
    ck_assert_int_eq(code, HAMI_E_CLOSED);
    for (size_t i = 0; i < 5; i++) {
        ck_assert_msg(last_codes[i] == HAMI_E_CLOSED, "call %zu: %d", i, last_codes[i]);
    }
    ck_assert_int_eq(hami_lease_handoff(a.lease), HAMI_E_CLOSED);
}
END_TEST

START_TEST(after_shutdown_each_way_to_acquire_answers_closed)
{
    struct hami_nodelock_request request;
    hami_lease *lease = NULL;
    int called = 0;

    ck_assert_int_eq(hami_nodelock_shutdown(scripted_lock, 0), 0);
    scripted_request(&request, "n1", "a");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, not_called, &called, NULL),
        HAMI_E_CLOSED);
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request, not_called,
                                                     &called, NULL),
                     HAMI_E_CLOSED);
    ck_assert_int_eq(called, 0);
}
END_TEST

/* ---- a try that is started ---- */

START_TEST(a_try_that_is_started_is_busy_at_once_or_ends_by_its_callback)
{
    static struct scripted_wait a, held, late;
    struct hami_nodelock_request request;

    memset(&a, 0, sizeof(a));
    memset(&held, 0, sizeof(held));
    scripted_request(&request, "n1", "a");
    request.deadline_ns = scripted_now_ns + 5000 * MS;
    ck_assert_int_eq(
        hami_nodelock_try_acquire_start(scripted_lock, &request, NULL, &a, &a.wait),
        HAMI_E_INVAL);
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request,
                                                     scripted_acquired, &a, &a.wait),
                     0);
    scripted_dispatch();
    ck_assert(a.ended);
    ck_assert_int_eq(a.code, 0);
    scripted_request(&request, "n1", "b");
    request.deadline_ns = scripted_now_ns + 5000 * MS;
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request,
                                                     scripted_acquired, &late, NULL),
                     HAMI_E_BUSY);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n2", HAMI_NODELOCK_KEY,
                                     "2026-01-02T03:04:05Z,default,other"),
                     0);
    request.node = "n2";
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request,
                                                     scripted_acquired, &held, NULL),
                     0);
    scripted_dispatch();
    ck_assert_int_eq(held.code, HAMI_E_HELD);
    ck_assert_ptr_null(held.lease);
    ck_assert_ptr_nonnull(strstr(held.text, "default,other"));
    ck_assert(!late.ended);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

/* ---- LIMIT ---- */

START_TEST(news_of_one_node_too_many_is_dropped)
{
    static struct scripted_wait a;
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct hami_nodelock_request request;
    hami_lease *lease = NULL;
    int called = 0;

    scripted_start((struct scripted_options){
        .config = {.size = sizeof(struct hami_nodelock_config), .nodes_max = 1}});
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n2", &record), HAMI_E_LIMIT);
    scripted_request(&request, "n2", "b");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_LIMIT);
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request, not_called,
                                                     &called, NULL),
                     HAMI_E_LIMIT);
    ck_assert_int_eq(called, 0);
    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, "n2", nothing_seen, NULL),
                     HAMI_E_NODE);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_stop();
}
END_TEST

/* ---- NOMEM ---- */

static bool is_out_of_memory;

static void *allocate(size_t bytes, void *data)
{
    (void)data;
    return is_out_of_memory ? NULL : malloc(bytes);
}

static void *reallocate(void *memory, size_t bytes, void *data)
{
    (void)data;
    return is_out_of_memory ? NULL : realloc(memory, bytes);
}

static void release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

START_TEST(without_memory_each_function_says_so_and_the_lease_stands)
{
    static struct scripted_wait a;
    static struct scripted_done done;
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    struct hami_owner owner = {"default", "a", "uid-a"};
    struct hami_nodelock_request request;
    hami_lease *lease = NULL;
    int called = 0;

    is_out_of_memory = false;
    scripted_start((struct scripted_options){
        .owners = true,
        .config = {.size = sizeof(struct hami_nodelock_config),
                   .allocator = {allocate, reallocate, release, NULL}}});
    scripted_pod("a", "uid-a");
    scripted_acquire(&a, "n1", "a", 1000);
    scripted_request(&request, "n3", "b");
    request.deadline_ns = HAMI_DEADLINE_NEVER;
    is_out_of_memory = true;
    ck_assert_int_eq(hami_nodelock_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_NOMEM);
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, NULL),
                     HAMI_E_NOMEM);
    ck_assert_int_eq(
        hami_nodelock_acquire_start(scripted_lock, &request, not_called, &called, NULL),
        HAMI_E_NOMEM);
    ck_assert_int_eq(hami_nodelock_try_acquire_start(scripted_lock, &request, not_called,
                                                     &called, NULL),
                     HAMI_E_NOMEM);
    ck_assert_int_eq(hami_nodelock_observe(scripted_lock, "n2", &record), HAMI_E_NOMEM);
    ck_assert_int_eq(hami_nodelock_observe_owner(scripted_lock, &owner, &facts),
                     HAMI_E_NOMEM);
    ck_assert_int_eq(hami_nodelock_snapshot(scripted_lock, NULL, nothing_seen, NULL),
                     HAMI_E_NOMEM);
    ck_assert_int_eq(hami_lease_check(a.lease, HAMI_DEADLINE_NEVER, NULL), 0);
    ck_assert_int_eq(hami_lease_check_start(a.lease, 0, ignore_end, NULL), HAMI_E_NOMEM);
    ck_assert_int_eq(hami_lease_release_start(a.lease, 0, ignore_end, NULL),
                     HAMI_E_NOMEM);
    is_out_of_memory = false;
    scripted_release(&done, a.lease, 1000); /* so it was not consumed */
    scripted_advance(1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_int_eq(called, 0);
    scripted_stop();
}
END_TEST

/* ---- the store in memory ---- */

START_TEST(the_store_in_memory_says_what_it_refuses)
{
    struct hami_owner owner = {"default", "a", "uid-a"};
    struct hami_owner wrong = {"Default", "a", "uid-a"};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    hami_memory *plain = NULL, *owners = NULL;
    char text[4];

    ck_assert_int_eq(hami_memory_new(2, &plain), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_new(0, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_new(0, &plain), 0);
    ck_assert_int_eq(hami_memory_new(HAMI_MEMORY_OWNERS, &owners), 0);
    ck_assert_int_eq(hami_memory_put(plain, "n1", "no key", "v"), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_put(NULL, "n1", "k", "v"), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_get(plain, "n1", "k", text, sizeof(text)), HAMI_E_NODE);
    ck_assert_int_eq(hami_memory_put(plain, "n1", "k", "four"), 0);
    ck_assert_int_eq(hami_memory_get(plain, "n1", "k", text, sizeof(text)), HAMI_E_LIMIT);
    ck_assert_int_eq(hami_memory_get(plain, "n1", "l", text, sizeof(text)), HAMI_E_LOST);
    ck_assert_int_eq(hami_memory_get(plain, "n1", "k", text, 0), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_delete(plain, NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_delete(plain, "n2"), HAMI_E_NODE);
    ck_assert_int_eq(hami_memory_put_owner(plain, &owner, &facts), HAMI_E_NOTSUP);
    ck_assert_int_eq(hami_memory_bind_owner(plain, &owner, "n1", NULL), HAMI_E_NOTSUP);
    ck_assert_int_eq(hami_memory_put_owner(owners, &wrong, &facts), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_bind_owner(owners, &owner, "N 1", NULL), HAMI_E_INVAL);
    ck_assert_int_eq(hami_memory_bind_owner(owners, &owner, "n1", NULL), HAMI_E_LOST);
    hami_memory_free(owners);
    hami_memory_free(plain);
}
END_TEST

START_TEST(a_node_in_memory_holds_so_many_values_and_no_more)
{
    hami_memory *store = NULL;
    char key[16];
    int code = 0, count = 0;

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    for (; code == 0 && count < 1000; count++) {
        (void)snprintf(key, sizeof(key), "key-%d", count);
        code = hami_memory_put(store, "n1", key, "v");
    }
    ck_assert_int_eq(code, HAMI_E_NOMEM);
    ck_assert_int_gt(count, 100);
    hami_memory_free(store);
}
END_TEST

/* ---- trying a transport by itself ---- */

START_TEST(a_single_call_is_checked_before_the_transport_sees_it)
{
    struct hami_transport *good;
    struct hami_transport short_one;
    struct hami_transport_edit read = {.action = HAMI_EDIT_READ, .key = "k"};
    struct hami_owner owner = {"default", "a", "uid-a"};
    struct hami_owner wrong = {"default", "A b", "uid-a"};
    hami_memory *store = NULL;

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    good = hami_memory_transport(store);
    short_one = *good;
    short_one.size = offsetof(struct hami_transport, inspect);
#define CALL(transport, node, edits, count, ms)                                          \
    hami_transport_call(transport, node, edits, count, NULL, ms, NULL, NULL)
    ck_assert_int_eq(CALL(good, "n1", &read, 1, 1000), 0);
    ck_assert_int_eq(CALL(NULL, "n1", &read, 1, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(&short_one, "n1", &read, 1, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "N 1", &read, 1, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "n1", NULL, 1, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "n1", &read, 0, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "n1", &read, 33, 1000), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "n1", &read, 1, 0), HAMI_E_INVAL);
    ck_assert_int_eq(CALL(good, "n1", &read, 1, 600001), HAMI_E_INVAL);
#define CALL_OWNER(transport, owner)                                                     \
    hami_transport_call_owner(transport, "n1", owner, NULL, 1000, NULL, NULL)
    ck_assert_int_eq(CALL_OWNER(good, &owner), HAMI_E_NOTSUP);
    ck_assert_int_eq(CALL_OWNER(good, &wrong), HAMI_E_INVAL);
    ck_assert_int_eq(CALL_OWNER(&short_one, &owner), HAMI_E_INVAL);
    hami_memory_free(store);
}
END_TEST

static void plain(void)
{
    scripted_start((struct scripted_options){.watch = true});
}

int main(void)
{
    Suite *suite = suite_create("codes");
    TCase *simple = tcase_create("plain");
    TCase *bare = tcase_create("bare");

    tcase_add_checked_fixture(simple, plain, scripted_stop);
    tcase_add_test(
        simple,
        a_set_member_of_a_newer_struct_is_refused_by_each_function_that_takes_one);
    tcase_add_test(simple, a_manager_that_is_being_freed_answers_closed);
    tcase_add_test(simple, after_shutdown_each_way_to_acquire_answers_closed);
    tcase_add_test(simple, a_try_that_is_started_is_busy_at_once_or_ends_by_its_callback);
    suite_add_tcase(suite, simple);
    tcase_add_test(bare, news_of_one_node_too_many_is_dropped);
    tcase_add_test(bare, without_memory_each_function_says_so_and_the_lease_stands);
    tcase_add_test(bare, the_store_in_memory_says_what_it_refuses);
    tcase_add_test(bare, a_node_in_memory_holds_so_many_values_and_no_more);
    tcase_add_test(bare, a_single_call_is_checked_before_the_transport_sees_it);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
