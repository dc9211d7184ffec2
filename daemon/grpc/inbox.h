/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the messages of one stream out of its bytes: a flag, a length of four bytes, the
 * message. No I/O.
 */
#ifndef HAMID_GRPC_INBOX_H
#define HAMID_GRPC_INBOX_H

#include "grpc.h"

#define HAMID_GRPC_PREFIX 5 /* bytes before each message */

struct hamid_grpc_inbox {
    uint8_t prefix[HAMID_GRPC_PREFIX];
    size_t prefix_length;
    uint8_t *message; /* grows with what has come, not with what was announced */
    size_t length, capacity;
    size_t announced;
    size_t message_max;
};

/*
 * Takes some bytes; for each message that is whole calls came(data, message, length).
 * Returns   0, or a status code and its text: RESOURCE_EXHAUSTED (announced longer than
 *           message_max, or no memory), UNIMPLEMENTED (compressed), INTERNAL (a flag that
 *           gRPC does not have), or what came() returned when not 0: the inbox is then
 * not looked at again, came() may have freed it
 */
int hamid_grpc_inbox_take(struct hamid_grpc_inbox *inbox, const uint8_t *bytes,
                          size_t length,
                          int (*came)(void *data, const uint8_t *message, size_t length),
                          void *data, const char **ret_text);

/* In the middle of a message: the stream must not end here. */
bool hamid_grpc_inbox_is_torn(const struct hamid_grpc_inbox *inbox);

void hamid_grpc_inbox_done(struct hamid_grpc_inbox *inbox);

#endif
