/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Node locks in etcd: see etcd_transport.c. */
#ifndef ETCD_TRANSPORT_H
#define ETCD_TRANSPORT_H

#include <hami/transport.h>

/* @url such as http://127.0.0.1:2379, without a path. NULL if out of memory. */
struct hami_transport *etcd_transport_new(const char *url);
/* Free the manager first. Takes NULL, returns NULL. */
struct hami_transport *etcd_transport_free(struct hami_transport *transport);

#endif
