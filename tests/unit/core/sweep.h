/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exhaustive sweeps: a scenario is run once for each of its transport calls and each way
 * in which that call can fail, and must come to its end all the same.
 *
 *   sweep_faults.c     what happens to the calls: the faults, and time
 *   sweep_checks.c     what must hold after each step and at the end
 *   sweep_scenarios.c  what is done
 *   sweep.c            the tests
 */
#ifndef TESTS_UNIT_CORE_SWEEP_H
#define TESTS_UNIT_CORE_SWEEP_H

#include <stdio.h>

#include "scripted.h"

#define SWEEP_NODE "n1"
#define SWEEP_WAIT_MS 60000 /* deadline of each acquire and release of a scenario */

/* Which run this is: it stands before each complaint. */
extern char sweep_run[128];

#define SWEEP_CHECK(condition, ...)                                                      \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            char sweep_text[512];                                                        \
            (void)snprintf(sweep_text, sizeof(sweep_text), __VA_ARGS__);                 \
            ck_abort_msg("%s: %s", sweep_run, sweep_text);                               \
        }                                                                                \
    } while (0)

/* ---- faults ---- */

/* In which way a call fails. */
enum sweep_way {
    SWEEP_NO_FAULT = 0,
    SWEEP_TRANSPORT,         /* never arrived, and said so */
    SWEEP_NOMEM,             /* the transport had no memory */
    SWEEP_DOUBT_NOT_APPLIED, /* no answer, and nothing happened */
    SWEEP_DOUBT_APPLIED,     /* no answer, but it happened */
    SWEEP_DOUBT_LATE,        /* no answer; it happens two seconds later */
    SWEEP_DOUBLED_REFUSED, /* delivered twice; the second copy's refusal is the answer */
    SWEEP_DOUBLED_FIRST,   /* delivered twice; the first copy's answer comes after both */
    SWEEP_DOUBLED_AFTER,   /* the second copy is delivered right after the answer */
    SWEEP_DOUBLED_LATE,    /* the second copy is delivered a second later */
    SWEEP_HELD,            /* refused without a reason and without values */
    SWEEP_PROTO,           /* a senseless answer, and nothing happened */
    SWEEP_PROTO_APPLIED,   /* a senseless answer, but it happened */
    SWEEP_ACCESS,
    SWEEP_NODE_GONE, /* "there is no such node", which is not so */
    SWEEP_REFUSED,   /* submit does not take it */
    SWEEP_SILENT,    /* no answer until it is aborted */
    SWEEP_SILENT_APPLIED,
    SWEEP_DEAF, /* not even then; the answer comes at the very end */
    SWEEP_WAYS
};

extern const char *const sweep_way_names[SWEEP_WAYS];

#define SWEEP_EVERY_CALL 1000000

/* Which calls: `length` of them from the `first` on, counted from 1. */
struct sweep_fault {
    enum sweep_way way;
    unsigned first, length;
};

/* Starts to count calls; to be called after scripted_start(). */
void sweep_arm(struct sweep_fault fault);
/* No further call fails. */
void sweep_disarm(void);
/* Whether the fault met a call that can fail in this way. */
bool sweep_was_hit(void);
/* Calls submitted while it was armed. */
unsigned sweep_calls(void);

/* Answers calls and lets time pass until it is so; false after ms. */
bool sweep_until(bool (*is_so)(void *data), void *data, uint64_t ms);
/* Answers at most so many calls, at this moment. */
void sweep_serve_calls(unsigned count);
/* Lets all copies arrive that are on their way. */
void sweep_let_land(void);
/* Answers the calls that were silent for ever. */
void sweep_let_speak(void);

/* ---- what is done; each step is checked ---- */

struct sweep_holder {
    const char *name;
    struct scripted_wait wait;
    struct scripted_done done;
    bool releasing;  /* its release was started */
    bool handed_off; /* it is the node side's to release */
    bool served;     /* and that has done so */
    uint64_t fence;
    const char *calls; /* NULL = it is exclusive */
    char version[64];  /* of the pod, as the take was judged by */
};

#define SWEEP_HOLDERS_MAX 4
extern struct sweep_holder sweep_holders[SWEEP_HOLDERS_MAX];

struct sweep_scenario;

/* Forgets all holders; what an acquire may end with besides 0 depends on the way. */
void sweep_checks_start(enum sweep_way way, bool out_of_memory,
                        const struct sweep_scenario *scenario);

/* These start something and return. */
struct sweep_holder *sweep_acquire(const char *name, bool both_keys, uint64_t ms);
void sweep_release(struct sweep_holder *holder);
/* Checks the lease against the store, and waits for the end. */
void sweep_look(struct sweep_holder *holder);
/* Binds the pod by the version that the take was judged by, and hands the lock off. */
void sweep_bind_and_hand_off(struct sweep_holder *holder);
/* The node side serves the pod and removes the lock; it must be this pod's. */
void sweep_serve(struct sweep_holder *holder);
/* The node side leaves the lock to the manager: its last write is the success. */
void sweep_succeed(struct sweep_holder *holder);
/* The same by a plugin that writes nothing of use onto the pod. */
void sweep_remove(struct sweep_holder *holder);

/* As soon as no lock stands, this one does: another replica's. Once. */
void sweep_let_rival_take(const char *lock, const char *lease);

/* These wait for the end. True if the lease is held now, or the release is over. */
bool sweep_granted(struct sweep_holder *holder);
bool sweep_released(struct sweep_holder *holder);

/* After each step: no two owners, and nobody robbed. */
void sweep_check_step(void);
/* At the end: no record, no waiter, no lease, and another pod gets the lock. */
void sweep_check_end(void);

/* ---- scenarios ---- */

struct sweep_scenario {
    const char *name;
    bool watch, owners; /* what the transport has */
    void (*run)(void);
    bool beside; /* pods may be beside each other: a and c have the same calls, b others,
                    z none */
};

extern const struct sweep_scenario sweep_scenarios[];
extern const int sweep_scenario_count;

#endif
