/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every request of a device plugin goes through: who asks, how it is answered, and
 * the call that stands for it while the library works. Loop's thread.
 */
#include "agent_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "log.h"

/* ---- answers
 * ----------------------------------------------------------------------------------- */

void agent_answer_json(struct hamid_http_exchange *exchange, int status, json_t *value)
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
    agent_answer_json(exchange, status,
                      json_pack("{s:s, s:s+}", "code", code, "message", message, ""));
}

int agent_status_of(int code)
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

bool agent_is_allowed(struct hamid_http_exchange *exchange)
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

struct agent_call *agent_call_new(struct agent *agent,
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

void agent_call_free(struct agent_call *call)
{
    struct agent *agent = call->agent;

    agent_ask_done(&call->ask);
    agent_start_done(&call->start);
    free(call);
    agent->pending--;
}

void agent_call_answer_failure(struct agent_call *call)
{
    if (call->exchange != NULL) {
        agent_answer_error(call->exchange, agent_status_of(call->code),
                           hami_errname(call->code), call->error.text);
    }
}

void agent_call_post(struct agent_call *call, int code, hami_handshake_job *job,
                     const struct hami_error *error)
{
    call->code = code;
    call->job = job;
    if (error != NULL) {
        call->error = *error;
    }
    hamid_mailbox_post(call->agent->config.mailbox, &call->letter);
}
