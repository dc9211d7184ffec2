/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory, and its transport: for programs without Kubernetes, and as the plainest example
 * of a transport. Several managers may share one store; each change is told to all that watch,
 * but for the manager that made it.
 */
#ifndef HAMI_MEMORY_H
#define HAMI_MEMORY_H

#include <hami/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hami_memory hami_memory;

/* The store also knows owners: the transport has `inspect` and `revoke`. Without it every owner is
 * judged by age alone. */
#define HAMI_MEMORY_OWNERS 0x1u

/*
 * Makes an empty store. A node exists from the first value on, see hami_memory_put(); a take makes
 * one too.
 * @flags    0 or HAMI_MEMORY_OWNERS
 * @ret      new store; free with hami_memory_free()
 * Returns   0, or INVAL, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_new(uint32_t flags, hami_memory **ret);

/*
 * Frees a store; every manager on it must be freed before. Takes NULL, returns NULL.
 * Since     0.1
 */
HAMI_PUBLIC hami_memory *hami_memory_free(hami_memory *memory);

/*
 * Gives the store's transport, to be put into hami_nodelock_config; NULL if memory is NULL.
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Life      borrowed for the store's life
 * Since     0.1
 */
HAMI_PUBLIC struct hami_transport *hami_memory_transport(hami_memory *memory);

/*
 * Writes one value of a node as another writer would, without looking; watchers are told.
 * @key      annotation key
 * @value    copied; NULL removes it
 * Returns   0, or INVAL, NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_put(hami_memory *memory, const char *node, const char *key,
                                const char *value);

/*
 * Reads one value of a node.
 * @buffer   size bytes; filled and ended with NUL on 0
 * Returns   0, or INVAL, NODE (no such node), LOST (no such value), LIMIT (buffer too small)
 * Otherwise as hami_memory_put().
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_get(hami_memory *memory, const char *node, const char *key,
                                char *buffer, size_t size);

/*
 * Removes a node with all its values; watchers are told.
 * Returns   0, or INVAL, NODE. Otherwise as hami_memory_put().
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_delete(hami_memory *memory, const char *node);

/*
 * Says what is so of an owner, replacing what was said before (facts.exists false removes it);
 * watchers are told. The store sets version and source. facts.revoked is kept unless given.
 * @owner    namespace_name and name; facts.uid is its uid
 * Returns   0, or INVAL, ABI, NOMEM, NOTSUP (made without HAMI_MEMORY_OWNERS). Otherwise as
 *           hami_memory_put().
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_put_owner(hami_memory *memory, const struct hami_owner *owner,
                                      const struct hami_owner_facts *facts);

/*
 * Binds an owner to a node as an API server does: refused unless it exists with owner.uid, is not
 * bound, not deleting, and has `version` (NULL = any).
 * Returns   0, or INVAL, NOTSUP, NOMEM, LOST (refused). Otherwise as hami_memory_put().
 * Since     0.1
 */
HAMI_PUBLIC int hami_memory_bind_owner(hami_memory *memory, const struct hami_owner *owner,
                                       const char *node, const char *version);

#ifdef __cplusplus
}
#endif

#endif
