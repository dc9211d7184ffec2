/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST pods/NAME/binding as Kubernetes 1.37 does it: UID and resourceVersion of the
 * Binding are preconditions, its annotations and labels go onto the pod together with
 * nodeName, the node need not exist. No lock.
 */
#include "server.h"

#include <string.h>

/* The Binding itself; false: answered. */
static bool check_binding(struct sim_exchange *exchange)
{
    const json_t *binding = exchange->request;
    const char *name = sim_metadata_text(binding, "name");
    const json_t *target = json_object_get(binding, "target");
    const char *kind = json_string_value(json_object_get(target, "kind"));
    const char *node = json_string_value(json_object_get(target, "name"));
    if (!json_is_object(binding)) {
        sim_status_bad_request(exchange,
                               "the object provided is unrecognized (must be of "
                               "type Binding)");
        return false;
    }
    if (name == NULL || strcmp(name, exchange->target.name) != 0) {
        sim_status_bad_request(exchange,
                               "name in URL does not match name in Binding object");
        return false;
    }
    if (kind != NULL && kind[0] != '\0' && strcmp(kind, "Node") != 0) {
        sim_status(exchange, 500, NULL, NULL,
                   "target.kind: Unsupported value: \"%s\": supported values: \"Node\", "
                   "\"<empty>\"",
                   kind);
        return false;
    }
    if (node == NULL || node[0] == '\0') {
        sim_status(exchange, 500, NULL, NULL, "target.name: Required value");
        return false;
    }
    return true;
}

static void precondition_failed(struct sim_exchange *exchange, const char *what,
                                const char *wanted, const char *present)
{
    const struct sim_target *target = &exchange->target;
    sim_status_conflict(
        exchange, NULL,
        "StorageError: invalid object, Code: 4, Key: /registry/pods/%s/%s, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s "
        "in precondition: %s, %s in object meta: %s",
        target->namespace_name, target->name, what, wanted, what, present);
}

static bool check_preconditions(struct sim_exchange *exchange, const json_t *pod)
{
    static const char *const keys[][2] = {{"uid", "UID"},
                                          {"resourceVersion", "ResourceVersion"}};
    for (size_t i = 0; i < 2; i++) {
        const char *wanted = sim_metadata_text(exchange->request, keys[i][0]);
        const char *present = sim_metadata_text(pod, keys[i][0]);
        if (wanted != NULL && wanted[0] != '\0' && strcmp(wanted, present) != 0) {
            precondition_failed(exchange, keys[i][1], wanted, present);
            return false;
        }
    }
    return true;
}

static bool check_pod(struct sim_exchange *exchange, const json_t *pod)
{
    const char *name = exchange->target.name;
    const char *node = sim_spec_text(pod, "nodeName");
    const json_t *gates =
        json_object_get(json_object_get(pod, "spec"), "schedulingGates");
    if (sim_metadata_text(pod, "deletionTimestamp") != NULL) {
        sim_status_conflict(exchange, "binding",
                            "pod %s is being deleted, cannot be assigned to a host",
                            name);
    } else if (node != NULL && node[0] != '\0') {
        sim_status_conflict(exchange, "binding",
                            "pod %s is already assigned to node \"%s\"", name, node);
    } else if (json_array_size(gates) > 0) {
        sim_status_conflict(exchange, "binding",
                            "pod %s has non-empty .spec.schedulingGates", name);
    } else {
        return true;
    }
    return false;
}

static void copy_map(json_t *metadata, const json_t *binding, const char *key)
{
    json_t *from = json_object_get(json_object_get(binding, "metadata"), key);
    if (!json_is_object(from)) {
        return;
    }
    if (!json_is_object(json_object_get(metadata, key))) {
        json_object_set_new(metadata, key, json_object());
    }
    json_object_update(json_object_get(metadata, key), from);
}

static void set_scheduled(json_t *pod)
{
    char now[40];
    json_t *status = json_object_get(pod, "status");
    json_t *conditions = json_object_get(status, "conditions");
    if (!json_is_array(conditions)) {
        json_object_set_new(status, "conditions", json_array());
        conditions = json_object_get(status, "conditions");
    }
    size_t index;
    json_t *condition;
    json_array_foreach(conditions, index, condition)
    {
        const char *type = json_string_value(json_object_get(condition, "type"));
        if (type != NULL && strcmp(type, "PodScheduled") == 0) {
            json_array_remove(conditions, index);
            break;
        }
    }
    sim_time_seconds(now, 0);
    json_array_append_new(conditions,
                          json_pack("{s:s,s:s,s:n,s:s}", "type", "PodScheduled", "status",
                                    "True", "lastProbeTime", "lastTransitionTime", now));
}

void sim_write_binding(struct sim_exchange *exchange)
{
    struct kubesim *sim = exchange->server;
    if (!check_binding(exchange)) {
        return;
    }
    struct sim_object *current =
        sim_store_find(sim->store, exchange->target.resource,
                       exchange->target.namespace_name, exchange->target.name);
    if (current == NULL) {
        sim_status_not_found(exchange);
        return;
    }
    if (!check_preconditions(exchange, current->value) ||
        !check_pod(exchange, current->value)) {
        return;
    }
    json_t *pod = json_deep_copy(current->value);
    json_t *target = json_object_get(exchange->request, "target");
    json_object_set(json_object_get(pod, "spec"), "nodeName",
                    json_object_get(target, "name"));
    copy_map(json_object_get(pod, "metadata"), exchange->request, "annotations");
    copy_map(json_object_get(pod, "metadata"), exchange->request, "labels");
    set_scheduled(pod);
    struct sim_object *written = sim_store_put(sim->store, current->resource, pod);
    sim_answer_copy(exchange, 201,
                    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                    "\"status\":\"Success\",\"code\":201}");
    exchange->answer.version = written->version;
    sim_watch_wake(sim);
}
