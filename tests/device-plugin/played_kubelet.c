/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a kubelet does towards a plugin, without a pod. */
#include "played_kubelet.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <event2/event.h>

#define IDS_MAX 64

/* ---- turning ----------------------------------------------------------------------- */

static void time_is_up(evutil_socket_t fd, short what, void *data)
{
    (void)fd;
    (void)what;
    *(bool *)data = true;
}

static struct event *start_clock(struct played_kubelet *kubelet, unsigned milliseconds,
                                 bool *is_up)
{
    struct timeval after = {milliseconds / 1000, (milliseconds % 1000) * 1000};
    struct event *clock = event_new(kubelet->base, -1, 0, time_is_up, is_up);

    *is_up = false;
    event_add(clock, &after);
    return clock;
}

void kubelet_until(struct played_kubelet *kubelet, const size_t *value, size_t wanted)
{
    bool is_up;
    struct event *clock = start_clock(kubelet, PATIENCE_MS, &is_up);

    while (*value < wanted && !is_up) {
        event_base_loop(kubelet->base, EVLOOP_ONCE);
    }
    event_free(clock);
    ck_assert_msg(*value >= wanted, "it did not happen in time");
}

static bool has_health(const struct played_kubelet *kubelet, const char *id,
                       bool is_healthy)
{
    for (size_t i = 0; i < kubelet->device_count; i++) {
        if (strcmp(kubelet->devices[i].id, id) == 0) {
            return kubelet->devices[i].is_healthy == is_healthy;
        }
    }
    return false;
}

void kubelet_until_health(struct played_kubelet *kubelet, const char *id, bool is_healthy)
{
    bool is_up;
    struct event *clock = start_clock(kubelet, PATIENCE_MS, &is_up);

    while (!has_health(kubelet, id, is_healthy) && !is_up) {
        event_base_loop(kubelet->base, EVLOOP_ONCE);
    }
    event_free(clock);
    ck_assert_msg(has_health(kubelet, id, is_healthy), "%s did not become %s", id,
                  is_healthy ? "healthy" : "unhealthy");
}

void kubelet_turn(struct played_kubelet *kubelet, unsigned milliseconds)
{
    bool is_up;
    struct event *clock = start_clock(kubelet, milliseconds, &is_up);

    while (!is_up) {
        event_base_loop(kubelet->base, EVLOOP_ONCE);
    }
    event_free(clock);
}

/* ---- registration ------------------------------------------------------------------ */

static void devices_came(void *data, const ProtobufCMessage *answer,
                         const struct hamid_grpc_status *status)
{
    struct played_kubelet *kubelet = data;
    const V1beta1__ListAndWatchResponse *list =
        (const V1beta1__ListAndWatchResponse *)answer;

    if (status != NULL) {
        kubelet->watching = NULL;
        return;
    }
    ck_assert_uint_le(list->n_devices, DEVICES_MAX);
    kubelet->device_count = list->n_devices;
    for (size_t i = 0; i < list->n_devices; i++) {
        const V1beta1__Device *device = list->devices[i];

        snprintf(kubelet->devices[i].id, sizeof(kubelet->devices[i].id), "%s",
                 device->id);
        kubelet->devices[i].is_healthy =
            strcmp(device->health, HAMID_KUBELET_HEALTHY) == 0;
        kubelet->devices[i].numa =
            device->topology != NULL && device->topology->n_nodes == 1
                ? device->topology->nodes[0]->id
                : -1;
    }
    kubelet->lists++;
}

static void registers(void *data, struct hamid_grpc_call *call,
                      const V1beta1__RegisterRequest *request)
{
    struct played_kubelet *kubelet = data;
    const V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
    struct hamid_grpc_client_config plugin = {.path = kubelet->endpoint};

    ck_assert_str_eq(request->version, HAMID_KUBELET_VERSION);
    snprintf(kubelet->resource, sizeof(kubelet->resource), "%s", request->resource_name);
    snprintf(kubelet->endpoint, sizeof(kubelet->endpoint), "%s/%s", kubelet->folder,
             request->endpoint);
    kubelet->wants_pre_start = request->options->pre_start_required;
    kubelet->offers_preferred = request->options->get_preferred_allocation_available;
    hamid_kubelet_reply(call, &empty.base);
    kubelet->registrations++;
    if (kubelet->watching != NULL) {
        hamid_kubelet_request_cancel(kubelet->watching);
    }
    hamid_grpc_client_free(kubelet->plugin);
    kubelet->plugin = hamid_grpc_client_new(kubelet->base, &plugin);
    kubelet->watching =
        hamid_kubelet_list_and_watch(kubelet->plugin, devices_came, kubelet);
    ck_assert_ptr_nonnull(kubelet->watching);
}

static void empty_folder(const char *folder)
{
    DIR *entries = opendir(folder);
    char path[512];

    ck_assert_ptr_nonnull(entries);
    for (struct dirent *entry = readdir(entries); entry != NULL;
         entry = readdir(entries)) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
            ck_assert_int_eq(unlink(path), 0);
        }
    }
    closedir(entries);
}

void kubelet_start(struct played_kubelet *kubelet, const char *folder)
{
    struct hamid_grpc_server_config config = {
        .methods = hamid_kubelet_registration_methods, .data = &kubelet->service};
    char path[160], error[256] = "";

    memset(kubelet, 0, sizeof(*kubelet));
    snprintf(kubelet->folder, sizeof(kubelet->folder), "%s", folder);
    empty_folder(folder);
    kubelet->base = event_base_new();
    kubelet->service.data = kubelet;
    kubelet->service.registers = registers;
    kubelet->server = hamid_grpc_server_new(kubelet->base, &config);
    snprintf(path, sizeof(path), "%s/" HAMID_KUBELET_SOCKET_NAME, folder);
    ck_assert_msg(
        hamid_grpc_server_listen(kubelet->server, path, 0600, error, sizeof(error)) == 0,
        "%s", error);
}

void kubelet_kill(struct played_kubelet *kubelet)
{
    if (kubelet->watching != NULL) {
        hamid_kubelet_request_cancel(kubelet->watching);
    }
    hamid_grpc_client_free(kubelet->plugin);
    hamid_grpc_server_free(kubelet->server);
    event_base_free(kubelet->base);
    kubelet->base = NULL;
}

/* ---- calls ------------------------------------------------------------------------- */

/* Cuts a text of words apart, in place of `copy`. */
static size_t split(const char *words, char *copy, size_t size, char **ret)
{
    size_t count = 0;
    char *rest = copy;

    snprintf(copy, size, "%s", words);
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " ")) {
        if (*word != '\0') {
            ck_assert_uint_lt(count, IDS_MAX);
            ret[count++] = word;
        }
    }
    return count;
}

static void append(char *text, size_t size, const char *a, const char *separator,
                   const char *b, const char *end)
{
    size_t used = strlen(text);

    snprintf(text + used, size - used, "%s%s%s%s ", a, separator, b, end);
}

static void note_container(struct played_answer *ret,
                           const V1beta1__ContainerAllocateResponse *container)
{
    size_t at = ret->containers++;

    ck_assert_uint_lt(at, 4);
    for (size_t i = 0; i < container->n_envs; i++) {
        append(ret->environment[at], sizeof(ret->environment[at]),
               container->envs[i]->key, "=", container->envs[i]->value, "");
    }
    for (size_t i = 0; i < container->n_devices; i++) {
        char permissions[32];

        snprintf(permissions, sizeof(permissions), ":%s",
                 container->devices[i]->permissions);
        append(ret->devices[at], sizeof(ret->devices[at]),
               container->devices[i]->host_path, ":",
               container->devices[i]->container_path, permissions);
    }
    for (size_t i = 0; i < container->n_mounts; i++) {
        append(ret->mounts[at], sizeof(ret->mounts[at]), container->mounts[i]->host_path,
               ":", container->mounts[i]->container_path,
               container->mounts[i]->read_only ? ":ro" : "");
    }
}

static void note_end(struct played_answer *ret, const struct hamid_grpc_status *status)
{
    ret->ended = true;
    ret->code = status->code;
    snprintf(ret->text, sizeof(ret->text), "%s", status->text);
}

static void allocated(void *data, const ProtobufCMessage *answer,
                      const struct hamid_grpc_status *status)
{
    const V1beta1__AllocateResponse *response = (const V1beta1__AllocateResponse *)answer;

    for (size_t i = 0; response != NULL && i < response->n_container_responses; i++) {
        note_container(data, response->container_responses[i]);
    }
    note_end(data, status);
}

static void just_ended(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    (void)answer;
    note_end(data, status);
}

static void preferred(void *data, const ProtobufCMessage *answer,
                      const struct hamid_grpc_status *status)
{
    const V1beta1__PreferredAllocationResponse *response =
        (const V1beta1__PreferredAllocationResponse *)answer;
    struct played_answer *ret = data;

    for (size_t i = 0; response != NULL && i < response->container_responses[0]->n_ids;
         i++) {
        append(ret->environment[0], sizeof(ret->environment[0]),
               response->container_responses[0]->ids[i], "", "", "");
    }
    note_end(ret, status);
}

static void wait_for(struct played_kubelet *kubelet, struct played_answer *answer)
{
    bool is_up;
    struct event *clock = start_clock(kubelet, PATIENCE_MS, &is_up);

    while (!answer->ended && !is_up) {
        event_base_loop(kubelet->base, EVLOOP_ONCE);
    }
    event_free(clock);
    ck_assert_msg(answer->ended, "the plugin did not answer");
}

void kubelet_allocate_start(struct played_kubelet *kubelet, const char *ids,
                            struct played_answer *ret)
{
    V1beta1__AllocateRequest request = V1BETA1__ALLOCATE_REQUEST__INIT;
    V1beta1__ContainerAllocateRequest one = V1BETA1__CONTAINER_ALLOCATE_REQUEST__INIT;
    V1beta1__ContainerAllocateRequest *list[1] = {&one};
    char copy[4096], *words[IDS_MAX];

    memset(ret, 0, sizeof(*ret));
    one.ids = words;
    one.n_ids = split(ids, copy, sizeof(copy), words);
    request.container_requests = list;
    request.n_container_requests = 1;
    kubelet->going = hamid_kubelet_allocate(kubelet->plugin, &request, 0, allocated, ret);
    ck_assert_ptr_nonnull(kubelet->going);
}

void kubelet_allocate(struct played_kubelet *kubelet, const char *ids,
                      struct played_answer *ret)
{
    kubelet_allocate_start(kubelet, ids, ret);
    wait_for(kubelet, ret);
}

void kubelet_allocate_cancel(struct played_kubelet *kubelet)
{
    hamid_kubelet_request_cancel(kubelet->going);
}

void kubelet_pre_start(struct played_kubelet *kubelet, const char *ids,
                       struct played_answer *ret)
{
    V1beta1__PreStartContainerRequest request =
        V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
    char copy[4096], *words[IDS_MAX];

    memset(ret, 0, sizeof(*ret));
    request.ids = words;
    request.n_ids = split(ids, copy, sizeof(copy), words);
    ck_assert_ptr_nonnull(
        hamid_kubelet_pre_start(kubelet->plugin, &request, 0, just_ended, ret));
    wait_for(kubelet, ret);
}

void kubelet_prefer(struct played_kubelet *kubelet, const char *available,
                    const char *must, int size, struct played_answer *ret)
{
    V1beta1__PreferredAllocationRequest request =
        V1BETA1__PREFERRED_ALLOCATION_REQUEST__INIT;
    V1beta1__ContainerPreferredAllocationRequest one =
        V1BETA1__CONTAINER_PREFERRED_ALLOCATION_REQUEST__INIT;
    V1beta1__ContainerPreferredAllocationRequest *list[1] = {&one};
    char copy[2][4096], *words[2][IDS_MAX];

    memset(ret, 0, sizeof(*ret));
    one.available_ids = words[0];
    one.n_available_ids = split(available, copy[0], sizeof(copy[0]), words[0]);
    one.must_include_ids = words[1];
    one.n_must_include_ids = split(must, copy[1], sizeof(copy[1]), words[1]);
    one.allocation_size = size;
    request.container_requests = list;
    request.n_container_requests = 1;
    ck_assert_ptr_nonnull(
        hamid_kubelet_get_preferred(kubelet->plugin, &request, 0, preferred, ret));
    wait_for(kubelet, ret);
}
