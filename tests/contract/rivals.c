/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many at once: rivals for one node, heartbeats meanwhile, many nodes, and two managers
 * that share a store. Worker threads write down what they saw; the test thread judges.
 */
#include "contract.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCK HAMI_NODELOCK_KEY
#define LEASE HAMI_NODELOCK_LEASE_KEY
#define RIVALS 10
#define ROUNDS 5
#define NODES 16
#define TURNS 8
#define OWNERS 6

struct rival {
    struct contract_shim shim;
    pthread_barrier_t *start;
    const char *node;
    const char *expect;
    char value[64];
    int code;
};

static void *take(void *data)
{
    struct rival *rival = data;
    struct contract_answer answer = {0};
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, LOCK, rival->expect, rival->value},
        {HAMI_EDIT_PUT, LEASE, rival->expect, rival->value}};
    pthread_barrier_wait(rival->start);
    rival->code = contract_call_on(&rival->shim.transport, rival->node, edits, 2, NULL,
                                   20000, &answer);
    contract_answer_done(&answer);
    return NULL;
}

/* All of them at once; returns the winner's value. */
static const char *contend(struct rival *rivals, const char *node, const char *expect)
{
    pthread_barrier_t start;
    pthread_t threads[RIVALS];
    const char *winner = NULL;
    pthread_barrier_init(&start, NULL, RIVALS);
    for (size_t i = 0; i < RIVALS; i++) {
        rivals[i].start = &start;
        rivals[i].node = node;
        rivals[i].expect = expect;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take, &rivals[i]), 0);
    }
    for (size_t i = 0; i < RIVALS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < RIVALS; i++) {
        if (rivals[i].code == 0) {
            ck_assert_msg(!winner, "two rivals won");
            winner = rivals[i].value;
        } else {
            ck_assert_msg(rivals[i].code == HAMI_E_HELD, "%s",
                          hami_errname(rivals[i].code));
        }
    }
    ck_assert_msg(winner, "nobody won");
    contract_assert_stored(node, LOCK, winner);
    contract_assert_stored(node, LEASE, winner);
    return winner;
}

static struct rival *rivals_new(void)
{
    struct rival *rivals = calloc(RIVALS, sizeof(*rivals));
    ck_assert_ptr_nonnull(rivals);
    for (size_t i = 0; i < RIVALS; i++) {
        contract_further(&rivals[i].shim);
        snprintf(rivals[i].value, sizeof(rivals[i].value), "rival-%zu", i);
    }
    return rivals;
}

static void rivals_free(struct rival *rivals)
{
    for (size_t i = 0; i < RIVALS; i++) {
        contract_further_done(&rivals[i].shim);
    }
    free(rivals);
}

START_TEST(of_ten_rivals_for_an_absent_lock_one_wins)
{
    const char *node = contract_node();
    struct rival *rivals = rivals_new();
    for (unsigned round = 0; round < ROUNDS; round++) {
        contend(rivals, node, NULL);
        contract_put(node, LOCK, NULL);
        contract_put(node, LEASE, NULL);
    }
    rivals_free(rivals);
}
END_TEST

START_TEST(of_ten_that_judged_the_same_pair_one_takes_over)
{
    const char *node = contract_node();
    struct rival *rivals = rivals_new();
    for (unsigned round = 0; round < ROUNDS; round++) {
        contract_put(node, LOCK, "old");
        contract_put(node, LEASE, "old");
        contend(rivals, node, "old");
    }
    rivals_free(rivals);
}
END_TEST

/* ---- heartbeats ---- */

struct heart {
    const char *node;
    atomic_bool stop;
    atomic_uint beats;
};

static void *beat(void *data)
{
    struct heart *heart = data;
    char value[32];
    while (!atomic_load(&heart->stop)) {
        snprintf(value, sizeof(value), "%u", atomic_fetch_add(&heart->beats, 1));
        contract_put(heart->node, "example.com/heartbeat", value);
    }
    return NULL;
}

START_TEST(heartbeats_meanwhile_refuse_no_call_without_a_version)
{
    struct heart heart = {.node = contract_node()};
    struct contract_answer answer = {0};
    const struct hami_transport_edit take_it[] = {{HAMI_EDIT_PUT, LOCK, NULL, "a"},
                                                  {HAMI_EDIT_PUT, LEASE, "m", "a"}};
    const struct hami_transport_edit free_it[] = {{HAMI_EDIT_PUT, LOCK, "a", NULL},
                                                  {HAMI_EDIT_PUT, LEASE, "a", "m"}};
    contract_put(heart.node, LEASE, "m");
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, beat, &heart), 0);
    unsigned turns = 0;
    int code = 0;
    while (code == 0 && (turns < 50 || atomic_load(&heart.beats) < 50)) {
        code = contract_call_on(contract_now.transport, heart.node, take_it, 2, NULL,
                                20000, &answer);
        if (code == 0) {
            code = contract_call_on(contract_now.transport, heart.node, free_it, 2, NULL,
                                    20000, &answer);
        }
        turns++;
    }
    atomic_store(&heart.stop, true);
    pthread_join(thread, NULL);
    ck_assert_msg(code == 0, "turn %u: %s", turns, hami_errname(code));
    char last[32];
    snprintf(last, sizeof(last), "%u", atomic_load(&heart.beats) - 1);
    contract_assert_stored(heart.node, "example.com/heartbeat", last);
    contract_answer_done(&answer);
}
END_TEST

/* ---- many nodes ---- */

struct worker {
    const char *node;
    unsigned turns;
    int code;
};

static void *take_and_free(void *data)
{
    struct worker *worker = data;
    struct contract_answer answer = {0};
    const struct hami_transport_edit take_it[] = {
        {HAMI_EDIT_PUT, LOCK, NULL, worker->node}};
    const struct hami_transport_edit free_it[] = {
        {HAMI_EDIT_PUT, LOCK, worker->node, NULL}};
    while (worker->code == 0 && worker->turns < TURNS) {
        worker->code = contract_call_on(contract_now.transport, worker->node, take_it, 1,
                                        NULL, 20000, &answer);
        if (worker->code == 0) {
            worker->code = contract_call_on(contract_now.transport, worker->node, free_it,
                                            1, NULL, 20000, &answer);
        }
        worker->turns++;
    }
    contract_answer_done(&answer);
    return NULL;
}

START_TEST(many_nodes_are_served_in_parallel)
{
    struct worker workers[NODES] = {0};
    pthread_t threads[NODES];
    for (size_t i = 0; i < NODES; i++) {
        workers[i].node = contract_node();
    }
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, take_and_free, &workers[i]),
                         0);
    }
    for (size_t i = 0; i < NODES; i++) {
        pthread_join(threads[i], NULL);
    }
    for (size_t i = 0; i < NODES; i++) {
        ck_assert_msg(workers[i].code == 0, "%s", hami_errname(workers[i].code));
        ck_assert_uint_eq(workers[i].turns, TURNS);
        contract_assert_stored(workers[i].node, LOCK, NULL);
    }
}
END_TEST

/* ---- managers ---- */

struct holder {
    hami_nodelock *lock;
    const char *node;
    struct contract_owner owner;
    atomic_int *holding;
    bool alone;
    uint64_t fence;
    int acquired;
    int released;
    char text[512];
};

static void *hold(void *data)
{
    struct holder *holder = data;
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_nodelock_request request = {
        .size = sizeof(request), .node = holder->node, .owner = holder->owner.owner};
    hami_lease *lease = NULL;
    request.deadline_ns = hami_nodelock_in_ms(holder->lock, 40000);
    holder->acquired = hami_nodelock_acquire(holder->lock, &request, &lease, &error);
    if (holder->acquired != 0) {
        snprintf(holder->text, sizeof(holder->text), "%s", error.text);
        return NULL;
    }
    holder->alone = atomic_fetch_add(holder->holding, 1) == 0;
    holder->fence = hami_lease_fence(lease);
    atomic_fetch_sub(holder->holding, 1);
    holder->released =
        hami_lease_release(lease, hami_nodelock_in_ms(holder->lock, 20000), &error);
    if (holder->released != 0) {
        snprintf(holder->text, sizeof(holder->text), "%s", error.text);
    }
    return NULL;
}

static hami_nodelock *manager_new(struct contract_shim *shim)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_nodelock *lock = NULL;
    contract_further(shim);
    config.transport = &shim->transport;
    int code = hami_nodelock_new(&config, &lock, &error);
    ck_assert_msg(code == 0, "%s", error.text);
    return lock;
}

static void judge(const struct holder *holders, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        ck_assert_msg(holders[i].acquired == 0, "%s: %s",
                      hami_errname(holders[i].acquired), holders[i].text);
        ck_assert_msg(holders[i].released == 0, "%s: %s",
                      hami_errname(holders[i].released), holders[i].text);
        ck_assert_msg(holders[i].alone, "two owners at once");
        for (size_t k = 0; k < i; k++) {
            ck_assert_msg(holders[k].fence != holders[i].fence, "a fence came twice");
        }
    }
}

START_TEST(two_managers_on_one_store_never_have_two_owners)
{
    struct contract_shim shims[2];
    hami_nodelock *locks[2] = {manager_new(&shims[0]), manager_new(&shims[1])};
    struct holder holders[OWNERS] = {0};
    pthread_t threads[OWNERS];
    atomic_int holding = 0;
    const char *node = contract_node();
    for (size_t i = 0; i < OWNERS; i++) {
        holders[i].lock = locks[i % 2];
        holders[i].node = node;
        holders[i].holding = &holding;
        contract_owner(&holders[i].owner);
    }
    for (size_t i = 0; i < OWNERS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, hold, &holders[i]), 0);
    }
    for (size_t i = 0; i < OWNERS; i++) {
        pthread_join(threads[i], NULL);
    }
    judge(holders, OWNERS);
    contract_assert_stored(node, LOCK, NULL);
    for (size_t i = 0; i < 2; i++) {
        hami_nodelock_shutdown(locks[i], hami_nodelock_in_ms(locks[i], 10000));
        hami_nodelock_free(locks[i]);
        contract_further_done(&shims[i]);
    }
}
END_TEST

START_TEST(a_try_takes_a_node_that_nobody_ever_locked)
{
    struct contract_shim shim;
    hami_nodelock *lock = manager_new(&shim);
    struct contract_owner owner;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    const char *node = contract_node();
    contract_owner(&owner);
    struct hami_nodelock_request request = {
        .size = sizeof(request), .node = node, .owner = owner.owner};
    request.deadline_ns = hami_nodelock_in_ms(lock, 20000);
    int code = hami_nodelock_try_acquire(lock, &request, &lease, &error);
    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    code = hami_lease_release(lease, hami_nodelock_in_ms(lock, 20000), &error);
    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    contract_assert_stored(node, LOCK, NULL);
    hami_nodelock_shutdown(lock, hami_nodelock_in_ms(lock, 10000));
    hami_nodelock_free(lock);
    contract_further_done(&shim);
}
END_TEST

void contract_add_rivals(Suite *suite, const struct contract_backend *backend)
{
    (void)backend;
    TCase *tests = contract_case(suite, "rivals");
    tcase_add_test(tests, of_ten_rivals_for_an_absent_lock_one_wins);
    tcase_add_test(tests, of_ten_that_judged_the_same_pair_one_takes_over);
    tcase_add_test(tests, heartbeats_meanwhile_refuse_no_call_without_a_version);
    tcase_add_test(tests, many_nodes_are_served_in_parallel);
    tcase_add_test(tests, two_managers_on_one_store_never_have_two_owners);
    tcase_add_test(tests, a_try_takes_a_node_that_nobody_ever_locked);
}
