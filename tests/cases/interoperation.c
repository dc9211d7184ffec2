/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our manager beside HAMi of each version, with nothing going wrong: what the others
 * write is honoured, what we write they can read, and what they remove is seen.
 */
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "scripted.h"

#define NOW INT64_C(1767323045) /* the time of scripted.h's clock */
#define OURS "2026-01-02T03:04:05Z,default,a"

static struct peer peer;

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
    scripted_pod("theirs", "uid-theirs");
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", "x.example/y", "z"), 0);
}

static void start_peer(int version)
{
    peer = (struct peer){.version = (enum peer_version)version,
                         .store = &peer_scripted_store,
                         .now_s = NOW};
}

static void bound_here(const char *name, const char *uid)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.exists = facts.devices_left = true;
    facts.uid = uid;
    facts.node = "n1";
    facts.bind_phase = HAMI_BIND_PHASE_ALLOCATING;
    scripted_pod_facts(name, &facts);
}

START_TEST(a_lock_that_hami_took_is_honoured_until_hami_releases_it)
{
    static struct scripted_wait b;
    char before[PEER_VALUE_MAX];

    start_peer(_i);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    (void)snprintf(before, sizeof(before), "%s", scripted_lock_value("n1"));
    bound_here("theirs", "uid-theirs");
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(20000);
    ck_assert_msg(!b.ended, "%s", b.text);
    ck_assert_str_eq(scripted_lock_value("n1"), before);
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(a_value_of_ours_names_its_owner_to_each_version_that_knows_owners)
{
    static struct scripted_wait a;
    char namespace_name[PEER_VALUE_MAX], name[PEER_VALUE_MAX];
    int64_t since = 0;

    start_peer(_i);
    scripted_acquire(&a, "n1", "a", 1000);
    enum peer_owner owner =
        peer_parse(&peer, scripted_lock_value("n1"), &since, namespace_name, name);
    if (_i == PEER_V2_3) {
        ck_assert_int_eq(owner,
                         PEER_UNREADABLE); /* an error there, so it takes nothing */
        ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_ERROR);
    } else {
        ck_assert_int_eq(owner, PEER_OWNED);
        ck_assert_str_eq(namespace_name, "default");
        ck_assert_str_eq(name, "a");
        ck_assert_int_eq(since, NOW);
        ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_CONTENTION);
    }
    ck_assert_str_eq(scripted_lock_value("n1"), OURS);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
}
END_TEST

START_TEST(the_clean_up_after_a_failed_bind_of_hami_leaves_our_lock_or_we_are_told)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    start_peer(_i);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_ne(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_dispatch();
    bool robbed = _i <= PEER_V2_4; /* there anybody may release */
    ck_assert_uint_eq(scripted_lost, robbed);
    ck_assert_str_eq(scripted_lock_value("n1"), robbed ? "" : OURS);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, robbed ? HAMI_E_LOST : 0);
}
END_TEST

START_TEST(the_release_by_a_plugin_of_any_version_frees_the_node_for_the_next)
{
    static struct scripted_wait a, b;

    start_peer(_i);
    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = hami_lease_fence(a.lease);
    bound_here("a", "uid-a");
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(1500);
    ck_assert(!b.ended);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "a"), PEER_DONE);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_uint_eq(scripted_stats().takeovers, 0);
    ck_assert_uint_eq(scripted_lost, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(waiters_of_ours_leave_a_bare_time_as_it_is_case_1_19)
{
    static struct scripted_wait b;

    start_peer(PEER_V2_3);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z");
    scripted_acquire(&b, "n1", "b", 10000);
    scripted_advance(5000);
    ck_assert_int_eq(hami_wait_abort(b.wait), 0);
    scripted_dispatch();
    ck_assert_int_eq(b.code, HAMI_E_CANCELED);
    scripted_acquire(&b, "n1", "b", 1000);
    scripted_advance(2000);
    ck_assert_int_eq(b.code, HAMI_E_TIMEDOUT);
    struct hami_nodelock_request request;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    scripted_request(&request, "n1", "b");
    request.deadline_ns = scripted_now_ns + 1000 * MS;
    ck_assert_int_eq(hami_nodelock_try_acquire(scripted_lock, &request, &lease, &error),
                     HAMI_E_HELD);
    ck_assert_str_eq(scripted_lock_value("n1"), "2026-01-02T03:04:05Z");
    ck_assert_uint_eq(scripted_count(SCRIPTED_WRITE), 0);
}
END_TEST

START_TEST(a_bare_time_that_a_loser_of_v2_10_deletes_is_seen_at_once)
{
    static struct scripted_wait b;

    start_peer(PEER_V2_3);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_acquire(&b, "n1", "b", 60000);
    start_peer(PEER_V2_10);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "loser"), PEER_CONTENTION);
    ck_assert(!b.ended);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "loser"), PEER_DONE);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

START_TEST(hami_v2_10_enters_a_lock_of_ours_for_the_same_pod_and_leaves_it_whole)
{
    static struct scripted_wait a;
    static struct scripted_done done;

    start_peer(PEER_V2_10);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "a"), PEER_DONE);
    ck_assert_uint_eq(peer.writes, 0);
    ck_assert_uint_eq(scripted_lost, 0);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

START_TEST(the_fence_stays_after_hami_took_the_lock_in_between)
{
    static struct scripted_wait a, b;
    static struct scripted_done done;

    start_peer(_i);
    scripted_acquire(&a, "n1", "a", 1000);
    uint64_t fence = hami_lease_fence(a.lease);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    struct hami_lock_record record = scripted_record("n1");
    ck_assert(!record.has_lease);
    ck_assert_uint_eq(record.last_fence, fence);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_acquire(&b, "n1", "b", 1000);
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_gt(hami_lease_fence(b.lease), fence);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("interoperation");
    TCase *versions = tcase_create("versions");

    tcase_add_checked_fixture(versions, with_owners, scripted_stop);
    tcase_add_loop_test(versions,
                        a_lock_that_hami_took_is_honoured_until_hami_releases_it, 0,
                        PEER_VERSIONS);
    tcase_add_loop_test(versions,
                        a_value_of_ours_names_its_owner_to_each_version_that_knows_owners,
                        0, PEER_VERSIONS);
    tcase_add_loop_test(
        versions, the_clean_up_after_a_failed_bind_of_hami_leaves_our_lock_or_we_are_told,
        0, PEER_VERSIONS);
    tcase_add_loop_test(
        versions, the_release_by_a_plugin_of_any_version_frees_the_node_for_the_next, 0,
        PEER_VERSIONS);
    tcase_add_test(versions, waiters_of_ours_leave_a_bare_time_as_it_is_case_1_19);
    tcase_add_test(versions, a_bare_time_that_a_loser_of_v2_10_deletes_is_seen_at_once);
    tcase_add_test(versions,
                   hami_v2_10_enters_a_lock_of_ours_for_the_same_pod_and_leaves_it_whole);
    tcase_add_loop_test(versions, the_fence_stays_after_hami_took_the_lock_in_between, 0,
                        PEER_VERSIONS);
    suite_add_tcase(suite, versions);
    return scripted_run(suite);
}
