/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See request.h. Pure but for two looks at the manager; nothing is kept. */
#include "request.h"

#include <string.h>

#include "errors.h"
#include "manager.h"
#include "names.h"

static int check_keys(const struct hami_nodelock_request *request,
                      struct hami_error *error)
{
    if (!request->keys) {
        return request->key_count == 0
                   ? 0
                   : hami_internal_errors_set(error, HAMI_E_INVAL,
                                              "key_count without keys");
    }
    if (request->key_count == 0 || request->key_count > HAMI_NODELOCK_KEYS_MAX) {
        return hami_internal_errors_set(error, HAMI_E_INVAL, "key_count must be 1 to %d",
                                        HAMI_NODELOCK_KEYS_MAX);
    }
    for (size_t i = 0; i < request->key_count; i++) {
        if (!hami_internal_names_is_key(request->keys[i])) {
            return hami_internal_errors_set(error, HAMI_E_INVAL,
                                            "key %zu is no annotation key", i);
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(request->keys[i], request->keys[j]) == 0) {
                return hami_internal_errors_set(
                    error, HAMI_E_INVAL, "key \"%s\" stands twice", request->keys[i]);
            }
        }
    }
    return 0;
}

static int check_request(const struct hami_nodelock_request *request,
                         struct hami_error *error)
{
    const struct hami_owner *owner = &request->owner;

    if (!hami_internal_names_is_subdomain(request->node)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the node's name is no RFC 1123 subdomain");
    }
    if (!hami_internal_names_is_label(owner->namespace_name)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the owner's namespace is no RFC 1123 label");
    }
    if (!hami_internal_names_is_subdomain(owner->name)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the owner's name is no RFC 1123 subdomain");
    }
    if (!hami_internal_names_is_uid(owner->uid)) {
        return hami_internal_errors_set(
            error, HAMI_E_INVAL, "the owner's uid must be 1 to %d of [A-Za-z0-9._:-]",
            HAMI_NODELOCK_UID_MAX);
    }
    if (request->group && !hami_internal_names_is_group(request->group)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "the group must be 1 to %d of [A-Za-z0-9._:/-]",
                                        HAMI_NODELOCK_GROUP_MAX);
    }
    if (request->calls && !hami_internal_names_is_calls(request->calls)) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "calls must be 1 to %d of RESOURCE=COUNT, %d "
                                        "characters at most, sorted, each "
                                        "once",
                                        HAMI_NODELOCK_CALL_COUNT_MAX,
                                        HAMI_NODELOCK_CALLS_MAX);
    }
    return check_keys(request, error);
}

int hami_internal_request_read(hami_nodelock *lock,
                               const struct hami_nodelock_request *request,
                               struct hami_nodelock_request *known,
                               struct hami_error **reterr)
{
    struct hami_error *error = *reterr;

    if (!lock || !request) {
        return hami_internal_errors_set(error, HAMI_E_INVAL,
                                        "lock and request are required");
    }
    int code = hami_internal_errors_read_struct(
        known, sizeof(*known), request, offsetof(struct hami_nodelock_request, keys));
    if (code < 0) {
        return hami_internal_errors_set(error, code, "request: %s", hami_strerror(code));
    }
    *reterr = error = error ? error : known->reterr;
    code = check_request(known, error);
    if (code < 0) {
        return code;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return hami_internal_errors_set(error, HAMI_E_FORKED, "called in a forked child");
    }
    if (lock->config.side_by_side == 0) {
        known->calls = NULL; /* checked, and of no effect */
    }
    if (atomic_load(&lock->closing)) {
        return hami_internal_errors_set(error, HAMI_E_CLOSED,
                                        "the manager is shutting down");
    }
    return 0;
}
