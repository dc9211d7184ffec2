/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of objects and the paths made from them. Pure.
 *
 * No path is built from a name that Kubernetes could not have accepted: such an object
 * does not exist, and its name could climb out of the path.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_PATHS_H
#define HAMI_INTERNAL_KUBERNETES_PATHS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that hold any path below, query apart. */
#define HAMI_INTERNAL_PATHS_MAX 512

/* RFC 1123 label: 1 to 63 of [a-z0-9-], alphanumeric at both ends. False on NULL. */
bool hami_internal_paths_is_label(const char *text);

/* RFC 1123 subdomain: 1 to 253 characters, labels (of any length) joined by dots. False
 * on NULL. */
bool hami_internal_paths_is_subdomain(const char *text);

/* Writes "/api/v1/nodes/NODE". Returns false where the name can't be one (or size is too
 * small). */
bool hami_internal_paths_node_path(const char *node, char *buffer, size_t size);

/* Writes "/api/v1/namespaces/NAMESPACE/pods/NAME" and then `rest` ("" or "/binding"). As
 * above. */
bool hami_internal_paths_pod_path(const char *namespace_name, const char *name,
                                  const char *rest, char *buffer, size_t size);

/* Writes "/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases" and, unless name is
 * NULL, "/NAME". As above. */
bool hami_internal_paths_lease_path(const char *namespace_name, const char *name,
                                    char *buffer, size_t size);

/* Writes text with all but unreserved characters percent-escaped. Returns false if size
 * is too small. */
bool hami_internal_paths_escape(const char *text, char *buffer, size_t size);

#endif
