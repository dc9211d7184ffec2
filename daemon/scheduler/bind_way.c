/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way of a bind from the queue to its end: acquire, Binding, hand-off or release, and
 * where the outcome leaves room for it one more look at the pod.
 *
 * The functions whose names begin with heard_ (here and in bind_check.c) run on the
 * client's thread: they copy what they are told into the bind and post its letter, and
 * the loop does not touch the bind until that is opened.
 *
 * Invariants: a lease is consumed in the same turn in which the answer of its Binding is
 * looked at. An abandoned bind that is granted gives the lock back and posts no Binding.
 * Time is the client's clock, the same as the manager's: it can be read when the manager
 * is gone.
 */
#include "bind_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIRM_MS 1000 /* a read that decides what to say; the margin covers it */
#define RELEASE_MS 5000 /* when the library stops to tell; it goes on behind */
#define MARGIN_MAX_MS 2000

/* ---- time ----------------------------------------------------------------------- */

/* The caller must have its answer a margin before its patience ends: 10 %, at most 2 s.
 */
uint64_t bind_answer_deadline(const struct bind *bind, unsigned share_of_margin)
{
    uint64_t patience = bind->patience_ms;
    uint64_t margin = patience / 10 < MARGIN_MAX_MS ? patience / 10 : MARGIN_MAX_MS;
    return bind->arrival_ns + (patience - margin / share_of_margin) * 1000000;
}

/* ---- confirming: one read decides what callers are told ------------------------- */

enum bind_outcome bind_outcome_of(int code)
{
    switch (code) {
    case HAMI_E_TIMEDOUT:
    case HAMI_E_LIMIT:
        return BIND_contention;
    case HAMI_E_LOST:
    case HAMI_E_NODE:
        return BIND_refused;
    case HAMI_E_IN_DOUBT:
        return BIND_in_doubt;
    case HAMI_E_CLOSED:
        return BIND_closed;
    default:
        return BIND_error;
    }
}

static void opened_confirmation(struct hamid_letter *letter)
{
    struct bind *bind = bind_of_letter(letter);
    bool is_here = bind->told->pod.code == 0 && bind->told->pod.is_ours &&
                   strcmp(bind->told->pod.node, bind->request.node) == 0;
    if (is_here) {
        bind_finish(bind, BIND_bound, "");
    } else {
        bind_finish(bind, bind_outcome_of(bind->confirming_code), bind->told->text);
    }
}

/* bind->told->text says what to tell unless the pod turns out to be bound here. */
void bind_confirm(struct bind *bind, int code)
{
    bind->state = BIND_STATE_CONFIRMING;
    bind->confirming_code = code;
    if (bind->binder->draining ||
        bind_read_pod(bind, CONFIRM_MS, opened_confirmation) != 0) {
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
    }
}

/* ---- binding -------------------------------------------------------------------- */

static void give_back(struct bind *bind)
{
    hami_lease *lease = bind->lease;
    bind->lease = NULL;
    bind_log_step(bind, "Gives the node's lock back");
    (void)hami_lease_release_start(lease, hami_kubernetes_in_ms(RELEASE_MS), NULL, NULL);
}

static void opened_binding(struct hamid_letter *letter)
{
    struct bind *bind = bind_of_letter(letter);
    char text[BIND_ERROR_MAX];
    int code = bind->code;
    if (code == 0 || code == HAMI_E_IN_DOUBT) {
        (void)hami_lease_handoff(bind->lease);
        bind->lease = NULL;
        bind_log_step(bind, code == 0 ? "Left the node's lock to the node side"
                                      : "Left the node's lock to the node side, for the "
                                        "Binding may be written");
    } else {
        give_back(bind);
    }
    if (code == 0) {
        bind_finish(bind, BIND_bound, "");
        return;
    }
    (void)snprintf(text, sizeof(text), "%s", bind->told->text);
    bind_text_binding(&bind->request, code, text, bind->told->text,
                      sizeof(bind->told->text));
    if (code == HAMI_E_IN_DOUBT || code == HAMI_E_LOST) {
        bind_confirm(bind, code);
    } else {
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
    }
}

/* On the client's thread. */
static void heard_binding(void *data, int code, const struct hami_error *error)
{
    struct bind *bind = data;
    bind->code = code;
    (void)snprintf(bind->told->text, sizeof(bind->told->text), "%s",
                   code != 0 && error != NULL ? error->text : "");
    hamid_mailbox_post(bind->binder->config.mailbox, &bind->letter);
}

/* A Binding without an answer must not keep the node for all of a patience of minutes:
 * left in doubt, its lock is taken by revocation like any other's. */
static uint64_t binding_deadline(const struct bind *bind)
{
    uint64_t most_ms = bind->binder->config.binding_ms;
    uint64_t answer_ns = bind_answer_deadline(bind, 2);
    uint64_t most_ns = most_ms != 0 ? hami_kubernetes_in_ms(most_ms) : answer_ns;
    return most_ns < answer_ns ? most_ns : answer_ns;
}

static void post_binding(struct bind *bind)
{
    bind->state = BIND_STATE_BINDING;
    bind->letter.open = opened_binding;
    bind_log_step(bind, "Got the node's lock and posts the Binding");
    int code = hami_kubernetes_bind_start(bind->binder->config.client, bind->lease,
                                          binding_deadline(bind), heard_binding, bind);
    if (code != 0) {
        give_back(bind);
        bind_text_binding(&bind->request, code, "", bind->told->text,
                          sizeof(bind->told->text));
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
    }
}

/* ---- waiting for the lock ------------------------------------------------------- */

/* From the manager's dispatch, on the loop's thread. */
static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    struct bind *bind = data;
    struct binder *binder = bind->binder;
    bind->wait = NULL;
    bind->lease = lease;
    binder->config.metrics->acquires[acquire_outcome_of(code)]++;
    histogram_observe(&binder->config.metrics->lock_wait,
                      hami_kubernetes_now() - bind->queued_ns);
    bind->told = calloc(1, sizeof(*bind->told));
    if (bind->told == NULL) {
        if (code == 0) {
            give_back(bind);
        }
        bind_finish(bind, BIND_error, "hamid is out of memory");
        return;
    }
    if (code == 0 && !bind->abandoned) {
        history_add(binder->config.history, HAPPENING_GRANTED, &bind->request,
                    bind->queued_ns, NULL);
        post_binding(bind);
        return;
    }
    if (code == 0) {
        give_back(bind);
    }
    if (bind->abandoned) {
        bind_finish(bind, BIND_abandoned, "the caller has gone");
        return;
    }
    bind_text_acquire(binder, &bind->request, code, error != NULL ? error->text : "",
                      bind->told->text, sizeof(bind->told->text));
    if (code == HAMI_E_LOST) {
        bind_confirm(bind, code);
    } else {
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
    }
}

void bind_queue(struct bind *bind)
{
    struct binder *binder = bind->binder;
    struct hami_nodelock_request request = HAMI_NODELOCK_REQUEST_INIT;
    request.node = bind->request.node;
    request.owner.namespace_name = bind->request.namespace_name;
    request.owner.name = bind->request.name;
    request.owner.uid = bind->request.uid;
    if (bind->told->pod.needs.key_count > 0) {
        request.keys = bind->told->pod.needs.keys;
        request.key_count = bind->told->pod.needs.key_count;
    }
    struct hami_error error = HAMI_ERROR_INIT;
    request.priority = bind->told->pod.priority;
    request.group = bind->told->pod.group[0] != '\0' ? bind->told->pod.group : NULL;
    request.calls = bind->told->pod.calls[0] != '\0' ? bind->told->pod.calls : NULL;
    if (request.calls != NULL) {
        binder->config.metrics->asked_beside++;
    } else {
        binder->config.metrics->asked_exclusive++;
    }
    request.reterr = &error;
    request.deadline_ns = bind_answer_deadline(bind, 1);
    bind->state = BIND_STATE_QUEUED;
    bind->queued_ns = hami_kubernetes_now();
    bind_log_step(bind, "Waits for the node's lock");
    int code = hami_nodelock_acquire_start(binder->config.lock, &request, acquired, bind,
                                           &bind->wait);
    if (code != 0) {
        binder->config.metrics->acquires[acquire_outcome_of(code)]++;
        bind_text_acquire(binder, &bind->request, code, error.text, bind->told->text,
                          sizeof(bind->told->text));
        bind_finish(bind, bind_outcome_of(code), bind->told->text);
        return;
    }
    free(bind->told);
    bind->told = NULL;
}
