/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of a request to a service's function.
 */
#include "kubelet.h"

static void has_no_function(struct hamid_grpc_call *call)
{
    hamid_grpc_call_end(call, HAMID_GRPC_UNIMPLEMENTED, "this is not done here");
}

/* NULL: the call was answered. */
static ProtobufCMessage *read(struct hamid_grpc_call *call,
                              const ProtobufCMessageDescriptor *type,
                              const uint8_t *bytes, size_t length)
{
    ProtobufCMessage *message = NULL;

    if (hamid_kubelet_unpack(type, bytes, length, &message) != 0) {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT,
                            "the request can't be read");
    }
    return message;
}

static void registers(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                      size_t length)
{
    const struct hamid_kubelet_service *service = data;

    if (service->registers == NULL) {
        has_no_function(call);
        return;
    }
    ProtobufCMessage *request =
        read(call, &v1beta1__register_request__descriptor, bytes, length);
    if (request != NULL) {
        service->registers(service->data, call,
                           (const V1beta1__RegisterRequest *)request);
        protobuf_c_message_free_unpacked(request, NULL);
    }
}

/* An empty request may have fields that a newer kubelet knows; they are not looked at. */
static void get_options(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                        size_t length)
{
    const struct hamid_kubelet_service *service = data;

    (void)bytes;
    (void)length;
    if (service->get_options == NULL) {
        has_no_function(call);
        return;
    }
    service->get_options(service->data, call);
}

static void list_and_watch(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                           size_t length)
{
    const struct hamid_kubelet_service *service = data;

    (void)bytes;
    (void)length;
    if (service->list_and_watch == NULL) {
        has_no_function(call);
        return;
    }
    service->list_and_watch(service->data, call);
}

static void get_preferred(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                          size_t length)
{
    const struct hamid_kubelet_service *service = data;

    if (service->get_preferred == NULL) {
        has_no_function(call);
        return;
    }
    ProtobufCMessage *request =
        read(call, &v1beta1__preferred_allocation_request__descriptor, bytes, length);
    if (request != NULL) {
        service->get_preferred(service->data, call,
                               (const V1beta1__PreferredAllocationRequest *)request);
        protobuf_c_message_free_unpacked(request, NULL);
    }
}

static void allocate(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                     size_t length)
{
    const struct hamid_kubelet_service *service = data;

    if (service->allocate == NULL) {
        has_no_function(call);
        return;
    }
    ProtobufCMessage *request =
        read(call, &v1beta1__allocate_request__descriptor, bytes, length);
    if (request != NULL) {
        service->allocate(service->data, call, (const V1beta1__AllocateRequest *)request);
        protobuf_c_message_free_unpacked(request, NULL);
    }
}

static void pre_start(void *data, struct hamid_grpc_call *call, const uint8_t *bytes,
                      size_t length)
{
    const struct hamid_kubelet_service *service = data;

    if (service->pre_start == NULL) {
        has_no_function(call);
        return;
    }
    ProtobufCMessage *request =
        read(call, &v1beta1__pre_start_container_request__descriptor, bytes, length);
    if (request != NULL) {
        service->pre_start(service->data, call,
                           (const V1beta1__PreStartContainerRequest *)request);
        protobuf_c_message_free_unpacked(request, NULL);
    }
}

const struct hamid_grpc_method hamid_kubelet_registration_methods[] = {
    {HAMID_KUBELET_REGISTER, registers}, {NULL, NULL}};

const struct hamid_grpc_method hamid_kubelet_plugin_methods[] = {
    {HAMID_KUBELET_GET_OPTIONS, get_options},
    {HAMID_KUBELET_LIST_AND_WATCH, list_and_watch},
    {HAMID_KUBELET_GET_PREFERRED, get_preferred},
    {HAMID_KUBELET_ALLOCATE, allocate},
    {HAMID_KUBELET_PRE_START, pre_start},
    {NULL, NULL}};
