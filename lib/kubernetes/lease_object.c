/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of the Lease transport, and what was last seen of nodes and Leases: enough to send
 * the next patch without a read. It may be old; each patch tests what it rests on.
 *
 * Lock: `known_mutex`, over the tables alone.
 */
#include "lease_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "object.h"
#include "support.h"

#define KUBELETS_NAMESPACE "kube-node-lease"
#define ALL_FLAGS (HAMI_KUBERNETES_NO_WATCH | HAMI_KUBERNETES_LEASE_MIRROR)

/* ---- what was last seen ---- */

/* Bytes of a table's entry: the version as a number, then JSON text, ended with NUL. */
struct known {
    uint64_t version;
    char text[];
};

static uint64_t version_of(const json_t *object)
{
    const char *version = hami_internal_object_metadata(object, "resourceVersion");
    return version != NULL ? strtoull(version, NULL, 10) : 0;
}

static bool copy_member(json_t *to, const json_t *from, const char *key)
{
    json_t *value = json_object_get(from, key);
    return value == NULL || json_object_set(to, key, value) == 0;
}

/* A Node's annotations can be long, and most are others'. */
static json_t *mirrored_annotations(const struct hami_internal_lease *owner,
                                    const json_t *metadata)
{
    json_t *kept = json_object();
    const char *key;
    json_t *value;
    json_object_foreach(json_object_get(metadata, "annotations"), key, value)
    {
        if (hami_internal_lease_is_mirrored(owner, key) &&
            json_object_set(kept, key, value) < 0) {
            json_decref(kept);
            return NULL;
        }
    }
    return kept;
}

/* What is needed of an object later on, as JSON text. New; NULL without memory. */
static char *reduce(const struct hami_internal_lease *owner, const json_t *object,
                    bool is_node)
{
    const json_t *metadata = json_object_get(object, "metadata");
    json_t *kept = json_object();
    json_t *whole = kept != NULL ? json_pack("{s:o}", "metadata", kept) : NULL;
    bool sound = whole != NULL && copy_member(kept, metadata, "uid") &&
                 copy_member(kept, metadata, "resourceVersion") &&
                 copy_member(kept, metadata, "ownerReferences") &&
                 copy_member(whole, object, "spec");
    if (sound && owner->key_count > 0) {
        sound = is_node ? json_object_set_new(kept, "annotations",
                                              mirrored_annotations(owner, metadata)) == 0
                        : copy_member(kept, metadata, "annotations");
    }
    char *text = sound ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    return text;
}

static void learn(struct hami_internal_lease *owner, struct hami_internal_table *table,
                  const char *name, const json_t *object)
{
    char *text = reduce(owner, object, table == &owner->nodes);
    size_t size = text != NULL ? sizeof(struct known) + strlen(text) + 1 : 0;
    struct known *entry = text != NULL ? malloc(size) : NULL;
    if (entry != NULL) {
        entry->version = version_of(object);
        memcpy(entry->text, text, strlen(text) + 1);
        pthread_mutex_lock(&owner->known_mutex);
        const struct known *before = hami_internal_table_get(table, name);
        if (before == NULL || before->version <= entry->version) {
            hami_internal_table_put(table, name, entry, size);
        }
        pthread_mutex_unlock(&owner->known_mutex);
    }
    free(entry);
    free(text);
}

static void unlearn(struct hami_internal_lease *owner, struct hami_internal_table *table,
                    const char *name)
{
    pthread_mutex_lock(&owner->known_mutex);
    hami_internal_table_remove(table, name);
    pthread_mutex_unlock(&owner->known_mutex);
}

static json_t *recall(struct hami_internal_lease *owner,
                      const struct hami_internal_table *table, const char *name)
{
    pthread_mutex_lock(&owner->known_mutex);
    const struct known *entry = hami_internal_table_get(table, name);
    char *text = entry != NULL ? strdup(entry->text) : NULL;
    pthread_mutex_unlock(&owner->known_mutex);
    json_t *object = text != NULL ? json_loads(text, 0, NULL) : NULL;
    free(text);
    return object;
}

void hami_internal_lease_learn_node(struct hami_internal_lease *owner, const char *name,
                                    const json_t *node)
{
    learn(owner, &owner->nodes, name, node);
}

void hami_internal_lease_learn(struct hami_internal_lease *owner, const char *name,
                               const json_t *lease)
{
    learn(owner, &owner->leases, name, lease);
}

void hami_internal_lease_unlearn_node(struct hami_internal_lease *owner, const char *name)
{
    unlearn(owner, &owner->nodes, name);
}

void hami_internal_lease_unlearn(struct hami_internal_lease *owner, const char *name)
{
    unlearn(owner, &owner->leases, name);
}

void hami_internal_lease_unlearn_nodes(struct hami_internal_lease *owner)
{
    pthread_mutex_lock(&owner->known_mutex);
    hami_internal_table_done(&owner->nodes);
    pthread_mutex_unlock(&owner->known_mutex);
}

void hami_internal_lease_unlearn_all(struct hami_internal_lease *owner)
{
    pthread_mutex_lock(&owner->known_mutex);
    hami_internal_table_done(&owner->leases);
    pthread_mutex_unlock(&owner->known_mutex);
}

json_t *hami_internal_lease_recall_node(struct hami_internal_lease *owner,
                                        const char *name)
{
    return recall(owner, &owner->nodes, name);
}

json_t *hami_internal_lease_recall(struct hami_internal_lease *owner, const char *name)
{
    return recall(owner, &owner->leases, name);
}

/* ---- life ---- */

static void operation_done(struct hami_internal_annotation_operation *base)
{
    struct hami_internal_lease_operation *operation =
        (struct hami_internal_lease_operation *)base;
    json_decref(operation->node);
    json_decref(operation->lease);
    json_decref(operation->former);
}

static void destroy(struct hami_internal_annotation *base)
{
    struct hami_internal_lease *owner = (struct hami_internal_lease *)base;
    hami_internal_table_done(&owner->nodes);
    hami_internal_table_done(&owner->leases);
    hami_internal_table_done(&owner->strangers);
    pthread_mutex_destroy(&owner->known_mutex);
}

static int check_keys(const struct hami_kubernetes_lease_transport_config *config,
                      struct hami_error *reterr)
{
    bool mirrors = (config->flags & HAMI_KUBERNETES_LEASE_MIRROR) != 0;
    if (config->mirror_key_count > (mirrors ? HAMI_NODELOCK_KEYS_MAX : 0)) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL,
            mirrors ? "mirror_key_count is above %d"
                    : "mirror_keys without the flag (at most %d)",
            HAMI_NODELOCK_KEYS_MAX);
    }
    if (config->mirror_key_count > 0 && config->mirror_keys == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL, "mirror_keys is NULL");
    }
    for (size_t i = 0; i < config->mirror_key_count; i++) {
        const char *key = config->mirror_keys[i];
        size_t length = key != NULL ? strnlen(key, HAMI_NODELOCK_KEY_MAX + 1) : 0;
        if (length == 0 || length > HAMI_NODELOCK_KEY_MAX) {
            return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                              "mirror_keys[%zu] is no key", i);
        }
    }
    return 0;
}

static int check_config(const struct hami_kubernetes_lease_transport_config *config,
                        struct hami_error *reterr)
{
    if (!hami_internal_paths_is_label(config->namespace_name)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "namespace_name is no namespace's name");
    }
    if (strcmp(config->namespace_name, KUBELETS_NAMESPACE) == 0) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "namespace_name is " KUBELETS_NAMESPACE
                                          ": its Leases are the kubelets'");
    }
    return check_keys(config, reterr);
}

static void set_keys(struct hami_internal_lease *owner,
                     const struct hami_kubernetes_lease_transport_config *config)
{
    static const char *const standard[] = {HAMI_NODELOCK_KEY};
    const char *const *keys =
        config->mirror_key_count > 0 ? config->mirror_keys : standard;
    owner->key_count = config->mirror_key_count > 0 ? config->mirror_key_count : 1;
    for (size_t i = 0; i < owner->key_count; i++) {
        struct hami_internal_lease_keys *own = &owner->keys[i];
        snprintf(own->lock, sizeof(own->lock), "%s", keys[i]);
        (void)hami_lease_key(own->lock, own->lease, sizeof(own->lease));
    }
}

int hami_kubernetes_lease_transport_new(
    hami_kubernetes *client, const struct hami_kubernetes_lease_transport_config *config,
    struct hami_transport **ret, struct hami_error *reterr)
{
    struct hami_kubernetes_lease_transport_config own =
        HAMI_KUBERNETES_LEASE_TRANSPORT_CONFIG_INIT;
    struct hami_kubernetes_transport_config common =
        HAMI_KUBERNETES_TRANSPORT_CONFIG_INIT;
    struct hami_internal_annotation *base;
    if (client == NULL || config == NULL || ret == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "client, config or ret is NULL");
    }
    int code = hami_internal_support_copy_sized(&own, sizeof(own), config);
    if (code < 0) {
        return hami_internal_support_fail(reterr, code, "config.size is not understood");
    }
    code = check_config(&own, reterr);
    if (code < 0) {
        return code;
    }
    common.flags = own.flags;
    common.scheduler_names = own.scheduler_names;
    common.scheduler_name_count = own.scheduler_name_count;
    code = hami_internal_annotation_new(client, sizeof(struct hami_internal_lease),
                                        &common, ALL_FLAGS, &base, reterr);
    if (code < 0) {
        return code;
    }
    struct hami_internal_lease *owner = (struct hami_internal_lease *)base;
    pthread_mutex_init(&owner->known_mutex, NULL);
    snprintf(owner->namespace_name, sizeof(owner->namespace_name), "%s",
             own.namespace_name);
    base->transport.name = "Lease object";
    base->transport.submit = hami_internal_lease_submit;
    base->operation_size = sizeof(struct hami_internal_lease_operation);
    base->operation_done = operation_done;
    base->destroy = destroy;
    if ((own.flags & HAMI_KUBERNETES_LEASE_MIRROR) != 0) {
        /* Plugins know one lock a node. */
        base->transport.flags = HAMI_TRANSPORT_ONE_PERMIT;
        set_keys(owner, &own);
    }
    hami_internal_lease_follow(owner);
    *ret = &base->transport;
    return 0;
}
