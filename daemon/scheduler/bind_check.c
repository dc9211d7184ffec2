/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is checked before a bind may queue. What the watch saw of its pod is enough to let
 * it; where the watch lacks the pod or contradicts, the pod is read. Binds of one node
 * queue in the order of their arrival, whatever the order in which their reads come back:
 * they stand in a gate.
 */
#include "bind_internal.h"

#include <stdio.h>
#include <string.h>

#define READ_MS 3000

static bool is_listed(const char *text, const char *const *list, size_t list_count)
{
    for (size_t i = 0; i < list_count && text != NULL; i++) {
        if (strcmp(text, list[i]) == 0) {
            return true;
        }
    }
    return list_count == 0;
}

/* On the client's thread. */
static void heard_pod(void *data, int code, const struct hami_kubernetes_pod *pod,
                      const char *text)
{
    struct bind *bind = data;
    const struct binder_config *config = &bind->binder->config;
    memset(&bind->told->pod, 0, sizeof(bind->told->pod));
    bind->told->pod.code = code;
    if (code != 0) {
        (void)snprintf(bind->told->pod.text, sizeof(bind->told->pod.text), "%s",
                       text != NULL ? text : "");
    } else {
        const char *uid = pod->facts.uid != NULL ? pod->facts.uid : "";
        const char *node = pod->facts.node != NULL ? pod->facts.node : "";
        bind->told->pod.exists = pod->facts.exists;
        bind->told->pod.is_ours =
            pod->facts.exists && strcmp(uid, bind->request.uid) == 0;
        lock_table_judge(bind->locks, pod->resources, pod->resource_count,
                         &bind->told->pod.needs);
        bind->told->pod.is_served =
            is_listed(pod->scheduler_name, config->scheduler_names,
                      config->scheduler_name_count) &&
            bind->told->pod.needs.is_managed;
        if (config->side_by_side) {
            (void)lock_table_calls(bind->locks, &bind->told->pod.needs, pod->calls,
                                   pod->call_count, bind->told->pod.calls);
        }
        bind->told->pod.priority = pod->priority;
        (void)snprintf(bind->told->pod.group, sizeof(bind->told->pod.group), "%s",
                       pod->group != NULL ? pod->group : "");
        (void)snprintf(bind->told->pod.node, sizeof(bind->told->pod.node), "%s", node);
        bind->told->pod.is_read = pod->facts.source == HAMI_FACTS_READ;
    }
    hamid_mailbox_post(config->mailbox, &bind->letter);
}

int bind_read_pod(struct bind *bind, uint64_t milliseconds,
                  void (*open)(struct hamid_letter *letter))
{
    bind->letter.open = open;
    bind->read_ns = hami_kubernetes_now();
    return hami_kubernetes_read_pod_start(
        bind->binder->config.client, bind->request.namespace_name, bind->request.name,
        hami_kubernetes_in_ms(milliseconds), heard_pod, bind);
}

struct bind *bind_of_letter(struct hamid_letter *letter)
{
    return (struct bind *)((char *)letter - offsetof(struct bind, letter));
}

/* ---- the gate ------------------------------------------------------------------- */

static struct bind_gate *gate_of(struct bind *bind)
{
    return &bind->binder->gates[bind_table_hash(bind->request.node)];
}

/* Binds of one node queue in the order of their arrival, in whatever order their reads
 * come back. */
static void pass_gate(struct bind_gate *gate)
{
    struct bind *first = TAILQ_FIRST(gate);
    while (first != NULL && first->checked) {
        TAILQ_REMOVE(gate, first, gate);
        if (first->abandoned) {
            bind_finish(first, BIND_abandoned, "the caller has gone");
        } else if (first->told->pod.needs.is_exempt) {
            bind_without_lock(first);
        } else {
            bind_queue(first);
        }
        first = TAILQ_FIRST(gate);
    }
}

/* Why a bind does not get to the queue, into bind->told->text. */
static enum bind_outcome describe_refusal(struct bind *bind)
{
    const struct bind_request *request = &bind->request;
    const struct bind_pod *pod = &bind->told->pod;
    char name[320];
    (void)snprintf(name, sizeof(name), "%s/%s", request->namespace_name, request->name);
    if (pod->code != 0) {
        (void)snprintf(bind->told->text, sizeof(bind->told->text),
                       "could not read pod %s: %s%s%s", name, hami_strerror(pod->code),
                       pod->text[0] != '\0' ? ": " : "", pod->text);
        return BIND_error;
    }
    if (!pod->is_ours) {
        (void)snprintf(bind->told->text, sizeof(bind->told->text),
                       "there is no pod %s with uid %s%s", name, request->uid,
                       pod->exists ? "; the pod of that name is another one" : "");
    } else if (pod->node[0] != '\0') {
        (void)snprintf(bind->told->text, sizeof(bind->told->text),
                       "pod %s is bound to node %s already", name, pod->node);
    } else {
        (void)snprintf(
            bind->told->text, sizeof(bind->told->text),
            "pod %s is not served here: its scheduler is not one of --scheduler-name, or "
            "it asks for none of --managed-resource",
            name);
    }
    return BIND_refused;
}

static void opened_check(struct hamid_letter *letter);

/* A read that ran out of its time says nothing about the pod: a thousand others may stand
 * before it. One that failed sooner does: the API server can't be reached. */
static bool reads_again(struct bind *bind)
{
    uint64_t now = hami_kubernetes_now();
    bool is_late = bind->told->pod.code == HAMI_E_TRANSPORT &&
                   now >= bind->read_ns + READ_MS * 1000000ull;
    bool has_time = now + READ_MS * 1000000ull < bind_answer_deadline(bind, 1);
    return is_late && has_time && !bind->abandoned && !bind->binder->draining &&
           bind_read_pod(bind, READ_MS, opened_check) == 0;
}

/* What a watch saw may be old: it lets a pod queue, and refuses none. */
static bool reads_first(struct bind *bind, bool is_fit)
{
    const struct bind_pod *pod = &bind->told->pod;
    return pod->code == 0 && !pod->is_read && !is_fit && !bind->abandoned &&
           bind_read_pod(bind, READ_MS, opened_check) == 0;
}

static void opened_check(struct hamid_letter *letter)
{
    struct bind *bind = bind_of_letter(letter);
    struct bind_gate *gate = gate_of(bind);
    const struct bind_pod *pod = &bind->told->pod;
    bool is_known = pod->code == 0 && pod->is_ours;
    bool is_fit = is_known && pod->node[0] == '\0' && pod->is_served;
    if (reads_again(bind) || reads_first(bind, is_fit)) {
        return;
    }
    if (is_fit) {
        bind->checked = true;
        pass_gate(gate);
        return;
    }
    TAILQ_REMOVE(gate, bind, gate);
    if (is_known && strcmp(pod->node, bind->request.node) == 0) {
        bind_finish(bind, BIND_bound, "");
    } else {
        enum bind_outcome outcome = describe_refusal(bind);
        bind_finish(bind, bind->abandoned ? BIND_abandoned : outcome, bind->told->text);
    }
    pass_gate(gate);
}

static int find_pod(struct bind *bind)
{
    bind->letter.open = opened_check;
    bind->read_ns = hami_kubernetes_now();
    return hami_kubernetes_find_pod_start(
        bind->binder->config.transport, bind->request.namespace_name, bind->request.name,
        hami_kubernetes_in_ms(READ_MS), heard_pod, bind);
}

/* A bind that is in the table sets out. */
void bind_start(struct bind *bind)
{
    struct binder *binder = bind->binder;
    bool is_recent =
        bind_table_is_recent(&binder->table, bind->request.uid, hami_kubernetes_now());
    bool wants_check = binder->config.lanes || binder->config.side_by_side ||
                       binder->config.scheduler_name_count > 0 ||
                       lock_table_wants_pod(bind->locks) || is_recent;
    if (!wants_check) {
        bind_queue(bind);
        return;
    }
    bind->state = BIND_STATE_CHECKING;
    TAILQ_INSERT_TAIL(gate_of(bind), bind, gate);
    int code = binder->config.transport != NULL && !is_recent
                   ? find_pod(bind)
                   : bind_read_pod(bind, READ_MS, opened_check);
    if (code != 0) {
        bind->told->pod.code = code;
        opened_check(&bind->letter);
    }
}
