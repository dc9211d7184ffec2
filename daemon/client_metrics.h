/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API client's metrics in Prometheus' text form, the same for each role. Labels are
 * from closed lists.
 */
#ifndef HAMID_CLIENT_METRICS_H
#define HAMID_CLIENT_METRICS_H

#include <hami/kubernetes.h>

/* New text; NULL without memory. */
char *hamid_client_metrics(hami_kubernetes *client);

#endif
