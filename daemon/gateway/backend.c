/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin's place in the kubelet's folder: a socket of ours, under the vendor's
 * resource. A kubelet that starts removes the socket and knows nobody; then it is all
 * done again. Loop's thread.
 */
#include "gateway_internal.h"

#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "log.h"

#define REGISTER_MS 5000
#define PAUSE_FIRST_MS 50
#define PAUSE_LAST_MS 2000
#define PAUSE_LOST_MS 500

static const struct hamid_grpc_method methods[] = {
    {HAMID_KUBELET_GET_OPTIONS, gateway_handle_options},
    {HAMID_KUBELET_LIST_AND_WATCH, gateway_handle_list},
    {HAMID_KUBELET_GET_PREFERRED, gateway_handle_preferred},
    {HAMID_KUBELET_ALLOCATE, gateway_handle_allocate},
    {HAMID_KUBELET_PRE_START, gateway_handle_pre_start},
    {NULL, NULL},
};

/* "hamid-" and the resource with '_' for '/'; a long one by its hash. */
static void name_socket(const char *resource, char *name, size_t size)
{
    uint64_t hash = UINT64_C(1469598103934665603);
    int length = snprintf(name, size, "hamid-%s.sock", resource);

    if (length < 0 || (size_t)length >= size) {
        for (const char *c = resource; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
        }
        (void)snprintf(name, size, "hamid-%016llx.sock", (unsigned long long)hash);
    }
    for (char *c = name; *c != '\0'; c++) {
        *c = *c == '/' ? '_' : *c;
    }
}

static bool accept_peer(void *data, const struct hamid_grpc_peer *peer)
{
    (void)data;
    return folder_is_trusted(peer->uid);
}

static bool open_socket(struct gateway_plugin *plugin)
{
    struct hamid_grpc_server_config config = {
        .methods = methods, .data = plugin, .accept = accept_peer};
    char name[FOLDER_NAME_MAX], error[256] = "out of memory";
    int fd;

    name_socket(plugin->resource, name, sizeof(name));
    plugin->server = hamid_grpc_server_new(plugin->gateway->config.base, &config);
    if (plugin->server != NULL) {
        fd = folder_listen(&plugin->gateway->kubelet, name, &plugin->socket, error,
                           sizeof(error));
        if (fd >= 0 && hamid_grpc_server_adopt(plugin->server, fd) == 0) {
            return true;
        }
    }
    hamid_log_warning("Can't listen for the kubelet", "resource", plugin->resource, "err",
                      error, NULL);
    plugin->server = hamid_grpc_server_free(plugin->server);
    return false;
}

static void close_socket(struct gateway_plugin *plugin)
{
    folder_remove(&plugin->gateway->kubelet, &plugin->socket);
    plugin->server = hamid_grpc_server_free(plugin->server);
}

static void plan_retry(struct gateway_plugin *plugin)
{
    struct timeval pause = {(time_t)(plugin->pause_ms / 1000),
                            (suseconds_t)(plugin->pause_ms % 1000) * 1000};

    (void)event_add(plugin->retry, &pause);
    plugin->pause_ms *= 2;
    if (plugin->pause_ms > PAUSE_LAST_MS) {
        plugin->pause_ms = PAUSE_LAST_MS;
    }
}

static void registered(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    struct gateway_plugin *plugin = data;

    plugin->registering = NULL;
    if (answer != NULL) {
        plugin->is_registered = true;
        plugin->pause_ms = PAUSE_FIRST_MS;
        hamid_log_info(0, "Registered with the kubelet", "resource", plugin->resource,
                       "endpoint", plugin->socket.name, NULL);
        return;
    }
    hamid_log_info(2, "The kubelet did not take a registration; trying again", "resource",
                   plugin->resource, "err", status->text, NULL);
    plan_retry(plugin);
}

static void attempt(struct gateway_plugin *plugin)
{
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;
    V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;

    if (plugin->server != NULL &&
        !folder_has(&plugin->gateway->kubelet, &plugin->socket)) {
        close_socket(plugin); /* a kubelet that started has removed it */
    }
    if (plugin->server != NULL || open_socket(plugin)) {
        options.pre_start_required = 1;
        options.get_preferred_allocation_available = plugin->wants_preferred;
        request.version = (char *)HAMID_KUBELET_VERSION;
        request.endpoint = plugin->socket.name;
        request.resource_name = plugin->resource;
        request.options = &options;
        plugin->registering = hamid_kubelet_register(plugin->gateway->client, &request,
                                                     REGISTER_MS, registered, plugin);
    }
    if (plugin->registering == NULL) {
        plan_retry(plugin);
    }
}

static void retry_due(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    attempt(data);
}

void gateway_backend_start(struct gateway_plugin *plugin)
{
    plugin->pause_ms = PAUSE_FIRST_MS;
    plugin->retry = event_new(plugin->gateway->config.base, -1, 0, retry_due, plugin);
    if (plugin->retry != NULL) {
        attempt(plugin);
    }
}

void gateway_backend_restart(struct gateway_plugin *plugin)
{
    if (plugin->retry == NULL) {
        return; /* not begun yet: its options are still asked for */
    }
    if (plugin->registering != NULL) {
        hamid_kubelet_request_cancel(plugin->registering);
        plugin->registering = NULL;
    }
    (void)event_del(plugin->retry);
    plugin->is_registered = false;
    plugin->pause_ms = PAUSE_FIRST_MS;
    close_socket(plugin);
    attempt(plugin);
}

/* A kubelet that has ended makes itself heard when it is back; one that has only dropped
 * the plugin does not, so that it is asked again. */
void gateway_backend_lost(struct gateway_plugin *plugin)
{
    if (plugin->is_registered && plugin->registering == NULL) {
        plugin->is_registered = false;
        plugin->pause_ms = PAUSE_LOST_MS;
        plan_retry(plugin);
    }
}

void gateway_backend_stop(struct gateway_plugin *plugin)
{
    if (plugin->registering != NULL) {
        hamid_kubelet_request_cancel(plugin->registering);
        plugin->registering = NULL;
    }
    if (plugin->retry != NULL) {
        event_free(plugin->retry);
        plugin->retry = NULL;
    }
    plugin->is_registered = false;
    close_socket(plugin);
}

void gateway_handle_options(void *data, struct hamid_grpc_call *call,
                            const uint8_t *message, size_t length)
{
    const struct gateway_plugin *plugin = data;
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    (void)message;
    (void)length;
    options.pre_start_required = 1;
    options.get_preferred_allocation_available = plugin->wants_preferred;
    hamid_kubelet_reply(call, &options.base);
}
