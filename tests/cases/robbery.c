/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The faults of HAMi's lock code beside our manager, and ours beside it: nobody is robbed
 * by us, and whoever is robbed by them is told.
 */
#include <stdio.h>
#include <string.h>

#include "peer.h"
#include "scripted.h"

#define NOW INT64_C(1767323045)
#define THEIRS "2026-01-02T03:04:05Z,default,theirs"
#define DEAD "2026-01-02T03:00:00Z,default,dead"

static struct peer peer;
static struct scripted_wait a, b;

static void with_owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("a", "uid-a");
    scripted_pod("b", "uid-b");
    scripted_pod("theirs", "uid-theirs");
    /* The fence's memory of an earlier grant: so no take is guarded by the node's
     * version. */
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY,
                                     "{\"version\":1,\"fence\":\"5\"}"),
                     0);
}

static void start_peer(int version)
{
    peer = (struct peer){.version = (enum peer_version)version,
                         .store = &peer_scripted_store,
                         .now_s = NOW};
}

/* The lock is theirs: what was ours is told as lost, touches nothing, and the next of
 * ours waits for theirs to go. */
static void expect_robbed(void)
{
    static struct scripted_done done;

    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 1);
    ck_assert_str_eq(scripted_lock_value("n1"), THEIRS);
    scripted_check(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(5000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), THEIRS);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_uint_eq(scripted_lost, 1);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}

/* ---- the write that is repeated blindly ---- */

static void take_before_the_first_write(struct peer *self, enum peer_access access,
                                        unsigned number)
{
    (void)self;
    if (access == PEER_WRITE && number == 0) {
        scripted_acquire(&a, "n1", "a", 1000);
        ck_assert_int_eq(a.code, 0);
    }
}

START_TEST(a_take_of_hami_that_is_repeated_blindly_over_ours_is_told_to_our_holder)
{
    start_peer(_i);
    peer.before = take_before_the_first_write;
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    ck_assert_uint_eq(peer.writes, 2);
    expect_robbed();
}
END_TEST

START_TEST(hami_v2_10_looks_again_and_leaves_the_lock_that_we_took_meanwhile)
{
    static struct scripted_done done;

    start_peer(PEER_V2_10);
    peer.before = take_before_the_first_write;
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_CONTENTION);
    scripted_dispatch();
    ck_assert_uint_eq(scripted_lost, 0);
    scripted_release(&done, a.lease, 1000);
    ck_assert_int_eq(done.code, 0);
}
END_TEST

/* ---- the take-over of what was judged before ---- */

static void take_over_before_the_release(struct peer *self, enum peer_access access,
                                         unsigned number)
{
    (void)self;
    if (access == PEER_READ && number == 1) {
        scripted_acquire(&a, "n1", "a", 5000);
        scripted_advance(2000);
        ck_assert_msg(a.ended && a.code == 0, "%s", a.text);
    }
}

START_TEST(a_forced_release_by_hami_of_what_we_took_over_meanwhile_is_told_case_1_11)
{
    start_peer(_i);
    peer.gone = "dead";
    peer.before = take_over_before_the_release;
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, DEAD), 0);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    peer.before = NULL;
    expect_robbed();
}
END_TEST

/* Between B's write and its answer HAMi's scheduler takes; B gets the node after that. */
static void expect_theirs_then_ours(void)
{
    hami_call *patch = scripted_call(SCRIPTED_WRITE);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_set_manual(false);
    scripted_answer(patch);
    scripted_advance(5000);
    ck_assert(!b.ended);
    ck_assert_str_eq(scripted_lock_value("n1"), THEIRS);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    scripted_dispatch();
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}

START_TEST(our_take_over_of_a_lock_that_hami_takes_meanwhile_is_refused)
{
    start_peer(_i);
    peer.gone = "dead";
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, DEAD), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_set_manual(true);
    scripted_advance(1000);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    expect_theirs_then_ours();
}
END_TEST

START_TEST(our_take_of_a_free_node_that_hami_locks_meanwhile_is_refused_case_1_12)
{
    start_peer(_i);
    scripted_set_manual(true);
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    expect_theirs_then_ours();
}
END_TEST

/* ---- releases by name ---- */

START_TEST(a_release_by_a_part_of_the_name_is_told_to_our_holder_case_1_06)
{
    static struct scripted_done done;
    static struct scripted_wait longer;

    start_peer(_i);
    scripted_pod("a-123", "uid-a-123");
    scripted_acquire(&longer, "n1", "a-123", 1000);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "a"), PEER_DONE);
    scripted_dispatch();
    bool by_part = peer.version <= PEER_V2_7_0;
    ck_assert_uint_eq(scripted_lost, by_part);
    scripted_acquire(&b, "n1", "b", 60000);
    ck_assert_msg(!b.ended, "nobody gets the node before its holder has let go");
    scripted_release(&done, longer.lease, 1000);
    ck_assert_int_eq(done.code, by_part ? HAMI_E_LOST : 0);
    ck_assert_int_eq(b.code, 0);
    ck_assert_int_eq(hami_lease_handoff(b.lease), 0);
}
END_TEST

/* Another party frees A's lock and B takes the node, between the look of A's plugin and
 * its write. */
static void pass_on_before_the_first_write(struct peer *self, enum peer_access access,
                                           unsigned number)
{
    (void)self;
    if (access == PEER_WRITE && number == 0) {
        ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL),
                         0);
        scripted_dispatch();
        ck_assert_int_eq(b.code, 0);
    }
}

START_TEST(a_late_release_by_an_old_plugin_that_removes_the_next_lock_is_told)
{
    static struct scripted_done done;

    start_peer(_i);
    scripted_acquire(&a, "n1", "a", 1000);
    ck_assert_int_eq(hami_lease_handoff(a.lease), 0);
    scripted_acquire(&b, "n1", "b", 60000);
    peer.before = pass_on_before_the_first_write;
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "a"), PEER_DONE);
    scripted_dispatch();
    bool blind = peer.version < PEER_V2_10;
    ck_assert_uint_eq(scripted_lost, blind);
    ck_assert_str_eq(scripted_lock_value("n1"),
                     blind ? "" : "2026-01-02T03:04:05Z,default,b");
    scripted_release(&done, b.lease, 1000);
    ck_assert_int_eq(done.code, blind ? HAMI_E_LOST : 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
}
END_TEST

/* ---- writers that do not look ---- */

START_TEST(a_writer_that_never_looks_is_seen_by_holder_and_waiter)
{
    start_peer(PEER_V2_10);
    scripted_acquire(&a, "n1", "a", 1000);
    /* koordinator's form: three parts, written without a condition */
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, THEIRS), 0);
    expect_robbed();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("robbery");
    TCase *faults = tcase_create("faults");

    tcase_add_checked_fixture(faults, with_owners, scripted_stop);
    tcase_add_loop_test(
        faults, a_take_of_hami_that_is_repeated_blindly_over_ours_is_told_to_our_holder,
        PEER_V2_4, PEER_V2_10);
    tcase_add_test(faults,
                   hami_v2_10_looks_again_and_leaves_the_lock_that_we_took_meanwhile);
    tcase_add_loop_test(
        faults, a_forced_release_by_hami_of_what_we_took_over_meanwhile_is_told_case_1_11,
        PEER_V2_7_0, PEER_VERSIONS);
    tcase_add_loop_test(faults,
                        our_take_over_of_a_lock_that_hami_takes_meanwhile_is_refused,
                        PEER_V2_7_0, PEER_VERSIONS);
    tcase_add_loop_test(
        faults, our_take_of_a_free_node_that_hami_locks_meanwhile_is_refused_case_1_12,
        PEER_V2_4, PEER_VERSIONS);
    tcase_add_loop_test(faults,
                        a_release_by_a_part_of_the_name_is_told_to_our_holder_case_1_06,
                        PEER_V2_4, PEER_VERSIONS);
    tcase_add_loop_test(
        faults, a_late_release_by_an_old_plugin_that_removes_the_next_lock_is_told,
        PEER_V2_4, PEER_VERSIONS);
    tcase_add_test(faults, a_writer_that_never_looks_is_seen_by_holder_and_waiter);
    suite_add_tcase(suite, faults);
    return scripted_run(suite);
}
