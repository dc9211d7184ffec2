/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Life of a transport that keeps values as annotations, and of its calls in flight. Lock:
 * see annotation.h.
 *
 * Invariant: a record stands in `operations` from _begin to _end, so that abort finds
 * either a record whose call was not completed, or none. The transport's memory goes with
 * its last reference: freeing it while watches or calls are still winding down on the
 * client's thread is safe.
 */
#include "annotation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "status.h"
#include "support.h"

#define LONGEST_CALL_NS (UINT64_C(3600000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define READ_RESERVE_NS (UINT64_C(1000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define OWN_WORK_NS (UINT64_C(5000) * HAMI_INTERNAL_NANOSECONDS_PER_MS)
#define WAIT_WORTH_TELLING_NS (UINT64_C(100) * HAMI_INTERNAL_NANOSECONDS_PER_MS)

/* ---- references ---- */

static void destroy(struct hami_internal_annotation *owner)
{
    if (owner->destroy != NULL) {
        owner->destroy(owner);
    }
    for (size_t i = 0; i < owner->scheduler_name_count; i++) {
        free(owner->scheduler_names[i]);
    }
    pthread_cond_destroy(&owner->told);
    pthread_mutex_destroy(&owner->mutex);
    free(owner);
}

void hami_internal_annotation_unreference(struct hami_internal_annotation *owner)
{
    pthread_mutex_lock(&owner->mutex);
    bool last = --owner->references == 0;
    pthread_mutex_unlock(&owner->mutex);
    if (last) {
        destroy(owner);
    }
}

/* ---- calls in flight ---- */

struct hami_internal_annotation_operation *
hami_internal_annotation_begin(struct hami_internal_annotation *owner, hami_call *call)
{
    struct hami_internal_annotation_operation *operation =
        calloc(1, owner->operation_size);
    if (operation == NULL) {
        return NULL;
    }
    operation->owner = owner;
    operation->call = call;
    pthread_mutex_lock(&owner->mutex);
    bool closed = owner->closed;
    if (!closed) {
        operation->next = owner->operations;
        operation->link = &owner->operations;
        if (operation->next != NULL) {
            operation->next->link = &operation->next;
        }
        owner->operations = operation;
        owner->references++;
    }
    pthread_mutex_unlock(&owner->mutex);
    if (closed) {
        free(operation);
        return NULL;
    }
    return operation;
}

void hami_internal_annotation_end(struct hami_internal_annotation_operation *operation)
{
    struct hami_internal_annotation *owner = operation->owner;
    pthread_mutex_lock(&owner->mutex);
    *operation->link = operation->next;
    if (operation->next != NULL) {
        operation->next->link = operation->link;
    }
    pthread_mutex_unlock(&owner->mutex);
    if (owner->operation_done != NULL) {
        owner->operation_done(operation);
    }
    free(operation);
    hami_internal_annotation_unreference(owner);
}

static void answered(void *data, const struct hami_kubernetes_answer *answer)
{
    struct hami_internal_annotation_operation *operation = data;
    pthread_mutex_lock(&operation->owner->mutex);
    operation->request = NULL;
    pthread_mutex_unlock(&operation->owner->mutex);
    operation->step(operation, answer);
}

/* When a request has to be answered; 0 = there is no time left. */
static uint64_t deadline_of(const hami_call *call, bool reserve)
{
    uint64_t left = call != NULL ? hami_call_remaining(call) : OWN_WORK_NS;
    if (left > LONGEST_CALL_NS) {
        left = LONGEST_CALL_NS;
    }
    if (reserve) {
        left -= left / 4 < READ_RESERVE_NS ? left / 4 : READ_RESERVE_NS;
    }
    return left > 0 ? hami_kubernetes_now() + left : 0;
}

int hami_internal_annotation_send_request(
    struct hami_internal_annotation_operation *operation,
    struct hami_kubernetes_request *request, bool reserve,
    hami_internal_annotation_step_fn step)
{
    struct hami_internal_annotation *owner = operation->owner;
    request->body_length = request->body != NULL ? strlen(request->body) : 0;
    request->deadline_ns = deadline_of(operation->call, reserve);
    int code = request->deadline_ns == 0 ? HAMI_E_TRANSPORT : 0;
    pthread_mutex_lock(&owner->mutex);
    if (operation->aborted) {
        code = HAMI_E_TRANSPORT;
    }
    if (code == 0) {
        operation->step = step;
        operation->writes += request->method != HAMI_KUBERNETES_GET;
        code = hami_internal_http_request_start(owner->client, request, answered,
                                                operation, &operation->request);
    }
    if (code < 0) {
        operation->request = NULL;
    }
    pthread_mutex_unlock(&owner->mutex);
    return code == 0 || code == HAMI_E_NOMEM ? code : HAMI_E_TRANSPORT;
}

int hami_internal_annotation_send(struct hami_internal_annotation_operation *operation,
                                  const char *body, const char *accept, bool reserve,
                                  hami_internal_annotation_step_fn step)
{
    struct hami_kubernetes_request request = HAMI_KUBERNETES_REQUEST_INIT;
    request.method = body != NULL ? HAMI_KUBERNETES_PATCH : HAMI_KUBERNETES_GET;
    request.path = operation->path;
    request.accept = accept;
    request.content_type = body != NULL ? HAMI_INTERNAL_JSONPATCH_TYPE : NULL;
    request.body = body;
    return hami_internal_annotation_send_request(operation, &request, reserve, step);
}

static void cancel_locked(struct hami_internal_annotation_operation *operation)
{
    operation->aborted = true;
    if (operation->request != NULL) {
        hami_internal_http_request_cancel(operation->owner->client, operation->request);
    }
}

static void abort_call(struct hami_transport *transport, hami_call *call)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    pthread_mutex_lock(&owner->mutex);
    struct hami_internal_annotation_operation *operation = owner->operations;
    while (operation != NULL && operation->call != call) {
        operation = operation->next;
    }
    if (operation != NULL) {
        cancel_locked(operation);
    }
    pthread_mutex_unlock(&owner->mutex);
}

static void add_time(char *buffer, size_t size, const char *what, uint64_t ns)
{
    size_t length = strlen(buffer);
    snprintf(buffer + length, size - length, " (%s %llu ms)", what,
             (unsigned long long)(ns / HAMI_INTERNAL_NANOSECONDS_PER_MS));
}

const char *hami_internal_annotation_text(const struct hami_kubernetes_answer *answer,
                                          char *buffer, size_t size)
{
    hami_internal_status_text(answer, buffer, size);
    if (answer->local_wait_ns >= WAIT_WORTH_TELLING_NS) {
        add_time(buffer, size, "waited in this process for", answer->local_wait_ns);
    }
    if (answer->retry_after_ms > 0) {
        add_time(buffer, size, "the server asks to wait for",
                 answer->retry_after_ms * HAMI_INTERNAL_NANOSECONDS_PER_MS);
    }
    return buffer;
}

/* ---- making one ---- */

/* A name that can stand in a field selector as it is. */
static bool is_scheduler_name(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t length = name != NULL ? strnlen(name, 254) : 0;
    return length > 0 && length <= 253 && strspn(name, allowed) == length;
}

static int check_config(const struct hami_kubernetes_transport_config *config,
                        uint32_t flags, struct hami_error *reterr)
{
    if ((config->flags & ~flags) != 0) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL, "flags has unknown bits");
    }
    if (config->scheduler_name_count > HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "scheduler_name_count is above %d",
                                          HAMI_INTERNAL_ANNOTATION_SCHEDULERS_MAX);
    }
    if (config->scheduler_name_count > 0 && config->scheduler_names == NULL) {
        return hami_internal_support_fail(reterr, HAMI_E_INVAL,
                                          "scheduler_names is NULL");
    }
    for (size_t i = 0; i < config->scheduler_name_count; i++) {
        if (!is_scheduler_name(config->scheduler_names[i])) {
            return hami_internal_support_fail(
                reterr, HAMI_E_INVAL, "scheduler_names[%zu] is no scheduler's name", i);
        }
    }
    return 0;
}

static struct hami_internal_annotation *
allocate(hami_kubernetes *client, size_t size,
         const struct hami_kubernetes_transport_config *config)
{
    struct hami_internal_annotation *owner = calloc(1, size);
    if (owner == NULL) {
        return NULL;
    }
    pthread_mutex_init(&owner->mutex, NULL);
    pthread_cond_init(&owner->told, NULL);
    owner->references = 1;
    owner->client = client;
    owner->without_watch = (config->flags & HAMI_KUBERNETES_NO_WATCH) != 0;
    owner->operation_size = sizeof(struct hami_internal_annotation_operation);
    owner->transport.size = sizeof(owner->transport);
    owner->transport.abort = abort_call;
    owner->transport.inspect = hami_internal_annotation_inspect;
    owner->transport.revoke = hami_internal_annotation_revoke;
    if (!owner->without_watch) {
        owner->transport.watch = hami_internal_annotation_watch;
        owner->transport.unwatch = hami_internal_annotation_unwatch;
    }
    for (size_t i = 0; i < config->scheduler_name_count; i++) {
        owner->scheduler_names[i] = strdup(config->scheduler_names[i]);
        owner->scheduler_name_count = i + 1;
        if (owner->scheduler_names[i] == NULL) {
            destroy(owner);
            return NULL;
        }
    }
    return owner;
}

int hami_internal_annotation_new(hami_kubernetes *client, size_t size,
                                 const struct hami_kubernetes_transport_config *config,
                                 uint32_t flags, struct hami_internal_annotation **ret,
                                 struct hami_error *reterr)
{
    int code = check_config(config, flags, reterr);
    if (code < 0) {
        return code;
    }
    *ret = allocate(client, size, config);
    return *ret != NULL
               ? 0
               : hami_internal_support_fail(reterr, HAMI_E_NOMEM, "out of memory");
}

/* ---- public ---- */

struct hami_transport *hami_kubernetes_transport_free(struct hami_transport *transport)
{
    struct hami_internal_annotation *owner = (struct hami_internal_annotation *)transport;
    if (owner == NULL || hami_internal_http_is_forked(owner->client)) {
        /* In a forked child the mutex may be held for ever, and the watches are the
         * parent's: what they share with us stays. */
        return NULL;
    }
    pthread_mutex_lock(&owner->mutex);
    owner->closed = true;
    for (struct hami_internal_annotation_operation *operation = owner->operations;
         operation != NULL; operation = operation->next) {
        cancel_locked(operation);
    }
    pthread_mutex_unlock(&owner->mutex);
    hami_internal_annotation_stop_news(owner);
    hami_internal_annotation_unreference(owner);
    return NULL;
}
