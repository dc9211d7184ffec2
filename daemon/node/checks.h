/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks after each Allocate whether the kubelet gave the devices to the pod that was
 * answered for them, and tells before a container starts. Where it did not: a line in the
 * log, an event of the node, a count, and the container is not to start. Loop's thread.
 *
 * What this process did not answer itself, it asks the pod's annotations about: then a
 * container is not to start for which they still have devices to hand out.
 *
 * This is the net below the rules by which callers are told apart: whatever went wrong
 * there, no container starts with another's devices unseen.
 */
#ifndef HAMID_NODE_CHECKS_H
#define HAMID_NODE_CHECKS_H

#include "answers.h"

struct checks;
struct event_base;
struct handed;
struct node_events;

/* Texts and objects are borrowed. @handed  tells of containers that this process did not
 * serve. Returns NULL without memory. */
struct checks *checks_new(struct event_base *base, struct books *books,
                          struct node_events *events, const struct handed *handed);
/* Asks that are open get UNKNOWN within. Takes NULL, returns NULL. */
struct checks *checks_free(struct checks *checks);

/* An Allocate was answered; takes the answer. NULL is ignored. */
void checks_add(struct checks *checks, struct answer *answer);

/* Books that were read for another purpose: the open answers are compared with them. */
void checks_compare(struct checks *checks, const struct books_page *page);

/* @text     borrowed for the function: whose the devices are, or why that is not known */
typedef void (*checks_told_fn)(void *data, enum answers_verdict verdict,
                               const char *text);
struct checks_ask;

/*
 * May a container start that has these ids? `told` comes once, not within.
 * @ids      copied
 * Returns   NULL without memory: it does not come
 */
struct checks_ask *checks_ask_start(struct checks *checks, const char *resource,
                                    const char *const *ids, size_t count,
                                    uint64_t timeout_ms, checks_told_fn told, void *data);
/* Gives an ask up: nothing comes. */
void checks_ask_cancel(struct checks_ask *ask);

struct checks_stats {
    uint64_t confirmed; /* answers that the books have for the container answered */
    uint64_t swapped;   /* that they have for another one */
    uint64_t unseen;    /* that they did not have in time */
    uint64_t failures;  /* readings of the books that failed */
    uint64_t starts[3]; /* asks before a start, by enum answers_verdict */
    size_t open;        /* gauge: answers not looked for with success yet */
    size_t swapped_now; /* gauge: devices that another has than was answered */
};
void checks_stats(const struct checks *checks, struct checks_stats *ret);

#endif
