/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The lock keys in use, interned. */
#ifndef HAMI_LIB_KEYS_H
#define HAMI_LIB_KEYS_H

#include "internal.h"

/*
 * Finds or adds a key; its name is checked already.
 * Returns 0, HAMI_E_NOMEM, HAMI_E_LIMIT (HAMI_INTERNAL_KEYS_MAX keys are in use)
 */
int hami_internal_keys_get(struct hami_nodelock *lock, const char *name,
                           const struct hami_internal_key **ret);
void hami_internal_keys_done(struct hami_nodelock *lock);

#endif
