/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a pod: one for each of its containers and each extended resource that the
 * container asks for, as the kubelet makes its Allocates. The node side recognises the
 * caller by the same count (handshake_pod.c), so both go by hami_internal_pod_asked().
 * Pure: no state, no lock, no I/O.
 *
 * What can't be told whole is told as what makes a pod exclusive: never is a call left
 * out.
 */
#include "pod.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UNKNOWN_CALLS "?"

/* A count of devices, as limits write it: "2" or 2. Anything else but zero is a count we
 * can't match. */
static size_t quantity(const json_t *value)
{
    const char *text = json_string_value(value);
    char *end;
    if (json_is_integer(value)) {
        return json_integer_value(value) > 0 ? (size_t)json_integer_value(value) : 0;
    }
    if (json_is_real(value)) {
        return SIZE_MAX;
    }
    if (text == NULL || *text == '\0') {
        return 0;
    }
    unsigned long long number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number > INT64_MAX) {
        return SIZE_MAX;
    }
    return (size_t)number;
}

size_t hami_internal_pod_asked(const json_t *container, const char *resource)
{
    const json_t *resources = json_object_get(container, "resources");
    const json_t *value = json_object_get(json_object_get(resources, "limits"), resource);
    if (value == NULL) {
        value = json_object_get(json_object_get(resources, "requests"), resource);
    }
    return quantity(value);
}

/* Has a domain, and not Kubernetes' own: only for such a name can a device plugin stand.
 */
static bool is_extended(const char *resource)
{
    return strchr(resource, '/') != NULL && strstr(resource, "kubernetes.io/") == NULL;
}

static bool has_call(const struct hami_internal_pod_texts *texts, size_t count,
                     const char *call)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts->calls[i], call) == 0) {
            return true;
        }
    }
    return false;
}

/* What was told so far, and its bytes. */
struct told {
    struct hami_internal_pod_texts *texts;
    size_t count;
    size_t bytes;
};

/* False where there is no room for it. */
static bool add_call(struct told *told, const char *resource, size_t asked)
{
    struct hami_internal_pod_texts *texts = told->texts;
    char *to = texts->call_texts + told->bytes;
    size_t room = sizeof(texts->call_texts) - told->bytes;
    int length = asked == SIZE_MAX ? snprintf(to, room, "%s=?", resource)
                                   : snprintf(to, room, "%s=%zu", resource, asked);
    if (length < 0 || (size_t)length >= room) {
        return false;
    }
    if (has_call(texts, told->count, to)) {
        return true;
    }
    if (told->count == HAMI_INTERNAL_POD_CALLS_MAX) {
        return false;
    }
    texts->calls[told->count++] = to;
    told->bytes += (size_t)length + 1;
    return true;
}

static bool add_amounts(struct told *told, const json_t *container, const char *member)
{
    json_t *amounts = json_object_get(json_object_get(container, "resources"), member);
    const char *resource;
    json_t *value;
    json_object_foreach(amounts, resource, value)
    {
        size_t asked =
            is_extended(resource) ? hami_internal_pod_asked(container, resource) : 0;
        if (asked > 0 && !add_call(told, resource, asked)) {
            return false;
        }
    }
    return true;
}

static bool add_containers(struct told *told, const json_t *containers)
{
    size_t at;
    json_t *container;
    json_array_foreach(containers, at, container)
    {
        if (!add_amounts(told, container, "limits") ||
            !add_amounts(told, container, "requests")) {
            return false;
        }
    }
    return true;
}

size_t hami_internal_pod_calls(const json_t *pod, struct hami_internal_pod_texts *texts)
{
    const json_t *spec = json_object_get(pod, "spec");
    struct told told = {.texts = texts};
    if (!add_containers(&told, json_object_get(spec, "initContainers")) ||
        !add_containers(&told, json_object_get(spec, "containers"))) {
        texts->calls[0] = UNKNOWN_CALLS;
        return 1;
    }
    return told.count;
}
