/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel flags: which waits carry one. */
#ifndef HAMI_LIB_CANCEL_H
#define HAMI_LIB_CANCEL_H

#include "internal.h"

/* Ties a wait to its flag (NULL is fine), taking a reference. No lock is held. */
void hami_internal_cancel_attach(struct hami_wait *wait, hami_cancel *cancel);

/* Unties it. No lock is held. */
void hami_internal_cancel_detach(struct hami_wait *wait);

#endif
