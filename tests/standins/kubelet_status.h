/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status writes of the stand-in kubelet, beside everything else. As the real one's they
 * are sent again until the API server takes them, or the pod is gone.
 */
#ifndef STANDIN_KUBELET_STATUS_H
#define STANDIN_KUBELET_STATUS_H

#include "requests.h"

#include <stdint.h>

struct kubelet_status;

/* REQUESTS is borrowed. NULL: out of memory. */
struct kubelet_status *kubelet_status_new(struct requests *requests);
/* After the requests: an open one must not end any more. */
void kubelet_status_free(struct kubelet_status *status);
/* PATCHes PATH with a merge patch; consumes BODY (NULL: out of memory, nothing happens).
 */
void kubelet_status_write(struct kubelet_status *status, const char *path, char *body);
/* Sends again what is due. Returns when to be called again at the latest. */
int64_t kubelet_status_turn(struct kubelet_status *status, int64_t now_ms);

#endif
