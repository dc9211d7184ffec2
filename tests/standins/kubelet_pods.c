/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pods of one node of the stand-in kubelet, kept up to date by a watch. Its lines only
 * change the list: what is to be done about it is done in the node's turn.
 */
#include "kubelet_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "kubelet_objects.h"

static struct pod *find_pod(struct kubelet_node *node, const char *uid)
{
    struct pod *pod = node->pods;
    while (pod != NULL && strcmp(kubelet_metadata(pod->object, "uid"), uid) != 0) {
        pod = pod->next;
    }
    return pod;
}

static void note_pod(struct kubelet_node *node, json_t *object, bool is_deleted)
{
    struct pod *pod = find_pod(node, kubelet_metadata(object, "uid"));
    const char *phase =
        json_string_value(json_object_get(json_object_get(object, "status"), "phase"));
    if (pod == NULL) {
        struct pod **link = &node->pods;
        pod = calloc(1, sizeof(*pod));
        if (pod == NULL || is_deleted) {
            free(pod);
            return;
        }
        pod->node = node;
        pod->batch = node->batch;
        /* A kubelet that comes back has these from its checkpoint. */
        pod->state =
            phase == NULL || strcmp(phase, "Pending") == 0 ? POD_WAITING : POD_SETTLED;
        while (*link != NULL) {
            link = &(*link)->next;
        }
        *link = pod;
    }
    pod->is_present = !is_deleted;
    json_incref(object);
    json_decref(pod->object);
    pod->object = object;
}

/* Forget pods that are gone; the end of those that are to go. */
void kubelet_pods_sweep(struct kubelet_node *node, void (*ending)(struct pod *pod))
{
    struct pod **link = &node->pods;
    while (*link != NULL) {
        struct pod *pod = *link;
        bool is_deleting = *kubelet_metadata(pod->object, "deletionTimestamp") != '\0';
        if (pod->state != POD_ADMITTING && !pod->is_present) {
            *link = pod->next;
            json_decref(pod->object);
            free(pod);
            continue;
        }
        if (is_deleting && !pod->is_deleting && pod->state != POD_ADMITTING) {
            pod->state = POD_SETTLED;
            ending(pod);
        }
        link = &pod->next;
    }
}

static void watch_line(void *data, const char *line)
{
    struct kubelet_node *node = data;
    json_t *event = json_loads(line, 0, NULL);
    const char *type = json_string_value(json_object_get(event, "type"));
    json_t *object = json_object_get(event, "object");
    node->batch++;
    if (type != NULL && (strcmp(type, "ADDED") == 0 || strcmp(type, "MODIFIED") == 0)) {
        note_pod(node, object, false);
    } else if (type != NULL && strcmp(type, "DELETED") == 0) {
        note_pod(node, object, true);
    }
    json_decref(event);
}

/* For whatever reason a watch ended: the next list tells all that was missed. */
static void watch_ended(void *data, const struct answer *answer)
{
    struct kubelet_node *node = data;
    (void)answer;
    node->is_watching = false;
    node->watch_due_ms = duration_now_ms() + 100;
}

static void listed(void *data, const struct answer *answer)
{
    struct kubelet_node *node = data;
    json_t *list = json_loads(answer->body, 0, NULL);
    const char *version = json_string_value(
        json_object_get(json_object_get(list, "metadata"), "resourceVersion"));
    if (answer->status != 200 || version == NULL) {
        fprintf(stderr, "standin-kubelet: GET %s: %d %s%.200s\n", node->url,
                answer->status, answer->problem, answer->body);
        json_decref(list);
        watch_ended(node, answer);
        return;
    }
    for (struct pod *pod = node->pods; pod != NULL; pod = pod->next) {
        pod->is_present = false;
    }
    json_t *items = json_object_get(list, "items");
    node->batch++;
    for (size_t i = 0; i < json_array_size(items); i++) {
        note_pod(node, json_array_get(items, i), false);
    }
    char url[600];
    snprintf(url, sizeof(url), "%s&watch=1&allowWatchBookmarks=true&resourceVersion=%s",
             node->url, version);
    json_decref(list);
    struct request request = {.method = "GET",
                              .url = url,
                              .line = watch_line,
                              .done = watch_ended,
                              .data = node};
    if (requests_send(node->requests, &request) < 0) {
        watch_ended(node, answer);
    }
}

void kubelet_pods_watch(struct kubelet_node *node)
{
    struct request request = {.method = "GET",
                              .url = node->url,
                              .timeout_ms = 30000,
                              .done = listed,
                              .data = node};
    node->is_watching = true;
    if (requests_send(node->requests, &request) < 0) {
        watch_ended(node, NULL);
    }
}

/* In the order in which they were seen; of those seen together, the oldest. */
struct pod *kubelet_pods_next(const struct kubelet_node *node)
{
    struct pod *oldest = NULL;
    for (struct pod *pod = node->pods; pod != NULL; pod = pod->next) {
        if (oldest != NULL && pod->batch != oldest->batch) {
            break;
        }
        if (pod->state == POD_WAITING &&
            (oldest == NULL ||
             strcmp(kubelet_metadata(pod->object, "creationTimestamp"),
                    kubelet_metadata(oldest->object, "creationTimestamp")) < 0)) {
            oldest = pod;
        }
    }
    return oldest;
}

void kubelet_pods_free(struct kubelet_node *node)
{
    while (node->pods != NULL) {
        struct pod *pod = node->pods;
        node->pods = pod->next;
        json_decref(pod->object);
        free(pod);
    }
}
