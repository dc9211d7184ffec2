/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writes of a call, on the Lease and (with a mirror) on the Node.
 *
 * One of the two comes first and decides: a take writes the Lease and then the Node, a
 * release the Node and then the Lease. A take whose second write finds somebody else's
 * lock on the Node, or may not write there, is put back. Whatever else leaves the second
 * write open is in doubt: the next read of the node shows how it stands, and brings the
 * mirror in step.
 */
#include "lease_object.h"

#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "object.h"
#include "status.h"

#define ROUNDS_MAX 8u
#define MEMORY_MAX 64

static struct hami_internal_lease_operation *
operation_of(struct hami_internal_annotation_operation *base)
{
    return (struct hami_internal_lease_operation *)base;
}

static void set(json_t **place, json_t *object)
{
    json_decref(*place);
    *place = object;
}

/* The form that fits an object which was read. */
static enum hami_internal_jsonpatch_form
form_for(const json_t *object, const struct hami_transport_edit *edits, size_t count)
{
    if (!hami_internal_object_has_annotations(object)) {
        return HAMI_INTERNAL_JSONPATCH_NEW_MAP;
    }
    return hami_internal_jsonpatch_is_odd(edits, count)
               ? HAMI_INTERNAL_JSONPATCH_BY_VERSION
               : HAMI_INTERNAL_JSONPATCH_BY_KEY;
}

/* ---- the Lease ---- */

/* The call's edits, as the Lease itself has to be changed for them. */
static size_t edits_of_lease(const struct hami_internal_lease_operation *operation,
                             struct hami_transport_edit *ret)
{
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    count = count < HAMI_INTERNAL_LEASE_EDITS_MAX ? count : HAMI_INTERNAL_LEASE_EDITS_MAX;
    for (size_t i = 0; i < count; i++) {
        ret[i] = edits[i];
        if (edits[i].action != HAMI_EDIT_READ &&
            hami_internal_lease_is_mirrored(hami_internal_lease_owner_of(operation),
                                            edits[i].key)) {
            /* What was expected is what Lease and Node say together. */
            ret[i].expect =
                hami_internal_object_annotation(operation->lease, edits[i].key);
        }
    }
    return count;
}

int hami_internal_lease_send_lease(struct hami_internal_lease_operation *operation,
                                   struct hami_internal_lease_change *change,
                                   hami_internal_annotation_step_fn step)
{
    char *body = NULL;
    change->lease = operation->lease;
    change->node = hami_call_node(operation->base.call);
    change->uid = hami_internal_object_metadata(operation->node, "uid");
    if (operation->lease_fresh) {
        change->form = form_for(operation->lease, change->edits, change->count);
    }
    if (operation->lease_fresh &&
        (change->version != NULL || change->form == HAMI_INTERNAL_JSONPATCH_BY_VERSION)) {
        /* A version that was asked for was compared with both objects' by now. */
        change->version =
            hami_internal_object_metadata(operation->lease, "resourceVersion");
    }
    int code = hami_internal_lease_patch(change, &body);
    if (code == 0) {
        code = hami_internal_annotation_send(&operation->base, body, NULL, false, step);
    }
    free(body);
    return code;
}

static void lease_written(struct hami_internal_annotation_operation *base,
                          const struct hami_kubernetes_answer *answer);

/* The patch that the call asks for. */
static int send_call(struct hami_internal_lease_operation *operation)
{
    struct hami_transport_edit edits[HAMI_INTERNAL_LEASE_EDITS_MAX];
    struct hami_internal_lease_change change = {
        .edits = edits,
        .count = edits_of_lease(operation, edits),
        .version = hami_call_version(operation->base.call),
    };
    return hami_internal_lease_send_lease(operation, &change, lease_written);
}

static void lease_written(struct hami_internal_annotation_operation *base,
                          const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation = operation_of(base);
    int code = hami_internal_annotation_judge_write(answer);
    json_t *lease = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (lease != NULL) {
        set(&operation->former, operation->lease);
        operation->lease = lease;
        operation->lease_fresh = true;
        operation->applied = true;
        operation->writes_lease = false;
        hami_internal_lease_learn(hami_internal_lease_owner_of(operation),
                                  hami_call_node(base->call), lease);
        if (!operation->writes_node) {
            hami_internal_lease_finish(operation, 0, answer);
            return;
        }
        code = hami_internal_lease_write(operation, answer);
        if (code < 0) {
            hami_internal_lease_fail(operation, code, answer);
        }
    } else if ((code == HAMI_E_HELD || code == HAMI_E_NODE) && !operation->applied) {
        hami_internal_lease_drop_reads(operation);
        hami_internal_lease_go_on(operation, answer);
    } else {
        hami_internal_lease_fail(operation, code == 0 ? HAMI_E_PROTO : code, answer);
    }
}

/* ---- putting a take back ---- */

static void put_back(struct hami_internal_annotation_operation *base,
                     const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation = operation_of(base);
    int code = hami_internal_annotation_judge_write(answer);
    json_t *lease = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (lease == NULL) {
        hami_internal_lease_fail(operation, HAMI_E_IN_DOUBT, answer);
        return;
    }
    set(&operation->lease, lease);
    operation->applied = false;
    hami_internal_lease_learn(hami_internal_lease_owner_of(operation),
                              hami_call_node(base->call), lease);
    hami_internal_lease_finish(operation, operation->undone_code, answer);
}

/* The lease that the call sets beside this lock, or is this one; NULL = none. */
static const char *lease_beside(const struct hami_internal_lease_keys *keys,
                                const struct hami_transport_edit *edits, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action == HAMI_EDIT_PUT && strcmp(edits[i].key, keys->lease) == 0) {
            return edits[i].value;
        }
    }
    return NULL;
}

/*
 * What a value is put back to. A lock that was in the way was proven to be nobody's, and
 * is not brought back. Its lease keeps the fence that was tried: a copy of our lock that
 * is still on its way to the Node is then known as old.
 */
static const char *value_before(const struct hami_internal_lease_operation *operation,
                                const char *key, char *memory)
{
    const struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    for (size_t i = 0; i < owner->key_count; i++) {
        struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
        (void)hami_lock_record_parse(NULL, lease_beside(&owner->keys[i], edits, count),
                                     &record);
        if (record.last_fence > 0 && strcmp(key, owner->keys[i].lock) == 0) {
            return NULL;
        }
        if (record.last_fence > 0 && strcmp(key, owner->keys[i].lease) == 0) {
            (void)hami_lease_memory_format(record.last_fence, memory, MEMORY_MAX);
            return memory;
        }
    }
    return hami_internal_object_annotation(operation->former, key);
}

/* At the very version of the take: whoever has come to rely on it makes another first. */
static void undo(struct hami_internal_lease_operation *operation, int why,
                 const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_edit back[HAMI_INTERNAL_LEASE_EDITS_MAX];
    char memories[HAMI_INTERNAL_LEASE_EDITS_MAX][MEMORY_MAX];
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    struct hami_internal_lease_change change = {
        .edits = back,
        .version = hami_internal_object_metadata(operation->lease, "resourceVersion"),
    };
    for (size_t i = 0; i < count && change.count < HAMI_INTERNAL_LEASE_EDITS_MAX; i++) {
        if (edits[i].action == HAMI_EDIT_PUT) {
            struct hami_transport_edit *edit = &back[change.count];
            *edit = edits[i];
            edit->expect = edits[i].value;
            edit->value = value_before(operation, edits[i].key, memories[change.count++]);
        }
    }
    operation->undone_code = why;
    if (hami_internal_lease_send_lease(operation, &change, put_back) < 0) {
        hami_internal_lease_fail(operation, HAMI_E_IN_DOUBT, answer);
    }
}

/* ---- the Node ---- */

static void node_written(struct hami_internal_annotation_operation *base,
                         const struct hami_kubernetes_answer *answer);

int hami_internal_lease_send_node(struct hami_internal_lease_operation *operation,
                                  const struct hami_transport_edit *edits, size_t count,
                                  hami_internal_annotation_step_fn step)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    enum hami_internal_jsonpatch_form form = form_for(operation->node, edits, count);
    char path[HAMI_INTERNAL_PATHS_MAX];
    char *body = NULL;
    json_t *operations = json_array();
    int code = operations != NULL ? 0 : HAMI_E_NOMEM;
    if (code == 0) {
        code = hami_internal_jsonpatch_test(
            operations, "/metadata/uid",
            hami_internal_object_metadata(operation->node, "uid"));
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_add_edits(
            operations, edits, count,
            form == HAMI_INTERNAL_JSONPATCH_BY_VERSION
                ? hami_internal_object_metadata(operation->node, "resourceVersion")
                : NULL,
            form);
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, &body);
    }
    json_decref(operations);
    (void)hami_internal_paths_node_path(hami_call_node(operation->base.call), path,
                                        sizeof(path));
    request.method = HAMI_KUBERNETES_PATCH;
    request.path = path;
    request.accept = HAMI_INTERNAL_OBJECT_METADATA_ONLY;
    request.content_type = HAMI_INTERNAL_JSONPATCH_TYPE;
    request.body = body;
    if (code == 0) {
        code = hami_internal_annotation_send_request(&operation->base, &request, false,
                                                     step);
    }
    free(body);
    return code;
}

/* The Lease as it will be once the call is done. New; NULL without memory. */
static json_t *target_of(const struct hami_internal_lease_operation *operation)
{
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    const json_t *before =
        json_object_get(json_object_get(operation->lease, "metadata"), "annotations");
    json_t *annotations =
        json_is_object(before) ? json_copy((json_t *)before) : json_object();
    bool sound = annotations != NULL;
    for (size_t i = 0; i < count && sound; i++) {
        if (edits[i].action != HAMI_EDIT_PUT) {
            continue;
        }
        if (edits[i].value == NULL) {
            (void)json_object_del(annotations, edits[i].key);
        } else {
            sound = json_object_set_new(annotations, edits[i].key,
                                        json_string(edits[i].value)) == 0;
        }
    }
    if (!sound) {
        json_decref(annotations);
        return NULL;
    }
    return json_pack("{s:{s:o}}", "metadata", "annotations", annotations);
}

/* Brings the Node in step with what the Lease is, or will be. */
static int write_node(struct hami_internal_lease_operation *operation,
                      const struct hami_kubernetes_answer *answer)
{
    struct hami_transport_edit edits[2 * HAMI_NODELOCK_KEYS_MAX];
    size_t count;
    const struct hami_transport_edit *call =
        hami_call_edits(operation->base.call, &count);
    json_t *target = target_of(operation);
    if (target == NULL) {
        return HAMI_E_NOMEM;
    }
    size_t wanted =
        hami_internal_lease_mirror_edits(hami_internal_lease_owner_of(operation),
                                         operation->node, target, call, count, edits);
    int code = wanted > 0
                   ? hami_internal_lease_send_node(operation, edits, wanted, node_written)
                   : 0;
    if (wanted == 0) {
        operation->writes_node = false;
        code = hami_internal_lease_write(operation, answer);
    }
    json_decref(target);
    return code;
}

/* After a second write that was refused or not answered. */
static void node_looked_at(struct hami_internal_annotation_operation *base,
                           const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation = operation_of(base);
    int code = hami_internal_annotation_judge_read(answer);
    json_t *node = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (node == NULL) {
        hami_internal_lease_fail(operation, HAMI_E_IN_DOUBT, answer);
        return;
    }
    set(&operation->node, node);
    const struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    if (hami_internal_lease_is_foreign(owner, node, operation->lease)) {
        undo(operation, HAMI_E_HELD, answer);
        return;
    }
    code = operation->rounds++ < ROUNDS_MAX &&
                   !hami_internal_lease_is_freed(owner, node, operation->lease)
               ? write_node(operation, answer)
               : HAMI_E_IN_DOUBT;
    if (code < 0) {
        hami_internal_lease_fail(operation, HAMI_E_IN_DOUBT, answer);
    }
}

static void look_at_node(struct hami_internal_lease_operation *operation,
                         const struct hami_kubernetes_answer *answer)
{
    if (hami_internal_lease_read_node(operation, node_looked_at) < 0) {
        hami_internal_lease_fail(operation, HAMI_E_IN_DOUBT, answer);
    }
}

/* The Node was not written, or may not have been. */
static void node_refused(struct hami_internal_lease_operation *operation, int code,
                         const struct hami_kubernetes_answer *answer)
{
    if (!operation->applied) {
        if (code == HAMI_E_HELD) {
            hami_internal_lease_drop_reads(operation);
            hami_internal_lease_go_on(operation, answer);
        } else {
            hami_internal_lease_fail(operation, code, answer);
        }
    } else if (code == HAMI_E_NODE) {
        /* The Lease goes with its Node. */
        hami_internal_annotation_fail(&operation->base, HAMI_E_NODE, answer);
    } else if (code == HAMI_E_ACCESS) {
        undo(operation, HAMI_E_ACCESS, answer);
    } else {
        look_at_node(operation, answer);
    }
}

static void node_written(struct hami_internal_annotation_operation *base,
                         const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation = operation_of(base);
    int code = hami_internal_annotation_judge_write(answer);
    json_t *node = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (node == NULL) {
        node_refused(operation, code == 0 ? HAMI_E_PROTO : code, answer);
        return;
    }
    set(&operation->node, node);
    operation->applied = true;
    operation->writes_node = false;
    if (!operation->writes_lease) {
        hami_internal_lease_finish(operation, 0, answer);
        return;
    }
    code = hami_internal_lease_write(operation, answer);
    if (code < 0) {
        hami_internal_lease_fail(operation, code, answer);
    }
}

/* ---- in their order ---- */

/* True if no mirrored lock is set: then the Node comes first. */
static bool frees(const struct hami_internal_lease_operation *operation)
{
    const struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    size_t count;
    const struct hami_transport_edit *edits =
        hami_call_edits(operation->base.call, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < owner->key_count; k++) {
            if (edits[i].action == HAMI_EDIT_PUT && edits[i].value != NULL &&
                strcmp(edits[i].key, owner->keys[k].lock) == 0) {
                return false;
            }
        }
    }
    return true;
}

int hami_internal_lease_write(struct hami_internal_lease_operation *operation,
                              const struct hami_kubernetes_answer *answer)
{
    if (operation->writes_node && (!operation->writes_lease || frees(operation))) {
        return write_node(operation, answer);
    }
    if (operation->writes_lease) {
        return send_call(operation);
    }
    hami_internal_lease_finish(operation, 0, answer);
    return 0;
}
