/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests and binds: who joins whom, who stands behind whom, who ends when his last
 * caller has gone. A bind is in the table from bind_start() until bind_finish(), and
 * freed there.
 */
#include "bind_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* Nobody wants it any more: what is not posted yet ends. */
static void abandon(struct bind *bind)
{
    if (bind->state != BIND_STATE_CHECKING && bind->state != BIND_STATE_QUEUED) {
        return;
    }
    bind->abandoned = true;
    if (bind->wait != NULL) {
        (void)hami_wait_abort(bind->wait);
    }
}

static struct bind *new_bind(struct binder *binder, const struct bind_request *request)
{
    struct bind *bind = calloc(1, sizeof(*bind));
    struct bind_told *told = calloc(1, sizeof(*told));
    if (bind == NULL || told == NULL) {
        free(bind);
        free(told);
        return NULL;
    }
    bind->told = told;
    bind->binder = binder;
    bind->request = *request;
    (void)hamid_trace(bind->trace, request->uid, request->node);
    bind->arrival_ns = hami_kubernetes_now();
    bind->patience_ms = binder->config.patience_ms;
    bind->locks = lock_table_ref(binder->config.locks);
    LIST_INIT(&bind->callers);
    return bind;
}

static void join(struct bind *bind, struct bind_caller *caller)
{
    caller->bind = bind;
    LIST_INSERT_HEAD(&bind->callers, caller, siblings);
}

/* The same pod is in flight: join it, or stand behind it. False without memory. */
static bool stand_behind(struct bind *current, const struct bind_request *request,
                         struct bind_caller *caller)
{
    struct binder *binder = current->binder;
    bool is_same_node = strcmp(current->request.node, request->node) == 0;
    if (is_same_node && !current->abandoned && current->successor == NULL) {
        binder->config.metrics->joined++;
        join(current, caller);
        return true;
    }
    if (current->successor != NULL &&
        strcmp(current->successor->request.node, request->node) == 0) {
        binder->config.metrics->joined++;
        join(current->successor, caller);
        return true;
    }
    struct bind *successor = new_bind(binder, request);
    if (successor == NULL) {
        return false;
    }
    char error[BIND_ERROR_MAX];
    (void)snprintf(error, sizeof(error),
                   "superseded by a bind of the same pod to node %s", request->node);
    join(successor, caller);
    if (current->successor != NULL) {
        bind_drop(current->successor, BIND_superseded, error);
    }
    current->successor = successor;
    if (current->state == BIND_STATE_CHECKING || current->state == BIND_STATE_QUEUED) {
        bind_answer_all(current, BIND_superseded, error);
        abandon(current);
    }
    return true;
}

static bool begin(struct binder *binder, const struct bind_request *request,
                  struct bind_caller *caller)
{
    struct bind *bind = new_bind(binder, request);
    if (bind == NULL) {
        return false;
    }
    join(bind, caller);
    bind_log_step(bind, "Was asked for a bind");
    bind_table_add(&binder->table, bind);
    bind_start(bind);
    return true;
}

/* ---- public --------------------------------------------------------------------- */

struct binder *binder_new(const struct binder_config *config)
{
    struct binder *binder = calloc(1, sizeof(*binder));
    if (binder == NULL) {
        return NULL;
    }
    binder->config = *config;
    (void)lock_table_ref(config->locks);
    bind_table_init(&binder->table);
    for (size_t i = 0; i < BIND_BUCKETS; i++) {
        TAILQ_INIT(&binder->gates[i]);
    }
    return binder;
}

struct binder *binder_free(struct binder *binder)
{
    if (binder != NULL) {
        bind_table_done(&binder->table);
        (void)lock_table_unref(binder->config.locks);
        free(binder);
    }
    return NULL;
}

struct bind_caller *binder_ask(struct binder *binder, const struct bind_request *request,
                               bind_answer_fn answer, void *data)
{
    if (binder->draining) {
        bind_count(binder, BIND_closed);
        answer(data, "hamid is shutting down; ask again");
        return NULL;
    }
    bool is_answered = false;
    bool is_taken = false;
    struct bind_caller *caller = calloc(1, sizeof(*caller));
    if (caller != NULL) {
        caller->answer = answer;
        caller->data = data;
        caller->arrival_ns = hami_kubernetes_now();
        caller->ret_answered = &is_answered;
        struct bind *current = bind_table_find(&binder->table, request->uid);
        is_taken = current != NULL ? stand_behind(current, request, caller)
                                   : begin(binder, request, caller);
    }
    if (is_answered) {
        return NULL;
    }
    if (is_taken) {
        caller->ret_answered = NULL;
        return caller;
    }
    free(caller);
    bind_count(binder, BIND_error);
    answer(data, "hamid is out of memory");
    return NULL;
}

void binder_change(struct binder *binder, uint64_t patience_ms, struct lock_table *locks)
{
    struct lock_table *old = binder->config.locks;
    binder->config.patience_ms = patience_ms;
    binder->config.locks = lock_table_ref(locks);
    (void)lock_table_unref(old);
}

void binder_leave(struct bind_caller *caller)
{
    struct bind *bind = caller->bind;
    LIST_REMOVE(caller, siblings);
    free(caller);
    bind_count(bind->binder, BIND_abandoned);
    if (LIST_EMPTY(&bind->callers)) {
        abandon(bind);
    }
}

void binder_drain(struct binder *binder)
{
    static const char error[] = "hamid is shutting down; ask again";
    binder->draining = true;
    for (size_t i = 0; i < BIND_BUCKETS; i++) {
        struct bind *bind = NULL;
        LIST_FOREACH(bind, &binder->table.buckets[i], siblings)
        {
            if (bind->successor != NULL) {
                bind_answer_all(bind->successor, BIND_closed, error);
            }
            if (bind->state == BIND_STATE_CHECKING) {
                bind_answer_all(bind, BIND_closed, error);
                bind->abandoned = true;
            }
        }
    }
}

size_t binder_in_flight(const struct binder *binder)
{
    return binder->table.count;
}

void binder_owner_lost(void *data, hami_lease *lease, const struct hami_error *error)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;
    char trace[HAMID_TRACE_BYTES];
    if (hami_lease_facts(lease, &view) == 0) {
        history_add_owner(data, HAPPENING_LOST, &view.owner, view.node, error->text);
        hamid_log_warning(
            "A lock that this process held vanished from its node; look who else writes "
            "node annotations",
            "node", view.node, "namespace", view.owner.namespace_name, "pod",
            view.owner.name, "trace", hamid_trace(trace, view.owner.uid, view.node),
            "err", error->text, NULL);
    }
}
