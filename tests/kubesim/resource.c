/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of resources and the server's own share in an object: see resource.h.
 * Pure but for the clock and random numbers that stamp new objects. No lock.
 */
#include "resource.h"

#include <openssl/rand.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LEASES "coordination.k8s.io"

const struct sim_resource sim_resources[SIM_RESOURCE_COUNT] = {
    {.plural = "nodes",
     .kind = "Node",
     .group = "",
     .group_version = "v1",
     .path = "/api/v1",
     .has_status = true,
     .stored = true,
     .unconditional_put = true,
     .index = 0},
    {.plural = "pods",
     .kind = "Pod",
     .group = "",
     .group_version = "v1",
     .path = "/api/v1",
     .namespaced = true,
     .has_status = true,
     .stored = true,
     .unconditional_put = true,
     .returns_deleted = true,
     .index = 1},
    {.plural = "leases",
     .kind = "Lease",
     .group = LEASES,
     .group_version = LEASES "/v1",
     .path = "/apis/" LEASES "/v1",
     .namespaced = true,
     .stored = true,
     .create_by_put = true,
     .index = 2},
    {.plural = "namespaces",
     .kind = "Namespace",
     .group = "",
     .group_version = "v1",
     .path = "/api/v1",
     .has_status = true,
     .stored = true,
     .unconditional_put = true,
     .returns_deleted = true,
     .index = 3},
    {.plural = "events",
     .kind = "Event",
     .group = "",
     .group_version = "v1",
     .path = "/api/v1",
     .namespaced = true,
     .unconditional_put = true,
     .index = 4},
    {.plural = "events",
     .kind = "Event",
     .group = "events.k8s.io",
     .group_version = "events.k8s.io/v1",
     .path = "/apis/events.k8s.io/v1",
     .namespaced = true,
     .unconditional_put = true,
     .index = 5},
};

const struct sim_resource *sim_resource_find(const char *path, const char *plural)
{
    for (size_t i = 0; i < SIM_RESOURCE_COUNT; i++) {
        const struct sim_resource *resource = &sim_resources[i];
        if (strcmp(resource->plural, plural) == 0 &&
            (path == NULL || strcmp(resource->path, path) == 0)) {
            return resource;
        }
    }
    return NULL;
}

void sim_time_seconds(char *buffer, int offset)
{
    time_t now = time(NULL) + offset;
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(buffer, 40, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void sim_time_micros(char *buffer)
{
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    size_t length = strftime(buffer, 40, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(buffer + length, 40 - length, ".%06ldZ", now.tv_nsec / 1000);
}

void sim_uuid(char *buffer)
{
    uint8_t b[16];
    if (RAND_bytes(b, sizeof(b)) != 1) {
        memset(b, 0, sizeof(b));
    }
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    char *out = buffer;
    for (int i = 0; i < 16; i++) {
        out += sprintf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                       b[i]);
    }
}

const char *sim_metadata_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

const char *sim_spec_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(json_object_get(object, "spec"), key));
}

/* The member as an object, made when it is absent or of another type. */
static json_t *need_object(json_t *parent, const char *key)
{
    json_t *child = json_object_get(parent, key);
    if (!json_is_object(child)) {
        json_object_set_new(parent, key, json_object());
        child = json_object_get(parent, key);
    }
    return child;
}

static void set_default(json_t *object, const char *key, json_t *value)
{
    json_t *present = json_object_get(object, key);
    if (present == NULL || json_is_null(present)) {
        json_object_set_new(object, key, value);
    } else {
        json_decref(value);
    }
}

static void default_pod(json_t *pod, bool direct)
{
    json_t *spec = need_object(pod, "spec");
    set_default(spec, "restartPolicy", json_string("Always"));
    set_default(spec, "terminationGracePeriodSeconds", json_integer(30));
    set_default(spec, "dnsPolicy", json_string("ClusterFirst"));
    set_default(spec, "schedulerName", json_string("default-scheduler"));
    if (!direct) {
        json_object_del(pod, "status");
    }
    json_t *status = need_object(pod, "status");
    set_default(status, "phase", json_string("Pending"));
    set_default(status, "qosClass", json_string("BestEffort"));
}

/* The API server taints a node that is created by hand until a controller finds it
 * ready; nodes that a test seeds are born ready. */
static void default_node(json_t *node, bool direct)
{
    need_object(node, "spec");
    need_object(node, "status");
    if (direct) {
        return;
    }
    json_t *spec = json_object_get(node, "spec");
    json_t *taints = json_object_get(spec, "taints");
    if (!json_is_array(taints)) {
        json_object_set_new(spec, "taints", json_array());
        taints = json_object_get(spec, "taints");
    }
    json_array_append_new(taints,
                          json_pack("{s:s,s:s}", "key", "node.kubernetes.io/not-ready",
                                    "effect", "NoSchedule"));
}

static void generate_name(json_t *metadata)
{
    const char *prefix = json_string_value(json_object_get(metadata, "generateName"));
    const char *name = json_string_value(json_object_get(metadata, "name"));
    if (prefix == NULL || (name != NULL && name[0] != '\0')) {
        return;
    }
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint8_t noise[5] = {0};
    char suffix[6] = "";
    if (RAND_bytes(noise, sizeof(noise)) != 1) {
        return;
    }
    for (int i = 0; i < 5; i++) {
        suffix[i] = letters[noise[i] % (sizeof(letters) - 1)];
    }
    json_object_set_new(metadata, "name", json_sprintf("%.58s%s", prefix, suffix));
}

void sim_resource_prepare_create(const struct sim_resource *resource, json_t *object,
                                 bool direct)
{
    char uid[37], now[40];
    sim_uuid(uid);
    sim_time_seconds(now, 0);
    json_t *metadata = need_object(object, "metadata");
    generate_name(metadata);
    json_object_set_new(metadata, "uid", json_string(uid));
    json_object_set_new(metadata, "creationTimestamp", json_string(now));
    json_object_del(metadata, "deletionTimestamp");
    json_object_del(metadata, "deletionGracePeriodSeconds");
    json_object_del(metadata, "managedFields");
    json_object_del(metadata, "selfLink");
    if (strcmp(resource->kind, "Pod") == 0) {
        default_pod(object, direct);
    } else if (strcmp(resource->kind, "Node") == 0) {
        default_node(object, direct);
    } else if (strcmp(resource->kind, "Namespace") == 0) {
        json_object_set_new(need_object(object, "status"), "phase",
                            json_string("Active"));
    }
}

static void keep(json_t *candidate, json_t *current, const char *key)
{
    json_t *value = json_object_get(current, key);
    if (value != NULL) {
        json_object_set(candidate, key, value);
    } else {
        json_object_del(candidate, key);
    }
}

void sim_resource_prepare_update(const struct sim_resource *resource, json_t *candidate,
                                 json_t *current, bool status_only)
{
    static const char *const fixed[] = {"creationTimestamp", "deletionTimestamp",
                                        "deletionGracePeriodSeconds", "generation",
                                        "generateName"};
    json_t *metadata = need_object(candidate, "metadata");
    json_t *before = json_object_get(current, "metadata");
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
        keep(metadata, before, fixed[i]);
    }
    json_object_del(metadata, "managedFields");
    const char *uid = json_string_value(json_object_get(metadata, "uid"));
    if (uid == NULL || uid[0] == '\0') {
        keep(metadata, before, "uid");
    }
    if (status_only) {
        keep(candidate, current, "spec");
    } else if (resource->has_status) {
        keep(candidate, current, "status");
    }
}

static void drop_if_empty(json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (value != NULL &&
        (json_is_null(value) || (json_is_object(value) && json_object_size(value) == 0) ||
         (json_is_array(value) && json_array_size(value) == 0))) {
        json_object_del(object, key);
    }
}

/* A null in a map of strings decodes to the empty string. */
static void nulls_to_empty(json_t *metadata, const char *map)
{
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(json_object_get(metadata, map), next, key, value)
    {
        if (json_is_null(value)) {
            json_object_set_new(json_object_get(metadata, map), key, json_string(""));
        }
    }
}

static void move_member(json_t *to, json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    if (value != NULL) {
        json_object_set(to, key, value);
        json_object_del(from, key);
    }
}

static json_t *normalise_metadata(json_t *metadata)
{
    static const char *const order[] = {"name",
                                        "generateName",
                                        "namespace",
                                        "uid",
                                        "resourceVersion",
                                        "generation",
                                        "creationTimestamp",
                                        "deletionTimestamp",
                                        "deletionGracePeriodSeconds",
                                        "labels",
                                        "annotations",
                                        "ownerReferences",
                                        "finalizers"};
    json_t *result = json_object();
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        move_member(result, metadata, order[i]);
    }
    nulls_to_empty(result, "annotations");
    nulls_to_empty(result, "labels");
    drop_if_empty(result, "annotations");
    drop_if_empty(result, "labels");
    drop_if_empty(result, "finalizers");
    drop_if_empty(result, "ownerReferences");
    return result; /* what is left in metadata is no field of ObjectMeta: dropped */
}

json_t *sim_resource_normalise(const struct sim_resource *resource, json_t *object)
{
    json_t *result = json_object();
    json_object_set_new(result, "kind", json_string(resource->kind));
    json_object_set_new(result, "apiVersion", json_string(resource->group_version));
    json_object_set_new(result, "metadata",
                        normalise_metadata(json_object_get(object, "metadata")));
    json_object_del(object, "kind");
    json_object_del(object, "apiVersion");
    json_object_del(object, "metadata");
    move_member(result, object, "spec");
    move_member(result, object, "status");
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        json_object_set(result, key, value);
    }
    drop_if_empty(json_object_get(result, "spec"), "taints");
    json_decref(object);
    return result;
}
