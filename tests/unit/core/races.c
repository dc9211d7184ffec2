/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * News that comes at an awkward moment: between a question and its answer, in the very
 * instant in which it was asked, or when the manager is on its way out.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

#define LOCK(name) "2026-01-02T03:00:00Z,default," name

static void owners(void)
{
    scripted_start((struct scripted_options){.watch = true, .owners = true});
    scripted_pod("b", "uid-b");
    scripted_pod("c", "uid-c");
    scripted_pod("d", "uid-d");
}

/* Another replica takes a permit of the node for a pod. */
static void lock_permit_for(const char *suffix, const char *name, const char *fence)
{
    char value[96], lease[512], lock_key[80], lease_key[80];

    (void)snprintf(value, sizeof(value), LOCK("%s"), name);
    (void)snprintf(lease, sizeof(lease),
                   "{\"version\":1,\"lock\":\"%s\",\"uid\":\"uid-%s\",\"fence\":\"%s\","
                   "\"holder\":\"other_1\",\"attempt\":\"1\",\"hold_ms\":60000,"
                   "\"free\":\"node\"}",
                   value, name, fence);
    (void)snprintf(lock_key, sizeof(lock_key), HAMI_NODELOCK_KEY "%s", suffix);
    (void)snprintf(lease_key, sizeof(lease_key), HAMI_NODELOCK_LEASE_KEY "%s", suffix);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", lease_key, lease), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", lock_key, value), 0);
}

static void lock_for(const char *name, const char *fence)
{
    lock_permit_for("", name, fence);
}

static void unlock(void)
{
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, NULL), 0);
}

START_TEST(a_waiter_whose_own_lock_has_gone_waits_for_its_turn)
{
    static struct scripted_wait first, own;

    lock_for("c", "7");
    scripted_acquire(&first, "n1", "b", 60000);
    scripted_set_manual(true);
    scripted_advance(1000);
    hami_call *question = scripted_call(SCRIPTED_INSPECT);
    scripted_acquire(&own, "n1", "c", 60000);
    unlock();
    scripted_set_manual(false);
    scripted_answer(question);
    scripted_dispatch();
    ck_assert_msg(first.ended && first.code == 0, "%s", own.ended ? "overtaken" : "");
    ck_assert(!own.ended);
    ck_assert_int_eq(hami_lease_handoff(first.lease), 0);
}
END_TEST

START_TEST(what_was_asked_about_one_owner_is_not_believed_of_the_next)
{
    static struct scripted_wait wait;
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.exists = facts.finished = true;
    facts.uid = "uid-c";
    scripted_pod_facts("c", &facts);
    lock_for("c", "7");
    scripted_acquire(&wait, "n1", "b", 60000);
    scripted_set_manual(true);
    scripted_advance(1000);
    hami_call *question = scripted_call(SCRIPTED_INSPECT);
    /* No time passes between the question and the next owner's lock. */
    lock_for("d", "8");
    scripted_set_manual(false);
    scripted_answer(question);
    scripted_dispatch();
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK("d"));
    ck_assert(!wait.ended);
}
END_TEST

START_TEST(a_share_that_is_held_when_its_handed_off_grant_is_taken_over_is_lost)
{
    static struct scripted_wait one, other, next;
    static struct scripted_done done;
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    scripted_acquire(&one, "n1", "b", 1000);
    scripted_acquire(&other, "n1", "b", 1000);
    ck_assert_int_eq(other.code, 0);
    ck_assert_int_eq(hami_lease_handoff(one.lease), 0);
    facts.exists = facts.started = true;
    facts.uid = "uid-b";
    facts.node = "n1";
    scripted_pod_facts("b", &facts);
    scripted_acquire(&next, "n1", "c", 60000);
    scripted_advance(2000);
    ck_assert_int_eq(next.code, 0);
    scripted_release(&done, other.lease, 1000);
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(scripted_lock_value("n1"), ",c"));
    ck_assert_int_eq(hami_lease_handoff(next.lease), 0);
}
END_TEST

/* Carries out all calls until one of this kind, which is left under way. */
static hami_call *first_of(enum scripted_kind wanted)
{
    enum scripted_kind kind;

    scripted_set_manual(true);
    for (unsigned seconds = 0; seconds < 100; seconds++) {
        while (scripted_waiting() > 0) {
            hami_call *call = scripted_waiting_call(0, &kind);
            if (kind == wanted) {
                scripted_set_manual(false);
                return call;
            }
            scripted_answer(call);
        }
        scripted_advance(1000);
    }
    ck_abort_msg("no such call");
}

/* A retry of the very pod comes while its revocation is on its way. */
START_TEST(a_pod_whose_binding_was_revoked_does_not_get_its_old_grant_before_its_turn)
{
    static struct scripted_wait holder, next, again;

    scripted_acquire(&holder, "n1", "b", 1000);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
    scripted_acquire(&next, "n1", "c", 900000);
    hami_call *revocation = first_of(SCRIPTED_REVOKE);
    scripted_acquire(&again, "n1", "b", 60000);
    scripted_answer(revocation);
    scripted_dispatch();
    ck_assert_msg(!again.ended, "%s", "its Binding under the old grant would be refused");
    ck_assert_msg(next.ended && next.code == 0, "%s", next.text);
    ck_assert_int_eq(hami_lease_handoff(next.lease), 0);
}
END_TEST

/* Likewise, where the lock is another replica's. */
START_TEST(a_revoked_lock_of_another_replica_goes_to_the_queue_not_to_its_pod)
{
    static struct scripted_wait next, again;
    lock_for("b", "7");
    scripted_acquire(&next, "n1", "c", 900000);
    hami_call *revocation = first_of(SCRIPTED_REVOKE);
    scripted_acquire(&again, "n1", "b", 60000);
    scripted_answer(revocation);
    scripted_dispatch();
    ck_assert_msg(next.ended && next.code == 0, "%s", next.text);
    ck_assert(!again.ended);
    ck_assert_int_eq(hami_lease_handoff(next.lease), 0);
}
END_TEST

/* Else a replica that looked before another's grant could grant under the same fence. */
START_TEST(a_fence_that_the_lease_does_not_vouch_for_is_taken_at_the_version_read)
{
    static struct scripted_wait first, next;
    static struct scripted_done done;

    scripted_acquire(&first, "n1", "b", 1000);
    scripted_release(&done, first.lease, 1000);
    scripted_set_manual(true);
    scripted_acquire(&first, "n1", "b", 1000);
    hami_call *take = first_of(SCRIPTED_WRITE);
    ck_assert_ptr_null(hami_call_version(take));
    scripted_answer(take);
    scripted_dispatch();
    scripted_release(&done, first.lease, 1000);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY,
                                     "{\"version\":1,\"fence\":\"1\"}"),
                     0);
    scripted_set_manual(true);
    scripted_acquire(&next, "n1", "c", 1000);
    take = first_of(SCRIPTED_WRITE);
    ck_assert_ptr_nonnull(hami_call_version(take));
    scripted_answer(take);
    scripted_dispatch();
    ck_assert_int_eq(next.code, 0);
    ck_assert_int_eq(hami_lease_handoff(next.lease), 0);
}
END_TEST

/* Two binds of one pod at a time: the place that the first left behind is void once the
 * second is served. */
START_TEST(a_pod_that_was_served_has_no_older_place_to_come_back_to)
{
    static struct scripted_wait holder, left, other, served, again;
    static struct scripted_done done;

    scripted_acquire(&holder, "n1", "d", 1000);
    scripted_acquire(&left, "n1", "b", 100);
    scripted_advance(200);
    ck_assert_int_eq(left.code, HAMI_E_TIMEDOUT);
    scripted_acquire(&served, "n1", "b", 60000);
    scripted_acquire(&left, "n1", "b", 100);
    scripted_advance(200);
    ck_assert_int_eq(left.code, HAMI_E_TIMEDOUT);
    scripted_acquire(&other, "n1", "c", 60000);
    scripted_release(&done, holder.lease, 1000);
    ck_assert_int_eq(served.code, 0);
    scripted_acquire(&holder, "n1", "d", 60000);
    scripted_set_manual(true);
    scripted_release(&done, served.lease, 1000);
    scripted_acquire(&again, "n1", "b", 60000);
    scripted_set_manual(false);
    while (scripted_waiting() > 0) {
        enum scripted_kind kind;
        scripted_answer(scripted_waiting_call(0, &kind));
    }
    scripted_dispatch();
    ck_assert_msg(other.ended && other.code == 0, "%s",
                  "overtaken by one that was served");
    ck_assert(!again.ended);
    ck_assert_int_eq(hami_lease_handoff(other.lease), 0);
}
END_TEST

START_TEST(a_lock_that_goes_while_its_owner_is_being_revoked_ends_the_release)
{
    static struct scripted_wait a, next;
    static struct scripted_done done;

    scripted_acquire(&a, "n1", "b", 1000);
    scripted_set_manual(true);
    scripted_release(&done, a.lease, 1000);
    hami_call *revocation = scripted_call(SCRIPTED_REVOKE);
    unlock();
    scripted_dispatch();
    ck_assert_int_eq(done.code, HAMI_E_LOST);
    scripted_set_manual(false);
    scripted_answer(revocation);
    scripted_acquire(&next, "n1", "c", 1000);
    ck_assert_int_eq(next.code, 0);
    ck_assert_int_eq(hami_lease_handoff(next.lease), 0);
}
END_TEST

START_TEST(a_take_over_whose_answer_was_lost_is_told_with_its_proof)
{
    static struct scripted_wait wait;

    scripted_pod_gone("c");
    lock_for("c", "7");
    scripted_acquire(&wait, "n1", "b", 60000);
    scripted_set_manual(true);
    scripted_advance(1000);
    scripted_answer(scripted_call(SCRIPTED_INSPECT));
    scripted_answer_code(scripted_call(SCRIPTED_WRITE), 1, HAMI_E_IN_DOUBT);
    scripted_answer(scripted_call(SCRIPTED_READ));
    scripted_dispatch();
    ck_assert_int_eq(wait.code, 0);
    ck_assert_uint_eq(scripted_stats().takeovers, 1);
    ck_assert_ptr_nonnull(strstr(scripted_last_log, "its pod is gone"));
    ck_assert_int_eq(hami_lease_handoff(wait.lease), 0);
}
END_TEST

START_TEST(freeing_a_manager_ends_a_release_and_a_check_that_are_under_way)
{
    static struct scripted_wait a, b;
    static struct scripted_done released, checked;

    scripted_acquire(&a, "n1", "b", 1000);
    scripted_acquire(&b, "n2", "c", 1000);
    scripted_set_manual(true);
    scripted_release(&released, a.lease, 60000);
    scripted_check(&checked, b.lease, 60000);
    ck_assert(!released.ended && !checked.ended);
    scripted_lock = hami_nodelock_free(scripted_lock);
    ck_assert(released.ended && checked.ended);
    ck_assert_int_eq(released.code, HAMI_E_CLOSED);
    ck_assert_int_eq(checked.code, HAMI_E_CLOSED);
    ck_assert_int_eq(hami_lease_handoff(b.lease), HAMI_E_CLOSED);
}
END_TEST

/* A lock without a lease is the asker's only by its name, and that may be another's by
 * now. */
START_TEST(
    a_lock_of_the_askers_name_is_adopted_only_if_its_pod_was_read_after_it_was_seen)
{
    static struct scripted_wait b;
    struct hami_owner_facts bound = {.size = sizeof(bound),
                                     .exists = true,
                                     .uid = "uid-c",
                                     .node = "n1",
                                     .devices_left = true};

    scripted_start((struct scripted_options){.owners = true});
    scripted_pod("b", "uid-b");
    scripted_pod_facts("c", &bound);
    lock_for("c", "7");
    scripted_acquire(&b, "n1", "b", 60000);
    scripted_advance(150);
    ck_assert(!b.ended);
    /* The pod is created anew, and a binder that goes by names locks the node for it. */
    bound.uid = "uid-successor";
    scripted_pod_facts("b", &bound);
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1", HAMI_NODELOCK_KEY, LOCK("b")),
                     0);
    scripted_advance(500);
    ck_assert_str_eq(scripted_lock_value("n1"), LOCK("b"));
    ck_assert_int_eq(b.code, HAMI_E_LOST);
    ck_assert_ptr_nonnull(strstr(b.text, "replaced"));
    scripted_stop();
}
END_TEST

/* Else it would hold two of them, and the first for nobody. */
START_TEST(an_owner_whose_lock_stands_in_one_permit_takes_that_one_again)
{
    static struct scripted_wait c;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    char second[512];

    config.permits = 2;
    scripted_start(
        (struct scripted_options){.watch = true, .owners = true, .config = config});
    scripted_pod("c", "uid-c");
    lock_permit_for(".1", "c", "7");
    scripted_acquire(&c, "n1", "c", 60000);
    scripted_advance(1000);
    ck_assert_int_eq(c.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_int_eq(hami_memory_get(scripted_store, "n1", HAMI_NODELOCK_LEASE_KEY ".1",
                                     second, sizeof(second)),
                     0);
    ck_assert_ptr_null(strstr(second, "other_1"));
    ck_assert_int_eq(hami_lease_handoff(c.lease), 0);
    scripted_stop();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("races");
    TCase *tcase = tcase_create("races");

    tcase_add_checked_fixture(tcase, owners, scripted_stop);
    tcase_add_test(tcase, a_waiter_whose_own_lock_has_gone_waits_for_its_turn);
    tcase_add_test(tcase, what_was_asked_about_one_owner_is_not_believed_of_the_next);
    tcase_add_test(tcase,
                   a_share_that_is_held_when_its_handed_off_grant_is_taken_over_is_lost);
    tcase_add_test(
        tcase,
        a_pod_whose_binding_was_revoked_does_not_get_its_old_grant_before_its_turn);
    tcase_add_test(tcase,
                   a_revoked_lock_of_another_replica_goes_to_the_queue_not_to_its_pod);
    tcase_add_test(
        tcase, a_fence_that_the_lease_does_not_vouch_for_is_taken_at_the_version_read);
    tcase_add_test(tcase, a_pod_that_was_served_has_no_older_place_to_come_back_to);
    tcase_add_test(tcase,
                   a_lock_that_goes_while_its_owner_is_being_revoked_ends_the_release);
    tcase_add_test(tcase, a_take_over_whose_answer_was_lost_is_told_with_its_proof);
    tcase_add_test(tcase,
                   freeing_a_manager_ends_a_release_and_a_check_that_are_under_way);
    suite_add_tcase(suite, tcase);
    TCase *bare = tcase_create("worlds of their own");
    tcase_add_test(bare, an_owner_whose_lock_stands_in_one_permit_takes_that_one_again);
    tcase_add_test(
        bare,
        a_lock_of_the_askers_name_is_adopted_only_if_its_pod_was_read_after_it_was_seen);
    suite_add_tcase(suite, bare);
    return scripted_run(suite);
}
