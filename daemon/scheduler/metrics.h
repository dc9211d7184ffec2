/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of the scheduler role, and all of its metrics as Prometheus' text. One thread:
 * the loop's.
 */
#ifndef HAMID_SCHEDULER_METRICS_H
#define HAMID_SCHEDULER_METRICS_H

#include <hami/kubernetes.h>
#include <hami/nodelock.h>

struct evbuffer;

/* How an acquire ended. */
#define ACQUIRE_OUTCOMES(X)                                                              \
    X(granted)                                                                           \
    X(timed_out) X(canceled) X(lost) X(no_node) X(access) X(limit) X(closed) X(error)

/* How a bind was answered. */
#define BIND_OUTCOMES(X)                                                                 \
    X(bound)                                                                             \
    X(contention)                                                                        \
    X(refused) X(in_doubt) X(invalid) X(superseded) X(abandoned) X(closed) X(error)

/* How a passed-on request ended. */
#define PASS_OUTCOMES(X) X(answered) X(failed) X(gone) X(refused)

/* What proved that an owner could be taken from, as the manager tells. */
#define TAKEOVER_PROOFS(X)                                                               \
    X(gone)                                                                              \
    X(replaced)                                                                          \
    X(finished) X(bound_elsewhere) X(deleted) X(started) X(done) X(revoked) X(age)

enum takeover_proof {
#define X(name) TAKEOVER_##name,
    TAKEOVER_PROOFS(X)
#undef X
        TAKEOVER_PROOF_COUNT
};

enum acquire_outcome {
#define X(name) ACQUIRE_##name,
    ACQUIRE_OUTCOMES(X)
#undef X
        ACQUIRE_OUTCOME_COUNT
};

enum bind_outcome {
#define X(name) BIND_##name,
    BIND_OUTCOMES(X)
#undef X
        BIND_OUTCOME_COUNT
};

enum pass_outcome {
#define X(name) PASS_##name,
    PASS_OUTCOMES(X)
#undef X
        PASS_OUTCOME_COUNT
};

#define HISTOGRAM_BUCKETS 16

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS + 1]; /* the last one: above every bound */
    uint64_t count;
    double sum;
};

/* Counts of changes.h. */
struct changes_counts {
    struct histogram hold;
    uint64_t takeovers[TAKEOVER_PROOF_COUNT];
};

struct metrics {
    uint64_t acquires[ACQUIRE_OUTCOME_COUNT];
    uint64_t binds[BIND_OUTCOME_COUNT];
    uint64_t passes[PASS_OUTCOME_COUNT];
    uint64_t asked_beside;    /* acquires whose pod others may be beside */
    uint64_t asked_exclusive; /* and all others */
    uint64_t joined;          /* bind requests that joined one in flight */
    uint64_t events_sent;
    uint64_t events_left_out; /* for want of budget */
    struct histogram lock_wait;
    struct histogram bind_duration;
    struct histogram pass_duration;
};

/* What is read when metrics are asked for. */
struct metrics_sources {
    const struct metrics *counts;
    const struct changes_counts *changes;
    hami_nodelock *lock;
    hami_kubernetes *client;
    uint64_t binds_in_flight;
    uint64_t connections;
    bool ready;
};

void histogram_observe(struct histogram *histogram, uint64_t nanoseconds);

enum acquire_outcome acquire_outcome_of(int code);

/* Appends everything. */
void metrics_write(const struct metrics_sources *sources, struct evbuffer *out);

#endif
