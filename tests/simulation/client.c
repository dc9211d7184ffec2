/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Kubernetes library over the simulated network, see backend.h. Its node-annotation
 * transport, watches, JSON Patches, answers and Bindings are the shipped files; this file
 * and client_stream.c stand where its HTTP client would, with the rules I1 to I4 of
 * lib/kubernetes/http.h.
 */
#include "client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store.h"

static struct world *current;

void client_enter(struct world *world)
{
    current = world;
}

struct client *client_of(const hami_kubernetes *handle)
{
    return (struct client *)handle;
}

uint64_t hami_kubernetes_now(void)
{
    return world_now(current);
}

uint64_t hami_kubernetes_in_ms(uint64_t ms)
{
    return world_now(current) + ms * MS;
}

bool hami_internal_http_is_forked(const hami_kubernetes *client)
{
    (void)client;
    return false;
}

bool hami_internal_http_is_own_thread(const hami_kubernetes *client)
{
    (void)client;
    return true;
}

void hami_internal_http_count_watch_restart(hami_kubernetes *client)
{
    (void)client;
}

void hami_internal_http_count_sight(hami_kubernetes *client, const char *version)
{
    (void)client;
    (void)version;
}

void hami_internal_http_log(const hami_kubernetes *client, enum hami_log_level level,
                            const char *format, ...)
{
    (void)client;
    (void)level;
    (void)format;
}

/* ---- requests ---- */

struct hami_internal_http_request {
    struct hami_internal_http_request *next, *previous;
    struct client *client;
    struct request *request;
    bool is_write, cancelled;
    hami_kubernetes_answered_fn callback;
    void *data;
};

static void unlink_handle(struct hami_internal_http_request *handle)
{
    if (handle->next) {
        handle->next->previous = handle->previous;
    }
    if (handle->previous) {
        handle->previous->next = handle->next;
    } else {
        handle->client->requests = handle->next;
    }
}

static char *status_text(int status)
{
    char buffer[160];

    (void)snprintf(buffer, sizeof(buffer),
                   "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"%s\","
                   "\"message\":\"simulated\",\"code\":%d}",
                   status == 404   ? "NotFound"
                   : status == 409 ? "Conflict"
                   : status == 410 ? "Expired"
                   : status == 422 ? "Invalid"
                                   : "Other",
                   status);
    return strdup(buffer);
}

static char *body_of(const struct request *request)
{
    if (request->outcome != OUTCOME_ANSWER) {
        return strdup("");
    }
    if (request->page) {
        return strdup(request->page);
    }
    if (!request->object) {
        return status_text(request->status);
    }
    if (!request->object->is_pod) {
        return strdup(object_line(request->object));
    }
    json_t *json = object_to_json(request->object, false);
    char *text = json_dumps(json, JSON_COMPACT);
    json_decref(json);
    return text;
}

static int code_of(const struct request *request)
{
    switch (request->outcome) {
    case OUTCOME_ANSWER:
        return 0;
    case OUTCOME_NOT_SENT:
        return HAMI_E_TRANSPORT;
    default:
        return HAMI_E_IN_DOUBT;
    }
}

static void answered(struct request *request)
{
    struct hami_internal_http_request *handle = request->data;
    struct hami_kubernetes_answer answer = {.size = sizeof(answer), .text = ""};
    char *body = body_of(request);

    unlink_handle(handle);
    answer.code = code_of(request);
    answer.status = request->outcome == OUTCOME_ANSWER ? request->status : 0;
    answer.body = body;
    answer.body_length = strlen(body);
    answer.server_time_us = UINT64_C(1767323045000000) + world_now(request->world) / US;
    answer.maybe_resent =
        handle->is_write && request->resent && request->outcome == OUTCOME_ANSWER;
    handle->callback(handle->data, &answer);
    free(body);
    free(handle);
}

/* The name in a path, and what it is of. */
static enum verb read_path(const struct hami_kubernetes_request *asked, char *name,
                           size_t size)
{
    const char *path = asked->path;
    bool patch = asked->method == HAMI_KUBERNETES_PATCH;
    const char *pods = strstr(path, "/pods/");
    const char *at = pods ? pods + strlen("/pods/") : strrchr(path, '/') + 1;

    (void)snprintf(name, size, "%.*s", (int)strcspn(at, "/?"), at);
    if (strstr(path, "?limit=")) {
        return VERB_LIST;
    }
    if (!pods) {
        return patch ? VERB_PATCH_NODE : VERB_GET_NODE;
    }
    if (asked->method == HAMI_KUBERNETES_POST) {
        return VERB_BIND;
    }
    return patch ? VERB_PATCH_POD : VERB_GET_POD;
}

static void read_binding(struct request *request, const char *body)
{
    json_t *json = json_loads(body, 0, NULL);
    json_t *metadata = json_object_get(json, "metadata");
    json_t *annotations = json_object_get(metadata, "annotations");
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    const char *version = json_string_value(json_object_get(metadata, "resourceVersion"));
    const char *fence = json_string_value(json_object_get(annotations, KEY_FENCE));
    const char *node =
        json_string_value(json_object_get(json_object_get(json, "target"), "name"));

    (void)snprintf(request->uid, sizeof(request->uid), "%s", uid ? uid : "");
    if (request->world->plan.broken != BROKEN_BINDING) {
        (void)snprintf(request->version, sizeof(request->version), "%s",
                       version ? version : "");
    }
    (void)snprintf(request->node, sizeof(request->node), "%s", node ? node : "");
    request->fence = fence ? strtoull(fence, NULL, 10) : 0;
    json_decref(json);
}

/* A broken transport's patch: without the tests that its kind leaves out. */
static char *without_tests(const struct world *world, const char *body)
{
    json_t *patch = json_loads(body, 0, NULL);

    for (size_t i = json_array_size(patch); i > 0; i--) {
        json_t *operation = json_array_get(patch, i - 1);
        const char *verb = json_string_value(json_object_get(operation, "op"));
        const char *path = json_string_value(json_object_get(operation, "path"));
        bool lease = strcmp(path, "/metadata/annotations/hami.io~1mutex.lease") == 0;
        if (strcmp(verb, "test") == 0 &&
            (lease || world->plan.broken == BROKEN_LOCK_TEST)) {
            (void)json_array_remove(patch, i - 1);
        }
    }
    char *text = json_dumps(patch, JSON_COMPACT);
    json_decref(patch);
    return text;
}

static void fill(struct request *request, const struct hami_kubernetes_request *asked)
{
    struct world *world = request->world;
    enum broken broken = world->plan.broken;

    const char *token = strstr(asked->path, "&continue=");

    if (request->verb == VERB_LIST) {
        request->pods = strstr(asked->path, "/pods?") != NULL;
        (void)snprintf(request->token, sizeof(request->token), "%s",
                       token ? token + strlen("&continue=") : "");
    } else if (request->verb == VERB_BIND) {
        read_binding(request, asked->body);
    } else if (asked->body && request->verb == VERB_PATCH_NODE &&
               (broken == BROKEN_LEASE_TEST || broken == BROKEN_LOCK_TEST)) {
        request->text = without_tests(world, asked->body);
    } else if (asked->body) {
        request->text = strdup(asked->body);
    }
    if (request->verb == VERB_PATCH_POD && broken == BROKEN_REVOCATION) {
        request->verb = VERB_GET_POD;
    }
}

/* A lock that stands already, which is put into the cover too, is no take. */
static bool is_tested(const json_t *patch, const char *value)
{
    json_t *operation;
    size_t at;

    json_array_foreach(patch, at, operation)
    {
        const char *verb = json_string_value(json_object_get(operation, "op"));
        const char *other = json_string_value(json_object_get(operation, "value"));
        if (value && other && strcmp(verb, "test") == 0 && strcmp(value, other) == 0) {
            return true;
        }
    }
    return false;
}

/* The pods whose locks a patch of a node puts and tests; NULL = none. */
static void read_patch(struct request *request, const struct pod **ret_tested)
{
    json_t *patch = json_loads(request->text, 0, NULL), *operation;
    size_t at;

    json_array_foreach(patch, at, operation)
    {
        const char *value = json_string_value(json_object_get(operation, "value"));
        bool copied = is_tested(patch, value);
        const char *verb = json_string_value(json_object_get(operation, "op"));
        struct pod *pod =
            value && value[0] != '{' ? store_named(request->world, value) : NULL;
        if (pod && strcmp(verb, "test") == 0) {
            *ret_tested = pod;
        } else if (pod && !copied) {
            request->taker = pod;
        }
    }
    json_decref(patch);
}

/* Whom a request is for: the pod that it names, else who is first in the queue. */
static struct acquire *meant(const struct client *client, struct request *request)
{
    const struct pod *pod = store_pod(client->world, request->name);
    const struct node *node = store_node(client->world, request->name);

    if (request->verb == VERB_PATCH_NODE) {
        read_patch(request, &pod);
        pod = request->taker ? request->taker : pod;
    }
    if (pod && pod->latest && !pod->latest->over &&
        pod->latest->replica == client->replica) {
        return pod->latest;
    }
    return node ? node->first[client->replica] : NULL;
}

int hami_internal_http_request_start(hami_kubernetes *handle_of_client,
                                     const struct hami_kubernetes_request *asked,
                                     hami_kubernetes_answered_fn callback, void *data,
                                     struct hami_internal_http_request **ret)
{
    struct client *client = client_of(handle_of_client);
    char name[64];

    if (client->closed || client->world->replicas[client->replica].dead) {
        return HAMI_E_CLOSED;
    }
    struct hami_internal_http_request *handle = calloc(1, sizeof(*handle));
    enum verb verb = read_path(asked, name, sizeof(name));
    *handle = (struct hami_internal_http_request){
        .next = client->requests,
        .client = client,
        .is_write = asked->method != HAMI_KUBERNETES_GET,
        .callback = callback,
        .data = data,
    };
    if (handle->next) {
        handle->next->previous = handle;
    }
    client->requests = handle;
    struct request *request = request_new(client->world, verb, name, answered, handle);
    request->replica = client->replica;
    request->writer = WRITER_OURS;
    request->who = client->world->replicas[client->replica].who;
    fill(request, asked);
    request->acquire = meant(client, request);
    handle->request = request;
    if (ret) {
        *ret = handle;
    }
    request_send(request, asked->deadline_ns);
    return 0;
}

void hami_internal_http_request_cancel(hami_kubernetes *client,
                                       struct hami_internal_http_request *handle)
{
    (void)client;
    handle->cancelled = true;
}

static bool end_request(struct client *client)
{
    struct hami_internal_http_request *at = client->requests;

    while (at && !at->cancelled && !client->closed) {
        at = at->next;
    }
    if (at) {
        request_cancel(at->request);
    }
    return at != NULL;
}

/* ---- the transport ---- */

struct hami_transport *client_new(struct world *world, int replica)
{
    static const char *const schedulers[] = {"simulated"};
    struct hami_kubernetes_transport_config config =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct client *client = calloc(1, sizeof(*client));

    client->world = world;
    client->replica = replica;
    config.scheduler_names = schedulers;
    config.scheduler_name_count = 1;
    if (hami_kubernetes_transport_new((hami_kubernetes *)client, &config, &client->inner,
                                      NULL) < 0) {
        abort();
    }
    client_wrap(client);
    return &client->transport;
}

void client_pump(struct hami_transport *transport)
{
    struct client *client = (struct client *)transport;

    while (end_request(client) || client_end_stream(client) || client_end_timer(client)) {
    }
}

void client_free(struct hami_transport *transport)
{
    struct client *client = (struct client *)transport;

    client->inner = hami_kubernetes_transport_free(client->inner);
    client->closed = true;
    client_pump(transport);
    free(client);
}

int client_bind(struct hami_transport *transport, const hami_lease *lease,
                uint64_t deadline_ns, hami_done_fn callback, void *data)
{
    return hami_kubernetes_bind_start((hami_kubernetes *)transport, lease, deadline_ns,
                                      callback, data);
}
