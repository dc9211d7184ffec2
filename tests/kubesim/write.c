/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing verbs: POST, PUT, PATCH, DELETE. Each runs to its end in one go on the
 * server's thread, which is what makes a write atomic. The order of checks is the API
 * server's: existence, preconditions (409), validity (422), then nothing is written
 * when nothing changed. No lock.
 */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jsonpatch.h"

static struct sim_object *find(const struct sim_exchange *exchange)
{
    return sim_store_find(exchange->server->store, exchange->target.resource,
                          exchange->target.namespace_name, exchange->target.name);
}

static bool is_status(const struct sim_exchange *exchange)
{
    return strcmp(exchange->target.subresource, "status") == 0;
}

/* The body as a JSON object; false: answered with 400. */
static bool need_object(struct sim_exchange *exchange)
{
    if (json_is_object(exchange->request)) {
        return true;
    }
    sim_status_bad_request(exchange,
                           "the object provided is unrecognized (must be of type %s): "
                           "couldn't get version/kind; json parse error",
                           exchange->target.resource->kind);
    return false;
}

/* kind and apiVersion, where given, must be those of the path. */
static bool check_kind(struct sim_exchange *exchange, const json_t *object)
{
    const struct sim_resource *resource = exchange->target.resource;
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *version = json_string_value(json_object_get(object, "apiVersion"));
    if ((kind != NULL && strcmp(kind, resource->kind) != 0) ||
        (version != NULL && strcmp(version, resource->group_version) != 0)) {
        sim_status_bad_request(exchange,
                               "%s in version \"%s\" cannot be handled as a %s: no kind "
                               "is registered",
                               kind != NULL ? kind : "", version != NULL ? version : "",
                               resource->kind);
        return false;
    }
    return true;
}

/* The namespace in the object must be the path's; an absent one is filled in. */
static bool check_namespace(struct sim_exchange *exchange, json_t *object)
{
    const char *space = sim_metadata_text(object, "namespace");
    const char *wanted = exchange->target.namespace_name;
    if (space != NULL && space[0] != '\0' && strcmp(space, wanted) != 0) {
        sim_status_bad_request(exchange, "the namespace of the provided object does not "
                                         "match the namespace sent on the request");
        return false;
    }
    json_t *metadata = json_object_get(object, "metadata");
    if (exchange->target.resource->namespaced && json_is_object(metadata)) {
        json_object_set_new(metadata, "namespace", json_string(wanted));
    }
    return true;
}

/* Events are taken note of and not kept: the answer looks as if they were. */
static void answer_unstored(struct sim_exchange *exchange, int code, json_t *object)
{
    char *text;
    json_object_set_new(json_object_get(object, "metadata"), "resourceVersion",
                        json_string("1"));
    object = sim_resource_normalise(exchange->target.resource, object);
    text = json_dumps(object, JSON_COMPACT);
    sim_answer_copy(exchange, code, text);
    free(text);
    json_decref(object);
}

/* A call of the C API need not make the namespace first: it appears. */
static bool namespace_exists(struct sim_exchange *exchange)
{
    const struct sim_resource *spaces = sim_resource_find("/api/v1", "namespaces");
    const char *name = exchange->target.namespace_name;
    if (!exchange->target.resource->namespaced ||
        sim_store_find(exchange->server->store, spaces, "", name) != NULL) {
        return true;
    }
    if (exchange->internal) {
        json_t *object = json_pack("{s:{s:s}}", "metadata", "name", name);
        sim_resource_prepare_create(spaces, object, true);
        (void)sim_store_put(exchange->server->store, spaces, object);
        return true;
    }
    sim_status(exchange, 404, "NotFound",
               json_pack("{s:s,s:s}", "name", name, "kind", "namespaces"),
               "namespaces \"%s\" not found", name);
    return false;
}

static void create(struct sim_exchange *exchange, json_t *object)
{
    const struct sim_resource *resource = exchange->target.resource;
    sim_resource_prepare_create(resource, object, exchange->internal);
    const char *name = sim_metadata_text(object, "name");
    snprintf(exchange->target.name, sizeof(exchange->target.name), "%s",
             name != NULL ? name : "");
    if (!sim_validate(exchange, object, NULL)) {
        json_decref(object);
        return;
    }
    if (!resource->stored) {
        answer_unstored(exchange, 201, object);
        return;
    }
    if (find(exchange) != NULL) {
        sim_status_exists(exchange);
        json_decref(object);
        return;
    }
    sim_answer_object(exchange, 201,
                      sim_store_put(exchange->server->store, resource, object));
    sim_watch_wake(exchange->server);
}

void sim_write_create(struct sim_exchange *exchange)
{
    if (!need_object(exchange) || !check_kind(exchange, exchange->request) ||
        !namespace_exists(exchange)) {
        return;
    }
    json_t *object = json_deep_copy(exchange->request);
    const char *version = sim_metadata_text(object, "resourceVersion");
    if (!check_namespace(exchange, object)) {
        json_decref(object);
    } else if (version != NULL && version[0] != '\0') {
        json_decref(object);
        sim_status(exchange, 500, NULL, NULL,
                   "resourceVersion should not be set on objects to be created");
    } else {
        create(exchange, object);
    }
}

/* A deleted object that only waited for its last finalizer goes with that. */
static bool is_ready_to_go(const json_t *object)
{
    const json_t *metadata = json_object_get(object, "metadata");
    const json_t *grace = json_object_get(metadata, "deletionGracePeriodSeconds");
    return json_object_get(metadata, "deletionTimestamp") != NULL &&
           json_array_size(json_object_get(metadata, "finalizers")) == 0 &&
           (grace == NULL || json_integer_value(grace) == 0);
}

static void commit(struct sim_exchange *exchange, struct sim_object *current,
                   json_t *candidate)
{
    struct kubesim *sim = exchange->server;
    candidate = sim_resource_normalise(exchange->target.resource, candidate);
    json_object_set(
        json_object_get(candidate, "metadata"), "resourceVersion",
        json_object_get(json_object_get(current->value, "metadata"), "resourceVersion"));
    if (json_equal(candidate, current->value)) {
        json_decref(candidate);
        sim_answer_object(exchange, 200, current);
        return;
    }
    struct sim_object *written =
        sim_store_put(sim->store, exchange->target.resource, candidate);
    if (is_ready_to_go(written->value)) {
        written = sim_store_remove(sim->store, written);
    }
    sim_answer_object(exchange, 200, written);
    sim_watch_wake(sim);
}

/* The version in the new object, when there is one, must be the current one. */
static bool check_version(struct sim_exchange *exchange, const json_t *candidate,
                          const struct sim_object *current)
{
    const char *version = sim_metadata_text(candidate, "resourceVersion");
    char *end = NULL;
    if (version == NULL || version[0] == '\0' ||
        (strtoull(version, &end, 10) == current->version && *end == '\0')) {
        return true;
    }
    if (*end != '\0') {
        sim_status(exchange, 500, NULL, NULL, "parsing \"%s\": invalid syntax", version);
    } else {
        sim_status_conflict(exchange, NULL,
                            "the object has been modified; please apply your changes to "
                            "the latest version and try again");
    }
    return false;
}

/* Consumes CANDIDATE, the whole object as the client wants it. */
static void update(struct sim_exchange *exchange, struct sim_object *current,
                   json_t *candidate)
{
    const char *name = sim_metadata_text(candidate, "name");
    if (name == NULL || strcmp(name, exchange->target.name) != 0) {
        sim_status_bad_request(exchange,
                               "the name of the object (%s) does not match the name on "
                               "the URL (%s)",
                               name != NULL ? name : "", exchange->target.name);
    } else if (check_kind(exchange, candidate) && check_namespace(exchange, candidate) &&
               check_version(exchange, candidate, current)) {
        sim_resource_prepare_update(exchange->target.resource, candidate, current->value,
                                    is_status(exchange));
        if (sim_validate(exchange, candidate, current->value)) {
            commit(exchange, current, candidate);
            return;
        }
    }
    json_decref(candidate);
}

/* PUT compares the UID as a precondition: 409, where a patch gets 422. */
static bool check_uid(struct sim_exchange *exchange, const struct sim_object *current)
{
    const char *uid = sim_metadata_text(exchange->request, "uid");
    const char *present = sim_metadata_text(current->value, "uid");
    if (uid == NULL || uid[0] == '\0' || strcmp(uid, present) == 0) {
        return true;
    }
    sim_status_conflict(
        exchange, NULL,
        "StorageError: invalid object, Code: 4, Key: /registry/%s/%s%s%s, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID "
        "in precondition: %s, UID in object meta: %s",
        current->resource->plural, current->namespace_name,
        current->namespace_name[0] != '\0' ? "/" : "", current->name, uid, present);
    return false;
}

void sim_write_update(struct sim_exchange *exchange)
{
    const struct sim_resource *resource = exchange->target.resource;
    struct sim_object *current = find(exchange);
    if (!need_object(exchange)) {
        return;
    }
    if (current == NULL && resource->create_by_put && !is_status(exchange)) {
        sim_write_create(exchange);
        return;
    }
    if (current == NULL) {
        sim_status_not_found(exchange);
        return;
    }
    const char *version = sim_metadata_text(exchange->request, "resourceVersion");
    if (!resource->unconditional_put && (version == NULL || version[0] == '\0')) {
        sim_status_invalid(exchange, "metadata.resourceVersion", "FieldValueInvalid",
                           "Invalid value: 0: must be specified for an update");
        return;
    }
    if (check_uid(exchange, current)) {
        update(exchange, current, json_deep_copy(exchange->request));
    }
}

/* The patched object, new; NULL: answered. */
static json_t *patched(struct sim_exchange *exchange, const struct sim_object *current)
{
    json_t *result = NULL;
    if (strncmp(exchange->content_type, "application/merge-patch+json", 28) == 0) {
        if (!json_is_object(exchange->request)) {
            sim_status_bad_request(exchange,
                                   "error decoding patch: json: cannot unmarshal into Go "
                                   "value of type map[string]interface {}");
            return NULL;
        }
        return sim_mergepatch_apply(current->value, exchange->request);
    }
    switch (
        sim_jsonpatch_apply(current->value, exchange->request, exchange->body, &result)) {
    case SIM_PATCH_FAILED:
        sim_status(exchange, 422, "Invalid", json_object(),
                   "the server rejected our request due to an error in our request");
        break;
    case SIM_PATCH_MALFORMED:
        sim_status_bad_request(exchange, "json: cannot unmarshal into Go value of type "
                                         "jsonpatch.Patch");
        break;
    case SIM_PATCH_TOO_LONG:
        sim_status(exchange, 413, "RequestEntityTooLarge", NULL,
                   "Request entity too large: The allowed maximum operations in a JSON "
                   "patch is %d, got %zu",
                   SIM_PATCH_OPERATIONS, json_array_size(exchange->request));
        break;
    default:
        break;
    }
    return result;
}

static bool supported_patch(const struct sim_exchange *exchange)
{
    static const char *const types[] = {"application/json-patch+json",
                                        "application/merge-patch+json"};
    const char *type = exchange->content_type != NULL ? exchange->content_type : "";
    size_t length = strcspn(type, "; ");
    for (size_t i = 0; i < 2; i++) {
        if (strlen(types[i]) == length && strncmp(type, types[i], length) == 0) {
            return true;
        }
    }
    return false;
}

void sim_write_patch(struct sim_exchange *exchange)
{
    static const char accepted[] =
        "application/json-patch+json, application/merge-patch+json";
    if (!supported_patch(exchange)) {
        sim_status(exchange, 415, "UnsupportedMediaType", json_object(),
                   "415: Unsupported Media Type");
        exchange->answer.allow_patch = accepted;
        return;
    }
    if (exchange->request == NULL) {
        sim_status_bad_request(exchange, "invalid JSON patch");
        return;
    }
    struct sim_object *current = find(exchange);
    if (current == NULL) {
        sim_status_not_found(exchange);
        return;
    }
    json_t *candidate = patched(exchange, current);
    if (candidate != NULL && !json_is_object(candidate)) {
        json_decref(candidate);
        sim_status_bad_request(exchange, "the patched object is no object");
        return;
    }
    if (candidate != NULL) {
        update(exchange, current, candidate);
    }
}

/* Preconditions of a DeleteOptions body; false: answered with 409. */
static bool check_preconditions(struct sim_exchange *exchange,
                                const struct sim_object *current)
{
    const json_t *wanted = json_object_get(exchange->request, "preconditions");
    const char *uid = json_string_value(json_object_get(wanted, "uid"));
    const char *version = json_string_value(json_object_get(wanted, "resourceVersion"));
    const char *present = sim_metadata_text(current->value, "uid");
    const char *kind = current->resource->kind;
    bool wrong_uid = uid != NULL && strcmp(uid, present) != 0;
    if (!wrong_uid &&
        (version == NULL || strtoull(version, NULL, 10) == current->version)) {
        return true;
    }
    sim_status(exchange, 409, "Conflict",
               json_pack("{s:s,s:s}", "name", current->name, "kind", kind),
               "Operation cannot be fulfilled on %s \"%s\": the %s in the precondition "
               "(%s) does not match the %s in record (%s). The object might have been "
               "%s",
               kind, current->name, wrong_uid ? "UID" : "ResourceVersion",
               wrong_uid ? uid : version, wrong_uid ? "UID" : "ResourceVersion",
               wrong_uid ? present : sim_metadata_text(current->value, "resourceVersion"),
               wrong_uid ? "deleted and then recreated" : "modified");
    return false;
}

/* Seconds that a pod stays before it is gone; 0: at once. */
static json_int_t grace_seconds(struct sim_exchange *exchange,
                                const struct sim_object *current)
{
    const json_t *spec = json_object_get(current->value, "spec");
    const char *phase = json_string_value(
        json_object_get(json_object_get(current->value, "status"), "phase"));
    const char *node = sim_spec_text(current->value, "nodeName");
    if (strcmp(current->resource->kind, "Pod") != 0 || node == NULL || node[0] == '\0' ||
        (phase != NULL &&
         (strcmp(phase, "Failed") == 0 || strcmp(phase, "Succeeded") == 0))) {
        return 0;
    }
    char *query = sim_query_get(exchange, "gracePeriodSeconds");
    const json_t *option = json_object_get(exchange->request, "gracePeriodSeconds");
    json_int_t seconds =
        json_integer_value(json_object_get(spec, "terminationGracePeriodSeconds"));
    if (json_is_integer(option)) {
        seconds = json_integer_value(option);
    } else if (query != NULL) {
        seconds = strtoll(query, NULL, 10);
    }
    free(query);
    return seconds < 0 ? 1 : seconds;
}

/* The object stays, marked as being deleted. */
static struct sim_object *mark_deleted(struct sim_exchange *exchange,
                                       struct sim_object *current, json_int_t seconds)
{
    char now[40];
    json_t *candidate = json_deep_copy(current->value);
    json_t *metadata = json_object_get(candidate, "metadata");
    json_t *present = json_object_get(metadata, "deletionGracePeriodSeconds");
    if (json_object_get(metadata, "deletionTimestamp") != NULL &&
        json_integer_value(present) <= seconds) {
        json_decref(candidate);
        return current;
    }
    sim_time_seconds(now, (int)seconds);
    json_object_set_new(metadata, "deletionTimestamp", json_string(now));
    json_object_set_new(metadata, "deletionGracePeriodSeconds", json_integer(seconds));
    return sim_store_put(exchange->server->store, current->resource, candidate);
}

static json_t *deleted_status(const struct sim_object *object)
{
    json_t *details = json_pack("{s:s}", "name", object->name);
    if (object->resource->group[0] != '\0') {
        json_object_set_new(details, "group", json_string(object->resource->group));
    }
    json_object_set_new(details, "kind", json_string(object->resource->plural));
    json_object_set_new(details, "uid",
                        json_string(sim_metadata_text(object->value, "uid")));
    return json_pack("{s:s,s:s,s:{},s:s,s:o}", "kind", "Status", "apiVersion", "v1",
                     "metadata", "status", "Success", "details", details);
}

void sim_write_delete(struct sim_exchange *exchange)
{
    struct sim_object *current = find(exchange);
    if (current == NULL) {
        sim_status_not_found(exchange);
        return;
    }
    if (!check_preconditions(exchange, current)) {
        return;
    }
    const json_t *metadata = json_object_get(current->value, "metadata");
    bool held = json_array_size(json_object_get(metadata, "finalizers")) > 0;
    json_int_t seconds = grace_seconds(exchange, current);
    if (held || seconds > 0) {
        current = mark_deleted(exchange, current, seconds);
        sim_answer_object(exchange, 200, current);
    } else {
        current = sim_store_remove(exchange->server->store, current);
        sim_answer_object(exchange, 200, current);
        if (!current->resource->returns_deleted) {
            json_t *status = deleted_status(current);
            uint64_t version = current->version;
            sim_answer_json(exchange, 200, status);
            exchange->answer.version = version;
        }
    }
    sim_watch_wake(exchange->server);
}
