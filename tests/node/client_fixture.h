/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of the node side's client share: a world with a handshake, and short
 * forms of its calls that fail the test where they must not fail.
 */
#ifndef TESTS_NODE_CLIENT_FIXTURE_H
#define TESTS_NODE_CLIENT_FIXTURE_H

#include <pthread.h>

#include "node_world.h"

extern struct world world;
extern hami_handshake *handshake;
extern struct hami_error error;
extern const char *const device_ids[4];

void set_up(void);
void set_up_pod(void); /* the same with pod "a", which has the lock */
void tear_down(void);
void tear_down_faults(void); /* the same where faults may be armed */

/* Asks for a container with that many devices. */
int begin(size_t count, hami_handshake_job **ret);
hami_handshake_job *begin_well(size_t count);
void finish_well(hami_handshake_job *job);
struct hami_handshake_stats stats(void);

/* Codes of callbacks, in the order in which they came. */
struct heard {
    int codes[4];   /* mutex */
    unsigned count; /* mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
};
#define HEARD_INIT                                                                       \
    {                                                                                    \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER          \
    }

/* A callback that writes it down. */
void heard_end(void *data, int code, const struct hami_error *ignored);
void heard_wait(struct heard *heard, unsigned count);

/* The same with the job that came with the code; and the callback of a call. */
struct heard_job {
    struct heard heard;
    hami_handshake_job *job;
};
void heard_job_begun(void *data, int code, hami_handshake_job *job,
                     const struct hami_error *reason);

/* Asks for a container of WORLD_GPU with that many devices, with the books of the kubelet
 * that the call's holdings are, and waits for what the callback says. */
int begin_with_books(struct hami_handshake_call *call, size_t count,
                     hami_handshake_job **ret);

#endif
