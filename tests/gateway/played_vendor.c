/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The played vendor's plugin. Loop's thread, but for what the test calls. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "played.h"

#define DEVICES_MAX 8192
#define CALL_MS 30000

static void get_options(void *data, struct hamid_grpc_call *call)
{
    const struct played_vendor *vendor = data;
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    options.pre_start_required = vendor->wants_pre_start;
    options.get_preferred_allocation_available = 1;
    hamid_kubelet_reply(call, &options.base);
}

/* ---- devices ---- */

static void send_devices(struct played_vendor *vendor)
{
    static V1beta1__Device devices[DEVICES_MAX], *list[DEVICES_MAX];
    static char names[DEVICES_MAX][24];
    V1beta1__ListAndWatchResponse answer = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

    for (size_t i = 0; i < vendor->device_count; i++) {
        v1beta1__device__init(&devices[i]);
        snprintf(names[i], sizeof(names[i]), "d-%zu", i);
        devices[i].id = names[i];
        devices[i].health = (char *)HAMID_KUBELET_HEALTHY;
        list[i] = &devices[i];
    }
    answer.n_devices = vendor->device_count;
    answer.devices = list;
    (void)hamid_kubelet_send(vendor->watcher, &answer.base);
}

static void watcher_gone(void *data)
{
    ((struct played_vendor *)data)->watcher = NULL;
}

static void list_and_watch(void *data, struct hamid_grpc_call *call)
{
    struct played_vendor *vendor = data;

    stage_change(vendor->stage);
    vendor->lists++;
    stage_changed(vendor->stage);
    vendor->watcher = call;
    hamid_grpc_call_watch(call, watcher_gone, NULL, vendor);
    send_devices(vendor);
}

/* ---- calls ---- */

static void answer_allocate(struct played_vendor *vendor, struct hamid_grpc_call *call,
                            const char *id)
{
    V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
    V1beta1__ContainerAllocateResponse container =
        V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
    V1beta1__ContainerAllocateResponse *containers[] = {&container};
    V1beta1__Pair variable = V1BETA1__PAIR__INIT, *variables[] = {&variable};
    char text[128];

    if (vendor->refuses != NULL) {
        hamid_grpc_call_end(call, HAMID_GRPC_NOT_FOUND, vendor->refuses);
        return;
    }
    snprintf(text, sizeof(text), "vendor's %s", id);
    variable.key = (char *)"DEVICES";
    variable.value = text;
    container.n_envs = 1;
    container.envs = variables;
    answer.n_container_responses = 1;
    answer.container_responses = containers;
    hamid_kubelet_reply(call, &answer.base);
}

static void held_gone(void *data)
{
    struct played_vendor *vendor = data;

    vendor->held = NULL;
    stage_change(vendor->stage);
    vendor->was_cancelled = true;
    stage_changed(vendor->stage);
}

static void allocate(void *data, struct hamid_grpc_call *call,
                     const V1beta1__AllocateRequest *request)
{
    struct played_vendor *vendor = data;

    if (vendor->in_allocate != NULL) {
        vendor->in_allocate(vendor->data);
    }
    if (vendor->holds) {
        vendor->held = call;
        hamid_grpc_call_watch(call, held_gone, NULL, vendor);
    } else {
        answer_allocate(vendor, call, request->container_requests[0]->ids[0]);
    }
    stage_change(vendor->stage);
    vendor->allocates++;
    stage_changed(vendor->stage);
}

static void get_preferred(void *data, struct hamid_grpc_call *call,
                          const V1beta1__PreferredAllocationRequest *request)
{
    V1beta1__PreferredAllocationResponse answer =
        V1BETA1__PREFERRED_ALLOCATION_RESPONSE__INIT;
    V1beta1__ContainerPreferredAllocationResponse container =
        V1BETA1__CONTAINER_PREFERRED_ALLOCATION_RESPONSE__INIT;
    V1beta1__ContainerPreferredAllocationResponse *containers[] = {&container};

    (void)data;
    container.n_ids = request->container_requests[0]->n_available_ids;
    container.ids = request->container_requests[0]->available_ids;
    answer.n_container_responses = 1;
    answer.container_responses = containers;
    hamid_kubelet_reply(call, &answer.base);
}

static void pre_start(void *data, struct hamid_grpc_call *call,
                      const V1beta1__PreStartContainerRequest *request)
{
    struct played_vendor *vendor = data;
    V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

    (void)request;
    stage_change(vendor->stage);
    vendor->pre_starts++;
    stage_changed(vendor->stage);
    hamid_kubelet_reply(call, &empty.base);
}

/* ---- life ---- */

static void open_vendor(void *data)
{
    struct played_vendor *vendor = data;
    struct hamid_grpc_server_config server = {.methods = hamid_kubelet_plugin_methods,
                                              .data = &vendor->service};
    char path[128], error[256];
    struct hamid_grpc_client_config client = {.path = path};

    snprintf(path, sizeof(path), "%s/%s", vendor->folder, vendor->endpoint);
    vendor->server = hamid_grpc_server_new(vendor->stage->base, &server);
    (void)hamid_grpc_server_listen(vendor->server, path, 0600, error, sizeof(error));
    snprintf(path, sizeof(path), "%s/kubelet.sock", vendor->folder);
    vendor->client = hamid_grpc_client_new(vendor->stage->base, &client);
}

static void close_vendor(void *data)
{
    struct played_vendor *vendor = data;

    vendor->server = hamid_grpc_server_free(vendor->server);
    vendor->client = hamid_grpc_client_free(vendor->client);
}

void vendor_start(struct played_vendor *vendor, struct stage *stage, const char *folder)
{
    vendor->stage = stage;
    vendor->endpoint = vendor->endpoint != NULL ? vendor->endpoint : "vendor.sock";
    vendor->resource = vendor->resource != NULL ? vendor->resource : PLAYED_RESOURCE;
    vendor->service = (struct hamid_kubelet_service){
        .data = vendor,
        .get_options = get_options,
        .list_and_watch = list_and_watch,
        .get_preferred = get_preferred,
        .allocate = allocate,
        .pre_start = pre_start,
    };
    snprintf(vendor->folder, sizeof(vendor->folder), "%s/vendors", folder);
    stage_do(stage, open_vendor, vendor);
}

void vendor_stop(struct played_vendor *vendor)
{
    stage_do(vendor->stage, close_vendor, vendor);
}

struct registration {
    struct played_vendor *vendor;
    struct outcome outcome;
};

static void registered(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    struct registration *registration = data;

    (void)answer;
    stage_change(registration->vendor->stage);
    snprintf(registration->outcome.text, sizeof(registration->outcome.text), "%s",
             status->text);
    registration->outcome.code = status->code;
    stage_changed(registration->vendor->stage);
}

static void start_register(void *data)
{
    struct registration *registration = data;
    const struct played_vendor *vendor = registration->vendor;
    V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;

    request.version = (char *)HAMID_KUBELET_VERSION;
    request.endpoint = (char *)vendor->endpoint;
    request.resource_name = (char *)vendor->resource;
    (void)hamid_kubelet_register(vendor->client, &request, CALL_MS, registered,
                                 registration);
}

static bool has_registered(const void *data)
{
    return ((const struct registration *)data)->outcome.code >= 0;
}

struct outcome vendor_register(struct played_vendor *vendor)
{
    struct registration registration = {vendor, {.code = -1}};

    stage_do(vendor->stage, start_register, &registration);
    ck_assert(stage_wait(vendor->stage, has_registered, &registration));
    return registration.outcome;
}

static void tell_devices(void *data)
{
    struct played_vendor *vendor = data;

    if (vendor->watcher != NULL) {
        send_devices(vendor);
    }
}

void vendor_tell_devices(struct played_vendor *vendor, size_t count)
{
    vendor->device_count = count;
    stage_do(vendor->stage, tell_devices, vendor);
}

struct wanted {
    const struct played_vendor *vendor;
    unsigned count;
};

static bool has_allocates(const void *data)
{
    const struct wanted *wanted = data;

    return wanted->vendor->allocates >= wanted->count;
}

void vendor_wait_allocates(struct played_vendor *vendor, unsigned count)
{
    struct wanted wanted = {vendor, count};

    ck_assert(stage_wait(vendor->stage, has_allocates, &wanted));
}

static void let_go(void *data)
{
    struct played_vendor *vendor = data;
    struct hamid_grpc_call *call = vendor->held;

    vendor->held = NULL;
    vendor->holds = false;
    if (call != NULL) {
        hamid_grpc_call_watch(call, NULL, NULL, NULL);
        answer_allocate(vendor, call, "held");
    }
}

void vendor_let_go(struct played_vendor *vendor)
{
    stage_do(vendor->stage, let_go, vendor);
}
