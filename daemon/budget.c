/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See budget.h. */
#include "budget.h"

void hamid_budget_init(struct hamid_budget *budget, unsigned burst, uint64_t every_ns,
                       uint64_t now_ns)
{
    *budget = (struct hamid_budget){
        .burst = burst, .every_ns = every_ns, .since_ns = now_ns, .left = burst};
}

bool hamid_budget_take(struct hamid_budget *budget, uint64_t now_ns)
{
    uint64_t earned;

    if (budget->every_ns == 0) {
        return false;
    }
    earned = (now_ns - budget->since_ns) / budget->every_ns;
    if (earned >= budget->burst - budget->left) {
        budget->left = budget->burst;
        budget->since_ns = now_ns;
    } else {
        budget->left += (unsigned)earned;
        budget->since_ns += earned * budget->every_ns;
    }
    if (budget->left == 0) {
        return false;
    }
    budget->left--;
    return true;
}
