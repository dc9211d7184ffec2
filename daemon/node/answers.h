/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Allocates were answered: device id -> the container that it was answered for. And
 * what the kubelet's books say about that. Pure: no clock, no I/O. Loop's thread.
 *
 * An id that is answered anew belongs to the newer answer; an answer without ids left is
 * forgotten. A restart forgets all: then handed.h is what is left.
 */
#ifndef HAMID_NODE_ANSWERS_H
#define HAMID_NODE_ANSWERS_H

#include "books.h"

#define ANSWERS_IDS_MAX 65536 /* more: the oldest answers are forgotten */

enum answer_state {
    ANSWER_OPEN = 0,  /* the books don't have it yet */
    ANSWER_CONFIRMED, /* they have, for this container */
    ANSWER_SWAPPED,   /* they have at least one id for another one */
    ANSWER_UNSEEN     /* they did not have it in time */
};

/* One container's answer. */
struct answer {
    char *resource;
    char *namespace_name;
    char *pod;
    char *uid;
    char *container;
    char **ids;
    size_t id_count;
    size_t ids_left; /* not answered anew */
    enum answer_state state;
    uint64_t answered_ns;
    struct answer *newer, *older;
};

/* Copies all. NULL without memory. */
struct answer *answer_new(const char *resource, const struct hami_owner *owner,
                          const char *container, const char *const *ids, size_t count);
struct answer *answer_free(struct answer *answer);

struct answers_slot;
struct answers {
    struct answer *oldest, *newest;
    struct answers_slot **buckets;
    size_t ids;
    size_t open; /* answers that are OPEN */
};

/* Returns 0, or -1 without memory. */
int answers_init(struct answers *answers);
void answers_done(struct answers *answers);

/* Takes an answer, given at now_ns. False without memory: it is freed. */
bool answers_add(struct answers *answers, struct answer *answer, uint64_t now_ns);

/* The answer that an id belongs to; NULL if none is known. */
struct answer *answers_find(const struct answers *answers, const char *resource,
                            const char *id);

/*
 * Compares answers with the books. One that is younger than the page is passed over.
 * @swapped  called for each that turns out SWAPPED, with the row that has its device
 * Returns   how many became CONFIRMED
 */
size_t answers_compare(struct answers *answers, const struct books_page *page,
                       void (*swapped)(void *data, const struct answer *answer,
                                       const struct books_row *row),
                       void *data);

/* Open answers from before since_ns become UNSEEN. Returns how many. */
size_t answers_give_up(struct answers *answers, uint64_t since_ns);

/* May a container start that has these ids? */
enum answers_verdict {
    ANSWERS_CONFIRMED, /* the books have each id for the container that it was answered
                          for */
    ANSWERS_UNKNOWN,   /* at least one is not known here, or not on the books */
    ANSWERS_SWAPPED    /* at least one is on the books for another one: *answer, *row */
};
enum answers_verdict answers_judge(const struct answers *answers,
                                   const struct books_page *page, const char *resource,
                                   char *const *ids, size_t count,
                                   const struct answer **ret_answer,
                                   const struct books_row **ret_row);

#endif
