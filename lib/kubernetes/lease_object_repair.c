/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock that stands on the Lease and not on the Node is completed by whoever reads it: a
 * caller that finds its lock by a read may rely on both. (A tool that looks once does
 * not.)
 *
 * The Lease gets a new version first, its pairs being tested. A taker that is putting
 * this lock back, unanswered, tests the version of its take: either it came first, and
 * there is nothing to complete, or it is refused.
 */
#include "lease_object.h"

#include <string.h>

#include "object.h"

static struct hami_internal_lease_operation *
operation_of(struct hami_internal_annotation_operation *base)
{
    return (struct hami_internal_lease_operation *)base;
}

/* A repair that was not made. */
static void give_up(struct hami_internal_lease_operation *operation, int code,
                    const struct hami_kubernetes_answer *answer)
{
    if (code == HAMI_E_HELD || code == HAMI_E_NODE) {
        hami_internal_lease_drop_reads(operation);
        hami_internal_lease_go_on(operation, answer);
    } else {
        hami_internal_lease_fail(
            operation, code == HAMI_E_ACCESS ? HAMI_E_ACCESS : HAMI_E_TRANSPORT, answer);
    }
}

static void repaired(struct hami_internal_annotation_operation *base,
                     const struct hami_kubernetes_answer *answer)
{
    int code = hami_internal_annotation_judge_write(answer);
    /* The Lease may have changed meanwhile: both are read once more. */
    give_up(operation_of(base), code == 0 ? HAMI_E_HELD : code, answer);
}

static bool is_new_version(const json_t *before, const json_t *after)
{
    const char *old = hami_internal_object_metadata(before, "resourceVersion");
    const char *new = hami_internal_object_metadata(after, "resourceVersion");
    return old != NULL && new != NULL &&strcmp(old, new) != 0;
}

static void touched(struct hami_internal_annotation_operation *base,
                    const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation = operation_of(base);
    struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    struct hami_transport_edit edits[2 * HAMI_NODELOCK_KEYS_MAX];
    int code = hami_internal_annotation_judge_write(answer);
    json_t *lease = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (lease == NULL || !is_new_version(operation->lease, lease)) {
        json_decref(lease);
        give_up(operation, code == 0 ? HAMI_E_TRANSPORT : code, answer);
        return;
    }
    json_decref(operation->lease);
    operation->lease = lease;
    hami_internal_lease_learn(owner, hami_call_node(base->call), lease);
    size_t count =
        hami_internal_lease_mirror_edits(owner, operation->node, lease, NULL, 0, edits);
    code = hami_internal_lease_send_node(operation, edits, count, repaired);
    if (code < 0) {
        give_up(operation, code, answer);
    }
}

int hami_internal_lease_repair(struct hami_internal_lease_operation *operation)
{
    const struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    struct hami_transport_edit edits[2 * HAMI_NODELOCK_KEYS_MAX];
    struct hami_internal_lease_change change = {.edits = edits, .touch = true};
    for (size_t i = 0; i < owner->key_count; i++) {
        const char *keys[] = {owner->keys[i].lock, owner->keys[i].lease};
        for (size_t k = 0; k < 2; k++) {
            edits[change.count++] = (struct hami_transport_edit){
                HAMI_EDIT_TEST, keys[k],
                hami_internal_object_annotation(operation->lease, keys[k]), NULL};
        }
    }
    return hami_internal_lease_send_lease(operation, &change, touched);
}
