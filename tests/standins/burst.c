/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Whose turn it is: see burst.h. Everything here is a walk over the pods; a burst is
 * small. */
#include "burst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t first_backoff_ms = 1000;
static const int64_t longest_backoff_ms = 10000;

int burst_init(struct burst *burst, size_t pods, const char *const *nodes,
               size_t node_count, int64_t spacing_ms)
{
    memset(burst, 0, sizeof(*burst));
    burst->pods = calloc(pods, sizeof(*burst->pods));
    burst->nodes = calloc(node_count, sizeof(*burst->nodes));
    if (burst->pods == NULL || burst->nodes == NULL) {
        burst_done(burst);
        return -1;
    }
    burst->pod_count = pods;
    burst->node_count = node_count;
    burst->spacing_ms = spacing_ms;
    for (size_t i = 0; i < pods; i++) {
        struct burst_pod *pod = &burst->pods[i];
        snprintf(pod->name, sizeof(pod->name), "burst-%04zu", i + 1);
        pod->node = i % node_count;
    }
    for (size_t i = 0; i < node_count; i++) {
        burst->nodes[i].name = nodes[i];
        burst->nodes[i].next_to_create = i;
    }
    return 0;
}

void burst_done(struct burst *burst)
{
    free(burst->pods);
    free(burst->nodes);
    memset(burst, 0, sizeof(*burst));
}

int64_t burst_backoff_ms(unsigned attempts)
{
    int64_t wait = first_backoff_ms;
    for (unsigned i = 1; i < attempts && wait < longest_backoff_ms; i++) {
        wait *= 2;
    }
    return wait < longest_backoff_ms ? wait : longest_backoff_ms;
}

struct burst_pod *burst_take_new(struct burst *burst, size_t node)
{
    size_t place = burst->nodes[node].next_to_create;
    if (place >= burst->pod_count || burst->pods[place].place != BURST_NEW) {
        return NULL;
    }
    if (place >= burst->node_count &&
        burst->pods[place - burst->node_count].place == BURST_CREATING) {
        return NULL;
    }
    burst->nodes[node].next_to_create += burst->node_count;
    burst->pods[place].place = BURST_CREATING;
    return &burst->pods[place];
}

/* The oldest of this node's queue: the one that has been due for longest. */
static struct burst_pod *oldest_queued(const struct burst *burst, size_t node)
{
    struct burst_pod *oldest = NULL;
    for (size_t i = node; i < burst->pod_count; i += burst->node_count) {
        struct burst_pod *pod = &burst->pods[i];
        if (pod->place == BURST_QUEUED &&
            (oldest == NULL || pod->due_ms < oldest->due_ms)) {
            oldest = pod;
        }
    }
    return oldest;
}

struct burst_pod *burst_take_due(struct burst *burst, size_t node, int64_t now_ms)
{
    struct burst_pod *pod = oldest_queued(burst, node);
    if (pod == NULL || pod->due_ms > now_ms || burst->nodes[node].free_at_ms > now_ms) {
        return NULL;
    }
    burst->nodes[node].free_at_ms = BURST_SENDING;
    burst->nodes[node].sending = pod;
    pod->attempts++;
    pod->place = pod->attempts > 1 ? BURST_FILTERING : BURST_BINDING;
    return pod;
}

void burst_note_sent(struct burst *burst, const struct burst_pod *pod, int64_t now_ms)
{
    struct burst_node *node = &burst->nodes[pod->node];
    if (node->sending == pod) {
        node->sending = NULL;
        node->free_at_ms = now_ms + burst->spacing_ms;
    }
}

int burst_wait_ms(const struct burst *burst, int64_t now_ms, int limit_ms)
{
    int64_t wait = limit_ms;
    for (size_t i = 0; i < burst->node_count; i++) {
        const struct burst_pod *pod = oldest_queued(burst, i);
        if (pod == NULL) {
            continue;
        }
        int64_t due = pod->due_ms;
        if (due < burst->nodes[i].free_at_ms) {
            due = burst->nodes[i].free_at_ms;
        }
        if (due - now_ms < wait) {
            wait = due - now_ms;
        }
    }
    return wait > 0 ? (int)wait : 0;
}

void burst_put_back(struct burst *burst, struct burst_pod *pod, int64_t now_ms)
{
    burst->failed_binds++;
    if (pod->is_bound) {
        pod->place = BURST_DROPPED;
        return;
    }
    pod->place = BURST_QUEUED;
    pod->due_ms = now_ms + burst_backoff_ms(pod->attempts);
}

void burst_note_bound(struct burst_pod *pod)
{
    pod->is_bound = true;
    if (pod->place == BURST_QUEUED) {
        pod->place = BURST_DROPPED;
    }
}

size_t burst_count_created(const struct burst *burst)
{
    size_t count = 0;
    for (size_t i = 0; i < burst->pod_count; i++) {
        count += burst->pods[i].place > BURST_CREATING;
    }
    return count;
}

size_t burst_count_bound(const struct burst *burst)
{
    size_t count = 0;
    for (size_t i = 0; i < burst->pod_count; i++) {
        count += burst->pods[i].is_bound;
    }
    return count;
}

size_t burst_count_allocated(const struct burst *burst)
{
    size_t count = 0;
    for (size_t i = 0; i < burst->pod_count; i++) {
        count += burst->pods[i].is_allocated;
    }
    return count;
}

size_t burst_count_ended(const struct burst *burst)
{
    size_t count = 0;
    for (size_t i = 0; i < burst->pod_count; i++) {
        count += burst->pods[i].is_allocated || burst->pods[i].has_failed;
    }
    return count;
}

bool burst_has_locks(const struct burst *burst)
{
    for (size_t i = 0; i < burst->node_count; i++) {
        if (burst->nodes[i].is_locked) {
            return true;
        }
    }
    return false;
}

struct burst_pod *burst_find(struct burst *burst, const char *name)
{
    for (size_t i = 0; i < burst->pod_count; i++) {
        if (strcmp(burst->pods[i].name, name) == 0) {
            return &burst->pods[i];
        }
    }
    return NULL;
}
