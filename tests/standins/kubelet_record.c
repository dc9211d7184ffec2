/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See kubelet_record.h. Where memory is short a line is lost, which its reader sees. */
#include "kubelet_record.h"

#include <stdlib.h>
#include <time.h>

#include "kubelet_objects.h"

static int64_t clock_us(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void kubelet_record_begin(struct kubelet_record *record, const char *node,
                          const json_t *pod, size_t container, const char *resource,
                          unsigned count)
{
    if (record->line != NULL) {
        return;
    }
    record->begun_us = clock_us(CLOCK_MONOTONIC);
    record->line =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:i, s:f, s:n, s:[]}", "node", node,
                  "namespace", kubelet_metadata(pod, "namespace"), "pod",
                  kubelet_metadata(pod, "name"), "uid", kubelet_metadata(pod, "uid"),
                  "container", (int)container, "resource", resource, "count", (int)count,
                  "begin", (double)clock_us(CLOCK_REALTIME) / 1e6, "served", "devices");
}

void kubelet_record_answer(struct kubelet_record *record, const json_t *body)
{
    const json_t *container;
    const json_t *device;
    size_t i;
    size_t j;
    json_t *uuids = json_array();
    json_array_foreach(json_object_get(body, "containers"), i, container)
    {
        json_array_foreach(json_object_get(container, "devices"), j, device)
        {
            json_array_append(uuids, json_object_get(device, "uuid"));
        }
    }
    json_object_set(record->line, "served",
                    json_object_get(json_object_get(body, "pod"), "uid"));
    json_object_set_new(record->line, "devices", uuids);
}

void kubelet_record_end(struct kubelet_record *record, FILE *file, const char *problem)
{
    int64_t took = clock_us(CLOCK_MONOTONIC) - record->begun_us;
    if (record->line != NULL && file != NULL) {
        json_object_set_new(record->line, "seconds", json_real((double)took / 1e6));
        json_object_set_new(record->line, "problem",
                            json_string(problem != NULL ? problem : ""));
        char *text = json_dumps(record->line, JSON_COMPACT | JSON_REAL_PRECISION(16));
        if (text != NULL) {
            fprintf(file, "%s\n", text);
            fflush(file);
        }
        free(text);
    }
    kubelet_record_drop(record);
}

void kubelet_record_drop(struct kubelet_record *record)
{
    json_decref(record->line);
    record->line = NULL;
}
