/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A queue without a manager: its namespaces, and chance that comes again. */
#ifndef TESTS_QUEUE_WORLD_H
#define TESTS_QUEUE_WORLD_H

#include <stdint.h>

#include "queue.h"

/* Namespaces of a queue, by their hash. */
enum { CROWDS = 4 };

/* A namespace with room for its name behind it. */
union roomy {
    struct hami_internal_crowd crowd;
    char room[sizeof(struct hami_internal_crowd) + 8];
};

extern union roomy queue_crowds[CROWDS];

/* Empty, with all namespaces settled in it. */
void queue_start(struct hami_internal_queue *queue, uint32_t overtaken_max);

void queue_random_seed(uint64_t seed);
/* 0 to limit - 1 */
uint32_t queue_random_below(uint32_t limit);

#endif
