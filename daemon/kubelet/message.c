/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages in and out of bytes. A few bytes can announce a lot of empty messages, so what
 * one message may take once it is unpacked is bounded.
 */
#include "kubelet.h"

#include <stdbool.h>
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

/* The messages within a field: `ret_count` of them. */
static ProtobufCMessage *const *messages_of(const ProtobufCMessage *message,
                                            const ProtobufCFieldDescriptor *field,
                                            size_t *ret_count)
{
    const char *start = (const char *)message;

    *ret_count = 0;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
        return NULL;
    }
    if (field->label == PROTOBUF_C_LABEL_REPEATED) {
        *ret_count = *(const size_t *)(start + field->quantifier_offset);
        return *(ProtobufCMessage *const *const *)(start + field->offset);
    }
    ProtobufCMessage *const *one = (ProtobufCMessage *const *)(start + field->offset);
    *ret_count = *one != NULL;
    return one;
}

/* Field number 0 is none, which protobuf-c takes for one that it does not know, and packs
 * again so that nobody can read it. Our messages nest four deep at most. */
static bool has_field_zero(const ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->n_unknown_fields; i++) {
        if (message->unknown_fields[i].tag == 0) {
            return true;
        }
    }
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        size_t count = 0;
        ProtobufCMessage *const *within =
            messages_of(message, &message->descriptor->fields[i], &count);

        for (size_t j = 0; j < count; j++) {
            if (has_field_zero(within[j])) {
                return true;
            }
        }
    }
    return false;
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
    if (has_field_zero(message)) {
        protobuf_c_message_free_unpacked(message, NULL);
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
