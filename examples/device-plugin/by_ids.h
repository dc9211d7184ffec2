/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocate as a plain plugin answers it: by the kubelet's ids, whoever the pod is. Loop's
 * thread.
 */
#ifndef DEVICE_PLUGIN_BY_IDS_H
#define DEVICE_PLUGIN_BY_IDS_H

#include "kubelet.h"
#include "settings.h"

/* Answers the call. */
void by_ids_answer(const struct plugin_settings *settings, struct hamid_grpc_call *call,
                   const V1beta1__AllocateRequest *request);

#endif
