/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * So many at once, and one more in each period: for what may be dropped rather than
 * crowd out what matters. Pure; the clock is the caller's.
 */
#ifndef HAMID_BUDGET_H
#define HAMID_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* Zero is one that has nothing and earns nothing. */
struct hamid_budget {
    unsigned burst;
    uint64_t every_ns;
    uint64_t since_ns; /* of what was earned: time is counted from here */
    unsigned left;
};

void hamid_budget_init(struct hamid_budget *budget, unsigned burst, uint64_t every_ns,
                       uint64_t now_ns);

/* Takes one, if there is any. */
bool hamid_budget_take(struct hamid_budget *budget, uint64_t now_ns);

#endif
