/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lock: the mutex guards the counts; nothing is logged under it. A line is about one pod
 * and carries the trace id of its bind: where a lock goes from one pod to another in one
 * write, there are two.
 */
#include "changes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "trace.h"

#define VERBOSITY 3

struct changes {
    pthread_mutex_t mutex;
    struct changes_counts counts;
};

struct changes *changes_new(void)
{
    struct changes *changes = calloc(1, sizeof(*changes));
    if (changes != NULL) {
        (void)pthread_mutex_init(&changes->mutex, NULL);
    }
    return changes;
}

struct changes *changes_free(struct changes *changes)
{
    if (changes != NULL) {
        (void)pthread_mutex_destroy(&changes->mutex);
        free(changes);
    }
    return NULL;
}

static void count(struct changes *changes, const struct hami_lock_change *change)
{
    static const char *const proofs[] = {
#define X(name) #name,
        TAKEOVER_PROOFS(X)
#undef X
    };
    (void)pthread_mutex_lock(&changes->mutex);
    if (change->held_ns > 0) {
        histogram_observe(&changes->counts.hold, change->held_ns);
    }
    for (size_t i = 0; i < TAKEOVER_PROOF_COUNT; i++) {
        changes->counts.takeovers[i] += strcmp(change->proof, proofs[i]) == 0;
    }
    (void)pthread_mutex_unlock(&changes->mutex);
}

static const char *pod_text(char *buffer, size_t size, const struct hami_owner *owner)
{
    if (owner->name == NULL) {
        return NULL;
    }
    (void)snprintf(buffer, size, "%.63s/%.253s",
                   owner->namespace_name != NULL ? owner->namespace_name : "",
                   owner->name);
    return buffer;
}

static void log_release(const struct hami_lock_change *change)
{
    char pod[320], trace[HAMID_TRACE_BYTES], held[24], fence[24];
    bool is_free = change->how == HAMI_HAND_OVER_NONE;
    hamid_log_info(
        VERBOSITY, "The node's lock was released", "node", change->node, "pod",
        pod_text(pod, sizeof(pod), &change->from), "trace",
        hamid_trace(trace, change->from.uid, change->node), "fence",
        is_free && change->fence != 0 ? hamid_log_number(fence, change->fence) : NULL,
        "milliseconds", hamid_log_number(held, change->held_ns / 1000000), NULL);
}

static void log_take(const struct hami_lock_change *change)
{
    static const char *const ways[] = {"taken", "handed over", "taken over",
                                       "taken again", "by another writer"};
    char pod[320], trace[HAMID_TRACE_BYTES], fence[24];
    hamid_log_info(
        VERBOSITY, "The node's lock was taken", "node", change->node, "pod",
        pod_text(pod, sizeof(pod), &change->to), "trace",
        hamid_trace(trace, change->to.uid, change->node), "fence",
        change->fence != 0 ? hamid_log_number(fence, change->fence) : NULL, "way",
        (size_t)change->how < sizeof(ways) / sizeof(ways[0]) ? ways[change->how] : NULL,
        "proof", change->proof[0] != '\0' ? change->proof : NULL, NULL);
}

void changes_told(void *data, const struct hami_lock_change *change)
{
    count(data, change);
    if (!hamid_log_is_on(VERBOSITY)) {
        return;
    }
    if (change->how == HAMI_HAND_OVER_NONE || change->held_ns > 0) {
        log_release(change);
    }
    if (change->how != HAMI_HAND_OVER_NONE) {
        log_take(change);
    }
}

void changes_read(struct changes *changes, struct changes_counts *ret)
{
    (void)pthread_mutex_lock(&changes->mutex);
    *ret = changes->counts;
    (void)pthread_mutex_unlock(&changes->mutex);
}
