/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of answers. A hash of (resource, id) leads to the answer; the answers stand
 * in a list by age. Loop's thread; no lock.
 */
#include "answers.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 16384u

struct answers_slot {
    struct answer *answer;
    const char *id; /* the answer's */
    struct answers_slot *next;
};

/* ---- one answer
 * -------------------------------------------------------------------------------- */

static bool copy_ids(struct answer *answer, const char *const *ids, size_t count)
{
    answer->ids = calloc(count + 1, sizeof(*answer->ids));
    for (size_t i = 0; answer->ids != NULL && i < count; i++) {
        answer->ids[i] = strdup(ids[i]);
        if (answer->ids[i] == NULL) {
            return false;
        }
        answer->id_count++;
    }
    return answer->ids != NULL;
}

struct answer *answer_new(const char *resource, const struct hami_owner *owner,
                          const char *container, const char *const *ids, size_t count)
{
    struct answer *answer = calloc(1, sizeof(*answer));

    if (answer == NULL) {
        return NULL;
    }
    answer->resource = strdup(resource);
    answer->namespace_name = strdup(owner->namespace_name);
    answer->pod = strdup(owner->name);
    answer->uid = strdup(owner->uid);
    answer->container = strdup(container);
    if (answer->resource == NULL || answer->namespace_name == NULL ||
        answer->pod == NULL || answer->uid == NULL || answer->container == NULL ||
        !copy_ids(answer, ids, count)) {
        return answer_free(answer);
    }
    return answer;
}

struct answer *answer_free(struct answer *answer)
{
    if (answer != NULL) {
        for (size_t i = 0; i < answer->id_count; i++) {
            free(answer->ids[i]);
        }
        free(answer->ids);
        free(answer->resource);
        free(answer->namespace_name);
        free(answer->pod);
        free(answer->uid);
        free(answer->container);
        free(answer);
    }
    return NULL;
}

/* ---- the table
 * --------------------------------------------------------------------------------- */

static size_t bucket_of(const char *resource, const char *id)
{
    uint64_t hash = UINT64_C(1469598103934665603);

    for (const char *c = resource; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    hash = (hash ^ 0xff) * UINT64_C(1099511628211);
    for (const char *c = id; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
    }
    return (size_t)(hash % BUCKETS);
}

/* The link to an id's slot; to NULL at a chain's end if there is none. */
static struct answers_slot **find_slot(const struct answers *answers,
                                       const char *resource, const char *id)
{
    struct answers_slot **link = &answers->buckets[bucket_of(resource, id)];

    while (*link != NULL && (strcmp((*link)->id, id) != 0 ||
                             strcmp((*link)->answer->resource, resource) != 0)) {
        link = &(*link)->next;
    }
    return link;
}

int answers_init(struct answers *answers)
{
    memset(answers, 0, sizeof(*answers));
    answers->buckets = calloc(BUCKETS, sizeof(struct answers_slot *));
    return answers->buckets != NULL ? 0 : -1;
}

static void set_state(struct answers *answers, struct answer *answer,
                      enum answer_state state)
{
    answers->open -= answer->state == ANSWER_OPEN;
    answer->state = state;
}

/* Takes an answer out of the list; its ids have no slots any more. */
static void forget(struct answers *answers, struct answer *answer)
{
    answers->open -= answer->state == ANSWER_OPEN;
    *(answer->older != NULL ? &answer->older->newer : &answers->oldest) = answer->newer;
    *(answer->newer != NULL ? &answer->newer->older : &answers->newest) = answer->older;
    answer_free(answer);
}

static void remove_slot(struct answers *answers, struct answers_slot **link)
{
    struct answers_slot *slot = *link;
    struct answer *answer = slot->answer;

    *link = slot->next;
    free(slot);
    answers->ids--;
    if (--answer->ids_left == 0) {
        forget(answers, answer);
    }
}

/* The last id that goes takes the answer along, so that each step asks anew. */
static void remove_oldest(struct answers *answers)
{
    struct answer *answer = answers->oldest;
    size_t left = answer->ids_left;

    for (size_t i = 0; left > 0 && i < answer->id_count; i++) {
        struct answers_slot **link = find_slot(answers, answer->resource, answer->ids[i]);

        if (*link != NULL && (*link)->answer == answer) {
            left--;
            remove_slot(answers, link);
        }
    }
}

void answers_done(struct answers *answers)
{
    while (answers->buckets != NULL && answers->oldest != NULL) {
        remove_oldest(answers);
    }
    free(answers->buckets);
    memset(answers, 0, sizeof(*answers));
}

static bool add_slot(struct answers *answers, struct answer *answer, const char *id)
{
    struct answers_slot **link = find_slot(answers, answer->resource, id);
    struct answers_slot *slot;

    if (*link != NULL && (*link)->answer == answer) {
        return true; /* named twice in one call */
    }
    if (*link != NULL) {
        remove_slot(answers, link);
    }
    slot = calloc(1, sizeof(*slot));
    if (slot == NULL) {
        return false;
    }
    link = &answers->buckets[bucket_of(answer->resource, id)];
    *slot = (struct answers_slot){answer, id, *link};
    *link = slot;
    answers->ids++;
    answer->ids_left++;
    return true;
}

bool answers_add(struct answers *answers, struct answer *answer, uint64_t now_ns)
{
    answer->answered_ns = now_ns;
    answer->older = answers->newest;
    *(answers->newest != NULL ? &answers->newest->newer : &answers->oldest) = answer;
    answers->newest = answer;
    answers->open++;
    for (size_t i = 0; i < answer->id_count; i++) {
        if (!add_slot(answers, answer, answer->ids[i])) {
            break;
        }
    }
    if (answer->ids_left == 0) {
        forget(answers, answer);
        return false;
    }
    while (answers->ids > ANSWERS_IDS_MAX && answers->oldest != answer) {
        remove_oldest(answers);
    }
    return true;
}

struct answer *answers_find(const struct answers *answers, const char *resource,
                            const char *id)
{
    struct answers_slot *slot = *find_slot(answers, resource, id);

    return slot != NULL ? slot->answer : NULL;
}

/* ---- against the books
 * ------------------------------------------------------------------------- */

static bool is_for(const struct answer *answer, const struct books_row *row)
{
    return strcmp(answer->pod, row->holding.pod) == 0 &&
           strcmp(answer->namespace_name, row->holding.namespace_name) == 0 &&
           strcmp(answer->container, row->holding.container) == 0;
}

size_t answers_compare(struct answers *answers, const struct books_page *page,
                       void (*swapped)(void *data, const struct answer *answer,
                                       const struct books_row *row),
                       void *data)
{
    size_t confirmed = 0;

    for (size_t i = 0; i < page->count; i++) {
        const struct books_row *row = &page->rows[i];

        for (size_t j = 0; j < row->id_count; j++) {
            struct answer *answer =
                answers_find(answers, row->holding.resource, row->ids[j]);

            if (answer == NULL || answer->answered_ns >= page->started_ns ||
                answer->state == ANSWER_SWAPPED) {
                continue;
            }
            if (!is_for(answer, row)) {
                set_state(answers, answer, ANSWER_SWAPPED);
                swapped(data, answer, row);
            } else if (answer->state != ANSWER_CONFIRMED) {
                set_state(answers, answer, ANSWER_CONFIRMED);
                confirmed++;
            }
        }
    }
    return confirmed;
}

size_t answers_give_up(struct answers *answers, uint64_t since_ns)
{
    size_t count = 0;

    for (struct answer *answer = answers->oldest;
         answer != NULL && answer->answered_ns < since_ns; answer = answer->newer) {
        if (answer->state == ANSWER_OPEN) {
            set_state(answers, answer, ANSWER_UNSEEN);
            count++;
        }
    }
    return count;
}

static const struct books_row *row_of(const struct books_page *page, const char *resource,
                                      const char *id)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct books_row *row = &page->rows[i];

        for (size_t j = 0;
             strcmp(row->holding.resource, resource) == 0 && j < row->id_count; j++) {
            if (strcmp(row->ids[j], id) == 0) {
                return row;
            }
        }
    }
    return NULL;
}

enum answers_verdict answers_judge(const struct answers *answers,
                                   const struct books_page *page, const char *resource,
                                   char *const *ids, size_t count,
                                   const struct answer **ret_answer,
                                   const struct books_row **ret_row)
{
    enum answers_verdict verdict = count > 0 ? ANSWERS_CONFIRMED : ANSWERS_UNKNOWN;

    for (size_t i = 0; i < count; i++) {
        const struct answer *answer = answers_find(answers, resource, ids[i]);
        const struct books_row *row = row_of(page, resource, ids[i]);

        if (answer == NULL || row == NULL) {
            verdict = ANSWERS_UNKNOWN;
        } else if (!is_for(answer, row)) {
            *ret_answer = answer;
            *ret_row = row;
            return ANSWERS_SWAPPED;
        }
    }
    return verdict;
}
