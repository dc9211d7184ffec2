/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our socket in the kubelet's plugin folder, and that the kubelet knows of it. Loop's
 * thread.
 */
#ifndef DEVICE_PLUGIN_REGISTRATION_H
#define DEVICE_PLUGIN_REGISTRATION_H

#include "kubelet.h"

struct event_base;
struct registration;

struct registration_config {
    struct event_base *base;
    const char *folder;   /* of the kubelet's plugins */
    const char *endpoint; /* our socket's name there */
    const char *resource;
    bool has_pre_start;
    const struct hamid_kubelet_service *service; /* of our socket; borrowed */
    size_t (*streams)(void *data);               /* ListAndWatch calls that are open */
    void *data;
};

/* Serves and registers from the loop's next turn on, for ever, whatever the kubelet does.
 * config's texts are borrowed. NULL without memory. */
struct registration *registration_new(const struct registration_config *config);

/* Takes no new calls. */
void registration_stop(struct registration *registration);

/* Ends all calls and removes the socket. Takes NULL, returns NULL. */
struct registration *registration_free(struct registration *registration);

#endif
