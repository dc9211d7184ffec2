/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See pace.h. The average is made when it is asked for, once a hold: mostly nobody does.
 */
#include "pace.h"

#include <stddef.h>

static size_t sorted_holds(const struct hami_internal_pace *pace, uint32_t *sorted)
{
    size_t count =
        pace->count < HAMI_INTERNAL_PACE_HOLDS ? pace->count : HAMI_INTERNAL_PACE_HOLDS;

    for (size_t i = 0; i < count; i++) {
        size_t at = i;
        for (; at > 0 && sorted[at - 1] > pace->holds_us[i]; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = pace->holds_us[i];
    }
    return count;
}

void hami_internal_pace_add(struct hami_internal_pace *pace, uint64_t held_ns,
                            uint64_t now_ns)
{
    uint64_t held_us = held_ns / 1000;

    pace->holds_us[pace->count % HAMI_INTERNAL_PACE_HOLDS] =
        held_us < UINT32_MAX ? (uint32_t)held_us : UINT32_MAX;
    /* A full ring stays full when the count starts over. */
    pace->count = pace->count < UINT32_MAX ? pace->count + 1 : HAMI_INTERNAL_PACE_HOLDS;
    pace->last_ns = now_ns;
    pace->stale = pace->count >= HAMI_INTERNAL_PACE_LEAST;
}

static void renew(struct hami_internal_pace *pace)
{
    uint32_t sorted[HAMI_INTERNAL_PACE_HOLDS];
    uint64_t sum = 0;
    size_t count = sorted_holds(pace, sorted);

    size_t from = count / 4, to = count - count / 4;
    for (size_t i = from; i < to; i++) {
        sum += sorted[i];
    }
    /* A hold too short to be measured is still one: 0 would mean that none is known. */
    pace->average_us = (uint32_t)(sum / (to - from));
    pace->average_us = pace->average_us ? pace->average_us : 1;
    pace->stale = false;
}

uint64_t hami_internal_pace_hold(struct hami_internal_pace *pace, uint64_t now_ns)
{
    bool fresh = now_ns < pace->last_ns + HAMI_INTERNAL_PACE_LIFE_NS;

    if (pace->stale) {
        renew(pace);
    }
    return fresh ? (uint64_t)pace->average_us * 1000 : 0;
}

uint64_t hami_internal_pace_expect(uint64_t hold_ns, uint64_t ahead, uint64_t permits,
                                   uint64_t standing, uint64_t oldest_ns)
{
    uint64_t open = standing < permits ? permits - standing : 0;

    if (hold_ns == 0 || ahead < open) {
        return 0;
    }
    /* What is left of the oldest hold, then the turns of those ahead, side by side. */
    uint64_t left = standing > 0 && oldest_ns < hold_ns ? hold_ns - oldest_ns : 0;
    uint64_t turns = standing > 0 ? ahead - open : ahead;
    uint64_t most = UINT64_MAX / 2 / hold_ns;
    return (left + (turns < most ? turns : most) * hold_ns) / permits;
}
