/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a scheduler asks about a pod that it is to bind, from the watch that stands anyway.
 *
 * kube-scheduler asks for a bind within milliseconds of a pod's creation, so that its
 * request may overtake the watch's news of the pod. Then the news is waited for a little:
 * in a burst it saves a read for many of the pods, and the queue moves on meanwhile.
 *
 * Each question is a timer on the client's thread: of no delay where the pod is known,
 * cut short by the news, else followed by a read. `finds` and the links are guarded by the
 * owner's mutex; the timer is cancelled only while the question is in the list.
 */
#include "annotation.h"

#include <stdlib.h>
#include <string.h>

#include "pod.h"
#include "pod_cache.h"

#define NEWS_MS 20

struct hami_internal_pod_find {
    struct hami_internal_annotation *owner;
    char *namespace_name;
    char *name; /* in the same block */
    uint64_t deadline_ns;
    hami_kubernetes_pod_fn callback;
    void *data;
    struct hami_internal_http_timer *timer;
    struct hami_internal_pod_find *next, **link;
};

static void unlink_locked(struct hami_internal_pod_find *find)
{
    *find->link = find->next;
    if (find->next != NULL) {
        find->next->link = find->link;
    }
}

static void free_find(struct hami_internal_pod_find *find)
{
    struct hami_internal_annotation *owner = find->owner;
    free(find->namespace_name);
    free(find);
    hami_internal_annotation_unreference(owner);
}

/* The pod is known, its news did not come, or the client ends. */
static void decide(void *data, int code)
{
    struct hami_internal_pod_find *find = data;
    struct hami_internal_annotation *owner = find->owner;
    struct hami_internal_pod_known known;
    pthread_mutex_lock(&owner->mutex);
    unlink_locked(find);
    bool found = hami_internal_annotation_describe_locked(owner, find->namespace_name,
                                                          find->name, &known);
    pthread_mutex_unlock(&owner->mutex);
    if (found && code != HAMI_E_CLOSED) {
        find->callback(find->data, 0, &known.pod, "");
        free_find(find);
        return;
    }
    if (code != HAMI_E_CLOSED) {
        code = hami_kubernetes_read_pod_start(owner->client, find->namespace_name,
                                              find->name, find->deadline_ns,
                                              find->callback, find->data);
    }
    if (code < 0) {
        find->callback(find->data, code, NULL, hami_strerror(code));
    }
    free_find(find);
}

void hami_internal_pod_find_told(struct hami_internal_annotation *owner,
                                 const struct hami_owner *pod)
{
    if (pod->namespace_name == NULL || pod->name == NULL) {
        return;
    }
    pthread_mutex_lock(&owner->mutex);
    for (struct hami_internal_pod_find *find = owner->finds; find != NULL;
         find = find->next) {
        if (strcmp(find->name, pod->name) == 0 &&
            strcmp(find->namespace_name, pod->namespace_name) == 0) {
            hami_internal_http_timer_cancel(owner->client, find->timer);
        }
    }
    pthread_mutex_unlock(&owner->mutex);
}

static struct hami_internal_pod_find *new_find(const char *namespace_name,
                                               const char *name)
{
    size_t first = strlen(namespace_name) + 1;
    size_t second = strlen(name) + 1;
    struct hami_internal_pod_find *find = calloc(1, sizeof(*find));
    char *texts = malloc(first + second);
    if (find == NULL || texts == NULL) {
        free(find);
        free(texts);
        return NULL;
    }
    memcpy(texts, namespace_name, first);
    memcpy(texts + first, name, second);
    find->namespace_name = texts;
    find->name = texts + first;
    return find;
}

static int start_locked(struct hami_internal_annotation *owner,
                        struct hami_internal_pod_find *find)
{
    struct hami_internal_pod_known known;
    bool waits = owner->pods[0] != NULL &&
                 !hami_internal_annotation_describe_locked(owner, find->namespace_name,
                                                           find->name, &known);
    int code = hami_internal_http_timer_start(owner->client, waits ? NEWS_MS : 0, decide,
                                              find, &find->timer);
    if (code == 0) {
        find->next = owner->finds;
        find->link = &owner->finds;
        if (find->next != NULL) {
            find->next->link = &find->next;
        }
        owner->finds = find;
        owner->references++;
    }
    return code;
}

int hami_kubernetes_find_pod_start(struct hami_transport *transport,
                                   const char *namespace_name, const char *name,
                                   uint64_t deadline_ns, hami_kubernetes_pod_fn callback,
                                   void *data)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    if (owner == NULL || callback == NULL ||
        !hami_internal_paths_is_label(namespace_name) ||
        !hami_internal_paths_is_subdomain(name)) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(owner->client)) {
        return HAMI_E_FORKED;
    }
    struct hami_internal_pod_find *find = new_find(namespace_name, name);
    if (find == NULL) {
        return HAMI_E_NOMEM;
    }
    find->owner = owner;
    find->deadline_ns = deadline_ns;
    find->callback = callback;
    find->data = data;
    pthread_mutex_lock(&owner->mutex);
    int code = start_locked(owner, find);
    pthread_mutex_unlock(&owner->mutex);
    if (code < 0) {
        free(find->namespace_name);
        free(find);
    }
    return code;
}
