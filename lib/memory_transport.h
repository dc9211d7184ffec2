/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The transport of a memory store. */
#ifndef HAMI_LIB_MEMORY_TRANSPORT_H
#define HAMI_LIB_MEMORY_TRANSPORT_H

#include "memory_store.h"

void hami_internal_memory_transport_init(struct hami_transport *transport, bool owners);

/* Writes one value without looking. The names are checked. Returns 0, HAMI_E_NOMEM,
 * HAMI_E_LIMIT. */
int hami_internal_memory_transport_put(hami_memory *memory, const char *node,
                                       const char *key, const char *value);

#endif
