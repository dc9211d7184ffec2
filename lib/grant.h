/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Making and freeing of grants and leases. No lock is needed. */
#ifndef HAMI_LIB_GRANT_H
#define HAMI_LIB_GRANT_H

#include "internal.h"
#include "record.h"

/* A grant with so much room for texts, and none yet. NULL = out of memory. */
struct hami_internal_grant *hami_internal_grant_new(const struct hami_nodelock *lock,
                                                    size_t room);

/* Makes it as new; its room stays. What it was judged by is not freed. */
void hami_internal_grant_clear(struct hami_internal_grant *grant);

/* Makes it an owner's. False if there is not room enough: `*room` says how much it takes.
 * @calls  of the owner; NULL = none */
bool hami_internal_grant_name(const struct hami_nodelock *lock,
                              struct hami_internal_grant *grant,
                              const struct hami_owner *owner, const char *calls,
                              size_t *room);

/* A grant that can take over any record of ours found in the store (see _adopt). */
struct hami_internal_grant *
hami_internal_grant_new_spare(const struct hami_nodelock *lock);

struct hami_internal_grant *hami_internal_grant_free(const struct hami_nodelock *lock,
                                                     struct hami_internal_grant *grant);

/* What the grant's lease annotation says; its texts are the grant's and the manager's. */
struct hami_internal_lease_text
hami_internal_grant_lease_text(const struct hami_nodelock *lock,
                               const struct hami_internal_grant *grant);

/* With the node's mutex: a spare becomes the grant that a slot's record stands for. */
void hami_internal_grant_adopt(struct hami_internal_grant *spare,
                               struct hami_internal_slot *slot);

#endif
