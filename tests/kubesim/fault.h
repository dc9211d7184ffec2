/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Armed faults: which one, if any, a request meets. A request keeps a reference, so a
 * fault may be disarmed while requests that met it are still on their way. Server's
 * thread only.
 */
#ifndef KUBESIM_FAULT_H
#define KUBESIM_FAULT_H

#include "kubesim.h"

#include "exchange.h"

#define SIM_DELAY_LIMIT_MS 600000u

struct sim_fault {
    struct sim_fault *next;
    unsigned references;
    int id;
    struct kubesim_fault what; /* all strings are in `strings` */
    char **strings;
    size_t string_count;
    unsigned seen, hits;
    uint64_t random;
    bool armed;
};

struct sim_faults {
    struct sim_fault *first;
    int last_id;
};

int sim_fault_arm(struct sim_faults *faults, const struct kubesim_fault *what);
void sim_fault_disarm(struct sim_faults *faults, int id);
/* The first armed fault that matches and hits; counted for the caller, or NULL. */
struct sim_fault *sim_fault_meet(struct sim_faults *faults,
                                 const struct sim_exchange *exchange);
void sim_fault_unref(struct sim_fault *fault);
unsigned sim_fault_hits(const struct sim_faults *faults, int id);
/* Names as in JSON: "drop_before". NULL / false: unknown. */
const char *sim_fault_action_name(enum kubesim_action action);
bool sim_fault_action_find(const char *name, enum kubesim_action *ret);
/* Fill in WHAT from its JSON form, strings borrowed from VALUE. NULL, or what is wrong
 * with it (static text). */
const char *sim_fault_parse(const json_t *value, struct kubesim_fault *what);
/* All of them, also those that have ended, with their hits; new. */
json_t *sim_fault_list(const struct sim_faults *faults);

#endif
