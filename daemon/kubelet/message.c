/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages in and out of bytes. A few bytes can announce a lot of empty messages, so what
 * one message may take once it is unpacked is bounded.
 */
#include "kubelet.h"

#include <stdlib.h>

#define UNPACKED_MAX (64u << 20)
#define OVERHEAD 16 /* bytes that malloc itself takes, about */

static void *take(void *data, size_t size)
{
    size_t *left = data;

    if (size > *left || size + OVERHEAD > *left) {
        return NULL;
    }
    *left -= size + OVERHEAD;
    return malloc(size);
}

static void give_back(void *data, void *memory)
{
    (void)data;
    free(memory);
}

int hamid_kubelet_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *bytes,
                         size_t length, ProtobufCMessage **ret)
{
    size_t left = UNPACKED_MAX;
    ProtobufCAllocator allocator = {take, give_back, &left};
    ProtobufCMessage *message =
        protobuf_c_message_unpack(type, &allocator, length, bytes);

    if (message == NULL) {
        return -1;
    }
    *ret = message;
    return 0;
}

int hamid_kubelet_send(struct hamid_grpc_call *call, const ProtobufCMessage *message)
{
    size_t length = protobuf_c_message_get_packed_size(message);
    uint8_t *bytes = malloc(length + 1);

    if (bytes == NULL) {
        return -1;
    }
    (void)protobuf_c_message_pack(message, bytes);
    int code = hamid_grpc_call_send(call, bytes, length);
    free(bytes);
    return code;
}

void hamid_kubelet_reply(struct hamid_grpc_call *call, const ProtobufCMessage *message)
{
    if (hamid_kubelet_send(call, message) == 0) {
        hamid_grpc_call_end(call, HAMID_GRPC_OK, NULL);
    } else {
        hamid_grpc_call_end(call, HAMID_GRPC_INTERNAL,
                            "the answer is too long to be sent");
    }
}
