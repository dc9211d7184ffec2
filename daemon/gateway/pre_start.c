/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PreStartContainer: the last moment at which devices that went astray can be held back.
 * The kubelet names the devices; its books must have them for the container that they
 * were answered for; what was answered before a restart, the pod itself tells. Where
 * nothing is known (the books can't be read, the pod says nothing, or it is an init
 * container) the container may start. Then the vendor's own is
 * called, if it has one. Loop's thread.
 */
#include "gateway_internal.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

struct pre_start {
    struct gateway_call base; /* first */
    struct hamid_grpc_call *call;
    struct checks_ask *ask;
    uint8_t *message;
    size_t length;
};

static void pre_start_free(struct pre_start *start)
{
    gateway_call_remove(&start->base);
    free(start->message);
    free(start);
}

static void pre_start_cut(struct gateway_call *base)
{
    struct pre_start *start = (struct pre_start *)base;

    checks_ask_cancel(start->ask);
    hamid_grpc_call_end(start->call, HAMID_GRPC_UNAVAILABLE, "the device plugin is gone");
    pre_start_free(start);
}

static void pre_start_gone(void *data)
{
    struct pre_start *start = data;

    checks_ask_cancel(start->ask);
    pre_start_free(start);
}

/* We have no objection. */
static void let_start(struct gateway_plugin *plugin, struct hamid_grpc_call *call,
                      const uint8_t *message, size_t length)
{
    V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

    if (plugin->wants_pre_start) {
        gateway_relay(plugin, call, HAMID_KUBELET_PRE_START, message, length);
    } else {
        hamid_kubelet_reply(call, &empty.base);
    }
}

static void told(void *data, enum answers_verdict verdict, const char *text)
{
    struct pre_start *start = data;
    struct gateway_plugin *plugin = start->base.plugin;

    if (verdict == ANSWERS_SWAPPED) {
        plugin->gateway->starts_refused++;
        hamid_log_error("A container must not start: it has another's devices",
                        "resource", plugin->resource, "err", text, NULL);
        hamid_grpc_call_end(start->call, HAMID_GRPC_FAILED_PRECONDITION, text);
    } else {
        hamid_grpc_call_watch(start->call, NULL, NULL, NULL);
        let_start(plugin, start->call, start->message, start->length);
    }
    pre_start_free(start);
}

static struct checks_ask *ask(struct pre_start *start,
                              const V1beta1__PreStartContainerRequest *request)
{
    const struct gateway_plugin *plugin = start->base.plugin;
    const struct gateway_config *config = &plugin->gateway->config;

    return checks_ask_start(config->checks, plugin->resource,
                            (const char *const *)request->ids, request->n_ids,
                            config->timeout_ms, told, start);
}

static bool check(struct gateway_plugin *plugin, struct hamid_grpc_call *call,
                  const V1beta1__PreStartContainerRequest *request,
                  const uint8_t *message, size_t length)
{
    struct pre_start *start = calloc(1, sizeof(*start));

    if (start == NULL) {
        return false;
    }
    start->call = call;
    start->length = length;
    start->message = malloc(length + 1);
    if (start->message == NULL ||
        !gateway_call_add(plugin, &start->base, pre_start_cut)) {
        free(start->message);
        free(start);
        return false;
    }
    memcpy(start->message, message, length);
    start->ask = ask(start, request);
    if (start->ask == NULL) {
        pre_start_free(start);
        return false;
    }
    hamid_grpc_call_watch(call, pre_start_gone, NULL, start);
    return true;
}

void gateway_handle_pre_start(void *data, struct hamid_grpc_call *call,
                              const uint8_t *message, size_t length)
{
    struct gateway_plugin *plugin = data;
    ProtobufCMessage *request;

    if (plugin->gateway->config.checks == NULL) {
        let_start(plugin, call, message, length);
        return;
    }
    if (hamid_kubelet_unpack(&v1beta1__pre_start_container_request__descriptor, message,
                             length, &request) < 0) {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT,
                            "this is no PreStartContainer request");
        return;
    }
    if (!check(plugin, call, (const V1beta1__PreStartContainerRequest *)request, message,
               length)) {
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "too many calls");
    }
    protobuf_c_message_free_unpacked(request, NULL);
}
