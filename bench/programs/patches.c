/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of guarded patches, and what they cost. */
#include "patches.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static int64_t cpu_now_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return ((int64_t)used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

static void lane_open(struct lane *lane, const char *node, size_t calls)
{
    fits(snprintf(lane->node, sizeof(lane->node), "%s", node), sizeof(lane->node));
    fits(snprintf(lane->path, sizeof(lane->path), "/api/v1/nodes/%s", node),
         sizeof(lane->path));
    pair_begin(&lane->pair);
    lane->took_us = calloc(calls + WARM_UP_CALLS, sizeof(*lane->took_us));
    if (lane->took_us == NULL) {
        die("no lane", "out of memory");
    }
}

void run_open(struct run *run, int argc, char **argv)
{
    static const struct option table[] = {{"kubeconfig", required_argument, NULL, 'k'},
                                          {"calls", required_argument, NULL, 'c'},
                                          {NULL, 0, NULL, 0}};
    int option;
    memset(run, 0, sizeof(*run));
    while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
        if (option == 'k') {
            run->kubeconfig = optarg;
        } else if (option == 'c') {
            run->calls = strtoul(optarg, NULL, 10);
        }
    }
    run->lane_count = (size_t)(argc - optind);
    if (run->kubeconfig == NULL || run->calls == 0 || run->lane_count == 0 ||
        run->lane_count > LANES_MAX) {
        die("usage", "--kubeconfig FILE --calls N NODE.. (64 at most)");
    }
    run->lanes = calloc(run->lane_count, sizeof(*run->lanes));
    if (run->lanes == NULL) {
        die("no lanes", "out of memory");
    }
    for (size_t i = 0; i < run->lane_count; i++) {
        lane_open(&run->lanes[i], argv[optind + (int)i], run->calls);
    }
    atomic_store(&run->left, (long)(run->lane_count * WARM_UP_CALLS));
}

void lane_text_begin(struct lane *lane)
{
    text_node_begin(lane->body, &lane->pair);
}

void run_begin(struct run *run)
{
    for (size_t i = 0; i < run->lane_count; i++) {
        run->lanes[i].count = 0;
    }
    atomic_store(&run->left, (long)run->calls);
    run->cpu_us = cpu_now_us();
    run->begin_us = now_us();
}

int lane_begin(struct run *run, struct lane *lane)
{
    if (atomic_fetch_sub(&run->left, 1) <= 0) {
        return 0;
    }
    pair_next(&lane->pair, lane->node, "00000000-0000-0000-0000-000000000000");
    text_node_patch(lane->body, &lane->pair);
    lane->began_us = now_us();
    return 1;
}

void lane_end(struct lane *lane)
{
    lane->took_us[lane->count++] = now_us() - lane->began_us;
    pair_is_written(&lane->pair);
}

static size_t collect(const struct run *run, int64_t *all)
{
    size_t count = 0;
    for (size_t i = 0; i < run->lane_count; i++) {
        memcpy(all + count, run->lanes[i].took_us, run->lanes[i].count * sizeof(*all));
        count += run->lanes[i].count;
    }
    return count;
}

void run_end(struct run *run)
{
    int64_t whole_us = now_us() - run->begin_us;
    int64_t cpu_us = cpu_now_us() - run->cpu_us;
    int64_t *all = calloc(run->calls, sizeof(*all));
    if (all == NULL || collect(run, all) != run->calls) {
        die("calls were lost", "or there is no memory");
    }
    int64_t middle = median(all, run->calls); /* sorts them */
    printf("{\"calls\":%zu,\"calls_per_second\":%.1f,\"median_us\":%lld,\"p99_us\":%lld,"
           "\"cpu_us\":%.2f}\n",
           run->calls, (double)run->calls * 1e6 / (double)whole_us, (long long)middle,
           (long long)all[run->calls * 99 / 100], (double)cpu_us / (double)run->calls);
    free(all);
    for (size_t i = 0; i < run->lane_count; i++) {
        free(run->lanes[i].took_us);
    }
    free(run->lanes);
}
