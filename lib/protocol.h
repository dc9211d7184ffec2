/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protocol's decisions as pure functions: no clock, no thread, no I/O.
 * docs/protocol.md has the same as prose and tables.
 */
#ifndef HAMI_LIB_PROTOCOL_H
#define HAMI_LIB_PROTOCOL_H

#include <hami/handshake.h>
#include <hami/nodelock.h>

/* Value of HAMI_HANDSHAKE_AGENT_KEY on a node whose locks the scheduler side frees. */
#define HAMI_INTERNAL_FREE_BY_SCHEDULER "1,free=scheduler"
/* Likewise, and where its node side finds each call's pod: pods may be beside each other.
 */
#define HAMI_INTERNAL_SIDE_BY_SIDE "1,free=scheduler,side-by-side"

/* Why a lock that stands in the way may be taken, or may not yet. */
enum hami_internal_reason {
    REASON_NONE = 0,
    /* proofs that the owner can no longer call Allocate under this lock */
    REASON_FREE,
    REASON_OWN, /* the asker's own lock, of another process or without a lease */
    REASON_GONE,
    REASON_OTHER_UID,
    REASON_FINISHED,
    REASON_BOUND_ELSEWHERE,
    REASON_DELETED_UNBOUND,
    REASON_STARTED,
    REASON_DONE,
    REASON_REVOKED, /* unbound past its limit, and no Binding can succeed any more */
    REASON_AGE,
    /* why it is waited for */
    REASON_NOT_ASKED,  /* facts about the owner are needed first */
    REASON_NOT_KNOWN,  /* they could not be learned */
    REASON_BINDING,    /* unbound, within its hold limit */
    REASON_ALLOCATING, /* bound here, Allocate is still to come */
    REASON_OVERDUE,    /* likewise, and past its age: an alarm */
    REASON_AGEING      /* can't be judged otherwise, and not old enough */
};

/* The reason in words, for errors, logs and snapshots; never NULL. */
const char *hami_internal_protocol_reason_text(enum hami_internal_reason reason);

/* A proof in one word of a closed list, for counts; "" for other reasons. */
const char *hami_internal_protocol_reason_word(enum hami_internal_reason reason);

enum hami_internal_verdict {
    VERDICT_TAKE = 0, /* one guarded write may replace the pair */
    VERDICT_REVOKE,   /* revoke the owner's Bindings first, then judge again */
    VERDICT_ASK,      /* inspect the owner first */
    VERDICT_WAIT      /* nothing to do before next_ns or news */
};

struct hami_internal_judge_input {
    const struct hami_lock_record *record;
    const char *node;
    const struct hami_owner_facts
        *facts;   /* of the record's owner, from an inspect or revoke begun
                     after the pair was seen, or final facts of a watch; NULL */
    bool revoked; /* we wrote a revocation since the pair is seen */
    bool can_inspect, can_revoke;
    bool expire_bound; /* HAMI_NODELOCK_EXPIRE_BOUND_OWNERS */
    uint64_t first_seen_ns, now_ns;
    uint64_t expire_ns, hold_limit_ns;
};

struct hami_internal_judgement {
    enum hami_internal_verdict verdict;
    enum hami_internal_reason reason;
    uint64_t next_ns; /* WAIT: when time alone changes the verdict; UINT64_MAX = never */
};

/*
 * Judges a pair that stands in a waiter's way. Total: every input has a verdict.
 */
void hami_internal_protocol_judge(const struct hami_internal_judge_input *input,
                                  struct hami_internal_judgement *ret);

/*
 * True if the lock is the asker's own: its lease says the asker's uid; or it has no lease
 * and names the asker's pod (whose uid was checked against the API by then).
 */
bool hami_internal_protocol_is_own(const struct hami_lock_record *record,
                                   const char *namespace_name, const char *name,
                                   const char *uid);

/* What a read shows of a grant's pair. */
enum hami_internal_standing {
    STANDING_OURS = 0, /* lock and lease are the grant's, byte for byte */
    STANDING_ABSENT,   /* no lock */
    STANDING_OTHER
};
enum hami_internal_standing hami_internal_protocol_compare(const char *lock,
                                                           const char *lease,
                                                           const char *our_lock,
                                                           const char *our_lease);

/* What a release has to do once the owner's facts are known. */
enum hami_internal_release {
    RELEASE_REMOVE = 0, /* no Allocate can come under this lock any more */
    RELEASE_REVOKE,     /* unbound: revoke first */
    RELEASE_HAND_OFF    /* bound here and not served: the node side releases */
};
/*
 * @facts    known facts about the pod that has the owner's name
 * @uid      the grant's owner
 * @fence    the grant's fence
 * @revoked  facts are those after our own revocation
 */
enum hami_internal_release
hami_internal_protocol_release(const struct hami_owner_facts *facts, const char *uid,
                               const char *node, uint64_t fence, bool revoked);

/*
 * May this owner still get a lock? Returns NULL if so, else the reason in words.
 */
const char *hami_internal_protocol_unfit(const struct hami_owner_facts *facts,
                                         const char *uid, const char *node);

/* True if this lock is the scheduler side's to free, and its node side has served its pod
 * under it: to take it is no takeover but what both sides agreed upon. */
bool hami_internal_protocol_is_done(const struct hami_lock_record *record,
                                    const struct hami_owner_facts *facts,
                                    const char *node);

/* True if news from a watch is a proof by itself, however old it is. */
bool hami_internal_protocol_is_final(const struct hami_owner_facts *facts,
                                     const char *uid, const char *node, uint64_t fence);

/* A version as a number; 0 if it isn't one (or absent). */
uint64_t hami_internal_protocol_version_number(const char *version);

/*
 * The next fence: above all of these.
 * @last            fence memory in the lease annotations to be replaced
 * @seen            largest fence seen on the node
 * @version_number  of the node; 0 = not a number
 * @server_time_us  used where the version is no number
 */
uint64_t hami_internal_protocol_next_fence(uint64_t last, uint64_t seen,
                                           uint64_t version_number,
                                           uint64_t server_time_us);

#endif
