/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A manager's configuration: read, checked as a whole, defaults filled in. */
#ifndef HAMI_LIB_CONFIG_H
#define HAMI_LIB_CONFIG_H

#include <hami/transport.h>

/*
 * Reads a caller's configuration of any age.
 * @known    filled with defaults on 0; its texts are still the caller's
 * Returns 0, HAMI_E_INVAL, HAMI_E_ABI, HAMI_E_NOTSUP
 */
int hami_internal_config_read(const struct hami_nodelock_config *config,
                              struct hami_nodelock_config *known,
                              struct hami_error *error);

/* True if it has all members that there are, and the one that is required. */
bool hami_internal_config_is_transport(const struct hami_transport *transport);

/* True if waiting by the system's monotonic clock is waiting by the manager's. */
bool hami_internal_config_has_system_clock(const struct hami_nodelock_config *config);

#endif
