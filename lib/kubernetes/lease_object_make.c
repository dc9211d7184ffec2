/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the Lease of a Node, and deletes one that an earlier Node of the name has left. A
 * Lease without values is nobody's lock: these two may be done twice, or be done and not
 * answered, without harm.
 */
#include "lease_object.h"

#include <stdlib.h>

#include "object.h"

static void created(struct hami_internal_annotation_operation *base,
                    const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    int code = hami_internal_annotation_judge_write(answer);
    json_t *lease = code == 0 ? hami_internal_annotation_object_of(base, answer) : NULL;
    if (lease != NULL) {
        json_decref(operation->lease);
        operation->lease = lease;
        operation->lease_fresh = true;
        hami_internal_lease_learn(hami_internal_lease_owner_of(operation),
                                  hami_call_node(base->call), lease);
        hami_internal_lease_go_on(operation, answer);
    } else if (code == HAMI_E_HELD) {
        /* Somebody else has made it. */
        hami_internal_lease_drop_reads(operation);
        hami_internal_lease_go_on(operation, answer);
    } else if (code == HAMI_E_NODE) {
        /* The namespace is missing: only an operator can mend that. */
        hami_internal_lease_fail(operation, HAMI_E_ACCESS, answer);
    } else {
        /* A Lease without values changes nothing, whether it was made or not. */
        hami_internal_lease_fail(
            operation, code == 0 || code == HAMI_E_IN_DOUBT ? HAMI_E_TRANSPORT : code,
            answer);
    }
}

int hami_internal_lease_create(struct hami_internal_lease_operation *operation)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    const struct hami_internal_lease *owner = hami_internal_lease_owner_of(operation);
    char path[HAMI_INTERNAL_PATHS_MAX];
    char *body = hami_internal_lease_new_body(
        owner->namespace_name, hami_call_node(operation->base.call),
        hami_internal_object_metadata(operation->node, "uid"));
    if (body == NULL) {
        return HAMI_E_NOMEM;
    }
    (void)hami_internal_paths_lease_path(owner->namespace_name, NULL, path, sizeof(path));
    request.method = HAMI_KUBERNETES_POST;
    request.path = path;
    request.body = body;
    int code =
        hami_internal_annotation_send_request(&operation->base, &request, false, created);
    free(body);
    return code;
}

static void deleted(struct hami_internal_annotation_operation *base,
                    const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    int code = hami_internal_annotation_judge_write(answer);
    if (code == 0 || code == HAMI_E_HELD || code == HAMI_E_NODE) {
        hami_internal_lease_drop_reads(operation);
        hami_internal_lease_go_on(operation, answer);
    } else {
        hami_internal_lease_fail(
            operation, code == HAMI_E_IN_DOUBT ? HAMI_E_TRANSPORT : code, answer);
    }
}

int hami_internal_lease_delete(struct hami_internal_lease_operation *operation)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    char *body = hami_internal_lease_delete_body(operation->lease);
    if (body == NULL) {
        return HAMI_E_NOMEM;
    }
    request.method = HAMI_KUBERNETES_DELETE;
    request.path = operation->base.path;
    request.body = body;
    int code =
        hami_internal_annotation_send_request(&operation->base, &request, false, deleted);
    free(body);
    return code;
}
