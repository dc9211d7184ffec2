/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the manager tells about locks that change hands, counted and logged. It is told
 * from several threads; everything here may be called from any.
 */
#ifndef HAMID_SCHEDULER_CHANGES_H
#define HAMID_SCHEDULER_CHANGES_H

#include "metrics.h"

struct changes;

/* NULL without memory. */
struct changes *changes_new(void);
/* When the manager is gone. Takes NULL, returns NULL. */
struct changes *changes_free(struct changes *changes);

/* hami_nodelock_config.changed; data is the changes. */
void changes_told(void *data, const struct hami_lock_change *change);

void changes_read(struct changes *changes, struct changes_counts *ret);

#endif
