/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the node side's client share: the handshake object and a job's life.
 *
 * Everything that decides runs on the client's thread. Only `mutex` is taken elsewhere:
 * it guards `stats`, `closed` and `behind_count`, and nothing is called while it is held.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HANDSHAKE_CLIENT_H
#define HAMI_INTERNAL_KUBERNETES_HANDSHAKE_CLIENT_H

#include <pthread.h>

#include "handshake_lock.h"
#include "handshake_pod.h"
#include "http.h"

struct hami_handshake {
    hami_kubernetes *client;
    uint32_t flags;
    char *node;
    struct hami_internal_handshake_names
        names[HAMI_INTERNAL_HANDSHAKE_LOCKS]; /* of the lock key and its permits */
    struct hami_handshake_vendor *vendors;    /* own texts */
    size_t vendor_count;
    pthread_mutex_t mutex;
    pthread_cond_t changed;            /* mutex: closed or behind_count */
    struct hami_handshake_stats stats; /* mutex */
    size_t behind_count;               /* mutex */
    bool closed;                       /* mutex */
    bool closing;                      /* client's thread */
    struct hami_handshake_job
        *behind; /* client's thread: jobs whose caller was told already */
    uint64_t
        refusals; /* client's thread: jobs that ended with phase failed, or gave up */
    struct hami_handshake_job
        *left[HAMI_INTERNAL_HANDSHAKE_LOCKS]; /* client's thread: of these, by lock, the
                                                 one whose lock was left to the scheduler
                                                 side last */
};

enum hami_internal_handshake_stage {
    HAMI_INTERNAL_HANDSHAKE_POD_WRITE = 0, /* devices erased, success or failed written */
    HAMI_INTERNAL_HANDSHAKE_POD_READ,      /* what became of it? */
    HAMI_INTERNAL_HANDSHAKE_LOCK_WRITE,    /* the lock removed */
    HAMI_INTERNAL_HANDSHAKE_NODE_READ,     /* what became of it? */
    HAMI_INTERNAL_HANDSHAKE_OWNER_READ,  /* is a lock without a lease really our pod's? */
    HAMI_INTERNAL_HANDSHAKE_LOCK_LOOK,   /* does it stand, with containers to come? */
    HAMI_INTERNAL_HANDSHAKE_LOCK_RESTORE /* put back */
};

struct hami_handshake_job {
    hami_handshake *handshake;
    size_t vendor;
    struct hami_internal_handshake_share share;
    struct hami_owner owner; /* texts borrowed from share.pod */
    uint64_t fence; /* of the lock as read at first; 0 = it had none of its own */
    struct hami_internal_handshake_lock lock; /* as read last */
    struct hami_internal_handshake_pair now;  /* LOCK_RESTORE: what stands instead */

    /* The end of the job; client's thread. */
    enum hami_internal_handshake_stage stage;
    bool failing;       /* phase failed is to be written, not success */
    bool in_doubt;      /* a write of the pod had no clear answer */
    bool is_told;       /* the caller knows; the rest goes on behind */
    bool is_refused;    /* the server has just not let us: asked again, it may */
    bool is_left;       /* its lock was left to the scheduler side */
    bool is_superseded; /* left, and another pod was served since */
    bool was_erased; /* somebody else had erased our share: the plugin does so as well */
    unsigned tries;  /* since the last progress */
    int result;      /* what the caller will be told */
    char text[256];  /* why, if not 0 */
    char *reason;    /* of a failure, for the log */
    hami_done_fn callback;
    void *data;
    uint64_t deadline_ns; /* the caller's; once it is told, until when to try */
    struct hami_internal_handshake_step step;
    char *phase; /* of the pod as read last, which each of its patches tests; or NULL */
    struct hami_internal_http_request *request; /* in flight */
    struct hami_internal_http_timer *timer;     /* running */
    struct hami_handshake_job *next, **link;    /* within handshake->behind */
};

/* Frees a job whose callback has come. */
void hami_internal_handshake_job_free(struct hami_handshake_job *job);

/* What the pure part asks for. `counts` may be NULL where only the next step is worked
 * out. */
struct hami_internal_handshake_ask
hami_internal_handshake_ask(const hami_handshake *handshake, size_t vendor,
                            const size_t *counts, size_t count);

/* Adds one to a counter of handshake->stats. */
void hami_internal_handshake_count(hami_handshake *handshake, uint64_t *counter);

/* Ends every job that goes on behind. Client's thread. */
void hami_internal_handshake_close_behind(hami_handshake *handshake);

#endif
