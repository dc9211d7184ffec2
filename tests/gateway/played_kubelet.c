/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The played kubelet. Loop's thread, but for what the test calls. */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "played.h"

#define CALL_MS 30000

/* ---- its servers ---- */

static void devices_came(void *data, const ProtobufCMessage *answer,
                         const struct hamid_grpc_status *status)
{
    struct played_kubelet *kubelet = data;
    const V1beta1__ListAndWatchResponse *list =
        (const V1beta1__ListAndWatchResponse *)answer;

    stage_change(kubelet->stage);
    if (status != NULL) {
        kubelet->is_listing = false;
        kubelet->listing = NULL;
    } else {
        kubelet->lists++;
        kubelet->devices = list->n_devices;
        kubelet->unhealthy = 0;
        for (size_t i = 0; i < list->n_devices; i++) {
            kubelet->unhealthy += strcmp(list->devices[i]->health, "Healthy") != 0;
        }
    }
    stage_changed(kubelet->stage);
}

static void registers(void *data, struct hamid_grpc_call *call,
                      const V1beta1__RegisterRequest *request)
{
    struct played_kubelet *kubelet = data;
    V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
    struct hamid_grpc_client_config config = {.path = kubelet->endpoint};

    snprintf(kubelet->endpoint, sizeof(kubelet->endpoint), "%.60s/%.30s", kubelet->folder,
             request->endpoint);
    hamid_grpc_client_free(kubelet->client);
    kubelet->client = hamid_grpc_client_new(kubelet->stage->base, &config);
    stage_change(kubelet->stage);
    kubelet->registrations++;
    kubelet->pre_start_required =
        request->options != NULL && request->options->pre_start_required;
    kubelet->is_listing = true;
    stage_changed(kubelet->stage);
    kubelet->listing =
        hamid_kubelet_list_and_watch(kubelet->client, devices_came, kubelet);
    hamid_kubelet_reply(call, &empty.base);
}

/* One pod a row: enough for readers, which look at rows alone. */
static void pack_books(struct played_kubelet *kubelet, struct hamid_grpc_call *call)
{
    V1__ListPodResourcesResponse list = V1__LIST_POD_RESOURCES_RESPONSE__INIT;
    V1__PodResources pods[PLAYED_ROWS_MAX], *pod_list[PLAYED_ROWS_MAX];
    V1__ContainerResources containers[PLAYED_ROWS_MAX], *container_list[PLAYED_ROWS_MAX];
    V1__ContainerDevices devices[PLAYED_ROWS_MAX], *device_list[PLAYED_ROWS_MAX];
    char *ids[PLAYED_ROWS_MAX];

    for (size_t i = 0; i < kubelet->row_count; i++) {
        ids[i] = kubelet->rows[i].id;
        v1__container_devices__init(&devices[i]);
        devices[i].resource_name = (char *)PLAYED_RESOURCE;
        devices[i].n_device_ids = 1;
        devices[i].device_ids = &ids[i];
        device_list[i] = &devices[i];
        v1__container_resources__init(&containers[i]);
        containers[i].name = kubelet->rows[i].container;
        containers[i].n_devices = 1;
        containers[i].devices = &device_list[i];
        container_list[i] = &containers[i];
        v1__pod_resources__init(&pods[i]);
        pods[i].name = kubelet->rows[i].pod;
        pods[i].namespace_name = (char *)"ns";
        pods[i].n_containers = 1;
        pods[i].containers = &container_list[i];
        pod_list[i] = &pods[i];
    }
    list.n_pod_resources = kubelet->row_count;
    list.pod_resources = pod_list;
    hamid_kubelet_reply(call, &list.base);
}

static void lists_books(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                        size_t length)
{
    struct played_kubelet *kubelet = data;

    (void)message;
    (void)length;
    stage_change(kubelet->stage);
    kubelet->book_reads++;
    if (kubelet->is_mute) {
        hamid_grpc_call_end(call, HAMID_GRPC_UNAVAILABLE, "played mute");
    } else {
        pack_books(kubelet, call);
    }
    stage_changed(kubelet->stage);
}

static const struct hamid_grpc_method book_methods[] = {
    {HAMID_KUBELET_PODS_LIST, lists_books},
    {NULL, NULL},
};

/* ---- life ---- */

static void remove_sockets(const char *folder)
{
    DIR *entries = opendir(folder);
    struct dirent *entry;
    char path[512];

    ck_assert_ptr_nonnull(entries);
    while ((entry = readdir(entries)) != NULL) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            unlink(path);
        }
    }
    closedir(entries);
}

static void open_servers(void *data)
{
    struct played_kubelet *kubelet = data;
    struct hamid_grpc_server_config config = {
        .methods = hamid_kubelet_registration_methods, .data = &kubelet->service};
    struct hamid_grpc_server_config books = {.methods = book_methods, .data = kubelet};
    char path[128], error[256];

    remove_sockets(kubelet->folder);
    kubelet->pod_resources = hamid_grpc_server_new(kubelet->stage->base, &books);
    (void)hamid_grpc_server_listen(kubelet->pod_resources, kubelet->books, 0600, error,
                                   sizeof(error));
    snprintf(path, sizeof(path), "%s/kubelet.sock", kubelet->folder);
    kubelet->server = hamid_grpc_server_new(kubelet->stage->base, &config);
    (void)hamid_grpc_server_listen(kubelet->server, path, 0600, error, sizeof(error));
}

static void close_servers(void *data)
{
    struct played_kubelet *kubelet = data;

    kubelet->server = hamid_grpc_server_free(kubelet->server);
    kubelet->pod_resources = hamid_grpc_server_free(kubelet->pod_resources);
    kubelet->client = hamid_grpc_client_free(kubelet->client);
}

void kubelet_start(struct played_kubelet *kubelet, struct stage *stage,
                   const char *folder)
{
    memset(kubelet, 0, sizeof(*kubelet));
    kubelet->stage = stage;
    kubelet->service.data = kubelet;
    kubelet->service.registers = registers;
    snprintf(kubelet->folder, sizeof(kubelet->folder), "%s/kubelet", folder);
    snprintf(kubelet->books, sizeof(kubelet->books), "%s/pods.sock", folder);
    mkdir(kubelet->folder, 0700);
    stage_do(stage, open_servers, kubelet);
}

void kubelet_stop(struct played_kubelet *kubelet)
{
    stage_do(kubelet->stage, close_servers, kubelet);
    remove_sockets(kubelet->folder);
    rmdir(kubelet->folder);
    unlink(kubelet->books);
}

void kubelet_restart(struct played_kubelet *kubelet)
{
    stage_do(kubelet->stage, close_servers, kubelet);
    stage_change(kubelet->stage);
    kubelet->devices = 0;
    stage_changed(kubelet->stage);
    stage_do(kubelet->stage, open_servers, kubelet);
}

static void drop_plugin(void *data)
{
    struct played_kubelet *kubelet = data;

    kubelet->client = hamid_grpc_client_free(kubelet->client);
    stage_change(kubelet->stage);
    kubelet->devices = 0;
    stage_changed(kubelet->stage);
}

void kubelet_drop_plugin(struct played_kubelet *kubelet)
{
    stage_do(kubelet->stage, drop_plugin, kubelet);
}

/* ---- what the test asks ---- */

struct wanted {
    const struct played_kubelet *kubelet;
    size_t devices;
};

static bool has_devices(const void *data)
{
    const struct wanted *wanted = data;

    return wanted->kubelet->is_listing && wanted->kubelet->devices == wanted->devices;
}

void kubelet_wait_devices(struct played_kubelet *kubelet, size_t count)
{
    struct wanted wanted = {kubelet, count};

    ck_assert_msg(stage_wait(kubelet->stage, has_devices, &wanted),
                  "no plugin listed %zu devices to the kubelet", count);
}

static bool has_no_plugin(const void *data)
{
    return !((const struct played_kubelet *)data)->is_listing;
}

void kubelet_wait_no_plugin(struct played_kubelet *kubelet)
{
    ck_assert(stage_wait(kubelet->stage, has_no_plugin, kubelet));
}

void kubelet_book(struct played_kubelet *kubelet, const char *pod, const char *container,
                  const char *id)
{
    struct played_row *row;

    stage_change(kubelet->stage);
    row = &kubelet->rows[kubelet->row_count++];
    snprintf(row->pod, sizeof(row->pod), "%s", pod);
    snprintf(row->container, sizeof(row->container), "%s", container);
    snprintf(row->id, sizeof(row->id), "%s", id);
    stage_changed(kubelet->stage);
}

void kubelet_clear_books(struct played_kubelet *kubelet)
{
    stage_change(kubelet->stage);
    kubelet->row_count = 0;
    stage_changed(kubelet->stage);
}

void kubelet_set_mute(struct played_kubelet *kubelet, bool is_mute)
{
    stage_change(kubelet->stage);
    kubelet->is_mute = is_mute;
    stage_changed(kubelet->stage);
}

/* ---- its calls ---- */

enum verb { ALLOCATE, PRE_START, PREFER, GARBAGE };

struct call {
    struct played_kubelet *kubelet;
    enum verb verb;
    const char *id;
    struct outcome *outcome; /* guarded */
};

static void take_answer(struct outcome *outcome, enum verb verb,
                        const ProtobufCMessage *answer)
{
    const V1beta1__AllocateResponse *allocated =
        (const V1beta1__AllocateResponse *)answer;
    const V1beta1__PreferredAllocationResponse *preferred =
        (const V1beta1__PreferredAllocationResponse *)answer;
    const char *text = "";

    if (verb == ALLOCATE && allocated->n_container_responses == 1 &&
        allocated->container_responses[0]->n_envs == 1) {
        text = allocated->container_responses[0]->envs[0]->value;
    } else if (verb == PREFER && preferred->n_container_responses == 1 &&
               preferred->container_responses[0]->n_ids == 1) {
        text = preferred->container_responses[0]->ids[0];
    }
    snprintf(outcome->devices, sizeof(outcome->devices), "%s", text);
}

static void call_ended(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    struct call *call = data;
    struct stage *stage = call->kubelet->stage;

    stage_change(stage);
    if (answer != NULL) {
        take_answer(call->outcome, call->verb, answer);
    }
    snprintf(call->outcome->text, sizeof(call->outcome->text), "%s", status->text);
    call->outcome->code = status->code;
    stage_changed(stage);
    free(call);
}

static void garbage_ended(void *data, const struct hamid_grpc_status *status)
{
    call_ended(data, NULL, status);
}

static void start_prefer(struct call *call, char **ids)
{
    V1beta1__PreferredAllocationRequest request =
        V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
    V1beta1__ContainerPreferredAllocationRequest container =
        V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
    V1beta1__ContainerPreferredAllocationRequest *containers[] = {&container};

    container.n_available_ids = 1;
    container.available_ids = ids;
    container.allocation_size = 1;
    request.n_container_requests = 1;
    request.container_requests = containers;
    (void)hamid_kubelet_get_preferred(call->kubelet->client, &request, CALL_MS,
                                      call_ended, call);
}

static void start_call(void *data)
{
    struct call *call = data;
    struct hamid_grpc_client *client = call->kubelet->client;
    V1beta1__AllocateRequest allocate = V1BETA1__ALLOCATE_REQUEST__INIT;
    V1beta1__ContainerAllocateRequest container =
        V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
    V1beta1__ContainerAllocateRequest *containers[] = {&container};
    V1beta1__PreStartContainerRequest start = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
    struct hamid_grpc_call_config garbage = {.method = HAMID_KUBELET_ALLOCATE,
                                             .message = (const uint8_t *)"\xff\xff\xff",
                                             .length = 3,
                                             .timeout_ms = CALL_MS,
                                             .ended = garbage_ended,
                                             .data = call};
    char *ids[] = {(char *)call->id};

    switch (call->verb) {
    case ALLOCATE:
        container.n_ids = 1;
        container.ids = ids;
        allocate.n_container_requests = 1;
        allocate.container_requests = containers;
        (void)hamid_kubelet_allocate(client, &allocate, CALL_MS, call_ended, call);
        break;
    case PRE_START:
        start.n_ids = 1;
        start.ids = ids;
        (void)hamid_kubelet_pre_start(client, &start, CALL_MS, call_ended, call);
        break;
    case PREFER:
        start_prefer(call, ids);
        break;
    case GARBAGE:
        (void)hamid_grpc_client_call(client, &garbage);
        break;
    }
}

static void call_start(struct played_kubelet *kubelet, enum verb verb, const char *id,
                       struct outcome *ret)
{
    struct call *call = calloc(1, sizeof(*call));

    ck_assert_ptr_nonnull(call);
    *ret = (struct outcome){.code = -1};
    *call = (struct call){kubelet, verb, id, ret};
    stage_do(kubelet->stage, start_call, call);
}

static bool has_ended(const void *data)
{
    return ((const struct outcome *)data)->code >= 0;
}

static struct outcome call_wait(struct played_kubelet *kubelet, enum verb verb,
                                const char *id)
{
    struct outcome outcome;

    call_start(kubelet, verb, id, &outcome);
    ck_assert(stage_wait(kubelet->stage, has_ended, &outcome));
    return outcome;
}

struct outcome kubelet_allocate(struct played_kubelet *kubelet, const char *id)
{
    return call_wait(kubelet, ALLOCATE, id);
}

struct outcome kubelet_pre_start(struct played_kubelet *kubelet, const char *id)
{
    return call_wait(kubelet, PRE_START, id);
}

struct outcome kubelet_prefer(struct played_kubelet *kubelet, const char *id)
{
    return call_wait(kubelet, PREFER, id);
}

struct outcome kubelet_allocate_garbage(struct played_kubelet *kubelet)
{
    return call_wait(kubelet, GARBAGE, "");
}

void kubelet_allocate_start(struct played_kubelet *kubelet, const char *id,
                            struct outcome *ret)
{
    call_start(kubelet, ALLOCATE, id, ret);
}
