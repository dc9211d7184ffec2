/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Cancel flags: which waits carry one. */
#ifndef HAMI_LIB_CANCEL_H
#define HAMI_LIB_CANCEL_H

#include "internal.h"

/* Ties a wait, which has its extra, to its flag, taking a reference; NULL is fine. No
 * lock is held. */
void hami_internal_cancel_attach(struct hami_wait *wait, hami_cancel *cancel);

/* Unties it. No lock is held. */
void hami_internal_cancel_detach(struct hami_wait *wait);

/* With the node's mutex: true if it has a flag that was fired. */
bool hami_internal_cancel_is_fired(const struct hami_wait *wait);

#endif
