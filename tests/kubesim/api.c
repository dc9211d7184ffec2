/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct calls about objects: each packs its arguments, runs on the server's thread
 * and brings back copies. Writes go through the same verbs as requests from the wire.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"

struct request_call {
    struct kubesim *sim;
    const char *method, *uri, *content_type, *body;
    int code;
    char *answer;
    bool want_body;
};

static void run_request(void *data)
{
    struct request_call *call = data;
    struct sim_exchange *exchange = sim_exchange_new(call->sim, NULL, NULL);
    (void)sim_exchange_add_header(exchange, ":method", call->method);
    (void)sim_exchange_add_header(exchange, ":path", call->uri);
    (void)sim_exchange_add_header(exchange, "user-agent", "kubesim");
    if (call->content_type != NULL) {
        (void)sim_exchange_add_header(exchange, "content-type", call->content_type);
    }
    if (call->body != NULL) {
        (void)sim_exchange_add_body(exchange, call->body, strlen(call->body));
    }
    sim_router_run_internal(exchange);
    call->code = exchange->answer.code;
    if (call->want_body) {
        call->answer = strdup(exchange->answer.body != NULL ? exchange->answer.body : "");
    }
    sim_exchange_free(exchange);
}

int kubesim_request(struct kubesim *sim, const char *method, const char *uri,
                    const char *content_type, const char *body, char **ret_body)
{
    struct request_call call = {.sim = sim,
                                .method = method,
                                .uri = uri,
                                .content_type = content_type,
                                .body = body,
                                .want_body = ret_body != NULL};
    sim_server_call(sim, run_request, &call);
    if (ret_body != NULL) {
        *ret_body = call.answer;
    }
    return call.code;
}

/* The path of an object or, NAME NULL, of its collection; new. */
static char *path_of(const char *resource, const char *namespace_name, const char *name,
                     const char *subresource)
{
    const struct sim_resource *known = sim_resource_find(NULL, resource);
    bool inside = namespace_name != NULL && namespace_name[0] != '\0' && known != NULL &&
                  known->namespaced;
    char *path = NULL;
    if (asprintf(&path, "%s%s%s/%s%s%s%s%s", known != NULL ? known->path : "",
                 inside ? "/namespaces/" : "", inside ? namespace_name : "", resource,
                 name != NULL ? "/" : "", name != NULL ? name : "",
                 subresource != NULL ? "/" : "",
                 subresource != NULL ? subresource : "") < 0) {
        abort();
    }
    return path;
}

/* Send BODY, which is consumed (NULL: none), to an object's path. */
static int send_json(struct kubesim *sim, const char *method, char *path,
                     const char *content_type, json_t *body)
{
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    int code = kubesim_request(sim, method, path, content_type, text, NULL);
    json_decref(body);
    free(text);
    free(path);
    return code;
}

static int merge(struct kubesim *sim, const char *resource, const char *namespace_name,
                 const char *name, const char *subresource, json_t *patch)
{
    return send_json(sim, "PATCH", path_of(resource, namespace_name, name, subresource),
                     "application/merge-patch+json", patch);
}

int kubesim_create_node(struct kubesim *sim, const char *name, const char *resource,
                        unsigned count)
{
    json_t *capacity =
        json_pack("{s:s,s:s,s:s}", "cpu", "8", "memory", "32Gi", "pods", "110");
    if (resource != NULL) {
        json_object_set_new(capacity, resource, json_sprintf("%u", count));
    }
    json_t *node = json_pack(
        "{s:s,s:s,s:{s:s,s:{s:s}},s:{},s:{s:O,s:o,s:[{s:s,s:s,s:s}]}}", "kind", "Node",
        "apiVersion", "v1", "metadata", "name", name, "labels", "kubesim", "seeded",
        "spec", "status", "capacity", capacity, "allocatable", capacity, "conditions",
        "type", "Ready", "status", "True", "reason", "KubeletReady");
    return send_json(sim, "POST", strdup("/api/v1/nodes"), "application/json", node);
}

static json_t *container_of(const struct kubesim_pod *pod)
{
    json_t *container =
        json_pack("{s:s,s:s,s:{}}", "name", "main", "image", "pause", "resources");
    if (pod->resource != NULL) {
        json_object_set_new(
            json_object_get(container, "resources"), "limits",
            json_pack("{s:o}", pod->resource, json_sprintf("%u", pod->count)));
    }
    return container;
}

int kubesim_create_pod(struct kubesim *sim, const struct kubesim_pod *pod)
{
    const char *space = pod->namespace_name != NULL ? pod->namespace_name : "default";
    json_t *object =
        json_pack("{s:s,s:s,s:{s:s,s:s},s:{s:[o],s:s},s:{s:s}}", "kind", "Pod",
                  "apiVersion", "v1", "metadata", "name", pod->name, "namespace", space,
                  "spec", "containers", container_of(pod), "schedulerName",
                  pod->scheduler != NULL ? pod->scheduler : "default-scheduler", "status",
                  "phase", pod->phase != NULL ? pod->phase : "Pending");
    if (pod->node != NULL) {
        json_object_set_new(json_object_get(object, "spec"), "nodeName",
                            json_string(pod->node));
    }
    if (pod->annotations != NULL) {
        json_t *map = json_object();
        for (const char *const *at = pod->annotations; *at != NULL; at += 2) {
            json_object_set_new(map, at[0], json_string(at[1]));
        }
        json_object_set_new(json_object_get(object, "metadata"), "annotations", map);
    }
    return send_json(sim, "POST", path_of("pods", space, NULL, NULL), "application/json",
                     object);
}

struct read_call {
    struct kubesim *sim;
    const char *resource, *namespace_name, *name;
    json_t *value;
    uint64_t version;
};

/* Read the store itself: looking leaves no trace in the log. */
static void run_get(void *data)
{
    struct read_call *call = data;
    const struct sim_resource *resource = sim_resource_find(NULL, call->resource);
    if (resource == NULL) {
        return;
    }
    const char *space =
        resource->namespaced && call->namespace_name != NULL ? call->namespace_name : "";
    struct sim_object *object =
        sim_store_find(call->sim->store, resource, space, call->name);
    call->value = object != NULL ? json_deep_copy(object->value) : NULL;
}

static void run_list(void *data)
{
    struct read_call *call = data;
    const struct sim_resource *resource = sim_resource_find(NULL, call->resource);
    struct sim_object **objects;
    size_t count;
    call->value = json_array();
    if (resource == NULL ||
        sim_store_list(call->sim->store, resource, sim_store_version(call->sim->store),
                       &objects, &count) < 0) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (call->namespace_name == NULL ||
            strcmp(call->namespace_name, objects[i]->namespace_name) == 0) {
            json_array_append_new(call->value, json_deep_copy(objects[i]->value));
        }
    }
    sim_store_list_free(objects, count);
}

static void run_version(void *data)
{
    struct read_call *call = data;
    call->version = sim_store_version(call->sim->store);
}

json_t *kubesim_get(struct kubesim *sim, const char *resource, const char *namespace_name,
                    const char *name)
{
    struct read_call call = {
        .sim = sim, .resource = resource, .namespace_name = namespace_name, .name = name};
    sim_server_call(sim, run_get, &call);
    return call.value;
}

json_t *kubesim_list(struct kubesim *sim, const char *resource,
                     const char *namespace_name)
{
    struct read_call call = {
        .sim = sim, .resource = resource, .namespace_name = namespace_name};
    sim_server_call(sim, run_list, &call);
    return call.value;
}

uint64_t kubesim_version(struct kubesim *sim)
{
    struct read_call call = {.sim = sim};
    sim_server_call(sim, run_version, &call);
    return call.version;
}

char *kubesim_text(struct kubesim *sim, const char *resource, const char *namespace_name,
                   const char *name, const char *pointer)
{
    json_t *object = kubesim_get(sim, resource, namespace_name, name);
    const char *text =
        object != NULL ? json_string_value(sim_json_pointer(object, pointer)) : NULL;
    char *copy = text != NULL ? strdup(text) : NULL;
    json_decref(object);
    return copy;
}

char *kubesim_annotation(struct kubesim *sim, const char *resource,
                         const char *namespace_name, const char *name, const char *key)
{
    json_t *object = kubesim_get(sim, resource, namespace_name, name);
    json_t *map = json_object_get(json_object_get(object, "metadata"), "annotations");
    const char *text = json_string_value(json_object_get(map, key));
    char *copy = text != NULL ? strdup(text) : NULL;
    json_decref(object);
    return copy;
}

int kubesim_set_annotation(struct kubesim *sim, const char *resource,
                           const char *namespace_name, const char *name, const char *key,
                           const char *value)
{
    json_t *text = value != NULL ? json_string(value) : json_null();
    return merge(sim, resource, namespace_name, name, NULL,
                 json_pack("{s:{s:{s:o}}}", "metadata", "annotations", key, text));
}

int kubesim_set_phase(struct kubesim *sim, const char *namespace_name, const char *name,
                      const char *phase)
{
    return merge(sim, "pods", namespace_name, name, "status",
                 json_pack("{s:{s:s}}", "status", "phase", phase));
}

int kubesim_bind(struct kubesim *sim, const char *namespace_name, const char *name,
                 const char *node)
{
    json_t *binding =
        json_pack("{s:s,s:s,s:{s:s},s:{s:s,s:s}}", "kind", "Binding", "apiVersion", "v1",
                  "metadata", "name", name, "target", "kind", "Node", "name", node);
    return send_json(sim, "POST", path_of("pods", namespace_name, name, "binding"),
                     "application/json", binding);
}

int kubesim_delete(struct kubesim *sim, const char *resource, const char *namespace_name,
                   const char *name)
{
    return send_json(sim, "DELETE", path_of(resource, namespace_name, name, NULL),
                     "application/json", json_pack("{s:i}", "gracePeriodSeconds", 0));
}

int kubesim_terminate(struct kubesim *sim, const char *namespace_name, const char *name)
{
    return send_json(sim, "DELETE", path_of("pods", namespace_name, name, NULL), NULL,
                     NULL);
}
