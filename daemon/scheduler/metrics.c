/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All metrics of the scheduler role. Labels are from closed lists: no pod, no node, so
 * that their number stays the same whatever the cluster does.
 */
#include "metrics.h"

#include <stdlib.h>

#include <event2/buffer.h>

#include <hami/version.h>

#include "client_metrics.h"

static const double bounds[HISTOGRAM_BUCKETS] = {
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300};

void histogram_observe(struct histogram *histogram, uint64_t nanoseconds)
{
    double seconds = (double)nanoseconds / 1e9;
    size_t bucket = 0;
    while (bucket < HISTOGRAM_BUCKETS && seconds > bounds[bucket]) {
        bucket++;
    }
    histogram->counts[bucket]++;
    histogram->count++;
    histogram->sum += seconds;
}

enum acquire_outcome acquire_outcome_of(int code)
{
    switch (code) {
    case HAMI_OK:
        return ACQUIRE_granted;
    case HAMI_E_TIMEDOUT:
        return ACQUIRE_timed_out;
    case HAMI_E_CANCELED:
        return ACQUIRE_canceled;
    case HAMI_E_LOST:
        return ACQUIRE_lost;
    case HAMI_E_NODE:
        return ACQUIRE_no_node;
    case HAMI_E_ACCESS:
        return ACQUIRE_access;
    case HAMI_E_LIMIT:
        return ACQUIRE_limit;
    case HAMI_E_CLOSED:
        return ACQUIRE_closed;
    default:
        return ACQUIRE_error;
    }
}

static void write_head(struct evbuffer *out, const char *name, const char *type,
                       const char *help)
{
    (void)evbuffer_add_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name,
                              type);
}

static void write_number(struct evbuffer *out, const char *name, const char *type,
                         const char *help, uint64_t value)
{
    write_head(out, name, type, help);
    (void)evbuffer_add_printf(out, "%s %llu\n", name, (unsigned long long)value);
}

static void write_labelled(struct evbuffer *out, const char *name, const char *label,
                           const char *value, uint64_t count)
{
    (void)evbuffer_add_printf(out, "%s{%s=\"%s\"} %llu\n", name, label, value,
                              (unsigned long long)count);
}

static void write_histogram(struct evbuffer *out, const char *name, const char *help,
                            const struct histogram *histogram)
{
    uint64_t total = 0;
    write_head(out, name, "histogram", help);
    for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
        total += histogram->counts[i];
        (void)evbuffer_add_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, bounds[i],
                                  (unsigned long long)total);
    }
    (void)evbuffer_add_printf(out,
                              "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n%s_count %llu\n",
                              name, (unsigned long long)histogram->count, name,
                              histogram->sum, name, (unsigned long long)histogram->count);
}

static void write_counts(const struct metrics *counts, struct evbuffer *out)
{
    static const char *const acquires[] = {
#define X(name) #name,
        ACQUIRE_OUTCOMES(X)
#undef X
    };
    static const char *const binds[] = {
#define X(name) #name,
        BIND_OUTCOMES(X)
#undef X
    };
    static const char *const passes[] = {
#define X(name) #name,
        PASS_OUTCOMES(X)
#undef X
    };
    write_head(out, "hamid_lock_acquire_total", "counter",
               "Acquires of a node's lock, by outcome.");
    for (size_t i = 0; i < ACQUIRE_OUTCOME_COUNT; i++) {
        write_labelled(out, "hamid_lock_acquire_total", "outcome", acquires[i],
                       counts->acquires[i]);
    }
    write_head(out, "hamid_lock_asked_total", "counter",
               "Acquires begun, by whether other pods may be beside theirs.");
    write_labelled(out, "hamid_lock_asked_total", "kind", "beside", counts->asked_beside);
    write_labelled(out, "hamid_lock_asked_total", "kind", "exclusive",
                   counts->asked_exclusive);
    write_head(out, "hamid_binds_total", "counter",
               "Bind requests answered, by outcome.");
    for (size_t i = 0; i < BIND_OUTCOME_COUNT; i++) {
        write_labelled(out, "hamid_binds_total", "outcome", binds[i], counts->binds[i]);
    }
    write_head(out, "hamid_passed_requests_total", "counter",
               "Requests passed on to the upstream extender, by outcome.");
    for (size_t i = 0; i < PASS_OUTCOME_COUNT; i++) {
        write_labelled(out, "hamid_passed_requests_total", "outcome", passes[i],
                       counts->passes[i]);
    }
    write_number(out, "hamid_binds_joined_total", "counter",
                 "Bind requests that joined one in flight for the same pod and node.",
                 counts->joined);
    write_head(out, "hamid_pod_events_total", "counter",
               "Events on pods that wait, by what became of them.");
    write_labelled(out, "hamid_pod_events_total", "outcome", "sent", counts->events_sent);
    write_labelled(out, "hamid_pod_events_total", "outcome", "left_out",
                   counts->events_left_out);
    write_histogram(out, "hamid_lock_wait_seconds",
                    "Time from an acquire's start to its end, whatever the end.",
                    &counts->lock_wait);
    write_histogram(out, "hamid_bind_duration_seconds",
                    "Time from a bind request's arrival to its answer.",
                    &counts->bind_duration);
    write_histogram(out, "hamid_passed_request_duration_seconds",
                    "Time that the upstream extender took to answer.",
                    &counts->pass_duration);
}

/* Acquires that were refused before they could wait, or while they did. */
static void write_refusals(const struct hami_nodelock_stats *stats, struct evbuffer *out)
{
    static const char name[] = "hamid_lock_refusals_total";
    write_head(out, name, "counter", "Acquires refused, by reason.");
    write_labelled(out, name, "reason", "queue_full", stats->refused_full);
    write_labelled(out, name, "reason", "namespace_full", stats->refused_namespace);
    write_labelled(out, name, "reason", "too_late", stats->refused_early);
    write_labelled(out, name, "reason", "stalled", stats->refused_stalled);
}

static void write_lock(hami_nodelock *lock, struct evbuffer *out)
{
    struct hami_nodelock_stats s = HAMI_NODELOCK_STATS_INIT;
    if (hami_nodelock_stats(lock, &s) != 0) {
        return;
    }
    const struct {
        const char *name;
        const char *type;
        const char *help;
        uint64_t value;
    } rows[] = {
        {"hamid_lock_waiters", "gauge", "Binds that wait for a node's lock.", s.waiters},
        {"hamid_lock_leases", "gauge", "Locks held by this process.", s.leases},
        {"hamid_lock_nodes", "gauge", "Nodes known.", s.nodes},
        {"hamid_lock_handoffs_total", "counter", "Locks left to the node side.",
         s.handoffs},
        {"hamid_lock_releases_total", "counter", "Locks removed or handed over.",
         s.releases},
        {"hamid_lock_hand_overs_total", "counter",
         "Locks given to the next pod in one write.", s.hand_overs},
        {"hamid_lock_beside_total", "counter",
         "Locks given while another pod of the node was in flight.", s.beside},
        {"hamid_lock_revocations_total", "counter", "Pending Bindings revoked.",
         s.revocations},
        {"hamid_lock_lost_total", "counter", "Held locks that vanished from their node.",
         s.lost},
        {"hamid_lock_in_doubt_total", "counter",
         "Writes whose answer did not come or was not "
         "believed.",
         s.in_doubt},
        {"hamid_lock_undone_total", "counter",
         "Takes undone because nobody wanted them any more.", s.undone},
        {"hamid_lock_alarms_total", "counter",
         "Locks past their age whose pod still waits for "
         "Allocate: look at the node's device plugin.",
         s.alarms},
        {"hamid_lock_store_calls_total", "counter", "Calls made for the lock.", s.calls},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        write_number(out, rows[i].name, rows[i].type, rows[i].help, rows[i].value);
    }
    write_refusals(&s, out);
}

static void write_changes(const struct changes_counts *changes, struct evbuffer *out)
{
    static const char *const proofs[] = {
#define X(name) #name,
        TAKEOVER_PROOFS(X)
#undef X
    };
    write_head(out, "hamid_lock_takeovers_total", "counter",
               "Locks taken from an owner, by what proved that it needs them no more.");
    for (size_t i = 0; i < TAKEOVER_PROOF_COUNT; i++) {
        write_labelled(out, "hamid_lock_takeovers_total", "proof", proofs[i],
                       changes->takeovers[i]);
    }
    write_histogram(out, "hamid_lock_hold_seconds",
                    "How long locks stood, whoever had taken them.", &changes->hold);
}

static void write_client(hami_kubernetes *client, struct evbuffer *out)
{
    char *text = hamid_client_metrics(client);
    (void)evbuffer_add_printf(out, "%s", text != NULL ? text : "");
    free(text);
}

void metrics_write(const struct metrics_sources *sources, struct evbuffer *out)
{
    write_head(out, "hamid_build_info", "gauge", "The version that runs; always 1.");
    (void)evbuffer_add_printf(
        out, "hamid_build_info{version=\"%s\",role=\"scheduler\"} 1\n", hami_version());
    write_number(out, "hamid_ready", "gauge", "1 while /readyz answers 200.",
                 sources->ready);
    write_number(out, "hamid_binds_in_flight", "gauge", "Binds not answered yet.",
                 sources->binds_in_flight);
    write_number(out, "hamid_http_connections", "gauge", "Connections open.",
                 sources->connections);
    write_counts(sources->counts, out);
    write_changes(sources->changes, out);
    write_lock(sources->lock, out);
    write_client(sources->client, out);
}
