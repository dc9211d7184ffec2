/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport that does what a test says, step by step, in front of a memory store; and a
 * manager on it that runs on the test's thread by a clock of the test's. One world at a
 * time.
 */
#ifndef TESTS_UNIT_CORE_SCRIPTED_H
#define TESTS_UNIT_CORE_SCRIPTED_H

#include <check.h>

#include <hami/handshake.h>
#include <hami/memory.h>

#define MS UINT64_C(1000000)

enum scripted_kind { SCRIPTED_READ, SCRIPTED_WRITE, SCRIPTED_INSPECT, SCRIPTED_REVOKE };

struct scripted_options {
    bool owners;   /* the transport has inspect and revoke */
    bool watch;    /* what changes in the store is told at once */
    bool no_abort; /* the transport has no abort */
    bool manual;   /* calls wait for the test; else they are carried out at once */
    struct hami_nodelock_config config; /* further settings; size 0 = none */
};

/* The world: store, transport, manager, clock. */
extern hami_memory *scripted_store;
extern hami_nodelock *scripted_lock;
extern uint64_t scripted_now_ns;
extern int64_t scripted_realtime_s; /* the wall clock: stands still unless it is set */
extern unsigned scripted_wakeups, scripted_aborts, scripted_lost, scripted_logs;
extern char scripted_last_log[512];

/* The clock by which managers of this world go. */
struct hami_clock scripted_clock(void);

void scripted_start(struct scripted_options options);
void scripted_stop(void);

/* Whether calls wait for the test from now on. */
void scripted_set_manual(bool manual);

/* Runs what is due now; moves the clock, running what becomes due on the way. */
void scripted_dispatch(void);
void scripted_advance(uint64_t ms);

/* The oldest call that waits; fails the test if there is none, or it is of another kind.
 */
hami_call *scripted_call(enum scripted_kind kind);
/* Number of calls that wait. */
size_t scripted_waiting(void);
/* The waiting call of this index, the oldest first. */
hami_call *scripted_waiting_call(size_t index, enum scripted_kind *ret_kind);
/* Calls submitted since the start, by kind. */
size_t scripted_count(enum scripted_kind kind);

/* Carries the call out and answers. */
void scripted_answer(hami_call *call);
/* Carries the call out `times` times and answers with this code (0 copies: it never
 * arrived). */
void scripted_answer_code(hami_call *call, unsigned times, int code);
/* Carries the call out; it stays on the list, its answer is still to come. */
void scripted_apply(hami_call *call);
/* Takes the call off the list without an answer; scripted_late() answers it later. */
hami_call *scripted_swallow(hami_call *call);
/* Carries out, later, what a swallowed call asked for; false if its expectations fail. */
struct scripted_copy;
struct scripted_copy *scripted_copy(hami_call *call);
bool scripted_land(struct scripted_copy *copy);
/* Makes submit itself refuse the next call with this code. */
void scripted_refuse_next(int code);
/* Makes each call from now on be answered so (0 = carried out). */
void scripted_answer_all(int code);
/* The same for calls of one kind only. */
void scripted_answer_kind(enum scripted_kind kind, int code);

/* NULL, or asked about each call that is submitted; what it answers is submit's refusal.
 * Set after the start. */
extern int (*scripted_submitted)(hami_call *call, enum scripted_kind kind);

/* The node's values as they stand; "" if absent. Valid until the next call. */
const char *scripted_lock_value(const char *node);
const char *scripted_lease_value(const char *node);
struct hami_lock_record scripted_record(const char *node);

/* An owner in the store: unbound; then changed by the setters. */
void scripted_pod(const char *name, const char *uid);
void scripted_pod_facts(const char *name, const struct hami_owner_facts *facts);
void scripted_pod_gone(const char *name);

/* ---- acquires ---- */

struct scripted_wait {
    hami_wait *wait;
    bool ended;
    int code;
    hami_lease *lease;
    char text[512];
    unsigned order;
};

/* The callback of an acquire; its data is the struct scripted_wait. */
void scripted_acquired(void *data, int code, hami_lease *lease,
                       const struct hami_error *error);
/* Starts an acquire of pod NAME (uid "uid-NAME") with a deadline in ms. */
void scripted_acquire(struct scripted_wait *wait, const char *node, const char *name,
                      uint64_t ms);
void scripted_acquire_as(struct scripted_wait *wait,
                         struct hami_nodelock_request *request, uint64_t ms);
void scripted_request(struct hami_nodelock_request *request, const char *node,
                      const char *name);

struct scripted_done {
    bool ended;
    int code;
};
void scripted_release(struct scripted_done *done, hami_lease *lease, uint64_t ms);
void scripted_check(struct scripted_done *done, hami_lease *lease, uint64_t ms);

/* Nobody holds "n1": whoever asks gets it, and nothing is left in store or manager. */
void scripted_assert_free(void);

struct hami_nodelock_stats scripted_stats(void);

/* Runs a suite; the program's exit code. */
int scripted_run(Suite *suite);

#endif
