/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The broken binders' permit: one a node, handed straight to the oldest waiter. One
 * mutex, inside; each waiter has a condition of its own. MT-Safe.
 */
#ifndef STANDIN_TURNS_H
#define STANDIN_TURNS_H

#include <stdbool.h>
#include <stdint.h>

struct turns;

/*
 * With LEAKS a caller that gives up leaves its entry in the queue, as in the field: there
 * a helper thread went on waiting for the mutex of a caller that had gone. The permit is
 * handed to that entry some time, nobody gives it back, and the node is locked for good.
 */
struct turns *turns_new(bool leaks);
void turns_free(struct turns *turns);
/* Returns true with the permit of NODE, false when wait_ms were over before. */
bool turns_take(struct turns *turns, const char *node, int64_t wait_ms);
void turns_give(struct turns *turns, const char *node);

#endif
