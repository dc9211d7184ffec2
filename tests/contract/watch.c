/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a transport's watch tells, and when it falls silent. */
#include "contract.h"

#include <stdlib.h>
#include <string.h>

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define A "2026-01-02T03:04:05Z,default,a"
#define B "2026-01-02T03:04:06Z,default,b"

static struct contract_answer answer;

static struct contract_watcher *watch(struct hami_transport *transport)
{
    struct contract_watcher *watcher = contract_watcher_new();
    ck_assert_ptr_nonnull(watcher);
    ck_assert_int_eq(transport->watch(transport, contract_watcher_lock(watcher)), 0);
    return watcher;
}

static void end(struct hami_transport *transport, struct contract_watcher *watcher)
{
    transport->unwatch(transport, contract_watcher_lock(watcher));
    contract_watcher_free(watcher);
}

START_TEST(a_watch_tells_each_change_by_other_writers)
{
    const char *node = contract_node();
    struct contract_watcher *watcher = watch(contract_now.transport);
    contract_put(node, LOCK, A);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, A));
    contract_put(node, LEASE, "lease");
    ck_assert(contract_watcher_saw(watcher, node, LEASE, "lease"));
    contract_put(node, LOCK, B);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, B));
    contract_put(node, LOCK, NULL);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, NULL));
    end(contract_now.transport, watcher);
}
END_TEST

START_TEST(a_watch_tells_the_transports_own_writes)
{
    const char *node = contract_node();
    struct contract_watcher *watcher = watch(contract_now.transport);
    const struct hami_transport_edit take[] = {{HAMI_EDIT_PUT, LOCK, NULL, A}};
    ck_assert_int_eq(contract_call(node, take, 1, NULL, &answer), 0);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, A));
    contract_answer_done(&answer);
    end(contract_now.transport, watcher);
}
END_TEST

START_TEST(a_watch_tells_both_values_of_one_write_together)
{
    const char *node = contract_node();
    struct contract_watcher *watcher = watch(contract_now.transport);
    const struct hami_transport_edit take[] = {{HAMI_EDIT_PUT, LOCK, NULL, A},
                                               {HAMI_EDIT_PUT, LEASE, NULL, "lease"}};
    ck_assert_int_eq(contract_call(node, take, 2, NULL, &answer), 0);
    ck_assert(contract_watcher_saw(watcher, node, LEASE, "lease"));
    ck_assert_msg(!contract_watcher_saw_apart(watcher, node, LOCK, LEASE),
                  "a lock was told without the lease that was written with it");
    contract_answer_done(&answer);
    end(contract_now.transport, watcher);
}
END_TEST

START_TEST(a_watch_tells_the_version_that_a_read_tells)
{
    const char *node = contract_node();
    struct contract_watcher *watcher = watch(contract_now.transport);
    contract_put(node, LOCK, A);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, A));
    const struct hami_transport_edit read[] = {{HAMI_EDIT_READ, LOCK, NULL, NULL}};
    ck_assert_int_eq(contract_call(node, read, 1, NULL, &answer), 0);
    ck_assert(contract_watcher_saw_version(watcher, node, answer.version));
    contract_answer_done(&answer);
    end(contract_now.transport, watcher);
}
END_TEST

START_TEST(a_watch_tells_that_a_node_is_gone)
{
    const char *node = contract_node();
    struct contract_watcher *watcher = watch(contract_now.transport);
    contract_put(node, LOCK, A);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, A));
    contract_now.backend->node_delete(&contract_now, node);
    ck_assert(contract_watcher_saw_forget(watcher, node));
    contract_now.backend->node_make(&contract_now, node);
    contract_put(node, LOCK, B);
    ck_assert(contract_watcher_saw(watcher, node, LOCK, B));
    end(contract_now.transport, watcher);
}
END_TEST

START_TEST(nothing_is_told_after_unwatch)
{
    const char *node = contract_node();
    struct contract_shim other;
    contract_further(&other);
    struct contract_watcher *ended = watch(contract_now.transport);
    struct contract_watcher *stays = watch(&other.transport);
    contract_put(node, LOCK, A);
    ck_assert(contract_watcher_saw(ended, node, LOCK, A));
    contract_now.transport->unwatch(contract_now.transport, contract_watcher_lock(ended));
    unsigned news = contract_watcher_news(ended);
    contract_put(node, LOCK, B);
    ck_assert(contract_watcher_saw(stays, node, LOCK, B));
    ck_assert_uint_eq(contract_watcher_news(ended), news);
    contract_watcher_free(ended);
    end(&other.transport, stays);
    contract_further_done(&other);
}
END_TEST

START_TEST(a_watch_can_be_started_again)
{
    const char *node = contract_node();
    struct contract_watcher *first = watch(contract_now.transport);
    contract_put(node, LOCK, A);
    ck_assert(contract_watcher_saw(first, node, LOCK, A));
    end(contract_now.transport, first);
    struct contract_watcher *second = watch(contract_now.transport);
    contract_put(node, LOCK, B);
    ck_assert(contract_watcher_saw(second, node, LOCK, B));
    end(contract_now.transport, second);
}
END_TEST

static bool is_leaving(const struct hami_owner_facts *facts)
{
    return facts->known && facts->exists && facts->deleting &&
           !(facts->node && *facts->node);
}

START_TEST(a_watch_tells_that_an_unbound_owner_is_being_deleted)
{
    struct contract_watcher *watcher = watch(contract_now.transport);
    struct contract_owner owner;
    contract_owner(&owner);
    contract_now.backend->owner_set(&contract_now, &owner, CONTRACT_DELETING);
    ck_assert(contract_watcher_saw_owner(watcher, owner.name, is_leaving));
    end(contract_now.transport, watcher);
}
END_TEST

void contract_add_watch(Suite *suite, const struct contract_backend *backend)
{
    TCase *tests = contract_case(suite, "watch");
    tcase_add_test(tests, a_watch_tells_each_change_by_other_writers);
    tcase_add_test(tests, a_watch_tells_the_transports_own_writes);
    tcase_add_test(tests, a_watch_tells_both_values_of_one_write_together);
    tcase_add_test(tests, a_watch_tells_the_version_that_a_read_tells);
    tcase_add_test(tests, a_watch_tells_that_a_node_is_gone);
    tcase_add_test(tests, nothing_is_told_after_unwatch);
    tcase_add_test(tests, a_watch_can_be_started_again);
    if (backend->capabilities & CONTRACT_OWNERS) {
        tcase_add_test(tests, a_watch_tells_that_an_unbound_owner_is_being_deleted);
    }
}
