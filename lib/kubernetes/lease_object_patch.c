/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies and patches of a Lease, as text. Pure, but for the time of a touch.
 *
 * The spec is for people (`kubectl get lease`): it says whose lock was written last,
 * since when, and how often locks were taken. Nothing is ever decided by it. Its count is
 * tested when it is raised, so that it counts each take once.
 */
#include "lease_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hami/handshake.h>

#include "object.h"

#define REFERENCES "/metadata/ownerReferences"
#define HOLDER_MAX 320

/* ---- whose it is ---- */

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

static const json_t *references_of(const json_t *lease)
{
    return json_object_get(json_object_get(lease, "metadata"), "ownerReferences");
}

static bool is_of_a_node(const json_t *reference)
{
    return strcmp(text_of(reference, "kind"), "Node") == 0 &&
           strcmp(text_of(reference, "apiVersion"), "v1") == 0;
}

enum hami_internal_lease_ownership
hami_internal_lease_ownership(const json_t *lease, const char *uid, size_t *ret_index)
{
    enum hami_internal_lease_ownership ownership = HAMI_INTERNAL_LEASE_UNOWNED;
    size_t index;
    json_t *reference;
    json_array_foreach(references_of(lease), index, reference)
    {
        if (!is_of_a_node(reference)) {
            continue;
        }
        if (strcmp(text_of(reference, "uid"), uid) == 0) {
            if (ret_index != NULL) {
                *ret_index = index;
            }
            return HAMI_INTERNAL_LEASE_OWNED;
        }
        ownership = HAMI_INTERNAL_LEASE_LEFT_OVER;
    }
    return ownership;
}

static json_t *new_reference(const char *node, const char *uid)
{
    return json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Node", "name",
                     node, "uid", uid);
}

/* ---- bodies ---- */

static char *dump(json_t *body)
{
    char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    json_decref(body);
    return text;
}

char *hami_internal_lease_new_body(const char *namespace_name, const char *node,
                                   const char *uid)
{
    json_t *reference = new_reference(node, uid);
    return reference == NULL
               ? NULL
               : dump(json_pack("{s:s, s:s, s:{s:s, s:s, s:[o]}, s:{s:i}}", "apiVersion",
                                "coordination.k8s.io/v1", "kind", "Lease", "metadata",
                                "name", node, "namespace", namespace_name,
                                "ownerReferences", reference, "spec", "leaseTransitions",
                                0));
}

char *hami_internal_lease_delete_body(const json_t *lease)
{
    return dump(json_pack("{s:s, s:s, s:{s:s?, s:s?}}", "apiVersion", "v1", "kind",
                          "DeleteOptions", "preconditions", "uid",
                          hami_internal_object_metadata(lease, "uid"), "resourceVersion",
                          hami_internal_object_metadata(lease, "resourceVersion")));
}

/* ---- spec ---- */

/* "NAMESPACE/POD" of a lock value; false if it names nobody. */
static bool holder_of(const char *value, char *buffer, size_t size)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    if (value == NULL || hami_lock_record_parse(value, NULL, &record) < 0 ||
        record.kind != HAMI_LOCK_OWNED) {
        return false;
    }
    snprintf(buffer, size, "%s/%s", record.namespace_name, record.name);
    return true;
}

/* The time of a lock value in the form that a Lease asks for; null where it is no time of
 * ours: a server refuses a time that does not exist. */
static json_t *time_of(const char *value)
{
    struct tm parts = {0};
    char text[40] = "";
    char same[24] = "";
    const char *end = strptime(value, "%Y-%m-%dT%H:%M:%SZ", &parts);
    if (end == NULL || *end != ',') {
        return json_null();
    }
    time_t seconds = timegm(&parts);
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(same, sizeof(same), "%Y-%m-%dT%H:%M:%S", &parts);
    if (strlen(same) != 19 || strncmp(same, value, 19) != 0) {
        return json_null();
    }
    snprintf(text, sizeof(text), "%s.000000Z", same);
    return json_string(text);
}

/* What the edits mean to people: a lock that is taken, or one that is given back. */
struct meaning {
    const char *taken; /* lock value */
    char holder[HOLDER_MAX];
    char former[HOLDER_MAX]; /* "" = none was given back */
};

static void understand(const struct hami_transport_edit *edits, size_t count,
                       struct meaning *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action != HAMI_EDIT_PUT) {
            continue;
        }
        if (ret->taken == NULL &&
            holder_of(edits[i].value, ret->holder, sizeof(ret->holder))) {
            ret->taken = edits[i].value;
        } else if (edits[i].value == NULL) {
            (void)holder_of(edits[i].expect, ret->former, sizeof(ret->former));
        }
    }
}

static int change_spec(json_t *operations, const json_t *spec,
                       const struct meaning *meaning)
{
    json_int_t count = json_integer_value(json_object_get(spec, "leaseTransitions"));
    bool taken = meaning->taken != NULL;
    int code = 0;
    if (!taken && (meaning->former[0] == '\0' ||
                   strcmp(meaning->former, text_of(spec, "holderIdentity")) != 0)) {
        return 0; /* another key's lock was written later, or nothing was given back */
    }
    code =
        hami_internal_jsonpatch_add(operations, "add", "/spec/holderIdentity",
                                    taken ? json_string(meaning->holder) : json_null());
    if (code == 0) {
        code = hami_internal_jsonpatch_add(operations, "add", "/spec/acquireTime",
                                           taken ? time_of(meaning->taken) : json_null());
    }
    if (code == 0 && taken) {
        code = hami_internal_jsonpatch_add(
            operations, "add", "/spec/leaseTransitions",
            json_integer(count < INT32_MAX ? count + 1 : count));
    }
    return code;
}

static int test_spec(json_t *operations, const json_t *spec,
                     const struct meaning *meaning)
{
    const json_t *count = json_object_get(spec, "leaseTransitions");
    return meaning->taken == NULL
               ? 0
               : hami_internal_jsonpatch_add(operations, "test", "/spec/leaseTransitions",
                                             count != NULL ? json_deep_copy(count)
                                                           : json_null());
}

/* ---- the patch ---- */

static int test_owner(json_t *operations, const json_t *lease, const char *uid,
                      bool *ret_owned)
{
    char path[64];
    size_t index = 0;
    *ret_owned =
        hami_internal_lease_ownership(lease, uid, &index) == HAMI_INTERNAL_LEASE_OWNED;
    if (!*ret_owned) {
        /* The reference is added below, at this very version. */
        return hami_internal_jsonpatch_test(
            operations, "/metadata/resourceVersion",
            hami_internal_object_metadata(lease, "resourceVersion"));
    }
    snprintf(path, sizeof(path), REFERENCES "/%zu/uid", index);
    return hami_internal_jsonpatch_test(operations, path, uid);
}

static int add_owner(json_t *operations, const json_t *lease, const char *node,
                     const char *uid)
{
    json_t *reference = new_reference(node, uid);
    if (reference == NULL) {
        return HAMI_E_NOMEM;
    }
    if (json_array_size(references_of(lease)) > 0) {
        return hami_internal_jsonpatch_add(operations, "add", REFERENCES "/-", reference);
    }
    return hami_internal_jsonpatch_add(operations, "add", REFERENCES,
                                       json_pack("[o]", reference));
}

/* Never the value that was there: a write that changes nothing makes no version. */
static int touch(json_t *operations)
{
    char seconds[24];
    char text[64];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &parts);
    (void)strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof(text), "%s.%06ldZ", seconds, now.tv_nsec / 1000);
    return hami_internal_jsonpatch_add(operations, "add", "/spec/renewTime",
                                       json_string(text));
}

static int add_changes(json_t *operations,
                       const struct hami_internal_lease_change *change, bool owned,
                       const struct meaning *meaning)
{
    int code = hami_internal_jsonpatch_add_edits(operations, change->edits, change->count,
                                                 change->version, change->form);
    if (code == 0 && !owned) {
        code = add_owner(operations, change->lease, change->node, change->uid);
    }
    if (code == 0) {
        code = change_spec(operations, json_object_get(change->lease, "spec"), meaning);
    }
    return code == 0 && change->touch ? touch(operations) : code;
}

int hami_internal_lease_patch(const struct hami_internal_lease_change *change, char **ret)
{
    struct meaning meaning;
    bool owned = false;
    json_t *operations = json_array();
    int code = operations != NULL ? 0 : HAMI_E_NOMEM;
    understand(change->edits, change->count, &meaning);
    if (code == 0) {
        code = test_owner(operations, change->lease, change->uid, &owned);
    }
    if (code == 0) {
        code = test_spec(operations, json_object_get(change->lease, "spec"), &meaning);
    }
    if (code == 0) {
        code = add_changes(operations, change, owned, &meaning);
    }
    if (code == 0) {
        code = hami_internal_jsonpatch_dump(operations, ret);
    }
    json_decref(operations);
    return code;
}
