/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The totals and gauges of a manager: read one by one, each by itself exact. */
#include <string.h>

#include "errors.h"
#include "manager.h"

int hami_nodelock_stats(const hami_nodelock *lock, struct hami_nodelock_stats *ret)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

    if (!lock || !ret || ret->size < sizeof(ret->size)) {
        return HAMI_E_INVAL;
    }
    size_t size = ret->size;
    if (!hami_internal_errors_is_struct_known(ret, size, sizeof(stats))) {
        return HAMI_E_ABI;
    }
    if (hami_internal_manager_is_forked(lock)) {
        return HAMI_E_FORKED;
    }
    const struct hami_internal_counters *counters = &lock->counters;
    stats.grants = atomic_load(&counters->grants);
    stats.timeouts = atomic_load(&counters->timeouts);
    stats.cancels = atomic_load(&counters->cancels);
    stats.refusals = atomic_load(&counters->refusals);
    stats.handoffs = atomic_load(&counters->handoffs);
    stats.releases = atomic_load(&counters->releases);
    stats.hand_overs = atomic_load(&counters->hand_overs);
    stats.takeovers = atomic_load(&counters->takeovers);
    stats.revocations = atomic_load(&counters->revocations);
    stats.lost = atomic_load(&counters->lost);
    stats.in_doubt = atomic_load(&counters->in_doubt);
    stats.undone = atomic_load(&counters->undone);
    stats.alarms = atomic_load(&counters->alarms);
    stats.calls = atomic_load(&counters->calls);
    stats.waiters = atomic_load(&counters->waiters);
    stats.leases = atomic_load(&counters->leases);
    stats.refused_full = atomic_load(&counters->refused_full);
    stats.refused_namespace = atomic_load(&counters->refused_namespace);
    stats.refused_early = atomic_load(&counters->refused_early);
    stats.refused_stalled = atomic_load(&counters->refused_stalled);
    stats.beside = atomic_load(&counters->beside);
    (void)pthread_mutex_lock((pthread_mutex_t *)&lock->table.mutex);
    stats.nodes = (uint32_t)lock->table.node_count;
    (void)pthread_mutex_unlock((pthread_mutex_t *)&lock->table.mutex);
    memcpy(ret, &stats, size < sizeof(stats) ? size : sizeof(stats));
    ret->size = size;
    return 0;
}
