/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* One call of a transport without a manager, with what the transport said of it. */
#ifndef HAMI_LIB_SINGLE_CALL_H
#define HAMI_LIB_SINGLE_CALL_H

#include <hami/transport.h>

/* What is asked about an owner; texts borrowed. */
struct hami_internal_question {
    const char *node;
    const struct hami_owner *owner;
    const char *revocation; /* NULL = inspect */
    uint64_t timeout_ms;
};

/*
 * As hami_transport_call_owner(), but the transport's text comes too.
 * @text  "" where there is none
 */
int hami_internal_single_owner(struct hami_transport *transport,
                               const struct hami_internal_question *question,
                               void (*receive)(void *data, int code,
                                               const struct hami_owner_facts *facts,
                                               const char *text),
                               void *data);

#endif
