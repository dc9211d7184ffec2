/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The node side's client: its life, what a job shows, and the blocking forms. Who may be
 * served is decided in handshake_begin.c, what is written in handshake_end.c.
 */
#include "handshake_client.h"

#include <stdlib.h>
#include <string.h>

#include "object.h"
#include "paths.h"
#include "support.h"

static const struct hami_handshake_vendor nvidia = {
    "nvidia.com/gpu",
    "hami.io/vgpu-devices-to-allocate",
};

/* ---- life
 * --------------------------------------------------------------------------------------
 */

static bool is_key(const char *key)
{
    return key != NULL && *key != '\0' &&
           strnlen(key, HAMI_NODELOCK_KEY_MAX + 1) <= HAMI_NODELOCK_KEY_MAX;
}

static int copy_vendors(hami_handshake *handshake,
                        const struct hami_handshake_vendor *vendors, size_t count)
{
    handshake->vendors = calloc(count, sizeof(*handshake->vendors));
    if (handshake->vendors == NULL) {
        return HAMI_E_NOMEM;
    }
    handshake->vendor_count = count;
    for (size_t i = 0; i < count; i++) {
        handshake->vendors[i].resource = strdup(vendors[i].resource);
        handshake->vendors[i].to_allocate_key = strdup(vendors[i].to_allocate_key);
        if (handshake->vendors[i].resource == NULL ||
            handshake->vendors[i].to_allocate_key == NULL) {
            return HAMI_E_NOMEM;
        }
    }
    return 0;
}

static int check_config(const struct hami_handshake_config *config,
                        struct hami_error *reterr)
{
    if (!hami_internal_paths_is_subdomain(config->node)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "node: not a node's name");
    }
    if (!is_key(config->key)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "key: not an annotation key");
    }
    if (config->vendor_count > HAMI_INTERNAL_HANDSHAKE_VENDORS_MAX) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL, "vendors: more than %d",
                                          HAMI_INTERNAL_HANDSHAKE_VENDORS_MAX);
    }
    for (size_t i = 0; i < config->vendor_count; i++) {
        if (!is_key(config->vendors[i].resource) ||
            !is_key(config->vendors[i].to_allocate_key)) {
            return hami_internal_support_fail(
                reterr, HAMI_E_INVAL,
                "vendors: row %zu lacks a resource or an annotation key", i);
        }
    }
    return 0;
}

static void handshake_destroy(hami_handshake *handshake)
{
    for (size_t i = 0; i < handshake->vendor_count; i++) {
        free((char *)handshake->vendors[i].resource);
        free((char *)handshake->vendors[i].to_allocate_key);
    }
    free(handshake->vendors);
    free(handshake->node);
    (void)pthread_cond_destroy(&handshake->changed);
    (void)pthread_mutex_destroy(&handshake->mutex);
    free(handshake);
}

static int handshake_fill(hami_handshake *handshake,
                          const struct hami_handshake_config *config)
{
    int code = copy_vendors(handshake, config->vendors, config->vendor_count);

    handshake->node = strdup(config->node);
    handshake->flags = config->flags;
    if (code == 0 && handshake->node == NULL) {
        code = HAMI_E_NOMEM;
    }
    if (code == 0) {
        code = hami_internal_handshake_lock_names(config->key, handshake->names);
    }
    return code;
}

int hami_handshake_new(hami_kubernetes *client,
                       const struct hami_handshake_config *config, hami_handshake **ret,
                       struct hami_error *reterr)
{
    struct hami_handshake_config copy;
    hami_handshake *handshake;
    int code = hami_internal_support_copy_sized(&copy, sizeof(copy), config);

    if (code < 0 || client == NULL || ret == NULL) {
        return hami_internal_support_fail(reterr, code < 0 ? code : HAMI_E_INVAL,
                                          "client, config or ret is missing or odd");
    }
    copy.key = copy.key != NULL ? copy.key : HAMI_NODELOCK_KEY;
    if (copy.vendors == NULL || copy.vendor_count == 0) {
        copy.vendors = &nvidia;
        copy.vendor_count = 1;
    }
    code = check_config(&copy, reterr);
    if (code < 0) {
        return code;
    }
    handshake = calloc(1, sizeof(*handshake));
    if (handshake == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_NOMEM, "out of memory");
    }
    (void)pthread_mutex_init(&handshake->mutex, NULL);
    (void)pthread_cond_init(&handshake->changed, NULL);
    handshake->client = client;
    code = handshake_fill(handshake, &copy);
    if (code < 0) {
        handshake_destroy(handshake);
        return hami_internal_support_fail(reterr, code, "%s", hami_strerror(code));
    }
    *ret = handshake;
    return 0;
}

static void close_now(void *data, int code)
{
    hami_handshake *handshake = data;

    (void)code;
    hami_internal_handshake_close_behind(handshake);
    (void)pthread_mutex_lock(&handshake->mutex);
    handshake->closed = true;
    (void)pthread_cond_broadcast(&handshake->changed);
    (void)pthread_mutex_unlock(&handshake->mutex);
}

hami_handshake *hami_handshake_free(hami_handshake *handshake)
{
    struct hami_internal_http_timer *timer;
    bool must_wait;

    if (handshake == NULL) {
        return NULL;
    }
    if (!hami_internal_http_is_forked(handshake->client)) {
        must_wait = hami_internal_http_timer_start(handshake->client, 0, close_now,
                                                   handshake, &timer) == 0;
        (void)pthread_mutex_lock(&handshake->mutex);
        while ((must_wait && !handshake->closed) || handshake->behind_count > 0) {
            (void)pthread_cond_wait(&handshake->changed, &handshake->mutex);
        }
        (void)pthread_mutex_unlock(&handshake->mutex);
    }
    handshake_destroy(handshake);
    return NULL;
}

int hami_handshake_stats(hami_handshake *handshake, struct hami_handshake_stats *ret)
{
    struct hami_handshake_stats stats;

    if (handshake == NULL || ret == NULL) {
        return HAMI_E_INVAL;
    }
    if (hami_internal_http_is_forked(handshake->client)) {
        return HAMI_E_FORKED; /* the mutex may be held for ever there */
    }
    (void)pthread_mutex_lock(&handshake->mutex);
    stats = handshake->stats;
    stats.behind = (uint32_t)handshake->behind_count;
    (void)pthread_mutex_unlock(&handshake->mutex);
    return hami_internal_support_give_sized(ret, &stats, sizeof(stats));
}

void hami_internal_handshake_count(hami_handshake *handshake, uint64_t *counter)
{
    (void)pthread_mutex_lock(&handshake->mutex);
    (*counter)++;
    (void)pthread_mutex_unlock(&handshake->mutex);
}

struct hami_internal_handshake_ask
hami_internal_handshake_ask(const hami_handshake *handshake, size_t vendor,
                            const size_t *counts, size_t count)
{
    return (struct hami_internal_handshake_ask){
        .node = handshake->node,
        .vendors = handshake->vendors,
        .vendor_count = handshake->vendor_count,
        .vendor = vendor,
        .counts = counts,
        .count = count,
    };
}

void hami_internal_handshake_job_free(struct hami_handshake_job *job)
{
    hami_internal_handshake_share_done(&job->share);
    hami_internal_handshake_lock_done(&job->lock);
    hami_internal_handshake_pair_done(&job->now);
    hami_internal_handshake_step_done(&job->step);
    free(job->phase);
    free(job->reason);
    free(job);
}

/* ---- what a job shows
 * -------------------------------------------------------------------------- */

const struct hami_owner *hami_handshake_owner(const hami_handshake_job *job)
{
    return job != NULL ? &job->owner : NULL;
}

bool hami_handshake_is_again(const hami_handshake_job *job)
{
    return job != NULL && job->share.is_again;
}

uint64_t hami_handshake_fence(const hami_handshake_job *job)
{
    return job != NULL ? job->fence : 0;
}

size_t hami_handshake_container_count(const hami_handshake_job *job)
{
    return job != NULL ? job->share.count : 0;
}

const char *hami_handshake_container_name(const hami_handshake_job *job, size_t container)
{
    return container < hami_handshake_container_count(job) ? job->share.names[container]
                                                           : NULL;
}

size_t hami_handshake_container_device_count(const hami_handshake_job *job,
                                             size_t container)
{
    if (container >= hami_handshake_container_count(job)) {
        return 0;
    }
    return hami_devices_count(job->share.devices, job->share.entries[container]);
}

const struct hami_device *hami_handshake_container_device(const hami_handshake_job *job,
                                                          size_t container, size_t index)
{
    if (container >= hami_handshake_container_count(job)) {
        return NULL;
    }
    return hami_devices_get(job->share.devices, job->share.entries[container], index);
}

size_t hami_handshake_device_count(const hami_handshake_job *job)
{
    return hami_handshake_container_device_count(job, 0);
}

const struct hami_device *hami_handshake_device(const hami_handshake_job *job,
                                                size_t index)
{
    return hami_handshake_container_device(job, 0, index);
}

hami_handshake_job *hami_handshake_drop(hami_handshake_job *job)
{
    if (job != NULL) {
        hami_internal_handshake_job_free(job);
    }
    return NULL;
}

/* ---- blocking forms
 * ---------------------------------------------------------------------------- */

/* One thread waits for one callback; `mutex` guards the rest. */
struct blocking {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    bool has_ended;
    int code;
    hami_handshake_job *job;
    struct hami_error error;
};

static void blocking_init(struct blocking *blocking)
{
    *blocking = (struct blocking){.error = HAMI_ERROR_INIT};
    (void)pthread_mutex_init(&blocking->mutex, NULL);
    (void)pthread_cond_init(&blocking->ended, NULL);
}

static void blocking_end(struct blocking *blocking, int code, hami_handshake_job *job,
                         const struct hami_error *error)
{
    (void)pthread_mutex_lock(&blocking->mutex);
    blocking->code = code;
    blocking->job = job;
    if (code < 0 && error != NULL) {
        (void)hami_internal_support_give_sized(&blocking->error, error, sizeof(*error));
    }
    blocking->has_ended = true;
    (void)pthread_cond_signal(&blocking->ended);
    (void)pthread_mutex_unlock(&blocking->mutex);
}

static void blocking_begun(void *data, int code, hami_handshake_job *job,
                           const struct hami_error *error)
{
    blocking_end(data, code, job, error);
}

static void blocking_done(void *data, int code, const struct hami_error *error)
{
    blocking_end(data, code, NULL, error);
}

/* Waits for the callback if there will be one, and tells how it ended. */
static int blocking_wait(struct blocking *blocking, int started,
                         struct hami_error *reterr)
{
    int state;

    if (started < 0) {
        blocking->code =
            hami_internal_support_fail(reterr, started, "%s", hami_strerror(started));
    } else {
        (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
        (void)pthread_mutex_lock(&blocking->mutex);
        while (!blocking->has_ended) {
            (void)pthread_cond_wait(&blocking->ended, &blocking->mutex);
        }
        (void)pthread_mutex_unlock(&blocking->mutex);
        (void)pthread_setcancelstate(state, &state);
        if (blocking->code < 0 && reterr != NULL) {
            (void)hami_internal_support_give_sized(reterr, &blocking->error,
                                                   sizeof(blocking->error));
        }
    }
    (void)pthread_cond_destroy(&blocking->ended);
    (void)pthread_mutex_destroy(&blocking->mutex);
    return blocking->code;
}

int hami_handshake_begin(hami_handshake *handshake, const char *resource,
                         const char *const *ids, size_t count, uint64_t deadline_ns,
                         hami_handshake_job **ret, struct hami_error *reterr)
{
    struct hami_handshake_container container = {ids, count};
    struct blocking blocking;
    int code;

    if (handshake == NULL || ret == NULL ||
        hami_internal_http_is_own_thread(handshake->client)) {
        return hami_internal_support_fail(
            reterr, HAMI_E_INVAL, "handshake or ret is missing, or called in a callback");
    }
    blocking_init(&blocking);
    code = hami_handshake_begin_start(handshake, resource, &container, 1, deadline_ns,
                                      blocking_begun, &blocking);
    code = blocking_wait(&blocking, code, reterr);
    if (code == 0) {
        *ret = blocking.job;
    }
    return code;
}

int hami_handshake_finish(hami_handshake_job *job, uint64_t deadline_ns,
                          struct hami_error *reterr)
{
    struct blocking blocking;

    if (job == NULL || hami_internal_http_is_own_thread(job->handshake->client)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "job is missing, or called in a callback");
    }
    blocking_init(&blocking);
    return blocking_wait(
        &blocking,
        hami_handshake_finish_start(job, deadline_ns, blocking_done, &blocking), reterr);
}

int hami_handshake_fail(hami_handshake_job *job, const char *reason, uint64_t deadline_ns,
                        struct hami_error *reterr)
{
    struct blocking blocking;

    if (job == NULL || hami_internal_http_is_own_thread(job->handshake->client)) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "job is missing, or called in a callback");
    }
    blocking_init(&blocking);
    return blocking_wait(
        &blocking,
        hami_handshake_fail_start(job, reason, deadline_ns, blocking_done, &blocking),
        reterr);
}
