/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods in short, for tables of tests.
 */
#ifndef TESTS_NODE_POD_BUILDER_H
#define TESTS_NODE_POD_BUILDER_H

#include "handshake_pod.h"

#define GPU "nvidia.com/gpu"
#define NPU "huawei.com/npu"
#define GPU_KEY "hami.io/vgpu-devices-to-allocate"
#define NPU_KEY "hami.io/npu-devices-to-allocate"

/* One container: what it asks of each resource. */
struct wants {
    int gpu;
    int npu;
};

/* A pod in short. Zero is: no init containers, no annotation. */
struct pod {
    const char *name; /* NULL ends a list */
    struct wants inits[3];
    size_t init_count;
    struct wants containers[5];
    size_t container_count;
    const char *gpu; /* to-allocate strings; NULL = absent */
    const char *npu;
    const char *other;    /* of a vendor that is not configured */
    const char *phase;    /* bind-phase */
    const char *node;     /* NULL = n1 */
    const char *status;   /* NULL = Pending */
    const char *assigned; /* the GPU's allocated string; NULL = absent */
    bool is_reported;     /* the kubelet has written a status */
    bool is_sidecar;      /* the init containers run on */
};

/* One container that asks so many GPUs. */
#define ONE(n) .containers = {{(n), 0}}, .container_count = 1

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

json_t *pod_json(const struct pod *pod);

/* A call on node n1 for one of the vendors: 0 the GPU's, 1 the NPU's. */
struct hami_internal_handshake_ask make_ask(size_t vendor, const size_t *counts,
                                            size_t count);

#endif
