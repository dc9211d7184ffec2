/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HAMi's register and handshake annotations on the Node object, by which its scheduler
 * knows the devices. Loop's thread.
 */
#ifndef DEVICE_PLUGIN_NODE_REGISTER_H
#define DEVICE_PLUGIN_NODE_REGISTER_H

#include <hami/kubernetes.h>

#include "settings.h"

struct event_base;
struct hamid_mailbox;
struct node_register;

/* The register annotation's value; to be freed, NULL without memory. */
char *node_register_text(const struct plugin_settings *settings);

/*
 * Writes both, at once and then every `period_ms`; all but time is borrowed.
 * NULL without memory.
 */
struct node_register *node_register_new(struct event_base *base,
                                        struct hamid_mailbox *mailbox,
                                        hami_kubernetes *client, const char *node,
                                        const struct plugin_settings *settings,
                                        uint64_t period_ms);

/* The devices have changed: writes as soon as may be. */
void node_register_changed(struct node_register *one);

/* No further write is started. */
void node_register_stop(struct node_register *one);

/* A write that is with the library; it ends by itself. */
bool node_register_is_pending(const struct node_register *one);

/* Takes NULL, returns NULL. Nothing may be pending. */
struct node_register *node_register_free(struct node_register *one);

#endif
