/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See turns.h. An abandoned entry belongs to the queue and is freed with it. */
#include "turns.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct waiter {
    struct waiter *next;
    pthread_cond_t wake;
    bool has_permit;
    bool is_abandoned;
};

struct queue {
    struct queue *next;
    char *node;
    bool is_taken;
    struct waiter *waiters; /* the oldest first */
};

struct turns {
    pthread_mutex_t mutex;
    bool leaks;
    struct queue *queues;
};

static struct queue *find_queue(struct turns *turns, const char *node)
{
    struct queue *queue = turns->queues;
    while (queue != NULL && strcmp(queue->node, node) != 0) {
        queue = queue->next;
    }
    if (queue == NULL) {
        queue = calloc(1, sizeof(*queue));
        if (queue == NULL || (queue->node = strdup(node)) == NULL) {
            abort();
        }
        queue->next = turns->queues;
        turns->queues = queue;
    }
    return queue;
}

static void append(struct queue *queue, struct waiter *waiter)
{
    struct waiter **end = &queue->waiters;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = waiter;
}

static void remove_waiter(struct queue *queue, struct waiter *waiter)
{
    struct waiter **place = &queue->waiters;
    while (*place != waiter) {
        place = &(*place)->next;
    }
    *place = waiter->next;
}

static struct waiter *new_waiter(void)
{
    struct waiter *waiter = calloc(1, sizeof(*waiter));
    pthread_condattr_t attributes;
    if (waiter == NULL) {
        abort();
    }
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter->wake, &attributes);
    pthread_condattr_destroy(&attributes);
    return waiter;
}

static void free_waiter(struct waiter *waiter)
{
    pthread_cond_destroy(&waiter->wake);
    free(waiter);
}

static struct timespec deadline_in(int64_t wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += wait_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return until;
}

bool turns_take(struct turns *turns, const char *node, int64_t wait_ms)
{
    struct timespec until = deadline_in(wait_ms);
    struct waiter *waiter = new_waiter();
    int code = 0;
    pthread_mutex_lock(&turns->mutex);
    struct queue *queue = find_queue(turns, node);
    if (!queue->is_taken) {
        queue->is_taken = true;
        waiter->has_permit = true;
    } else {
        append(queue, waiter);
    }
    while (!waiter->has_permit && code != ETIMEDOUT) {
        code = pthread_cond_timedwait(&waiter->wake, &turns->mutex, &until);
    }
    bool has_permit = waiter->has_permit;
    if (!has_permit && !turns->leaks) {
        remove_waiter(queue, waiter);
    }
    waiter->is_abandoned = !has_permit;
    pthread_mutex_unlock(&turns->mutex);
    if (has_permit || !turns->leaks) {
        free_waiter(waiter);
    }
    return has_permit;
}

void turns_give(struct turns *turns, const char *node)
{
    pthread_mutex_lock(&turns->mutex);
    struct queue *queue = find_queue(turns, node);
    struct waiter *oldest = queue->waiters;
    if (oldest == NULL) {
        queue->is_taken = false;
    } else {
        queue->waiters = oldest->next;
        oldest->has_permit = true;
        pthread_cond_signal(&oldest->wake);
        if (oldest->is_abandoned) {
            free_waiter(oldest); /* and the permit is lost: that is the fault */
        }
    }
    pthread_mutex_unlock(&turns->mutex);
}

struct turns *turns_new(bool leaks)
{
    struct turns *turns = calloc(1, sizeof(*turns));
    if (turns != NULL) {
        pthread_mutex_init(&turns->mutex, NULL);
        turns->leaks = leaks;
    }
    return turns;
}

void turns_free(struct turns *turns)
{
    while (turns->queues != NULL) {
        struct queue *queue = turns->queues;
        turns->queues = queue->next;
        while (queue->waiters != NULL) {
            struct waiter *waiter = queue->waiters;
            queue->waiters = waiter->next;
            free_waiter(waiter);
        }
        free(queue->node);
        free(queue);
    }
    pthread_mutex_destroy(&turns->mutex);
    free(turns);
}
