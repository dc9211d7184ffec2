/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread with an event loop, on which tests play kubelets and vendors' plugins. The
 * test's thread has things done there and waits; what is played there is guarded by the
 * mutex.
 */
#ifndef TESTS_GATEWAY_STAGE_H
#define TESTS_GATEWAY_STAGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define STAGE_WAIT_MS 30000

struct stage {
    struct event_base *base;
    struct hamid_mailbox *mailbox;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* of anything that is guarded */
};

void stage_start(struct stage *stage);
void stage_stop(struct stage *stage);

/* Calls a function on the loop's thread, and waits for its return. */
void stage_do(struct stage *stage, void (*act)(void *data), void *data);

/* Waits, at most STAGE_WAIT_MS, until a condition holds; it is asked with the mutex held.
 * Whether it came to hold. */
bool stage_wait(struct stage *stage, bool (*holds)(const void *data), const void *data);

/* Around a change on the loop's thread. */
void stage_change(struct stage *stage);
void stage_changed(struct stage *stage);

#endif
