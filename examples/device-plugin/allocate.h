/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate: whom it is for, by the handshake, and what that pod's annotation gives it.
 * Loop's thread.
 */
#ifndef DEVICE_PLUGIN_ALLOCATE_H
#define DEVICE_PLUGIN_ALLOCATE_H

#include <hami/kubernetes.h>

#include "kubelet.h"
#include "settings.h"

struct books;
struct checks;
struct hamid_mailbox;
struct allocate;

/* What Allocate needs; all borrowed. */
struct allocate_config {
    struct hamid_mailbox *mailbox;
    const struct plugin_settings *settings;
    hami_handshake *handshake; /* NULL: the ids of the call say which devices */
    struct books *books;       /* the kubelet's; NULL = none */
    struct checks *checks;     /* with books: what was answered is compared with them */
    bool needs_books;          /* refuse while the books can't be read */
    uint64_t timeout_ms;
};

/* NULL without memory. */
struct allocate *allocate_new(const struct allocate_config *config);

/* Answers the call, at the latest after the timeout. */
void allocate_begin(struct allocate *allocate, struct hamid_grpc_call *call,
                    const V1beta1__AllocateRequest *request);

/* Calls that wait for the books or the library. */
size_t allocate_pending(const struct allocate *allocate);

/* Nothing may be pending. Takes NULL, returns NULL. */
struct allocate *allocate_free(struct allocate *allocate);

#endif
