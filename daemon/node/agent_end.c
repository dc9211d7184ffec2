/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * done and failed: the end of an allocation becomes one call of the library, whose answer
 * comes by letter. Loop's thread, but for the library's callback, which fills the letter
 * and posts it.
 */
#include "agent_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent_json.h"
#include "log.h"

static void answer_ended(struct hamid_http_exchange *exchange, int code, const char *text)
{
    if (code == 0) {
        hamid_http_answer(exchange, 204, NULL, NULL, 0);
    } else {
        /* Not 404 or 410 here: the allocation is known, its pod is what changed. */
        agent_answer_error(exchange, code == HAMI_E_LOST ? 409 : agent_status_of(code),
                           hami_errname(code), text);
    }
}

/* From now on it is checked that the kubelet gives the devices to this very pod. */
static void watch_answers(struct agent *agent, struct allocation *entry)
{
    if (agent->config.checks == NULL) {
        return;
    }
    for (size_t i = 0; i < entry->answer_count; i++) {
        checks_add(agent->config.checks, entry->answers[i]);
        entry->answers[i] = NULL;
    }
}

static void ended_opened(struct hamid_letter *letter)
{
    struct agent_call *call = (struct agent_call *)letter;
    struct agent *agent = call->agent;
    struct allocation *entry = allocations_find(&agent->table, call->id);

    if (call->code == 0) {
        agent->ended[call->is_failure]++;
        hamid_log_info(2,
                       call->is_failure ? "Marked a pod failed"
                                        : "Wrote that devices are handed out",
                       "pod", call->pod, "trace", call->trace, NULL);
    } else {
        agent->not_written++;
        hamid_log_warning(
            "Could not write the end of an allocation; the container is refused", "pod",
            call->pod, "trace", call->trace, "code", hami_errname(call->code), "err",
            call->error.text, NULL);
    }
    if (entry != NULL) {
        if (call->code == 0 && !call->is_failure) {
            watch_answers(agent, entry);
        }
        allocations_drop_answers(entry);
        entry->state = ALLOCATION_ENDED;
        entry->code = call->code;
        (void)snprintf(entry->text, sizeof(entry->text), "%.255s", call->error.text);
    }
    if (call->exchange != NULL) {
        answer_ended(call->exchange, call->code, call->error.text);
    }
    agent_call_free(call);
}

/* On the client's thread. */
static void ended(void *data, int code, const struct hami_error *error)
{
    agent_call_post(data, code, NULL, error);
}

static void start_end(struct agent *agent, struct hamid_http_exchange *exchange,
                      struct allocation *entry, const char *reason, bool is_failure)
{
    uint64_t deadline = hami_kubernetes_in_ms(agent->config.timeout_ms);
    struct agent_call *call = agent_call_new(agent, exchange, ended_opened);
    const struct hami_owner *owner;
    hami_handshake_job *job;
    int code;

    if (call == NULL) {
        return;
    }
    job = allocations_take(&agent->table, entry, is_failure);
    owner = hami_handshake_owner(job);
    memcpy(call->id, entry->id, sizeof(call->id));
    call->is_failure = is_failure;
    (void)snprintf(call->pod, sizeof(call->pod), "%s/%s", owner->namespace_name,
                   owner->name);
    (void)hamid_trace(call->trace, owner->uid, agent->config.node);
    code = is_failure ? hami_handshake_fail_start(job, reason, deadline, ended, call)
                      : hami_handshake_finish_start(job, deadline, ended, call);
    if (code < 0) {
        (void)snprintf(call->error.text, sizeof(call->error.text), "%s",
                       hami_strerror(code));
        call->code = code;
        ended_opened(&call->letter);
    }
}

/* An entry that is no longer open: the plugin asks again, its first answer may have been
 * lost. */
static void answer_again(struct hamid_http_exchange *exchange,
                         const struct allocation *entry, bool is_failure)
{
    if (entry->state == ALLOCATION_ENDING) {
        agent_answer_error(exchange, 409, "BUSY",
                           "the end of this allocation is being written");
    } else if (entry->is_failure != is_failure) {
        agent_answer_error(exchange, 409, "INVAL",
                           entry->is_failure ? "this allocation was said to have failed"
                                             : "this allocation was said to be done");
    } else {
        answer_ended(exchange, entry->code, entry->text);
    }
}

/* Splits "/v1/allocations/ID/VERB". */
static bool split_path(const char *path, char *id, const char **ret_verb)
{
    const char *start = path + strlen("/v1/allocations/");
    const char *slash = strchr(start, '/');

    if (slash == NULL || slash - start != ALLOCATION_ID_LENGTH) {
        return false;
    }
    memcpy(id, start, ALLOCATION_ID_LENGTH);
    id[ALLOCATION_ID_LENGTH] = '\0';
    *ret_verb = slash + 1;
    return allocations_is_id(id) &&
           (strcmp(*ret_verb, "done") == 0 || strcmp(*ret_verb, "failed") == 0);
}

void agent_handle_end(struct hamid_http_exchange *exchange, void *data)
{
    struct agent *agent = data;
    char id[ALLOCATION_ID_LENGTH + 1], reason[256], problem[256];
    struct allocation *entry;
    const char *verb, *text;
    size_t length;
    bool is_failure;

    if (!agent_is_allowed(exchange)) {
        return;
    }
    if (!split_path(hamid_http_path(exchange), id, &verb)) {
        agent_answer_error(
            exchange, 404, "INVAL",
            "no such path: POST /v1/allocations, /v1/allocations/ID/done or "
            "/v1/allocations/ID/failed, ID being 32 hexadecimal digits");
        return;
    }
    is_failure = strcmp(verb, "failed") == 0;
    text = hamid_http_body_text(exchange, &length);
    if (text == NULL || !agent_reason_read(text, length, reason, sizeof(reason), problem,
                                           sizeof(problem))) {
        agent_answer_error(exchange, 400, "INVAL",
                           text != NULL ? problem : "out of memory");
        return;
    }
    entry = allocations_find(&agent->table, id);
    if (entry == NULL) {
        agent_answer_error(
            exchange, 410, "LOST",
            allocations_is_own(&agent->table, id)
                ? "there is no such allocation, or it is too old: ask again; nothing was "
                  "written for it"
                : "this allocation is from before the agent's restart: ask again; "
                  "nothing "
                  "was written for it");
    } else if (entry->state != ALLOCATION_OPEN) {
        answer_again(exchange, entry, is_failure);
    } else {
        start_end(agent, exchange, entry, reason, is_failure);
    }
}
