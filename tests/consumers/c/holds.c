/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a holder can do with its lock, and what can happen to it. */
#include "consumer.h"

#include <string.h>

void release(struct world *world)
{
    const char *node = world_node(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *first = take(world, lock, node, world_pod(world));
    uint64_t fence = hami_lease_fence(first);

    CHECK(fence > 0);
    CHECK(world_is_locked(world, node));
    give(world, lock, first);
    CHECK(!world_is_locked(world, node));
    hami_lease *second = take(world, lock, node, world_pod(world));
    CHECK(hami_lease_fence(second) > fence);
    give(world, lock, second);
    manager_end(world, lock);
}

struct sight {
    enum hami_slot_state state;
    size_t visits, slots, waiters;
    char holder[64], first[64], second[64];
};

static void copy_name(char *buffer, const struct hami_owner *owner)
{
    strncpy(buffer, owner->name ? owner->name : "", 63);
}

static int visit(void *data, const struct hami_node_view *view)
{
    struct sight *sight = (struct sight *)data;

    sight->visits++;
    sight->slots = view->slot_count;
    sight->waiters = view->waiter_count;
    if (view->slot_count > 0) {
        sight->state = view->slots[0].state;
        copy_name(sight->holder, &view->slots[0].owner);
    }
    if (view->waiter_count > 1) {
        copy_name(sight->first, &view->waiters[0].owner);
        copy_name(sight->second, &view->waiters[1].owner);
    }
    return 0;
}

static struct sight see(struct world *world, hami_nodelock *lock, const char *node)
{
    struct sight sight;

    memset(&sight, 0, sizeof(sight));
    CHECK_CODE(hami_nodelock_snapshot(lock, node, visit, &sight), 0);
    return sight;
}

void hand_off(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *bound = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, bound);
    uint64_t fence = hami_lease_fence(lease);
    struct outcome next;
    char value[512] = "";

    CHECK_CODE(world_bind(world, lease), 0);
    queue(world, lock, node, world_pod(world), NULL, &next);
    CHECK_CODE(hami_lease_handoff(lease), 0);
    CHECK(see(world, lock, node).state == HAMI_SLOT_HANDED_OFF);
    CHECK(world_value(world, node, value, sizeof(value)) && strstr(value, bound->name));
    CHECK(outcome_count(&next) == 0 && totals(lock).waiters == 1);
    world_remove(world, node);
    CHECK_CODE(outcome_await(&next), 0);
    CHECK(hami_lease_fence(next.lease) > fence);
    give(world, lock, next.lease);
    manager_end(world, lock);
}

void try_held(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *holder = world_pod(world), *other = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_nodelock *elsewhere = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, holder), *none = NULL;
    struct hami_nodelock_request want = request_for(lock, node, other);
    struct hami_error error = HAMI_ERROR_INIT;

    CHECK_CODE(hami_nodelock_try_acquire(elsewhere, &want, &none, &error), HAMI_E_HELD);
    CHECK(strstr(error.text, holder->name));
    CHECK_CODE(hami_nodelock_try_acquire(lock, &want, &none, &error), HAMI_E_BUSY);
    CHECK(!none && totals(lock).waiters == 0);
    give(world, lock, lease);
    CHECK_CODE(hami_nodelock_try_acquire(lock, &want, &lease, &error), 0);
    give(world, lock, lease);
    manager_end(world, elsewhere);
    manager_end(world, lock);
}

static void told(void *data, hami_lease *lease, const struct hami_error *error)
{
    outcome_acquired(data, HAMI_E_LOST, lease, error);
}

void lost(struct world *world)
{
    const char *node = world_node(world);
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    hami_nodelock *lock = NULL;
    struct outcome loss;

    outcome_init(&loss);
    config.transport = world->transport;
    config.owner_lost = told;
    config.owner_lost_data = &loss;
    CHECK_CODE(hami_nodelock_new(&config, &lock, NULL), 0);
    hami_lease *lease = take(world, lock, node, world_pod(world));
    world_remove(world, node);
    CHECK_CODE(outcome_await(&loss), HAMI_E_LOST);
    CHECK(loss.lease == lease && loss.text[0] != '\0');
    CHECK_CODE(hami_lease_release(lease, hami_nodelock_in_ms(lock, PATIENCE_MS), NULL),
               HAMI_E_LOST);
    give(world, lock, take(world, lock, node, world_pod(world)));
    CHECK(outcome_count(&loss) == 1);
    manager_end(world, lock);
}

void re_entry(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *pod = world_pod(world);
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *first = take(world, lock, node, pod);
    struct outcome next;

    queue(world, lock, node, world_pod(world), NULL, &next);
    hami_lease *second = take(world, lock, node, pod);
    CHECK(hami_lease_fence(first) == hami_lease_fence(second));
    give(world, lock, first);
    CHECK_CODE(hami_lease_check(second, hami_nodelock_in_ms(lock, PATIENCE_MS), NULL), 0);
    CHECK(outcome_count(&next) == 0);
    give(world, lock, second);
    CHECK_CODE(outcome_await(&next), 0);
    give(world, lock, next.lease);
    manager_end(world, lock);
}

void look(struct world *world)
{
    const char *node = world_node(world);
    const struct pod *pods[3] = {world_pod(world), world_pod(world), world_pod(world)};
    hami_nodelock *lock = manager_new(world, world->transport);
    hami_lease *lease = take(world, lock, node, pods[0]);
    struct outcome outcomes[2];

    queue(world, lock, node, pods[1], NULL, &outcomes[0]);
    queue(world, lock, node, pods[2], NULL, &outcomes[1]);
    struct hami_nodelock_stats stats = totals(lock);
    CHECK(stats.grants == 1 && stats.leases == 1 && stats.waiters == 2);
    struct sight sight = see(world, lock, node);
    CHECK(sight.visits == 1 && sight.slots == 1 && sight.waiters == 2);
    CHECK(sight.state == HAMI_SLOT_HELD && strcmp(sight.holder, pods[0]->name) == 0);
    CHECK(strcmp(sight.first, pods[1]->name) == 0);
    CHECK(strcmp(sight.second, pods[2]->name) == 0);
    give(world, lock, lease);
    for (int i = 0; i < 2; i++) {
        CHECK_CODE(outcome_await(&outcomes[i]), 0);
        give(world, lock, outcomes[i].lease);
    }
    CHECK(totals(lock).releases == 3 && see(world, lock, node).state == HAMI_SLOT_FREE);
    manager_end(world, lock);
}
