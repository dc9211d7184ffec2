/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of one stream. Invariant: `message` holds what has come of a message whose
 * prefix is whole; capacity is at most twice that, so a length that is only announced
 * costs nothing.
 */
#include "inbox.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 512

static int read_prefix(struct hamid_grpc_inbox *inbox, const char **ret_text)
{
    const uint8_t *p = inbox->prefix;

    if (p[0] == 1) {
        *ret_text = "compressed messages are not supported";
        return HAMID_GRPC_UNIMPLEMENTED;
    }
    if (p[0] != 0) {
        *ret_text = "a message begins with a flag that gRPC does not have";
        return HAMID_GRPC_INTERNAL;
    }
    inbox->announced =
        (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | (size_t)p[4];
    if (inbox->announced > inbox->message_max) {
        *ret_text = "the message is longer than what is taken";
        return HAMID_GRPC_RESOURCE_EXHAUSTED;
    }
    return 0;
}

static bool make_room(struct hamid_grpc_inbox *inbox, size_t more)
{
    size_t capacity = inbox->capacity != 0 ? inbox->capacity : FIRST_CAPACITY;

    while (capacity - inbox->length < more) {
        capacity *= 2;
    }
    if (capacity > inbox->announced && inbox->announced >= inbox->length + more) {
        capacity = inbox->announced != 0 ? inbox->announced : 1;
    }
    if (capacity > inbox->capacity) {
        uint8_t *grown = realloc(inbox->message, capacity);

        if (grown == NULL) {
            return false;
        }
        inbox->message = grown;
        inbox->capacity = capacity;
    }
    return true;
}

/* Hands over the message that is whole. The inbox is as new before the call, since `came`
 * may free it. */
static int deliver(struct hamid_grpc_inbox *inbox,
                   int (*came)(void *data, const uint8_t *message, size_t length),
                   void *data)
{
    uint8_t *message = inbox->message;
    size_t length = inbox->length;

    inbox->message = NULL;
    inbox->length = 0;
    inbox->capacity = 0;
    inbox->announced = 0;
    inbox->prefix_length = 0;
    int code = came(data, message, length);
    free(message);
    return code;
}

int hamid_grpc_inbox_take(struct hamid_grpc_inbox *inbox, const uint8_t *bytes,
                          size_t length,
                          int (*came)(void *data, const uint8_t *message, size_t length),
                          void *data, const char **ret_text)
{
    while (length > 0) {
        int code = 0;

        if (inbox->prefix_length < HAMID_GRPC_PREFIX) {
            inbox->prefix[inbox->prefix_length++] = *bytes++;
            length--;
            if (inbox->prefix_length < HAMID_GRPC_PREFIX) {
                continue;
            }
            code = read_prefix(inbox, ret_text);
        }
        size_t part = inbox->announced - inbox->length;
        if (part > length) {
            part = length;
        }
        if (code == 0 && !make_room(inbox, part)) {
            *ret_text = "out of memory";
            code = HAMID_GRPC_RESOURCE_EXHAUSTED;
        }
        if (code != 0) {
            return code;
        }
        if (part > 0) {
            memcpy(inbox->message + inbox->length, bytes, part);
        }
        inbox->length += part;
        bytes += part;
        length -= part;
        if (inbox->length == inbox->announced) {
            code = deliver(inbox, came, data);
            if (code != 0) {
                return code;
            }
        }
    }
    return 0;
}

bool hamid_grpc_inbox_is_torn(const struct hamid_grpc_inbox *inbox)
{
    return inbox->prefix_length > 0;
}

void hamid_grpc_inbox_done(struct hamid_grpc_inbox *inbox)
{
    free(inbox->message);
    memset(inbox, 0, sizeof(*inbox));
}
