/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulation as a program: worlds from a seed until so many acquires were made. A
 * violation is printed with the seed and the step, replayed with its last events, and
 * shrunk.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "run.h"

/* Acquires from which on a run has to have met each kind of fault often enough. */
#define LONG_RUN 100000

static const char help[] =
    "usage: simulation [--seed S] [--acquires N] [--codec kubernetes|plain|both]\n"
    "                  [--free node|scheduler|both] [--side-by-side on|off|both]\n"
    "                  [--faults PERCENT] [--without KIND,KIND..] [--broken VARIANT]\n"
    "                  [--json] [--progress] [--no-shrink]\n"
    "       simulation --world SEED --acquires N --nodes N --burst N --replicas N\n"
    "                  [--keys N] [--permits N] [--foreign] [--beside N] ..\n"
    "                  one world alone, as a failure prints it\n"
    "--faults scales the odds of all faults (100 = as they are, 0 = none).\n";

static const char *const broken_names[BROKEN_COUNT] = {
    "nothing", "lease-test", "lock-test", "revocation", "binding", "release", "plugin"};

struct asked {
    struct options options;
    struct plan plan;
    bool world, json, no_shrink;
};

static void print_plan(const struct plan *plan)
{
    (void)printf("simulation --world %" PRIu64 " --acquires %" PRIu64 " --nodes %u "
                 "--burst %u --replicas %u --codec %s --faults %u --broken %s",
                 plan->seed, plan->acquires, plan->nodes, plan->burst, plan->replicas,
                 plan->kubernetes ? "kubernetes" : "plain", plan->fault_percent,
                 broken_names[plan->broken]);
    (void)printf(" --keys %u --permits %u%s%s", plan->keys, plan->permits,
                 plan->foreign ? " --foreign" : "",
                 plan->by_scheduler ? " --free scheduler" : "");
    if (plan->beside) {
        (void)printf(" --beside %u", plan->beside);
    }
    bool first = true;
    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        if (!(plan->faults >> kind & 1)) {
            (void)printf("%s%s", first ? " --without " : ",", fault_name(kind));
            first = false;
        }
    }
    (void)printf("\n");
}

static void print_json(const struct result *total, uint64_t worlds, uint64_t seed,
                       double seconds)
{
    double acquires = total->acquires ? (double)total->acquires : 1;
    double queue =
        total->queue_count ? (double)total->queue_sum / (double)total->queue_count : 0;

    (void)printf(
        "{\"acquires\":%" PRIu64 ",\"faults_injected\":%" PRIu64
        ",\"mean_queue\":%.1f,\"double_holds\":%" PRIu64 ",\"lost_locks\":%" PRIu64
        ",\"stuck_nodes\":%" PRIu64 ",\"fifo_violations\":%" PRIu64
        ",\"fence_violations\":%" PRIu64 ",\"wrong_devices\":%" PRIu64
        ",\"callback_violations\":%" PRIu64 ",\"leaks\":%" PRIu64
        ",\"cover_violations\":%" PRIu64 ",\"in_flight_max\":%" PRIu64
        ",\"bound_beside\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"worlds\":%" PRIu64
        ",\"grants\":%" PRIu64 ",\"bound\":%" PRIu64 ",\"served\":%" PRIu64
        ",\"requests\":%" PRIu64 ",\"virtual_seconds\":%.0f"
        ",\"seconds\":%.1f,\"acquires_touched\":%" PRIu64
        ",\"touched_share\":%.3f,\"touched_by\":{",
        total->acquires, total->faults, queue, total->double_holds, total->lost_locks,
        total->stuck_nodes, total->fifo_violations, total->fence_violations,
        total->wrong_devices, total->callback_violations, total->leaks,
        total->cover_violations, total->in_flight_max, total->bound_beside, seed, worlds,
        total->grants, total->bound, total->served, total->requests,
        (double)total->virtual_ns / 1e9, seconds, total->touched,
        (double)total->touched / acquires);
    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        (void)printf("%s\"%s\":%.4f", kind ? "," : "", fault_name(kind),
                     (double)total->touched_by[kind] / acquires);
    }
    (void)printf("}}\n");
}

static void progress(const struct result *total, uint64_t worlds)
{
    static uint64_t told;

    if (total->acquires / 20000 > told || worlds == 1) {
        told = total->acquires / 20000;
        (void)fprintf(stderr,
                      "%" PRIu64 " acquires in %" PRIu64 " worlds, %" PRIu64
                      " faults, %" PRIu64 " violations\n",
                      total->acquires, worlds, total->faults, run_violations(total));
    }
}

static int show_failure(struct plan plan, const struct result *result, bool shrink)
{
    (void)printf("violation at step %" PRIu64 " of seed %" PRIu64 ": %s\n",
                 result->first_step, plan.seed, result->first);
    print_plan(&plan);
    (void)fflush(stdout);
    if (shrink) {
        plan = run_shrink(&plan);
        (void)printf("smaller:\n");
        print_plan(&plan);
    }
    (void)run_world(&plan, true);
    return 1;
}

/* A long run that met too few faults, or no queues, proves less than it seems to. */
static int check_faults(const struct options *options, const struct result *total)
{
    int code = 0;

    if (total->acquires < LONG_RUN || options->fault_percent < 100 ||
        options->faults != FAULT_ALL) {
        return 0;
    }
    for (int kind = 0; kind < FAULT_COUNT; kind++) {
        if (total->touched_by[kind] * 100 < total->acquires) {
            (void)printf("too few acquires met %s\n", fault_name(kind));
            code = 1;
        }
    }
    if (total->touched * 100 < total->acquires * 30 ||
        total->faults * 100 < total->acquires * 30) {
        (void)printf("too few faults\n");
        code = 1;
    }
    if (options->beside != BESIDE_NEVER && options->free != FREE_NODE &&
        total->bound_beside * 100 < total->bound) {
        (void)printf("too few pods were side by side\n");
        code = 1;
    }
    if (total->queue_sum < total->queue_count * 8) {
        (void)printf("the queues were too short\n");
        code = 1;
    }
    return code;
}

/* ---- arguments ---- */

static bool read_faults(char *list, uint32_t *faults)
{
    for (char *name = strtok(list, ","); name; name = strtok(NULL, ",")) {
        enum fault kind = fault_find(name);
        if (kind == FAULT_COUNT) {
            return false;
        }
        *faults &= ~(UINT32_C(1) << kind);
    }
    return true;
}

static bool read_broken(const char *name, enum broken *ret)
{
    for (int i = 0; i < BROKEN_COUNT; i++) {
        if (strcmp(broken_names[i], name) == 0) {
            *ret = (enum broken)i;
            return true;
        }
    }
    return false;
}

static bool read_codec(const char *name, enum codec *ret)
{
    *ret = strcmp(name, "plain") == 0        ? CODEC_PLAIN
           : strcmp(name, "kubernetes") == 0 ? CODEC_KUBERNETES
                                             : CODEC_BOTH;
    return *ret != CODEC_BOTH || strcmp(name, "both") == 0;
}

static bool read_free(const char *name, enum who_frees *ret)
{
    *ret = strcmp(name, "node") == 0        ? FREE_NODE
           : strcmp(name, "scheduler") == 0 ? FREE_SCHEDULER
                                            : FREE_BOTH;
    return *ret != FREE_BOTH || strcmp(name, "both") == 0;
}

static bool read_beside(const char *name, enum beside *ret)
{
    *ret = strcmp(name, "on") == 0    ? BESIDE_ALWAYS
           : strcmp(name, "off") == 0 ? BESIDE_NEVER
                                      : BESIDE_BOTH;
    return *ret != BESIDE_BOTH || strcmp(name, "both") == 0;
}

static bool read_option(int option, char *value, struct asked *asked)
{
    uint64_t number = value ? strtoull(value, NULL, 10) : 0;

    switch (option) {
    case 's':
        asked->options.seed = number;
        return true;
    case 'a':
        asked->options.acquires = number;
        return number > 0;
    case 'c':
        return read_codec(value, &asked->options.codec);
    case 'S':
        return read_free(value, &asked->options.free);
    case 'y':
        return read_beside(value, &asked->options.beside);
    case 'Y':
        asked->plan.beside = (uint32_t)number;
        return number <= BESIDE_MAX;
    case 'f':
        asked->options.fault_percent = (uint32_t)number;
        return true;
    case 'w':
        return read_faults(value, &asked->options.faults);
    case 'b':
        return read_broken(value, &asked->options.broken);
    case 'j':
        asked->json = true;
        return true;
    case 'p':
        asked->options.progress = progress;
        return true;
    case 'x':
        asked->no_shrink = true;
        return true;
    case 'W':
        asked->world = true;
        asked->plan.seed = number;
        return true;
    case 'F':
        asked->plan.foreign = true;
        return true;
    case 'n':
        asked->plan.nodes = (uint32_t)number;
        return number > 0;
    case 'B':
        asked->plan.burst = (uint32_t)number;
        return number > 0;
    case 'k':
        asked->plan.keys = (uint32_t)number;
        return number > 0 && number <= KEYS_MAX;
    case 'P':
        asked->plan.permits = (uint32_t)number;
        return number > 0 && number <= PERMITS_MAX;
    case 'r':
        asked->plan.replicas = (uint32_t)number;
        return number > 0 && number <= REPLICAS_MAX;
    default:
        return false;
    }
}

static bool read_arguments(int count, char **arguments, struct asked *asked)
{
    static const struct option names[] = {
        {"seed", required_argument, NULL, 's'},
        {"acquires", required_argument, NULL, 'a'},
        {"codec", required_argument, NULL, 'c'},
        {"free", required_argument, NULL, 'S'},
        {"side-by-side", required_argument, NULL, 'y'},
        {"beside", required_argument, NULL, 'Y'},
        {"faults", required_argument, NULL, 'f'},
        {"without", required_argument, NULL, 'w'},
        {"broken", required_argument, NULL, 'b'},
        {"json", no_argument, NULL, 'j'},
        {"progress", no_argument, NULL, 'p'},
        {"no-shrink", no_argument, NULL, 'x'},
        {"world", required_argument, NULL, 'W'},
        {"nodes", required_argument, NULL, 'n'},
        {"burst", required_argument, NULL, 'B'},
        {"replicas", required_argument, NULL, 'r'},
        {"keys", required_argument, NULL, 'k'},
        {"permits", required_argument, NULL, 'P'},
        {"foreign", no_argument, NULL, 'F'},
        {NULL, 0, NULL, 0},
    };

    for (int option; (option = getopt_long(count, arguments, "", names, NULL)) != -1;) {
        if (!read_option(option, optarg, asked)) {
            return false;
        }
    }
    return optind == count;
}

static int run_one(const struct asked *asked)
{
    struct plan plan = asked->plan;

    plan.acquires = asked->options.acquires;
    plan.kubernetes = asked->options.codec == CODEC_KUBERNETES;
    plan.fault_percent = asked->options.fault_percent;
    plan.faults = asked->options.faults;
    plan.broken = asked->options.broken;
    plan.by_scheduler = asked->options.free == FREE_SCHEDULER || plan.beside > 0;
    struct result result = run_world(&plan, false);
    if (run_violations(&result) > 0) {
        return show_failure(plan, &result, !asked->no_shrink);
    }
    print_json(&result, 1, plan.seed, 0);
    return 0;
}

int main(int count, char **arguments)
{
    struct asked asked = {
        .options = {.acquires = 10000, .fault_percent = 100, .faults = FAULT_ALL},
        .plan = {.nodes = 8, .burst = 30, .replicas = 2, .keys = 1, .permits = 1},
    };
    struct timespec began, ended;

    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    asked.options.seed = (uint64_t)began.tv_nsec;
    if (!read_arguments(count, arguments, &asked)) {
        (void)fputs(help, stderr);
        return 2;
    }
    if (asked.world) {
        return run_one(&asked);
    }
    (void)printf("seed %" PRIu64 "\n", asked.options.seed);
    (void)fflush(stdout);
    struct run run = run_all(&asked.options);
    int code = run.failed ? show_failure(run.plan, &run.total, !asked.no_shrink) : 0;
    code = code ? code : check_faults(&asked.options, &run.total);
    (void)clock_gettime(CLOCK_MONOTONIC, &ended);
    double seconds = (double)(ended.tv_sec - began.tv_sec) +
                     (double)(ended.tv_nsec - began.tv_nsec) / 1e9;
    print_json(&run.total, run.worlds, asked.options.seed, seconds);
    return code;
}
