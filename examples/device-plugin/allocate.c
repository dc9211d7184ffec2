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
#include "by_ids.h"
#include "node/checks.h"
#include "log.h"
#include "mailbox.h"

#define CONTAINERS_MAX 64

struct allocate {
    struct allocate_config config;
    size_t pending;
};

struct one_call {
    struct hamid_letter letter; /* first */
    struct allocate *allocate;
    struct hamid_grpc_call *call;      /* NULL: the kubelet has gone, or was answered */
    V1beta1__AllocateRequest *request; /* a copy */
    uint64_t deadline_ns;
    hami_handshake_job *job;
    V1beta1__AllocateResponse *answer;
    struct answer *given[CONTAINERS_MAX]; /* what the books are to have afterwards */
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
    if (one->request != NULL) {
        protobuf_c_message_free_unpacked(&one->request->base, NULL);
    }
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        answer_free(one->given[i]);
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

/* ---- what the annotation gives ----------------------------------------------------- */

/* Says why not, in text. */
static bool find_share(const struct allocate *allocate, const struct hami_device *given,
                       struct plugin_share *ret, char *text, size_t size)
{
    ret->device = plugin_device_find(allocate->config.settings, given->uuid);
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
        answer =
            plugin_answer_new(one->allocate->config.settings, &receiver, shares, count);
    }
    free(shares);
    return answer;
}

static void note_given(struct one_call *one, size_t container)
{
    const V1beta1__ContainerAllocateRequest *request =
        one->request->container_requests[container];

    if (one->allocate->config.checks != NULL) {
        one->given[container] = answer_new(
            one->allocate->config.settings->resource, hami_handshake_owner(one->job),
            hami_handshake_container_name(one->job, container),
            (const char *const *)request->ids, request->n_ids);
    }
}

/* False with a text. */
static bool make_answer(struct one_call *one, char *text, size_t size)
{
    size_t count = hami_handshake_container_count(one->job);

    one->answer = plugin_answers_new(count);
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
        note_given(one, i);
    }
    return true;
}

/* ---- finish ------------------------------------------------------------------------ */

/* The books are compared with it from now on. */
static void hand_to_checks(struct one_call *one)
{
    for (size_t i = 0; i < one->request->n_container_requests; i++) {
        if (one->given[i] != NULL) {
            checks_add(one->allocate->config.checks, one->given[i]);
            one->given[i] = NULL;
        }
    }
}

static void finished_opened(struct hamid_letter *letter)
{
    struct one_call *one = (struct one_call *)letter;

    if (one->code != 0) {
        refuse(one, code_of(one->code), one->error.text);
    } else if (one->call != NULL) {
        hamid_log_info(2, "Allocated", "pod", one->pod, NULL);
        hamid_kubelet_reply(one->call, &one->answer->base);
        hand_to_checks(one);
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
    hamid_mailbox_post(one->allocate->config.mailbox, &one->letter);
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
    hamid_mailbox_post(one->allocate->config.mailbox, &one->letter);
}

/* Asks the library, with the books or (page NULL) without. */
static void begin(struct one_call *one, const struct books_page *page)
{
    struct hami_handshake_container containers[CONTAINERS_MAX];
    struct hami_handshake_call question = HAMI_HANDSHAKE_CALL_INIT;
    struct hami_handshake_holding *holdings = page != NULL ? books_holdings(page) : NULL;

    for (size_t i = 0; i < one->request->n_container_requests; i++) {
        const V1beta1__ContainerAllocateRequest *each =
            one->request->container_requests[i];

        containers[i].ids = (const char *const *)each->ids;
        containers[i].id_count = each->n_ids;
    }
    question.resource = one->allocate->config.settings->resource;
    question.containers = containers;
    question.container_count = one->request->n_container_requests;
    question.deadline_ns = one->deadline_ns;
    if (holdings != NULL) {
        question.flags = HAMI_HANDSHAKE_BOOKS;
        question.holdings = holdings;
        question.holding_count = page->count;
    }
    one->letter.open = begun_opened;
    int code =
        hami_handshake_call_start(one->allocate->config.handshake, &question, begun, one);
    free(holdings);
    if (code < 0) {
        refuse(one, code_of(code), hami_strerror(code));
        one_free(one);
    }
}

static void books_read(void *data, const struct books_page *page, const char *problem)
{
    struct one_call *one = data;

    if (one->call == NULL) {
        one_free(one); /* the kubelet has gone, and nothing was begun */
        return;
    }
    if (page == NULL && one->allocate->config.needs_books) {
        refuse(one, HAMID_GRPC_UNAVAILABLE, problem);
        one_free(one);
        return;
    }
    if (page != NULL) {
        checks_compare(one->allocate->config.checks, page);
    } else {
        hamid_log_info(2, "Going on without the kubelet's books", "err", problem, NULL);
    }
    begin(one, page);
}

static void read_books(struct one_call *one)
{
    const struct allocate_config *config = &one->allocate->config;

    if (config->books == NULL) {
        begin(one, NULL);
    } else if (books_read_start(config->books, config->timeout_ms / 2, books_read, one) ==
               NULL) {
        refuse(one, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        one_free(one);
    }
}

/* ---- public ------------------------------------------------------------------------ */

struct allocate *allocate_new(const struct allocate_config *config)
{
    struct allocate *allocate = calloc(1, sizeof(*allocate));

    if (allocate != NULL) {
        allocate->config = *config;
    }
    return allocate;
}

/* The request is only lent; NULL without memory. */
static V1beta1__AllocateRequest *copy_request(const V1beta1__AllocateRequest *request)
{
    size_t length = protobuf_c_message_get_packed_size(&request->base);
    uint8_t *bytes = malloc(length + 1);
    ProtobufCMessage *copy = NULL;

    if (bytes != NULL) {
        (void)protobuf_c_message_pack(&request->base, bytes);
        (void)hamid_kubelet_unpack(&v1beta1__allocate_request__descriptor, bytes, length,
                                   &copy);
    }
    free(bytes);
    return (V1beta1__AllocateRequest *)copy;
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
    if (allocate->config.handshake == NULL) {
        by_ids_answer(allocate->config.settings, call, request);
        return;
    }
    one = calloc(1, sizeof(*one));
    V1beta1__AllocateRequest *copy = one != NULL ? copy_request(request) : NULL;
    if (copy == NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        free(one);
        return;
    }
    one->allocate = allocate;
    one->call = call;
    one->request = copy;
    one->deadline_ns = hami_kubernetes_in_ms(allocate->config.timeout_ms);
    one->error = (struct hami_error)HAMI_ERROR_INIT;
    allocate->pending++;
    hamid_grpc_call_watch(call, has_gone, NULL, one);
    read_books(one);
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
