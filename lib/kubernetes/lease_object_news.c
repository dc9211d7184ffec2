/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the Lease transport watches: the nodes, for who exists (and, with a mirror, for
 * the locks that stand there), and the Leases of its namespace. All of it runs on the
 * client's thread.
 *
 * A Lease that is gone is told as a node without locks; only a Node that is gone, or was
 * made anew under its name, is told as gone. One that went before the first list of nodes
 * was never seen: where its Lease was told until then, the list shows that it is gone.
 */
#include "lease_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "object.h"

static struct hami_internal_lease *owner_of(struct hami_internal_annotation_news *news)
{
    return (struct hami_internal_lease *)news->owner;
}

static const char *name_of(const json_t *object)
{
    const char *name = hami_internal_object_metadata(object, "name");
    return hami_internal_paths_is_subdomain(name) ? name : NULL;
}

static void nodes_begin(void *data)
{
    struct hami_internal_annotation_news *news = data;
    /* Until the list is complete nothing is concluded from it. */
    owner_of(news)->nodes_are_listed = false;
    hami_internal_lease_unlearn_nodes(owner_of(news));
    hami_internal_table_begin_round(&news->names);
}

static void leases_begin(void *data)
{
    struct hami_internal_annotation_news *news = data;
    if (news->names.count == 0) {
        hami_internal_lease_unlearn_all(owner_of(news));
    }
    hami_internal_table_begin_round(&news->names);
}

/* ---- what was freed on the Node ---- */

static void settled(struct hami_internal_annotation_operation *base,
                    const struct hami_kubernetes_answer *answer)
{
    /* Refused: somebody else did it. Not answered: the next write does it. */
    (void)answer;
    hami_internal_annotation_end(base);
}

static bool is_being_settled(struct hami_internal_lease *owner, const char *path)
{
    bool found = false;
    pthread_mutex_lock(&owner->base.mutex);
    for (const struct hami_internal_annotation_operation *operation =
             owner->base.operations;
         operation != NULL && !found; operation = operation->next) {
        found = operation->call == NULL && strcmp(operation->path, path) == 0;
    }
    pthread_mutex_unlock(&owner->base.mutex);
    return found;
}

/* The locks of the Lease that the view has no more are to be removed, the pair tested. */
static size_t edits_to_settle(const struct hami_internal_lease *owner,
                              const json_t *lease, const json_t *view,
                              struct hami_transport_edit *edits)
{
    size_t count = 0;
    for (size_t i = 0; i < owner->key_count; i++) {
        const char *lock = hami_internal_object_annotation(lease, owner->keys[i].lock);
        if (lock == NULL ||
            hami_internal_object_annotation(view, owner->keys[i].lock) != NULL) {
            continue;
        }
        edits[count++] =
            (struct hami_transport_edit){HAMI_EDIT_PUT, owner->keys[i].lock, lock, NULL};
        edits[count++] = (struct hami_transport_edit){
            HAMI_EDIT_TEST, owner->keys[i].lease,
            hami_internal_object_annotation(lease, owner->keys[i].lease), NULL};
    }
    return count;
}

/* Removes from the Lease what was freed on the Node; nobody waits for it. */
static void settle(struct hami_internal_lease *owner, const char *name,
                   const json_t *node, const json_t *lease, const json_t *view)
{
    struct hami_transport_edit edits[2 * HAMI_NODELOCK_KEYS_MAX];
    char path[HAMI_INTERNAL_PATHS_MAX];
    char *body = NULL;
    if (!hami_internal_paths_lease_path(owner->namespace_name, name, path,
                                        sizeof(path)) ||
        is_being_settled(owner, path)) {
        return;
    }
    struct hami_internal_annotation_operation *operation =
        hami_internal_annotation_begin(&owner->base, NULL);
    if (operation == NULL) {
        return;
    }
    memcpy(operation->path, path, sizeof(path));
    struct hami_internal_lease_change change = {
        .lease = lease,
        .node = name,
        .uid = hami_internal_object_metadata(node, "uid"),
        .edits = edits,
        .count = edits_to_settle(owner, lease, view, edits),
    };
    int code = hami_internal_lease_patch(&change, &body);
    if (code == 0) {
        code = hami_internal_annotation_send(operation, body, NULL, false, settled);
    }
    free(body);
    if (code < 0) {
        hami_internal_annotation_end(operation);
    }
}

/* ---- both as one ---- */

/* The Lease, if it is not one that an earlier Node has left. Borrowed. */
static const json_t *current(const json_t *node, const json_t *lease)
{
    const char *uid = hami_internal_object_metadata(node, "uid");
    bool left_over =
        lease != NULL && uid != NULL &&
        hami_internal_lease_ownership(lease, uid, NULL) == HAMI_INTERNAL_LEASE_LEFT_OVER;
    return left_over ? NULL : lease;
}

/*
 * Tells both as one. `version` is that of the news. Where it is not the version of the
 * two, the news is older than what it is seen together with, and a manager may have been
 * told of that version with another state: then it is told once more without a version,
 * and reads if it knows something else.
 */
static void tell(struct hami_internal_lease *owner, const char *name, const json_t *node,
                 const json_t *lease, const char *version)
{
    struct hami_internal_annotation *base = &owner->base;
    const json_t *counts = current(node, lease);
    json_t *view = hami_internal_lease_view(owner, node, counts);
    if (owner->key_count > 0) {
        const char *latest = hami_internal_lease_version(owner, node, counts);
        hami_internal_annotation_tell_record(base, name, view, latest);
        if (version == NULL || strcmp(version, latest) != 0) {
            hami_internal_annotation_tell_record(base, name, view, NULL);
        }
    } else {
        hami_internal_annotation_tell_record(base, name, view, version);
    }
    if (counts != NULL && node != NULL && view != NULL &&
        hami_internal_lease_is_freed(owner, node, counts)) {
        settle(owner, name, node, counts, view);
    }
    json_decref(view);
}

static const char *version_of(const json_t *object)
{
    return hami_internal_object_metadata(object, "resourceVersion");
}

/* ---- nodes ---- */

static void tell_gone(void *data, const char *name)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_lease_unlearn_node(owner_of(news), name);
    hami_internal_annotation_tell_gone(news->owner, name);
}

/* True if the managers were told of an earlier Node of this name. */
static bool is_made_anew(const struct hami_internal_annotation_news *news,
                         const char *name, const char *uid)
{
    const char *before = hami_internal_table_get(&news->names, name);
    return before != NULL && strcmp(before, uid) != 0;
}

static void node_changed(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_internal_lease *owner = owner_of(news);
    const char *name = name_of(object);
    const char *uid = hami_internal_object_metadata(object, "uid");
    if (name == NULL || uid == NULL) {
        return;
    }
    if (is_made_anew(news, name, uid)) {
        tell_gone(news, name);
    }
    hami_internal_table_put(&news->names, name, uid, strlen(uid) + 1);
    hami_internal_lease_learn_node(owner, name, object);
    if (owner->key_count > 0 && hami_internal_annotation_is_followed(
                                    &owner->base, HAMI_INTERNAL_LEASE_SOURCE_LEASES)) {
        json_t *lease = hami_internal_lease_recall(owner, name);
        tell(owner, name, object, lease, version_of(object));
        json_decref(lease);
    }
}

static void node_gone(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    const char *name = name_of(object);
    if (name != NULL) {
        hami_internal_table_remove(&news->names, name);
        tell_gone(news, name);
    }
}

static void tell_stranger_gone(void *data, const char *name)
{
    struct hami_internal_annotation_news *news = data;
    if (hami_internal_table_get(&news->names, name) == NULL) {
        tell_gone(news, name);
    }
}

static void nodes_complete(void *data)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_internal_lease *owner = owner_of(news);
    owner->nodes_are_listed = true;
    hami_internal_table_sweep(&news->names, tell_gone, news);
    /* A round that puts nothing: all of them. */
    hami_internal_table_begin_round(&owner->strangers);
    hami_internal_table_sweep(&owner->strangers, tell_stranger_gone, news);
}

/* ---- Leases ---- */

static void lease_changed(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_internal_lease *owner = owner_of(news);
    const char *name = name_of(object);
    if (name == NULL) {
        return;
    }
    json_t *node = hami_internal_lease_recall_node(owner, name);
    hami_internal_table_put(&news->names, name, NULL, 0);
    if (!owner->nodes_are_listed && node == NULL) {
        hami_internal_table_put(&owner->strangers, name, NULL, 0);
    }
    hami_internal_lease_learn(owner, name, object);
    tell(owner, name, node, object, version_of(object));
    json_decref(node);
}

/* There is no Lease of this name any more. */
static void tell_without(struct hami_internal_annotation_news *news, const char *name,
                         const char *version)
{
    struct hami_internal_lease *owner = owner_of(news);
    json_t *node = hami_internal_lease_recall_node(owner, name);
    hami_internal_lease_unlearn(owner, name);
    tell(owner, name, node, NULL, version);
    json_decref(node);
}

static void lease_gone(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    const char *name = name_of(object);
    if (name != NULL) {
        hami_internal_table_remove(&news->names, name);
        tell_without(news, name, version_of(object));
    }
}

static void tell_missing(void *data, const char *name)
{
    tell_without(data, name, NULL);
}

static void leases_complete(void *data)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_table_sweep(&news->names, tell_missing, news);
}

/* ---- set-up ---- */

void hami_internal_lease_follow(struct hami_internal_lease *owner)
{
    struct hami_internal_annotation_source *nodes =
        &owner->base.sources[HAMI_INTERNAL_LEASE_SOURCE_NODES];
    struct hami_internal_annotation_source *leases =
        &owner->base.sources[HAMI_INTERNAL_LEASE_SOURCE_LEASES];
    owner->base.source_count = 2;
    snprintf(nodes->path, sizeof(nodes->path), "/api/v1/nodes");
    nodes->sink = (struct hami_internal_watch_sink){
        nodes_begin, node_changed, node_gone, nodes_complete, NULL, NULL};
    (void)hami_internal_paths_lease_path(owner->namespace_name, NULL, leases->path,
                                         sizeof(leases->path));
    leases->whole = true;
    leases->sink = (struct hami_internal_watch_sink){
        leases_begin, lease_changed, lease_gone, leases_complete, NULL, NULL};
}
