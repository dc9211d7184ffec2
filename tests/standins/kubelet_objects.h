/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON that a kubelet and a device plugin send, as new text (free it; NULL: out of
 * memory), and what they read from a pod. Pure, but for the wall clock.
 */
#ifndef STANDIN_KUBELET_OBJECTS_H
#define STANDIN_KUBELET_OBJECTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Containers of a pod, init containers first. */
size_t kubelet_container_count(const json_t *pod);
/* How many of a resource one of them asks. */
unsigned kubelet_asks(const json_t *pod, size_t container, const char *resource);
const char *kubelet_metadata(const json_t *pod, const char *member); /* "" if absent */

/* The plugin's question: whose Allocate is this? Ids are made up. */
char *kubelet_allocation_body(const char *resource, unsigned count, const char *node,
                              unsigned first_id);
/* Status Running, every container ready; or Failed as after a refused admission. */
char *kubelet_running_patch(const json_t *pod);
char *kubelet_failed_patch(const json_t *pod, const char *message);
/* The Ready condition, with the time. */
char *kubelet_heartbeat_patch(void);

#endif
