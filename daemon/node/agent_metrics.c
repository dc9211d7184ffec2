/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's metrics in Prometheus' text form. Loop's thread.
 */
#include "agent_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/version.h>

#include "client_metrics.h"

struct agent_metrics {
    uint64_t served, refused, done, failed, not_written, forgotten;
    size_t open;
    struct hami_handshake_stats handshake;
};

static void write_agent(FILE *out, const struct agent_metrics *m)
{
    const struct hami_handshake_stats *h = &m->handshake;

    (void)fprintf(
        out,
        "# HELP hamid_node_allocations_total Allocate calls by how they were answered.\n"
        "# TYPE hamid_node_allocations_total counter\n"
        "hamid_node_allocations_total{outcome=\"served\"} %" PRIu64 "\n"
        "hamid_node_allocations_total{outcome=\"nobody\"} %" PRIu64 "\n"
        "hamid_node_allocations_total{outcome=\"several\"} %" PRIu64 "\n"
        "hamid_node_allocations_total{outcome=\"held\"} %" PRIu64 "\n"
        "hamid_node_allocations_total{outcome=\"misfit\"} %" PRIu64 "\n"
        "hamid_node_allocations_total{outcome=\"error\"} %" PRIu64 "\n"
        "# HELP hamid_node_ends_total Ends of allocations by what was written.\n"
        "# TYPE hamid_node_ends_total counter\n"
        "hamid_node_ends_total{outcome=\"done\"} %" PRIu64 "\n"
        "hamid_node_ends_total{outcome=\"failed\"} %" PRIu64 "\n"
        "hamid_node_ends_total{outcome=\"not_written\"} %" PRIu64 "\n"
        "hamid_node_ends_total{outcome=\"forgotten\"} %" PRIu64 "\n"
        "# HELP hamid_node_without_fence_total Pods served under a lock without a lease "
        "of its own.\n"
        "# TYPE hamid_node_without_fence_total counter\n"
        "hamid_node_without_fence_total %" PRIu64 "\n"
        "# HELP hamid_node_fence_rose_total Pods served with a fence lower than their "
        "lock's.\n"
        "# TYPE hamid_node_fence_rose_total counter\n"
        "hamid_node_fence_rose_total %" PRIu64 "\n"
        "# HELP hamid_node_releases_total Locks by how they went.\n"
        "# TYPE hamid_node_releases_total counter\n"
        "hamid_node_releases_total{outcome=\"released\"} %" PRIu64 "\n"
        "hamid_node_releases_total{outcome=\"released_late\"} %" PRIu64 "\n"
        "hamid_node_releases_total{outcome=\"left\"} %" PRIu64 "\n"
        "hamid_node_releases_total{outcome=\"given_up\"} %" PRIu64 "\n"
        "# HELP hamid_node_releases_pending Releases that go on behind.\n"
        "# TYPE hamid_node_releases_pending gauge\n"
        "hamid_node_releases_pending %" PRIu32 "\n"
        "# HELP hamid_node_allocations_open Allocations that wait for done or failed.\n"
        "# TYPE hamid_node_allocations_open gauge\n"
        "hamid_node_allocations_open %zu\n",
        m->served, h->nobody, h->several, h->held, h->misfits,
        m->refused - (h->nobody + h->several + h->held + h->misfits), m->done, m->failed,
        m->not_written, m->forgotten, h->without_fence, h->fence_rose,
        h->released - h->released_behind, h->released_behind, h->left, h->given_up,
        h->behind, m->open);
}

static void write_checks(FILE *out, const struct agent *agent, uint64_t again)
{
    struct checks_stats c = {0};

    if (agent->config.checks != NULL) {
        checks_stats(agent->config.checks, &c);
    }
    (void)fprintf(
        out,
        "# HELP hamid_node_again_total Allocates served once more: the kubelet lost the "
        "answer.\n"
        "# TYPE hamid_node_again_total counter\n"
        "hamid_node_again_total %" PRIu64 "\n"
        "# HELP hamid_node_books_failures_total Readings of the kubelet's books that "
        "failed.\n"
        "# TYPE hamid_node_books_failures_total counter\n"
        "hamid_node_books_failures_total %" PRIu64 "\n"
        "# HELP hamid_node_checks_total Answers by what the kubelet's books say of "
        "them.\n"
        "# TYPE hamid_node_checks_total counter\n"
        "hamid_node_checks_total{outcome=\"confirmed\"} %" PRIu64 "\n"
        "hamid_node_checks_total{outcome=\"swapped\"} %" PRIu64 "\n"
        "hamid_node_checks_total{outcome=\"unseen\"} %" PRIu64 "\n"
        "# HELP hamid_node_checks_open Answers that the books don't have yet.\n"
        "# TYPE hamid_node_checks_open gauge\n"
        "hamid_node_checks_open %zu\n"
        "# HELP hamid_node_swapped Answers whose devices another container has: an "
        "alarm.\n"
        "# TYPE hamid_node_swapped gauge\n"
        "hamid_node_swapped %zu\n"
        "# HELP hamid_node_starts_total Questions before a start by their answer.\n"
        "# TYPE hamid_node_starts_total counter\n"
        "hamid_node_starts_total{verdict=\"confirmed\"} %" PRIu64 "\n"
        "hamid_node_starts_total{verdict=\"unknown\"} %" PRIu64 "\n"
        "hamid_node_starts_total{verdict=\"swapped\"} %" PRIu64 "\n",
        again, agent->without_books + c.failures, c.confirmed, c.swapped, c.unseen,
        c.open, c.swapped_now, c.starts[ANSWERS_CONFIRMED], c.starts[ANSWERS_UNKNOWN],
        c.starts[ANSWERS_SWAPPED]);
}

void agent_handle_metrics(struct hamid_http_exchange *exchange, void *data)
{
    struct agent *agent = data;
    struct agent_metrics metrics = {
        .served = agent->served,
        .refused = agent->refused,
        .done = agent->ended[0],
        .failed = agent->ended[1],
        .not_written = agent->not_written,
        .forgotten = agent->table.forgotten,
        .open = agent->table.open,
        .handshake = HAMI_HANDSHAKE_STATS_INIT,
    };
    char *denials, *calls;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);

    if (out == NULL) {
        agent_answer_error(exchange, 503, "NOMEM", "out of memory");
        return;
    }
    (void)hami_handshake_stats(agent->config.handshake, &metrics.handshake);
    (void)fprintf(out,
                  "# HELP hamid_build_info The version that runs; always 1.\n"
                  "# TYPE hamid_build_info gauge\n"
                  "hamid_build_info{version=\"%s\",role=\"node\"} 1\n"
                  "# HELP hamid_ready 1 while /readyz answers 200.\n"
                  "# TYPE hamid_ready gauge\n"
                  "hamid_ready %d\n",
                  hami_version(), agent->is_ready);
    write_agent(out, &metrics);
    write_checks(out, agent, metrics.handshake.again);
    denials = hamid_denials_metrics(agent->config.denials);
    (void)fputs(denials != NULL ? denials : "", out);
    free(denials);
    calls = hamid_client_metrics(agent->config.client);
    (void)fputs(calls != NULL ? calls : "", out);
    free(calls);
    if (agent->config.more_metrics != NULL) {
        agent->config.more_metrics(out, agent->config.more_data);
    }
    if (fclose(out) != 0 || text == NULL) {
        free(text);
        agent_answer_error(exchange, 503, "NOMEM", "out of memory");
        return;
    }
    hamid_http_answer(exchange, 200, "text/plain; version=0.0.4", text, length);
    free(text);
}
