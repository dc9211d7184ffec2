/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See server.h. */
#include "server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asks.h"
#include "listing.h"
#include "store.h"

static bool is_same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_version(const struct object *object, const char *version)
{
    char now[24];

    (void)snprintf(now, sizeof(now), "%" PRIu64, object->version);
    return version[0] == '\0' || strcmp(version, now) == 0;
}

/* ---- nodes ---- */

static int edit_node(struct request *request, struct node *node)
{
    bool changes = false;

    if (!is_version(node->object, request->version)) {
        return 422;
    }
    for (size_t i = 0; i < request->edit_count; i++) {
        if (request->edits[i].action != HAMI_EDIT_READ && !request->edits[i].untested &&
            !is_same(object_get(node->object, request->edits[i].key),
                     request->edits[i].expect)) {
            return 422;
        }
        changes = changes || request->edits[i].action == HAMI_EDIT_PUT;
    }
    if (changes) {
        struct object *next = object_copy(node->object);
        for (size_t i = 0; i < request->edit_count; i++) {
            if (request->edits[i].action == HAMI_EDIT_PUT) {
                object_set(next, request->edits[i].key, request->edits[i].value);
            }
        }
        store_put_node(request->world, node, next, request->writer, request->who);
    }
    return 200;
}

/* The object after a JSON Patch; NULL where it is refused. A patch that changes nothing
 * gives the object itself. */
static struct object *patched(const struct request *request, struct object *object)
{
    json_t *before = object_to_json(object, false), *json = json_deep_copy(before);
    json_t *patch = json_loads(request->text, 0, NULL);
    struct object *next = NULL;

    if (object_patch(json, patch)) {
        if (json_equal(json, before)) {
            next = object_ref(object);
        } else {
            next = object_copy(object);
            object_take_annotations(next, json);
        }
    }
    json_decref(patch);
    json_decref(json);
    json_decref(before);
    return next;
}

static int patch_node(struct request *request, struct node *node)
{
    struct object *next = patched(request, node->object);

    if (!next) {
        return 422;
    }
    if (next == node->object) {
        object_unref(next);
    } else {
        store_put_node(request->world, node, next, request->writer, request->who);
    }
    return 200;
}

static int apply_to_node(struct request *request, struct object **ret)
{
    struct node *node = store_node(request->world, request->name);
    int status = 200;

    if (!node || !node->object) {
        return 404;
    }
    if (request->verb == VERB_EDIT_NODE) {
        status = edit_node(request, node);
    } else if (request->verb == VERB_PATCH_NODE) {
        status = patch_node(request, node);
    }
    *ret = status == 200 ? object_ref(node->object) : NULL;
    return status;
}

/* ---- pods ---- */

static int patch_pod(struct request *request, struct pod *pod)
{
    struct object *next = patched(request, pod->object);

    if (!next) {
        return 422;
    }
    if (next == pod->object) {
        object_unref(next);
    } else {
        store_put_pod(request->world, pod, next, request->writer, request->who);
    }
    return 200;
}

static int revoke(struct request *request, struct pod *pod)
{
    if (strcmp(pod->object->uid, request->uid) != 0 || pod->object->node[0] ||
        !is_version(pod->object, request->version)) {
        return 422;
    }
    if (is_same(object_get(pod->object, KEY_REVOKED), request->text)) {
        return 200; /* a write that changes nothing keeps the version */
    }
    struct object *next = object_copy(pod->object);
    object_set(next, KEY_REVOKED, request->text);
    store_put_pod(request->world, pod, next, request->writer, request->who);
    return 200;
}

static int bind_pod(struct request *request, struct pod *pod)
{
    char fence[24];

    bool other = request->uid[0] && strcmp(pod->object->uid, request->uid) != 0;
    if (other || !is_version(pod->object, request->version) || pod->object->node[0] ||
        pod->object->deleting || pod->object->phase >= POD_SUCCEEDED) {
        return 409;
    }
    struct object *next = object_copy(pod->object);
    (void)snprintf(next->node, sizeof(next->node), "%s", request->node);
    (void)snprintf(fence, sizeof(fence), "%" PRIu64, request->fence);
    object_set(next, KEY_PHASE, "allocating");
    if (request->fence) {
        object_set(next, KEY_FENCE, fence);
    }
    store_put_pod(request->world, pod, next, request->writer, request->who);
    request->world->result.bound++;
    return 201;
}

static int serve(struct request *request, struct pod *pod)
{
    char fence[24], left[400];

    if (strcmp(pod->object->uid, request->uid) != 0) {
        return 409;
    }
    struct object *next = object_copy(pod->object);
    asks_without(object_get(next, KEY_DEVICES), request->container, left, sizeof(left));
    object_set(next, KEY_DEVICES, left);
    bool last = left[strspn(left, ";")] == '\0';
    if (last) {
        object_set(next, KEY_PHASE, "success");
    }
    if (last && request->fence) {
        (void)snprintf(fence, sizeof(fence), "%" PRIu64, request->fence);
        object_set(next, KEY_DONE, fence);
    }
    store_put_pod(request->world, pod, next, request->writer, request->who);
    return 200;
}

static int fail(struct request *request, struct pod *pod)
{
    if (strcmp(pod->object->uid, request->uid) != 0 ||
        pod->object->phase >= POD_SUCCEEDED) {
        return 409;
    }
    struct object *next = object_copy(pod->object);
    next->phase = POD_FAILED;
    store_put_pod(request->world, pod, next, request->writer, request->who);
    return 200;
}

static int apply_to_pod(struct request *request, struct object **ret)
{
    struct pod *pod = store_pod(request->world, request->name);
    int status = 200;

    if (!pod || !pod->object) {
        return 404;
    }
    switch (request->verb) {
    case VERB_REVOKE:
        status = revoke(request, pod);
        break;
    case VERB_PATCH_POD:
        status = patch_pod(request, pod);
        break;
    case VERB_BIND:
        status = bind_pod(request, pod);
        break;
    case VERB_SERVE:
        status = serve(request, pod);
        break;
    case VERB_FAIL:
        status = fail(request, pod);
        break;
    default:
        break;
    }
    *ret = status < 300 ? object_ref(pod->object) : NULL;
    return status;
}

int server_apply(struct request *request, struct object **ret, char **ret_page)
{
    *ret = NULL;
    switch (request->verb) {
    case VERB_LIST:
        return listing_page(request, ret_page);
    case VERB_GET_NODE:
    case VERB_EDIT_NODE:
    case VERB_PATCH_NODE:
        return apply_to_node(request, ret);
    default:
        return apply_to_pod(request, ret);
    }
}
