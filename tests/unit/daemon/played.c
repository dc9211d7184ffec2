/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Libraries that a test plays: just what the binder calls.
 */
#include "played.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <event2/event.h>

#include "log.h"
#include "mailbox.h"

struct hami_wait waits[ASKED_MAX];
size_t wait_count;
struct hami_lease leases[ASKED_MAX];
size_t lease_count;
struct asked bindings[ASKED_MAX];
size_t binding_count;
struct asked requests[ASKED_MAX];
size_t request_count;
struct asked reads[ASKED_MAX];
struct asked finds[ASKED_MAX];
size_t read_count;
size_t find_count;
int acquire_answer;
int snapshots;
static struct event_base *base;
static struct hamid_mailbox *mailbox;
struct metrics metrics;
struct binder *binder;

/* ---- the libraries -------------------------------------------------------------- */

uint64_t played_later_ns;

uint64_t hami_kubernetes_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + played_later_ns;
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

int hami_kubernetes_calls(hami_kubernetes *client, struct hami_kubernetes_calls *ret)
{
    (void)client;
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
    (void)snprintf(wait->calls, sizeof(wait->calls), "%s",
                   request->calls != NULL ? request->calls : "alone");
    for (size_t i = 0; i < request->key_count; i++) {
        size_t length = strlen(wait->keys);
        (void)snprintf(wait->keys + length, sizeof(wait->keys) - length, "%s%s",
                       i > 0 ? " " : "", request->keys[i]);
    }
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

int hami_kubernetes_request_start(hami_kubernetes *client,
                                  const struct hami_kubernetes_request *request,
                                  hami_kubernetes_answered_fn callback, void *data)
{
    (void)client;
    (void)request;
    requests[request_count++] = (struct asked){.data = data, .answered = callback};
    return 0;
}

int hami_lease_key(const char *lock_key, char *buffer, size_t size)
{
    (void)buffer;
    (void)size;
    return strchr(lock_key, '/') != NULL ? 0 : HAMI_E_INVAL;
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

int hami_kubernetes_find_pod_start(struct hami_transport *transport,
                                   const char *namespace_name, const char *name,
                                   uint64_t deadline_ns, hami_kubernetes_pod_fn callback,
                                   void *data)
{
    (void)transport;
    (void)namespace_name;
    (void)name;
    (void)deadline_ns;
    finds[find_count++] = (struct asked){.data = data, .read = callback};
    return 0;
}

/* ---- steps ---------------------------------------------------------------------- */

void set_up(struct binder_config config)
{
    hamid_log_setup(0, false);
    wait_count = lease_count = binding_count = read_count = find_count = request_count =
        0;
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
    (void)lock_table_unref(config.locks);
}

void set_up_default(void)
{
    set_up((struct binder_config){0});
}

void tear_down(void)
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

void ask(struct caller *caller, const char *uid, const char *node)
{
    struct bind_request request = {.namespace_name = "ns", .name = "a"};
    (void)snprintf(request.uid, sizeof(request.uid), "%s", uid);
    (void)snprintf(request.node, sizeof(request.node), "%s", node);
    memset(caller, 0, sizeof(*caller));
    caller->handle = binder_ask(binder, &request, answered, caller);
    ck_assert(caller->answered == (caller->handle == NULL));
}

void end_wait(size_t index, int code, const char *text)
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

void end_binding(size_t index, int code, const char *text)
{
    struct hami_error error = HAMI_ERROR_INIT;
    (void)snprintf(error.text, sizeof(error.text), "%s", text);
    bindings[index].bound(bindings[index].data, code, &error);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

static void tell_pod(const struct asked *asked, enum hami_facts_source source,
                     const char *uid, const char *node, const char *scheduler,
                     const char *resource)
{
    char words[2048] = "";
    char calls[2048] = "";
    const char *resources[ASKED_MAX];
    const char *called[ASKED_MAX];
    size_t count = 0;
    size_t call_count = 0;
    (void)snprintf(words, sizeof(words), "%s", resource != NULL ? resource : "");
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        char *copy = calls + (word - words);
        memcpy(copy, word, strlen(word) + 1);
        if (strchr(copy, '=') != NULL || strcmp(copy, "?") == 0) {
            called[call_count++] = copy;
        }
        word[strcspn(word, "=")] = '\0';
        resources[count++] = word;
    }
    struct hami_kubernetes_pod pod = {.size = sizeof(pod),
                                      .scheduler_name = scheduler,
                                      .resources = resources,
                                      .resource_count = count,
                                      .calls = called,
                                      .call_count = call_count};
    pod.facts.source = source;
    pod.facts.known = true;
    pod.facts.exists = uid != NULL;
    pod.facts.uid = uid;
    pod.facts.node = node;
    asked->read(asked->data, 0, &pod, NULL);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

void end_read(size_t index, const char *uid, const char *node, const char *scheduler,
              const char *resource)
{
    tell_pod(&reads[index], HAMI_FACTS_READ, uid, node, scheduler, resource);
}

void end_find(size_t index, const char *uid, const char *scheduler, const char *resource)
{
    tell_pod(&finds[index], HAMI_FACTS_WATCH, uid, NULL, scheduler, resource);
}

void end_request(size_t index, int code, int status)
{
    struct hami_kubernetes_answer answer = {
        .size = sizeof(answer), .code = code, .status = status, .body = "", .text = ""};
    requests[index].answered(requests[index].data, &answer);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}

void fail_read(size_t index, int code, const char *text)
{
    reads[index].read(reads[index].data, code, NULL, text);
    (void)event_base_loop(base, EVLOOP_NONBLOCK);
}
