/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of lock and lease annotations, written. Pure. Reading is in hami/handshake.h.
 */
#ifndef HAMI_LIB_RECORD_H
#define HAMI_LIB_RECORD_H

#include <hami/handshake.h>

/* Writes `YYYY-MM-DDThh:mm:ssZ,`, NUL included.
 * @seconds  since 1970, UTC; outside of years 1 to 9999 it is cut to them */
#define HAMI_INTERNAL_RECORD_DATE 22
void hami_internal_record_date(char *date, int64_t seconds);

/* Writes `YYYY-MM-DDThh:mm:ssZ,namespace,pod`.
 * @date  from hami_internal_record_date()
 * Returns the length; the buffer must hold HAMI_LOCK_VALUE_MAX bytes */
size_t hami_internal_record_value(char *buffer, const char *date,
                                  const char *namespace_name, const char *name);

struct hami_internal_lease_text {
    const char *value, *uid, *holder; /* checked names: nothing in them needs escaping */
    uint64_t fence, attempt, hold_ms;
    bool free_by_scheduler;
    const char *calls; /* canonical; NULL = it has none. With calls the scheduler frees */
};

/* Bytes that hold any lease with texts of these lengths, NUL included.
 * @calls  0 = it has none */
size_t hami_internal_record_lease_size(size_t value, size_t uid, size_t holder,
                                       size_t calls);

/* Writes the lease annotation. Returns its length. */
size_t hami_internal_record_lease(char *buffer, size_t size,
                                  const struct hami_internal_lease_text *lease);

/* What reading back our own take, or our own release with `lock` gone, would tell: the
 * same as hami_lock_record_parse() of what was written. @ret  its size is set; its texts
 * are overwritten up to their ends */
void hami_internal_record_taken(const struct hami_owner *owner,
                                const struct hami_internal_lease_text *lease,
                                struct hami_lock_record *ret);
void hami_internal_record_freed(uint64_t fence, struct hami_lock_record *ret);

#endif
