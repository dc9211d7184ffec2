/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocking form of a call whose callback comes on the client's thread: it lies on the
 * caller's stack, beside the place for the outcome. The client ends every call by its
 * deadline, so the wait needs none of its own.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_WAIT_H
#define HAMI_INTERNAL_KUBERNETES_WAIT_H

#include <pthread.h>
#include <stdbool.h>

struct hami_internal_wait {
    pthread_mutex_t mutex; /* guards has_ended */
    pthread_cond_t ended;
    bool has_ended;
};

#define HAMI_INTERNAL_WAIT_INIT                                                          \
    {                                                                                    \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false                       \
    }

/* The callback's last step: the outcome is written, and must not be touched afterwards.
 */
void hami_internal_wait_end(struct hami_internal_wait *wait);

/* Waits for that, once. pthread cancellation is off meanwhile: the stack must stay. */
void hami_internal_wait_for(struct hami_internal_wait *wait);

#endif
