/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plugin answers the kubelet. A ListAndWatch stream that is slow gets only the
 * newest list: while one waits to be sent, no second is put behind it.
 */
#include "service.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "allocate.h"
#include "node/checks.h"
#include "log.h"
#include "preferred.h"

struct stream {
    LIST_ENTRY(stream) siblings;
    struct service *service;
    struct hamid_grpc_call *call;
    bool is_outdated; /* a list waits to be sent that is no longer true */
};

struct service {
    struct plugin_settings *settings;
    struct allocate *allocate;
    struct checks *checks;
    uint64_t timeout_ms;
    struct hamid_kubelet_service methods;
    LIST_HEAD(, stream) streams;
    size_t stream_count;
};

/* ---- the list of devices ----------------------------------------------------------- */

/* All shares of a device; false without memory. */
static bool add_shares(V1beta1__ListAndWatchResponse *list,
                       const struct plugin_device *device)
{
    for (uint32_t share = 0; share < device->shares; share++) {
        V1beta1__Device *entry = malloc(sizeof(*entry));
        char id[PLUGIN_ID_MAX];

        if (entry == NULL) {
            return false;
        }
        v1beta1__device__init(entry);
        list->devices[list->n_devices++] = entry;
        plugin_id_format(device, share, id);
        entry->id = strdup(id);
        entry->health =
            strdup(device->is_healthy ? HAMID_KUBELET_HEALTHY : HAMID_KUBELET_UNHEALTHY);
        if (entry->id == NULL || entry->health == NULL) {
            return false;
        }
        if (device->numa != PLUGIN_NO_NUMA) {
            entry->topology = malloc(sizeof(*entry->topology));
            if (entry->topology == NULL) {
                return false;
            }
            v1beta1__topology_info__init(entry->topology);
            entry->topology->nodes = malloc(sizeof(*entry->topology->nodes));
            V1beta1__NumaNode *node = malloc(sizeof(*node));
            if (entry->topology->nodes == NULL || node == NULL) {
                free(node);
                return false;
            }
            v1beta1__numa_node__init(node);
            node->id = device->numa;
            entry->topology->nodes[0] = node;
            entry->topology->n_nodes = 1;
        }
    }
    return true;
}

/* NULL without memory. */
static V1beta1__ListAndWatchResponse *list_devices(const struct plugin_settings *settings)
{
    V1beta1__ListAndWatchResponse *list = malloc(sizeof(*list));
    size_t count = 0;

    if (list == NULL) {
        return NULL;
    }
    v1beta1__list_and_watch_response__init(list);
    for (size_t i = 0; i < settings->device_count; i++) {
        count += settings->devices[i].shares;
    }
    list->devices = calloc(count + 1, sizeof(*list->devices));
    bool is_whole = list->devices != NULL;
    for (size_t i = 0; i < settings->device_count && is_whole; i++) {
        is_whole = add_shares(list, &settings->devices[i]);
    }
    if (!is_whole) {
        protobuf_c_message_free_unpacked(&list->base, NULL);
        return NULL;
    }
    return list;
}

static void forget(struct stream *stream)
{
    stream->service->stream_count--;
    LIST_REMOVE(stream, siblings);
    free(stream);
}

static void send_list(struct stream *stream)
{
    V1beta1__ListAndWatchResponse *list;
    int code = -1;

    stream->is_outdated = hamid_grpc_call_pending(stream->call) > 0;
    if (stream->is_outdated) {
        return; /* when that has left */
    }
    list = list_devices(stream->service->settings);
    if (list != NULL) {
        code = hamid_kubelet_send(stream->call, &list->base);
        protobuf_c_message_free_unpacked(&list->base, NULL);
    }
    if (code != 0) {
        /* The kubelet calls again when it is registered with again. */
        hamid_grpc_call_end(stream->call, HAMID_GRPC_RESOURCE_EXHAUSTED,
                            "the list of devices is too long");
        forget(stream);
    }
}

static void stream_gone(void *data)
{
    hamid_log_info(3, "The kubelet no longer listens to the devices", NULL);
    forget(data);
}

static void stream_drained(void *data)
{
    struct stream *stream = data;

    if (stream->is_outdated) {
        send_list(stream);
    }
}

static void list_and_watch(void *data, struct hamid_grpc_call *call)
{
    struct service *service = data;
    struct stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    stream->service = service;
    stream->call = call;
    LIST_INSERT_HEAD(&service->streams, stream, siblings);
    service->stream_count++;
    hamid_grpc_call_watch(call, stream_gone, stream_drained, stream);
    hamid_log_info(1, "The kubelet listens to the devices", NULL);
    send_list(stream);
}

void service_devices_changed(struct service *service)
{
    struct stream *stream = LIST_FIRST(&service->streams);

    while (stream != NULL) {
        struct stream *next = LIST_NEXT(stream, siblings);

        send_list(stream);
        stream = next;
    }
}

/* ---- the other calls --------------------------------------------------------------- */

bool service_wants_pre_start(const struct service *service)
{
    return service->settings->has_pre_start || service->checks != NULL;
}

static void get_options(void *data, struct hamid_grpc_call *call)
{
    struct service *service = data;
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    options.pre_start_required = service_wants_pre_start(service);
    options.get_preferred_allocation_available = true;
    hamid_kubelet_reply(call, &options.base);
}

static void get_preferred(void *data, struct hamid_grpc_call *call,
                          const V1beta1__PreferredAllocationRequest *request)
{
    struct service *service = data;

    preferred_answer(service->settings, call, request);
}

static void allocate(void *data, struct hamid_grpc_call *call,
                     const V1beta1__AllocateRequest *request)
{
    struct service *service = data;

    allocate_begin(service->allocate, call, request);
}

/* ---- before a container starts ----------------------------------------------------- */

/* One PreStartContainer that waits for the books. */
struct start {
    struct hamid_grpc_call *call;
    struct checks_ask *ask;
};

static void start_gone(void *data)
{
    struct start *start = data;

    checks_ask_cancel(start->ask);
    free(start);
}

static void let_start(struct hamid_grpc_call *call)
{
    const V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

    hamid_kubelet_reply(call, &empty.base);
}

/* What the books don't know yet is no reason to refuse. */
static void start_told(void *data, enum answers_verdict verdict, const char *text)
{
    struct start *start = data;
    struct hamid_grpc_call *call = start->call;

    hamid_grpc_call_watch(call, NULL, NULL, NULL);
    free(start);
    if (verdict == ANSWERS_SWAPPED) {
        hamid_log_error("A container must not start: it has another's devices", "err",
                        text, NULL);
        hamid_grpc_call_end(call, HAMID_GRPC_FAILED_PRECONDITION, text);
    } else {
        let_start(call);
    }
}

static void ask_books(struct service *service, struct hamid_grpc_call *call,
                      const V1beta1__PreStartContainerRequest *request)
{
    struct start *start = calloc(1, sizeof(*start));

    if (start != NULL) {
        start->call = call;
        start->ask = checks_ask_start(service->checks, service->settings->resource,
                                      (const char *const *)request->ids, request->n_ids,
                                      service->timeout_ms, start_told, start);
    }
    if (start == NULL || start->ask == NULL) {
        free(start);
        hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "out of memory");
        return;
    }
    hamid_grpc_call_watch(call, start_gone, NULL, start);
}

/* The last moment at which a container can be kept from a device that has failed, or that
 * is another's. */
static void pre_start(void *data, struct hamid_grpc_call *call,
                      const V1beta1__PreStartContainerRequest *request)
{
    struct service *service = data;
    char text[400];

    for (size_t i = 0; i < request->n_ids; i++) {
        const struct plugin_device *device =
            plugin_id_find(service->settings, request->ids[i]);

        if (device == NULL || !device->is_healthy) {
            (void)snprintf(text, sizeof(text), "%.300s %s", request->ids[i],
                           device == NULL ? "is no device of this plugin"
                                          : "is not healthy");
            hamid_grpc_call_end(call, HAMID_GRPC_FAILED_PRECONDITION, text);
            return;
        }
    }
    if (service->checks != NULL) {
        ask_books(service, call, request);
    } else {
        let_start(call);
    }
}

/* ---- life -------------------------------------------------------------------------- */

struct service *service_new(struct plugin_settings *settings, struct allocate *one,
                            struct checks *checks, uint64_t timeout_ms)
{
    struct service *service = calloc(1, sizeof(*service));

    if (service == NULL) {
        return NULL;
    }
    service->settings = settings;
    service->allocate = one;
    service->checks = checks;
    service->timeout_ms = timeout_ms;
    LIST_INIT(&service->streams);
    service->methods = (struct hamid_kubelet_service){.data = service,
                                                      .get_options = get_options,
                                                      .list_and_watch = list_and_watch,
                                                      .get_preferred = get_preferred,
                                                      .allocate = allocate,
                                                      .pre_start = pre_start};
    return service;
}

const struct hamid_kubelet_service *service_methods(const struct service *service)
{
    return &service->methods;
}

size_t service_streams(void *service)
{
    return ((const struct service *)service)->stream_count;
}

struct service *service_free(struct service *service)
{
    free(service);
    return NULL;
}
