/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of allocations, oldest first. Entries are few (a kubelet admits one pod at a
 * time), so that a list will do. Loop's thread; no lock.
 */
#include "allocations.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define OPEN_MAX_ALLOCATIONS (ALLOCATIONS_MAX / 2)

static bool random_hex(char *text, size_t bytes)
{
    unsigned char random[ALLOCATION_ID_LENGTH / 2];

    if (getrandom(random, bytes, 0) != (ssize_t)bytes) {
        return false;
    }
    for (size_t i = 0; i < bytes; i++) {
        (void)snprintf(text + 2 * i, 3, "%02x", random[i]);
    }
    return true;
}

int allocations_init(struct allocations *table, uint64_t lifetime_ns)
{
    memset(table, 0, sizeof(*table));
    table->newest = &table->oldest;
    table->lifetime_ns = lifetime_ns;
    return random_hex(table->prefix, 4) ? 0 : -1;
}

void allocations_drop_answers(struct allocation *entry)
{
    for (size_t i = 0; entry->answers != NULL && i < entry->answer_count; i++) {
        answer_free(entry->answers[i]);
    }
    free(entry->answers);
    entry->answers = NULL;
    entry->answer_count = 0;
}

/* Removes the entry that `link` points to. */
static void remove_entry(struct allocations *table, struct allocation **link)
{
    struct allocation *entry = *link;

    *link = entry->newer;
    if (table->newest == &entry->newer) {
        table->newest = link;
    }
    table->count--;
    if (entry->state == ALLOCATION_OPEN) {
        table->open--;
        hami_handshake_drop(entry->job);
    }
    allocations_drop_answers(entry);
    free(entry);
}

void allocations_done(struct allocations *table)
{
    while (table->oldest != NULL) {
        remove_entry(table, &table->oldest);
    }
}

size_t allocations_expire(struct allocations *table, uint64_t now_ns)
{
    size_t forgotten = 0;
    struct allocation **link = &table->oldest;

    while (*link != NULL) {
        if ((*link)->until_ns > now_ns || (*link)->state == ALLOCATION_ENDING) {
            link = &(*link)->newer;
            continue;
        }
        forgotten += (*link)->state == ALLOCATION_OPEN;
        remove_entry(table, link);
    }
    table->forgotten += forgotten;
    return forgotten;
}

/* Makes room for one more among the ended ones. */
static bool make_room(struct allocations *table)
{
    struct allocation **link = &table->oldest;

    if (table->open >= OPEN_MAX_ALLOCATIONS) {
        return false;
    }
    while (table->count >= ALLOCATIONS_MAX && *link != NULL) {
        if ((*link)->state == ALLOCATION_ENDED) {
            remove_entry(table, link);
        } else {
            link = &(*link)->newer;
        }
    }
    return table->count < ALLOCATIONS_MAX;
}

struct allocation *allocations_add(struct allocations *table, hami_handshake_job *job,
                                   uint64_t now_ns)
{
    struct allocation *entry;

    if (!make_room(table)) {
        return NULL;
    }
    entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return NULL;
    }
    memcpy(entry->id, table->prefix, 8);
    if (!random_hex(entry->id + 8, ALLOCATION_ID_LENGTH / 2 - 4)) {
        free(entry);
        return NULL;
    }
    entry->job = job;
    entry->until_ns = now_ns + table->lifetime_ns;
    *table->newest = entry;
    table->newest = &entry->newer;
    table->count++;
    table->open++;
    return entry;
}

/* Compares all of an id whatever it is, so that time tells nothing about the ids that
 * there are. */
static bool is_same_id(const char *one, const char *other)
{
    unsigned char difference = 0;

    for (size_t i = 0; i < ALLOCATION_ID_LENGTH; i++) {
        difference |= (unsigned char)(one[i] ^ other[i]);
    }
    return difference == 0;
}

/* The last one that came; NULL in an empty table. */
static struct allocation *newest_of(const struct allocations *table)
{
    if (table->oldest == NULL) {
        return NULL;
    }
    return (struct allocation *)((char *)table->newest -
                                 offsetof(struct allocation, newer));
}

/* A plugin asks about its last Allocate as a rule: a thousand others may be kept. */
struct allocation *allocations_find(struct allocations *table, const char *id)
{
    struct allocation *newest = newest_of(table);

    if (!allocations_is_id(id)) {
        return NULL;
    }
    if (newest != NULL && is_same_id(newest->id, id)) {
        return newest;
    }
    for (struct allocation *entry = table->oldest; entry != NULL; entry = entry->newer) {
        if (is_same_id(entry->id, id)) {
            return entry;
        }
    }
    return NULL;
}

hami_handshake_job *allocations_take(struct allocations *table, struct allocation *entry,
                                     bool is_failure)
{
    hami_handshake_job *job = entry->job;

    entry->job = NULL;
    entry->state = ALLOCATION_ENDING;
    entry->is_failure = is_failure;
    table->open--;
    return job;
}

bool allocations_is_id(const char *text)
{
    return strlen(text) == ALLOCATION_ID_LENGTH &&
           strspn(text, "0123456789abcdef") == ALLOCATION_ID_LENGTH;
}

bool allocations_is_own(const struct allocations *table, const char *id)
{
    return strncmp(table->prefix, id, 8) == 0;
}
