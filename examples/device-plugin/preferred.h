/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which free ids suit a container best. Loop's thread.
 */
#ifndef DEVICE_PLUGIN_PREFERRED_H
#define DEVICE_PLUGIN_PREFERRED_H

#include "kubelet.h"
#include "settings.h"

/*
 * Chooses among the free ids of a container's request: first those that must be among
 * them; then shares of devices that the container does not have yet, of the NUMA node
 * that the first one is on before others; then what is left, in order.
 * @wanted   how many
 * @chosen   room for `wanted` indexes of available_ids
 * Returns   how many were chosen: fewer where there are not enough
 */
size_t preferred_choose(const struct plugin_settings *settings,
                        const V1beta1__ContainerPreferredAllocationRequest *request,
                        size_t wanted, size_t *chosen);

/* Answers the call. */
void preferred_answer(const struct plugin_settings *settings,
                      struct hamid_grpc_call *call,
                      const V1beta1__PreferredAllocationRequest *request);

#endif
