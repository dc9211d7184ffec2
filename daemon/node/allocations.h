/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The agent's table of allocations: which id stands for which job. Loop's thread.
 *
 * An entry is OPEN (told to the plugin; its job waits), ENDING (done or failed is being
 * written), or ENDED (the outcome is kept for a plugin that asks again, for its answer
 * may have been lost). An entry that is older than the lifetime is forgotten; an open
 * one's job is dropped, which writes nothing: the plugin died, or takes its time. The pod
 * keeps devices and lock; if the plugin asks again it gets the same answer, and if the
 * kubelet has failed the pod, that is what frees the lock.
 */
#ifndef HAMID_NODE_ALLOCATIONS_H
#define HAMID_NODE_ALLOCATIONS_H

#include "answers.h"

#define ALLOCATION_ID_LENGTH 32
#define ALLOCATIONS_MAX 1024 /* entries; open ones among them at most half */

enum allocation_state { ALLOCATION_OPEN = 0, ALLOCATION_ENDING, ALLOCATION_ENDED };

struct allocation {
    char id[ALLOCATION_ID_LENGTH + 1];
    enum allocation_state state;
    hami_handshake_job *job; /* OPEN only */
    struct answer **answers; /* one a container, until done; NULL = none */
    size_t answer_count;
    bool is_failure; /* ENDING, ENDED: by failed, not by done */
    int code;        /* ENDED: how the write ended */
    char text[256];  /* ENDED, code not 0: why */
    uint64_t until_ns;
    struct allocation *newer;
};

struct allocations {
    struct allocation *oldest;
    struct allocation **newest; /* where the next one goes */
    size_t count;
    size_t open;
    uint64_t lifetime_ns;
    uint64_t forgotten; /* open ones that were forgotten, in all */
    char
        prefix[9]; /* of every id of this process: another one is from before a restart */
};

/* Returns 0, or -1 without a source of randomness. */
int allocations_init(struct allocations *table, uint64_t lifetime_ns);
/* Drops every open job. */
void allocations_done(struct allocations *table);

/* Forgets what is too old at `now_ns`. Returns how many open ones were among it. */
size_t allocations_expire(struct allocations *table, uint64_t now_ns);

/* A new open entry for a job, which it takes; NULL (job not taken) without memory,
 * randomness or room. */
struct allocation *allocations_add(struct allocations *table, hami_handshake_job *job,
                                   uint64_t now_ns);

/* Frees what the entry would have been answered for; none is fine. */
void allocations_drop_answers(struct allocation *entry);

/* The entry of an id; NULL if there is none (any more). */
struct allocation *allocations_find(struct allocations *table, const char *id);

/* Takes an open entry's job; it is ENDING then. */
hami_handshake_job *allocations_take(struct allocations *table, struct allocation *entry,
                                     bool is_failure);

/* 32 lower-case hexadecimal digits? */
bool allocations_is_id(const char *text);
/* Could an id be one of this process? */
bool allocations_is_own(const struct allocations *table, const char *id);

#endif
