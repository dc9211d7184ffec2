/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See writes.h: the least that a lock costs whose state is in a store. A hash table of
 * nodes, lock and lease as texts, one mutex; a take makes the two texts, compares what
 * stands there with what is expected, and puts them in its place; a give does the same with
 * what is left behind. No queue, no deadline, no protocol: only what a lock by that record
 * can't do without.
 */
#include "writes.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#define BUCKETS 1024
#define DATE "2026-01-02T03:04:05Z"

/* A value that is absent is "". */
struct value {
    const char *key;
    char text[512];
};

struct node {
    struct node *next;
    const char *name;
    struct value values[2];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct node the_node = {
    .name = "node-1",
    .values = {{.key = "hami.io/mutex.lock"}, {.key = "hami.io/mutex.lease"}}};
static struct node *buckets[BUCKETS];

/* What the holder knows of the record: what it wrote, or what it left behind. */
static char known[2][512];
static uint64_t fence = 1700000000000000, attempt;

static size_t bucket_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    }
    return (hash ^ (hash >> 32)) % BUCKETS;
}

static char *put(char *at, const char *text)
{
    size_t length = strlen(text);

    memcpy(at, text, length + 1);
    return at + length;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[21];
    size_t first = sizeof(digits) - 1;

    digits[first] = '\0';
    do {
        digits[--first] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(at, digits + first);
}

/* Both values are as expected, and are replaced; or neither. */
static bool compare_and_set(char values[2][512])
{
    static const char *const keys[] = {"hami.io/mutex.lock", "hami.io/mutex.lease"};
    struct value *found[2] = {NULL, NULL};
    bool expected = true;

    (void)pthread_mutex_lock(&mutex);
    struct node *node = buckets[bucket_of("node-1")];
    while (node && strcmp(node->name, "node-1") != 0) {
        node = node->next;
    }
    for (size_t i = 0; i < 2 && node; i++) {
        for (size_t j = 0; j < 2; j++) {
            if (strcmp(node->values[j].key, keys[i]) == 0) {
                found[i] = &node->values[j];
            }
        }
        expected = expected && found[i] && strcmp(found[i]->text, known[i]) == 0;
    }
    for (size_t i = 0; i < 2 && expected && node; i++) {
        (void)put(found[i]->text, values[i]);
    }
    (void)pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < 2 && expected; i++) {
        (void)put(known[i], values[i]);
    }
    return expected && node;
}

int writes_take(unsigned me)
{
    char values[2][512], *at;

    (void)me;
    at = put(values[0], DATE ",default,");
    (void)put(at, "pod-0");
    at = put(values[1], "{\"version\":1,\"lock\":\"");
    at = put(at, values[0]);
    at = put(at, "\",\"uid\":\"pod-0\",\"fence\":\"");
    at = put_number(at, ++fence);
    at =
        put(at, "\",\"holder\":\"host_0123456789abcdef0123456789abcdef\",\"attempt\":\"");
    at = put_number(at, ++attempt);
    (void)put(at, "\",\"hold_ms\":15000,\"free\":\"node\"}");
    return compare_and_set(values) ? 0 : -1;
}

int writes_give(unsigned me)
{
    char values[2][512] = {"", ""}, *at;

    (void)me;
    at = put(values[1], "{\"version\":1,\"fence\":\"");
    at = put_number(at, fence);
    (void)put(at, "\"}");
    return compare_and_set(values) ? 0 : -1;
}

void writes_set_up(void)
{
    buckets[bucket_of(the_node.name)] = &the_node;
}
