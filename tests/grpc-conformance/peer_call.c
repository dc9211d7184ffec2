/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client. Lines in:
 *   call ID METHOD BYTES TIMEOUT_MS one|many    the message is BYTES bytes "x"
 *   cancel ID
 *   register, devices, pods, pod NAME           typed calls
 * Lines out: first ID (message), ended ID CODE MESSAGES BYTES NEVER_RAN TEXT, and what
 * typed calls brought.
 */
#include "peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubelet.h"

#define CALLS_MAX 512
#define TYPED_MS 20000

struct one {
    struct hamid_grpc_request *request;
    unsigned id;
    size_t messages, bytes;
};

static struct hamid_grpc_client *client;
static struct one calls[CALLS_MAX];

static void message_came(void *data, const uint8_t *message, size_t length)
{
    struct one *one = data;

    (void)message;
    one->messages++;
    one->bytes += length;
    if (one->messages == 1) {
        peer_say("first %u", one->id);
    }
}

static void ended(void *data, const struct hamid_grpc_status *status)
{
    struct one *one = data;

    one->request = NULL;
    peer_say("ended %u %d %zu %zu %d %s", one->id, status->code, one->messages,
             one->bytes, status->never_ran, status->text);
}

static void call(unsigned id, const char *method, size_t bytes, unsigned timeout,
                 bool many)
{
    uint8_t *message = malloc(bytes + 1);
    struct hamid_grpc_call_config config = {.method = method,
                                            .message = message,
                                            .length = bytes,
                                            .timeout_ms = timeout,
                                            .many = many,
                                            .message_came = message_came,
                                            .ended = ended,
                                            .data = &calls[id]};

    memset(message, 'x', bytes);
    calls[id] = (struct one){.id = id};
    calls[id].request = hamid_grpc_client_call(client, &config);
    free(message);
}

/* ---- typed ------------------------------------------------------------------------- */

static bool has_failed(const struct hamid_grpc_status *status,
                       const ProtobufCMessage *answer)
{
    if (status != NULL && (status->code != HAMID_GRPC_OK || answer == NULL)) {
        peer_say("typed %d %s", status->code, status->text);
        return true;
    }
    return false;
}

static void registered(void *data, const ProtobufCMessage *answer,
                       const struct hamid_grpc_status *status)
{
    (void)data;
    if (!has_failed(status, answer)) {
        peer_say("typed 0 registered");
    }
}

static void devices_came(void *data, const ProtobufCMessage *answer,
                         const struct hamid_grpc_status *status)
{
    const V1beta1__ListAndWatchResponse *list =
        (const V1beta1__ListAndWatchResponse *)answer;

    (void)data;
    if (!has_failed(status, answer)) {
        peer_say("typed 0 devices %zu %s %s", list->n_devices,
                 list->devices[list->n_devices - 1]->id, list->devices[0]->health);
    }
}

static void say_pod(const V1__PodResources *pod)
{
    for (size_t i = 0; i < pod->n_containers; i++) {
        const V1__ContainerResources *container = pod->containers[i];

        for (size_t j = 0; j < container->n_devices; j++) {
            peer_say("typed 0 pod %s/%s/%s %s %zu %s", pod->namespace_name, pod->name,
                     container->name, container->devices[j]->resource_name,
                     container->devices[j]->n_device_ids,
                     container->devices[j]->device_ids[0]);
        }
    }
}

static void pods_came(void *data, const ProtobufCMessage *answer,
                      const struct hamid_grpc_status *status)
{
    const V1__ListPodResourcesResponse *list =
        (const V1__ListPodResourcesResponse *)answer;

    (void)data;
    if (!has_failed(status, answer)) {
        for (size_t i = 0; i < list->n_pod_resources; i++) {
            say_pod(list->pod_resources[i]);
        }
        peer_say("typed 0 pods %zu", list->n_pod_resources);
    }
}

static void pod_came(void *data, const ProtobufCMessage *answer,
                     const struct hamid_grpc_status *status)
{
    (void)data;
    if (!has_failed(status, answer)) {
        say_pod(((const V1__GetPodResourcesResponse *)answer)->pod_resources);
    }
}

static void call_typed(const char *word, const char *name)
{
    if (strcmp(word, "register") == 0) {
        V1beta1__RegisterRequest request = V1BETA1__REGISTER_REQUEST__INIT;
        V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

        request.version = (char *)HAMID_KUBELET_VERSION;
        request.endpoint = (char *)"peer.sock";
        request.resource_name = (char *)"example.com/peer";
        options.get_preferred_allocation_available = 1;
        request.options = &options;
        (void)hamid_kubelet_register(client, &request, TYPED_MS, registered, NULL);
    } else if (strcmp(word, "devices") == 0) {
        (void)hamid_kubelet_list_and_watch(client, devices_came, NULL);
    } else if (strcmp(word, "pods") == 0) {
        (void)hamid_kubelet_pods_list(client, TYPED_MS, pods_came, NULL);
    } else if (strcmp(word, "pod") == 0) {
        V1__GetPodResourcesRequest request = V1__GET_POD_RESOURCES_REQUEST__INIT;

        request.pod_name = (char *)name;
        request.pod_namespace = (char *)"default";
        (void)hamid_kubelet_pods_get(client, &request, TYPED_MS, pod_came, NULL);
    }
}

/* ---- lines ------------------------------------------------------------------------- */

static void handle(char *line)
{
    char word[32] = "", method[HAMID_GRPC_PATH_MAX] = "", kind[8] = "";
    unsigned id = 0, timeout = 0;
    size_t bytes = 0;

    if (sscanf(line, "call %u %255s %zu %u %7s", &id, method, &bytes, &timeout, kind) ==
            5 &&
        id < CALLS_MAX) {
        call(id, method, bytes, timeout, strcmp(kind, "many") == 0);
    } else if (sscanf(line, "cancel %u", &id) == 1 && id < CALLS_MAX &&
               calls[id].request != NULL) {
        hamid_grpc_request_cancel(calls[id].request);
        calls[id].request = NULL;
        peer_say("cancelled %u", id);
    } else if (sscanf(line, "%31s %255s", word, method) >= 1) {
        call_typed(word, method);
    }
}

peer_line_fn peer_call(struct event_base *base, const char *path)
{
    const struct hamid_grpc_client_config config = {.path = path};

    client = hamid_grpc_client_new(base, &config);
    return client != NULL ? handle : NULL;
}
