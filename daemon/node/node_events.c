/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of the node. Loop's thread; the answers are looked at on the client's
 * thread, where they are logged and nothing else.
 */
#include "node_events.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "log.h"

#define TIMEOUT_MS 5000

void node_events_init(struct node_events *events, hami_kubernetes *client,
                      const char *node, uint64_t now_ns)
{
    *events = (struct node_events){
        .client = client,
        .node = node,
    };
    hamid_budget_init(&events->budget, NODE_EVENTS_BURST, NODE_EVENTS_EVERY_NS, now_ns);
}

bool node_events_may_send(struct node_events *events, uint64_t now_ns)
{
    if (!hamid_budget_take(&events->budget, now_ns)) {
        events->dropped++;
        return false;
    }
    events->sent++;
    return true;
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    char status[24];

    (void)data;
    if (answer->status != 201) {
        hamid_log_info(4, "Could not write an event", "status",
                       hamid_log_number(status, (uint64_t)answer->status), "err",
                       answer->text, NULL);
    }
}

static char *event_text(const struct node_events *events, const char *reason,
                        const char *message, uint64_t now_ns)
{
    char name[254], now[32];
    time_t seconds = time(NULL);
    struct tm parts;
    json_t *event;
    char *text;

    (void)snprintf(name, sizeof(name), "%.230s.%016" PRIx64, events->node, now_ns);
    (void)strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
    event =
        json_pack("{s:s, s:s, s:{s:s, s:s}, s:{s:s, s:s, s:s}, s:s, s:s, s:s, "
                  "s:{s:s, s:s}, s:s, s:s, s:i}",
                  "apiVersion", "v1", "kind", "Event", "metadata", "name", name,
                  "namespace", "default", "involvedObject", "kind", "Node", "name",
                  events->node, "uid", events->node, "reason", reason, "message", message,
                  "type", "Warning", "source", "component", "hamid-node", "host",
                  events->node, "firstTimestamp", now, "lastTimestamp", now, "count", 1);
    text = event != NULL ? json_dumps(event, JSON_COMPACT) : NULL;
    json_decref(event);
    return text;
}

void node_events_send(struct node_events *events, const char *reason, const char *message,
                      uint64_t now_ns)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char *body;

    if (!node_events_may_send(events, now_ns)) {
        return;
    }
    body = event_text(events, reason, message, now_ns);
    if (body == NULL) {
        return;
    }
    request.method = HAMI_KUBERNETES_POST;
    request.path = "/api/v1/namespaces/default/events";
    request.body = body;
    request.body_length = strlen(body);
    request.deadline_ns = hami_kubernetes_in_ms(TIMEOUT_MS);
    (void)hami_kubernetes_request_start(events->client, &request, answered, NULL);
    free(body);
}
