/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replicas on one API server, each with a client of its own; and HAMi beside them, on the
 * wire.
 */
#include <hami/handshake.h>
#include <hami/nodelock.h>
#include <hami/transport.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubernetes_support.h"
#include "peer_kubesim.h"
#include "suite.h"

#define LOCK HAMI_NODELOCK_KEY
#define SCHEDULER "hami-scheduler"
#define NODES 100
#define RIVALS 40

struct replica {
    hami_kubernetes *client;
    struct hami_transport *transport;
    hami_nodelock *lock;
};

static struct fixture fixture;
static struct replica replicas[2];

/* What callbacks were told. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    unsigned granted[NODES];
    unsigned nodes_granted, ended;
    int last_code;
    hami_lease *last;
    hami_lease *leases[NODES];
} told;

static void replica_begin(struct replica *replica, const char *holder)
{
    static const char *const schedulers[] = {SCHEDULER};
    struct hami_kubernetes_transport_config transport =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    ck_assert_int_eq(hami_kubernetes_new(&fixture.config, &replica->client, NULL), 0);
    transport.scheduler_names = schedulers;
    transport.scheduler_name_count = 1;
    ck_assert_int_eq(hami_kubernetes_transport_new(replica->client, &transport,
                                                   &replica->transport, NULL),
                     0);
    config.transport = replica->transport;
    config.holder = holder;
    ck_assert_int_eq(hami_nodelock_new(&config, &replica->lock, NULL), 0);
}

static void replica_shut(struct replica *replica)
{
    (void)hami_nodelock_shutdown(replica->lock,
                                 hami_nodelock_in_ms(replica->lock, 10000));
}

static void replica_end(struct replica *replica)
{
    replica_shut(replica);
    replica->lock = hami_nodelock_free(replica->lock);
    replica->transport = hami_kubernetes_transport_free(replica->transport);
    replica->client = hami_kubernetes_free(replica->client);
}

static void setup(void)
{
    fixture_open(&fixture, NULL);
    memset(&told, 0, sizeof(told));
    pthread_mutex_init(&told.mutex, NULL);
    pthread_cond_init(&told.changed, NULL);
    replica_begin(&replicas[0], "one");
    replica_begin(&replicas[1], "two");
}

static void teardown(void)
{
    replica_end(&replicas[0]);
    replica_end(&replicas[1]);
    fixture_close(&fixture);
}

static void hear(void *data, int code, hami_lease *lease, const struct hami_error *error)
{
    size_t node = (size_t)(uintptr_t)data;

    (void)error;
    (void)pthread_mutex_lock(&told.mutex);
    told.ended++;
    told.last_code = code;
    told.last = lease;
    if (code == 0 && ++told.granted[node] == 1) {
        told.nodes_granted++;
        told.leases[node] = lease;
    }
    (void)pthread_cond_signal(&told.changed);
    (void)pthread_mutex_unlock(&told.mutex);
}

static void wait_told(const unsigned *counter, unsigned count)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    int failed = 0;
    (void)pthread_mutex_lock(&told.mutex);
    while (*counter < count && failed == 0) {
        failed = pthread_cond_timedwait(&told.changed, &told.mutex, &until);
    }
    unsigned now = *counter;
    (void)pthread_mutex_unlock(&told.mutex);
    ck_assert_msg(now >= count, "%u of %u came", now, count);
}

static char *add_pod(const char *name)
{
    struct kubesim_pod pod = {.name = name, .scheduler = SCHEDULER};

    ck_assert_int_eq(kubesim_create_pod(fixture.sim, &pod), 201);
    return kubesim_text(fixture.sim, "pods", "default", name, "/metadata/uid");
}

static void start(struct replica *replica, const char *node, const char *name,
                  const char *uid, size_t number)
{
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;

    request.node = node;
    request.owner = (struct hami_owner){"default", name, uid};
    request.deadline_ns = hami_nodelock_in_ms(replica->lock, WAIT_MS);
    ck_assert_int_eq(hami_nodelock_acquire_start(replica->lock, &request, hear,
                                                 (void *)(uintptr_t)number, NULL),
                     0);
}

/* ---- a stale lock on each of many nodes, and many who see it at once ---- */

START_TEST(of_forty_that_see_a_stale_lock_exactly_one_takes_it_case_1_11)
{
    struct kubesim_fault latency = {.match = {.verb = "patch"}, .delay_before_ms = 1};
    char node[16], name[16], *uids[RIVALS];

    for (int i = 0; i < NODES; i++) {
        (void)snprintf(node, sizeof(node), "stale%d", i);
        ck_assert_int_eq(kubesim_create_node(fixture.sim, node, NULL, 0), 201);
        (void)kubesim_set_annotation(fixture.sim, "nodes", NULL, node, LOCK,
                                     "2026-01-01T00:00:00Z,default,gone");
        if (i % 2 == 0) { /* else the first take is guarded by the node's version too */
            (void)kubesim_set_annotation(fixture.sim, "nodes", NULL, node,
                                         HAMI_NODELOCK_LEASE_KEY,
                                         "{\"version\":1,\"fence\":\"5\"}");
        }
    }
    for (int i = 0; i < RIVALS; i++) {
        (void)snprintf(name, sizeof(name), "w%d", i);
        uids[i] = add_pod(name);
    }
    (void)kubesim_arm(fixture.sim, &latency);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(node, sizeof(node), "stale%d", i);
        for (int j = 0; j < RIVALS; j++) {
            (void)snprintf(name, sizeof(name), "w%d", j);
            start(&replicas[j % 2], node, name, uids[j], (size_t)i);
        }
    }
    wait_told(&told.nodes_granted, NODES);
    replica_shut(&replicas[0]);
    replica_shut(&replicas[1]);
    wait_told(&told.ended, NODES * RIVALS);
    for (int i = 0; i < NODES; i++) {
        (void)snprintf(node, sizeof(node), "stale%d", i);
        struct kubesim_match won = {.verb = "patch",
                                    .resource = "nodes",
                                    .name = node,
                                    .user = "admin",
                                    .code = 200};
        ck_assert_msg(told.granted[i] == 1, "%s: %u grants", node, told.granted[i]);
        ck_assert_uint_eq(kubesim_count(fixture.sim, &won), 1);
        ck_assert_int_eq(hami_lease_handoff(told.leases[i]), 0);
    }
    for (int i = 0; i < RIVALS; i++) {
        free(uids[i]);
    }
}
END_TEST

/* ---- HAMi on the wire ---- */

static struct peer peer;
static struct peer_store store;

static void beat_before_the_first_write(struct peer *self, enum peer_access access,
                                        unsigned number)
{
    (void)self;
    if (access == PEER_WRITE && number == 0) {
        (void)kubesim_set_annotation(fixture.sim, "nodes", NULL, "n1", "heartbeat", "1");
    }
}

static void start_peer(enum peer_version version)
{
    store = peer_kubesim_store(fixture.sim);
    peer = (struct peer){.version = version,
                         .store = &store,
                         .now_s = (int64_t)time(NULL),
                         .before = beat_before_the_first_write};
}

/* Writes of ours that were applied: one that was judged by an older view is refused. */
static unsigned our_writes(void)
{
    return kubesim_count(fixture.sim, &(struct kubesim_match){.verb = "patch",
                                                              .resource = "nodes",
                                                              .user = "admin",
                                                              .code = 200});
}

static void bind_last(const char *name)
{
    ck_assert_int_eq(told.last_code, 0);
    ck_assert_int_eq(hami_kubernetes_bind(replicas[0].client, told.last,
                                          hami_kubernetes_in_ms(5000), NULL),
                     0);
    ck_assert_int_eq(hami_lease_handoff(told.last), 0);
    ck_assert(kubesim_wait_text(fixture.sim, "pods", "default", name, "/spec/nodeName",
                                "n1", WAIT_MS));
}

static const enum peer_version on_the_wire[] = {PEER_V2_5, PEER_V2_7_0, PEER_V2_7_1,
                                                PEER_V2_10};

START_TEST(hami_by_put_or_merge_patch_and_we_take_turns_on_a_node)
{
    char *a = add_pod("a"), *b = add_pod("b"), *theirs = add_pod("theirs");

    start_peer(on_the_wire[_i]);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_DONE);
    ck_assert_uint_eq(peer.writes, 2); /* the heartbeat cost it one */
    start(&replicas[0], "n1", "a", a, 0);
    /* By the second look at its owner the lock was judged. */
    struct kubesim_match look = {
        .verb = "get", .resource = "pods", .name = "theirs", .user = "admin"};
    ck_assert(kubesim_wait_count(fixture.sim, &look, 2, WAIT_MS));
    ck_assert_uint_eq(our_writes(), 0);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "theirs"), PEER_DONE);
    wait_told(&told.ended, 1);
    ck_assert_int_eq(peer_lock(&peer, "n1", "default", "theirs"), PEER_CONTENTION);
    bind_last("a");
    start(&replicas[0], "n1", "b", b, 1);
    ck_assert_int_eq(peer_release(&peer, "n1", "default", "a"), PEER_DONE);
    wait_told(&told.ended, 2);
    bind_last("b");
    char *lease =
        kubesim_annotation(fixture.sim, "nodes", NULL, "n1", HAMI_NODELOCK_LEASE_KEY);
    ck_assert_ptr_nonnull(strstr(lease, b));
    char *beat = kubesim_annotation(fixture.sim, "nodes", NULL, "n1", "heartbeat");
    ck_assert_ptr_nonnull(beat);
    free(beat);
    free(lease);
    free(a);
    free(b);
    free(theirs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replicas");
    TCase *all = tcase_create("all");

    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 120);
    tcase_add_test(all, of_forty_that_see_a_stale_lock_exactly_one_takes_it_case_1_11);
    tcase_add_loop_test(all, hami_by_put_or_merge_patch_and_we_take_turns_on_a_node, 0,
                        sizeof(on_the_wire) / sizeof(on_the_wire[0]));
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
