/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the lock manager and a store: compare-and-set on named values of a node.
 *
 * A transport is a struct of functions that its author embeds in an object of his own. It knows
 * nothing of queues, owners' rights or fences; it carries out calls:
 *  T1  submit never blocks. Answer 0: the call will be completed by hami_call_done() exactly once,
 *      possibly inside submit, from any thread, with no lock of the transport held. Any other answer
 *      (TRANSPORT, ACCESS, NOMEM): it will not be completed and surely nothing was applied.
 *  T2  All edits of a call are applied in one atomic write, or none.
 *  T3  The first duty is to tell apart: TRANSPORT = surely not applied, IN_DOUBT = sent and no answer,
 *      PROTO = an answer that makes no sense. A write that may have been sent twice is IN_DOUBT
 *      whatever the second answer says, unless that answer is 0.
 *  T4  A call is completed by its deadline, with IN_DOUBT if it was sent. Values may be left out with
 *      HELD; on 0 they are there.
 *  T5  The manager may call submit from inside hami_call_done().
 *  T6  Two calls for one node are never in flight at the same time from one manager.
 */
#ifndef HAMI_TRANSPORT_H
#define HAMI_TRANSPORT_H

#include <hami/nodelock.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hami_call hami_call;

enum hami_edit_action {
    HAMI_EDIT_READ = 0, /* tell the value; change nothing */
    HAMI_EDIT_TEST,     /* the whole call is refused (HELD) unless the value is `expect` */
    HAMI_EDIT_PUT       /* like TEST, then set it to `value` (NULL = remove it) */
};

/* One named value of the node. Texts are borrowed until hami_call_done(). */
struct hami_transport_edit {
    enum hami_edit_action action;
    const char *key;    /* annotation key, such as HAMI_NODELOCK_KEY */
    const char *expect; /* NULL = absent; "" is a value */
    const char *value;  /* NULL = absent */
};

/* How a call ended. Texts are borrowed for hami_call_done(). */
struct hami_transport_result {
    size_t size;               /* sizeof(struct hami_transport_result) */
    int code;                  /* 0, or HELD (an expectation failed), NODE (no such node), ACCESS,
                                  IN_DOUBT, TRANSPORT, PROTO, NOMEM (surely not applied) */
    const char *const *values; /* one an edit, in the call's order, as they are now (NULL = absent);
                                  NULL = not known */
    size_t value_count;        /* 0 with values NULL, else the number of edits */
    const char *version;       /* of the node now; opaque text; NULL = unknown */
    uint64_t server_time_us;   /* the store's wall clock, microseconds since 1970; 0 = unknown */
    int status;                /* HTTP status where there was one, else 0 */
    const char *text;          /* one line for people; NULL = none */
};
#define HAMI_TRANSPORT_RESULT_INIT HAMI_SIZED(struct hami_transport_result)

/* Other readers of the store know one lock key a node only: permits above 1 are refused. */
#define HAMI_TRANSPORT_ONE_PERMIT 0x1u

struct hami_transport {
    size_t size;      /* sizeof(struct hami_transport) */
    const char *name; /* for logs: "memory", "node annotation" */
    uint32_t flags;

    /* Carries out one call on a node (T1 to T6). Required. */
    int (*submit)(struct hami_transport *transport, hami_call *call);

    /*
     * Asks for an early end of a call; the transport completes it soon by hami_call_done() (IN_DOUBT
     * if it may have been sent). A call completed meanwhile is no error. NULL = calls end by their
     * deadline only. Never blocks.
     */
    void (*abort)(struct hami_transport *transport, hami_call *call);

    /*
     * Learns facts about hami_call_owner(call); completes by hami_call_done_owner(). Where
     * hami_call_wants_read() is true only a consistent read begun now will do. NULL = owners can't be
     * judged: locks are judged by age alone. T1 and T4 hold.
     */
    int (*inspect)(struct hami_transport *transport, hami_call *call);

    /*
     * Makes every Binding of hami_call_owner(call) that is on its way fail: writes
     * hami_call_revocation(call) onto the owner, guarded by its uid and by its not being bound, and
     * so that a second copy of the write, however late, can't cover a newer revocation.
     * Completes by hami_call_done_owner(): 0 with the facts after the write; HELD with facts where the
     * guard refused (bound, or another uid); facts.exists false where it is gone. NULL = Bindings
     * can't be revoked: release and undo are plain compare-and-set. T1, T3 and T4 hold.
     */
    int (*revoke)(struct hami_transport *transport, hami_call *call);

    /*
     * Starts to tell `lock` what changes, by hami_nodelock_observe(), _observe_owner() and _forget(),
     * until unwatch. NULL = the store tells nothing; the manager reads while somebody waits.
     * Returns 0, or TRANSPORT, NOMEM. Never blocks.
     */
    int (*watch)(struct hami_transport *transport, hami_nodelock *lock);

    /* No news for `lock` comes after this has returned. Required with watch. */
    void (*unwatch)(struct hami_transport *transport, hami_nodelock *lock);

    /* Called once by hami_nodelock_free(), after unwatch and when no call is in flight. May be NULL. */
    void (*close)(struct hami_transport *transport, hami_nodelock *lock);
};

/* ---- a call, as the transport sees it ----------------------------------------------------------
 * For all of these: texts and arrays are borrowed until the call is completed; never block; MT-Safe;
 * callable from any of the transport's functions; NULL gives NULL, 0 or false. Since 0.1.
 */

/* The node's name. For inspect and revoke: the node that the owner is asked about. */
HAMI_PUBLIC const char *hami_call_node(const hami_call *call);

/* The edits of a submit call. @ret_count their number, at least 1. */
HAMI_PUBLIC const struct hami_transport_edit *hami_call_edits(const hami_call *call,
                                                              size_t *ret_count);

/* Writes only: the node version that must still stand, else HELD; NULL = any. */
HAMI_PUBLIC const char *hami_call_version(const hami_call *call);

/* True if any edit is a TEST or PUT: the call needs the store's write path. */
HAMI_PUBLIC bool hami_call_is_write(const hami_call *call);

/* Absolute nanoseconds of the manager's clock. */
HAMI_PUBLIC uint64_t hami_call_deadline(const hami_call *call);

/* Nanoseconds left until the deadline by the manager's clock; 0 if past. */
HAMI_PUBLIC uint64_t hami_call_remaining(const hami_call *call);

/* inspect, revoke: the owner. revoke guards by its uid. */
HAMI_PUBLIC const struct hami_owner *hami_call_owner(const hami_call *call);

/* inspect: only a consistent read begun now answers the question. */
HAMI_PUBLIC bool hami_call_wants_read(const hami_call *call);

/* revoke: the text to write, `node,fence,holder,attempt`; new for each call. */
HAMI_PUBLIC const char *hami_call_revocation(const hami_call *call);

/* A word of the transport's own, NULL at first. */
HAMI_PUBLIC void hami_call_set_data(hami_call *call, void *data);
HAMI_PUBLIC void *hami_call_data(const hami_call *call);

/*
 * Completes a submit call.
 * @call     consumed: the transport must not touch it afterwards
 * @result   borrowed for the call
 * Blocks    never
 * Threads   from any thread, with no lock of the transport held: submit may be entered from here
 * Since     0.1
 */
HAMI_PUBLIC void hami_call_done(hami_call *call, const struct hami_transport_result *result);

/*
 * Completes an inspect or revoke call.
 * @code     0, or HELD (revoke only), ACCESS, IN_DOUBT (revoke only), TRANSPORT, PROTO, NOMEM
 * @facts    with 0 and HELD: required; else NULL. Borrowed for the call
 * @text     one line for people; NULL = none
 * Otherwise as hami_call_done().
 * Since     0.1
 */
HAMI_PUBLIC void hami_call_done_owner(hami_call *call, int code,
                                      const struct hami_owner_facts *facts, const char *text);

/* ---- trying a transport by itself --------------------------------------------------------------*/

/*
 * Carries out one submit call without a manager, and waits: for tools and for the contract suite.
 * @transport  borrowed
 * @node       1 to 253 characters
 * @edits      1 to 32, borrowed
 * @version    node version that must stand, or NULL
 * @timeout_ms of the call; 1 to 600000
 * @receive    called once, on this thread, with the result; may be NULL
 * Returns     the result's code, or submit's; INVAL, NOMEM; IN_DOUBT also where the transport failed
 *             to complete the call one second past its deadline (its late answer is dropped)
 * Blocks      until the call is completed
 * Threads     MT-Safe; not from a transport's own thread
 * Since       0.1
 */
HAMI_PUBLIC int hami_transport_call(
    struct hami_transport *transport, const char *node, const struct hami_transport_edit *edits,
    size_t edit_count, const char *version, uint64_t timeout_ms,
    void (*receive)(void *data, const struct hami_transport_result *result), void *data);

/*
 * Inspects an owner (revocation NULL) or revokes its Bindings, and waits.
 * @node       the node that the owner is asked about
 * @owner      borrowed
 * @receive    called once, on this thread, with code and facts (NULL where there are none)
 * Returns     as hami_transport_call(); NOTSUP where the transport lacks the function
 * Blocks      until the call is completed
 * Threads     MT-Safe; not from a transport's own thread
 * Since       0.1
 */
HAMI_PUBLIC int hami_transport_call_owner(
    struct hami_transport *transport, const char *node, const struct hami_owner *owner,
    const char *revocation, uint64_t timeout_ms,
    void (*receive)(void *data, int code, const struct hami_owner_facts *facts), void *data);

/* ---- release by hand --------------------------------------------------------------------------- */

#define HAMI_PAIR_TOKEN_BYTES 17 /* 16 hexadecimal digits and the NUL */

/*
 * Writes the token of a pair: a hash of the exact bytes of lock and lease, short enough to be copied by hand. It
 * tells this very pair from those before and after it; it is no secret.
 * @lock     value of the lock; NULL = absent
 * @lease    value of its lease; NULL = absent
 * @buffer   at least HAMI_PAIR_TOKEN_BYTES
 * Returns   0, or INVAL, LIMIT (buffer too small)
 * Blocks    never
 * Threads   MT-Safe
 * Callback  yes
 * Since     0.1
 */
HAMI_PUBLIC int hami_pair_token(const char *lock, const char *lease, char *buffer, size_t size);

/* Clears a lock as well whose owner is bound here and waits for Allocate: the next pod may then be
 * handed its devices. */
#define HAMI_CLEAR_BOUND_OWNERS 0x1u

/* What is to be cleared. Start with HAMI_CLEAR_INIT, or zero it and set size. */
struct hami_clear {
    size_t size;         /* sizeof(struct hami_clear) */
    uint32_t flags;      /* HAMI_CLEAR_BOUND_OWNERS */
    const char *node;    /* 1 to 253 characters */
    const char *key;     /* lock key; NULL = HAMI_NODELOCK_KEY */
    const char *token;   /* required: of the pair that was looked at */
    const char *holder;  /* who does it, written into a revocation: 1 to 253 of [a-z0-9.-]; NULL = by-hand */
    uint64_t timeout_ms; /* of each of its requests, of which there are six at most; 0 = 5000 */
    uint32_t permit;     /* which record of the key: 0 = its own; 1 to HAMI_NODELOCK_SIDE_BY_SIDE_MAX = that
                            of a pod beside others (config.side_by_side). Since 0.1 */
};
#define HAMI_CLEAR_INIT HAMI_SIZED(struct hami_clear)

/*
 * Releases a lock by hand, guarded: reads the pair, and goes on only if it is the one of the token. An owner
 * that is not bound is revoked before, as docs/protocol.md, section 6, says; then one compare-and-set of
 * this very pair removes the lock and leaves the fence's memory. A lock whose owner can't be named goes
 * without asking: whoever calls has judged it. With a permit the cover goes along that is its copy, or
 * becomes that of another pod beside, in the same write.
 * @transport borrowed; a transport without inspect or revoke: a plain compare-and-set
 * @clear     borrowed
 * Returns   0 - the lock of that pair stands no more; or:
 *           INVAL, ABI, NOMEM
 *           LOST - another pair stands there, or none: nothing was written. The text says which, with its
 *           token
 *           HELD - the owner is bound to this node and waits for Allocate, and the flag was not given; or
 *           the record covers pods beside each other that hold permits, which the text names: the lock stands
 *           NODE, ACCESS, TRANSPORT, PROTO - as the store answered; the lock stands
 *           IN_DOUBT - a write was sent and not answered, and the lock still stood afterwards: look again
 * Blocks    until it is done: at most six requests, each by its timeout
 * Threads   MT-Safe; not from a transport's own thread
 * Since     0.1
 */
HAMI_PUBLIC int hami_transport_clear(struct hami_transport *transport, const struct hami_clear *clear,
                                     struct hami_error *reterr);

#ifdef __cplusplus
}
#endif

#endif
