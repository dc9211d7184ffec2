/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which devices are healthy: those whose health file exists and does not begin with the
 * word "unhealthy", and those without one. Loop's thread.
 */
#ifndef DEVICE_PLUGIN_HEALTH_H
#define DEVICE_PLUGIN_HEALTH_H

#include "settings.h"

struct event_base;
struct health;

/* Looks once, at once; then calls `changed` whenever a device's health has changed.
 * Borrowed are settings and data. NULL without memory. */
struct health *health_new(struct event_base *base, struct plugin_settings *settings,
                          void (*changed)(void *data), void *data);

/* Takes NULL, returns NULL. */
struct health *health_free(struct health *health);

#endif
