/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate without the handshake. Each id is a share of the device that it names, and
 * gets that part of its memory and cores.
 */
#include "by_ids.h"

#include <stdio.h>
#include <stdlib.h>

#include "answer.h"

/* The kubelet's own choice: each id is a share of the device that it names. */
static V1beta1__ContainerAllocateResponse *
answer_ids(const struct plugin_settings *settings,
           const V1beta1__ContainerAllocateRequest *request, char *text, size_t size)
{
    static const struct plugin_receiver nobody = {"", "", "", 0};
    struct plugin_share *shares = calloc(request->n_ids + 1, sizeof(*shares));
    V1beta1__ContainerAllocateResponse *answer = NULL;
    bool is_right = shares != NULL;

    (void)snprintf(text, size, "out of memory");
    for (size_t i = 0; i < request->n_ids && is_right; i++) {
        const struct plugin_device *device = plugin_id_find(settings, request->ids[i]);

        is_right = device != NULL;
        if (is_right) {
            shares[i] = (struct plugin_share){device, device->memory_mib / device->shares,
                                              device->cores / device->shares};
        } else {
            (void)snprintf(text, size, "this node has no device %.256s", request->ids[i]);
        }
    }
    if (is_right) {
        answer = plugin_answer_new(settings, &nobody, shares, request->n_ids);
    }
    free(shares);
    return answer;
}

void by_ids_answer(const struct plugin_settings *settings, struct hamid_grpc_call *call,
                   const V1beta1__AllocateRequest *request)
{
    V1beta1__AllocateResponse *answer = plugin_answers_new(request->n_container_requests);
    char text[400] = "out of memory";
    bool is_whole = answer != NULL;

    for (size_t i = 0; i < request->n_container_requests && is_whole; i++) {
        answer->container_responses[i] =
            answer_ids(settings, request->container_requests[i], text, sizeof(text));
        is_whole = answer->container_responses[i] != NULL;
        answer->n_container_responses += is_whole;
    }
    if (is_whole) {
        hamid_kubelet_reply(call, &answer->base);
    } else {
        hamid_grpc_call_end(call, HAMID_GRPC_INVALID_ARGUMENT, text);
    }
    if (answer != NULL) {
        protobuf_c_message_free_unpacked(&answer->base, NULL);
    }
}
