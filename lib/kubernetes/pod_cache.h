/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a watch last saw of pods that are not bound: enough to answer "is this owner still
 * to be bound, and by which version?" without a read. It may be old; nobody is refused
 * because of it.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_POD_CACHE_H
#define HAMI_INTERNAL_KUBERNETES_POD_CACHE_H

#include <hami/nodelock.h>

#include <jansson.h>

#include "pod.h"

struct hami_internal_pod_cache;

/* Makes a cache of at most `limit` pods (0 = 200000). NULL without memory. */
struct hami_internal_pod_cache *hami_internal_pod_cache_new(size_t limit);
struct hami_internal_pod_cache *
hami_internal_pod_cache_free(struct hami_internal_pod_cache *cache);

/* Remembers a pod; one that doesn't fit is left out. MT-Safe, as all that
 * follow. */
void hami_internal_pod_cache_put(struct hami_internal_pod_cache *cache,
                                 const json_t *pod);
void hami_internal_pod_cache_remove(struct hami_internal_pod_cache *cache,
                                    const char *namespace_name, const char *name);
void hami_internal_pod_cache_begin_round(struct hami_internal_pod_cache *cache);
void hami_internal_pod_cache_sweep(struct hami_internal_pod_cache *cache);
size_t hami_internal_pod_cache_count(struct hami_internal_pod_cache *cache);

/*
 * Looks a pod up.
 * @ret      facts of source WATCH, node NULL
 * @texts    holds the texts of ret
 * Returns   false if it is not there (or its texts don't fit)
 */
bool hami_internal_pod_cache_get(struct hami_internal_pod_cache *cache,
                                 const char *namespace_name, const char *name,
                                 struct hami_owner_facts *ret, char *texts, size_t size);

/* Enough for the texts of any pod that a cache holds. */
#define HAMI_INTERNAL_POD_CACHE_TEXTS_MAX 2048

/* A pod as it is remembered, with room for all that it points to. */
struct hami_internal_pod_known {
    struct hami_kubernetes_pod pod;
    struct hami_internal_pod_texts room;
    char texts[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
};

/* Looks a pod up with all that a scheduler asks about it. */
bool hami_internal_pod_cache_describe(struct hami_internal_pod_cache *cache,
                                      const char *namespace_name, const char *name,
                                      struct hami_internal_pod_known *ret);

#endif
