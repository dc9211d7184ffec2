/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says on the Node object that an agent is here, and who frees the lock. Loop's thread.
 */
#ifndef HAMID_NODE_PRESENCE_H
#define HAMID_NODE_PRESENCE_H

#include <hami/kubernetes.h>

struct event_base;
struct hamid_mailbox;
struct presence;

/* The node side's last write removes the lock, as every plugin of HAMi's does. */
#define PRESENCE_FREE_NODE "1,free=node"
#define PRESENCE_FREE_SCHEDULER "1,free=scheduler"

/*
 * Starts to write the annotation, again and again until the server took it; then calls
 * `written`, once. Texts are borrowed. Returns NULL without memory.
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
