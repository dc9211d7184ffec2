/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* C: a lease that was not consumed when its manager is freed counts as handed off (rule
 * L2). */
#include "consumer.h"

#include <string.h>

void drop(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *pod = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, pod);
    uint64_t deadline_ns = hami_nodelock_in_ms(lock, PATIENCE_MS);
    char value[512] = "";

    manager_end(world, lock);
    CHECK(world_value(world, node, value, sizeof(value)) && strstr(value, pod->name));
    CHECK_CODE(hami_lease_check(lease, deadline_ns, NULL), HAMI_E_CLOSED);
    CHECK_CODE(hami_lease_release(lease, deadline_ns, NULL), HAMI_E_CLOSED);
    CHECK(world_is_locked(world, node));
}
