/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server. Lines in: stop (no new calls, GOAWAY), end (ends kept calls with OK),
 * calls (how many have not ended). Lines out: stopped, kept, gone, calls N, left MS.
 */
#include "peer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kubelet.h"

#define DEVICES 5000
#define KEPT_MAX 256
#define FLOOD_AHEAD (1u << 20)

static struct hamid_grpc_server *server;
static struct hamid_grpc_call *kept[KEPT_MAX];

/* ---- plain methods ----------------------------------------------------------------- */

static void echo(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                 size_t length)
{
    (void)data;
    hamid_grpc_call_reply(call, message, length);
}

/* The first two bytes say how many messages, each all of the request. */
static void repeat(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                   size_t length)
{
    unsigned count = (unsigned)message[0] << 8 | message[1];

    (void)data;
    for (unsigned i = 0; i < count; i++) {
        (void)hamid_grpc_call_send(call, message, length);
    }
    hamid_grpc_call_end(call, HAMID_GRPC_OK, NULL);
}

/* The first byte is the code, the rest the text. */
static void refuse(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                   size_t length)
{
    char text[2048] = "";

    (void)data;
    memcpy(text, message + 1,
           length - 1 < sizeof(text) - 1 ? length - 1 : sizeof(text) - 1);
    hamid_grpc_call_end(call, message[0], text);
}

static void kept_gone(void *data)
{
    *(struct hamid_grpc_call **)data = NULL;
    peer_say("gone");
}

/* Answers nothing until "end". */
static void keep(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                 size_t length)
{
    (void)data;
    (void)message;
    (void)length;
    for (size_t i = 0; i < KEPT_MAX; i++) {
        if (kept[i] == NULL) {
            kept[i] = call;
            hamid_grpc_call_watch(call, kept_gone, NULL, &kept[i]);
            peer_say("left %" PRIu64, hamid_grpc_call_time_left(call));
            peer_say("kept");
            return;
        }
    }
    hamid_grpc_call_end(call, HAMID_GRPC_RESOURCE_EXHAUSTED, "too many");
}

/* Sends for ever, never more than FLOOD_AHEAD ahead of the client. */
struct flood {
    struct hamid_grpc_call *call;
    size_t most; /* that ever waited */
};

static void flood_more(void *data)
{
    static const uint8_t chunk[64 << 10] = {1};
    struct flood *flood = data;

    while (hamid_grpc_call_pending(flood->call) < FLOOD_AHEAD) {
        (void)hamid_grpc_call_send(flood->call, chunk, sizeof(chunk));
    }
    if (hamid_grpc_call_pending(flood->call) > flood->most) {
        flood->most = hamid_grpc_call_pending(flood->call);
    }
}

static void flood_gone(void *data)
{
    struct flood *flood = data;

    peer_say("flooded %zu", flood->most);
    free(flood);
}

static void flood(void *data, struct hamid_grpc_call *call, const uint8_t *message,
                  size_t length)
{
    struct flood *one = calloc(1, sizeof(*one));

    (void)data;
    (void)message;
    (void)length;
    one->call = call;
    hamid_grpc_call_watch(call, flood_gone, flood_more, one);
    flood_more(one);
}

/* ---- a device plugin --------------------------------------------------------------- */

static void get_options(void *data, struct hamid_grpc_call *call)
{
    V1beta1__DevicePluginOptions options = V1BETA1__DEVICE_PLUGIN_OPTIONS__INIT;

    (void)data;
    options.pre_start_required = 1;
    hamid_kubelet_reply(call, &options.base);
}

static void list_and_watch(void *data, struct hamid_grpc_call *call)
{
    static V1beta1__Device devices[DEVICES];
    static V1beta1__Device *pointers[DEVICES];
    static char ids[DEVICES][32];
    V1beta1__ListAndWatchResponse list = V1BETA1__LIST_AND_WATCH_RESPONSE__INIT;

    (void)data;
    for (size_t i = 0; i < DEVICES; i++) {
        snprintf(ids[i], sizeof(ids[i]), "device-%zu", i);
        v1beta1__device__init(&devices[i]);
        devices[i].id = ids[i];
        devices[i].health = (char *)HAMID_KUBELET_HEALTHY;
        pointers[i] = &devices[i];
    }
    list.devices = pointers;
    list.n_devices = DEVICES;
    (void)hamid_kubelet_send(call, &list.base);
    list.n_devices = 1;
    devices[0].health = (char *)HAMID_KUBELET_UNHEALTHY;
    (void)hamid_kubelet_send(call, &list.base);
    hamid_grpc_call_end(call, HAMID_GRPC_OK, NULL);
}

/* Each id comes back as environment, device node, mount and annotation. */
static void allocate(void *data, struct hamid_grpc_call *call,
                     const V1beta1__AllocateRequest *request)
{
    V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
    V1beta1__ContainerAllocateResponse one = V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
    V1beta1__ContainerAllocateResponse *list[1] = {&one};
    V1beta1__Pair pair = V1BETA1__PAIR__INIT, *pairs[1] = {&pair};
    V1beta1__Mount mount = V1BETA1__MOUNT__INIT, *mounts[1] = {&mount};
    V1beta1__DeviceSpec device = V1BETA1__DEVICE_SPEC__INIT, *devices[1] = {&device};
    V1beta1__CdiDevice cdi = V1BETA1__CDI_DEVICE__INIT, *cdis[1] = {&cdi};

    (void)data;
    pair.key = request->container_requests[0]->ids[0];
    pair.value = request->container_requests[0]->ids[1];
    mount.host_path = mount.container_path = device.host_path = device.container_path =
        pair.key;
    mount.read_only = 1;
    device.permissions = (char *)"rw";
    cdi.name = pair.value;
    one.envs = one.annotations = pairs;
    one.mounts = mounts;
    one.devices = devices;
    one.cdi_devices = cdis;
    one.n_envs = one.n_annotations = one.n_mounts = one.n_devices = one.n_cdi_devices = 1;
    answer.container_responses = list;
    answer.n_container_responses = 1;
    hamid_kubelet_reply(call, &answer.base);
}

static void pre_start(void *data, struct hamid_grpc_call *call,
                      const V1beta1__PreStartContainerRequest *request)
{
    const V1beta1__Empty empty = V1BETA1__EMPTY__INIT;

    (void)data;
    if (request->n_ids != 2) {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT, "two ids");
        return;
    }
    hamid_kubelet_reply(call, &empty.base);
}

static struct hamid_kubelet_service service = {.get_options = get_options,
                                               .list_and_watch = list_and_watch,
                                               .allocate = allocate,
                                               .pre_start = pre_start};

/* ---- lines ------------------------------------------------------------------------- */

static void handle(char *line)
{
    if (strcmp(line, "stop") == 0) {
        hamid_grpc_server_stop(server);
        peer_say("stopped");
    } else if (strcmp(line, "calls") == 0) {
        peer_say("calls %zu", hamid_grpc_server_calls(server));
    } else if (strcmp(line, "end") == 0) {
        for (size_t i = 0; i < KEPT_MAX; i++) {
            struct hamid_grpc_call *call = kept[i];

            kept[i] = NULL;
            if (call != NULL) {
                hamid_grpc_call_reply(call, (const uint8_t *)"end", 3);
            }
        }
    }
}

peer_line_fn peer_serve(struct event_base *base, const char *path)
{
    static struct hamid_grpc_method methods[16] = {{"/conformance.Peer/Echo", echo},
                                                   {"/conformance.Peer/Repeat", repeat},
                                                   {"/conformance.Peer/Refuse", refuse},
                                                   {"/conformance.Peer/Keep", keep},
                                                   {"/conformance.Peer/Flood", flood}};
    struct hamid_grpc_server_config config = {.methods = methods, .data = &service};
    char error[256];
    size_t count = 5;

    for (size_t i = 0; hamid_kubelet_plugin_methods[i].path != NULL; i++) {
        methods[count++] = hamid_kubelet_plugin_methods[i];
    }
    server = hamid_grpc_server_new(base, &config);
    if (hamid_grpc_server_listen(server, path, 0600, error, sizeof(error)) != 0) {
        (void)fprintf(stderr, "%s\n", error);
        return NULL;
    }
    return handle;
}
