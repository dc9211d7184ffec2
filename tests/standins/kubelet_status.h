/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status writes of the stand-in kubelet, beside everything else.
 */
#ifndef STANDIN_KUBELET_STATUS_H
#define STANDIN_KUBELET_STATUS_H

#include "requests.h"

/* PATCHes PATH with a merge patch; consumes BODY (NULL: out of memory, nothing happens).
 */
void kubelet_status_write(struct requests *requests, const char *path, char *body);

#endif
