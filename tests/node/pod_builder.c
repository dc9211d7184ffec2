/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods in short. */
#include "pod_builder.h"

#include <stdio.h>

static const struct hami_handshake_vendor vendors[] = {{GPU, GPU_KEY}, {NPU, NPU_KEY}};

static json_t *container_json(const char *name, size_t index, const struct wants *wants)
{
    char text[32];
    json_t *limits = json_object();

    snprintf(text, sizeof(text), "%s%zu", name, index);
    if (wants->gpu != 0) {
        char number[16];

        snprintf(number, sizeof(number), "%d", wants->gpu);
        json_object_set_new(limits, GPU, json_string(number));
    }
    if (wants->npu != 0) {
        json_object_set_new(limits, NPU, json_integer(wants->npu));
    }
    return json_pack("{s:s, s:{s:o}}", "name", text, "resources", "limits", limits);
}

static json_t *status_json(const struct pod *pod)
{
    json_t *status =
        json_pack("{s:s}", "phase", pod->status != NULL ? pod->status : "Pending");

    if (pod->is_reported) {
        json_object_set_new(status, "startTime", json_string("2026-01-02T03:04:05Z"));
    }
    return status;
}

static json_t *init_json(const struct pod *pod, size_t index)
{
    json_t *container = container_json("init", index, &pod->inits[index]);

    if (pod->is_sidecar) {
        json_object_set_new(container, "restartPolicy", json_string("Always"));
    }
    return container;
}

json_t *pod_json(const struct pod *pod)
{
    json_t *inits = json_array(), *containers = json_array(),
           *annotations = json_object();

    for (size_t i = 0; i < pod->init_count; i++) {
        json_array_append_new(inits, init_json(pod, i));
    }
    for (size_t i = 0; i < pod->container_count; i++) {
        json_array_append_new(containers, container_json("c", i, &pod->containers[i]));
    }
    if (pod->gpu != NULL) {
        json_object_set_new(annotations, GPU_KEY, json_string(pod->gpu));
    }
    if (pod->npu != NULL) {
        json_object_set_new(annotations, NPU_KEY, json_string(pod->npu));
    }
    if (pod->assigned != NULL) {
        json_object_set_new(annotations, "hami.io/vgpu-devices-allocated",
                            json_string(pod->assigned));
    }
    if (pod->other != NULL) {
        json_object_set_new(annotations, "hami.io/tpu-devices-to-allocate",
                            json_string(pod->other));
    }
    if (pod->phase != NULL) {
        json_object_set_new(annotations, HAMI_HANDSHAKE_PHASE_KEY,
                            json_string(pod->phase));
    }
    return json_pack("{s:{s:s, s:s, s:s, s:o}, s:{s:s, s:o, s:o}, s:o}", "metadata",
                     "namespace", "ns", "name", pod->name, "uid", pod->name,
                     "annotations", annotations, "spec", "nodeName",
                     pod->node != NULL ? pod->node : "n1", "initContainers", inits,
                     "containers", containers, "status", status_json(pod));
}

struct hami_internal_handshake_ask make_ask(size_t vendor, const size_t *counts,
                                            size_t count)
{
    return (struct hami_internal_handshake_ask){.node = "n1",
                                                .vendors = vendors,
                                                .vendor_count = 2,
                                                .vendor = vendor,
                                                .counts = counts,
                                                .count = count};
}
