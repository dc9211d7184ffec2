/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose Allocate is this? First the kubelet's books are read, where they can be, then the
 * library is asked, whose answer comes by letter. Decides nothing about pods and locks.
 * Loop's thread, but for the library's callback, which fills the letter and posts it.
 */
#include "agent_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_json.h"
#include "log.h"
#include "mailbox.h"

static void show_served(const struct agent_call *call, const hami_handshake_job *job)
{
    const struct hami_owner *owner = hami_handshake_owner(job);
    char pod[330], fence[24], trace[HAMID_TRACE_BYTES];

    (void)snprintf(pod, sizeof(pod), "%s/%s", owner->namespace_name, owner->name);
    hamid_log_info(2, "Told whose Allocate it is", "pod", pod, "container",
                   hami_handshake_container_name(job, 0), "resource", call->ask.resource,
                   "trace", hamid_trace(trace, owner->uid, call->agent->config.node),
                   "fence", hamid_log_number(fence, hami_handshake_fence(job)), NULL);
}

/* What will be looked for on the kubelet's books once the devices are handed out. */
static void keep_answers(const struct agent_call *call, struct allocation *entry)
{
    size_t count = hami_handshake_container_count(call->job);

    if (call->agent->config.checks == NULL) {
        return;
    }
    entry->answers = calloc(count + 1, sizeof(struct answer *));
    for (size_t i = 0; entry->answers != NULL && i < count && i < call->ask.count; i++) {
        entry->answers[i] =
            answer_new(call->ask.resource, hami_handshake_owner(call->job),
                       hami_handshake_container_name(call->job, i),
                       call->ask.containers[i].ids, call->ask.containers[i].id_count);
        entry->answer_count = i + 1;
    }
}

/* The job is the plugin's from now on, if it is still there. */
static void hand_out(struct agent_call *call)
{
    struct agent *agent = call->agent;
    struct allocation *entry = NULL;

    if (call->exchange != NULL) {
        entry = allocations_add(&agent->table, call->job, hami_kubernetes_now());
    }
    if (entry == NULL) {
        hami_handshake_drop(call->job);
        if (call->exchange != NULL) {
            agent_answer_error(call->exchange, 503, "LIMIT",
                               "too many allocations wait for done");
        }
        return;
    }
    keep_answers(call, entry);
    agent->served++;
    show_served(call, call->job);
    agent_answer_json(call->exchange, 200, agent_allocation_json(entry->id, call->job));
}

static void begun_opened(struct hamid_letter *letter)
{
    struct agent_call *call = (struct agent_call *)letter;

    if (call->code == 0) {
        hand_out(call);
    } else {
        call->agent->refused++;
        hamid_log_warning("Refused an Allocate: nothing was written to any pod",
                          "resource", call->ask.resource, "code",
                          hami_errname(call->code), "err", call->error.text, NULL);
        node_events_send(call->agent->config.events, "AllocateRefused", call->error.text,
                         hami_kubernetes_now());
        agent_call_answer_failure(call);
    }
    agent_call_free(call);
}

/* On the client's thread. */
static void begun(void *data, int code, hami_handshake_job *job,
                  const struct hami_error *error)
{
    agent_call_post(data, code, job, error);
}

/* ---- asking
 * -------------------------------------------------------------------------------------
 */

/* Asks the library, with the books or (page NULL) without. */
static void ask_library(struct agent_call *call, const struct books_page *page)
{
    struct hami_handshake_call question = HAMI_HANDSHAKE_CALL_INIT;
    struct hami_handshake_holding *holdings = page != NULL ? books_holdings(page) : NULL;
    char problem[256];
    int code;

    question.resource = call->ask.resource;
    question.containers = call->ask.containers;
    question.container_count = call->ask.count;
    question.deadline_ns = call->deadline_ns;
    if (holdings != NULL) {
        question.flags = HAMI_HANDSHAKE_BOOKS;
        question.holdings = holdings;
        question.holding_count = page->count;
    }
    code =
        hami_handshake_call_start(call->agent->config.handshake, &question, begun, call);
    free(holdings);
    if (code == 0) {
        return;
    }
    (void)snprintf(problem, sizeof(problem),
                   code == HAMI_E_INVAL ? "no vendor is configured for resource %.128s"
                                        : "the call for %.128s could not be started",
                   call->ask.resource);
    if (call->exchange != NULL) {
        agent_answer_error(call->exchange, agent_status_of(code), hami_errname(code),
                           problem);
    }
    agent_call_free(call);
}

static void books_read(void *data, const struct books_page *page, const char *problem)
{
    struct agent_call *call = data;
    struct agent *agent = call->agent;

    if (call->exchange == NULL) {
        agent_call_free(call); /* the plugin has gone, and nothing was begun */
        return;
    }
    if (page != NULL) {
        checks_compare(agent->config.checks, page);
    } else if (agent->config.needs_books) {
        agent->refused++;
        node_events_send(agent->config.events, "AllocateRefused", problem,
                         hami_kubernetes_now());
        agent_answer_error(call->exchange, 503, hami_errname(HAMI_E_TRANSPORT), problem);
        agent_call_free(call);
        return;
    } else {
        agent->without_books++;
        hamid_log_info(2, "Asking without the kubelet's books", "err", problem, NULL);
    }
    ask_library(call, page);
}

static void ask(struct agent_call *call)
{
    struct agent *agent = call->agent;

    if (agent->config.books == NULL) {
        ask_library(call, NULL);
    } else if (books_read_start(agent->config.books, agent->config.timeout_ms / 2,
                                books_read, call) == NULL) {
        agent_answer_error(call->exchange, 503, "NOMEM", "out of memory");
        agent_call_free(call);
    }
}

void agent_handle_allocation(struct hamid_http_exchange *exchange, void *data)
{
    struct agent *agent = data;
    struct agent_call *call;
    char problem[256];
    size_t length;
    const char *text;

    if (!agent_is_allowed(exchange)) {
        return;
    }
    if (agent->is_stopping) {
        agent_answer_error(exchange, 503, "CLOSED", "the agent is shutting down");
        return;
    }
    text = hamid_http_body_text(exchange, &length);
    call = agent_call_new(agent, exchange, begun_opened);
    if (call == NULL) {
        return;
    }
    call->deadline_ns = hami_kubernetes_in_ms(agent->config.timeout_ms);
    if (text == NULL ||
        !agent_ask_read(text, length, &call->ask, problem, sizeof(problem))) {
        agent_answer_error(exchange, 400, "INVAL",
                           text != NULL ? problem : "out of memory");
        agent_call_free(call);
        return;
    }
    ask(call);
}
