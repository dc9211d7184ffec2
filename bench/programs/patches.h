/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs share that compare ways to send guarded patches: options, the lanes,
 * of which each has one patch of its own node under way at a time, and the figures that
 * are printed at the end. Whatever fails here ends the program.
 *
 * No lock: a lane belongs to one thread at a time; run.left is atomic.
 */
#ifndef BENCH_PATCHES_H
#define BENCH_PATCHES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "floor_texts.h"

#define LANES_MAX 64
#define WARM_UP_CALLS 3 /* of each lane, not counted: connections, buffers */

struct lane {
    char node[128];
    char path[256];
    struct pair pair;
    char body[BODY_MAX];
    int64_t began_us;
    int64_t *took_us; /* of this lane's calls; room for all of the run */
    size_t count;
};

struct run {
    const char *kubeconfig;
    size_t calls;
    atomic_long left; /* to be begun */
    struct lane *lanes;
    size_t lane_count;
    int64_t begin_us;
    int64_t cpu_us; /* of this process, when it began */
};

/* --kubeconfig FILE --calls N NODE.. */
void run_open(struct run *run, int argc, char **argv);
/* Sets the texts of a lane's node whatever stands there; into lane->body. */
void lane_text_begin(struct lane *lane);
/* The clock and the counts start: everything before was to warm up. */
void run_begin(struct run *run);
/* Writes the next patch into lane->body; 0 if all calls have been begun. */
int lane_begin(struct run *run, struct lane *lane);
void lane_end(struct lane *lane);
/* Prints one JSON object, and frees what was opened. */
void run_end(struct run *run);

#endif
