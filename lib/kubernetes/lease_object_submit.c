/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carries out a call on a Lease: which request comes next, from what is known so far.
 *
 * Happy path without a mirror, while the watches stand: one GET, or one guarded patch
 * with the Node's uid and the Lease's spec as they were last seen. A refusal says no more
 * than that one of the tests failed, so the Lease is read and the patch planned anew from
 * what is there; the call ends with HELD only by such a read. What can't be concluded
 * from a watch (no Lease, one that is left over from an earlier Node, no such Node) is
 * read.
 *
 * A Lease is made without values, and patched then. A caller that gave a version is told
 * HELD with that of the new Lease instead: the fence that he made from an older one could
 * be lower than one that was granted meanwhile.
 *
 * With a mirror both objects are read first, the Node before the Lease: a take that comes
 * in between is then seen as one that lacks its mirror, never as a foreign lock.
 */
#include "lease_object.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "status.h"

#define ROUNDS_MAX 8u

/* ---- the end ---- */

/* The Lease that counts; NULL = there is none. */
static const json_t *current(const struct hami_internal_lease_operation *operation)
{
    const char *uid = hami_internal_object_metadata(operation->node, "uid");
    bool counts = operation->lease != NULL && uid != NULL &&
                  hami_internal_lease_ownership(operation->lease, uid, NULL) !=
                      HAMI_INTERNAL_LEASE_LEFT_OVER;
    return counts ? operation->lease : NULL;
}

void hami_internal_lease_finish(struct hami_internal_lease_operation *operation, int code,
                                const struct hami_kubernetes_answer *answer)
{
    const json_t *lease = current(operation);
    json_t *node = json_incref(operation->node);
    json_t *own = json_incref((json_t *)lease);
    json_t *view =
        hami_internal_lease_view(hami_internal_lease_owner_of(operation), node, lease);
    const char *version =
        hami_internal_lease_version(hami_internal_lease_owner_of(operation), node, lease);
    hami_internal_annotation_finish(&operation->base, code, view, version, answer);
    json_decref(view);
    json_decref(own);
    json_decref(node);
}

void hami_internal_lease_fail(struct hami_internal_lease_operation *operation, int code,
                              const struct hami_kubernetes_answer *answer)
{
    hami_internal_annotation_fail(&operation->base,
                                  operation->applied ? HAMI_E_IN_DOUBT : code, answer);
}

void hami_internal_lease_go_on(struct hami_internal_lease_operation *operation,
                               const struct hami_kubernetes_answer *answer)
{
    int code = hami_internal_lease_advance(operation, answer);
    if (code == HAMI_E_PROTO || code == HAMI_E_LIMIT) {
        hami_internal_annotation_refuse(&operation->base, HAMI_E_PROTO,
                                        HAMI_INTERNAL_ANNOTATION_UNWRITABLE);
    } else if (code < 0) {
        hami_internal_lease_fail(operation, code, answer);
    }
}

/* ---- reading ---- */

static void forget_lease(struct hami_internal_lease_operation *operation)
{
    json_decref(operation->lease);
    operation->lease = NULL;
}

void hami_internal_lease_drop_reads(struct hami_internal_lease_operation *operation)
{
    forget_lease(operation);
    operation->lease_fresh = operation->node_fresh = false;
}

int hami_internal_lease_read_node(struct hami_internal_lease_operation *operation,
                                  hami_internal_annotation_step_fn step)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char path[HAMI_INTERNAL_PATHS_MAX];
    (void)hami_internal_paths_node_path(hami_call_node(operation->base.call), path,
                                        sizeof(path));
    request.path = path;
    request.accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY;
    return hami_internal_annotation_send_request(&operation->base, &request, false, step);
}

static void node_read(struct hami_internal_annotation_operation *base,
                      const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    int code = hami_internal_annotation_judge_read(answer);
    json_t *node = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (hami_internal_object_metadata(node, "uid") == NULL) {
        json_decref(node);
        hami_internal_lease_fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
        return;
    }
    json_decref(operation->node);
    operation->node = node;
    operation->node_fresh = true;
    hami_internal_lease_go_on(operation, answer);
}

static int read_node(struct hami_internal_lease_operation *operation)
{
    return hami_internal_lease_read_node(operation, node_read);
}

static void lease_read(struct hami_internal_annotation_operation *base,
                       const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    int code = hami_internal_annotation_judge_read(answer);
    json_t *lease = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (code != HAMI_E_NODE && lease == NULL) {
        hami_internal_lease_fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
        return;
    }
    json_decref(operation->lease);
    operation->lease = lease;
    operation->lease_fresh = true;
    if (lease != NULL) {
        hami_internal_lease_learn(hami_internal_lease_owner_of(operation),
                                  hami_call_node(base->call), lease);
    }
    hami_internal_lease_go_on(operation, answer);
}

static int read_lease(struct hami_internal_lease_operation *operation)
{
    return hami_internal_annotation_send(&operation->base, NULL, NULL, false, lease_read);
}

/* ---- planning ---- */

static int end_with(struct hami_internal_lease_operation *operation, int code,
                    const struct hami_kubernetes_answer *answer)
{
    hami_internal_lease_finish(operation, code, answer);
    return 0;
}

static int plan_read(struct hami_internal_lease_operation *operation,
                     const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    const json_t *lease = current(operation);
    if (owner->base.without_watch ||
        !hami_internal_lease_lacks_mirror(owner, operation->node, lease)) {
        return end_with(operation, 0, answer);
    }
    return operation->rounds++ < ROUNDS_MAX ? hami_internal_lease_repair(operation)
                                            : HAMI_E_TRANSPORT;
}

static bool sets_something(const struct hami_transport_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action == HAMI_EDIT_PUT && edits[i].value != NULL) {
            return true;
        }
    }
    return false;
}

static bool has_version(const struct hami_internal_lease_operation *operation)
{
    const char *wanted = hami_call_version(operation->base.call);
    const json_t *lease = current(operation);
    return wanted == NULL ||
           (lease != NULL && strcmp(wanted, hami_internal_lease_version(
                                                hami_internal_lease_owner_of(operation),
                                                operation->node, lease)) == 0);
}

/* Both objects are fresh. */
static int plan_write(struct hami_internal_lease_operation *operation,
                      const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    const json_t *lease = current(operation);
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    json_t *view = hami_internal_lease_view(owner, operation->node, lease);
    bool fits = hami_internal_annotation_is_as_expected(edits, count, view);
    json_decref(view);
    if (!fits || operation->rounds++ >= ROUNDS_MAX) {
        return end_with(operation, HAMI_E_HELD, answer);
    }
    if (lease == NULL && sets_something(edits, count)) {
        return operation->lease != NULL ? hami_internal_lease_delete(operation)
                                        : hami_internal_lease_create(operation);
    }
    if (!has_version(operation)) {
        return end_with(operation, HAMI_E_HELD, answer);
    }
    if (lease == NULL) {
        forget_lease(operation);
    }
    operation->writes_lease = lease != NULL;
    operation->writes_node = owner->key_count > 0;
    return hami_internal_lease_write(operation, answer);
}

/* A patch may be tried on what was last seen: its tests cover all that matters. */
static bool may_patch_unread(const struct hami_internal_lease_operation *operation)
{
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    const char *uid = hami_internal_object_metadata(operation->node, "uid");
    return hami_call_is_write(operation->base.call) && operation->lease != NULL &&
           hami_internal_lease_owner_of(operation)->key_count == 0 &&
           hami_internal_lease_ownership(operation->lease, uid, NULL) ==
               HAMI_INTERNAL_LEASE_OWNED &&
           !hami_internal_jsonpatch_is_odd(edits, count);
}

int hami_internal_lease_advance(struct hami_internal_lease_operation *operation,
                                const struct hami_kubernetes_answer *answer)
{
    bool mirrored = hami_internal_lease_owner_of(operation)->key_count > 0;
    if (operation->node == NULL || (mirrored && !operation->node_fresh)) {
        return read_node(operation);
    }
    if (!operation->lease_fresh && may_patch_unread(operation)) {
        operation->writes_lease = true;
        return hami_internal_lease_write(operation, answer);
    }
    if (!operation->lease_fresh) {
        return read_lease(operation);
    }
    if (current(operation) == NULL && !operation->node_fresh) {
        return read_node(operation);
    }
    return hami_call_is_write(operation->base.call) ? plan_write(operation, answer)
                                                    : plan_read(operation, answer);
}

/* ---- entry ---- */

int hami_internal_lease_submit(struct hami_transport *transport, hami_call *call)
{
    static const struct hami_kubernetes_answer nothing = {
        .size = sizeof(nothing), .body = "", .text = ""};
    struct hami_internal_lease *owner = (struct hami_internal_lease *)transport;
    const char *node = hami_call_node(call);
    struct hami_internal_annotation_operation *base =
        hami_internal_annotation_begin(&owner->base, call);
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    if (base == NULL) {
        return HAMI_E_NOMEM;
    }
    if (!hami_internal_paths_lease_path(owner->namespace_name, node, base->path,
                                        sizeof(base->path))) {
        hami_internal_annotation_refuse(base, HAMI_E_NODE, "No node can have this name");
        return 0;
    }
    if (owner->key_count == 0) {
        operation->node = hami_internal_annotation_is_followed(
                              &owner->base, HAMI_INTERNAL_LEASE_SOURCE_NODES)
                              ? hami_internal_lease_recall_node(owner, node)
                              : NULL;
        operation->lease =
            hami_call_is_write(call) ? hami_internal_lease_recall(owner, node) : NULL;
    }
    int code = hami_internal_lease_advance(operation, &nothing);
    if (code == HAMI_E_PROTO || code == HAMI_E_LIMIT) {
        hami_internal_annotation_refuse(base, HAMI_E_PROTO,
                                        HAMI_INTERNAL_ANNOTATION_UNWRITABLE);
        return 0;
    }
    if (code < 0) {
        hami_internal_annotation_end(base);
    }
    return code;
}
