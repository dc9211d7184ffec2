/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed calls to a kubelet or a device plugin. A typed call lives as long as its call of
 * daemon/grpc: until it has ended or was cancelled.
 */
#include "kubelet.h"

#include <stdlib.h>

struct hamid_kubelet_request {
    struct hamid_grpc_request *request;
    const ProtobufCMessageDescriptor *type;
    bool many;
    bool is_calling, is_cancelled; /* cancelled from within `answered` */
    ProtobufCMessage *answer;      /* unary: until the status has come */
    bool is_unreadable;
    hamid_kubelet_answered_fn answered;
    void *data;
};

static void end(struct hamid_kubelet_request *typed, const ProtobufCMessage *answer,
                const struct hamid_grpc_status *status)
{
    typed->answered(typed->data, answer, status);
    if (typed->answer != NULL) {
        protobuf_c_message_free_unpacked(typed->answer, NULL);
    }
    free(typed);
}

static const struct hamid_grpc_status unreadable = {
    HAMID_GRPC_INTERNAL, "the answer is not the message that was expected", false};

/* One message of a stream; the callback may cancel it. */
static void give(struct hamid_kubelet_request *typed, ProtobufCMessage *answer)
{
    typed->is_calling = true;
    typed->answered(typed->data, answer, NULL);
    typed->is_calling = false;
    protobuf_c_message_free_unpacked(answer, NULL);
    if (typed->is_cancelled) {
        free(typed);
    }
}

static void message_came(void *data, const uint8_t *message, size_t length)
{
    struct hamid_kubelet_request *typed = data;
    ProtobufCMessage *answer = NULL;

    if (hamid_kubelet_unpack(typed->type, message, length, &answer) != 0) {
        typed->is_unreadable = true;
        if (typed->many) {
            hamid_grpc_request_cancel(typed->request);
            end(typed, NULL, &unreadable);
        }
    } else if (typed->many) {
        give(typed, answer);
    } else {
        typed->answer = answer;
    }
}

static void ended(void *data, const struct hamid_grpc_status *status)
{
    struct hamid_kubelet_request *typed = data;

    end(typed, typed->answer, typed->is_unreadable ? &unreadable : status);
}

struct hamid_kubelet_request *hamid_kubelet_call(struct hamid_grpc_client *client,
                                                 const struct hamid_kubelet_call *call)
{
    struct hamid_kubelet_request *typed = calloc(1, sizeof(*typed));
    size_t length = protobuf_c_message_get_packed_size(call->request);
    uint8_t *bytes = malloc(length + 1);

    if (typed == NULL || bytes == NULL) {
        free(typed);
        free(bytes);
        return NULL;
    }
    (void)protobuf_c_message_pack(call->request, bytes);
    typed->type = call->answer;
    typed->many = call->many;
    typed->answered = call->answered;
    typed->data = call->data;
    const struct hamid_grpc_call_config config = {.method = call->method,
                                                  .message = bytes,
                                                  .length = length,
                                                  .timeout_ms = call->timeout_ms,
                                                  .many = call->many,
                                                  .message_came = message_came,
                                                  .ended = ended,
                                                  .data = typed};
    typed->request = hamid_grpc_client_call(client, &config);
    free(bytes);
    if (typed->request == NULL) {
        free(typed);
        return NULL;
    }
    return typed;
}

void hamid_kubelet_request_cancel(struct hamid_kubelet_request *request)
{
    hamid_grpc_request_cancel(request->request);
    if (request->is_calling) {
        request->is_cancelled = true;
    } else {
        free(request);
    }
}

/* ---- the calls --------------------------------------------------------------------- */

struct hamid_kubelet_request *
hamid_kubelet_register(struct hamid_grpc_client *kubelet,
                       const V1beta1__RegisterRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered, void *data)
{
    const struct hamid_kubelet_call call = {HAMID_KUBELET_REGISTER,
                                            &request->base,
                                            &v1beta1__empty__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(kubelet, &call);
}

struct hamid_kubelet_request *
hamid_kubelet_get_options(struct hamid_grpc_client *plugin, uint64_t timeout_ms,
                          hamid_kubelet_answered_fn answered, void *data)
{
    const V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
    const struct hamid_kubelet_call call = {HAMID_KUBELET_GET_OPTIONS,
                                            &empty.base,
                                            &v1beta1__device_plugin_options__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(plugin, &call);
}

struct hamid_kubelet_request *
hamid_kubelet_list_and_watch(struct hamid_grpc_client *plugin,
                             hamid_kubelet_answered_fn answered, void *data)
{
    const V1beta1__Empty empty = V1BETA1__EMPTY__INIT;
    const struct hamid_kubelet_call call = {HAMID_KUBELET_LIST_AND_WATCH,
                                            &empty.base,
                                            &v1beta1__list_and_watch_response__descriptor,
                                            0,
                                            true,
                                            answered,
                                            data};

    return hamid_kubelet_call(plugin, &call);
}

struct hamid_kubelet_request *hamid_kubelet_get_preferred(
    struct hamid_grpc_client *plugin, const V1beta1__PreferredAllocationRequest *request,
    uint64_t timeout_ms, hamid_kubelet_answered_fn answered, void *data)
{
    const struct hamid_kubelet_call call = {
        HAMID_KUBELET_GET_PREFERRED,
        &request->base,
        &v1beta1__preferred_allocation_response__descriptor,
        timeout_ms,
        false,
        answered,
        data};

    return hamid_kubelet_call(plugin, &call);
}

struct hamid_kubelet_request *
hamid_kubelet_allocate(struct hamid_grpc_client *plugin,
                       const V1beta1__AllocateRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered, void *data)
{
    const struct hamid_kubelet_call call = {HAMID_KUBELET_ALLOCATE,
                                            &request->base,
                                            &v1beta1__allocate_response__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(plugin, &call);
}

struct hamid_kubelet_request *hamid_kubelet_pre_start(
    struct hamid_grpc_client *plugin, const V1beta1__PreStartContainerRequest *request,
    uint64_t timeout_ms, hamid_kubelet_answered_fn answered, void *data)
{
    const struct hamid_kubelet_call call = {HAMID_KUBELET_PRE_START,
                                            &request->base,
                                            &v1beta1__empty__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(plugin, &call);
}

struct hamid_kubelet_request *
hamid_kubelet_pods_list(struct hamid_grpc_client *pod_resources, uint64_t timeout_ms,
                        hamid_kubelet_answered_fn answered, void *data)
{
    const V1__ListPodResourcesRequest request = V1__LIST_POD_RESOURCES_REQUEST__INIT;
    const struct hamid_kubelet_call call = {HAMID_KUBELET_PODS_LIST,
                                            &request.base,
                                            &v1__list_pod_resources_response__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(pod_resources, &call);
}

struct hamid_kubelet_request *
hamid_kubelet_pods_get(struct hamid_grpc_client *pod_resources,
                       const V1__GetPodResourcesRequest *request, uint64_t timeout_ms,
                       hamid_kubelet_answered_fn answered, void *data)
{
    const struct hamid_kubelet_call call = {HAMID_KUBELET_PODS_GET,
                                            &request->base,
                                            &v1__get_pod_resources_response__descriptor,
                                            timeout_ms,
                                            false,
                                            answered,
                                            data};

    return hamid_kubelet_call(pod_resources, &call);
}
