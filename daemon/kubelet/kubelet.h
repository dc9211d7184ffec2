/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kubelet's sockets with types: Registration and DevicePlugin (v1beta1), each from
 * either side, and PodResources (v1) as a client. Messages are those of protobuf-c, made
 * from the .proto files here; fields that these do not name are kept and packed again.
 *
 * Thread of the event loop; daemon/grpc has the rules of calls.
 */
#ifndef HAMID_KUBELET_KUBELET_H
#define HAMID_KUBELET_KUBELET_H

#include "deviceplugin.pb-c.h"
#include "grpc/client.h"
#include "grpc/server.h"
#include "podresources.pb-c.h"

/* Where a kubelet has its sockets, unless its root folder was moved. */
#define HAMID_KUBELET_PLUGINS "/var/lib/kubelet/device-plugins"
#define HAMID_KUBELET_SOCKET_NAME "kubelet.sock" /* in that folder */
#define HAMID_KUBELET_POD_RESOURCES "/var/lib/kubelet/pod-resources/kubelet.sock"

#define HAMID_KUBELET_VERSION "v1beta1"
#define HAMID_KUBELET_HEALTHY "Healthy"
#define HAMID_KUBELET_UNHEALTHY "Unhealthy"

#define HAMID_KUBELET_REGISTER "/v1beta1.Registration/Register"
#define HAMID_KUBELET_GET_OPTIONS "/v1beta1.DevicePlugin/GetDevicePluginOptions"
#define HAMID_KUBELET_LIST_AND_WATCH "/v1beta1.DevicePlugin/ListAndWatch"
#define HAMID_KUBELET_GET_PREFERRED "/v1beta1.DevicePlugin/GetPreferredAllocation"
#define HAMID_KUBELET_ALLOCATE "/v1beta1.DevicePlugin/Allocate"
#define HAMID_KUBELET_PRE_START "/v1beta1.DevicePlugin/PreStartContainer"
#define HAMID_KUBELET_PODS_LIST "/v1.PodResourcesLister/List"
#define HAMID_KUBELET_PODS_GET "/v1.PodResourcesLister/Get"

/*
 * Reads a message.
 * @ret      new; free with protobuf_c_message_free_unpacked(message, NULL)
 * Returns   0, or -1: not such a message, or one that would take more than 64 MiB
 */
int hamid_kubelet_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                         size_t length, ProtobufCMessage **ret);

/* ---- client ------------------------------------------------------------------------ */

/*
 * How a typed call ends, or with a stream: each message, then the end.
 * @answer   borrowed for the function; NULL where status->code is not OK, and at a
 * stream's end
 * @status   NULL with each message of a stream; else how the call ended
 */
typedef void (*hamid_kubelet_answered_fn)(void *data, const ProtobufCMessage *answer,
                                          const struct hamid_grpc_status *status);

struct hamid_kubelet_call {
    const char *method;
    const ProtobufCMessage *request;          /* packed at once */
    const ProtobufCMessageDescriptor *answer; /* its type */
    uint64_t timeout_ms;                      /* 0 = none */
    bool many;
    hamid_kubelet_answered_fn answered; /* never within hamid_kubelet_call() */
    void *data;
};

struct hamid_kubelet_request;

/* Starts a call. An answer that can't be read ends it with INTERNAL. NULL without memory.
 */
struct hamid_kubelet_request *hamid_kubelet_call(struct hamid_grpc_client *client,
                                                 const struct hamid_kubelet_call *call);

/* Gives it up; nothing is called any more. */
void hamid_kubelet_request_cancel(struct hamid_kubelet_request *request);

/* The calls that there are; `answered` gets the type that the name says. */
struct hamid_kubelet_request *
hamid_kubelet_register(struct hamid_grpc_client *kubelet,
                       const V1beta1__RegisterRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered, void *data); /* Empty */
struct hamid_kubelet_request *
hamid_kubelet_get_options(struct hamid_grpc_client *plugin, uint64_t timeout_ms,
                          hamid_kubelet_answered_fn answered,
                          void *data); /* DevicePluginOptions */
struct hamid_kubelet_request *
hamid_kubelet_list_and_watch(struct hamid_grpc_client *plugin,
                             hamid_kubelet_answered_fn answered,
                             void *data); /* ListAndWatchResponse, many */
struct hamid_kubelet_request *
hamid_kubelet_get_preferred(struct hamid_grpc_client *plugin,
                            const V1beta1__PreferredAllocationRequest *request,
                            uint64_t timeout_ms, hamid_kubelet_answered_fn answered,
                            void *data); /* PreferredAllocationResponse */
struct hamid_kubelet_request *
hamid_kubelet_allocate(struct hamid_grpc_client *plugin,
                       const V1beta1__AllocateRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered,
                       void *data); /* AllocateResponse */
struct hamid_kubelet_request *hamid_kubelet_pre_start(
    struct hamid_grpc_client *plugin, const V1beta1__PreStartContainerRequest *request,
    uint64_t timeout_ms, hamid_kubelet_answered_fn answered, void *data); /* Empty */
struct hamid_kubelet_request *
hamid_kubelet_pods_list(struct hamid_grpc_client *pod_resources, uint64_t timeout_ms,
                        hamid_kubelet_answered_fn answered,
                        void *data); /* ListPodResourcesResponse */
struct hamid_kubelet_request *
hamid_kubelet_pods_get(struct hamid_grpc_client *pod_resources,
                       const V1__GetPodResourcesRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered,
                       void *data); /* GetPodResourcesResponse */

/* ---- server ------------------------------------------------------------------------ */

/*
 * What a server does. A function has the call and ends it, now or later, as
 * hamid_grpc_handler_fn says; requests are borrowed. A request that can't be read is
 * answered INVALID_ARGUMENT, a function that is NULL UNIMPLEMENTED.
 */
struct hamid_kubelet_service {
    void *data;
    void (*registers)(void *data, struct hamid_grpc_call *call,
                      const V1beta1__RegisterRequest *request);
    void (*get_options)(void *data, struct hamid_grpc_call *call);
    void (*list_and_watch)(void *data, struct hamid_grpc_call *call);
    void (*get_preferred)(void *data, struct hamid_grpc_call *call,
                          const V1beta1__PreferredAllocationRequest *request);
    void (*allocate)(void *data, struct hamid_grpc_call *call,
                     const V1beta1__AllocateRequest *request);
    void (*pre_start)(void *data, struct hamid_grpc_call *call,
                      const V1beta1__PreStartContainerRequest *request);
};

/* For hamid_grpc_server_config: `methods` is one of these, `data` a
 * hamid_kubelet_service. */
extern const struct hamid_grpc_method hamid_kubelet_registration_methods[];
extern const struct hamid_grpc_method hamid_kubelet_plugin_methods[];

/* hamid_grpc_call_send() of a message. 0, or -1. */
int hamid_kubelet_send(struct hamid_grpc_call *call, const ProtobufCMessage *message);

/* hamid_grpc_call_reply() with a message. */
void hamid_kubelet_reply(struct hamid_grpc_call *call, const ProtobufCMessage *message);

#endif
