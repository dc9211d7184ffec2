/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock manager: one owner a node between "bind" and the device plugin's Allocate.
 *
 * Life-cycle rules, numbered once:
 *  L1  The transport outlives the manager: free the manager first.
 *  L2  A lease keeps the manager's memory alive. hami_nodelock_free() with leases outstanding ends
 *      the service; each of them counts as handed off and its functions answer HAMI_E_CLOSED.
 *  L3  A lease is consumed exactly once, by _release, _release_start or _handoff. _check does not
 *      consume it.
 *  L4  A hami_wait lives until its callback has returned; its callback comes exactly once.
 *  L5  Texts given to a function are copied, unless its comment says "borrowed".
 *  L6  In a forked child every function answers HAMI_E_FORKED and touches nothing in the store;
 *      _free functions give back memory only.
 *
 * Rules for all functions, not repeated below:
 *  - Deadlines are absolute nanoseconds of the manager's monotonic clock (CLOCK_MONOTONIC by
 *    default): hami_nodelock_in_ms() makes one, HAMI_DEADLINE_NEVER never passes. Zero is a moment
 *    long past, not "for ever".
 *  - Functions return 0 or one negative HAMI_E_ code. Outputs are written on success only.
 *  - `reterr` may be NULL; where given, it is filled on failure and untouched on success.
 *  - None is async-signal-safe unless it says so. pthread cancellation is off inside blocking calls.
 *  - Several things true at once: at entry INVAL, ABI, FORKED, CLOSED, in this order; at the end of a
 *    wait a confirmed grant, then CLOSED, CANCELED, TIMEDOUT, the rest.
 */
#ifndef HAMI_NODELOCK_H
#define HAMI_NODELOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hami/version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors --------------------------------------------------------------------------------- */

/* Every code there is: name, number, meaning. Numbers never change. */
#define HAMI_ERRORS(X)                                                                       \
    X(INVAL, 1, "invalid argument")                                                          \
    X(NOMEM, 2, "out of memory")                                                             \
    X(TIMEDOUT, 3, "deadline passed")                                                        \
    X(CANCELED, 4, "cancelled")                                                              \
    X(BUSY, 5, "no slot is free, or others wait")                                            \
    X(HELD, 6, "the store names another owner")                                              \
    X(LOST, 7, "the lock is not, or no longer, the owner's")                                 \
    X(NODE, 8, "there is no such node")                                                      \
    X(ACCESS, 9, "the store refused access")                                                 \
    X(IN_DOUBT, 10, "the outcome is not known yet")                                          \
    X(TRANSPORT, 11, "the store could not be reached")                                       \
    X(PROTO, 12, "the store answered something that makes no sense")                         \
    X(LIMIT, 13, "a limit is reached")                                                       \
    X(CLOSED, 14, "the manager is shutting down")                                            \
    X(FORKED, 15, "called in a forked child")                                                \
    X(NOTSUP, 16, "not supported by this transport")                                         \
    X(ABI, 17, "a struct from a newer header has fields that this library does not know")

enum hami_code {
    HAMI_OK = 0,
#define HAMI_ERROR_CODE(name, number, text) HAMI_E_##name = -(number),
    HAMI_ERRORS(HAMI_ERROR_CODE)
#undef HAMI_ERROR_CODE
};

/* Detail of one failure; owned by the caller, no allocation inside. */
struct hami_error {
    size_t size;    /* sizeof(struct hami_error) */
    int code;       /* the code returned, or 0 */
    int status;     /* HTTP status where there was one, else 0 */
    int system;     /* errno where there was one, else 0 */
    char text[512]; /* one line for people, always ended with NUL */
    /* Of an acquire that ended with LIMIT or TIMEDOUT; else 0. */
    uint32_t position;    /* waiters that stood before it for one of its keys */
    uint32_t waiting;     /* waiters of the node, itself included if it had queued */
    uint64_t expected_ns; /* from then on until its turn, by the node's pace; 0 = not measured */
};
#define HAMI_ERROR_INIT HAMI_SIZED(struct hami_error)

/*
 * Gives the meaning of a code in English, without detail.
 * @code     0 or a HAMI_E_ code; any other number gives "unknown code"
 * Returns   a constant text; never NULL
 * Blocks    never
 * Threads   MT-Safe
 * Signals   AS-Safe. Fork: usable in the child
 * Callback  yes
 * Life      borrowed for the life of the process
 * Since     0.1
 */
HAMI_PUBLIC const char *hami_strerror(int code);

/*
 * Gives the name of a code without its prefix, such as "TIMEDOUT"; "OK" for 0, "?" if unknown.
 * Otherwise as hami_strerror().
 * Since     0.1
 */
HAMI_PUBLIC const char *hami_errname(int code);

/* ---- keys, limits, plain structs ------------------------------------------------------------- */

/* HAMi's lock key (v2.4 to v2.10), its lease beside it, and Cambricon's own key. */
#define HAMI_NODELOCK_KEY "hami.io/mutex.lock"
#define HAMI_NODELOCK_LEASE_KEY "hami.io/mutex.lease"
#define HAMI_NODELOCK_CAMBRICON_KEY "cambricon.com/dsmlu.lock"

#define HAMI_NODELOCK_NODE_MAX 253   /* characters of a node name (RFC 1123 subdomain) */
#define HAMI_NODELOCK_UID_MAX 128    /* characters of an owner's uid */
#define HAMI_NODELOCK_KEY_MAX 317    /* characters of a key: DNS prefix, '/', name */
#define HAMI_NODELOCK_KEYS_MAX 8     /* keys of one request */
#define HAMI_NODELOCK_PERMITS_MAX 64 /* permits a node */
#define HAMI_NODELOCK_GROUP_MAX 317  /* characters of a group's name */
#define HAMI_NODELOCK_OVERTAKEN 4    /* times that one waiter is overtaken, where config says 0 */
#define HAMI_NODELOCK_SIDE_BY_SIDE_MAX 8 /* pods beside each other on a node */
#define HAMI_NODELOCK_CALLS_MAX 512      /* characters of a request's calls */
#define HAMI_NODELOCK_CALL_COUNT_MAX 16  /* calls of one request */

#define HAMI_DEADLINE_NEVER UINT64_MAX

typedef struct hami_nodelock hami_nodelock;
typedef struct hami_lease hami_lease;
typedef struct hami_wait hami_wait;
typedef struct hami_cancel hami_cancel;
struct hami_transport; /* hami/transport.h */

/* Who a lock is for: a pod. Without Kubernetes any unique text will do for uid. */
struct hami_owner {
    const char *namespace_name; /* RFC 1123 label, up to 63 characters */
    const char *name;           /* RFC 1123 subdomain, up to 253 characters */
    const char *uid;            /* 1 to HAMI_NODELOCK_UID_MAX of [A-Za-z0-9._:-] */
};

/* What is asked. Start with HAMI_NODELOCK_REQUEST_INIT, or zero it and set size. */
struct hami_nodelock_request {
    size_t size;               /* sizeof(struct hami_nodelock_request) */
    const char *node;          /* RFC 1123 subdomain, up to 253 characters */
    struct hami_owner owner;
    uint64_t deadline_ns;      /* absolute; when the caller is told, at the latest */
    const char *const *keys;   /* annotation keys; NULL = the manager's key. All keys of one request
                                  are one grant and one write */
    size_t key_count;          /* 0 with keys NULL, else 1 to HAMI_NODELOCK_KEYS_MAX, no key twice */
    hami_cancel *cancel;       /* NULL, or ends the wait early; referenced until the wait has ended */
    int32_t priority;          /* its lane: higher goes first, but a waiter is overtaken at most
                                  config.overtaken_max times; 0 */
    const char *group;         /* NULL = none, or 1 to HAMI_NODELOCK_GROUP_MAX of [A-Za-z0-9._:/-]: the
                                  members of one group, of one namespace and priority, are served one
                                  after the other, within the same bound */
    struct hami_error *reterr; /* NULL, or filled where a function refuses at once that has no reterr of
                                  its own, or whose own is NULL; borrowed for the call */
    const char *calls;         /* NULL = exclusive: nobody is beside it; or what its pod asks of device
                                  plugins, as "RESOURCE=COUNT,RESOURCE=COUNT", see
                                  config.side_by_side. 1 to HAMI_NODELOCK_CALL_COUNT_MAX calls and up to
                                  HAMI_NODELOCK_CALLS_MAX characters, in the order of their bytes, each
                                  once; RESOURCE is named as an annotation key is, COUNT a decimal from 1
                                  to INT64_MAX. Any other text is INVAL: whoever can't name all calls of
                                  a pod asks without. Since 0.1 */
};
#define HAMI_NODELOCK_REQUEST_INIT HAMI_SIZED(struct hami_nodelock_request)

/* What Kubernetes (or another store) knows about an owner. Texts are borrowed for the call. */
enum hami_bind_phase {
    HAMI_BIND_PHASE_NONE = 0,
    HAMI_BIND_PHASE_ALLOCATING,
    HAMI_BIND_PHASE_SUCCESS,
    HAMI_BIND_PHASE_FAILED
};
enum hami_facts_source {
    HAMI_FACTS_WATCH = 0, /* from a watch or a cache: may be old; only final facts count */
    HAMI_FACTS_READ       /* from a consistent read begun after the question was asked */
};
struct hami_owner_facts {
    size_t size;                   /* sizeof(struct hami_owner_facts) */
    enum hami_facts_source source;
    bool known;                    /* false: nothing could be learned, the rest means nothing */
    bool exists;                   /* a pod of that namespace and name exists */
    bool deleting;                 /* it has a deletion timestamp */
    bool finished;                 /* phase Succeeded or Failed */
    bool started;                  /* phase Running: all its Allocates are over */
    bool devices_left;             /* devices-to-allocate annotations still hold a device */
    enum hami_bind_phase bind_phase;
    const char *uid;               /* of the pod that has the name now; NULL or "" if none */
    const char *node;              /* spec.nodeName; NULL or "" = not bound */
    const char *assigned_node;     /* hami.io/vgpu-node; NULL = says nothing */
    const char *version;           /* resourceVersion; NULL = unknown */
    const char *revoked;           /* hami.io/mutex.revoked; NULL = none */
    uint64_t fence;                /* hami.io/mutex.fence; 0 = none */
    uint64_t done;                 /* hami.io/mutex.done; 0 = none */
};
#define HAMI_OWNER_FACTS_INIT HAMI_SIZED(struct hami_owner_facts)

/* One annotation of a node. A value of NULL means absent. */
struct hami_annotation {
    const char *key;
    const char *value;
};

/* A node as a watch saw it: all its annotations (others than lock and lease keys are ignored). */
struct hami_node_record {
    size_t size;                                /* sizeof(struct hami_node_record) */
    const char *version;                        /* of the node object; opaque text; NULL = unknown */
    const struct hami_annotation *annotations;
    size_t annotation_count;
};
#define HAMI_NODE_RECORD_INIT HAMI_SIZED(struct hami_node_record)

/* ---- configuration --------------------------------------------------------------------------- */

/* Memory of a manager. All three or none; `data` is handed to each. MT-Safe. */
struct hami_allocator {
    void *(*allocate)(size_t bytes, void *data);               /* NULL = out of memory */
    void *(*reallocate)(void *memory, size_t bytes, void *data);
    void (*release)(void *memory, void *data);                 /* takes NULL */
    void *data;
};

/* Clocks of a manager. `monotonic_ns` never goes back; `realtime_s` is shown in the lock's value. */
struct hami_clock {
    uint64_t (*monotonic_ns)(void *data);
    int64_t (*realtime_s)(void *data);
    void *data;
};

enum hami_log_level { HAMI_LOG_ERROR = 0, HAMI_LOG_WARNING, HAMI_LOG_INFO, HAMI_LOG_DEBUG };

/* Takes over by age a lock whose owner is bound here and still waits for Allocate. This is how two
 * pods got each other's devices in the field; without it such an owner raises an alarm. */
#define HAMI_NODELOCK_EXPIRE_BOUND_OWNERS 0x1u
/* Refuses an acquire at once, with LIMIT, whose turn can't come before its deadline by the measured
 * pace of its node: the error has position and expected time, and its place is kept for its next try
 * (30 s). Nothing is refused so before a pace is measured. */
#define HAMI_NODELOCK_REFUSE_EARLY 0x2u
/* Frees the locks of nodes whose hami.io/mutex.agent says free=scheduler, as hami_nodelock_observe()
 * told it: the node side's last write is then the pod's success, and this manager passes the lock on when
 * hami_nodelock_observe_owner() tells of that, or removes it where nobody waits. Only for a transport that
 * tells of owners that are bound: else such a lock stands until its node side removes it 2 s later. */
#define HAMI_NODELOCK_FREE_BY_SCHEDULER 0x4u

struct hami_lock_change;

struct hami_nodelock_config {
    size_t size;                      /* sizeof(struct hami_nodelock_config) */
    struct hami_transport *transport; /* required; borrowed, see L1 */
    const char *key;                  /* NULL = HAMI_NODELOCK_KEY */
    const char *holder;               /* prefix of the holder id, RFC 1123 subdomain; NULL = host name.
                                         The id is `<holder>_<random>`, new for each manager */
    uint32_t permits;                 /* owners a node at a time: 1 to HAMI_NODELOCK_PERMITS_MAX;
                                         0 = 1 */
    uint32_t flags;                   /* HAMI_NODELOCK_EXPIRE_BOUND_OWNERS, _REFUSE_EARLY,
                                         _FREE_BY_SCHEDULER */
    uint64_t hold_limit_ms;           /* how long an owner may stay unbound: 1 to 600000; 0 = 15000 */
    uint64_t expire_ms;               /* age that decides about owners that can't be judged otherwise;
                                         0 = 300000 */
    uint64_t call_timeout_ms;         /* of one transport call: 1 to 600000; 0 = 5000 */
    uint64_t stall_limit_ms;          /* waiters behind a holder that stands this long without
                                         progress, and twice as long as holds last there by the
                                         measured pace, get HAMI_E_LIMIT; 0 = they wait on */
    uint32_t waiters_per_node_max;    /* 0 = 100000; one more gets HAMI_E_LIMIT */
    uint32_t nodes_max;               /* nodes known at a time; 0 = 65536 */
    void (*wakeup)(void *data);       /* NULL: the manager runs a thread of its own. Else it runs none
                                         and calls this, from any thread and with no lock held, when
                                         hami_nodelock_dispatch() should be called soon; it must not
                                         call it itself */
    void *wakeup_data;
    void (*owner_lost)(void *data, hami_lease *lease, const struct hami_error *error);
                                      /* NULL, or: a held lease is no longer in the store. From
                                         dispatch; the lease is still the holder's to consume, and
                                         borrowed for the call */
    void *owner_lost_data;
    void (*log)(void *data, enum hami_log_level level, const char *line);
                                      /* NULL = silent. One line, no newline; from any thread, no lock
                                         held */
    void *log_data;
    struct hami_clock clock;          /* all NULL = the system's; else wakeup is required */
    struct hami_allocator allocator;  /* all NULL = malloc's */
    uint64_t random_seed;             /* 0 = from the system; else holder id and jitter repeat */
    uint32_t waiters_per_namespace_max; /* of one namespace on one node; one more gets HAMI_E_LIMIT,
                                         also where the node has room; 0 = no bound of its own */
    uint32_t overtaken_max;           /* how often one waiter may be overtaken, by waiters that came
                                         later with a higher priority or to join their group; 1 to
                                         1000000; 0 = HAMI_NODELOCK_OVERTAKEN */
    void (*changed)(void *data, const struct hami_lock_change *change);
                                      /* NULL, or: a node's lock changed hands, or is free now. Of
                                         nodes that are known; borrowed for the call. From any
                                         thread, no lock held; two changes of one node that follow
                                         closely may come from two threads in either order. Since
                                         0.1 */
    void *changed_data;
    uint32_t side_by_side;            /* 0 = one owner a node, as ever; or how many owners, 1 to
                                         HAMI_NODELOCK_SIDE_BY_SIDE_MAX, may hold a node at a time whose
                                         requests have `calls`, no two of them one in common, and one
                                         key. Only where the node's hami.io/mutex.agent, as
                                         hami_nodelock_observe() told it, says
                                         "1,free=scheduler,side-by-side"; all others, and all elsewhere,
                                         are exclusive. Their records are the key's permits 1 to
                                         HAMI_NODELOCK_SIDE_BY_SIDE_MAX; the key itself, permit 0, has a
                                         copy of one of them (docs/protocol.md, section 11). Needs
                                         HAMI_NODELOCK_FREE_BY_SCHEDULER, and permits 0 or 1. All
                                         managers of a store have to know it before the first node says
                                         so. Since 0.1 */
};
#define HAMI_NODELOCK_CONFIG_INIT HAMI_SIZED(struct hami_nodelock_config)

/* ---- manager --------------------------------------------------------------------------------- */

/*
 * Makes a manager. Starts one thread (all signals blocked) unless config.wakeup is set, and the
 * transport's watch if it has one; reads and writes nothing by itself.
 * @config   borrowed for the call; config.transport until hami_nodelock_free() has returned
 * @ret      new manager; free with hami_nodelock_free()
 * Returns   0, or:
 *           INVAL - a field is out of range, side_by_side stands with permits above 1 or without
 *           HAMI_NODELOCK_FREE_BY_SCHEDULER, or the transport lacks a required function
 *           ABI - config has unknown fields that are set
 *           NOTSUP - permits above 1, and the transport's other readers know one only
 *           NOMEM - out of memory, or no thread could be made
 *           TRANSPORT - the transport's watch could not be started
 *           In each case nothing is left behind.
 * Blocks    never
 * Threads   MT-Safe
 * Callback  no
 * Life      L1
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_new(const struct hami_nodelock_config *config, hami_nodelock **ret,
                                  struct hami_error *reterr);

/*
 * Ends the service in order: new requests and queued waits get CLOSED at once, a take in flight is
 * resolved and undone, releases in progress are finished. Held leases stay with their holders.
 * @deadline_ns  how long to wait for what is in flight
 * Returns   0 - nothing is in flight any more; or:
 *           INVAL - lock is NULL, or called from one of this manager's callbacks
 *           FORKED
 *           TIMEDOUT - something is still in doubt at the deadline; another manager will take it over
 *           by the rules (hold limit, then revocation)
 * Blocks    until deadline_ns
 * Threads   MT-Safe; a second call waits as the first
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_shutdown(hami_nodelock *lock, uint64_t deadline_ns);

/*
 * Frees a manager. Waits, releases and checks not ended yet get CLOSED: their callbacks run inside
 * this call. Nothing is
 * written to the store; call hami_nodelock_shutdown() first to undo what is in flight.
 * @lock     consumed; NULL is fine
 * Returns   NULL
 * Blocks    until the manager's thread has ended and calls that the transport holds are aborted; a
 *           transport keeps this short (see its `abort`)
 * Threads   no other call on this manager or its waits may run, or come later; leases may (L2)
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC hami_nodelock *hami_nodelock_free(hami_nodelock *lock);

/*
 * Reads the manager's monotonic clock.
 * Returns   nanoseconds; 0 if lock is NULL
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC uint64_t hami_nodelock_now(const hami_nodelock *lock);

/*
 * Makes a deadline: now plus ms milliseconds, HAMI_DEADLINE_NEVER where that overflows.
 * Otherwise as hami_nodelock_now().
 * Since     0.1
 */
HAMI_PUBLIC uint64_t hami_nodelock_in_ms(const hami_nodelock *lock, uint64_t ms);

/*
 * Tells the holder id that this manager writes into its leases.
 * Returns   a text borrowed for the manager's life; NULL if lock is NULL
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC const char *hami_nodelock_holder(const hami_nodelock *lock);

/*
 * Does what is due: runs timers, and calls the callbacks of ended waits. With config.wakeup set this
 * is the only place where callbacks run; else the manager's thread calls it.
 * Returns   0, or INVAL (lock is NULL, or called from a callback), FORKED
 * Blocks    never by itself; callbacks are the caller's. A second thread returns at once
 * Threads   MT-Safe
 * Callback  no
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_dispatch(hami_nodelock *lock);

/*
 * Tells when dispatch has to be called next, if no wakeup comes before.
 * Returns   an absolute deadline, possibly past; HAMI_DEADLINE_NEVER if none (or lock is NULL)
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC uint64_t hami_nodelock_next_deadline(hami_nodelock *lock);

/* ---- acquire --------------------------------------------------------------------------------- */

/*
 * Takes the node's lock for an owner: waits in arrival order for a slot, and for any foreign lock to
 * go, then writes the record. The same uid asking again gets a share of the grant that it has.
 * @request  borrowed for the call
 * @ret      new lease; consume it (L3)
 * Returns   0 - the record is in the store under our fence; or, and then nothing is held, and what
 *           is in doubt is undone in the background by compare-and-set:
 *           INVAL, ABI - the request is malformed
 *           FORKED, CLOSED
 *           NOMEM
 *           TIMEDOUT - the deadline passed; the text says behind whom
 *           CANCELED - request.cancel fired
 *           LOST - the owner can't use a lock: gone, another uid, being deleted, finished, bound, or
 *           assigned to another node
 *           NODE - there is no such node
 *           ACCESS - the store refused
 *           PROTO - the store's answers make no sense
 *           LIMIT - refused early: the node's queue or the namespace's part of it is full (the text
 *           names the namespace that fills it), the holder stalls (config.stall_limit_ms), or its
 *           turn can't come before the deadline (HAMI_NODELOCK_REFUSE_EARLY). Its place is kept
 * Blocks    until request.deadline_ns; woken by the grant, the cancel flag, shutdown
 * Threads   MT-Safe. With config.wakeup set another thread must dispatch
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_acquire(hami_nodelock *lock,
                                      const struct hami_nodelock_request *request,
                                      hami_lease **ret, struct hami_error *reterr);

/*
 * Takes the lock only if that needs no waiting: never queues, never overtakes a waiter.
 * Parameters, codes and state afterwards as hami_nodelock_acquire(), but:
 *           BUSY - at once: no slot is free in this process, or others wait
 *           HELD - the store names another owner that can't be proven gone; the text names it
 *           TRANSPORT - the store could not be reached; nothing was applied
 *           LIMIT - nodes_max is reached
 * Blocks    for its round trips, at most until request.deadline_ns
 * Threads   MT-Safe
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_try_acquire(hami_nodelock *lock,
                                          const struct hami_nodelock_request *request,
                                          hami_lease **ret, struct hami_error *reterr);

/*
 * Tells how an asynchronous acquire ended. From dispatch, exactly once, no library lock held.
 * @code     as hami_nodelock_acquire(), from FORKED on excluded what is told at once
 * @lease    new on 0, to be consumed (L3); else NULL
 * @error    borrowed for the call; its text is empty on 0
 */
typedef void (*hami_acquired_fn)(void *data, int code, hami_lease *lease,
                                 const struct hami_error *error);

/*
 * Starts an acquire and returns; the callback tells the end.
 * @request  borrowed for the call
 * @callback required; @data is handed to it
 * @ret      NULL, or the wait for hami_wait_abort(); set before the callback can run (L4)
 * Returns   0 - the callback will come; or INVAL, ABI, FORKED, CLOSED, NOMEM, LIMIT - it will not
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_acquire_start(hami_nodelock *lock,
                                            const struct hami_nodelock_request *request,
                                            hami_acquired_fn callback, void *data,
                                            hami_wait **ret);

/*
 * Starts a try and returns; the callback tells the end: HELD, TRANSPORT, and the rest as
 * hami_nodelock_try_acquire().
 * @request  borrowed for the call
 * @callback required; @data is handed to it
 * @ret      NULL, or the wait for hami_wait_abort(); set before the callback can run (L4)
 * Returns   0 - the callback will come; or INVAL, ABI, FORKED, CLOSED, NOMEM, LIMIT, BUSY - it will not
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_try_acquire_start(hami_nodelock *lock,
                                                const struct hami_nodelock_request *request,
                                                hami_acquired_fn callback, void *data,
                                                hami_wait **ret);

/*
 * Ends a wait early: the callback follows with CANCELED, or with the grant if that was decided
 * before. The waiter leaves the queue at once.
 * @wait     not consumed; only before its callback has run (L4)
 * Returns   0, or INVAL (NULL), FORKED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes, but not from the wait's own callback
 * Since     0.1
 */
HAMI_PUBLIC int hami_wait_abort(hami_wait *wait);

/* ---- cancel flags ---------------------------------------------------------------------------- */

/*
 * Makes a sticky, one-way flag with one reference.
 * Returns   0, or INVAL (ret is NULL), NOMEM
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Life      hami_cancel_unref()
 * Since     0.1
 */
HAMI_PUBLIC int hami_cancel_new(hami_cancel **ret);

/*
 * Fires the flag: every wait that carries it, now or later, ends with CANCELED.
 * Returns   0, also when it had fired before; INVAL if NULL
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_cancel_fire(hami_cancel *cancel);

/*
 * Tells whether the flag has fired; false if NULL. Otherwise as hami_cancel_fire().
 * Since     0.1
 */
HAMI_PUBLIC bool hami_cancel_is_fired(const hami_cancel *cancel);

/*
 * Adds a reference. Returns its argument; takes NULL. Otherwise as hami_cancel_fire().
 * Since     0.1
 */
HAMI_PUBLIC hami_cancel *hami_cancel_ref(hami_cancel *cancel);

/*
 * Gives back a reference; the last one frees the flag. Returns NULL; takes NULL. Otherwise as
 * hami_cancel_fire().
 * Since     0.1
 */
HAMI_PUBLIC hami_cancel *hami_cancel_unref(hami_cancel *cancel);

/* ---- leases ---------------------------------------------------------------------------------- */

/* What a lease says of itself. Texts are borrowed until the lease is consumed. */
struct hami_lease_view {
    size_t size;              /* sizeof(struct hami_lease_view), set by the caller */
    const char *node;
    struct hami_owner owner;
    const char *key;          /* the first key of the grant */
    const char *value;        /* the lock value as written: `time,namespace,pod` */
    const char *holder;       /* holder id that stands in the lease annotation */
    uint64_t fence;           /* larger with each grant on the node */
    uint64_t attempt;         /* the writer's attempt number */
    const char *owner_version;/* the owner's version read before the lock was written; NULL = unknown */
    const char *owner_revoked;/* the owner's revocation at that time; NULL = none */
};
#define HAMI_LEASE_VIEW_INIT HAMI_SIZED(struct hami_lease_view)

/*
 * Describes a lease, among it what the take was judged by (owner_version, owner_revoked).
 * @ret      its size set; filled, texts borrowed until the lease is consumed
 * Returns   0, or INVAL (NULL), ABI (size larger than known and the tail is set), FORKED, CLOSED
 * Blocks    never
 * Threads   one thread at a time per lease
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_facts(const hami_lease *lease, struct hami_lease_view *ret);

/*
 * Tells the fence of a lease; 0 if lease is NULL. Otherwise as hami_lease_facts().
 * Since     0.1
 */
HAMI_PUBLIC uint64_t hami_lease_fence(const hami_lease *lease);

/*
 * Gives the lock back. Where the owner is not known to be bound and the transport can revoke, its
 * pending Binding is revoked first. Then the record is removed, or replaced by the next waiter's in
 * the same write. Another share of the same grant keeps it.
 * @lease        consumed, whatever is answered (L3)
 * @deadline_ns  when the caller is told at the latest; the work goes on behind
 * Returns   0 - removed; or another share keeps it; or it was handed off, because the owner turned
 *           out bound here and not yet served; or:
 *           INVAL - lease is NULL, or called from a callback (then it is not consumed)
 *           FORKED, CLOSED - counts as handed off
 *           LOST - the record was no longer ours; nothing was touched
 *           NODE - the node is gone, and the lock with it
 *           IN_DOUBT - not known by the deadline; being resolved
 * Blocks    until deadline_ns
 * Threads   one thread at a time per lease
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_release(hami_lease *lease, uint64_t deadline_ns,
                                   struct hami_error *reterr);

/*
 * Tells how an asynchronous release or check ended. From dispatch, exactly once, no lock held.
 * @code     as the blocking form
 * @error    borrowed for the call
 */
typedef void (*hami_done_fn)(void *data, int code, const struct hami_error *error);

/*
 * Starts a release and returns; the callback tells the end.
 * @lease    consumed on 0 and on CLOSED
 * @callback NULL = nobody is told
 * Returns   0 - the callback will come; or INVAL, FORKED, CLOSED (consumed, no callback), NOMEM (not
 *           consumed; never with callback NULL)
 * Blocks    never
 * Threads   one thread at a time per lease
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_release_start(hami_lease *lease, uint64_t deadline_ns,
                                         hami_done_fn callback, void *data);

/*
 * Lets go of the lease without freeing the slot: someone else (the node side) will release it. The
 * slot is free when the store is seen to name our grant no longer, or the owner is proven past
 * Allocate. No I/O.
 * @lease    consumed (L3)
 * Returns   0, or INVAL (NULL), FORKED, CLOSED
 * Blocks    never
 * Threads   one thread at a time per lease
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_handoff(hami_lease *lease);

/*
 * Reads the store: is the record still this grant's?
 * Returns   0 - yes, by a read begun in this call; or:
 *           INVAL - NULL, or called from a callback
 *           FORKED, CLOSED
 *           LOST - no; it stays consumable
 *           NODE - the node is gone, and the lock with it
 *           IN_DOUBT - no answer by the deadline
 * Blocks    until deadline_ns
 * Threads   one thread at a time per lease
 * Callback  no (INVAL)
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_check(hami_lease *lease, uint64_t deadline_ns,
                                 struct hami_error *reterr);

/*
 * Starts a check and returns; the callback tells the end. The lease must not be consumed before.
 * Returns   0 - the callback will come; or INVAL, FORKED, CLOSED, NOMEM
 * Blocks    never
 * Threads   one thread at a time per lease
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_lease_check_start(hami_lease *lease, uint64_t deadline_ns,
                                       hami_done_fn callback, void *data);

/* ---- news ------------------------------------------------------------------------------------ */

/*
 * Tells the manager how a node was seen by a watch. Stale or repeated news is harmless.
 * @node     1 to 253 characters
 * @record   borrowed for the call
 * Returns   0, or INVAL, ABI, FORKED, CLOSED, NOMEM, LIMIT (nodes_max; the news is dropped)
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_observe(hami_nodelock *lock, const char *node,
                                      const struct hami_node_record *record);

/*
 * Tells the manager what a watch saw of an owner (a pod). Of a watch only final facts count as proof:
 * finished, started, bound elsewhere, deleting while not bound, done with the grant's fence.
 * @owner    namespace_name and name; uid is ignored (facts.uid counts)
 * @facts    borrowed for the call
 * Returns   0, or INVAL, ABI, FORKED, CLOSED, NOMEM (some nodes may have been told)
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_observe_owner(hami_nodelock *lock, const struct hami_owner *owner,
                                            const struct hami_owner_facts *facts);

/*
 * Tells the manager that a node is gone: its waiters get NODE at once, its leases are lost if the
 * store confirms it.
 * Returns   0, or INVAL, FORKED, CLOSED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_forget(hami_nodelock *lock, const char *node);

/* ---- looking in ------------------------------------------------------------------------------ */

enum hami_slot_state {
    HAMI_SLOT_UNKNOWN = 0, /* the store was not read yet */
    HAMI_SLOT_FREE,
    HAMI_SLOT_ACQUIRING,   /* our write is in flight or in doubt */
    HAMI_SLOT_HELD,        /* a lease of this process stands */
    HAMI_SLOT_HANDED_OFF,  /* ours, waiting for the node side */
    HAMI_SLOT_RELEASING,
    HAMI_SLOT_FOREIGN      /* another writer's value */
};

/* One lock of a node. Texts are borrowed for the visitor's call. */
struct hami_slot_view {
    const char *key;         /* of the record: permits above 0 have a name of their own, as
                                "hami.io/mutex.lock.1". With config.side_by_side the key itself is the
                                cover of those beside: while its lease has "calls" it shows a copy of
                                one of them, and its state is that one's */
    enum hami_slot_state state;
    const char *value;       /* lock annotation as last seen; NULL = absent */
    const char *lease;       /* lease annotation as last seen; NULL = absent */
    struct hami_owner owner; /* members NULL where unknown */
    const char *holder;      /* holder id in the lease; NULL = none */
    uint64_t fence;          /* 0 = none */
    uint64_t since_ns;       /* monotonic: since when this very pair is seen */
    bool alarm;              /* stands past its age while its owner still waits for Allocate */
    const char *reason;      /* why it is not free, or what would free it, for people */
    uint64_t state_since_ns; /* monotonic: since when it is in this state, as far as is known; 0 =
                                unknown */
};

/* One waiter. position counts from 0 in the order in which they would be served now. */
struct hami_waiter_view {
    struct hami_owner owner;
    uint32_t position;
    int32_t priority;
    uint64_t since_ns;       /* monotonic: arrival */
    uint64_t deadline_ns;
    const char *group;       /* NULL = none */
    uint32_t overtaken;      /* times that somebody who came later was put before it */
    bool returned;           /* it came back to a place that was kept for it */
    uint64_t expected_ns;    /* from now until its turn, by the node's pace; 0 = next, or not measured */
};

/* How a lock came to its owner. */
enum hami_hand_over {
    HAMI_HAND_OVER_TAKE = 0, /* it was free */
    HAMI_HAND_OVER_DIRECT,   /* passed on to this waiter in one write: released to it, or (free=scheduler) done */
    HAMI_HAND_OVER_TAKEOVER, /* taken from its owner on proof or age */
    HAMI_HAND_OVER_OWN,      /* the owner's own lock, taken again */
    HAMI_HAND_OVER_FOREIGN,  /* another writer's doing, as a read or a watch told */
    HAMI_HAND_OVER_NONE      /* only in struct hami_lock_change: it is free now */
};

/* One hand-over of a lock. Texts are borrowed for the visitor's call. */
struct hami_hand_over_view {
    const char *key;
    uint64_t at_ns;          /* monotonic */
    enum hami_hand_over how;
    const char *reason;      /* TAKEOVER: the proof, for people; else "" */
    struct hami_owner from;  /* whose lock stood there before; members NULL where unknown */
    struct hami_owner to;    /* its uid NULL where unknown */
    uint64_t held_ns;        /* how long `from` was seen to hold it; 0 = unknown */
    uint64_t fence;          /* of the new grant; 0 = none */
};

/* What hami_nodelock_config.changed is told. Members of owners are NULL where unknown. */
struct hami_lock_change {
    size_t size;             /* set by the library */
    const char *node;
    const char *key;
    enum hami_hand_over how; /* NONE: nobody holds it now, and `to` is unknown */
    const char *reason;      /* TAKEOVER: the proof, for people; else "" */
    const char *proof;       /* TAKEOVER: the proof, one word of: gone, replaced, finished,
                                bound_elsewhere, deleted, started, done, revoked, age; else "" */
    struct hami_owner from;  /* whose lock stood there until now */
    struct hami_owner to;
    uint64_t held_ns;        /* how long `from` was seen to hold it; 0 = unknown */
    uint64_t fence;          /* of the new grant, with NONE of the old one; 0 = none */
};

/* Hand-overs of a node that are remembered, at most. */
#define HAMI_NODELOCK_HAND_OVERS_MAX 32

struct hami_node_view {
    size_t size;             /* sizeof(struct hami_node_view) of the library */
    const char *node;
    const struct hami_slot_view *slots;
    size_t slot_count;
    const struct hami_waiter_view *waiters;
    size_t waiter_count;
    const struct hami_hand_over_view *hand_overs; /* the newest first; only of nodes that this manager
                                                     was asked for */
    size_t hand_over_count;  /* 0 to HAMI_NODELOCK_HAND_OVERS_MAX */
    uint64_t now_ns;         /* monotonic: when the picture was taken */
    uint64_t pace_ns;        /* how long a lock is held here, of late; 0 = not measured */
    uint64_t refusals;       /* acquires of this node that ended with LIMIT */
};

/* Visits one node; a non-zero answer ends the snapshot. No library lock is held. */
typedef int (*hami_snapshot_fn)(void *data, const struct hami_node_view *view);

/*
 * Shows a consistent picture of each node (not of all nodes at one instant).
 * @node     NULL = all nodes that are known
 * @visitor  called once a node
 * Returns   0, or INVAL, FORKED, CLOSED, NOMEM, NODE (not known here)
 * Blocks    never; the visitor is the caller's
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_snapshot(hami_nodelock *lock, const char *node,
                                       hami_snapshot_fn visitor, void *data);

/* Totals since hami_nodelock_new(), and gauges. */
struct hami_nodelock_stats {
    size_t size;                 /* sizeof(struct hami_nodelock_stats), set by the caller */
    uint64_t grants;             /* leases given, shares included */
    uint64_t timeouts;           /* acquires that ended TIMEDOUT */
    uint64_t cancels;
    uint64_t refusals;           /* acquires that ended otherwise */
    uint64_t handoffs;
    uint64_t releases;           /* records removed or handed over by us */
    uint64_t hand_overs;         /* of these, in one write to the next waiter */
    uint64_t takeovers;          /* locks taken from an owner on proof or age */
    uint64_t revocations;
    uint64_t lost;               /* held leases that vanished from the store */
    uint64_t in_doubt;           /* writes whose answer was not believed or did not come */
    uint64_t undone;             /* takes that nobody wanted any more */
    uint64_t alarms;             /* expired owners that still wait for Allocate */
    uint64_t calls;              /* transport calls submitted */
    uint32_t waiters;            /* gauge: waiting now */
    uint32_t leases;             /* gauge: not consumed yet */
    uint32_t nodes;              /* gauge: nodes known */
    uint64_t refused_full;       /* of the refusals: the node's queue was full */
    uint64_t refused_namespace;  /* the namespace's part of it was full */
    uint64_t refused_early;      /* the turn could not come before the deadline */
    uint64_t refused_stalled;    /* the holder stalled */
    uint64_t beside;             /* of the grants: given while another pod had a permit of the node
                                    (config.side_by_side) */
};
#define HAMI_NODELOCK_STATS_INIT HAMI_SIZED(struct hami_nodelock_stats)

/*
 * Reads totals and gauges.
 * @ret      its size set; filled
 * Returns   0, or INVAL, ABI, FORKED
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_nodelock_stats(const hami_nodelock *lock, struct hami_nodelock_stats *ret);

#ifdef __cplusplus
}
#endif

#endif
