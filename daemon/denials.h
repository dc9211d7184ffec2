/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server refused us with 403: for the log, the metrics and /readyz, so that
 * a role which lacks something is named, and not its consequences. MT-Safe; a bounded
 * table.
 */
#ifndef HAMID_DENIALS_H
#define HAMID_DENIALS_H

#include <stddef.h>

#include <hami/kubernetes.h>

struct hamid_denials;

/* NULL without memory. */
struct hamid_denials *hamid_denials_new(void);
/* Takes NULL, returns NULL. After the client that tells it. */
struct hamid_denials *hamid_denials_free(struct hamid_denials *denials);

/* For hami_kubernetes_config.denied; data is the table. Logs each kind at once, and then
 * at most once a minute. */
void hamid_denials_told(void *data, const struct hami_kubernetes_denial *denial);

/* "missing permission: patch nodes, list pods": what was refused for want of a permission
 * within the last minute, for lists and watches within 15 s; NULL if nothing, or for
 * NULL. Events don't count: nothing waits for them. The text stays until the next call;
 * one thread may ask. */
const char *hamid_denials_missing(struct hamid_denials *denials);

/* hamid_api_denied_total as Prometheus' text, new; NULL without memory, and for NULL. */
char *hamid_denials_metrics(struct hamid_denials *denials);

#endif
