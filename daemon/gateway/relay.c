/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are passed on byte by byte, with the vendor's own status. Loop's thread.
 */
#include "gateway_internal.h"

#include <stdlib.h>

struct relay {
    struct gateway_call base; /* first */
    struct hamid_grpc_call *call;
    struct hamid_grpc_request *request;
};

static void relay_free(struct relay *relay)
{
    gateway_call_remove(&relay->base);
    free(relay);
}

static void relay_cut(struct gateway_call *base)
{
    struct relay *relay = (struct relay *)base;

    hamid_grpc_request_cancel(relay->request);
    hamid_grpc_call_end(relay->call, HAMID_GRPC_UNAVAILABLE, "the device plugin is gone");
    free(relay);
}

static void relay_gone(void *data)
{
    struct relay *relay = data;

    hamid_grpc_request_cancel(relay->request);
    relay_free(relay);
}

static void message_came(void *data, const uint8_t *message, size_t length)
{
    struct relay *relay = data;

    (void)hamid_grpc_call_send(relay->call, message, length);
}

static void ended(void *data, const struct hamid_grpc_status *status)
{
    struct relay *relay = data;

    hamid_grpc_call_end(relay->call, status->code, status->text);
    relay_free(relay);
}

void gateway_relay(struct gateway_plugin *plugin, struct hamid_grpc_call *call,
                   const char *method, const uint8_t *message, size_t length)
{
    struct relay *relay = calloc(1, sizeof(*relay));
    struct hamid_grpc_call_config config = {
        .method = method,
        .message = message,
        .length = length,
        .timeout_ms = plugin->gateway->config.vendor_timeout_ms,
        .message_came = message_came,
        .ended = ended,
        .data = relay,
    };

    if (relay != NULL && gateway_call_add(plugin, &relay->base, relay_cut)) {
        relay->call = call;
        relay->request = hamid_grpc_client_call(plugin->client, &config);
        if (relay->request != NULL) {
            hamid_grpc_call_watch(call, relay_gone, NULL, relay);
            return;
        }
        gateway_call_remove(&relay->base);
    }
    free(relay);
    hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "too many calls");
}

void gateway_handle_preferred(void *data, struct hamid_grpc_call *call,
                              const uint8_t *message, size_t length)
{
    gateway_relay(data, call, HAMID_KUBELET_GET_PREFERRED, message, length);
}
