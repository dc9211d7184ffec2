/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One Allocate of the kubelet's, in order: the kubelet's books are read; the library says
 * whose it is, or that it can't be told (then it is refused, and nothing is written to
 * any pod); the vendor's plugin is asked, in the very words of the kubelet; the library
 * writes done, and frees the lock with the last, or failed; the kubelet gets the vendor's
 * answer.
 *
 * A plugin that does HAMi's handshake itself finds lock and annotations as it knows them;
 * what it has written already is not written again, what it forgot or did too early is
 * repaired by the library.
 *
 * Where the kubelet goes away before the vendor has answered, nothing is written: the pod
 * keeps devices and lock, and the next kubelet asks again. Loop's thread, but for the
 * library's callbacks, which fill the letter and post it.
 */
#include "gateway_internal.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mailbox.h"
#include "trace.h"

#define CONTAINERS_MAX 64

struct allocate {
    struct gateway_call base; /* first; base.plugin NULL: the plugin is gone */
    struct hamid_letter letter;
    struct gateway *gateway;
    char resource[GATEWAY_RESOURCE_MAX];
    struct hamid_grpc_call *call; /* NULL: the kubelet is gone */
    uint8_t *message;
    size_t length;
    V1beta1__AllocateRequest *request;
    struct hami_handshake_container containers[CONTAINERS_MAX];
    struct answer *answers[CONTAINERS_MAX];
    uint64_t deadline_ns;
    struct books_reading *reading;     /* running */
    struct hamid_grpc_request *vendor; /* running */
    hami_handshake_job *job;
    char pod[330]; /* for the log */
    char trace[HAMID_TRACE_BYTES];
    uint8_t *answer; /* the vendor's */
    size_t answer_length;
    struct hamid_grpc_status verdict; /* what the kubelet is told */
    char text[HAMID_GRPC_TEXT_MAX];
    bool has_failed; /* failed is written, not done */
    int code;        /* the library's last */
    struct hami_error error;
};

/* ---- the end
 * ------------------------------------------------------------------------------------ */

static void allocate_free(struct allocate *allocate)
{
    gateway_call_remove(&allocate->base);
    for (size_t i = 0; i < CONTAINERS_MAX; i++) {
        answer_free(allocate->answers[i]);
    }
    if (allocate->request != NULL) {
        protobuf_c_message_free_unpacked(&allocate->request->base, NULL);
    }
    hami_handshake_drop(allocate->job);
    free(allocate->message);
    free(allocate->answer);
    allocate->gateway->allocates--;
    free(allocate);
}

/* Tells the kubelet, if it is still there, and frees all. */
static void end(struct allocate *allocate, enum gateway_outcome outcome, int code,
                const char *text)
{
    allocate->gateway->outcomes[outcome]++;
    if (allocate->call != NULL && code == HAMID_GRPC_OK) {
        hamid_grpc_call_reply(allocate->call, allocate->answer, allocate->answer_length);
    } else if (allocate->call != NULL) {
        hamid_grpc_call_end(allocate->call, code, text);
    }
    allocate_free(allocate);
}

static void refuse(struct allocate *allocate, int code, const char *text)
{
    struct gateway *gateway = allocate->gateway;

    hamid_log_warning("Refused an Allocate: nothing was written to any pod", "resource",
                      allocate->resource, "err", text, NULL);
    node_events_send(gateway->config.events, "AllocateRefused", text,
                     hami_kubernetes_now());
    end(allocate, GATEWAY_REFUSED, code, text);
}

/* ---- done, failed
 * ------------------------------------------------------------------------------- */

/* On the client's thread. */
static void answered(void *data, int code, hami_handshake_job *job,
                     const struct hami_error *error)
{
    struct allocate *allocate = data;

    allocate->code = code;
    allocate->job = job;
    if (error != NULL) {
        allocate->error = *error;
    }
    hamid_mailbox_post(allocate->gateway->config.mailbox, &allocate->letter);
}

static void ended(void *data, int code, const struct hami_error *error)
{
    answered(data, code, NULL, error);
}

static struct allocate *from_letter(struct hamid_letter *letter)
{
    struct allocate *allocate =
        (struct allocate *)((char *)letter - offsetof(struct allocate, letter));

    allocate->gateway->pending--;
    return allocate;
}

static void watch_answers(struct allocate *allocate)
{
    for (size_t i = 0; allocate->gateway->config.checks != NULL && i < CONTAINERS_MAX;
         i++) {
        checks_add(allocate->gateway->config.checks, allocate->answers[i]);
        allocate->answers[i] = NULL;
    }
}

static void end_opened(struct hamid_letter *letter)
{
    struct allocate *allocate = from_letter(letter);

    if (allocate->has_failed) {
        end(allocate, GATEWAY_VENDOR_FAILED, allocate->verdict.code, allocate->text);
    } else if (allocate->code < 0) {
        hamid_log_warning("Could not write the end of an Allocate; the container is "
                          "refused",
                          "pod", allocate->pod, "trace", allocate->trace, "code",
                          hami_errname(allocate->code), "err", allocate->error.text,
                          NULL);
        end(allocate, GATEWAY_NOT_WRITTEN, HAMID_GRPC_UNAVAILABLE, allocate->error.text);
    } else {
        hamid_log_info(2, "Handed devices out", "pod", allocate->pod, "trace",
                       allocate->trace, "resource", allocate->resource, NULL);
        watch_answers(allocate);
        end(allocate, GATEWAY_SERVED, HAMID_GRPC_OK, "");
    }
}

static void write_end(struct allocate *allocate)
{
    hami_handshake_job *job = allocate->job;
    uint64_t deadline = hami_kubernetes_in_ms(allocate->gateway->config.timeout_ms);
    int code;

    allocate->job = NULL;
    allocate->letter.open = end_opened;
    allocate->gateway->pending++;
    code = allocate->has_failed
               ? hami_handshake_fail_start(job, allocate->text, deadline, ended, allocate)
               : hami_handshake_finish_start(job, deadline, ended, allocate);
    if (code < 0) {
        (void)snprintf(allocate->error.text, sizeof(allocate->error.text), "%s",
                       hami_strerror(code));
        allocate->code = code;
        end_opened(&allocate->letter);
    }
}

/* ---- the vendor's part
 * -------------------------------------------------------------------------- */

static void vendor_answered(void *data, const uint8_t *message, size_t length)
{
    struct allocate *allocate = data;

    free(allocate->answer);
    allocate->answer = malloc(length + 1);
    allocate->answer_length = length;
    if (allocate->answer != NULL) {
        memcpy(allocate->answer, message, length);
    }
}

static void vendor_ended(void *data, const struct hamid_grpc_status *status)
{
    struct allocate *allocate = data;

    allocate->vendor = NULL;
    allocate->has_failed = status->code != HAMID_GRPC_OK || allocate->answer == NULL;
    allocate->verdict.code =
        status->code != HAMID_GRPC_OK ? status->code : HAMID_GRPC_RESOURCE_EXHAUSTED;
    (void)snprintf(allocate->text, sizeof(allocate->text), "%s", status->text);
    if (allocate->has_failed) {
        hamid_log_warning("A device plugin could not hand devices out", "pod",
                          allocate->pod, "trace", allocate->trace, "resource",
                          allocate->resource, "err", allocate->text, NULL);
    }
    write_end(allocate);
}

static void ask_vendor(struct allocate *allocate)
{
    struct hamid_grpc_call_config config = {
        .method = HAMID_KUBELET_ALLOCATE,
        .message = allocate->message,
        .length = allocate->length,
        .timeout_ms = allocate->gateway->config.vendor_timeout_ms,
        .message_came = vendor_answered,
        .ended = vendor_ended,
        .data = allocate,
    };

    allocate->vendor = hamid_grpc_client_call(allocate->base.plugin->client, &config);
    if (allocate->vendor == NULL) {
        refuse(allocate, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
    }
}

/* ---- whose is it?
 * ------------------------------------------------------------------------------- */

static void keep_answers(struct allocate *allocate)
{
    size_t count = hami_handshake_container_count(allocate->job);

    for (size_t i = 0; i < count && i < allocate->request->n_container_requests; i++) {
        allocate->answers[i] =
            answer_new(allocate->resource, hami_handshake_owner(allocate->job),
                       hami_handshake_container_name(allocate->job, i),
                       allocate->containers[i].ids, allocate->containers[i].id_count);
    }
}

static int grpc_code_of(int code)
{
    switch (code) {
    case HAMI_E_TIMEDOUT:
    case HAMI_E_TRANSPORT:
    case HAMI_E_CLOSED:
        return HAMID_GRPC_UNAVAILABLE;
    case HAMI_E_INVAL:
        return HAMID_GRPC_INVALID_ARGUMENT;
    default:
        return HAMID_GRPC_FAILED_PRECONDITION;
    }
}

static void whose_opened(struct hamid_letter *letter)
{
    struct allocate *allocate = from_letter(letter);
    const struct hami_owner *owner;

    if (allocate->code < 0) {
        refuse(allocate, grpc_code_of(allocate->code), allocate->error.text);
        return;
    }
    if (allocate->call == NULL || allocate->base.plugin == NULL) {
        end(allocate, GATEWAY_GONE, HAMID_GRPC_UNAVAILABLE, "the device plugin is gone");
        return; /* nobody has heard of it: nothing is written */
    }
    owner = hami_handshake_owner(allocate->job);
    (void)snprintf(allocate->pod, sizeof(allocate->pod), "%s/%s", owner->namespace_name,
                   owner->name);
    (void)hamid_trace(allocate->trace, owner->uid, allocate->gateway->config.node);
    keep_answers(allocate);
    ask_vendor(allocate);
}

static void ask_whose(struct allocate *allocate, const struct books_page *page)
{
    struct hami_handshake_call question = HAMI_HANDSHAKE_CALL_INIT;
    struct hami_handshake_holding *holdings = page != NULL ? books_holdings(page) : NULL;
    int code;

    question.resource = allocate->resource;
    question.containers = allocate->containers;
    question.container_count = allocate->request->n_container_requests;
    question.deadline_ns = allocate->deadline_ns;
    if (holdings != NULL) {
        question.flags = HAMI_HANDSHAKE_BOOKS;
        question.holdings = holdings;
        question.holding_count = page->count;
    }
    allocate->letter.open = whose_opened;
    allocate->gateway->pending++;
    code = hami_handshake_call_start(allocate->gateway->config.handshake, &question,
                                     answered, allocate);
    free(holdings);
    if (code < 0) {
        allocate->gateway->pending--;
        refuse(allocate, grpc_code_of(code), hami_strerror(code));
    }
}

static void books_read(void *data, const struct books_page *page, const char *problem)
{
    struct allocate *allocate = data;

    allocate->reading = NULL;
    if (page != NULL) {
        checks_compare(allocate->gateway->config.checks, page);
    } else if (allocate->gateway->config.needs_books) {
        refuse(allocate, HAMID_GRPC_UNAVAILABLE, problem);
        return;
    } else {
        hamid_log_info(2, "Asking without the kubelet's books", "err", problem, NULL);
    }
    ask_whose(allocate, page);
}

/* ---- coming and going
 * --------------------------------------------------------------------------- */

/* The kubelet is gone, and asks again when it is back: what the vendor has not answered
 * is given up, and nothing is written. What is with the library ends there. */
static void allocate_gone(void *data)
{
    struct allocate *allocate = data;

    allocate->call = NULL;
    if (allocate->reading != NULL) {
        books_read_cancel(allocate->reading);
    } else if (allocate->vendor != NULL) {
        hamid_grpc_request_cancel(allocate->vendor);
    } else {
        return;
    }
    end(allocate, GATEWAY_GONE, HAMID_GRPC_UNAVAILABLE, "");
}

/* The plugin is gone: for the kubelet, which fails the pod, that is a failure like any
 * other. */
static void allocate_cut(struct gateway_call *base)
{
    struct allocate *allocate = (struct allocate *)base;

    if (allocate->reading != NULL) {
        books_read_cancel(allocate->reading);
        end(allocate, GATEWAY_GONE, HAMID_GRPC_UNAVAILABLE, "the device plugin is gone");
    } else if (allocate->vendor != NULL) {
        const struct hamid_grpc_status status = {HAMID_GRPC_UNAVAILABLE,
                                                 "the device plugin is gone", false};

        hamid_grpc_request_cancel(allocate->vendor);
        vendor_ended(allocate, &status);
    }
}

/* False where the request makes no sense. */
static bool read_request(struct allocate *allocate)
{
    ProtobufCMessage *request;

    if (hamid_kubelet_unpack(&v1beta1__allocate_request__descriptor, allocate->message,
                             allocate->length, &request) < 0) {
        return false;
    }
    allocate->request = (V1beta1__AllocateRequest *)request;
    if (allocate->request->n_container_requests == 0 ||
        allocate->request->n_container_requests > CONTAINERS_MAX) {
        return false;
    }
    for (size_t i = 0; i < allocate->request->n_container_requests; i++) {
        const V1beta1__ContainerAllocateRequest *container =
            allocate->request->container_requests[i];

        allocate->containers[i].ids = (const char *const *)container->ids;
        allocate->containers[i].id_count = container->n_ids;
    }
    return true;
}

static struct allocate *allocate_new(struct gateway_plugin *plugin,
                                     struct hamid_grpc_call *call, const uint8_t *message,
                                     size_t length)
{
    struct allocate *allocate = calloc(1, sizeof(*allocate));

    if (allocate == NULL) {
        return NULL;
    }
    allocate->message = malloc(length + 1);
    if (allocate->message == NULL ||
        !gateway_call_add(plugin, &allocate->base, allocate_cut)) {
        free(allocate->message);
        free(allocate);
        return NULL;
    }
    memcpy(allocate->message, message, length);
    allocate->length = length;
    allocate->gateway = plugin->gateway;
    allocate->gateway->allocates++;
    allocate->call = call;
    allocate->error.size = sizeof(allocate->error);
    (void)snprintf(allocate->resource, sizeof(allocate->resource), "%s",
                   plugin->resource);
    allocate->deadline_ns = hami_kubernetes_in_ms(plugin->gateway->config.timeout_ms);
    hamid_grpc_call_watch(call, allocate_gone, NULL, allocate);
    return allocate;
}

void gateway_handle_allocate(void *data, struct hamid_grpc_call *call,
                             const uint8_t *message, size_t length)
{
    struct gateway_plugin *plugin = data;
    const struct gateway_config *config = &plugin->gateway->config;
    struct allocate *allocate;

    if (plugin->gateway->is_stopping) {
        hamid_grpc_call_end(call, HAMID_GRPC_UNAVAILABLE, "the gateway is stopping");
        return;
    }
    allocate = allocate_new(plugin, call, message, length);
    if (allocate == NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "too many calls");
    } else if (!read_request(allocate)) {
        refuse(allocate, HAMID_GRPC_INVALID_ARGUMENT, "this is no Allocate request");
    } else if (config->books == NULL) {
        ask_whose(allocate, NULL);
    } else {
        allocate->reading =
            books_read_start(config->books, config->timeout_ms / 2, books_read, allocate);
        if (allocate->reading == NULL) {
            refuse(allocate, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        }
    }
}
