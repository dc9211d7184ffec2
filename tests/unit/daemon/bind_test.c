/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds against libraries that this file plays: it decides when an acquire is granted,
 * when a Binding is answered and what a read of the pod tells, and sees what was asked
 * for.
 */
#include "bind.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "log.h"
#include "mailbox.h"
#include "suite.h"

#define ASKED_MAX 64

/* ---- the libraries, played ------------------------------------------------------ */

struct hami_wait {
    hami_acquired_fn callback;
    void *data;
    uint64_t deadline_ns;
    char node[64];
    char uid[64];
    bool aborted;
    bool ended;
};

struct hami_lease {
    const char *node;
    bool released;
    bool handed_off;
};

struct asked {
    void *data;
    hami_done_fn bound;
    hami_kubernetes_pod_fn read;
};

static struct hami_wait waits[ASKED_MAX];
static size_t wait_count;
static struct hami_lease leases[ASKED_MAX];
static size_t lease_count;
static struct asked bindings[ASKED_MAX];
static size_t binding_count;
static struct asked reads[ASKED_MAX];
static size_t read_count;
static int acquire_answer;
static int snapshots;

uint64_t hami_kubernetes_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t hami_kubernetes_in_ms(uint64_t ms)
{
    return hami_kubernetes_now() + ms * 1000000;
}

uint64_t hami_nodelock_now(const hami_nodelock *lock)
{
    (void)lock;
    return hami_kubernetes_now();
}

const char *hami_strerror(int code)
{
    return code == 0 ? "success" : "meaning of the code";
}

const char *hami_version(void)
{
    return HAMI_VERSION_STRING;
}

int hami_nodelock_stats(const hami_nodelock *lock, struct hami_nodelock_stats *ret)
{
    (void)lock;
    (void)ret;
    return HAMI_E_INVAL;
}

int hami_kubernetes_stats(hami_kubernetes *client, struct hami_kubernetes_stats *ret)
{
    (void)client;
    (void)ret;
    return HAMI_E_INVAL;
}

int hami_lease_facts(const hami_lease *lease, struct hami_lease_view *ret)
{
    (void)lease;
    (void)ret;
    return HAMI_E_INVAL;
}

int hami_nodelock_snapshot(hami_nodelock *lock, const char *node,
                           hami_snapshot_fn visitor, void *data)
{
    struct hami_slot_view slot = {.key = HAMI_NODELOCK_KEY,
                                  .state = HAMI_SLOT_HANDED_OFF,
                                  .value = "2026-01-01T00:00:00Z,ns,holder",
                                  .owner = {"ns", "holder", "u"},
                                  .since_ns = 1};
    struct hami_node_view view = {.node = node, .slots = &slot, .slot_count = 1};
    (void)lock;
    snapshots++;
    (void)visitor(data, &view);
    return 0;
}

int hami_nodelock_acquire_start(hami_nodelock *lock,
                                const struct hami_nodelock_request *request,
                                hami_acquired_fn callback, void *data, hami_wait **ret)
{
    (void)lock;
    if (acquire_answer != 0) {
        return acquire_answer;
    }
    struct hami_wait *wait = &waits[wait_count++];
    memset(wait, 0, sizeof(*wait));
    wait->callback = callback;
    wait->data = data;
    wait->deadline_ns = request->deadline_ns;
    (void)snprintf(wait->node, sizeof(wait->node), "%s", request->node);
    (void)snprintf(wait->uid, sizeof(wait->uid), "%s", request->owner.uid);
    *ret = wait;
    return 0;
}

int hami_wait_abort(hami_wait *wait)
{
    wait->aborted = true;
    return 0;
}

int hami_lease_release_start(hami_lease *lease, uint64_t deadline_ns,
                             hami_done_fn callback, void *data)
{
    (void)deadline_ns;
    (void)callback;
    (void)data;
    lease->released = true;
    return 0;
}

int hami_lease_handoff(hami_lease *lease)
{
    lease->handed_off = true;
    return 0;
}

int hami_kubernetes_bind_start(hami_kubernetes *client, const hami_lease *lease,
                               uint64_t deadline_ns, hami_done_fn callback, void *data)
{
    (void)client;
    (void)lease;
    (void)deadline_ns;
    bindings[binding_count++] = (struct asked){.data = data, .bound = callback};
    return 0;
}

int hami_kubernetes_read_pod_start(hami_kubernetes *client, const char *namespace_name,
                                   const char *name, uint64_t deadline_ns,
                                   hami_kubernetes_pod_fn callback, void *data)
{
    (void)client;
    (void)namespace_name;
    (void)name;
    (void)deadline_ns;
    reads[read_count++] = (struct asked){.data = data, .read = callback};
    return 0;
}

/* ---- steps ---------------------------------------------------------------------- */

static struct event_base *base;
static struct hamid_mailbox *mailbox;
static struct metrics metrics;
static struct binder *binder;

struct caller {
    struct bind_caller *handle;
    bool answered;
    char error[BIND_ERROR_MAX];
};

static void set_up(struct binder_config config)
{
    hamid_log_setup(0, false);
    wait_count = lease_count = binding_count = read_count = 0;
    acquire_answer = snapshots = 0;
    memset(&metrics, 0, sizeof(metrics));
    memset(leases, 0, sizeof(leases));
    base = event_base_new();
    mailbox = hamid_mailbox_new(base, NULL, NULL);
    config.mailbox = mailbox;
    config.metrics = &metrics;
    config.patience_ms = config.patience_ms != 0 ? config.patience_ms : 30000;
    config.lock_expire_ms = 300000;
    binder = binder_new(&config);
}

static void set_up_default(void)
{
    set_up((struct binder_config){0});
}

static void tear_down(void)
{
    ck_assert_uint_eq(binder_in_flight(binder), 0);
    mailbox = hamid_mailbox_free(mailbox);
    binder = binder_free(binder);
    event_base_free(base);
}

static void answered(void *data, const char *error)
{
    struct caller *caller = data;
    ck_assert(!caller->answered);
    caller->answered = true;
    (void)snprintf(caller->error, sizeof(caller->error), "%s", error);
}

static void ask(struct caller *caller, const char *uid, const char *node)
{
    struct bind_request request = {.namespace_name = "ns", .name = "a"};
    (void)snprintf(request.uid, sizeof(request.uid), "%s", uid);
    (void)snprintf(request.node, sizeof(request.node), "%s", node);
    memset(caller, 0, sizeof(*caller));
    caller->handle = binder_ask(binder, &request, answered, caller);
    ck_assert(caller->answered == (caller->handle == NULL));
}

static void end_wait(size_t index, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;
    hami_lease *lease = NULL;
    (void)snprintf(error.text, sizeof(error.text), "%s", text);
    waits[index].ended = true;
    if (code == 0) {
        lease = &leases[lease_count++];
        lease->node = waits[index].node;
    }
    waits[index].callback(waits[index].data, code, lease, &error);
}

static void end_binding(size_t index, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;
    (void)snprintf(error.text, sizeof(error.text), "%s", text);
    bindings[index].bound(bindings[index].data, code, &error);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void end_read(size_t index, const char *uid, const char *node,
                     const char *scheduler, const char *resource)
{
    const char *resources[] = {resource};
    struct hami_kubernetes_pod pod = {.size = sizeof(pod),
                                      .scheduler_name = scheduler,
                                      .resources = resources,
                                      .resource_count = resource != NULL ? 1 : 0};
    pod.facts.known = true;
    pod.facts.exists = uid != NULL;
    pod.facts.uid = uid;
    pod.facts.node = node;
    reads[index].read(reads[index].data, 0, &pod, NULL);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void fail_read(size_t index, int code, const char *text)
{
    reads[index].read(reads[index].data, code, NULL, text);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

/* ---- tests ---------------------------------------------------------------------- */

START_TEST(test_a_bind_acquires_binds_and_hands_the_lock_off)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    ck_assert_str_eq(waits[0].node, "n1");
    ck_assert_str_eq(waits[0].uid, "u1");
    ck_assert_uint_eq(read_count, 0);
    end_wait(0, 0, "");
    ck_assert_uint_eq(binding_count, 1);
    ck_assert(!a.answered);
    end_binding(0, 0, "");
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    ck_assert(leases[0].handed_off && !leases[0].released);
    ck_assert_uint_eq(metrics.binds[BIND_bound], 1);
    ck_assert_uint_eq(metrics.acquires[ACQUIRE_granted], 1);
    tear_down();
}
END_TEST

START_TEST(test_case_3_03_the_wait_ends_a_margin_before_the_callers_patience)
{
    static const struct {
        uint64_t patience_ms;
        uint64_t margin_ms;
    } rows[] = {{30000, 2000}, {600000, 2000}, {2000, 200}, {100, 10}};
    struct caller a;
    set_up((struct binder_config){.patience_ms = rows[_i].patience_ms});
    uint64_t before = hami_kubernetes_now();
    ask(&a, "u1", "n1");
    uint64_t after = hami_kubernetes_now();
    uint64_t wait_ns = (rows[_i].patience_ms - rows[_i].margin_ms) * 1000000;
    ck_assert_uint_ge(waits[0].deadline_ns, before + wait_ns);
    ck_assert_uint_le(waits[0].deadline_ns, after + wait_ns);
    end_wait(0, HAMI_E_TIMEDOUT, "position 3 of 40");
    ck_assert_str_eq(strstr(a.error, "node lock contention"), a.error);
    ck_assert_ptr_nonnull(strstr(a.error, "has been locked within 5m0s"));
    ck_assert_ptr_nonnull(strstr(a.error, "by pod ns/holder"));
    ck_assert_ptr_nonnull(strstr(a.error, "position 3 of 40"));
    ck_assert_uint_eq(metrics.binds[BIND_contention], 1);
    tear_down();
}
END_TEST

START_TEST(test_the_node_is_not_looked_at_for_each_of_many_that_end_at_once)
{
    struct caller callers[20];
    char uid[8];
    set_up_default();
    for (int i = 0; i < 20; i++) {
        (void)snprintf(uid, sizeof(uid), "u%d", i);
        ask(&callers[i], uid, "n1");
    }
    for (int i = 0; i < 20; i++) {
        end_wait((size_t)i, HAMI_E_LIMIT, "");
        ck_assert_ptr_nonnull(strstr(callers[i].error, "ns/holder"));
    }
    ck_assert_int_lt(snapshots, 5);
    tear_down();
}
END_TEST

START_TEST(test_case_1_20_a_second_request_joins_the_one_in_flight)
{
    struct caller first;
    struct caller second;
    struct caller third;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n1");
    end_wait(0, 0, "");
    ask(&third, "u1", "n1");
    ck_assert_uint_eq(wait_count, 1);
    end_binding(0, 0, "");
    ck_assert_uint_eq(binding_count, 1);
    ck_assert(first.answered && second.answered && third.answered);
    ck_assert_str_eq(second.error, "");
    ck_assert_uint_eq(metrics.joined, 2);
    tear_down();
}
END_TEST

START_TEST(test_case_1_20_a_pod_bound_a_moment_ago_is_answered_by_one_read)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    end_binding(0, 0, "");
    ask(&a, "u1", "n1");
    ck_assert_uint_eq(read_count, 1);
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    ck_assert_uint_eq(wait_count, 1);
    /* Another node is told where the pod is. */
    ask(&a, "u1", "n2");
    end_read(1, "u1", "n1", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "bound to node n1 already"));
    /* If the pod turns out unbound, it queues like any other. */
    ask(&a, "u1", "n1");
    end_read(2, "u1", "", "x", NULL);
    ck_assert_uint_eq(wait_count, 2);
    end_wait(1, HAMI_E_NODE, "");
    ck_assert_ptr_nonnull(strstr(a.error, "there is no node n1"));
    tear_down();
}
END_TEST

START_TEST(test_a_bind_to_another_node_ends_the_queued_one)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n2");
    ck_assert(first.answered);
    ck_assert_ptr_nonnull(strstr(first.error, "superseded"));
    ck_assert(waits[0].aborted);
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_uint_eq(wait_count, 2);
    ck_assert_str_eq(waits[1].node, "n2");
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert(second.answered);
    ck_assert_str_eq(second.error, "");
    tear_down();
}
END_TEST

START_TEST(test_a_bind_to_another_node_waits_for_the_answer_of_a_posted_one)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    end_wait(0, 0, "");
    ask(&second, "u1", "n2");
    ck_assert(!first.answered && !second.answered);
    ck_assert_uint_eq(wait_count, 1);
    end_binding(0, 0, "");
    ck_assert_str_eq(first.error, "");
    ck_assert_ptr_nonnull(strstr(second.error, "bound to node n1 already"));
    /* Where the posted one failed, it sets out. */
    ask(&first, "u2", "n1");
    end_wait(1, 0, "");
    ask(&second, "u2", "n2");
    end_binding(1, HAMI_E_TRANSPORT, "no way");
    ck_assert_ptr_nonnull(strstr(first.error, "no way"));
    ck_assert(leases[1].released);
    ck_assert_str_eq(waits[2].node, "n2");
    end_wait(2, HAMI_E_TIMEDOUT, "");
    tear_down();
}
END_TEST

START_TEST(test_of_three_nodes_asked_for_in_turn_the_last_one_is_tried)
{
    struct caller callers[4];
    set_up_default();
    ask(&callers[0], "u1", "n1");
    ask(&callers[1], "u1", "n2");
    ask(&callers[2], "u1", "n3");
    ask(&callers[3], "u1", "n3");
    ck_assert(callers[0].answered && callers[1].answered);
    ck_assert_ptr_nonnull(strstr(callers[1].error,
                                 "superseded by a bind of the same pod to "
                                 "node n3"));
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_str_eq(waits[1].node, "n3");
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert_str_eq(callers[2].error, "");
    ck_assert_str_eq(callers[3].error, "");
    tear_down();
}
END_TEST

START_TEST(test_case_3_33_the_last_caller_that_leaves_takes_the_queued_bind_along)
{
    struct caller first;
    struct caller second;
    set_up_default();
    ask(&first, "u1", "n1");
    ask(&second, "u1", "n1");
    binder_leave(first.handle);
    ck_assert(!waits[0].aborted);
    binder_leave(second.handle);
    ck_assert(waits[0].aborted);
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert(!first.answered && !second.answered);
    ck_assert_uint_eq(metrics.binds[BIND_abandoned], 2);
    tear_down();
}
END_TEST

START_TEST(test_a_grant_that_comes_after_the_caller_left_is_given_back_unbound)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    binder_leave(a.handle);
    end_wait(0, 0, "");
    ck_assert_uint_eq(binding_count, 0);
    ck_assert(leases[0].released);
    tear_down();
}
END_TEST

START_TEST(test_a_retry_that_meets_its_own_dying_predecessor_starts_anew)
{
    struct caller first;
    struct caller second;
    struct caller third;
    set_up_default();
    ask(&first, "u1", "n1");
    binder_leave(first.handle);
    ask(&second, "u1", "n1");
    binder_leave(second.handle);
    ask(&third, "u1", "n1");
    end_wait(0, HAMI_E_CANCELED, "");
    ck_assert_uint_eq(wait_count, 2);
    ck_assert(!waits[1].aborted);
    end_wait(1, 0, "");
    end_binding(0, 0, "");
    ck_assert(third.answered);
    ck_assert_str_eq(third.error, "");
    tear_down();
}
END_TEST

START_TEST(test_case_3_01_a_posted_binding_is_finished_for_nobody)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    binder_leave(a.handle);
    ck_assert_uint_eq(binder_in_flight(binder), 1);
    end_binding(0, 0, "");
    ck_assert(leases[0].handed_off);
    ck_assert_uint_eq(binder_in_flight(binder), 0);
    ask(&a, "u1", "n1");
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert_str_eq(a.error, "");
    tear_down();
}
END_TEST

START_TEST(test_a_binding_in_doubt_is_handed_off_and_the_pod_is_asked)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, 0, "");
    end_binding(0, HAMI_E_IN_DOUBT, "connection lost");
    ck_assert(leases[0].handed_off && !leases[0].released);
    ck_assert(!a.answered);
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert_str_eq(a.error, "");
    ask(&a, "u2", "n1");
    end_wait(1, 0, "");
    end_binding(1, HAMI_E_IN_DOUBT, "connection lost");
    fail_read(1, HAMI_E_TRANSPORT, "");
    ck_assert_ptr_nonnull(strstr(a.error, "connection lost"));
    ck_assert_uint_eq(metrics.binds[BIND_in_doubt], 1);
    tear_down();
}
END_TEST

START_TEST(test_case_3_12_a_lock_or_binding_that_the_pod_cant_use_any_more_is_an_error)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, HAMI_E_LOST, "assigned to node n2");
    end_read(0, "u1", "", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "assigned to node n2"));
    ck_assert_uint_eq(binding_count, 0);
    ask(&a, "u1", "n1");
    end_wait(1, 0, "");
    end_binding(0, HAMI_E_LOST, "revoked");
    ck_assert(leases[0].released);
    end_read(1, "u9", "n1", "x", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "revoked"));
    ck_assert_uint_eq(metrics.binds[BIND_refused], 2);
    tear_down();
}
END_TEST

START_TEST(test_lost_for_a_pod_that_is_bound_here_is_success)
{
    struct caller a;
    set_up_default();
    ask(&a, "u1", "n1");
    end_wait(0, HAMI_E_LOST, "bound");
    end_read(0, "u1", "n1", "x", NULL);
    ck_assert(a.answered);
    ck_assert_str_eq(a.error, "");
    tear_down();
}
END_TEST

static struct binder_config strict(void)
{
    static const char *const names[] = {"hami-scheduler"};
    static const char *const resources[] = {"nvidia.com/gpu", "nvidia.com/gpumem"};
    return (struct binder_config){.scheduler_names = names,
                                  .scheduler_name_count = 1,
                                  .managed_resources = resources,
                                  .managed_resource_count = 2};
}

START_TEST(test_only_pods_of_listed_schedulers_and_resources_are_served)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    end_read(0, "u1", "", "hami-scheduler", "nvidia.com/gpumem");
    ck_assert_uint_eq(wait_count, 1);
    end_wait(0, HAMI_E_TIMEDOUT, "");
    ask(&a, "u2", "n1");
    end_read(1, "u2", "", "default-scheduler", "nvidia.com/gpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ask(&a, "u3", "n1");
    end_read(2, "u3", "", "hami-scheduler", "cpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ask(&a, "u4", "n1");
    end_read(3, "u4", "", "hami-scheduler", NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "is not served here"));
    ck_assert_uint_eq(wait_count, 1);
    tear_down();
}
END_TEST

START_TEST(test_a_pod_that_is_not_there_is_told_before_the_queue)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    end_read(0, NULL, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(strstr(a.error, "there is no pod ns/a with uid u1"));
    ask(&a, "u1", "n1");
    end_read(1, "u2", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_ptr_nonnull(strstr(a.error, "is another one"));
    ask(&a, "u1", "n1");
    fail_read(2, HAMI_E_TRANSPORT, "connection refused");
    ck_assert_ptr_nonnull(strstr(a.error, "could not read pod ns/a"));
    ck_assert_ptr_nonnull(strstr(a.error, "connection refused"));
    ck_assert_uint_eq(wait_count, 0);
    tear_down();
}
END_TEST

START_TEST(test_binds_queue_in_the_order_of_arrival_however_their_reads_come_back)
{
    struct caller callers[4];
    set_up(strict());
    ask(&callers[0], "u0", "n1");
    ask(&callers[1], "u1", "n1");
    ask(&callers[2], "u2", "n1");
    ask(&callers[3], "u3", "n1");
    end_read(3, "u3", "", "hami-scheduler", "nvidia.com/gpu");
    end_read(1, "u1", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 0);
    end_read(0, "u0", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 2);
    end_read(2, NULL, NULL, NULL, NULL);
    ck_assert_uint_eq(wait_count, 3);
    ck_assert_str_eq(waits[0].uid, "u0");
    ck_assert_str_eq(waits[1].uid, "u1");
    ck_assert_str_eq(waits[2].uid, "u3");
    for (size_t i = 0; i < 3; i++) {
        end_wait(i, HAMI_E_TIMEDOUT, "");
    }
    tear_down();
}
END_TEST

START_TEST(test_a_caller_that_leaves_while_its_pod_is_read_never_queues)
{
    struct caller a;
    set_up(strict());
    ask(&a, "u1", "n1");
    binder_leave(a.handle);
    end_read(0, "u1", "", "hami-scheduler", "nvidia.com/gpu");
    ck_assert_uint_eq(wait_count, 0);
    tear_down();
}
END_TEST

START_TEST(test_case_3_18_draining_answers_all_that_is_not_posted)
{
    struct caller queued;
    struct caller posted;
    struct caller behind;
    struct caller late;
    set_up_default();
    ask(&queued, "u1", "n1");
    ask(&posted, "u2", "n2");
    end_wait(1, 0, "");
    ask(&behind, "u2", "n3");
    binder_drain(binder);
    ck_assert(behind.answered);
    end_wait(0, HAMI_E_CLOSED, ""); /* what the manager's shutdown does */
    ck_assert_ptr_nonnull(strstr(queued.error, "shutting down"));
    ask(&late, "u3", "n1");
    ck_assert_ptr_nonnull(strstr(late.error, "shutting down"));
    end_binding(0, 0, "");
    ck_assert_str_eq(posted.error, "");
    tear_down();
}
END_TEST

START_TEST(test_an_acquire_that_cant_start_is_told_at_once)
{
    struct caller a;
    set_up_default();
    acquire_answer = HAMI_E_LIMIT;
    ask(&a, "u1", "n1");
    ck_assert_ptr_nonnull(strstr(a.error, "node lock contention"));
    acquire_answer = HAMI_E_NOMEM;
    ask(&a, "u1", "n1");
    ck_assert_ptr_nonnull(strstr(a.error, "could not lock node n1"));
    ck_assert_uint_eq(metrics.acquires[ACQUIRE_limit], 1);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("binds");
    TCase *all = tcase_create("all");
    tcase_add_test(all, test_a_bind_acquires_binds_and_hands_the_lock_off);
    tcase_add_loop_test(
        all, test_case_3_03_the_wait_ends_a_margin_before_the_callers_patience, 0, 4);
    tcase_add_test(all, test_the_node_is_not_looked_at_for_each_of_many_that_end_at_once);
    tcase_add_test(all, test_case_1_20_a_second_request_joins_the_one_in_flight);
    tcase_add_test(all, test_case_1_20_a_pod_bound_a_moment_ago_is_answered_by_one_read);
    tcase_add_test(all, test_a_bind_to_another_node_ends_the_queued_one);
    tcase_add_test(all, test_a_bind_to_another_node_waits_for_the_answer_of_a_posted_one);
    tcase_add_test(all, test_of_three_nodes_asked_for_in_turn_the_last_one_is_tried);
    tcase_add_test(
        all, test_case_3_33_the_last_caller_that_leaves_takes_the_queued_bind_along);
    tcase_add_test(all,
                   test_a_grant_that_comes_after_the_caller_left_is_given_back_unbound);
    tcase_add_test(all, test_a_retry_that_meets_its_own_dying_predecessor_starts_anew);
    tcase_add_test(all, test_case_3_01_a_posted_binding_is_finished_for_nobody);
    tcase_add_test(all, test_a_binding_in_doubt_is_handed_off_and_the_pod_is_asked);
    tcase_add_test(
        all, test_case_3_12_a_lock_or_binding_that_the_pod_cant_use_any_more_is_an_error);
    tcase_add_test(all, test_lost_for_a_pod_that_is_bound_here_is_success);
    tcase_add_test(all, test_only_pods_of_listed_schedulers_and_resources_are_served);
    tcase_add_test(all, test_a_pod_that_is_not_there_is_told_before_the_queue);
    tcase_add_test(
        all, test_binds_queue_in_the_order_of_arrival_however_their_reads_come_back);
    tcase_add_test(all, test_a_caller_that_leaves_while_its_pod_is_read_never_queues);
    tcase_add_test(all, test_case_3_18_draining_answers_all_that_is_not_posted);
    tcase_add_test(all, test_an_acquire_that_cant_start_is_told_at_once);
    suite_add_tcase(suite, all);
    return run_suite(suite);
}
