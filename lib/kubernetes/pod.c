/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts from a pod object. Pure: no state, no lock, no I/O.
 *
 * Where the object is odd, the answer that keeps a lock in place is given: an unknown
 * phase is neither finished nor started, an unreadable device string has a device left.
 */
#include "pod.h"

#include <string.h>

#include <hami/handshake.h>

#include "object.h"

/* Where a pod says which group it belongs to: coscheduling's label and its two older
 * forms, Volcano's annotation. */
static const struct {
    const char *member, *key;
} group_marks[] = {
    {"labels", "scheduling.x-k8s.io/pod-group"},
    {"labels", "pod-group.scheduling.sigs.k8s.io"},
    {"labels", "pod-group.scheduling.sigs.k8s.io/name"},
    {"annotations", "scheduling.k8s.io/group-name"},
};

bool hami_internal_pod_text_has_device(const char *text)
{
    return text[strspn(text, ";:, \t\r\n")] != '\0';
}

uint64_t hami_internal_pod_number(const char *text)
{
    uint64_t number = 0;
    if (text == NULL || text[0] == '\0') {
        return 0;
    }
    for (; *text != '\0'; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (*text < '0' || *text > '9' || number > (UINT64_MAX - digit) / 10) {
            return 0;
        }
        number = number * 10 + digit;
    }
    return number;
}

static bool has_devices_left(const json_t *pod)
{
    static const char suffix[] = HAMI_HANDSHAKE_TO_ALLOCATE_SUFFIX;
    json_t *map = json_object_get(json_object_get(pod, "metadata"), "annotations");
    const char *key;
    json_t *value;
    json_object_foreach(map, key, value)
    {
        size_t length = strlen(key);
        const char *text = json_string_value(value);
        if (length >= sizeof(suffix) - 1 &&
            strcmp(key + length - (sizeof(suffix) - 1), suffix) == 0 && text != NULL &&
            hami_internal_pod_text_has_device(text)) {
            return true;
        }
    }
    return false;
}

static const char *filled(const char *text)
{
    return text != NULL && text[0] != '\0' ? text : NULL;
}

void hami_internal_pod_facts_absent(struct hami_owner_facts *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    ret->source = HAMI_FACTS_READ;
    ret->known = true;
}

void hami_internal_pod_facts(const json_t *pod, enum hami_facts_source source,
                             struct hami_owner_facts *ret)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const char *phase =
        json_string_value(json_object_get(json_object_get(pod, "status"), "phase"));
    hami_internal_pod_facts_absent(ret);
    ret->source = source;
    ret->exists = true;
    ret->uid = hami_internal_object_metadata(pod, "uid");
    ret->version = hami_internal_object_metadata(pod, "resourceVersion");
    ret->deleting = json_is_string(json_object_get(metadata, "deletionTimestamp"));
    ret->node = filled(
        json_string_value(json_object_get(json_object_get(pod, "spec"), "nodeName")));
    if (phase != NULL) {
        ret->finished = strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0;
        ret->started = strcmp(phase, "Running") == 0;
    }
    ret->devices_left = has_devices_left(pod);
    ret->bind_phase = hami_bind_phase_parse(
        hami_internal_object_annotation(pod, HAMI_HANDSHAKE_PHASE_KEY));
    ret->assigned_node =
        filled(hami_internal_object_annotation(pod, HAMI_HANDSHAKE_NODE_KEY));
    ret->revoked = hami_internal_object_annotation(pod, HAMI_HANDSHAKE_REVOKED_KEY);
    ret->fence = hami_internal_pod_number(
        hami_internal_object_annotation(pod, HAMI_HANDSHAKE_FENCE_KEY));
    ret->done = hami_internal_pod_number(
        hami_internal_object_annotation(pod, HAMI_HANDSHAKE_DONE_KEY));
}

bool hami_internal_pod_is_above_zero(const json_t *quantity)
{
    if (json_is_number(quantity)) {
        return json_number_value(quantity) > 0;
    }
    const char *text = json_string_value(quantity);
    if (text == NULL || text[0] == '-') {
        return false;
    }
    text += text[0] == '+';
    /* The digits before any suffix or exponent: one that is not 0 is enough. */
    size_t length = strspn(text, "0123456789.");
    return strcspn(text, "123456789") < length;
}

/* Appends the resources of one container's `limits` or `requests` that are not there yet.
 */
static size_t add_resources(json_t *amounts, const char **resources, size_t count)
{
    const char *name;
    json_t *quantity;
    json_object_foreach(amounts, name, quantity)
    {
        bool known = !hami_internal_pod_is_above_zero(quantity);
        for (size_t i = 0; i < count && !known; i++) {
            known = strcmp(resources[i], name) == 0;
        }
        if (!known && count < HAMI_INTERNAL_POD_RESOURCES_MAX) {
            resources[count++] = name;
        }
    }
    return count;
}

static size_t add_containers(const json_t *containers, const char **resources,
                             size_t count)
{
    size_t at;
    json_t *container;
    json_array_foreach(containers, at, container)
    {
        const json_t *asked = json_object_get(container, "resources");
        count = add_resources(json_object_get(asked, "limits"), resources, count);
        count = add_resources(json_object_get(asked, "requests"), resources, count);
    }
    return count;
}

/* ---- groups ---- */

static bool is_group(const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        bool is_letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z');
        if (!is_letter && (*c < '0' || *c > '9') && strchr("._:/-", *c) == NULL) {
            return false;
        }
    }
    return strlen(text) <= HAMI_NODELOCK_GROUP_MAX;
}

/* Of Kubernetes 1.35: workload, group in it, and where that is replicated which one. */
static const char *workload_of(const json_t *reference, char *buffer, size_t size)
{
    static const char *const members[] = {"name", "podGroup", "podGroupReplicaKey"};
    size_t length = 0;
    for (size_t i = 0; i < 3; i++) {
        const char *text =
            filled(json_string_value(json_object_get(reference, members[i])));
        if (text == NULL && i < 2) {
            return NULL;
        }
        size_t bytes = text != NULL ? strlen(text) : 0;
        if (length + bytes + 2 > size) {
            return NULL;
        }
        if (text != NULL) {
            buffer[length] = '/';
            memcpy(buffer + length + (i > 0), text, bytes);
            length += bytes + (i > 0);
        }
    }
    buffer[length] = '\0';
    return buffer;
}

/* Gang schedulers each have their own way; the first that says something counts. */
static const char *group_of(const json_t *pod, char *buffer, size_t size)
{
    const json_t *metadata = json_object_get(pod, "metadata");
    const json_t *spec = json_object_get(pod, "spec");
    const char *group = NULL;
    for (size_t i = 0; i < sizeof(group_marks) / sizeof(group_marks[0]) && group == NULL;
         i++) {
        const json_t *marks = json_object_get(metadata, group_marks[i].member);
        group = filled(json_string_value(json_object_get(marks, group_marks[i].key)));
    }
    if (group == NULL) {
        group = filled(json_string_value(
            json_object_get(json_object_get(spec, "schedulingGroup"), "podGroupName")));
    }
    if (group == NULL) {
        group = workload_of(json_object_get(spec, "workloadRef"), buffer, size);
    }
    return group != NULL && is_group(group) ? group : NULL;
}

void hami_internal_pod_describe(const json_t *pod, struct hami_internal_pod_texts *texts,
                                struct hami_kubernetes_pod *ret)
{
    const json_t *spec = json_object_get(pod, "spec");
    json_int_t priority = json_integer_value(json_object_get(spec, "priority"));
    memset(ret, 0, sizeof(*ret));
    ret->size = sizeof(*ret);
    hami_internal_pod_facts(pod, HAMI_FACTS_READ, &ret->facts);
    ret->scheduler_name = json_string_value(json_object_get(spec, "schedulerName"));
    ret->priority = priority > INT32_MAX   ? INT32_MAX
                    : priority < INT32_MIN ? INT32_MIN
                                           : (int32_t)priority;
    ret->group = group_of(pod, texts->group, sizeof(texts->group));
    ret->resources = texts->resources;
    ret->resource_count =
        add_containers(json_object_get(spec, "containers"), texts->resources, 0);
    ret->resource_count = add_containers(json_object_get(spec, "initContainers"),
                                         texts->resources, ret->resource_count);
    ret->calls = texts->calls;
    ret->call_count = hami_internal_pod_calls(pod, texts);
}
