/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* JSON of the stand-in kubelet. */
#include "kubelet_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const json_t *spec_list(const json_t *pod, const char *member)
{
    return json_object_get(json_object_get(pod, "spec"), member);
}

static const json_t *container_at(const json_t *pod, size_t index)
{
    const json_t *inits = spec_list(pod, "initContainers");
    size_t count = json_array_size(inits);
    return index < count ? json_array_get(inits, index)
                         : json_array_get(spec_list(pod, "containers"), index - count);
}

size_t kubelet_container_count(const json_t *pod)
{
    return json_array_size(spec_list(pod, "initContainers")) +
           json_array_size(spec_list(pod, "containers"));
}

unsigned kubelet_asks(const json_t *pod, size_t container, const char *resource)
{
    const json_t *limits = json_object_get(
        json_object_get(container_at(pod, container), "resources"), "limits");
    const json_t *value = json_object_get(limits, resource);
    if (json_is_string(value)) {
        return (unsigned)strtoul(json_string_value(value), NULL, 10);
    }
    return (unsigned)json_integer_value(value);
}

const char *kubelet_metadata(const json_t *pod, const char *member)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(pod, "metadata"), member));
    return text != NULL ? text : "";
}

/* The time as the API writes it. */
static const char *now_text(char *buffer, size_t size)
{
    time_t now = time(NULL);
    struct tm parts;
    strftime(buffer, size, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return buffer;
}

static char *dump(json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

char *kubelet_allocation_body(const char *resource, unsigned count, const char *node,
                              unsigned first_id)
{
    json_t *ids = json_array();
    for (unsigned i = 0; i < count; i++) {
        char id[320];
        snprintf(id, sizeof(id), "%s-device-%u", node, first_id + i);
        json_array_append_new(ids, json_string(id));
    }
    return dump(json_pack("{s:s, s:[o]}", "resource", resource, "containers", ids));
}

static json_t *condition(const char *type, const char *now)
{
    return json_pack("{s:s, s:s, s:s}", "type", type, "status", "True",
                     "lastTransitionTime", now);
}

static json_t *container_statuses(const json_t *list, const char *now)
{
    json_t *statuses = json_array();
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *container = json_array_get(list, i);
        const char *name = json_string_value(json_object_get(container, "name"));
        const char *image = json_string_value(json_object_get(container, "image"));
        json_array_append_new(statuses,
                              json_pack("{s:s, s:s, s:s, s:b, s:b, s:i, s:{s:{s:s}}}",
                                        "name", name != NULL ? name : "", "image",
                                        image != NULL ? image : "", "imageID", "",
                                        "ready", 1, "started", 1, "restartCount", 0,
                                        "state", "running", "startedAt", now));
    }
    return statuses;
}

char *kubelet_running_patch(const json_t *pod)
{
    char buffer[32];
    const char *now = now_text(buffer, sizeof(buffer));
    return dump(json_pack(
        "{s:{s:s}, s:{s:s, s:s, s:[o, o, o, o], s:o}}", "metadata", "uid",
        kubelet_metadata(pod, "uid"), "status", "phase", "Running", "startTime", now,
        "conditions", condition("PodScheduled", now), condition("Initialized", now),
        condition("ContainersReady", now), condition("Ready", now), "containerStatuses",
        container_statuses(spec_list(pod, "containers"), now)));
}

char *kubelet_failed_patch(const json_t *pod, const char *message)
{
    char buffer[32];
    char text[700];
    snprintf(text, sizeof(text),
             "Pod was rejected: Allocate failed due to %.600s, which is unexpected",
             message);
    return dump(json_pack("{s:{s:s}, s:{s:s, s:s, s:s, s:s}}", "metadata", "uid",
                          kubelet_metadata(pod, "uid"), "status", "phase", "Failed",
                          "reason", "UnexpectedAdmissionError", "message", text,
                          "startTime", now_text(buffer, sizeof(buffer))));
}

char *kubelet_heartbeat_patch(void)
{
    char buffer[32];
    return dump(json_pack("{s:{s:[{s:s, s:s, s:s, s:s, s:s}]}}", "status", "conditions",
                          "type", "Ready", "status", "True", "reason", "KubeletReady",
                          "message", "kubelet is posting ready status",
                          "lastHeartbeatTime", now_text(buffer, sizeof(buffer))));
}
