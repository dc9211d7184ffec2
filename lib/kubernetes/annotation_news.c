/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport's watches: those of its kind of object, and one of unbound pods for each
 * scheduler name, shared by all managers that use the transport. Objects are told on at
 * once; pods are kept (pod_cache.c).
 *
 * A manager that joins later needs what was told before: the objects are listed again for
 * it. The first manager starts the watches, the last one ends them.
 *
 * Lock: see annotation.h. `telling` names the manager that is being called without
 * the lock held; unwatch waits for it to be another one, so that no news comes after it
 * has returned.
 */
#include "annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "pod.h"
#include "pod_cache.h"
#include "table.h"
#include "watch.h"

/* ---- telling managers ---- */

/* One piece of news: a node's record, or (record NULL) that it is gone; or a pod's facts.
 */
struct message {
    const char *node;
    const struct hami_node_record *record;
    const struct hami_owner *pod;
    const struct hami_owner_facts *facts;
};

static void tell_one(hami_nodelock *manager, const struct message *message)
{
    if (message->pod != NULL) {
        hami_nodelock_observe_owner(manager, message->pod, message->facts);
    } else if (message->record != NULL) {
        hami_nodelock_observe(manager, message->node, message->record);
    } else {
        hami_nodelock_forget(manager, message->node);
    }
}

static void tell(struct hami_internal_annotation *owner, const struct message *message)
{
    pthread_mutex_lock(&owner->mutex);
    for (size_t i = 0; i < HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX; i++) {
        hami_nodelock *manager = owner->managers[i];
        if (manager == NULL) {
            continue;
        }
        owner->telling = manager;
        pthread_mutex_unlock(&owner->mutex);
        tell_one(manager, message);
        pthread_mutex_lock(&owner->mutex);
        owner->telling = NULL;
        pthread_cond_broadcast(&owner->told);
    }
    pthread_mutex_unlock(&owner->mutex);
}

void hami_internal_annotation_tell_record(struct hami_internal_annotation *owner,
                                          const char *node, const json_t *annotated,
                                          const char *version)
{
    struct hami_node_record record = HAMI_NODE_RECORD_INIT;
    struct message message = {.node = node, .record = &record};
    struct hami_annotation *annotations;
    if (hami_internal_object_annotations(annotated, &annotations,
                                         &record.annotation_count) < 0) {
        return;
    }
    record.version = version;
    record.annotations = annotations;
    tell(owner, &message);
    free(annotations);
}

void hami_internal_annotation_tell_gone(struct hami_internal_annotation *owner,
                                        const char *node)
{
    struct message message = {.node = node};
    tell(owner, &message);
}

/* ---- pods ---- */

static void pod_list_begins(void *data)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_pod_cache_begin_round(news->pods);
}

static void tell_pod(struct hami_internal_annotation_news *news,
                     const struct hami_owner *pod, const struct hami_owner_facts *facts)
{
    struct message message = {.pod = pod, .facts = facts};
    if (hami_internal_paths_is_label(pod->namespace_name) &&
        hami_internal_paths_is_subdomain(pod->name)) {
        tell(news->owner, &message);
    }
}

/* A filter has assigned the pod to another node than the one that is remembered. */
static bool has_moved(struct hami_internal_annotation_news *news,
                      const struct hami_owner *pod, const struct hami_owner_facts *facts)
{
    char texts[HAMI_INTERNAL_POD_CACHE_TEXTS_MAX];
    struct hami_owner_facts before;
    return facts->assigned_node != NULL &&
           hami_internal_pod_cache_get(news->pods, pod->namespace_name, pod->name,
                                       &before, texts, sizeof(texts)) &&
           before.assigned_node != NULL &&
           strcmp(before.assigned_node, facts->assigned_node) != 0;
}

/* Its Binding was carried out. From then on, until it runs, the watch tells what the node
 * side writes: the success of its Allocate above all. */
static void pod_is_bound(struct hami_internal_annotation_news *news,
                         const struct hami_owner *pod,
                         const struct hami_owner_facts *facts)
{
    hami_internal_pod_cache_remove(news->pods, pod->namespace_name, pod->name);
    tell_pod(news, pod, facts);
}

static void pod_changed(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_owner_facts facts;
    struct hami_owner pod = {
        .namespace_name = hami_internal_object_metadata(object, "namespace"),
        .name = hami_internal_object_metadata(object, "name"),
        .uid = hami_internal_object_metadata(object, "uid"),
    };
    hami_internal_pod_facts(object, HAMI_FACTS_WATCH, &facts);
    if (facts.node != NULL) {
        pod_is_bound(news, &pod, &facts);
        return;
    }
    bool moved = has_moved(news, &pod, &facts);
    hami_internal_pod_cache_put(news->pods, object);
    hami_internal_pod_find_told(news->owner, &pod);
    /* Being deleted and not bound is final: the API server binds it no more. A pod that
     * moved waits in a queue that it does not want. */
    if ((facts.deleting && facts.uid != NULL) || moved) {
        tell_pod(news, &pod, &facts);
    }
}

static void pod_gone(void *data, const json_t *object)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_owner_facts nothing = HAMI_OWNER_FACTS_INIT;
    struct hami_owner pod = {
        .namespace_name = hami_internal_object_metadata(object, "namespace"),
        .name = hami_internal_object_metadata(object, "name"),
    };
    hami_internal_pod_cache_remove(news->pods, pod.namespace_name, pod.name);
    /* Running or deleted: only a read can tell, and it is made where the pod waits. */
    tell_pod(news, &pod, &nothing);
}

static void pod_list_complete(void *data)
{
    struct hami_internal_annotation_news *news = data;
    hami_internal_pod_cache_sweep(news->pods);
}

bool hami_internal_annotation_recall(struct hami_internal_annotation *owner,
                                     const struct hami_owner *pod,
                                     struct hami_owner_facts *ret, char *texts,
                                     size_t size)
{
    bool found = false;
    pthread_mutex_lock(&owner->mutex);
    for (size_t i = 0; i < owner->scheduler_name_count && !found; i++) {
        struct hami_internal_annotation_news *news = owner->pods[i];
        found = news != NULL && hami_internal_watch_is_synced(news->watch) &&
                hami_internal_pod_cache_get(news->pods, pod->namespace_name, pod->name,
                                            ret, texts, size);
    }
    pthread_mutex_unlock(&owner->mutex);
    return found;
}

bool hami_internal_annotation_describe_locked(struct hami_internal_annotation *owner,
                                              const char *namespace_name,
                                              const char *name,
                                              struct hami_internal_pod_known *ret)
{
    bool found = false;
    for (size_t i = 0; i < owner->scheduler_name_count && !found; i++) {
        struct hami_internal_annotation_news *news = owner->pods[i];
        found = news != NULL && hami_internal_watch_is_synced(news->watch) &&
                hami_internal_pod_cache_describe(news->pods, namespace_name, name, ret);
    }
    return found;
}

void hami_internal_annotation_unlearn(struct hami_internal_annotation *owner,
                                      const struct hami_owner *pod)
{
    pthread_mutex_lock(&owner->mutex);
    for (size_t i = 0; i < owner->scheduler_name_count; i++) {
        if (owner->pods[i] != NULL) {
            hami_internal_pod_cache_remove(owner->pods[i]->pods, pod->namespace_name,
                                           pod->name);
        }
    }
    pthread_mutex_unlock(&owner->mutex);
}

/* ---- starting and ending ---- */

static void free_news(struct hami_internal_annotation_news *news)
{
    hami_internal_table_done(&news->names);
    hami_internal_pod_cache_free(news->pods);
    free(news);
}

static void news_ended(void *data)
{
    struct hami_internal_annotation_news *news = data;
    struct hami_internal_annotation *owner = news->owner;
    free_news(news);
    hami_internal_annotation_unreference(owner);
}

/* With the owner's mutex held. */
static int start_news(struct hami_internal_annotation *owner,
                      struct hami_internal_watch_options *options,
                      struct hami_internal_pod_cache *pods,
                      struct hami_internal_annotation_news **ret)
{
    struct hami_internal_annotation_news *news = calloc(1, sizeof(*news));
    if (news == NULL) {
        hami_internal_pod_cache_free(pods);
        return HAMI_E_NOMEM;
    }
    news->owner = owner;
    news->pods = pods;
    options->client = owner->client;
    options->sink.ended = news_ended;
    options->sink.data = news;
    int code = hami_internal_watch_start(options, &news->watch);
    if (code < 0) {
        free_news(news);
        return code;
    }
    owner->references++;
    *ret = news;
    return 0;
}

static int start_objects(struct hami_internal_annotation *owner, size_t source)
{
    struct hami_internal_watch_options options = {
        .path = owner->sources[source].path,
        .whole = owner->sources[source].whole,
        .sink = owner->sources[source].sink,
    };
    return start_news(owner, &options, NULL, &owner->objects[source]);
}

static int start_pods(struct hami_internal_annotation *owner, size_t scheduler)
{
    char selector[512];
    struct hami_internal_watch_options options = {
        .path = "/api/v1/pods",
        .field_selector = selector,
        .whole = true, /* who is bound where, and what it asks for */
        .sink = {pod_list_begins, pod_changed, pod_gone, pod_list_complete, NULL, NULL},
    };
    struct hami_internal_pod_cache *pods = hami_internal_pod_cache_new(0);
    if (pods == NULL) {
        return HAMI_E_NOMEM;
    }
    snprintf(selector, sizeof(selector), "spec.schedulerName=%s,status.phase=Pending",
             owner->scheduler_names[scheduler]);
    return start_news(owner, &options, pods, &owner->pods[scheduler]);
}

/* The watches, taken out of the transport so that they can be ended without its lock. */
struct taken {
    struct hami_internal_annotation_news *news[HAMI_INTERNAL_ANNOTATION_SOURCES_MAX +
                                               HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX];
};

static void take_locked(struct hami_internal_annotation *owner, struct taken *ret)
{
    struct hami_internal_annotation_news **to = ret->news;
    for (size_t i = 0; i < HAMI_INTERNAL_ANNOTATION_SOURCES_MAX; i++) {
        *to++ = owner->objects[i];
        owner->objects[i] = NULL;
    }
    for (size_t i = 0; i < HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX; i++) {
        *to++ = owner->pods[i];
        owner->pods[i] = NULL;
    }
}

static void stop_taken(const struct taken *taken)
{
    for (size_t i = 0; i < sizeof(taken->news) / sizeof(taken->news[0]); i++) {
        if (taken->news[i] != NULL) {
            hami_internal_watch_stop(taken->news[i]->watch);
        }
    }
}

void hami_internal_annotation_stop_news(struct hami_internal_annotation *owner)
{
    struct taken taken;
    pthread_mutex_lock(&owner->mutex);
    memset(owner->managers, 0, sizeof(owner->managers));
    owner->manager_count = 0;
    take_locked(owner, &taken);
    pthread_mutex_unlock(&owner->mutex);
    stop_taken(&taken);
}

static int start_all_locked(struct hami_internal_annotation *owner)
{
    int code = 0;
    for (size_t i = 0; i < owner->source_count && code == 0; i++) {
        code = start_objects(owner, i);
    }
    for (size_t i = 0; i < owner->scheduler_name_count && code == 0; i++) {
        code = start_pods(owner, i);
    }
    return code;
}

static void list_again_locked(struct hami_internal_annotation *owner)
{
    for (size_t i = 0; i < owner->source_count; i++) {
        hami_internal_watch_restart(owner->objects[i]->watch);
    }
}

static size_t place_of(const struct hami_internal_annotation *owner,
                       const hami_nodelock *manager)
{
    size_t place = 0;
    while (place < HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX &&
           owner->managers[place] != manager) {
        place++;
    }
    return place;
}

int hami_internal_annotation_watch(struct hami_transport *transport, hami_nodelock *lock)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    struct taken taken = {{NULL}};
    pthread_mutex_lock(&owner->mutex);
    size_t place = place_of(owner, NULL);
    int code = place < HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX && !owner->closed
                   ? 0
                   : HAMI_E_NOMEM;
    if (code == 0 && owner->objects[0] == NULL) {
        code = start_all_locked(owner);
        if (code < 0) {
            take_locked(owner, &taken);
        }
    } else if (code == 0) {
        list_again_locked(owner);
    }
    if (code == 0) {
        owner->managers[place] = lock;
        owner->manager_count++;
    }
    pthread_mutex_unlock(&owner->mutex);
    stop_taken(&taken);
    return code == 0 || code == HAMI_E_NOMEM ? code : HAMI_E_TRANSPORT;
}

void hami_internal_annotation_unwatch(struct hami_transport *transport,
                                      hami_nodelock *lock)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    struct taken taken = {{NULL}};
    if (hami_internal_http_is_forked(owner->client)) {
        return;
    }
    bool may_wait = !hami_internal_http_is_own_thread(owner->client);
    pthread_mutex_lock(&owner->mutex);
    size_t place = place_of(owner, lock);
    if (place < HAMI_INTERNAL_ANNOTATION_MANAGERS_MAX) {
        owner->managers[place] = NULL;
        owner->manager_count--;
    }
    while (owner->telling == lock && may_wait) {
        pthread_cond_wait(&owner->told, &owner->mutex);
    }
    if (owner->manager_count == 0) {
        take_locked(owner, &taken);
    }
    pthread_mutex_unlock(&owner->mutex);
    stop_taken(&taken);
}

static bool is_followed(const struct hami_internal_annotation_news *news)
{
    return news != NULL && hami_internal_watch_is_synced(news->watch);
}

bool hami_internal_annotation_is_followed(struct hami_internal_annotation *owner,
                                          size_t source)
{
    pthread_mutex_lock(&owner->mutex);
    bool followed = is_followed(owner->objects[source]);
    pthread_mutex_unlock(&owner->mutex);
    return followed;
}

bool hami_kubernetes_transport_is_synced(const struct hami_transport *transport)
{
    /* The lock is the transport's own; nothing that the caller can see changes. */
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    if (owner == NULL) {
        return false;
    }
    if (owner->without_watch) {
        return true;
    }
    pthread_mutex_lock(&owner->mutex);
    bool synced = true;
    for (size_t i = 0; i < owner->source_count && synced; i++) {
        synced = is_followed(owner->objects[i]);
    }
    for (size_t i = 0; i < owner->scheduler_name_count && synced; i++) {
        synced = is_followed(owner->pods[i]);
    }
    pthread_mutex_unlock(&owner->mutex);
    return synced;
}
