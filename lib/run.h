/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Turning the crank of one node: plan, submit, apply, until there is nothing to do at
 * once. */
#ifndef HAMI_LIB_RUN_H
#define HAMI_LIB_RUN_H

#include "internal.h"

/*
 * Brings a node on as far as it goes without waiting.
 * @node   its mutex is held on entry and free on return; the caller has a pin on it
 * @after  started by hami_internal_after_init(); done with on return
 */
void hami_internal_run(struct hami_internal_node *node,
                       struct hami_internal_after *after);

/* Asks the transport to end the node's call early, if one is pending. No lock is held. */
void hami_internal_run_abort(struct hami_internal_node *node);

#endif
