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

struct hamid_mailbox;
struct allocate;

/* All borrowed. handshake NULL: the ids of the call say which devices. NULL without
 * memory. */
struct allocate *allocate_new(struct hamid_mailbox *mailbox,
                              const struct plugin_settings *settings,
                              hami_handshake *handshake, uint64_t timeout_ms);

/* Answers the call, at the latest after the timeout. */
void allocate_begin(struct allocate *allocate, struct hamid_grpc_call *call,
                    const V1beta1__AllocateRequest *request);

/* Calls of the library that have not come back. */
size_t allocate_pending(const struct allocate *allocate);

/* Nothing may be pending. Takes NULL, returns NULL. */
struct allocate *allocate_free(struct allocate *allocate);

#endif
