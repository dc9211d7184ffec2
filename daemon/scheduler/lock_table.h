/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which resource needs which lock: HAMi's vendors by default, changed and added to by
 * `--lock RESOURCE=KEY|exempt`. A table never changes once it is made, so that any thread
 * may look into one; a reload makes another. Counted, on the loop's thread alone: each
 * bind keeps the table that it was judged by.
 */
#ifndef HAMID_SCHEDULER_LOCK_TABLE_H
#define HAMID_SCHEDULER_LOCK_TABLE_H

#include <hami/nodelock.h>

#include "flags.h"

struct lock_table;

/* What one pod needs. Keys are borrowed from the table. */
struct lock_needs {
    bool is_managed; /* it asks for a resource that is served here */
    bool is_exempt;  /* none of those has a lock */
    size_t key_count;
    const char *keys[HAMI_NODELOCK_KEYS_MAX];
};

/*
 * Makes a table.
 * @choices  RESOURCE=KEY or RESOURCE=exempt; RESOURCE may end with '*'
 * @managed  the resources that are served; none = any pod is
 * @error    HAMID_FLAG_ERROR_MAX bytes; receives why not
 * @ret_wrong receives the list that is at fault
 * Returns   with one reference; NULL where a choice is no such thing, a managed resource
 *           has no choice, the locks are too many, or memory is out
 */
struct lock_table *lock_table_new(const struct hamid_flag_list *choices,
                                  const struct hamid_flag_list *managed, char *error,
                                  const struct hamid_flag_list **ret_wrong);
struct lock_table *lock_table_ref(struct lock_table *table);
/* Takes NULL, returns NULL. */
struct lock_table *lock_table_unref(struct lock_table *table);

/* Does a pod have to be read, to know what it needs? */
bool lock_table_wants_pod(const struct lock_table *table);

void lock_table_judge(const struct lock_table *table, const char *const *resources,
                      size_t resource_count, struct lock_needs *ret);

/*
 * The calls that a pod's devices are handed out by, as hami_nodelock_request.calls has
 * them: those of served resources that have the one lock that the pod needs.
 * @calls   of the pod, as hami_kubernetes_pod.calls
 * @buffer  HAMI_NODELOCK_CALLS_MAX + 1 bytes; "" where the pod must be alone on its node
 * Returns  false there: it needs another number of locks than one, one of its counts is no
 *          number, no call of it is known, or they don't fit
 */
bool lock_table_calls(const struct lock_table *table, const struct lock_needs *needs,
                      const char *const *calls, size_t count, char *buffer);

/* Every key that a pod can come to need: at most HAMI_NODELOCK_KEYS_MAX. */
size_t lock_table_keys(const struct lock_table *table, const char **ret);

#endif
