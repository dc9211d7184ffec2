/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gateway's front: a socket that looks like the kubelet's, where vendors' plugins
 * register; and its life. Whoever is not root, asks for a resource that is not allowed,
 * or names an odd endpoint is turned away.
 */
#include "gateway_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <event2/event.h>

#include "log.h"

/* ---- registration
 * ------------------------------------------------------------------------------- */

static bool is_allowed(const struct gateway *gateway, const char *resource)
{
    for (size_t i = 0; i < gateway->config.vendor_count; i++) {
        if (strcmp(gateway->config.vendors[i].resource, resource) == 0) {
            return true;
        }
    }
    return false;
}

/* NULL, or why the kubelet would not take it, or we do not. */
static const char *find_fault(const struct gateway *gateway,
                              const V1beta1__RegisterRequest *request)
{
    if (gateway->is_stopping) {
        return "the gateway is stopping";
    }
    if (strcmp(request->version, HAMID_KUBELET_VERSION) != 0) {
        return "this gateway speaks " HAMID_KUBELET_VERSION " only";
    }
    if (strlen(request->resource_name) >= GATEWAY_RESOURCE_MAX ||
        !is_allowed(gateway, request->resource_name)) {
        return "this resource is none of those that this gateway serves (--vendor)";
    }
    if (!folder_is_name(request->endpoint) ||
        strcmp(request->endpoint, HAMID_KUBELET_SOCKET_NAME) == 0) {
        return "the endpoint must be the plain name of a socket in this folder";
    }
    return NULL;
}

static void registers(void *data, struct hamid_grpc_call *call,
                      const V1beta1__RegisterRequest *request)
{
    struct gateway *gateway = data;
    V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
    const char *fault = find_fault(gateway, request);

    if (fault == NULL &&
        !gateway_plugin_add(gateway, request->resource_name, request->endpoint)) {
        fault = "out of memory, or too many plugins";
    }
    gateway->registrations[fault == NULL]++;
    if (fault != NULL) {
        hamid_log_warning("Refused a device plugin", "resource", request->resource_name,
                          "endpoint", request->endpoint, "err", fault, NULL);
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT, fault);
        return;
    }
    hamid_kubelet_reply(call, &empty.base);
}

static bool accept_peer(void *data, const struct hamid_grpc_peer *peer)
{
    char uid[24];

    (void)data;
    if (folder_is_trusted(peer->uid)) {
        return true;
    }
    hamid_log_warning("Refused a device plugin of another user", "uid",
                      hamid_log_number(uid, peer->uid), NULL);
    return false;
}

/* ---- the kubelet
 * -------------------------------------------------------------------------------- */

static int dial_kubelet(void *data)
{
    const struct gateway *gateway = data;

    return folder_connect(&gateway->kubelet, HAMID_KUBELET_SOCKET_NAME);
}

/* A kubelet that starts removes every socket in its folder, then makes its own. */
static void folder_changed(evutil_socket_t fd, short what, void *data)
{
    struct gateway *gateway = data;
    char bytes[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool has_started = false;
    ssize_t length;

    (void)what;
    while ((length = read(fd, bytes, sizeof(bytes))) > 0) {
        for (char *at = bytes; at < bytes + length;) {
            const struct inotify_event *event = (const struct inotify_event *)at;

            has_started =
                has_started || (event->mask & IN_Q_OVERFLOW) != 0 ||
                (event->len > 0 && strcmp(event->name, HAMID_KUBELET_SOCKET_NAME) == 0);
            at += sizeof(*event) + event->len;
        }
    }
    if (!has_started || gateway->is_stopping) {
        return;
    }
    hamid_log_info(0, "A kubelet has started: registering anew", NULL);
    for (struct gateway_plugin *plugin = gateway->plugins; plugin != NULL;
         plugin = plugin->next) {
        gateway_backend_restart(plugin);
    }
}

static bool watch_folder(struct gateway *gateway)
{
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", gateway->kubelet.fd);
    gateway->watch_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (gateway->watch_fd < 0 ||
        inotify_add_watch(gateway->watch_fd, path, IN_CREATE | IN_MOVED_TO) < 0) {
        return false;
    }
    gateway->watch = event_new(gateway->config.base, gateway->watch_fd,
                               EV_READ | EV_PERSIST, folder_changed, gateway);
    return gateway->watch != NULL && event_add(gateway->watch, NULL) == 0;
}

/* ---- life
 * ---------------------------------------------------------------------------------------
 */

static bool open_kubelet(struct gateway *gateway, char *error, size_t size)
{
    struct hamid_grpc_client_config client = {.dial = dial_kubelet, .data = gateway};

    if (!folder_open(&gateway->kubelet, gateway->config.kubelet, error, size)) {
        return false;
    }
    gateway->client = hamid_grpc_client_new(gateway->config.base, &client);
    if (gateway->client == NULL || !watch_folder(gateway)) {
        (void)snprintf(error, size, "%.200s can't be watched: %s",
                       gateway->config.kubelet, strerror(errno));
        return false;
    }
    return true;
}

static bool open_front(struct gateway *gateway, char *error, size_t size)
{
    static const struct hamid_kubelet_service nothing;
    struct hamid_kubelet_service *service = malloc(sizeof(*service));
    struct hamid_grpc_server_config server = {
        .methods = hamid_kubelet_registration_methods,
        .accept = accept_peer,
        .data = service,
    };
    int fd;

    (void)snprintf(error, size, "out of memory");
    if (service == NULL) {
        return false;
    }
    *service = nothing;
    service->data = gateway;
    service->registers = registers;
    gateway->service = service;
    gateway->server = hamid_grpc_server_new(gateway->config.base, &server);
    if (gateway->server == NULL ||
        !folder_open(&gateway->front, gateway->config.front, error, size)) {
        return false;
    }
    if (folder_is_same(&gateway->front, &gateway->kubelet)) {
        (void)snprintf(error, size,
                       "%.200s is the kubelet's own folder: its socket would be lost",
                       gateway->config.front);
        return false;
    }
    fd = folder_listen(&gateway->front, HAMID_KUBELET_SOCKET_NAME, &gateway->socket,
                       error, size);
    return fd >= 0 && hamid_grpc_server_adopt(gateway->server, fd) == 0;
}

struct gateway *gateway_new(const struct gateway_config *config, char *error, size_t size)
{
    struct gateway *gateway = calloc(1, sizeof(*gateway));

    if (gateway == NULL) {
        (void)snprintf(error, size, "out of memory");
        return NULL;
    }
    gateway->config = *config;
    gateway->front.fd = gateway->kubelet.fd = gateway->watch_fd = -1;
    if (!open_kubelet(gateway, error, size) || !open_front(gateway, error, size)) {
        return gateway_free(gateway);
    }
    hamid_log_info(0, "Standing in for the kubelet", "front", config->front, "kubelet",
                   config->kubelet, NULL);
    return gateway;
}

void gateway_stop(struct gateway *gateway)
{
    gateway->is_stopping = true;
    if (gateway->server != NULL) {
        folder_remove(&gateway->front, &gateway->socket);
        hamid_grpc_server_stop(gateway->server);
    }
}

bool gateway_is_idle(const struct gateway *gateway)
{
    return gateway->allocates == 0;
}

void gateway_close(struct gateway *gateway)
{
    gateway_stop(gateway);
    while (gateway->plugins != NULL) {
        gateway_plugin_remove(gateway->plugins);
    }
    gateway->server = hamid_grpc_server_free(gateway->server);
    gateway->client = hamid_grpc_client_free(gateway->client);
    if (gateway->watch != NULL) {
        event_free(gateway->watch);
        gateway->watch = NULL;
    }
    if (gateway->watch_fd >= 0) {
        (void)close(gateway->watch_fd);
        gateway->watch_fd = -1;
    }
}

size_t gateway_pending(const struct gateway *gateway)
{
    return gateway->pending;
}

struct gateway *gateway_free(struct gateway *gateway)
{
    if (gateway != NULL) {
        gateway_close(gateway);
        folder_close(&gateway->front);
        folder_close(&gateway->kubelet);
        free(gateway->service);
        free(gateway);
    }
    return NULL;
}

void gateway_metrics(FILE *out, void *data)
{
    const struct gateway *gateway = data;
    const uint64_t *outcomes = gateway->outcomes;
    size_t registered = 0;

    for (const struct gateway_plugin *plugin = gateway->plugins; plugin != NULL;
         plugin = plugin->next) {
        registered += plugin->is_registered;
    }
    (void)fprintf(
        out,
        "# HELP hamid_gateway_plugins Device plugins behind the gateway.\n"
        "# TYPE hamid_gateway_plugins gauge\n"
        "hamid_gateway_plugins{registered=\"yes\"} %zu\n"
        "hamid_gateway_plugins{registered=\"no\"} %zu\n"
        "# HELP hamid_gateway_registrations_total Registrations of device plugins.\n"
        "# TYPE hamid_gateway_registrations_total counter\n"
        "hamid_gateway_registrations_total{outcome=\"taken\"} %" PRIu64 "\n"
        "hamid_gateway_registrations_total{outcome=\"refused\"} %" PRIu64 "\n"
        "# HELP hamid_gateway_allocates_total Allocate calls of the kubelet.\n"
        "# TYPE hamid_gateway_allocates_total counter\n"
        "hamid_gateway_allocates_total{outcome=\"served\"} %" PRIu64 "\n"
        "hamid_gateway_allocates_total{outcome=\"refused\"} %" PRIu64 "\n"
        "hamid_gateway_allocates_total{outcome=\"vendor_failed\"} %" PRIu64 "\n"
        "hamid_gateway_allocates_total{outcome=\"not_written\"} %" PRIu64 "\n"
        "hamid_gateway_allocates_total{outcome=\"gone\"} %" PRIu64 "\n"
        "# HELP hamid_gateway_starts_refused_total Containers that were not let start.\n"
        "# TYPE hamid_gateway_starts_refused_total counter\n"
        "hamid_gateway_starts_refused_total %" PRIu64 "\n",
        registered, gateway->plugin_count - registered, gateway->registrations[1],
        gateway->registrations[0], outcomes[GATEWAY_SERVED], outcomes[GATEWAY_REFUSED],
        outcomes[GATEWAY_VENDOR_FAILED], outcomes[GATEWAY_NOT_WRITTEN],
        outcomes[GATEWAY_GONE], gateway->starts_refused);
}
