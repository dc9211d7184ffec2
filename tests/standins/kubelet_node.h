/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One node of the stand-in kubelet: the pods bound to it, and the one whose devices are
 * being allocated.
 *
 * As the real one: a pod is admitted once, when it is first seen; pods one after another,
 * in that order, of those in one list the oldest first; within a pod container after container, init containers
 * first, and resource after resource; an Allocate that fails makes the pod Failed.
 * Status is written beside, not in the way of the next pod.
 */
#ifndef STANDIN_KUBELET_NODE_H
#define STANDIN_KUBELET_NODE_H

#include "kubelet_status.h"
#include "requests.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KUBELET_RESOURCES_MAX 8

struct kubelet_options {
    const char *kubeconfig;
    const char *nodes[256];
    const char *sockets[256];
    size_t node_count;
    size_t socket_count;
    const char *resources[KUBELET_RESOURCES_MAX];
    size_t resource_count;
    int64_t allocate_ms;  /* how long the plugin takes */
    int64_t start_ms;     /* from the last Allocate to Running */
    int64_t heartbeat_ms; /* 0: none */
    int64_t patience_ms;  /* of one call to the agent */
    bool progress;
    FILE *record; /* of all Allocates (kubelet_record.h); NULL: none */
};

struct kubelet_node;

/* OPTIONS, REQUESTS and STATUS are borrowed. NULL: out of memory. */
struct kubelet_node *kubelet_node_new(const struct kubelet_options *options,
                                      struct requests *requests,
                                      struct kubelet_status *status, size_t index);
/* Whatever is due. Returns when to be called again at the latest. */
int64_t kubelet_node_turn(struct kubelet_node *node, int64_t now_ms);
/* Pods admitted and pods failed so far. */
void kubelet_node_totals(const struct kubelet_node *node, unsigned *ret_admitted,
                         unsigned *ret_failed);
void kubelet_node_free(struct kubelet_node *node);

#endif
