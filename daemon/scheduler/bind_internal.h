/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of a bind share: bind.c (requests), bind_check.c, bind_way.c and
 * bind_end.c (its life), bind_table.c (who is in flight, and who was bound a moment ago),
 * bind_text.c (what callers are told).
 */
#ifndef HAMID_SCHEDULER_BIND_INTERNAL_H
#define HAMID_SCHEDULER_BIND_INTERNAL_H

#include "bind.h"
#include "mailbox.h"
#include "trace.h"

#include <sys/queue.h>

#define BIND_BUCKETS 4096
#define BIND_RECENT_MAX 16384
#define BIND_RECENT_NS (60ull * 1000000000)

enum bind_state {
    BIND_STATE_NEW = 0, /* not started: it stands behind another one of the same pod */
    BIND_STATE_CHECKING,
    BIND_STATE_QUEUED,
    BIND_STATE_BINDING,
    BIND_STATE_CONFIRMING
};

struct bind_caller {
    LIST_ENTRY(bind_caller) siblings;
    struct bind *bind;
    bind_answer_fn answer;
    void *data;
    uint64_t arrival_ns;
    bool *ret_answered; /* while binder_ask() runs */
};

LIST_HEAD(bind_callers, bind_caller);

/* What a read of the pod told, copied on the client's thread. */
struct bind_pod {
    int code;
    bool exists;
    bool is_ours;            /* has the uid that was asked for */
    bool is_read;            /* from the store, not from a watch */
    bool is_served;          /* of a listed scheduler, and asks for a managed resource */
    struct lock_needs needs; /* by the bind's lock table */
    int32_t priority;
    char group[HAMI_NODELOCK_GROUP_MAX + 1]; /* "" = none */
    char calls[HAMI_NODELOCK_CALLS_MAX + 1]; /* "" = it must be alone */
    char node[HAMI_NODELOCK_NODE_MAX + 1];
    char text[256];
};

/* Written on the client's thread before a letter is posted. Large, and of no use to a bind
 * that waits for the lock, of which there are thousands. */
struct bind_told {
    struct bind_pod pod;
    char text
        [BIND_ERROR_MAX]; /* the Binding's, and the reason that a confirmation is for */
};

struct bind {
    LIST_ENTRY(bind) siblings; /* bucket of the uid */
    TAILQ_ENTRY(bind) gate;    /* CHECKING: arrivals in order, bucket of the node */
    struct binder *binder;
    struct bind_request request;
    enum bind_state state;
    bool checked;   /* CHECKING: the read has come and allows it */
    bool abandoned; /* nobody waits for it, or another one took its place */
    struct bind_callers callers;
    struct bind *successor;   /* the same uid asked again; starts when this one is over */
    hami_wait *wait;          /* QUEUED */
    hami_lease *lease;        /* BINDING */
    struct lock_table *locks; /* it is judged by this one, whatever a reload brings */
    uint64_t patience_ms;     /* likewise */
    char trace[HAMID_TRACE_BYTES]; /* in each log line about it */
    uint64_t arrival_ns;
    uint64_t queued_ns;
    uint64_t read_ns;           /* when its last read of the pod began */
    int confirming_code;        /* CONFIRMING: what made it so */
    struct hamid_letter letter; /* at most one answer is under way to the loop */
    int code;                   /* of the Binding; written like what is told */
    struct bind_told *told;     /* NULL while QUEUED */
};

LIST_HEAD(bind_bucket, bind);
TAILQ_HEAD(bind_gate, bind);

/* A pod that was bound a moment ago. */
struct bind_recent {
    LIST_ENTRY(bind_recent) siblings;
    TAILQ_ENTRY(bind_recent) order;
    uint64_t finished_ns;
    char uid[HAMI_NODELOCK_UID_MAX + 1];
};

LIST_HEAD(bind_recent_bucket, bind_recent);

struct bind_table {
    struct bind_bucket buckets[BIND_BUCKETS];
    struct bind_recent_bucket recent_buckets[BIND_BUCKETS];
    TAILQ_HEAD(, bind_recent) recent; /* oldest first */
    size_t recent_count;
    size_t count;
};

struct binder {
    struct binder_config config;
    struct bind_table table;
    struct bind_gate gates[BIND_BUCKETS];
    bool draining;
    char holder_node[HAMI_NODELOCK_NODE_MAX + 1]; /* whom bind_text.c asked about last */
    char holder_text[512];
    uint64_t holder_ns;
};

/* bind_end.c. Frees what it holds, and itself. */
void bind_free(struct bind *bind);
void bind_count(struct binder *binder, enum bind_outcome outcome);
/* A line about one step of its way, for those who look closely. */
void bind_log_step(const struct bind *bind, const char *message);
void bind_answer_all(struct bind *bind, enum bind_outcome outcome, const char *error);
/* Answers and frees one that never started. */
void bind_drop(struct bind *bind, enum bind_outcome outcome, const char *error);
/* Takes it out of the table, answers, frees it, and lets its successor go on. */
void bind_finish(struct bind *bind, enum bind_outcome outcome, const char *error);

/* bind_check.c */
struct bind *bind_of_letter(struct hamid_letter *letter);
/* `open` is called with bind->pod filled, unless the answer is not 0. */
int bind_read_pod(struct bind *bind, uint64_t milliseconds,
                  void (*open)(struct hamid_letter *letter));
/* One that is in the table sets out. */
void bind_start(struct bind *bind);

/* bind_way.c */
void bind_queue(struct bind *bind);
enum bind_outcome bind_outcome_of(int code);
/* When its caller has to have its answer; half of the margin is kept with @share 2. */
uint64_t bind_answer_deadline(const struct bind *bind, unsigned share_of_margin);
/* One read of the pod decides; bind->text says what to tell unless it is bound here. */
void bind_confirm(struct bind *bind, int code);

/* bind_exempt.c. The pod needs no lock. */
void bind_without_lock(struct bind *bind);

/* bind_table.c */
uint32_t bind_table_hash(const char *text);
void bind_table_init(struct bind_table *table);
void bind_table_done(struct bind_table *table);
struct bind *bind_table_find(struct bind_table *table, const char *uid);
void bind_table_add(struct bind_table *table, struct bind *bind);
void bind_table_remove(struct bind_table *table, struct bind *bind);
void bind_table_remember(struct bind_table *table, const char *uid, uint64_t now_ns);
bool bind_table_is_recent(struct bind_table *table, const char *uid, uint64_t now_ns);

/* bind_text.c. What a caller is told when the lock could not be had. @text of the
 * library, may be ""
 */
void bind_text_acquire(struct binder *binder, const struct bind_request *request,
                       int code, const char *text, char *buffer, size_t size);

/* What a caller is told when the Binding did not come about. */
void bind_text_binding(const struct bind_request *request, int code, const char *text,
                       char *buffer, size_t size);

#endif
