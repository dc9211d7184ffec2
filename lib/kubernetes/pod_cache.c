/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache of unbound pods: one packed entry a pod, about 200 bytes. `mutex` guards all
 * of it and is never held over a call out of this file.
 */
#include "pod_cache.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "pod.h"
#include "table.h"

#define LIMIT_DEFAULT 200000u
#define NAME_MAX_BYTES (63 + 1 + 253 + 1)

enum text {
    UID = 0,
    VERSION,
    ASSIGNED_NODE,
    REVOKED,
    SCHEDULER,
    GROUP,
    RESOURCES, /* one a line */
    CALLS,     /* likewise */
    TEXT_COUNT
};

/* An entry of the table; the texts follow, each ended with NUL, absent ones left out. */
struct packed_pod {
    uint64_t fence;
    uint64_t done;
    int32_t priority;
    uint16_t text_bytes;
    uint8_t has; /* bit by enum text */
    uint8_t bind_phase;
    bool deleting;
    bool devices_left;
};

struct hami_internal_pod_cache {
    pthread_mutex_t mutex;
    struct hami_internal_table table; /* mutex; by "namespace/name" */
};

struct hami_internal_pod_cache *hami_internal_pod_cache_new(size_t limit)
{
    struct hami_internal_pod_cache *cache = calloc(1, sizeof(*cache));
    if (cache != NULL) {
        pthread_mutex_init(&cache->mutex, NULL);
        cache->table.limit = limit != 0 ? limit : LIMIT_DEFAULT;
    }
    return cache;
}

struct hami_internal_pod_cache *
hami_internal_pod_cache_free(struct hami_internal_pod_cache *cache)
{
    if (cache != NULL) {
        hami_internal_table_done(&cache->table);
        pthread_mutex_destroy(&cache->mutex);
        free(cache);
    }
    return NULL;
}

static bool join_name(const char *namespace_name, const char *name, char *buffer)
{
    if (namespace_name == NULL || name == NULL) {
        return false;
    }
    int length = snprintf(buffer, NAME_MAX_BYTES, "%s/%s", namespace_name, name);
    return length > 0 && length < NAME_MAX_BYTES;
}

/* Puts texts one a line. False where they don't fit. */
static bool join_lines(const char *const *lines, size_t count, char *buffer, size_t size)
{
    size_t at = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(lines[i]);
        if (length + 2 > size - at) {
            return false;
        }
        memcpy(buffer + at, lines[i], length);
        at += length;
        buffer[at++] = '\n';
        buffer[at] = '\0';
    }
    return true;
}

/* Packs a pod. Returns the bytes used, 0 where the texts are longer than any that are in
 * use. */
static size_t pack(const struct hami_kubernetes_pod *pod, char *buffer, size_t size)
{
    const struct hami_owner_facts *facts = &pod->facts;
    char resources[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    char calls[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    const char *texts[TEXT_COUNT] = {facts->uid,
                                     facts->version,
                                     facts->assigned_node,
                                     facts->revoked,
                                     pod->scheduler_name,
                                     pod->group,
                                     resources,
                                     calls};
    struct packed_pod packed = {
        .fence = facts->fence,
        .done = facts->done,
        .priority = pod->priority,
        .bind_phase = (uint8_t)facts->bind_phase,
        .deleting = facts->deleting,
        .devices_left = facts->devices_left,
    };
    size_t at = sizeof(packed);
    if (!join_lines(pod->resources, pod->resource_count, resources, sizeof(resources)) ||
        !join_lines(pod->calls, pod->call_count, calls, sizeof(calls))) {
        return 0;
    }
    for (int i = 0; i < TEXT_COUNT; i++) {
        size_t length = texts[i] != NULL ? strnlen(texts[i], size) + 1 : 0;
        if (length > size - at) {
            return 0;
        }
        if (texts[i] != NULL) {
            memcpy(buffer + at, texts[i], length);
            packed.has |= (uint8_t)(1u << i);
            at += length;
        }
    }
    packed.text_bytes = (uint16_t)(at - sizeof(packed));
    memcpy(buffer, &packed, sizeof(packed));
    return at;
}

void hami_internal_pod_cache_put(struct hami_internal_pod_cache *cache, const json_t *pod)
{
    char name[NAME_MAX_BYTES];
    char bytes[sizeof(struct packed_pod) + HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    struct hami_internal_pod_texts texts;
    struct hami_kubernetes_pod described;
    if (!join_name(hami_internal_object_metadata(pod, "namespace"),
                   hami_internal_object_metadata(pod, "name"), name)) {
        return;
    }
    hami_internal_pod_describe(pod, &texts, &described);
    size_t used = described.facts.uid != NULL && described.facts.version != NULL
                      ? pack(&described, bytes, sizeof(bytes))
                      : 0;
    pthread_mutex_lock(&cache->mutex);
    if (used > 0) {
        hami_internal_table_put(&cache->table, name, bytes, used);
    } else {
        hami_internal_table_remove(&cache->table, name);
    }
    pthread_mutex_unlock(&cache->mutex);
}

void hami_internal_pod_cache_remove(struct hami_internal_pod_cache *cache,
                                    const char *namespace_name, const char *name)
{
    char joined[NAME_MAX_BYTES];
    if (join_name(namespace_name, name, joined)) {
        pthread_mutex_lock(&cache->mutex);
        hami_internal_table_remove(&cache->table, joined);
        pthread_mutex_unlock(&cache->mutex);
    }
}

void hami_internal_pod_cache_begin_round(struct hami_internal_pod_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    hami_internal_table_begin_round(&cache->table);
    pthread_mutex_unlock(&cache->mutex);
}

void hami_internal_pod_cache_sweep(struct hami_internal_pod_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    hami_internal_table_sweep(&cache->table, NULL, NULL);
    pthread_mutex_unlock(&cache->mutex);
}

size_t hami_internal_pod_cache_count(struct hami_internal_pod_cache *cache)
{
    pthread_mutex_lock(&cache->mutex);
    size_t count = cache->table.count;
    pthread_mutex_unlock(&cache->mutex);
    return count;
}

static void unpack_texts(const struct packed_pod *packed, char *texts, char **ret)
{
    for (int i = 0; i < TEXT_COUNT; i++) {
        ret[i] = NULL;
        if ((packed->has & (1u << i)) != 0) {
            ret[i] = texts;
            texts += strlen(texts) + 1;
        }
    }
}

static void unpack(const struct packed_pod *packed, char *const *found,
                   struct hami_owner_facts *ret)
{
    hami_internal_pod_facts_absent(ret);
    ret->source = HAMI_FACTS_WATCH;
    ret->exists = true;
    ret->deleting = packed->deleting;
    ret->devices_left = packed->devices_left;
    ret->bind_phase = (enum hami_bind_phase)packed->bind_phase;
    ret->fence = packed->fence;
    ret->done = packed->done;
    ret->uid = found[UID];
    ret->version = found[VERSION];
    ret->assigned_node = found[ASSIGNED_NODE];
    ret->revoked = found[REVOKED];
}

static bool find(struct hami_internal_pod_cache *cache, const char *namespace_name,
                 const char *name, struct packed_pod *ret, char *texts, size_t size)
{
    char joined[NAME_MAX_BYTES];
    if (!join_name(namespace_name, name, joined)) {
        return false;
    }
    pthread_mutex_lock(&cache->mutex);
    const char *bytes = hami_internal_table_get(&cache->table, joined);
    bool found = bytes != NULL;
    if (found) {
        memcpy(ret, bytes, sizeof(*ret));
        found = ret->text_bytes <= size;
    }
    if (found) {
        memcpy(texts, bytes + sizeof(*ret), ret->text_bytes);
    }
    pthread_mutex_unlock(&cache->mutex);
    return found;
}

bool hami_internal_pod_cache_get(struct hami_internal_pod_cache *cache,
                                 const char *namespace_name, const char *name,
                                 struct hami_owner_facts *ret, char *texts, size_t size)
{
    struct packed_pod packed;
    char *found[TEXT_COUNT];
    if (!find(cache, namespace_name, name, &packed, texts, size)) {
        return false;
    }
    unpack_texts(&packed, texts, found);
    unpack(&packed, found, ret);
    return true;
}

static size_t split_lines(char *lines, const char **ret, size_t most)
{
    size_t count = 0;
    char *end;
    while (lines != NULL && count < most && (end = strchr(lines, '\n')) != NULL) {
        *end = '\0';
        ret[count++] = lines;
        lines = end + 1;
    }
    return count;
}

bool hami_internal_pod_cache_describe(struct hami_internal_pod_cache *cache,
                                      const char *namespace_name, const char *name,
                                      struct hami_internal_pod_known *ret)
{
    struct packed_pod packed;
    struct hami_kubernetes_pod *pod = &ret->pod;
    char *found[TEXT_COUNT];
    if (!find(cache, namespace_name, name, &packed, ret->texts, sizeof(ret->texts))) {
        return false;
    }
    memset(pod, 0, sizeof(*pod));
    pod->size = sizeof(*pod);
    unpack_texts(&packed, ret->texts, found);
    unpack(&packed, found, &pod->facts);
    pod->scheduler_name = found[SCHEDULER];
    pod->priority = packed.priority;
    pod->group = found[GROUP];
    pod->resources = ret->room.resources;
    pod->resource_count = split_lines(found[RESOURCES], ret->room.resources,
                                      HAMI_INTERNAL_POD_RESOURCES_MAX);
    pod->calls = ret->room.calls;
    pod->call_count =
        split_lines(found[CALLS], ret->room.calls, HAMI_INTERNAL_POD_CALLS_MAX);
    return true;
}
