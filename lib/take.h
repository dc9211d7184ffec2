/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The write by which a wait gets its lock. */
#ifndef HAMI_LIB_TAKE_H
#define HAMI_LIB_TAKE_H

#include "look.h"

/*
 * Starts it. With the node's mutex; it is the wait's turn, and all its keys are free.
 * @slots  one a key
 * Returns LOOK_WORKING; it may have asked for a grant, a call, or a read to come first
 */
enum hami_internal_look hami_internal_take_start(struct hami_internal_round *round,
                                                 struct hami_wait *wait,
                                                 struct hami_internal_slot *const *slots);

#endif
