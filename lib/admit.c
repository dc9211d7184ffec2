/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See admit.h. The place is taken and the wait queued under one mutex, so that the order
 * of numbers is the order of arrival. */
#include "admit.h"

#include <inttypes.h>

#include "cover.h"
#include "errors.h"
#include "node.h"
#include "pace.h"

/* Waiters that are looked at where a node has several keys; beyond, all count. */
#define AHEAD_LOOKS 512

/* ---- what to expect ---- */

struct hami_internal_standing_key
hami_internal_admit_look(const struct hami_internal_node *node,
                         const struct hami_internal_key *key, uint64_t now_ns)
{
    struct hami_internal_standing_key standing = {0};

    for (size_t permit = 0; permit < key->permits; permit++) {
        struct hami_internal_slot *slot = hami_internal_node_slot(node, key, permit);
        if (slot && permit == 0) {
            standing.hold_ns = hami_internal_pace_hold(&slot->pace, now_ns);
        }
        if (slot && slot->record.kind != HAMI_LOCK_FREE) {
            uint64_t age_ns = now_ns - slot->first_seen_ns;
            standing.standing++;
            standing.oldest_ns =
                age_ns > standing.oldest_ns ? age_ns : standing.oldest_ns;
        }
    }
    return standing;
}

static bool asks_for(const struct hami_wait *wait, const struct hami_internal_key *key)
{
    bool found = false;

    for (size_t i = 0; i < wait->key_count; i++) {
        found = found || wait_keys(wait)[i] == key;
    }
    return found;
}

/* Who stands before `until` (NULL = all), which has this position, asks for the key and
 * can't be beside the waiter. */
static uint32_t ahead_for(const struct hami_wait *wait,
                          const struct hami_internal_key *key,
                          const struct hami_internal_waiter *until, uint32_t position)
{
    const struct hami_internal_node *node = wait->node;
    uint32_t ahead = 0;

    if (node->slot_count == key->permits || position > AHEAD_LOOKS) {
        return position;
    }
    for (const struct hami_internal_waiter *one = node->queue.first; one && one != until;
         one = queue_next(one)) {
        const struct hami_wait *other = LIST_ENTRY(one, struct hami_wait, queued);
        ahead += asks_for(other, key) && hami_internal_cover_excludes(wait, other);
    }
    return ahead;
}

struct outlook {
    uint32_t position;
    uint64_t expected_ns, hold_ns;
};

static struct outlook look_ahead(const struct hami_wait *wait,
                                 const struct hami_internal_waiter *until,
                                 uint32_t position, uint64_t now_ns)
{
    const struct hami_internal_node *node = wait->node;
    struct outlook outlook = {0};

    for (size_t i = 0; i < wait->key_count; i++) {
        const struct hami_internal_key *asked = wait_keys(wait)[i];
        struct hami_internal_standing_key key =
            hami_internal_admit_look(node, asked, now_ns);
        uint32_t ahead = ahead_for(wait, asked, until, position);
        uint64_t expected_ns = hami_internal_pace_expect(
            key.hold_ns, ahead, asked->permits, key.standing, key.oldest_ns);
        outlook.position = ahead > outlook.position ? ahead : outlook.position;
        if (expected_ns > outlook.expected_ns) {
            outlook.expected_ns = expected_ns;
            outlook.hold_ns = key.hold_ns;
        }
    }
    return outlook;
}

void hami_internal_admit_foresee(const struct hami_wait *wait, uint64_t now_ns,
                                 struct hami_error *error)
{
    uint32_t position = hami_internal_tree_rank(&wait->queued.branch);
    struct outlook outlook = look_ahead(wait, &wait->queued, position, now_ns);

    error->position = outlook.position;
    error->waiting = wait->node->waiter_count;
    error->expected_ns = outlook.expected_ns;
}

/* ---- places ---- */

static void give_place(struct hami_wait *wait)
{
    struct hami_nodelock *lock = wait->node->lock;
    struct hami_internal_waiter *queued = &wait->queued;

    if (wait->try_only) {
        return;
    }
    if (atomic_load(&lock->keeps)) {
        (void)pthread_mutex_lock(&lock->kept_mutex);
        queued->place = hami_internal_places_take(lock->kept, wait->uid, wait->node->name,
                                                  wait->since_ns, &queued->overtaken);
        atomic_store(&lock->keeps, lock->kept->count > 0);
        (void)pthread_mutex_unlock(&lock->kept_mutex);
    }
    queued->returned = queued->place != 0;
    if (!queued->returned) {
        queued->place = atomic_fetch_add(&lock->places, 1) + 1;
    }
}

static void keep_place(const struct hami_wait *wait)
{
    struct hami_nodelock *lock = wait->node->lock;

    if (wait->queued.place != 0) {
        (void)pthread_mutex_lock(&lock->kept_mutex);
        hami_internal_places_keep(lock->kept, wait->uid, wait->node->name,
                                  wait->queued.place, wait->queued.overtaken,
                                  wait->since_ns);
        atomic_store(&lock->keeps, true);
        (void)pthread_mutex_unlock(&lock->kept_mutex);
    }
}

/* ---- refusals ---- */

static struct outlook outlook_of(const struct hami_wait *wait)
{
    uint32_t position;
    const struct hami_internal_waiter *until =
        hami_internal_queue_find(&wait->node->queue, &wait->queued, &position);

    return look_ahead(wait, until, position, wait->since_ns);
}

static int refuse(const struct hami_wait *wait, atomic_uint_least64_t *counter,
                  struct hami_error *error)
{
    if (error) {
        struct outlook outlook = outlook_of(wait);
        error->position = outlook.position;
        error->waiting = wait->node->waiter_count;
        error->expected_ns = outlook.expected_ns;
    }
    wait->node->refusals++;
    hami_internal_count(counter);
    hami_internal_count(&wait->node->lock->counters.refusals);
    keep_place(wait);
    return HAMI_E_LIMIT;
}

/* A full namespace comes before a full node: so one can't shut out the others. */
static int check_room(const struct hami_wait *wait, struct hami_error *error)
{
    const struct hami_internal_node *node = wait->node;
    struct hami_nodelock *lock = wait->node->lock;
    uint32_t own_max = lock->config.waiters_per_namespace_max;
    const struct hami_internal_crowd *own = wait->queued.crowd;

    if (own_max != 0) {
        if (own->count >= own_max) {
            (void)hami_internal_errors_set(
                error, HAMI_E_LIMIT,
                "queue of %s is full for namespace %s: %u of %u waiters are its own, and "
                "it may have %u",
                node->name, own->name, own->count, node->waiter_count, own_max);
            return refuse(wait, &lock->counters.refused_namespace, error);
        }
    }
    if (node->waiter_count < lock->config.waiters_per_node_max) {
        return 0;
    }
    const struct hami_internal_crowd *crowd = hami_internal_queue_crowd(&node->queue);
    if (crowd) {
        (void)hami_internal_errors_set(
            error, HAMI_E_LIMIT,
            "queue of %s is full: %u of %u waiters are of namespace %s", node->name,
            crowd->count, node->waiter_count, crowd->name);
    }
    return refuse(wait, &lock->counters.refused_full, error);
}

static int check_patience(const struct hami_wait *wait, struct hami_error *error)
{
    uint64_t left_ns =
        wait->deadline_ns > wait->since_ns ? wait->deadline_ns - wait->since_ns : 0;

    if (!(wait->node->lock->config.flags & HAMI_NODELOCK_REFUSE_EARLY) ||
        wait->try_only || wait->own) {
        return 0;
    }
    struct outlook outlook = outlook_of(wait);
    if (outlook.expected_ns == 0 || outlook.expected_ns <= left_ns) {
        return 0;
    }
    (void)hami_internal_errors_set(
        error, HAMI_E_LIMIT,
        "%u wait for node %s before this one, and a lock is held %" PRIu64
        " ms there of late: its turn is expected in %" PRIu64
        " ms, and it waits for %" PRIu64 " ms at most",
        outlook.position, wait->node->name, outlook.hold_ns / NS_PER_MS,
        outlook.expected_ns / NS_PER_MS, left_ns / NS_PER_MS);
    return refuse(wait, &wait->node->lock->counters.refused_early, error);
}

/* A try that would have to wait ends here. */
static bool must_wait(const struct hami_wait *wait)
{
    const struct hami_internal_node *node = wait->node;

    if (wait->own) {
        return false;
    }
    if (node->waiter_count > 0) {
        return true;
    }
    for (size_t i = 0; i < wait->key_count; i++) {
        bool free = false;
        const struct hami_internal_key *key = wait_keys(wait)[i];
        for (size_t permit = 0; permit < key->permits && !free; permit++) {
            const struct hami_internal_slot *slot =
                hami_internal_node_slot(node, key, permit);
            free = !slot->grant || (slot->grant->handed_off && !slot->grant->gone);
        }
        if (!free) {
            return true;
        }
    }
    return node->operation == OPERATION_TAKE || node->operation == OPERATION_REMOVE ||
           node->doubt;
}

/* ---- public ---- */

/* Nobody looks for one that waits alone, unless news can come of its pod. */
static void list_owner(struct hami_wait *wait)
{
    struct hami_owner owner = wait_owner(wait);

    if (wait->owner_link.hash == 0) {
        hami_internal_owners_add(
            wait->node, &wait->owner_link,
            hami_internal_owners_hash(owner.namespace_name, owner.name), OWNER_OF_WAIT);
        hami_internal_owners_add(wait->node, &wait->uid_link,
                                 hami_internal_owners_uid_hash(owner.uid), OWNER_UID);
    }
}

static void insert(struct hami_wait *wait)
{
    struct hami_internal_node *node = wait->node;

    if (node->waiter_count == 1) {
        list_owner(LIST_ENTRY(node->queue.first, struct hami_wait, queued));
    }
    if (node->waiter_count > 0 || node->lock->transport->inspect) {
        list_owner(wait);
    }
    hami_internal_queue_insert(&node->queue, &wait->queued);
    node->waiter_count++;
    atomic_fetch_add_explicit(&node->lock->counters.waiters, 1, memory_order_relaxed);
    if (wait->deadline_ns != HAMI_DEADLINE_NEVER) {
        wait->is_due = true;
        hami_internal_sorted_insert(&node->due, &wait->due);
    }
}

int hami_internal_admit_enqueue(struct hami_wait *wait, struct hami_error *error)
{
    struct hami_internal_node *node = wait->node;

    if (atomic_load(&wait->node->lock->closing)) {
        return hami_internal_errors_set(error, HAMI_E_CLOSED,
                                        "the manager is shutting down");
    }
    give_place(wait);
    hami_internal_node_mark_own(node, wait);
    int code = check_room(wait, error);
    if (code == 0 && wait->try_only && must_wait(wait)) {
        code = hami_internal_errors_set(
            error, HAMI_E_BUSY, "node %s is taken in this process, or others wait for it",
            node->name);
    }
    code = code < 0 ? code : check_patience(wait, error);
    if (code < 0) {
        node->owners -= wait->own;
        wait->own = false;
        return code;
    }
    insert(wait);
    return 0;
}
