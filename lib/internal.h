/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structs that the core's files share.
 *
 * Locks, in the order in which they may be taken:
 *   table.mutex -> node.mutex -> timers_mutex, ready_mutex, keys_mutex, kept_mutex,
 *   owners.mutex, cancel.mutex (leaves)
 * No callback, transport function, allocation or log line under any
 * of them: what has to be done is collected in a `struct hami_internal_after` and done
 * when the node's mutex is free again.
 */
#ifndef HAMI_LIB_INTERNAL_H
#define HAMI_LIB_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include <hami/handshake.h>
#include <hami/nodelock.h>
#include <hami/transport.h>

#include "list.h"
#include "owners.h"
#include "pace.h"
#include "places.h"
#include "protocol.h"
#include "queue.h"
#include "sorted.h"
#include "timers.h"

#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* How a blocking call sleeps: see park.h. */
enum { PARK_AWAKE = 0, PARK_ASLEEP, PARK_DONE };
struct hami_internal_parking {
    atomic_uint *word;                  /* one of nodelock.parking_words */
    atomic_int state;                   /* PARK_... */
    struct hami_internal_parking *next; /* after.sleepers */
};
#define HAMI_INTERNAL_PARKING_WORDS 256

/* An owner is asked about while somebody waits behind it: first after, then each. */
#define HAMI_INTERNAL_ASK_FIRST_NS NS_PER_S
#define HAMI_INTERNAL_ASK_AGAIN_NS NS_PER_S            /* of one node, at least */
#define HAMI_INTERNAL_ASK_PAUSE_MAX_NS (30 * NS_PER_S) /* of one that holds for long */
/* Facts about an asker older than this are read again before its lock is written. */
#define HAMI_INTERNAL_ASKER_AGE_NS (2 * NS_PER_S)
/* A store is read again while somebody waits: one that tells no news, one that does. */
#define HAMI_INTERNAL_POLL_NS (100 * NS_PER_MS)
#define HAMI_INTERNAL_REREAD_NS NS_PER_S
/* A transport that has not completed a call this long past its deadline is given up on.
 */
#define HAMI_INTERNAL_CALL_GRACE_NS NS_PER_S
/* Pauses between tries that failed: doubling from the first to the last. */
#define HAMI_INTERNAL_RETRY_FIRST_NS (20 * NS_PER_MS)
#define HAMI_INTERNAL_RETRY_LAST_NS (5 * NS_PER_S)
/* Hand-overs in a row without a gap, where another replica was seen on the node within
 * RIVAL; then the record is removed, and this replica leaves it alone for YIELD. */
#define HAMI_INTERNAL_HAND_OVERS_MAX 16
#define HAMI_INTERNAL_RIVAL_NS (60 * NS_PER_S)
#define HAMI_INTERNAL_YIELD_NS (50 * NS_PER_MS)
/* Takes beside others in a row, with somebody in flight all the time, where another
 * replica was seen: then nobody comes until all who are in flight are done, and for YIELD,
 * since a pod of that replica may wait for all of them. */
#define HAMI_INTERNAL_BESIDE_ROW_MAX 64
/* A lock that is done and the scheduler side's to free stands so long for a waiter that
 * may come: then it costs one write less. */
#define HAMI_INTERNAL_DONE_STANDS_NS (100 * NS_PER_MS)
/* How long the node side has for its last write, which removes the lock of a pod that it
 * served, before somebody who waits takes it on that proof. */
#define HAMI_INTERNAL_NODE_FREES_NS NS_PER_S
/* Senseless answers in a row that end a wait with PROTO. */
#define HAMI_INTERNAL_PROTO_MAX 3
/* Room for the text of how a wait ended. */
#define HAMI_INTERNAL_END_TEXT 400
/* Lock keys of one manager, and records of one node. */
#define HAMI_INTERNAL_KEYS_MAX 64

struct hami_internal_facts;   /* call.h */
struct hami_internal_history; /* history.h */

/* One record of a lock key (one a permit): the names of its two annotations. */
struct hami_internal_record_key {
    char lock[HAMI_NODELOCK_KEY_MAX + 4];
    char lease[HAMI_NODELOCK_KEY_MAX + 11];
};

/* A lock key in use. Interned for the manager's life, so that pointers can be compared.
 */
struct hami_internal_key {
    char name[HAMI_NODELOCK_KEY_MAX + 1];
    size_t permits;
    bool beside; /* it has one permit, the cover, and HAMI_INTERNAL_BESIDE_MAX records
                    more, for pods beside each other: see cover.h */
    struct hami_internal_record_key records[];
};

#define HAMI_INTERNAL_BESIDE_MAX HAMI_NODELOCK_SIDE_BY_SIDE_MAX

/* A buffer for a text. */
struct hami_internal_text {
    char *data;
    size_t capacity;
};

/* Lock and lease as some source told them. */
struct hami_internal_pair {
    struct hami_internal_text lock_text, lease_text;
    const char *lock, *lease; /* into the texts; NULL = absent */
};

/* One record of a node, as last known. Guarded by the node's mutex. */
struct hami_internal_slot {
    const struct hami_internal_key *key;
    struct hami_internal_node *node;
    size_t permit;
    bool known; /* the pair is from the store */
    struct hami_internal_pair pair;
    struct hami_lock_record record; /* the pair, taken apart */
    uint64_t version_number;        /* node version of this knowledge; 0 = not a number */
    uint64_t pair_version;          /* node version at which a read or a watch first told
                                       this pair, or the one that we have replaced */
    uint64_t first_seen_ns;         /* of this very pair */
    uint64_t sight;                 /* counts the pairs seen here, one after the other */
    uint64_t max_fence;             /* seen here */
    uint64_t rival_ns;       /* when another holder's lease was last seen; 0 = never */
    uint64_t yield_until_ns; /* a free record is left alone until then */
    uint32_t hand_overs;     /* in a row */
    struct hami_internal_grant *grant; /* ours that stands here, or NULL */
    bool has_news;                     /* a watch told this while a call was in flight */
    struct hami_internal_pair news;
    char news_version[64];
    /* what was learned about the owner of this very pair */
    struct hami_internal_facts *facts; /* NULL = nothing */
    uint64_t facts_ns;                 /* when that was told; if it is final: first */
    uint64_t asked_ns, ask_next_ns, revoke_next_ns;
    bool asked, revoked, alarmed;
    enum hami_internal_reason reason; /* as last judged */
    /* whose lock stood here before this pair: "" = unknown */
    struct {
        char namespace_name[64], name[254], uid[HAMI_NODELOCK_UID_MAX + 1];
        uint64_t held_ns, fence;
        bool told; /* its end was told as a change already */
    } before;
    struct hami_internal_owner_link owner_link; /* while the lock names somebody */
    struct hami_internal_pace pace; /* of the key, kept in the slot of its permit 0 */
};

/* The cover, as long as it is a copy of the lock in some permit: nobody's own. */
static inline bool slot_is_copy(const struct hami_internal_slot *slot)
{
    return slot->record.calls[0] != '\0' && slot->permit == 0 && slot->key->beside;
}

/* A record of pods that are beside each other. */
static inline bool slot_is_permit(const struct hami_internal_slot *slot)
{
    return slot->permit > 0 && slot->key->beside;
}

enum hami_internal_grant_state {
    GRANT_READY = 0, /* made ahead; not written */
    GRANT_TAKING,    /* the write is in flight or in doubt */
    GRANT_STANDING,  /* in the store, as far as is known */
    GRANT_RELEASING, /* nobody here wants it any more */
    GRANT_ENDED
};

/* One write under one fence, for all keys of a request. Guarded by the node's mutex. */
struct hami_internal_grant {
    struct hami_internal_list link; /* node.grants, or after.ended_grants */
    enum hami_internal_grant_state state;
    struct hami_internal_slot *slots[HAMI_NODELOCK_KEYS_MAX];
    size_t slot_count;
    struct hami_owner owner; /* texts behind the struct */
    uint64_t fence, attempt;
    uint64_t state_ns; /* since when it stands, was handed off, or is being released */
    bool takes_own;    /* it replaces a lock of its own owner */
    bool takes_done; /* it replaces one that is the scheduler side's to free, and done */
    bool by_scheduler;                    /* its lease says free=scheduler */
    enum hami_internal_reason takes_from; /* what freed the lock that it replaces; NONE =
                                             there was none, or it was ours to pass on */
    char *value, *lease;     /* lock value and lease text as written; behind the struct */
    const char *calls;       /* of its pod; NULL = it is exclusive */
    bool is_beside;          /* it stands in a permit, and its lease has the calls */
    size_t lease_size, room; /* room: for all texts */
    size_t value_bytes, lease_bytes; /* as written */
    struct hami_internal_facts
        *judged;             /* the facts that the take was judged by; NULL = none */
    uint32_t shares;         /* leases not consumed */
    struct hami_wait *taker; /* TAKING: for whom; NULL = nobody any more */
    bool handed_off;
    bool gone;       /* seen to be no longer in the store */
    int gone_code;   /* LOST or NODE */
    bool no_binding; /* no Binding under it can succeed any more */
    bool unsure;     /* RELEASING: a removal may have been carried out unseen */
    uint64_t write_deadline_ns; /* of the last write */
    uint64_t retry_ns;          /* RELEASING: not before */
    uint32_t retries;
    struct hami_internal_done *release; /* RELEASING: who is told; NULL = nobody */
};

/* Somebody who waits for a release or a check. Guarded by the node's mutex until ended.
 */
struct hami_internal_done {
    struct hami_internal_list link;   /* node.checks; then after.ready */
    struct hami_internal_timer timer; /* node.deadlines, kind TIMER_DONE */
    struct hami_internal_grant *grant;
    bool check, ended, blocking;
    uint64_t started_ns;
    hami_done_fn callback;
    void *data;
    struct hami_internal_parking parking;
    struct hami_error error;
};

/* What only the turn of a wait needs, from the first look at it on. */
struct hami_internal_turn {
    struct hami_internal_grant *grant; /* made for it; NULL = none yet */
    struct hami_internal_facts
        *judged;       /* what its asker's inspection told; NULL = nothing */
    uint64_t asker_ns; /* when that began */
    uint64_t retry_ns; /* it is not tried again before */
    uint32_t retries, senseless;
    int failure; /* last code that a retry may mend; 0 = none */
};

/* Made when somebody's turn comes. Guarded by the node's mutex. */
struct hami_lease {
    struct hami_internal_list link; /* node.leases */
    struct hami_nodelock *lock;
    struct hami_internal_node *node;
    struct hami_internal_grant *grant; /* NULL until it is granted */
    struct hami_internal_turn turn;    /* until then */
    uint32_t references; /* the holder's, and one while the loss is being told */
    bool told_lost;
};

enum hami_internal_asker {
    ASKER_UNKNOWN = 0, /* inspect it before the lock is written */
    ASKER_FIT,
    ASKER_SUSPECT /* a watch contradicts: read it now, wherever it stands in the queue */
};

/* What few waits have: a group, a cancel flag, calls. It stands behind the wait. */
struct hami_internal_extra {
    struct hami_internal_member member; /* wait.queued.member */
    const char *group;                  /* NULL = none */
    const char *calls;                  /* NULL = none */
    struct hami_internal_call_set *set; /* of the calls; NULL = none */
    struct hami_wait *wait;
    hami_cancel *cancel;
    struct hami_internal_list cancel_link; /* cancel.waits; cancel's mutex */
};

/* Calls of a pod by their hashes: see beside.h. */
struct hami_internal_call_set {
    size_t count;
    uint64_t hashes[HAMI_NODELOCK_CALL_COUNT_MAX];
};

/* How a wait ended: the parts of its hami_error. */
struct hami_internal_end {
    int code;
    uint32_t position, waiting;
    uint64_t expected_ns;
    struct hami_internal_extra *extra;    /* NULL = none */
    struct hami_internal_list ready_link; /* after.ready_waits and nodelock.ready_waits */
    char *text; /* in its own memory, or the blocked caller's; NULL = it is `brief` */
    char brief[112];
};

/*
 * One acquire. Guarded by the node's mutex until ended. There may be very many: what only
 * its turn needs is made then, and its end is told in the room that its place in the
 * queue took.
 */
struct hami_wait {
    union {
        struct {                                /* until it has ended */
            struct hami_internal_waiter queued; /* node.queue */
            struct hami_internal_owner_link owner_link, uid_link;
            struct hami_internal_leaf due; /* node.due, if is_due */
        };
        struct hami_internal_end end;
    };
    struct hami_internal_node *node;
    union {
        const struct hami_internal_key *key;   /* if it is one */
        const struct hami_internal_key **keys; /* if there are more; behind the struct */
    };
    const char *name, *uid; /* the owner's; its namespace is that of the crowd */
    uint64_t since_ns, deadline_ns;
    hami_lease *lease; /* made when its turn comes; see serve.c */
    hami_acquired_fn callback;
    void *data;
    bool try_only : 1, own : 1, ended : 1, blocking : 1, is_due : 1;
    uint8_t key_count;
    uint8_t asker; /* enum hami_internal_asker */
};

/* A wait whose caller is blocked; all of it is in its frame. */
struct hami_internal_blocked {
    struct hami_wait wait;
    struct hami_internal_extra extra;
    const struct hami_internal_key *keys[HAMI_NODELOCK_KEYS_MAX];
    struct hami_internal_parking parking;
    char text[HAMI_INTERNAL_END_TEXT];
    struct hami_internal_call_set set;
};

static inline const struct hami_internal_key *const *
wait_keys(const struct hami_wait *wait)
{
    return wait->key_count == 1 ? &wait->key
                                : (const struct hami_internal_key *const *)wait->keys;
}

/* Until it has ended. */
static inline struct hami_owner wait_owner(const struct hami_wait *wait)
{
    return (struct hami_owner){wait->queued.crowd->name, wait->name, wait->uid};
}

static inline struct hami_internal_extra *wait_extra(const struct hami_wait *wait)
{
    struct hami_internal_member *member = wait->queued.member;

    if (wait->ended) {
        return wait->end.extra;
    }
    return member ? LIST_ENTRY(member, struct hami_internal_extra, member) : NULL;
}

enum hami_internal_operation {
    OPERATION_NONE = 0,
    OPERATION_READ,
    OPERATION_TAKE,
    OPERATION_REMOVE,
    OPERATION_INSPECT_ASKER,
    OPERATION_INSPECT_HOLDER,
    OPERATION_REVOKE_HOLDER, /* of a lock that is in the way */
    OPERATION_REVOKE_OWN     /* of a grant that is to be released */
};

enum { TIMER_NODE = 0, TIMER_DONE };

/* A node that is known. */
struct hami_internal_node {
    struct hami_internal_list link;      /* bucket of the table; table.mutex */
    struct hami_internal_list kick_link; /* nodelock.kicked; ready_mutex */
    bool kicked;                         /* ready_mutex */
    struct hami_internal_timer timer;    /* nodelock.timers; timers_mutex */
    atomic_uint pins; /* it stays while above 0; rises under table.mutex, or where
                         the caller has a pin already */
    struct hami_nodelock *lock;
    char *name;
    uint64_t hash;
    pthread_mutex_t mutex; /* guards all below */
    uint64_t now_ns; /* the clock, read when the mutex was taken or a call was made */
    struct hami_internal_slot *slots[HAMI_INTERNAL_KEYS_MAX];
    size_t slot_count;
    /* of the key that may have pods beside each other: its records, among the slots */
    struct hami_internal_slot *cover, *permits[HAMI_INTERNAL_BESIDE_MAX];
    bool has_permits;    /* all are there */
    uint32_t beside_row; /* takes beside others since nobody was in flight */
    const struct hami_internal_key *free_key; /* while there are no slots: a watch told
                                                 that nothing stands under it; or NULL */
    uint64_t free_number, free_ns; /* the version that showed it last; since when */
    struct hami_internal_queue queue;
    uint32_t waiter_count, suspects, owners;
    struct hami_internal_list grants, leases, checks;
    struct hami_internal_sorted due;     /* waits by their deadlines */
    struct hami_internal_heap deadlines; /* of releases and checks */
    /* the one operation in flight */
    enum hami_internal_operation operation;
    hami_call *call;
    struct hami_internal_slot *operation_slot;
    uint64_t operation_sight; /* of that slot when the operation began */
    struct hami_internal_grant *operation_grant;
    struct hami_wait *operation_wait; /* NULL if it ended meanwhile */
    uint64_t operation_ns;            /* when it began */
    bool call_aborted;
    struct hami_internal_grant
        *doubt; /* its last write needs a read before anything else */
    bool doubt_removes, doubt_refused;
    /* made ahead */
    hami_call *spare_call;
    struct hami_internal_grant *spare_grant; /* for a record that was found */
    struct hami_internal_grant *next_grant;  /* for a waiter whose turn it is */
    hami_lease *next_lease;                  /* likewise */
    /* knowledge */
    char version[64];        /* "" = unknown */
    uint64_t version_number; /* 0 = not a number */
    uint64_t server_time_us;
    int64_t date_s;      /* of `date` */
    char date[22];       /* hami_internal_record_date() of the last take; "" = none */
    uint64_t max_fence;  /* seen on this node */
    bool leaves_freeing; /* its node side leaves it to the scheduler side */
    bool takes_beside;   /* likewise, and it finds each call's pod, and we may use that */
    bool want_read;
    uint64_t read_ns;   /* when the last good read began; 0 = never */
    uint64_t reread_ns; /* a read is due then; HAMI_DEADLINE_NEVER = none */
    uint64_t read_retry_ns;
    uint64_t ask_next_ns; /* no holder of this node is asked about before */
    uint32_t read_retries, senseless;
    int failure;            /* of the last read; 0 = it went well */
    char failure_text[160]; /* the transport's, of the last call that failed */
    struct hami_internal_history *history; /* NULL = nobody has asked for this node */
    uint64_t refusals;                     /* acquires that ended with LIMIT */
    uint64_t armed_ns; /* what its timer is armed for; 0 = look; see dispatch.c */
    uint64_t wake_ns;  /* when time alone makes something due */
};

/* What is to be done when the node's mutex is free. */
struct hami_internal_after {
    struct hami_nodelock *lock;
    struct hami_internal_node *node;
    struct hami_internal_list ready_waits, ready_dones; /* with a callback */
    struct hami_internal_list ended_grants;             /* to be freed */
    struct hami_internal_facts *facts[8];               /* to be freed */
    size_t fact_count;
    bool need_call, need_grant, need_lease, need_permits, lost, wake;
    size_t need_room; /* of a waiter's grant; 0 = none is needed */
    struct hami_internal_parking *sleepers, **sleepers_end; /* to be woken: see park.h */
    hami_call *abort; /* with a reference of its own */
    hami_call *free_call;
    hami_lease *free_lease;
    struct {
        enum hami_log_level level;
        char line[480];
    } logs[4];
    size_t log_count;
    struct {
        struct hami_wait *wait;
        char text[HAMI_INTERNAL_END_TEXT];
    } ends[4]; /* texts of waits in ready_waits */
    size_t end_count;
    struct {
        struct hami_lock_change change; /* its texts are below */
        char node[HAMI_NODELOCK_NODE_MAX + 1];
        char texts[2][3][HAMI_NODELOCK_NODE_MAX + 1]; /* from, to */
    } changes[4];
    size_t change_count;
};

struct hami_internal_table {
    pthread_mutex_t mutex;
    struct hami_internal_list *buckets;
    size_t bucket_count, node_count;
};

struct hami_internal_counters {
    atomic_uint_least64_t grants, timeouts, cancels, refusals, handoffs, releases,
        hand_overs, takeovers, revocations, lost, in_doubt, undone, alarms, calls,
        refused_full, refused_namespace, refused_early, refused_stalled, beside;
    atomic_uint_least32_t waiters, leases;
};

#define HAMI_INTERNAL_CALLS_AWAITED 0x80000000u

struct hami_nodelock {
    struct hami_nodelock_config config; /* defaults filled in */
    struct hami_transport *transport;
    char holder[320];
    size_t holder_length;
    atomic_uint *fork_page; /* 1; wiped to 0 in a forked child */
    atomic_uint references; /* the creator's, and one a lease */
    atomic_uint calls_out;  /* calls that the transport holds; functions of leases;
                               | HAMI_INTERNAL_CALLS_AWAITED: free waits for them */
    atomic_bool closing, freed;
    atomic_uint parking_words[HAMI_INTERNAL_PARKING_WORDS]; /* see park.h */
    atomic_uint_least64_t attempts, places, random;
    _Atomic(hami_call *) spare_call; /* see hami_internal_call_retire() */
    struct hami_internal_table table;
    pthread_mutex_t keys_mutex;
    struct hami_internal_key *keys[HAMI_INTERNAL_KEYS_MAX];
    atomic_size_t key_count;
    pthread_mutex_t timers_mutex;
    struct hami_internal_heap timers; /* of nodes */
    uint64_t thread_wakes_ns; /* it needs no waking for what is due later; timers_mutex */
    pthread_mutex_t ready_mutex;
    pthread_cond_t ready_condition; /* the thread's */
    pthread_cond_t idle_condition;  /* shutdown's and free's */
    struct hami_internal_list ready_waits, ready_dones, kicked;
    bool woken, stop;
    uint32_t rests; /* nodes that came to rest while the manager was closing */
    bool dispatching;
    atomic_uintptr_t dispatcher; /* pthread_self() of who dispatches; 0 = nobody */
    pthread_t thread;
    bool has_thread, system_clock;
    pthread_mutex_t kept_mutex;
    struct hami_internal_places *kept;
    atomic_bool keeps; /* something is kept, or was; stored under kept_mutex */
    struct hami_internal_owners owners; /* its own mutex */
    struct hami_internal_counters counters;
};

static inline uint64_t hami_internal_now(const struct hami_nodelock *lock)
{
    return lock->config.clock.monotonic_ns(lock->config.clock.data);
}

static inline const struct hami_allocator *
hami_internal_allocator(const struct hami_nodelock *lock)
{
    return &lock->config.allocator;
}

static inline void hami_internal_count(atomic_uint_least64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

#endif
