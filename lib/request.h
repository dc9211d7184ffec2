/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What an acquire asks for, read and checked. */
#ifndef HAMI_LIB_REQUEST_H
#define HAMI_LIB_REQUEST_H

#include "internal.h"

/*
 * @known   the request with what its caller's version of it lacks; its texts are borrowed
 * @reterr  in: where errors go, or NULL; out: the request's own, if that is NULL
 * Returns 0, HAMI_E_INVAL, HAMI_E_ABI, HAMI_E_FORKED, HAMI_E_CLOSED
 */
int hami_internal_request_read(hami_nodelock *lock,
                               const struct hami_nodelock_request *request,
                               struct hami_nodelock_request *known,
                               struct hami_error **reterr);

#endif
