/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One vendor's device plugin behind the gateway: asked for its options and its devices
 * when it has registered, then registered with the kubelet in its place. As with the
 * kubelet, a plugin whose ListAndWatch ends is gone until it registers anew. Loop's
 * thread.
 */
#include "gateway_internal.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "log.h"

#define OPTIONS_MS 5000

/* ---- open calls
 * --------------------------------------------------------------------------------- */

bool gateway_call_add(struct gateway_plugin *plugin, struct gateway_call *call,
                      void (*cut)(struct gateway_call *call))
{
    if (plugin->call_count >= GATEWAY_CALLS_MAX) {
        return false;
    }
    call->plugin = plugin;
    call->cut = cut;
    call->next = plugin->calls;
    call->link = &plugin->calls;
    if (call->next != NULL) {
        call->next->link = &call->next;
    }
    plugin->calls = call;
    plugin->call_count++;
    return true;
}

void gateway_call_remove(struct gateway_call *call)
{
    if (call->plugin != NULL) {
        *call->link = call->next;
        if (call->next != NULL) {
            call->next->link = call->link;
        }
        call->plugin->call_count--;
        call->plugin = NULL;
    }
}

/* ---- life
 * ---------------------------------------------------------------------------------------
 */

static int dial_plugin(void *data)
{
    const struct gateway_plugin *plugin = data;

    return folder_connect(&plugin->gateway->front, plugin->endpoint);
}

void gateway_plugin_remove(struct gateway_plugin *plugin)
{
    struct gateway *gateway = plugin->gateway;

    while (plugin->calls != NULL) {
        struct gateway_call *call = plugin->calls;

        gateway_call_remove(call);
        call->cut(call);
    }
    gateway_backend_stop(plugin);
    gateway_listing_stop(plugin);
    if (plugin->asking != NULL) {
        hamid_kubelet_request_cancel(plugin->asking);
    }
    hamid_grpc_client_free(plugin->client);
    *plugin->link = plugin->next;
    if (plugin->next != NULL) {
        plugin->next->link = plugin->link;
    }
    gateway->plugin_count--;
    free(plugin->devices);
    free(plugin);
}

static void got_options(void *data, const ProtobufCMessage *answer,
                        const struct hamid_grpc_status *status)
{
    struct gateway_plugin *plugin = data;
    const V1beta1__DevicePluginOptions *options =
        (const V1beta1__DevicePluginOptions *)answer;

    plugin->asking = NULL;
    if (options == NULL && status->code != HAMID_GRPC_UNIMPLEMENTED) {
        hamid_log_warning("A device plugin that has registered does not answer",
                          "resource", plugin->resource, "endpoint", plugin->endpoint,
                          "err", status->text, NULL);
        gateway_plugin_remove(plugin);
        return;
    }
    plugin->has_options = true;
    plugin->wants_pre_start = options != NULL && options->pre_start_required;
    plugin->wants_preferred =
        options != NULL && options->get_preferred_allocation_available;
    if (!gateway_listing_start(plugin)) {
        gateway_plugin_remove(plugin);
        return;
    }
    gateway_backend_start(plugin);
}

static void remove_older(struct gateway *gateway, const char *resource)
{
    for (struct gateway_plugin *plugin = gateway->plugins, *next; plugin != NULL;
         plugin = next) {
        next = plugin->next;
        if (strcmp(plugin->resource, resource) == 0) {
            gateway_plugin_remove(plugin);
        }
    }
}

bool gateway_plugin_add(struct gateway *gateway, const char *resource,
                        const char *endpoint)
{
    struct hamid_grpc_client_config config = {.dial = dial_plugin};
    struct gateway_plugin *plugin;

    remove_older(gateway, resource);
    if (gateway->plugin_count >= GATEWAY_PLUGINS_MAX) {
        return false;
    }
    plugin = calloc(1, sizeof(*plugin));
    if (plugin == NULL) {
        return false;
    }
    plugin->gateway = gateway;
    (void)snprintf(plugin->resource, sizeof(plugin->resource), "%s", resource);
    (void)snprintf(plugin->endpoint, sizeof(plugin->endpoint), "%s", endpoint);
    plugin->next = gateway->plugins;
    plugin->link = &gateway->plugins;
    if (plugin->next != NULL) {
        plugin->next->link = &plugin->next;
    }
    gateway->plugins = plugin;
    gateway->plugin_count++;
    config.data = plugin;
    plugin->client = hamid_grpc_client_new(gateway->config.base, &config);
    plugin->asking =
        plugin->client != NULL
            ? hamid_kubelet_get_options(plugin->client, OPTIONS_MS, got_options, plugin)
            : NULL;
    if (plugin->asking == NULL) {
        gateway_plugin_remove(plugin);
        return false;
    }
    hamid_log_info(0, "A device plugin has registered", "resource", resource, "endpoint",
                   endpoint, NULL);
    return true;
}
