/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Timers, kicked nodes, and the callbacks that wait to be called. */
#ifndef HAMI_LIB_DISPATCH_H
#define HAMI_LIB_DISPATCH_H

#include "internal.h"

/* Queues what has ended, and wakes who dispatches if there is something new. No lock is
 * held. */
void hami_internal_dispatch_queue(struct hami_internal_after *after);

/* Arms the node's timer. With the node's mutex. Returns true if who dispatches has to
 * know. */
bool hami_internal_dispatch_arm(struct hami_internal_node *node, uint64_t due_ns);

/* Has dispatch look at a node; the caller has a pin. Any lock but ready_mutex may be
 * held; the caller wakes by hami_internal_dispatch_wake() when it holds none. */
void hami_internal_dispatch_kick(struct hami_internal_node *node);

/* Wakes who dispatches. No lock is held. */
void hami_internal_dispatch_wake(struct hami_nodelock *lock);

/* Wakes who waits for nodes to come to rest: shutdown. Only ready_mutex is taken. */
void hami_internal_dispatch_signal(struct hami_nodelock *lock);

/* How often that was done. */
uint32_t hami_internal_dispatch_rests(struct hami_nodelock *lock);

/* The transport has let go of a call. Nothing of the manager may be touched afterwards.
 */
void hami_internal_dispatch_call_returned(struct hami_nodelock *lock);

/* True on the thread that runs this manager's callbacks at this moment. */
bool hami_internal_dispatch_is_inside(struct hami_nodelock *lock);

/* Runs all that is due. Returns the number of callbacks made. */
size_t hami_internal_dispatch_turn(struct hami_nodelock *lock);

/* When dispatch is needed next. */
uint64_t hami_internal_dispatch_next(struct hami_nodelock *lock);

/* The same, for the manager's thread, which then sleeps that long: it is woken for what
 * is due sooner only. */
uint64_t hami_internal_dispatch_next_of_thread(struct hami_nodelock *lock);

#endif
