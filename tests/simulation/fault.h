/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kinds of faults, their odds, and whom they touch. An acquire counts as touched by a
 * kind when a request made for it met it, or when it was under way in a process, or at a
 * node or pod, that met it.
 */
#ifndef TESTS_SIMULATION_FAULT_H
#define TESTS_SIMULATION_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct world;
struct acquire;
struct node;

/* name, odds in millionths, of what is said behind: a request unless said otherwise */
#define FAULTS(X)                                                                        \
    X(DELAY, "delay", 16000)              /* answered late, up to seconds */             \
    X(DROP_REQUEST, "drop-request", 9000) /* lost before it was applied */               \
    X(DROP_ANSWER, "drop-answer", 9000)   /* applied, and the answer lost */             \
    X(DUPLICATE, "duplicate", 9000)       /* applied twice, the second copy later */     \
    X(REORDER, "reorder", 9000)           /* lands after what was sent next */           \
    X(THROTTLE, "429", 8000)              /* refused for too many requests */            \
    X(ERROR, "5xx", 6000)                 /* an error that may or may not be one */      \
    X(LATE_BINDING, "late-binding",                                                      \
      25000) /* a grant: its thread stops before the Binding */                          \
    X(POD_DELETED, "pod-deleted", 30000) /* a pod, at some moment of its life */         \
    X(POD_RECREATED, "pod-recreated",                                                    \
      30000)                            /* likewise, and made anew under its name */     \
    X(CRASH, "crash", 900)              /* a tick of 100 ms of a replica */              \
    X(PAUSE, "pause", 2000)             /* likewise: it stands still */                  \
    X(CLOCK, "clock-jump", 2500)        /* likewise: of its wall clock */                \
    X(WATCH_CUT, "watch-cut", 4000)     /* likewise */                                   \
    X(STALE_LIST, "stale-list", 400000) /* a list: it is old when it arrives */          \
    X(GONE, "410", 400000) /* a watch that goes on: its version is too old */            \
    X(PARTITION, "partition",                                                            \
      1200) /* a tick of a replica: it can not reach the server */                       \
    X(NODE_RECREATED, "node-recreated", 40000) /* a burst of pods of a node */           \
    X(KUBELET, "kubelet-restart", 25000) /* an Allocate: before its answer is stored */  \
    X(LEASE, "lease", 6000) /* a grant, or a look at a node: its lease is spoilt */      \
    X(VALUE, "value", 3000) /* a look at a node: somebody leaves a lock value */         \
    X(MID_LIST, "mid-list", 150000) /* a list, or a page: it breaks off, or 410 */

enum fault {
#define FAULT_ENTRY(name, text, odds) FAULT_##name,
    FAULTS(FAULT_ENTRY)
#undef FAULT_ENTRY
        FAULT_COUNT
};

#define FAULT_ALL ((UINT32_C(1) << FAULT_COUNT) - 1)

const char *fault_name(enum fault kind);
/* The kind of that name; FAULT_COUNT if there is none. */
enum fault fault_find(const char *name);

/* True if this kind happens now. */
bool fault_happens(struct world *world, enum fault kind);

/* One fault was injected, which touches these. Each may be NULL. */
void fault_touch(struct world *world, enum fault kind, struct acquire *acquire);
void fault_touch_replica(struct world *world, enum fault kind, int replica);
void fault_touch_node(struct world *world, enum fault kind, struct node *node);
void fault_injected(struct world *world, enum fault kind);

#endif
