/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says on the Node object that an agent is here, who frees the lock, and whether pods may
 * be side by side. Loop's thread.
 */
#ifndef HAMID_NODE_PRESENCE_H
#define HAMID_NODE_PRESENCE_H

#include <hami/kubernetes.h>

struct event_base;
struct hamid_mailbox;
struct presence;

/*
 * Starts to write the annotation, again and again until the server took it; then calls
 * `written`, once. Texts are borrowed; the value is one of HAMI_HANDSHAKE_AGENT_*. Returns NULL without memory.
 */
struct presence *presence_new(struct event_base *base, struct hamid_mailbox *mailbox,
                              hami_kubernetes *client, const char *node,
                              const char *value, void (*written)(void *data), void *data);

/* A write that is with the library; it ends by itself. */
bool presence_is_pending(const struct presence *presence);

/* No further write is started. */
void presence_stop(struct presence *presence);

/* Removes the annotation if it still has our value; waits, at most timeout_ms. */
void presence_remove(struct presence *presence, uint64_t timeout_ms);

/* Takes NULL, returns NULL. Nothing may be pending. */
struct presence *presence_free(struct presence *presence);

#endif
