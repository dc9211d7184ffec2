/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verbs that are not hamid's own (filter, prioritize, preempt): passed on to the upstream
 * extender unread, and its answer passed back unread.
 */
#ifndef HAMID_SCHEDULER_PASS_H
#define HAMID_SCHEDULER_PASS_H

#include "http/server.h"
#include "metrics.h"
#include "upstream.h"

/*
 * Takes an exchange over and answers it.
 * @upstream NULL = none is configured: the answer says so
 */
void pass_on(struct upstream *upstream, struct metrics *metrics,
             struct hamid_http_exchange *exchange);

#endif
