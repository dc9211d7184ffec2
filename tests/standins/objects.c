/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Each body is packed with jansson, so that no text from outside can break its form. */
#include "objects.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static char *dump(json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT);
    json_decref(value);
    return text;
}

static void time_text(char text[64], const char *form)
{
    struct timespec now;
    struct tm parts;
    char seconds[24];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, 64, form, seconds, now.tv_nsec / 1000);
}

/* HAMi's filter writes the same devices under both keys; the node side uses up the first.
 */
static json_t *filter_metadata(const struct object_words *words)
{
    char devices[OBJECT_DEVICES_MAX * 300 + 2] = "";
    char seconds[24];
    size_t length = 0;
    for (unsigned i = 0; i < words->devices && i < OBJECT_DEVICES_MAX; i++) {
        length += (size_t)snprintf(devices + length, sizeof(devices) - length,
                                   "GPU-%.253s-%u,NVIDIA,1024,5:", words->node, i);
    }
    snprintf(devices + length, sizeof(devices) - length, ";");
    snprintf(seconds, sizeof(seconds), "%lld", (long long)time(NULL));
    return json_pack("{s:{s:s}, s:{s:s, s:s, s:s, s:s}}", "labels", "hami.io/vgpu-node",
                     words->node, "annotations", "hami.io/vgpu-node", words->node,
                     "hami.io/vgpu-time", seconds, "hami.io/vgpu-devices-to-allocate",
                     devices, "hami.io/vgpu-devices-allocated", devices);
}

char *object_pod(const struct object_words *words)
{
    json_t *metadata = filter_metadata(words);
    json_object_set_new(metadata, "name", json_string(words->pod));
    json_object_set_new(metadata, "namespace", json_string(words->namespace_name));
    char count[12];
    snprintf(count, sizeof(count), "%u", words->devices);
    json_t *resources = json_pack("{s:{s:s}, s:{s:s}}", "limits", words->resource, count,
                                  "requests", words->resource, count);
    return dump(json_pack("{s:s, s:s, s:o, s:{s:s, s:[{s:s, s:s, s:o}]}}", "apiVersion",
                          "v1", "kind", "Pod", "metadata", metadata, "spec",
                          "schedulerName", words->scheduler, "containers", "name", "work",
                          "image", "registry.example/work:1", "resources", resources));
}

char *object_filter_patch(const struct object_words *words)
{
    return dump(json_pack("{s:o}", "metadata", filter_metadata(words)));
}

char *object_bind_request(const struct object_words *words)
{
    return dump(json_pack("{s:s, s:s, s:s, s:s}", "PodName", words->pod, "PodNamespace",
                          words->namespace_name, "PodUID", words->uid, "Node",
                          words->node));
}

char *object_failure_status(const char *reason)
{
    char now[64];
    time_text(now, "%sZ");
    return dump(json_pack("{s:{s:[{s:s, s:s, s:s, s:s, s:n, s:s}]}}", "status",
                          "conditions", "type", "PodScheduled", "status", "False",
                          "reason", "SchedulerError", "message", reason, "lastProbeTime",
                          "lastTransitionTime", now));
}

char *object_failure_event(const struct object_words *words, const char *reason)
{
    char now[64];
    time_text(now, "%s.%06ldZ");
    json_t *regarding =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Pod", "name",
                  words->pod, "namespace", words->namespace_name, "uid", words->uid);
    struct timespec moment;
    char name[128];
    clock_gettime(CLOCK_REALTIME, &moment);
    snprintf(name, sizeof(name), "%s.%llx", words->pod,
             (unsigned long long)moment.tv_sec * 1000000000u +
                 (unsigned long long)moment.tv_nsec);
    json_t *metadata =
        json_pack("{s:s, s:s}", "name", name, "namespace", words->namespace_name);
    return dump(json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:s, s:o, s:s, s:s}",
                          "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata",
                          metadata, "eventTime", now, "reportingController",
                          words->scheduler, "reportingInstance", "standin-scheduler",
                          "action", "Scheduling", "reason", "FailedScheduling",
                          "regarding", regarding, "note", reason, "type", "Warning"));
}
