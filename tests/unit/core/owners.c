/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding an owner: news of a pod reaches the waits and the locks that it concerns, on
 * however many nodes and however often it waits, and nothing else.
 */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static void with_owners(void)
{
    scripted_start((struct scripted_options){.owners = true, .watch = true});
}

static void hear(const char *name, bool deleting)
{
    struct hami_owner owner = {"default", name, NULL};
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[64];

    (void)snprintf(uid, sizeof(uid), "uid-%s", name);
    facts.known = facts.exists = true;
    facts.deleting = deleting;
    facts.uid = uid;
    ck_assert_int_eq(hami_nodelock_observe_owner(scripted_lock, &owner, &facts), 0);
    scripted_dispatch();
}

static void make_pod(const char *name, bool deleting)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[64];

    (void)snprintf(uid, sizeof(uid), "uid-%s", name);
    facts.known = facts.exists = facts.devices_left = true;
    facts.deleting = deleting;
    facts.uid = uid;
    scripted_pod_facts(name, &facts);
}

/* A pod that is deleted while it waits on as many nodes; few and many are found in
 * different ways. */
static const size_t node_counts[] = {1, 16, 17, 40};

START_TEST(news_of_a_pod_reaches_each_node_where_it_waits)
{
    static struct scripted_wait holders[40], waits[40];
    size_t count = node_counts[_i];
    char node[24], name[24];

    make_pod("p", false);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(node, sizeof(node), "n%zu", i);
        (void)snprintf(name, sizeof(name), "h%zu", i);
        make_pod(name, false);
        scripted_acquire(&holders[i], node, name, 60000);
        ck_assert_int_eq(holders[i].code, 0);
        scripted_acquire(&waits[i], node, "p", 60000);
    }
    size_t reads = scripted_count(SCRIPTED_INSPECT);
    hear("q", true);
    hear("p", false);
    ck_assert_uint_eq(scripted_count(SCRIPTED_INSPECT), reads);
    make_pod("p", true);
    hear("p", true);
    for (size_t i = 0; i < count; i++) {
        ck_assert(waits[i].ended);
        ck_assert_int_eq(waits[i].code, HAMI_E_LOST);
        ck_assert_int_eq(hami_lease_handoff(holders[i].lease), 0);
    }
    ck_assert_uint_eq(scripted_count(SCRIPTED_INSPECT), reads + count);
}
END_TEST

static const size_t wait_counts[] = {1, 16, 17, 40};

START_TEST(news_of_a_pod_reaches_each_of_its_waits)
{
    static struct scripted_wait holder, other, waits[40];
    size_t count = wait_counts[_i];

    make_pod("h", false);
    make_pod("o", false);
    make_pod("p", false);
    scripted_acquire(&holder, "n1", "h", 60000);
    scripted_acquire(&other, "n1", "o", 60000);
    for (size_t i = 0; i < count; i++) {
        scripted_acquire(&waits[i], "n1", "p", 60000);
    }
    make_pod("p", true);
    hear("p", true);
    for (size_t i = 0; i < count; i++) {
        ck_assert(waits[i].ended);
        ck_assert_int_eq(waits[i].code, HAMI_E_LOST);
    }
    ck_assert(!other.ended);
    ck_assert_int_eq(hami_lease_handoff(holder.lease), 0);
}
END_TEST

START_TEST(each_wait_of_an_owner_gets_its_share_when_one_is_granted)
{
    static struct scripted_wait holder, other, waits[40];
    struct scripted_done done;
    size_t count = wait_counts[_i];

    make_pod("h", false);
    make_pod("o", false);
    make_pod("p", false);
    scripted_acquire(&holder, "n1", "h", 60000);
    for (size_t i = 0; i < count; i++) {
        scripted_acquire(&waits[i], "n1", "p", 60000);
        if (i == 0) {
            scripted_acquire(&other, "n1", "o", 60000);
        }
    }
    scripted_release(&done, holder.lease, 1000);
    for (size_t i = 0; i < count; i++) {
        ck_assert(waits[i].ended);
        ck_assert_int_eq(waits[i].code, 0);
        ck_assert_uint_eq(hami_lease_fence(waits[i].lease),
                          hami_lease_fence(waits[0].lease));
    }
    ck_assert(!other.ended);
    for (size_t i = 0; i < count; i++) {
        scripted_release(&done, waits[i].lease, 1000);
    }
    ck_assert(other.ended);
    ck_assert_int_eq(hami_lease_handoff(other.lease), 0);
}
END_TEST

START_TEST(a_node_that_is_forgotten_is_found_no_more)
{
    static struct scripted_wait holder;
    struct scripted_done done;

    for (int i = 0; i < 3; i++) {
        make_pod("h", false);
        scripted_acquire(&holder, "n1", "h", 60000);
        ck_assert_int_eq(holder.code, 0);
        hear("h", false);
        scripted_release(&done, holder.lease, 1000);
        ck_assert_int_eq(hami_nodelock_forget(scripted_lock, "n1"), 0);
        hear("h", true);
        ck_assert_uint_eq(scripted_stats().nodes, 0);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("owners");
    TCase *owners = tcase_create("owners");

    tcase_add_checked_fixture(owners, with_owners, scripted_stop);
    tcase_add_loop_test(owners, news_of_a_pod_reaches_each_node_where_it_waits, 0, 4);
    tcase_add_loop_test(owners, news_of_a_pod_reaches_each_of_its_waits, 0, 4);
    tcase_add_loop_test(owners, each_wait_of_an_owner_gets_its_share_when_one_is_granted,
                        0, 4);
    tcase_add_test(owners, a_node_that_is_forgotten_is_found_no_more);
    suite_add_tcase(suite, owners);
    return scripted_run(suite);
}
