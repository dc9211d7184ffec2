/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of one node of the stand-in kubelet share: the pods that are bound to it
 * (kubelet_pods.c) and the admission under way (kubelet_node.c). One thread.
 */
#ifndef STANDIN_KUBELET_INTERNAL_H
#define STANDIN_KUBELET_INTERNAL_H

#include "kubelet_node.h"
#include "kubelet_record.h"

#include <jansson.h>
#include <stdbool.h>

enum pod_state { POD_WAITING, POD_ADMITTING, POD_STARTING, POD_SETTLED };

struct pod {
    struct pod *next;
    json_t *object; /* as last seen */
    unsigned batch; /* seen first in this one: a list, or a line of the watch */
    enum pod_state state;
    bool is_present;    /* in the last list, or seen since */
    bool is_deleting;   /* its end was asked for */
    int64_t running_ms; /* STARTING: when */
    struct kubelet_node *node;
};

struct kubelet_node {
    const struct kubelet_options *options;
    struct requests *requests;
    struct kubelet_status *status;
    const char *name;
    const char *socket;
    char url[400]; /* of its pods */
    bool is_watching;
    int64_t watch_due_ms;
    int64_t heartbeat_due_ms;
    struct pod *pods;
    unsigned batch;
    /* The admission under way. */
    struct pod *current; /* NULL: none */
    size_t container;
    size_t resource;
    unsigned next_id;
    unsigned asked;       /* ids of the last question */
    int64_t give_up_ms;   /* when the plugin asks an absent agent no more */
    int64_t again_due_ms; /* when it asks again; 0: not waiting for that */
    char allocation[64];
    struct kubelet_record record;
    int64_t done_due_ms; /* when the plugin has finished; 0: not waiting for that */
    bool is_calling;
    unsigned admitted;
    unsigned failed;
};

/* The next pod to be admitted, NULL where none waits. */
struct pod *kubelet_pods_next(const struct kubelet_node *node);
/* Lists and watches the node's pods. */
void kubelet_pods_watch(struct kubelet_node *node);
/* Forgets pods that are gone; ENDING is called for each whose end was asked for. */
void kubelet_pods_sweep(struct kubelet_node *node, void (*ending)(struct pod *pod));
void kubelet_pods_free(struct kubelet_node *node);

#endif
