/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's part for one node: admissions, which start from the turn, and the status
 * that follows. One thread.
 */
#include "kubelet_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"
#include "kubelet_objects.h"
#include "kubelet_status.h"

#define ASK_AGAIN_MS 50

static void say(const struct kubelet_node *node, const struct pod *pod, const char *event,
                const char *detail)
{
    if (node->options->progress) {
        json_t *line = json_pack("{s:s, s:I, s:s, s:s, s:s}", "event", event, "time_ms",
                                 (json_int_t)duration_now_ms(), "node", node->name, "pod",
                                 kubelet_metadata(pod->object, "name"), "detail", detail);
        char *text = json_dumps(line, JSON_COMPACT);
        printf("%s\n", text != NULL ? text : "{}");
        fflush(stdout);
        free(text);
        json_decref(line);
    } else if (*detail != '\0') {
        fprintf(stderr, "standin-kubelet: node %s pod %s %s: %s\n", node->name,
                kubelet_metadata(pod->object, "name"), event, detail);
    }
}

/* ---- status --------------------------------------------------------------------- */

static void pod_path(const struct pod *pod, const char *rest, char *path, size_t size)
{
    snprintf(path, size, "/api/v1/namespaces/%s/pods/%s%s",
             kubelet_metadata(pod->object, "namespace"),
             kubelet_metadata(pod->object, "name"), rest);
}

static void set_running(struct pod *pod)
{
    char path[512];
    pod->state = POD_SETTLED;
    pod_path(pod, "/status", path, sizeof(path));
    say(pod->node, pod, "running", "");
    kubelet_status_write(pod->node->status, path, kubelet_running_patch(pod->object));
}

static void set_failed(struct pod *pod, const char *why)
{
    char path[512];
    pod->state = POD_SETTLED;
    pod->node->failed++;
    pod_path(pod, "/status", path, sizeof(path));
    say(pod->node, pod, "failed", why);
    kubelet_status_write(pod->node->status, path, kubelet_failed_patch(pod->object, why));
}

/* A pod whose end was asked for goes for good once nothing of it runs. */
static void remove_deleting(struct pod *pod)
{
    char path[512];
    pod->is_deleting = true;
    pod_path(pod, "?gracePeriodSeconds=0", path, sizeof(path));
    struct request request = {
        .method = "DELETE", .url = path, .timeout_ms = 10000, .done = NULL};
    requests_send(pod->node->requests, &request);
}

/* ---- admission ------------------------------------------------------------------ */

static void end_admission(struct kubelet_node *node, const char *why)
{
    struct pod *pod = node->current;
    node->current = NULL;
    kubelet_record_end(&node->record, node->options->record, why);
    if (why != NULL) {
        set_failed(pod, why);
        return;
    }
    node->admitted++;
    pod->state = POD_STARTING;
    pod->running_ms = duration_now_ms() + node->options->start_ms;
    say(node, pod, "admitted", "");
}

/* Why a call failed, from the agent's answer. */
static void reason_of(const struct answer *answer, char *text, size_t size)
{
    json_t *body = json_loads(answer->body, 0, NULL);
    const char *message = json_string_value(json_object_get(body, "message"));
    snprintf(text, size, "rpc error: %d %.200s%.300s", answer->status, answer->problem,
             message != NULL ? message : answer->body);
    json_decref(body);
}

/* A plugin outlives its agent: while that is being started again it asks anew. */
static bool asks_again(struct kubelet_node *node, int status)
{
    int64_t now_ms = duration_now_ms();
    bool is_absent = status == 0 || status == 410 || status == 503;
    if (!is_absent || now_ms >= node->give_up_ms) {
        return false;
    }
    node->next_id -= node->asked;
    node->asked = 0;
    node->again_due_ms = now_ms + ASK_AGAIN_MS;
    return true;
}

static void done_answered(void *data, const struct answer *answer)
{
    struct kubelet_node *node = data;
    node->is_calling = false;
    if (answer->status == 204) {
        kubelet_record_end(&node->record, node->options->record, NULL);
        node->resource++;
        node->asked = 0;
        return;
    }
    if (asks_again(node, answer->status)) {
        return;
    }
    char why[600];
    reason_of(answer, why, sizeof(why));
    end_admission(node, why);
}

static void allocation_answered(void *data, const struct answer *answer)
{
    struct kubelet_node *node = data;
    char why[600];
    node->is_calling = false;
    if (answer->status != 200 && asks_again(node, answer->status)) {
        return;
    }
    if (answer->status != 200) {
        reason_of(answer, why, sizeof(why));
        end_admission(node, why);
        return;
    }
    json_t *body = json_loads(answer->body, 0, NULL);
    const char *id = json_string_value(json_object_get(body, "allocation"));
    kubelet_record_answer(&node->record, body);
    const char *uid =
        json_string_value(json_object_get(json_object_get(body, "pod"), "uid"));
    if (id == NULL || uid == NULL || strlen(id) >= sizeof(node->allocation)) {
        end_admission(node, "the agent's answer makes no sense");
    } else if (strcmp(uid, kubelet_metadata(node->current->object, "uid")) != 0) {
        /* What all of this is about: another pod's devices. */
        snprintf(why, sizeof(why), "WRONG POD: asked for uid %s, the agent served %s",
                 kubelet_metadata(node->current->object, "uid"), uid);
        end_admission(node, why);
    } else {
        snprintf(node->allocation, sizeof(node->allocation), "%s", id);
        node->done_due_ms = duration_now_ms() + node->options->allocate_ms;
        say(node, node->current, "allocating", "");
    }
    json_decref(body);
}

static void call_agent(struct kubelet_node *node, const char *url, const char *body,
                       void (*done)(void *data, const struct answer *answer))
{
    struct request request = {.method = "POST",
                              .url = url,
                              .unix_socket = node->socket,
                              .body = body,
                              .timeout_ms = (long)node->options->patience_ms,
                              .done = done,
                              .data = node};
    node->is_calling = true;
    if (body == NULL || requests_send(node->requests, &request) < 0) {
        node->is_calling = false;
        end_admission(node, "out of memory");
    }
}

/* Asks for the next container and resource, or ends the admission. */
static void allocate_next(struct kubelet_node *node)
{
    const json_t *pod = node->current->object;
    for (; node->container < kubelet_container_count(pod); node->container++) {
        for (; node->resource < node->options->resource_count; node->resource++) {
            const char *resource = node->options->resources[node->resource];
            unsigned count = kubelet_asks(pod, node->container, resource);
            if (count == 0) {
                continue;
            }
            char *body =
                kubelet_allocation_body(resource, count, node->name, node->next_id);
            node->next_id += count;
            node->asked = count;
            kubelet_record_begin(&node->record, node->name, pod, node->container,
                                 resource, count);
            call_agent(node, "http://agent/v1/allocations", body, allocation_answered);
            free(body);
            return;
        }
        node->resource = 0;
    }
    end_admission(node, NULL);
}

static void plugin_finished(struct kubelet_node *node)
{
    char url[160];
    node->done_due_ms = 0;
    snprintf(url, sizeof(url), "http://agent/v1/allocations/%s/done", node->allocation);
    call_agent(node, url, "{}", done_answered);
}

static void admit(struct kubelet_node *node, int64_t now_ms)
{
    while (!node->is_calling) {
        if (node->done_due_ms > 0) {
            if (node->done_due_ms > now_ms) {
                return;
            }
            plugin_finished(node);
        } else if (node->again_due_ms > now_ms) {
            return;
        } else if (node->current != NULL) {
            node->again_due_ms = 0;
            allocate_next(node);
        } else {
            node->current = kubelet_pods_next(node);
            if (node->current == NULL) {
                return;
            }
            node->current->state = POD_ADMITTING;
            node->give_up_ms = now_ms + node->options->patience_ms;
            node->container = 0;
            node->resource = 0;
        }
    }
}

/* ---- public --------------------------------------------------------------------- */

static void heartbeat(struct kubelet_node *node, int64_t now_ms)
{
    char path[320];
    node->heartbeat_due_ms = now_ms + node->options->heartbeat_ms;
    snprintf(path, sizeof(path), "/api/v1/nodes/%s/status", node->name);
    kubelet_status_write(node->status, path, kubelet_heartbeat_patch());
}

int64_t kubelet_node_turn(struct kubelet_node *node, int64_t now_ms)
{
    int64_t next = now_ms + 1000;
    if (!node->is_watching && node->watch_due_ms <= now_ms) {
        kubelet_pods_watch(node);
    }
    if (node->options->heartbeat_ms > 0 && node->heartbeat_due_ms <= now_ms) {
        heartbeat(node, now_ms);
    }
    kubelet_pods_sweep(node, remove_deleting);
    admit(node, now_ms);
    for (struct pod *pod = node->pods; pod != NULL; pod = pod->next) {
        if (pod->state == POD_STARTING && pod->running_ms <= now_ms) {
            set_running(pod);
        } else if (pod->state == POD_STARTING && pod->running_ms < next) {
            next = pod->running_ms;
        }
    }
    if (node->done_due_ms > 0 && node->done_due_ms < next) {
        next = node->done_due_ms;
    }
    if (node->again_due_ms > 0 && node->again_due_ms < next) {
        next = node->again_due_ms;
    }
    if (node->options->heartbeat_ms > 0 && node->heartbeat_due_ms < next) {
        next = node->heartbeat_due_ms;
    }
    if (!node->is_watching && node->watch_due_ms < next) {
        next = node->watch_due_ms;
    }
    return next;
}

struct kubelet_node *kubelet_node_new(const struct kubelet_options *options,
                                      struct requests *requests,
                                      struct kubelet_status *status, size_t index)
{
    struct kubelet_node *node = calloc(1, sizeof(*node));
    if (node == NULL) {
        return NULL;
    }
    node->options = options;
    node->requests = requests;
    node->status = status;
    node->name = options->nodes[index];
    node->socket = options->sockets[index];
    snprintf(node->url, sizeof(node->url),
             "/api/v1/pods?fieldSelector=spec.nodeName%%3D%s", node->name);
    return node;
}

void kubelet_node_totals(const struct kubelet_node *node, unsigned *ret_admitted,
                         unsigned *ret_failed)
{
    *ret_admitted += node->admitted;
    *ret_failed += node->failed;
}

void kubelet_node_free(struct kubelet_node *node)
{
    kubelet_pods_free(node);
    kubelet_record_drop(&node->record);
    free(node);
}
