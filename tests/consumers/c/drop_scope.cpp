/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* C++: a lease that goes out of scope gives its lock back (examples/raii.hpp), an
 * exception too. */
#include <raii.hpp>

#include "consumer.h"

using hami_example::Lease;

static void leave(hami_nodelock *lock, hami_lease *lease)
{
    Lease scope(lock, lease);
    throw std::runtime_error("half-way");
}

void drop(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    struct outcome next;
    bool thrown = false;

    {
        Lease outer(lock, nullptr);
        Lease inner(lock, take(world, lock, node, world_pod(world)));
        outer = std::move(inner);
        queue(world, lock, node, world_pod(world), nullptr, &next);
        CHECK(outer.fence() > 0 && inner.fence() == 0 && outcome_count(&next) == 0);
    }
    CHECK_CODE(outcome_await(&next), 0);
    try {
        leave(lock, next.lease);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown);
    give(world, lock, take(world, lock, node, world_pod(world)));
    manager_end(world, lock);
    CHECK(!world_is_locked(world, node));
}
