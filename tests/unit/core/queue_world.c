/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See queue_world.h. */
#include "queue_world.h"

#include <string.h>

union roomy queue_crowds[CROWDS];

void queue_start(struct hami_internal_queue *queue, uint32_t overtaken_max)
{
    hami_internal_queue_init(queue, overtaken_max);
    for (size_t i = 0; i < CROWDS; i++) {
        memset(&queue_crowds[i], 0, sizeof(queue_crowds[i]));
        queue_crowds[i].crowd.hash = i;
        hami_internal_queue_settle(queue, &queue_crowds[i].crowd);
    }
}

static uint64_t random_state;

void queue_random_seed(uint64_t seed)
{
    random_state = seed;
}

uint32_t queue_random_below(uint32_t limit)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)((random_state >> 33) % limit);
}
