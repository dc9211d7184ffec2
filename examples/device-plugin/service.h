/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the plugin answers the kubelet, but for Allocate, which is allocate.h's. Loop's
 * thread.
 */
#ifndef DEVICE_PLUGIN_SERVICE_H
#define DEVICE_PLUGIN_SERVICE_H

#include "kubelet.h"
#include "settings.h"

struct allocate;
struct checks;
struct service;

/*
 * All is borrowed. NULL without memory.
 * @checks   NULL, or asked before a container starts, within timeout_ms
 */
struct service *service_new(struct plugin_settings *settings, struct allocate *allocate,
                            struct checks *checks, uint64_t timeout_ms);

/* Is the kubelet to ask before a container starts? */
bool service_wants_pre_start(const struct service *service);

/* For registration_config. */
const struct hamid_kubelet_service *service_methods(const struct service *service);
size_t service_streams(void *service);

/* The health of a device has changed: the kubelet is told. */
void service_devices_changed(struct service *service);

/* Its calls have ended before. Takes NULL, returns NULL. */
struct service *service_free(struct service *service);

#endif
