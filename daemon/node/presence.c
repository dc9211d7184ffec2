/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One annotation of the Node object. It is ours alone, so writing it needs no guard;
 * removing it does, for a successor with other settings may have written it meanwhile.
 */
#include "presence.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <jansson.h>

#include "log.h"
#include "mailbox.h"

#define PAUSE_FIRST_MS 500
#define PAUSE_MAX_MS 30000
#define ACCEPT_METADATA "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

struct presence {
    struct hamid_letter letter; /* first */
    struct hamid_mailbox *mailbox;
    hami_kubernetes *client;
    const char *node;
    const char *value;
    void (*written)(void *data);
    void *data;
    struct event *timer;
    unsigned pause_ms;
    bool is_pending;
    bool is_stopped;
    bool is_written;
    int code; /* of the last answer */
    int status;
    char text[256];
};

static void node_path(const struct presence *presence, char *path, size_t size)
{
    (void)snprintf(path, size, "/api/v1/nodes/%s", presence->node);
}

/* On the client's thread. */
static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct presence *presence = data;

    presence->code = answer->code;
    presence->status = answer->status;
    (void)snprintf(presence->text, sizeof(presence->text), "%s", answer->text);
    hamid_mailbox_post(presence->mailbox, &presence->letter);
}

static void plan_next(struct presence *presence)
{
    struct timeval pause = {presence->pause_ms / 1000,
                            (presence->pause_ms % 1000) * 1000};

    if (!presence->is_stopped) {
        (void)event_add(presence->timer, &pause);
        presence->pause_ms =
            presence->pause_ms * 2 < PAUSE_MAX_MS ? presence->pause_ms * 2 : PAUSE_MAX_MS;
    }
}

static void answer_opened(struct hamid_letter *letter)
{
    struct presence *presence = (struct presence *)letter;
    char status[24];

    presence->is_pending = false;
    if (presence->code == 0 && presence->status == 200) {
        presence->is_written = true;
        presence->written(presence->data);
        return;
    }
    hamid_log_warning(
        presence->status == 404 ? "Found no such Node object, trying again"
                                : "Could not write to the Node object, trying again",
        "node", presence->node, "code",
        presence->code != 0 ? hami_errname(presence->code) : NULL, "status",
        presence->status != 0 ? hamid_log_number(status, (uint64_t)presence->status)
                              : NULL,
        "err", *presence->text != '\0' ? presence->text : NULL, NULL);
    plan_next(presence);
}

static void write_due(evutil_socket_t fd, short what, void *data)
{
    struct presence *presence = data;
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char path[320];
    char *body;
    json_t *patch = json_pack("{s:{s:{s:s}}}", "metadata", "annotations",
                              HAMI_HANDSHAKE_AGENT_KEY, presence->value);

    (void)fd;
    (void)what;
    body = patch != NULL ? json_dumps(patch, JSON_COMPACT) : NULL;
    json_decref(patch);
    node_path(presence, path, sizeof(path));
    request.method = HAMI_KUBERNETES_PATCH;
    request.path = path;
    request.accept = ACCEPT_METADATA;
    request.content_type = "application/merge-patch+json";
    request.body = body;
    request.body_length = body != NULL ? strlen(body) : 0;
    presence->is_pending = true;
    if (body == NULL || hami_kubernetes_request_start(presence->client, &request,
                                                      answered, presence) < 0) {
        presence->is_pending = false;
        plan_next(presence);
    }
    free(body);
}

struct presence *presence_new(struct event_base *base, struct hamid_mailbox *mailbox,
                              hami_kubernetes *client, const char *node,
                              const char *value, void (*written)(void *data), void *data)
{
    struct presence *presence = calloc(1, sizeof(*presence));

    if (presence == NULL) {
        return NULL;
    }
    presence->letter.open = answer_opened;
    presence->mailbox = mailbox;
    presence->client = client;
    presence->node = node;
    presence->value = value;
    presence->written = written;
    presence->data = data;
    presence->pause_ms = PAUSE_FIRST_MS;
    presence->timer = event_new(base, -1, 0, write_due, presence);
    if (presence->timer == NULL) {
        free(presence);
        return NULL;
    }
    write_due(-1, 0, presence);
    return presence;
}

bool presence_is_pending(const struct presence *presence)
{
    return presence->is_pending;
}

void presence_stop(struct presence *presence)
{
    presence->is_stopped = true;
    (void)event_del(presence->timer);
}

void presence_remove(struct presence *presence, uint64_t timeout_ms)
{
    static const char pointer[] = "/metadata/annotations/hami.io~1mutex.agent";
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    struct hami_kubernetes_answer *answer = NULL;
    struct hami_error error = HAMI_ERROR_INIT;
    char path[320];
    char *body;
    json_t *patch;

    if (!presence->is_written) {
        return;
    }
    patch = json_pack("[{s:s, s:s, s:s}, {s:s, s:s}]", "op", "test", "path", pointer,
                      "value", presence->value, "op", "remove", "path", pointer);
    body = patch != NULL ? json_dumps(patch, JSON_COMPACT) : NULL;
    json_decref(patch);
    if (body == NULL) {
        return;
    }
    node_path(presence, path, sizeof(path));
    request.method = HAMI_KUBERNETES_PATCH;
    request.path = path;
    request.accept = ACCEPT_METADATA;
    request.content_type = "application/json-patch+json";
    request.body = body;
    request.body_length = strlen(body);
    request.deadline_ns = hami_kubernetes_in_ms(timeout_ms);
    if (hami_kubernetes_request(presence->client, &request, &answer, &error) < 0) {
        hamid_log_warning("Could not take the agent's annotation off the Node object",
                          "node", presence->node, "err", error.text, NULL);
    }
    hami_kubernetes_answer_free(answer);
    free(body);
}

struct presence *presence_free(struct presence *presence)
{
    if (presence != NULL) {
        event_free(presence->timer);
        free(presence);
    }
    return NULL;
}
