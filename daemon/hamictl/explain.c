/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from a lock and its holder's pod, in words. The order of the questions is
 * that of the protocol's proofs (docs/protocol.md): a final fact about the holder frees
 * the lock, anything else leaves it to the node side.
 */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include <hami/handshake.h>

#include "sources.h"

static const char *annotation(const json_t *pod, const char *key)
{
    return source_text(json_object_get(json_object_get(pod, "metadata"), "annotations"),
                       key);
}

static const char *phase_of(const json_t *pod)
{
    return source_text(json_object_get(pod, "status"), "phase");
}

static const char *bound_node(const json_t *pod)
{
    return source_text(json_object_get(pod, "spec"), "nodeName");
}

static bool is_deleting(const json_t *pod)
{
    return source_text(json_object_get(pod, "metadata"), "deletionTimestamp")[0] != '\0';
}

static bool is_finished(const json_t *pod)
{
    return strcmp(phase_of(pod), "Succeeded") == 0 ||
           strcmp(phase_of(pod), "Failed") == 0;
}

const char *explain_node_of(const json_t *pod)
{
    const char *bound = bound_node(pod);
    return bound[0] != '\0' ? bound : annotation(pod, HAMI_HANDSHAKE_NODE_KEY);
}

void explain_pod(const json_t *pod, char *buffer, size_t size)
{
    if (pod == NULL) {
        (void)snprintf(buffer, size, "is gone");
        return;
    }
    const char *bound = bound_node(pod);
    const char *assigned = annotation(pod, HAMI_HANDSHAKE_NODE_KEY);
    const char *bind_phase = annotation(pod, HAMI_HANDSHAKE_PHASE_KEY);
    const char *deleting = is_deleting(pod) ? ", is being deleted" : "";
    if (bound[0] != '\0') {
        (void)snprintf(buffer, size, "is bound to node %s, phase %s, bind-phase %s%s",
                       bound, phase_of(pod),
                       bind_phase[0] != '\0' ? bind_phase : "not set", deleting);
    } else if (assigned[0] != '\0') {
        (void)snprintf(buffer, size, "is not bound; the filter assigned it to node %s%s",
                       assigned, deleting);
    } else {
        (void)snprintf(buffer, size,
                       "is not bound, and no filter assigned it to a node yet%s",
                       deleting);
    }
}

/* A holder that is bound where the lock is. */
static void explain_bound(const json_t *holder, const char *node, char *buffer,
                          size_t size)
{
    if (strcmp(phase_of(holder), "Running") == 0) {
        (void)snprintf(
            buffer, size,
            "the holder runs, so its devices are handed out and the lock was left "
            "behind: it is taken over as soon as a pod waits for the node");
    } else if (hami_bind_phase_parse(annotation(holder, HAMI_HANDSHAKE_PHASE_KEY)) ==
               HAMI_BIND_PHASE_SUCCESS) {
        (void)snprintf(
            buffer, size,
            "the holder's devices are handed out; the node side removes the lock, or it "
            "falls when the pod runs. If it stays, look at the device plugin on %s",
            node);
    } else {
        (void)snprintf(
            buffer, size,
            "the holder waits for the kubelet's Allocate: look at the kubelet and the "
            "device plugin on %s. Missing proof: the pod runs, has finished, or is gone",
            node);
    }
}

void explain_lock(const json_t *slot, const json_t *holder, const char *node,
                  char *buffer, size_t size)
{
    const char *uid = source_text(slot, "uid");
    if (source_text(slot, "pod")[0] == '\0') {
        (void)snprintf(
            buffer, size,
            "the lock names no pod, so nobody can be asked: it falls when it has been "
            "seen for hamid's --lock-expire (5m by default) without a change");
        return;
    }
    if (holder == NULL) {
        (void)snprintf(buffer, size,
                       "the holder is gone: the lock is taken over as soon as a pod "
                       "waits for the node");
        return;
    }
    const char *now = source_text(json_object_get(holder, "metadata"), "uid");
    const char *bound = bound_node(holder);
    bool is_here = strcmp(bound, node) == 0;
    bool is_other = uid[0] != '\0' && strcmp(uid, now) != 0 && !is_here;
    if (is_other || is_finished(holder) || (bound[0] != '\0' && !is_here) ||
        (bound[0] == '\0' && is_deleting(holder))) {
        (void)snprintf(
            buffer, size,
            "the holder can't call Allocate on %s any more (%s): the lock is taken over "
            "as soon as a pod waits for the node",
            node,
            is_other              ? "another pod has its name now"
            : is_finished(holder) ? "it has finished"
            : bound[0] != '\0'    ? "it is bound to another node"
                                  : "it is being deleted and not bound");
    } else if (is_here) {
        explain_bound(holder, node, buffer, size);
    } else if (uid[0] != '\0') {
        (void)snprintf(
            buffer, size,
            "the holder is not bound yet: its Binding is under way, or falls with the "
            "lock when its hold limit (15s by default) is over");
    } else {
        (void)snprintf(
            buffer, size,
            "the holder is not bound and the lock has no lease beside it (another "
            "scheduler wrote it): it falls when it has been seen for hamid's "
            "--lock-expire (5m by default)");
    }
}

const json_t *explain_find_waiter(const json_t *nodes, const char *namespace_name,
                                  const char *name, const json_t **ret_waiter)
{
    size_t i = 0;
    size_t k = 0;
    const json_t *node = NULL;
    const json_t *waiter = NULL;
    json_array_foreach(nodes, i, node)
    {
        json_array_foreach(json_object_get(node, "waiters"), k, waiter)
        {
            if (strcmp(source_text(waiter, "namespace"), namespace_name) == 0 &&
                strcmp(source_text(waiter, "pod"), name) == 0) {
                *ret_waiter = waiter;
                return node;
            }
        }
    }
    return NULL;
}

const json_t *explain_find_node(const json_t *nodes, const char *node)
{
    size_t i = 0;
    const json_t *one = NULL;
    json_array_foreach(nodes, i, one)
    {
        if (strcmp(source_text(one, "node"), node) == 0) {
            return one;
        }
    }
    return NULL;
}
