/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Allocate: begin (whom is it for?), the answer, finish (the devices are handed out),
 * and only then the answer to the kubelet. Where the answer can't be made the pod is
 * failed; where nobody can be the caller nothing is written at all. Both steps share one
 * deadline, since the kubelet starts no other pod meanwhile.
 *
 * The library's callbacks come on its own thread: they fill the job's letter and post it.
 */
#include "allocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answer.h"
#include "log.h"
#include "mailbox.h"

#define CONTAINERS_MAX 64

struct allocate {
    struct hamid_mailbox *mailbox;
    const struct plugin_settings *settings;
    hami_handshake *handshake;
    uint64_t timeout_ms;
    size_t pending;
};

struct one_call {
    struct hamid_letter letter; /* first */
    struct allocate *allocate;
    struct hamid_grpc_call *call; /* NULL: the kubelet has gone, or was answered */
    uint64_t deadline_ns;
    hami_handshake_job *job;
    V1beta1__AllocateResponse *answer;
    char pod[330];
    int code;
    struct hami_error error;
};

/* ---- answers ----------------------------------------------------------------------- */

static int code_of(int code)
{
    switch (code) {
    case HAMI_E_LOST:
    case HAMI_E_NODE:
        return HAMID_GRPC_NOT_FOUND;
    case HAMI_E_BUSY:
    case HAMI_E_HELD:
        return HAMID_GRPC_FAILED_PRECONDITION;
    case HAMI_E_INVAL:
    case HAMI_E_LIMIT:
    case HAMI_E_PROTO:
        return HAMID_GRPC_INVALID_ARGUMENT;
    case HAMI_E_ACCESS:
        return HAMID_GRPC_PERMISSION_DENIED;
    case HAMI_E_TIMEDOUT:
    case HAMI_E_IN_DOUBT:
        return HAMID_GRPC_DEADLINE_EXCEEDED;
    default:
        return HAMID_GRPC_UNAVAILABLE;
    }
}

static void has_gone(void *data)
{
    struct one_call *one = data;

    one->call = NULL;
}

static void one_free(struct one_call *one)
{
    if (one->answer != NULL) {
        protobuf_c_message_free_unpacked(&one->answer->base, NULL);
    }
    one->allocate->pending--;
    free(one);
}

static void refuse(struct one_call *one, int code, const char *text)
{
    hamid_log_warning("Refused an Allocate", "pod", one->pod[0] != '\0' ? one->pod : NULL,
                      "code", hamid_grpc_code_name(code), "err", text, NULL);
    if (one->call != NULL) {
        hamid_grpc_call_end(one->call, code, text);
        one->call = NULL;
    }
}

/* Room for the answers of so many containers; NULL without memory. */
static V1beta1__AllocateResponse *new_answer(size_t count)
{
    V1beta1__AllocateResponse *answer = malloc(sizeof(*answer));

    if (answer == NULL) {
        return NULL;
    }
    v1beta1__allocate_response__init(answer);
    answer->container_responses = calloc(count + 1, sizeof(*answer->container_responses));
    if (answer->container_responses == NULL) {
        free(answer);
        return NULL;
    }
    return answer;
}

/* ---- what the annotation gives ----------------------------------------------------- */

/* Says why not, in text. */
static bool find_share(const struct allocate *allocate, const struct hami_device *given,
                       struct plugin_share *ret, char *text, size_t size)
{
    ret->device = plugin_device_find(allocate->settings, given->uuid);
    ret->memory_mib = (uint32_t)given->memory_mib;
    ret->cores = (uint32_t)given->core_percent;
    if (ret->device == NULL) {
        (void)snprintf(text, size, "this node has no device %.256s", given->uuid);
    } else if (!ret->device->is_healthy) {
        (void)snprintf(text, size, "device %.256s is not healthy", given->uuid);
    }
    return ret->device != NULL && ret->device->is_healthy;
}

/* One container of a job. */
static V1beta1__ContainerAllocateResponse *
answer_container(const struct one_call *one, size_t container, char *text, size_t size)
{
    const struct hami_owner *owner = hami_handshake_owner(one->job);
    size_t count = hami_handshake_container_device_count(one->job, container);
    struct plugin_receiver receiver = {owner->namespace_name, owner->name,
                                       hami_handshake_container_name(one->job, container),
                                       hami_handshake_fence(one->job)};
    struct plugin_share *shares = calloc(count + 1, sizeof(*shares));
    V1beta1__ContainerAllocateResponse *answer = NULL;
    bool is_right = shares != NULL;

    (void)snprintf(text, size, "out of memory");
    for (size_t i = 0; i < count && is_right; i++) {
        is_right = find_share(one->allocate,
                              hami_handshake_container_device(one->job, container, i),
                              &shares[i], text, size);
    }
    if (is_right) {
        answer = plugin_answer_new(one->allocate->settings, &receiver, shares, count);
    }
    free(shares);
    return answer;
}

/* False with a text. */
static bool make_answer(struct one_call *one, char *text, size_t size)
{
    size_t count = hami_handshake_container_count(one->job);

    one->answer = new_answer(count);
    if (one->answer == NULL) {
        (void)snprintf(text, size, "out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        V1beta1__ContainerAllocateResponse *each = answer_container(one, i, text, size);

        if (each == NULL) {
            return false;
        }
        one->answer->container_responses[i] = each;
        one->answer->n_container_responses = i + 1;
    }
    return true;
}

/* ---- finish ------------------------------------------------------------------------ */

static void finished_opened(struct hamid_letter *letter)
{
    struct one_call *one = (struct one_call *)letter;

    if (one->code != 0) {
        refuse(one, code_of(one->code), one->error.text);
    } else if (one->call != NULL) {
        hamid_log_info(2, "Allocated", "pod", one->pod, NULL);
        hamid_kubelet_reply(one->call, &one->answer->base);
    } else {
        hamid_log_warning("The kubelet went away before it got its answer", "pod",
                          one->pod, NULL);
    }
    one_free(one);
}

/* On the client's thread. */
static void finished(void *data, int code, const struct hami_error *error)
{
    struct one_call *one = data;

    one->code = code;
    if (error != NULL) {
        one->error = *error;
    }
    hamid_mailbox_post(one->allocate->mailbox, &one->letter);
}

static void failed_opened(struct hamid_letter *letter)
{
    one_free((struct one_call *)letter);
}

/* Writes phase failed behind the kubelet's answer, which need not wait for it. */
static void fail(struct one_call *one, const char *text)
{
    hami_handshake_job *job = one->job;

    refuse(one, HAMID_GRPC_FAILED_PRECONDITION, text);
    one->job = NULL;
    one->letter.open = failed_opened;
    if (hami_handshake_fail_start(job, text, one->deadline_ns, finished, one) < 0) {
        one_free(one);
    }
}

static void finish(struct one_call *one)
{
    hami_handshake_job *job = one->job;
    int code;

    one->job = NULL;
    one->letter.open = finished_opened;
    code = hami_handshake_finish_start(job, one->deadline_ns, finished, one);
    if (code < 0) {
        refuse(one, code_of(code), hami_strerror(code));
        one_free(one);
    }
}

/* ---- begin ------------------------------------------------------------------------- */

static void begun_opened(struct hamid_letter *letter)
{
    struct one_call *one = (struct one_call *)letter;
    char text[400];

    if (one->code != 0) {
        refuse(one, code_of(one->code), one->error.text);
        one_free(one);
        return;
    }
    const struct hami_owner *owner = hami_handshake_owner(one->job);
    (void)snprintf(one->pod, sizeof(one->pod), "%s/%s", owner->namespace_name,
                   owner->name);
    if (one->call == NULL) {
        /* A kubelet that comes back asks again. */
        hami_handshake_drop(one->job);
        one_free(one);
    } else if (!make_answer(one, text, sizeof(text))) {
        fail(one, text);
    } else {
        finish(one);
    }
}

/* On the client's thread. */
static void begun(void *data, int code, hami_handshake_job *job,
                  const struct hami_error *error)
{
    struct one_call *one = data;

    one->code = code;
    one->job = job;
    if (error != NULL) {
        one->error = *error;
    }
    hamid_mailbox_post(one->allocate->mailbox, &one->letter);
}

static void begin(struct one_call *one, const V1beta1__AllocateRequest *request)
{
    struct allocate *allocate = one->allocate;
    struct hami_handshake_container containers[CONTAINERS_MAX];
    size_t count = request->n_container_requests;
    int code;

    for (size_t i = 0; i < count; i++) {
        containers[i].ids = (const char *const *)request->container_requests[i]->ids;
        containers[i].id_count = request->container_requests[i]->n_ids;
    }
    one->letter.open = begun_opened;
    code = hami_handshake_begin_start(allocate->handshake, allocate->settings->resource,
                                      containers, count, one->deadline_ns, begun, one);
    if (code < 0) {
        refuse(one, code_of(code), hami_strerror(code));
        one_free(one);
    }
}

/* ---- without the handshake --------------------------------------------------------- */

/* The kubelet's own choice: each id is a share of the device that it names. */
static V1beta1__ContainerAllocateResponse *
answer_ids(const struct allocate *allocate,
           const V1beta1__ContainerAllocateRequest *request, char *text, size_t size)
{
    static const struct plugin_receiver nobody = {"", "", "", 0};
    struct plugin_share *shares = calloc(request->n_ids + 1, sizeof(*shares));
    V1beta1__ContainerAllocateResponse *answer = NULL;
    bool is_right = shares != NULL;

    (void)snprintf(text, size, "out of memory");
    for (size_t i = 0; i < request->n_ids && is_right; i++) {
        const struct plugin_device *device =
            plugin_id_find(allocate->settings, request->ids[i]);

        is_right = device != NULL;
        if (is_right) {
            shares[i] = (struct plugin_share){device, device->memory_mib / device->shares,
                                              device->cores / device->shares};
        } else {
            (void)snprintf(text, size, "this node has no device %.256s", request->ids[i]);
        }
    }
    if (is_right) {
        answer = plugin_answer_new(allocate->settings, &nobody, shares, request->n_ids);
    }
    free(shares);
    return answer;
}

static void answer_by_ids(const struct allocate *allocate, struct hamid_grpc_call *call,
                          const V1beta1__AllocateRequest *request)
{
    V1beta1__AllocateResponse *answer = new_answer(request->n_container_requests);
    char text[400] = "out of memory";
    bool is_whole = answer != NULL;

    for (size_t i = 0; i < request->n_container_requests && is_whole; i++) {
        answer->container_responses[i] =
            answer_ids(allocate, request->container_requests[i], text, sizeof(text));
        is_whole = answer->container_responses[i] != NULL;
        answer->n_container_responses += is_whole;
    }
    if (is_whole) {
        hamid_kubelet_reply(call, &answer->base);
    } else {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT, text);
    }
    if (answer != NULL) {
        protobuf_c_message_free_unpacked(&answer->base, NULL);
    }
}

/* ---- public ------------------------------------------------------------------------ */

struct allocate *allocate_new(struct hamid_mailbox *mailbox,
                              const struct plugin_settings *settings,
                              hami_handshake *handshake, uint64_t timeout_ms)
{
    struct allocate *allocate = calloc(1, sizeof(*allocate));

    if (allocate != NULL) {
        allocate->mailbox = mailbox;
        allocate->settings = settings;
        allocate->handshake = handshake;
        allocate->timeout_ms = timeout_ms;
    }
    return allocate;
}

void allocate_begin(struct allocate *allocate, struct hamid_grpc_call *call,
                    const V1beta1__AllocateRequest *request)
{
    struct one_call *one;

    if (request->n_container_requests == 0 ||
        request->n_container_requests > CONTAINERS_MAX) {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT,
                            "1 to 64 containers are expected");
        return;
    }
    if (allocate->handshake == NULL) {
        answer_by_ids(allocate, call, request);
        return;
    }
    one = calloc(1, sizeof(*one));
    if (one == NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    one->allocate = allocate;
    one->call = call;
    one->deadline_ns = hami_kubernetes_in_ms(allocate->timeout_ms);
    one->error = (struct hami_error)HAMI_ERROR_INIT;
    allocate->pending++;
    hamid_grpc_call_watch(call, has_gone, NULL, one);
    begin(one, request);
}

size_t allocate_pending(const struct allocate *allocate)
{
    return allocate->pending;
}

struct allocate *allocate_free(struct allocate *allocate)
{
    free(allocate);
    return NULL;
}
