/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a bind: its callers are answered, it leaves the table, and whoever stands
 * behind it goes on.
 */
#include "bind_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define STEP_VERBOSITY 3

void bind_count(struct binder *binder, enum bind_outcome outcome)
{
    binder->config.metrics->binds[outcome]++;
}

/* Answers every caller of a bind. */
void bind_answer_all(struct bind *bind, enum bind_outcome outcome, const char *error)
{
    struct binder *binder = bind->binder;
    uint64_t now = hami_kubernetes_now();
    while (!LIST_EMPTY(&bind->callers)) {
        struct bind_caller *caller = LIST_FIRST(&bind->callers);
        LIST_REMOVE(caller, siblings);
        bind_count(binder, outcome);
        histogram_observe(&binder->config.metrics->bind_duration,
                          now - caller->arrival_ns);
        caller->answer(caller->data, error);
        if (caller->ret_answered != NULL) {
            *caller->ret_answered = true;
        }
        free(caller);
    }
}

void bind_log_step(const struct bind *bind, const char *message)
{
    char pod[320];
    if (hamid_log_is_on(STEP_VERBOSITY)) {
        (void)snprintf(pod, sizeof(pod), "%s/%s", bind->request.namespace_name,
                       bind->request.name);
        hamid_log_info(STEP_VERBOSITY, message, "pod", pod, "node", bind->request.node,
                       "uid", bind->request.uid, "trace", bind->trace, NULL);
    }
}

static void log_end(const struct bind *bind, enum bind_outcome outcome, const char *error)
{
    char pod[320];
    char waited[24];
    uint64_t milliseconds = (hami_kubernetes_now() - bind->arrival_ns) / 1000000;
    (void)snprintf(pod, sizeof(pod), "%s/%s", bind->request.namespace_name,
                   bind->request.name);
    if (outcome == BIND_bound) {
        hamid_log_info(2, "Bound the pod", "pod", pod, "node", bind->request.node, "uid",
                       bind->request.uid, "trace", bind->trace, "milliseconds",
                       hamid_log_number(waited, milliseconds), NULL);
    } else {
        hamid_log_info(2, "Did not bind the pod", "pod", pod, "node", bind->request.node,
                       "uid", bind->request.uid, "trace", bind->trace, "milliseconds",
                       hamid_log_number(waited, milliseconds), "err", error, NULL);
    }
}

void bind_free(struct bind *bind)
{
    (void)lock_table_unref(bind->locks);
    free(bind->told);
    free(bind);
}

/* Tells and frees a successor that never started. */
void bind_drop(struct bind *successor, enum bind_outcome outcome, const char *error)
{
    bind_answer_all(successor, outcome, error);
    bind_free(successor);
}

/* What becomes of the bind that waited for this one's end. */
static void go_on_with(struct bind *successor, const struct bind *ended,
                       enum bind_outcome outcome)
{
    char error[BIND_ERROR_MAX];
    struct binder *binder = successor->binder;
    if (LIST_EMPTY(&successor->callers)) {
        bind_free(successor);
    } else if (outcome == BIND_bound &&
               strcmp(successor->request.node, ended->request.node) == 0) {
        bind_drop(successor, BIND_bound, "");
    } else if (outcome == BIND_bound) {
        (void)snprintf(error, sizeof(error), "pod %s/%s is bound to node %s already",
                       ended->request.namespace_name, ended->request.name,
                       ended->request.node);
        bind_drop(successor, BIND_refused, error);
    } else if (binder->draining) {
        bind_drop(successor, BIND_closed, "hamid is shutting down; ask again");
    } else {
        bind_table_add(&binder->table, successor);
        bind_start(successor);
    }
}

void bind_finish(struct bind *bind, enum bind_outcome outcome, const char *error)
{
    struct binder *binder = bind->binder;
    struct bind *successor = bind->successor;
    bind_table_remove(&binder->table, bind);
    if (outcome == BIND_bound) {
        bind_table_remember(&binder->table, bind->request.uid, hami_kubernetes_now());
    }
    log_end(bind, outcome, error);
    history_add(binder->config.history,
                outcome == BIND_bound ? HAPPENING_BOUND : HAPPENING_REFUSED,
                &bind->request, bind->arrival_ns, error);
    bind_answer_all(bind, outcome, error);
    if (successor != NULL) {
        go_on_with(successor, bind, outcome);
    }
    bind_free(bind);
}
