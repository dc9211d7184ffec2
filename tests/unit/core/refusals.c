/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the blocking functions answer where the store refuses, is silent or makes no
 * sense, and what each function answers that finds no memory: in front of a store in
 * memory that is told what to say. The manager has its own thread and the system's clock;
 * the linker leads allocations through the functions below (--wrap).
 */
#include "scripted.h"

#include <stdatomic.h>
#include <stdlib.h>

/* ---- memory that is out ---- */

static _Thread_local bool is_out_of_memory;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_malloc(size_t size)
{
    return is_out_of_memory ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_out_of_memory ? NULL : __real_calloc(count, size);
}

/* ---- a store that is told what to say ---- */

static hami_memory *store;
static hami_nodelock *lock;
static struct hami_transport told;
static atomic_int answer;     /* a code; 0 = as the store does */
static atomic_bool is_silent; /* a call ends when it is aborted */

static int submit(struct hami_transport *transport, hami_call *call)
{
    struct hami_transport *inner = hami_memory_transport(store);
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;

    (void)transport;
    if (atomic_load(&is_silent)) {
        return 0;
    }
    result.code = atomic_load(&answer);
    if (result.code == 0) {
        return inner->submit(inner, call);
    }
    hami_call_done(call, &result);
    return 0;
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;

    (void)transport;
    result.code = HAMI_E_IN_DOUBT;
    hami_call_done(call, &result);
}

/* No pod exists. */
static int inspect(struct hami_transport *transport, hami_call *call)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    (void)transport;
    if (atomic_load(&is_silent)) {
        hami_call_done_owner(call, HAMI_E_IN_DOUBT, NULL, NULL);
        return 0;
    }
    facts.source = HAMI_FACTS_READ;
    facts.known = true;
    hami_call_done_owner(call, 0, &facts, NULL);
    return 0;
}

static void open_store(bool owners)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    ck_assert_int_eq(hami_memory_new(0, &store), 0);
    told = (struct hami_transport){.size = sizeof(told),
                                   .name = "told",
                                   .submit = submit,
                                   .abort = abort_call,
                                   .inspect = owners ? inspect : NULL};
    atomic_store(&answer, 0);
    atomic_store(&is_silent, false);
    config.transport = &told;
    config.call_timeout_ms = 50;
    ck_assert_int_eq(hami_nodelock_new(&config, &lock, NULL), 0);
}

static void open_plain(void)
{
    open_store(false);
}

static void close_store(void)
{
    atomic_store(&is_silent, false);
    lock = hami_nodelock_free(lock);
    store = hami_memory_free(store);
}

static int acquire(bool try_only, uint64_t ms, hami_cancel *cancel, hami_lease **ret)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", "a");
    request.deadline_ns = hami_nodelock_in_ms(lock, ms);
    request.cancel = cancel;
    return try_only ? hami_nodelock_try_acquire(lock, &request, ret, NULL)
                    : hami_nodelock_acquire(lock, &request, ret, NULL);
}

/* ---- acquires ---- */

static const struct {
    int said, acquire, try;
} refusals[] = {
    {HAMI_E_ACCESS, HAMI_E_ACCESS, HAMI_E_ACCESS},
    {HAMI_E_NODE, HAMI_E_NODE, HAMI_E_NODE},
    {HAMI_E_PROTO, HAMI_E_PROTO, HAMI_E_PROTO},
    {HAMI_E_TRANSPORT, HAMI_E_TIMEDOUT, HAMI_E_TRANSPORT},
};

START_TEST(what_the_store_refuses_ends_an_acquire_and_a_try_with_its_code)
{
    hami_lease *lease = NULL;
    uint64_t ms = refusals[_i].acquire == HAMI_E_TIMEDOUT ? 60 : 60000;

    atomic_store(&answer, refusals[_i].said);
    ck_assert_int_eq(acquire(true, 60000, NULL, &lease), refusals[_i].try);
    ck_assert_int_eq(acquire(false, ms, NULL, &lease), refusals[_i].acquire);
    ck_assert_ptr_null(lease);
}
END_TEST

START_TEST(a_try_ends_by_its_flag_its_deadline_and_its_arguments)
{
    hami_cancel *cancel = NULL;
    hami_lease *lease = NULL;

    ck_assert_int_eq(hami_cancel_new(&cancel), 0);
    ck_assert_int_eq(hami_cancel_fire(cancel), 0);
    ck_assert_int_eq(acquire(true, 60000, cancel, &lease), HAMI_E_CANCELED);
    hami_cancel_unref(cancel);
    ck_assert_int_eq(hami_nodelock_try_acquire(lock, NULL, &lease, NULL), HAMI_E_INVAL);
    atomic_store(&is_silent, true);
    ck_assert_int_eq(acquire(true, 10, NULL, &lease), HAMI_E_TIMEDOUT);
    ck_assert_ptr_null(lease);
}
END_TEST

START_TEST(a_pod_that_does_not_exist_gets_no_lock)
{
    hami_lease *lease = NULL;

    open_store(true);
    ck_assert_int_eq(acquire(false, 60000, NULL, &lease), HAMI_E_LOST);
    ck_assert_int_eq(acquire(true, 60000, NULL, &lease), HAMI_E_LOST);
    ck_assert_ptr_null(lease);
    atomic_store(&is_silent, true);
    ck_assert_int_eq(hami_transport_call_owner(&told, "n1",
                                               &(struct hami_owner){"default", "a", "u"},
                                               NULL, 1000, NULL, NULL),
                     HAMI_E_IN_DOUBT);
    close_store();
}
END_TEST

/* ---- leases ---- */

START_TEST(a_lease_whose_node_is_gone_is_told_so)
{
    hami_lease *lease = NULL;

    ck_assert_int_eq(acquire(false, 60000, NULL, &lease), 0);
    atomic_store(&answer, HAMI_E_NODE);
    ck_assert_int_eq(hami_lease_check(lease, hami_nodelock_in_ms(lock, 60000), NULL),
                     HAMI_E_NODE);
    ck_assert_int_eq(hami_lease_release(lease, hami_nodelock_in_ms(lock, 60000), NULL),
                     HAMI_E_NODE);
}
END_TEST

START_TEST(a_release_that_is_not_answered_is_in_doubt_and_goes_on_behind)
{
    hami_lease *lease = NULL;
    char value[8];

    ck_assert_int_eq(acquire(false, 60000, NULL, &lease), 0);
    atomic_store(&is_silent, true);
    ck_assert_int_eq(hami_lease_release(lease, hami_nodelock_in_ms(lock, 10), NULL),
                     HAMI_E_IN_DOUBT);
    atomic_store(&is_silent, false);
    ck_assert_int_eq(hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, 60000)), 0);
    ck_assert_int_eq(
        hami_memory_get(store, "n1", HAMI_NODELOCK_KEY, value, sizeof(value)),
        HAMI_E_LOST);
}
END_TEST

/* ---- memory ---- */

START_TEST(what_finds_no_memory_says_so_and_changes_nothing)
{
    struct hami_owner owner = {"default", "a", "uid-a"},
                      other = {"default", "b", "uid-b"};
    struct hami_transport_edit read = {.action = HAMI_EDIT_READ, .key = "k"};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    hami_memory *owners = NULL, *none = NULL;
    hami_devices *devices = NULL;
    hami_cancel *cancel = NULL;
    int codes[8];

    facts.known = facts.exists = true;
    facts.uid = "uid-a";
    ck_assert_int_eq(hami_memory_new(HAMI_MEMORY_OWNERS, &owners), 0);
    ck_assert_int_eq(hami_memory_put_owner(owners, &owner, &facts), 0);
    is_out_of_memory = true;
    codes[0] = hami_memory_new(0, &none);
    codes[1] = hami_cancel_new(&cancel);
    codes[2] = hami_devices_parse("GPU-1,NVIDIA,1000,10:;", &devices);
    codes[3] = hami_memory_put_owner(owners, &other, &facts);
    codes[4] = hami_memory_bind_owner(owners, &owner, "n1", NULL);
    codes[5] = hami_transport_call(hami_memory_transport(owners), "n1", &read, 1, NULL,
                                   1000, NULL, NULL);
    codes[6] = hami_transport_call_owner(hami_memory_transport(owners), "n1", &owner,
                                         NULL, 1000, NULL, NULL);
    codes[7] = hami_memory_put(owners, "n1", "k", "v");
    is_out_of_memory = false;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        ck_assert_msg(codes[i] == HAMI_E_NOMEM, "call %zu: %d", i, codes[i]);
    }
    ck_assert_ptr_null(none);
    ck_assert_ptr_null(cancel);
    ck_assert_ptr_null(devices);
    ck_assert_int_eq(hami_memory_bind_owner(owners, &owner, "n1", NULL), 0);
    hami_memory_free(owners);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("refusals");
    TCase *plain = tcase_create("plain"), *bare = tcase_create("bare");

    tcase_add_checked_fixture(plain, open_plain, close_store);
    tcase_add_loop_test(plain,
                        what_the_store_refuses_ends_an_acquire_and_a_try_with_its_code, 0,
                        sizeof(refusals) / sizeof(refusals[0]));
    tcase_add_test(plain, a_try_ends_by_its_flag_its_deadline_and_its_arguments);
    tcase_add_test(plain, a_lease_whose_node_is_gone_is_told_so);
    tcase_add_test(plain, a_release_that_is_not_answered_is_in_doubt_and_goes_on_behind);
    tcase_add_test(bare, a_pod_that_does_not_exist_gets_no_lock);
    tcase_add_test(bare, what_finds_no_memory_says_so_and_changes_nothing);
    suite_add_tcase(suite, plain);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
