/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of a device plugin becomes one call of the library, whose answer comes by
 * letter. Decides nothing about pods and locks. Loop's thread, but for the library's
 * callbacks: these fill a letter and post it, nothing else.
 */
#include "agent_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "agent_json.h"
#include "log.h"
#include "mailbox.h"

/* One call of the library, and who waits for it. */
struct agent_call {
    struct hamid_letter letter; /* first */
    struct agent *agent;
    struct hamid_http_exchange *exchange; /* NULL: the plugin has gone */
    hami_handshake_job *job;              /* begin: what came of it */
    struct agent_ask ask;                 /* begin */
    char id[ALLOCATION_ID_LENGTH + 1];    /* done, failed */
    bool is_failure;
    char pod[330]; /* done, failed: for the log */
    int code;
    struct hami_error error;
};

/* ---- answers
 * ----------------------------------------------------------------------------------- */

static void answer_json(struct hamid_http_exchange *exchange, int status, json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;

    json_decref(value);
    if (text == NULL) {
        static const char excuse[] = "{\"code\":\"NOMEM\",\"message\":\"out of memory\"}";

        hamid_http_answer(exchange, 503, "application/json", excuse, sizeof(excuse) - 1);
        return;
    }
    hamid_http_answer(exchange, status, "application/json", text, strlen(text));
    free(text);
}

void agent_answer_error(struct hamid_http_exchange *exchange, int status,
                        const char *code, const char *message)
{
    answer_json(exchange, status,
                json_pack("{s:s, s:s+}", "code", code, "message", message, ""));
}

/* The HTTP status for a code of the library. */
static int status_of(int code)
{
    switch (code) {
    case HAMI_E_INVAL:
        return 400;
    case HAMI_E_LOST:
    case HAMI_E_NODE:
        return 404;
    case HAMI_E_BUSY:
    case HAMI_E_HELD:
    case HAMI_E_LIMIT:
    case HAMI_E_PROTO:
        return 409;
    case HAMI_E_TIMEDOUT:
    case HAMI_E_IN_DOUBT:
        return 504;
    default:
        return 503;
    }
}

/* False where the caller is none that is served; it was answered then. */
static bool is_allowed(struct hamid_http_exchange *exchange)
{
    struct hamid_http_peer peer;
    char uid[24];

    if (hamid_http_peer(exchange, &peer) && (peer.uid == 0 || peer.uid == geteuid())) {
        return true;
    }
    hamid_log_warning("Refused a request of another user", "uid",
                      hamid_log_number(uid, (uint64_t)peer.uid), NULL);
    agent_answer_error(exchange, 403, "ACCESS",
                       "only processes of this agent's user and of root are served");
    return false;
}

/* ---- calls
 * -------------------------------------------------------------------------------------
 */

static void plugin_gone(void *data)
{
    struct agent_call *call = data;

    call->exchange = NULL;
}

static struct agent_call *call_new(struct agent *agent,
                                   struct hamid_http_exchange *exchange,
                                   void (*open)(struct hamid_letter *letter))
{
    struct agent_call *call = calloc(1, sizeof(*call));

    if (call == NULL) {
        agent_answer_error(exchange, 503, "NOMEM", "out of memory");
        return NULL;
    }
    call->letter.open = open;
    call->agent = agent;
    call->exchange = exchange;
    call->error.size = sizeof(call->error);
    agent->pending++;
    hamid_http_on_gone(exchange, plugin_gone, call);
    return call;
}

static void call_free(struct agent_call *call)
{
    struct agent *agent = call->agent;

    agent_ask_done(&call->ask);
    free(call);
    agent->pending--;
}

static void answer_failure(struct agent_call *call)
{
    if (call->exchange != NULL) {
        agent_answer_error(call->exchange, status_of(call->code),
                           hami_errname(call->code), call->error.text);
    }
}

/* ---- whose Allocate is this?
 * ------------------------------------------------------------------- */

static void show_served(const struct agent_call *call, const hami_handshake_job *job)
{
    const struct hami_owner *owner = hami_handshake_owner(job);
    char pod[330], fence[24];

    (void)snprintf(pod, sizeof(pod), "%s/%s", owner->namespace_name, owner->name);
    hamid_log_info(2, "Told whose Allocate it is", "pod", pod, "container",
                   hami_handshake_container_name(job, 0), "resource", call->ask.resource,
                   "fence", hamid_log_number(fence, hami_handshake_fence(job)), NULL);
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
    agent->served++;
    show_served(call, call->job);
    answer_json(call->exchange, 200, agent_allocation_json(entry->id, call->job));
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
        refusal_events_send(&call->agent->events, call->error.text,
                            hami_kubernetes_now());
        answer_failure(call);
    }
    call_free(call);
}

/* On the client's thread. */
static void begun(void *data, int code, hami_handshake_job *job,
                  const struct hami_error *error)
{
    struct agent_call *call = data;

    call->code = code;
    call->job = job;
    if (error != NULL) {
        call->error = *error;
    }
    hamid_mailbox_post(call->agent->config.mailbox, &call->letter);
}

void agent_handle_allocation(struct hamid_http_exchange *exchange, void *data)
{
    struct agent *agent = data;
    struct agent_call *call;
    char problem[256];
    size_t length;
    const char *text;
    int code;

    if (!is_allowed(exchange)) {
        return;
    }
    if (agent->is_stopping) {
        agent_answer_error(exchange, 503, "CLOSED", "the agent is shutting down");
        return;
    }
    text = hamid_http_body_text(exchange, &length);
    call = call_new(agent, exchange, begun_opened);
    if (call == NULL) {
        return;
    }
    if (text == NULL ||
        !agent_ask_read(text, length, &call->ask, problem, sizeof(problem))) {
        agent_answer_error(exchange, 400, "INVAL",
                           text != NULL ? problem : "out of memory");
        call_free(call);
        return;
    }
    code = hami_handshake_begin_start(
        agent->config.handshake, call->ask.resource, call->ask.containers,
        call->ask.count, hami_kubernetes_in_ms(agent->config.timeout_ms), begun, call);
    if (code < 0) {
        (void)snprintf(problem, sizeof(problem),
                       code == HAMI_E_INVAL
                           ? "no vendor is configured for resource %.128s"
                           : "the call for %.128s could not be started",
                       call->ask.resource);
        agent_answer_error(exchange, status_of(code), hami_errname(code), problem);
        call_free(call);
    }
}

/* ---- done, failed
 * ------------------------------------------------------------------------------ */

static void answer_ended(struct hamid_http_exchange *exchange, int code, const char *text)
{
    if (code == 0) {
        hamid_http_answer(exchange, 204, NULL, NULL, 0);
    } else {
        /* Not 404 or 410 here: the allocation is known, its pod is what changed. */
        agent_answer_error(exchange, code == HAMI_E_LOST ? 409 : status_of(code),
                           hami_errname(code), text);
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
                       "pod", call->pod, NULL);
    } else {
        agent->not_written++;
        hamid_log_warning(
            "Could not write the end of an allocation; the container is refused", "pod",
            call->pod, "code", hami_errname(call->code), "err", call->error.text, NULL);
    }
    if (entry != NULL) {
        entry->state = ALLOCATION_ENDED;
        entry->code = call->code;
        (void)snprintf(entry->text, sizeof(entry->text), "%.255s", call->error.text);
    }
    if (call->exchange != NULL) {
        answer_ended(call->exchange, call->code, call->error.text);
    }
    call_free(call);
}

/* On the client's thread. */
static void ended(void *data, int code, const struct hami_error *error)
{
    begun(data, code, NULL, error);
}

static void start_end(struct agent *agent, struct hamid_http_exchange *exchange,
                      struct allocation *entry, const char *reason, bool is_failure)
{
    uint64_t deadline = hami_kubernetes_in_ms(agent->config.timeout_ms);
    struct agent_call *call = call_new(agent, exchange, ended_opened);
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

    if (!is_allowed(exchange)) {
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
