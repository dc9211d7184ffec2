/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May a container start? Asked by a device plugin within PreStartContainer: the kubelet's
 * books must have the devices for the container that they were answered for. Loop's
 * thread.
 */
#include "agent_internal.h"

#include <jansson.h>

#include "log.h"

static void told(void *data, enum answers_verdict verdict, const char *text)
{
    struct agent_call *call = data;

    if (verdict == ANSWERS_SWAPPED) {
        hamid_log_error("A container must not start: it has another's devices",
                        "resource", call->start.resource, "err", text, NULL);
    }
    if (call->exchange != NULL && verdict == ANSWERS_SWAPPED) {
        agent_answer_error(call->exchange, 409, "SWAPPED", text);
    } else if (call->exchange != NULL) {
        agent_answer_json(
            call->exchange, 200,
            json_pack("{s:s, s:s+}", "verdict",
                      verdict == ANSWERS_CONFIRMED ? "confirmed" : "unknown", "message",
                      text, ""));
    }
    agent_call_free(call);
}

static void ask(struct agent_call *call)
{
    struct agent *agent = call->agent;

    if (agent->config.checks == NULL) {
        told(call, ANSWERS_UNKNOWN, "this agent does not read the kubelet's books");
    } else if (checks_ask_start(agent->config.checks, call->start.resource,
                                call->start.ids, call->start.count,
                                agent->config.timeout_ms, told, call) == NULL) {
        agent_answer_error(call->exchange, 503, "NOMEM", "out of memory");
        agent_call_free(call);
    }
}

void agent_handle_start(struct hamid_http_exchange *exchange, void *data)
{
    struct agent *agent = data;
    struct agent_call *call;
    char problem[256];
    size_t length;
    const char *text;

    if (!agent_is_allowed(exchange)) {
        return;
    }
    text = hamid_http_body_text(exchange, &length);
    call = agent_call_new(agent, exchange, NULL);
    if (call == NULL) {
        return;
    }
    if (text == NULL ||
        !agent_start_read(text, length, &call->start, problem, sizeof(problem))) {
        agent_answer_error(exchange, 400, "INVAL",
                           text != NULL ? problem : "out of memory");
        agent_call_free(call);
        return;
    }
    ask(call);
}
