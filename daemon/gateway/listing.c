/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The devices of a vendor's plugin: one ListAndWatch towards it for as long as it is
 * registered, whatever kubelets come and go. Plugins are seldom written for a second one
 * beside a first that they have not seen end. Each kubelet gets what was told last, then
 * what is told from then on; one that is slow gets the newest only. Loop's thread.
 */
#include "gateway_internal.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"

/* One kubelet's ListAndWatch. */
struct listener {
    struct gateway_call base; /* first */
    struct hamid_grpc_call *call;
    bool is_behind; /* something newer waits until the last has left */
};

static void listener_free(struct listener *listener)
{
    gateway_call_remove(&listener->base);
    free(listener);
}

static void listener_cut(struct gateway_call *base)
{
    struct listener *listener = (struct listener *)base;

    hamid_grpc_call_end(listener->call, HAMID_GRPC_UNAVAILABLE,
                        "the device plugin is gone");
    free(listener);
}

static bool has_listener(const struct gateway_plugin *plugin)
{
    for (const struct gateway_call *call = plugin->calls; call != NULL;
         call = call->next) {
        if (call->cut == listener_cut) {
            return true;
        }
    }
    return false;
}

static void listener_gone(void *data)
{
    struct listener *listener = data;
    struct gateway_plugin *plugin = listener->base.plugin;

    listener_free(listener);
    if (!has_listener(plugin)) {
        gateway_backend_lost(plugin);
    }
}

static void send_devices(struct listener *listener)
{
    const struct gateway_plugin *plugin = listener->base.plugin;

    if (plugin->devices == NULL) {
        return;
    }
    listener->is_behind = hamid_grpc_call_pending(listener->call) > 0;
    if (!listener->is_behind) {
        (void)hamid_grpc_call_send(listener->call, plugin->devices,
                                   plugin->devices_length);
    }
}

static void listener_drained(void *data)
{
    struct listener *listener = data;

    if (listener->is_behind) {
        send_devices(listener);
    }
}

void gateway_handle_list(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                         size_t length)
{
    struct gateway_plugin *plugin = data;
    struct listener *listener = calloc(1, sizeof(*listener));

    (void)message;
    (void)length;
    if (listener == NULL || !gateway_call_add(plugin, &listener->base, listener_cut)) {
        free(listener);
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "too many calls");
        return;
    }
    listener->call = call;
    hamid_grpc_call_watch(call, listener_gone, listener_drained, listener);
    send_devices(listener);
}

/* ---- towards the plugin
 * ------------------------------------------------------------------------- */

static void devices_came(void *data, const uint8_t *message, size_t length)
{
    struct gateway_plugin *plugin = data;
    uint8_t *copy = malloc(length + 1);

    if (copy == NULL) {
        return; /* the kubelet goes on with what it has */
    }
    memcpy(copy, message, length);
    free(plugin->devices);
    plugin->devices = copy;
    plugin->devices_length = length;
    for (struct gateway_call *call = plugin->calls, *next; call != NULL; call = next) {
        next = call->next;
        if (call->cut == listener_cut) {
            send_devices((struct listener *)call);
        }
    }
}

static void listing_ended(void *data, const struct hamid_grpc_status *status)
{
    struct gateway_plugin *plugin = data;

    plugin->listing = NULL;
    hamid_log_warning("A device plugin is gone", "resource", plugin->resource, "endpoint",
                      plugin->endpoint, "code", hamid_grpc_code_name(status->code), "err",
                      status->text, NULL);
    gateway_plugin_remove(plugin);
}

bool gateway_listing_start(struct gateway_plugin *plugin)
{
    struct hamid_grpc_call_config config = {
        .method = HAMID_KUBELET_LIST_AND_WATCH,
        .message = (const uint8_t *)"",
        .many = true,
        .message_came = devices_came,
        .ended = listing_ended,
        .data = plugin,
    };

    plugin->listing = hamid_grpc_client_call(plugin->client, &config);
    return plugin->listing != NULL;
}

void gateway_listing_stop(struct gateway_plugin *plugin)
{
    if (plugin->listing != NULL) {
        hamid_grpc_request_cancel(plugin->listing);
        plugin->listing = NULL;
    }
}
