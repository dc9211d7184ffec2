/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node whose pods may be beside each other, and what has to hold of its records at each
 * moment: docs/protocol.md, section 11.
 */
#ifndef TESTS_UNIT_CORE_BESIDE_WORLD_H
#define TESTS_UNIT_CORE_BESIDE_WORLD_H

#include "scripted.h"

#define MARK "1,free=scheduler,side-by-side"
#define GPU1 "nvidia.com/gpu=1"
#define GPU2 "nvidia.com/gpu=2"
#define GPU3 "nvidia.com/gpu=3"
#define GPU12 "nvidia.com/gpu=1,nvidia.com/gpu=2"

/* The scripted world with node n1 and pods a to h; @most  side by side; @watch */
void beside_start(uint32_t most);
void beside_start_as(struct scripted_options options, const char *mark);
/* A test's fixture: as many as there can be. */
void beside_set_up(void);
/* The world anew, with these settings. */
void beside_restart(struct hami_nodelock_config config, bool watch);

/* Starts an acquire of a pod with these calls (NULL = exclusive) and looks at all. */
void beside_take(struct scripted_wait *wait, const char *name, const char *calls);

/* Binds a pod under its lock and leaves the lock to the node side; returns the fence. */
uint64_t beside_bind(struct scripted_wait *wait, const char *name);
/* Leaves the lock to the node side without a bind. */
void beside_hand_off(struct scripted_wait *wait, const char *name);
/* Its lock is given back, with success. */
void beside_release(struct scripted_wait *wait);
/* The node side has served it: its last write is the success on the pod. */
void beside_serve(const char *name, uint64_t fence);
void beside_bind_and_serve(struct scripted_wait *wait, const char *name);

/* What stands in a record, taken apart; and as a text, "" = absent. */
struct hami_lock_record beside_record(unsigned permit);
const char *beside_value(unsigned permit);
const char *beside_lease(unsigned permit);
void beside_put(unsigned permit, const char *lock, const char *lease);
/* The permit in which a pod's lock stands; 0 = in none. */
unsigned beside_permit_of(const char *name);
/* Permits that are held. */
unsigned beside_held(void);

/* The cover is a copy of the newest that is held, and none of the calls stands twice. */
void beside_assert_sound(void);
/* Nothing but memories is left. */
void beside_assert_empty(void);

/* Ended with success, or still waiting. */
void beside_assert_granted(const struct scripted_wait *wait, const char *name);
void beside_assert_waits(const struct scripted_wait *wait, const char *name);

/* Another manager on the same store, by the same clock; free it before scripted_stop(). */
hami_nodelock *beside_other(uint32_t most);
void beside_take_by(hami_nodelock *lock, struct scripted_wait *wait, const char *name,
                    const char *calls);
void beside_dispatch(hami_nodelock *lock);

#endif
