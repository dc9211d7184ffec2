/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs worlds: one from a plan, many from a seed; replays and shrinks one that went
 * wrong.
 */
#ifndef TESTS_SIMULATION_RUN_H
#define TESTS_SIMULATION_RUN_H

#include "world.h"

enum codec { CODEC_BOTH = 0, CODEC_PLAIN, CODEC_KUBERNETES };

enum who_frees { FREE_BOTH = 0, FREE_NODE, FREE_SCHEDULER };

enum beside { BESIDE_BOTH = 0, BESIDE_NEVER, BESIDE_ALWAYS };

struct options {
    uint64_t seed, acquires;
    enum codec codec;
    enum who_frees free;
    enum beside beside; /* both: one world in three, and none with a broken rule */
    uint32_t fault_percent;
    uint32_t faults; /* bits */
    enum broken broken;
    void (*progress)(const struct result *total, uint64_t worlds);
};

struct run {
    struct result total;
    uint64_t worlds;
    bool failed;
    struct plan plan; /* of the world that failed */
};

/* Number of violations of any kind. */
uint64_t run_violations(const struct result *result);

/* One world. `trace`: its last events are printed at a violation. */
struct result run_world(const struct plan *plan, bool trace);

/* Worlds until so many acquires were made, or one fails. */
struct run run_all(const struct options *options);

/* The n-th world of a run. */
struct plan run_plan(const struct options *options, uint64_t number);

/* A smaller plan that fails, too. */
struct plan run_shrink(const struct plan *plan);

#endif
