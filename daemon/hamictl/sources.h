/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where hamictl gets its facts: a running hamid's locks view, or the API server itself.
 * Both give nodes in the form of the locks view:
 *   {"node","slots":[{"key","state","namespace","pod","uid","holder","fence","ageSeconds",..}],
 *    "waiters":[{"namespace","pod","position","waitedSeconds",..}]}
 * A slot with "calls" is that of a pod beside others; one of state "cover" stands for them
 * all.
 */
#ifndef HAMICTL_SOURCES_H
#define HAMICTL_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

#include <hami/kubernetes.h>
#include <jansson.h>

#define SOURCE_ERROR_MAX 1024

/* A hamid, and how to be sure of each other where it speaks HTTPS; texts borrowed. */
struct source_hamid {
    const char *url;     /* "http://127.0.0.1:9397", with or without '/' at its end */
    const char *ca_file; /* NULL = the system's */
    const char *certificate_file;
    const char *key_file; /* NULL = in certificate_file */
};

/*
 * Asks a hamid for its locks view.
 * @error   SOURCE_ERROR_MAX bytes; says what to do
 * Returns  new: an array of nodes; NULL on failure
 */
json_t *source_from_hamid(const struct source_hamid *hamid, char *error);

/* GETs a text, to be freed, whatever the status; NULL without an answer. */
char *source_hamid_text(const struct source_hamid *hamid, const char *path,
                        long *ret_status, char *error);

/* Logs in: by that kubeconfig, or by the environment where NULL. NULL on failure.
 * @flags  HAMI_KUBERNETES_ALLOW_EXEC */
hami_kubernetes *source_login(const char *kubeconfig, const char *context, uint32_t flags,
                              char *error);

/* Lists the nodes that carry a lock. @node NULL = all. New; NULL on failure. */
json_t *source_from_cluster(hami_kubernetes *client, const char *node, char *error);

/* The same, out of the API server's cache: for those who look often. */
json_t *source_from_cache(hami_kubernetes *client, const char *node, char *error);

/* The same of one node, with this lock key too. */
json_t *source_from_cluster_key(hami_kubernetes *client, const char *node,
                                const char *key, char *error);

/*
 * GETs JSON.
 * @path        from "/" on, escaped
 * @accept      NULL = application/json
 * @ret_status  the answer's; 0 where none came
 * Returns      new; NULL with the error, also where the status is not 200
 */
json_t *source_get(hami_kubernetes *client, const char *path, const char *accept,
                   int *ret_status, char *error);

/* POSTs a review; otherwise as source_get(). @body borrowed */
json_t *source_post(hami_kubernetes *client, const char *path, const json_t *body,
                    int *ret_status, char *error);

/*
 * Lists objects, page by page.
 * @path      may have a query
 * @is_whole  false: their metadata alone
 * Returns    new: the items; NULL on failure
 */
json_t *source_list(hami_kubernetes *client, const char *path, bool is_whole,
                    char *error);

/*
 * Reads a pod.
 * @ret_exists  false where there is none
 * Returns      new: the object; NULL on failure, and where there is none
 */
json_t *source_pod(hami_kubernetes *client, const char *namespace_name, const char *name,
                   bool *ret_exists, char *error);

/* source_calls.c: what a pod asks of device plugins, "RESOURCE=COUNT" each. New: an array,
 * empty where it can't be learned. */
json_t *source_calls(hami_kubernetes *client, const char *namespace_name,
                     const char *name);

/* One that stands in a slot's "calls" as well, borrowed; NULL = none. */
const char *source_common_call(const json_t *calls, const char *held);

/* One node's locks out of an object with metadata; new, or NULL where it has none. */
json_t *source_node(const json_t *object);

/* Does a slot only say that pods are in flight side by side? */
bool source_is_cover(const json_t *slot);

#define SOURCE_KEY_MAX (HAMI_NODELOCK_KEY_MAX + 12)

/*
 * The names of one record of a lock's key: its own (permit 0), or that of a pod beside
 * others. Buffers of SOURCE_KEY_MAX bytes. False where no lock has such a key.
 */
bool source_record_keys(const char *key, unsigned permit, char *lock_key,
                        char *lease_key);

/* The number of a pod beside others that a key ends with; 0 = none. */
unsigned source_permit_of(const char *key);

/* A text member, "" where there is none. */
const char *source_text(const json_t *object, const char *name);

#endif
