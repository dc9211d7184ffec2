/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod's containers ask of device plugins, as the library tells it, and whether that
 * meets what a pod in flight asks. The library answers on its client's thread: `mutex`
 * guards what it leaves for ours.
 */
#include <pthread.h>
#include <string.h>

#include <hami/kubernetes.h>

#include "sources.h"

#define TIMEOUT_MS 10000

struct asked {
    pthread_mutex_t mutex;
    pthread_cond_t answered;
    bool is_over;
    json_t *calls;
};

static void keep(void *data, int code, const struct hami_kubernetes_pod *pod,
                 const char *text)
{
    struct asked *asked = data;
    (void)text;
    (void)pthread_mutex_lock(&asked->mutex);
    for (size_t i = 0; code == 0 && i < pod->call_count; i++) {
        (void)json_array_append_new(asked->calls, json_string(pod->calls[i]));
    }
    asked->is_over = true;
    (void)pthread_cond_signal(&asked->answered);
    (void)pthread_mutex_unlock(&asked->mutex);
}

json_t *source_calls(hami_kubernetes *client, const char *namespace_name,
                     const char *name)
{
    struct asked asked = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                          .answered = PTHREAD_COND_INITIALIZER,
                          .calls = json_array()};
    int code = hami_kubernetes_read_pod_start(
        client, namespace_name, name, hami_kubernetes_in_ms(TIMEOUT_MS), keep, &asked);
    (void)pthread_mutex_lock(&asked.mutex);
    while (code == 0 && !asked.is_over) {
        (void)pthread_cond_wait(&asked.answered, &asked.mutex);
    }
    (void)pthread_mutex_unlock(&asked.mutex);
    return asked.calls;
}

const char *source_common_call(const json_t *calls, const char *held)
{
    size_t index = 0;
    const json_t *call = NULL;
    json_array_foreach(calls, index, call)
    {
        const char *text = json_string_value(call);
        size_t length = strlen(text);
        for (const char *at = held; *at != '\0';) {
            size_t part = strcspn(at, ",");
            if (part == length && strncmp(at, text, length) == 0) {
                return text;
            }
            at += part + (at[part] == ',' ? 1 : 0);
        }
    }
    return NULL;
}
