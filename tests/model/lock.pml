/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock protocol of docs/protocol.md on one node, for exhaustive search by spin.
 *
 * Parties: two replicas of the scheduler side, a kubelet with a device plugin, the world
 * around them (askers, deletions, late messages, other writers) and, optionally, a HAMi
 * scheduler. Each step of a party is one request to the API server, taken whole; between
 * two steps anything may happen, so that whatever a replica knows may be any older state,
 * and a paused process is one whose next step comes late.
 *
 * There is no clock: every limit may be over at any moment. So nothing that is proven here
 * rests on time, but for the assumptions that README.md lists. All lock values of ours are
 * of one second, the worst case.
 *
 * Configurations (-D NAME=number or -D NAME) and mutants (-D MUTANT_...) are listed in
 * configurations.tsv and mutants.tsv. Invariants are the assertions named in README.md.
 */

/* ---- bounds ---- */
#ifndef ASKS
#define ASKS 3 /* requests to bind, retries through either replica included */
#endif
#ifndef LATE
#define LATE 0 /* messages whose answer does not come in time, or that come twice */
#endif
#ifndef REFUSE
#define REFUSE 0 /* Bindings refused for a reason of the server's own */
#endif
#ifndef CRASH
#define CRASH 0 /* deaths of a replica */
#endif
#ifndef DELETE
#define DELETE 0 /* deletions of a pod */
#endif
#ifndef ELSEWHERE
#define ELSEWHERE 0 /* pods bound to another node */
#endif
#ifndef STRIP
#define STRIP 0 /* removals of the lease annotation by another writer */
#endif
#ifndef DEATH
#define DEATH 0 /* deaths of the kubelet between an answer and its checkpoint */
#endif
#ifndef FORGET
#define FORGET 0 /* locks that the device plugin does not release */
#endif
#ifndef FAIL
#define FAIL 0 /* ends of an Allocate that can't be written while the plugin waits */
#endif
#ifndef PLUGIN
#define PLUGIN OURS
#endif
#define OURS 0   /* the agent's handshake */
#define GUARDED 1 /* HAMi v2.10: looks again before each try of a release */
#define ONCE 2   /* HAMi v2.7 to v2.9: looks once, then removes */

/* ---- the store: pods ---- */
#define POD_A 1
#define POD_B 2
#define POD_C 3 /* A again: another pod of A's name */
#define NAME_OF(p) ((p) == POD_B -> 2 : 1)

#define ABSENT 0
#define LIVE 1
#define DELETING 2
#define GONE 3

#define UNBOUND 0
#define HERE 1
#define AWAY 2

#define PENDING 0
#define RUNNING 1
#define FINISHED 2

typedef Pod {
    unsigned life : 2;
    unsigned node : 2;
    unsigned stage : 2;
    unsigned version : 3; /* changes with each revocation: its resourceVersion */
    unsigned done : 5;    /* hami.io/mutex.done */
    bit success;          /* bind phase */
    bit failed;           /* the same; in configurations with FAIL */
    bit left;             /* devices to allocate */
    bit listed;           /* in the kubelet's checkpoint */
    bit served            /* not in the store: its last Allocate has its devices */
}
Pod pod[4];

#define EXISTS(p) (pod[p].life == LIVE || pod[p].life == DELETING)
/* Between its Binding and its last Allocate; one that says failed is not served any more. */
#define WINDOW(p)                                                                        \
    (EXISTS(p) && pod[p].node == HERE && pod[p].stage == PENDING && !pod[p].served &&    \
     !pod[p].failed)
/* The pod that has this name now. */
#define NAMED(n) ((n) == 2 -> POD_B : (pod[POD_C].life != ABSENT -> POD_C : POD_A))

/* ---- the store: the node ---- */
#define NO_LEASE 0
#define MEMORY 1 /* a fence and no more */
#define LEASE 2

/* A lock value is a name and a time. Ours are all of one second, each of HAMi's of another. */
#define VALUE_OF(p) NAME_OF(p)
#define HAMI_VALUE(p, t) (NAME_OF(p) + 4 + 4 * (t))
#define NAME_IN(v) ((v) & 3)

typedef Pair {
    unsigned lock : 4; /* 0 = none */
    unsigned kind : 2;
    unsigned fence : 5;
    unsigned uid : 2;
    unsigned holder : 3;
    unsigned attempt : 1
}
Pair node;
unsigned node_version : 5; /* its resourceVersion, in configurations with VERSION */
unsigned owner : 2;        /* not in the store: for whom the lock was written */
unsigned last_fence : 5;   /* not in the store: the last fence granted */

#ifdef MUTANT_LEASE_OF_ANOTHER_LOCK
#define HAS_LEASE(x) (x.kind == LEASE && x.lock != 0)
#else
#define HAS_LEASE(x) (x.kind == LEASE && x.lock == VALUE_OF(x.uid))
#endif
#define SAME(x, y)                                                                       \
    (x.lock == y.lock && x.kind == y.kind && x.fence == y.fence &&           \
     x.uid == y.uid && x.holder == y.holder && x.attempt == y.attempt)
#define COPY(from, to)                                                                   \
    to.lock = from.lock;                                                                 \
    to.kind = from.kind;                                                                 \
    to.fence = from.fence;                                                               \
    to.uid = from.uid;                                                                   \
    to.holder = from.holder;                                                             \
    to.attempt = from.attempt

/* ---- one message on its way ---- */
#define NO_MESSAGE 0
#define BINDING 1
#define TAKE 2
#define REMOVAL 3

unsigned message : 2;
unsigned message_pod : 2;
unsigned message_number : 5; /* a Binding's version, a take's fence */
unsigned message_holder : 3;
unsigned message_attempt : 1;
unsigned message_version : 5; /* the node version that a take tests */
Pair message_pair; /* what its tests expect */

/* ---- budgets ---- */
unsigned asks : 3 = ASKS;
unsigned late : 2;
unsigned refuse : 2;
unsigned crash : 2;
unsigned delete : 2;
unsigned elsewhere : 2;
unsigned strip : 2;
unsigned death : 2;
unsigned forget : 2;
unsigned fail : 2;
bit sweep;     /* nothing moves any more: somebody asks for the node */
bit is_over;   /* the sweep is over too */
bit died;      /* the kubelet has died */
unsigned caller : 2; /* whose Allocate is running */
#if FAIL > 0
unsigned refused_pod : 2; /* told its plugin that it gets none; that goes on behind */
bit refusal_ended;        /* since the reads of the call that is running began */
unsigned late_pod : 2;    /* whose success is still on its way */
unsigned late_done : 5;   /* and what it writes */
Pair refused_pair;        /* the lock that goes with it */
#endif
#ifdef HAMI
bit hami_binds; /* the HAMi scheduler is between its lock and the end of its bind */
#endif

/* ---- a replica ---- */
#define IDLE 0
#define HELD 1      /* granted; its Binding is not posted */
#define DOUBT 2     /* its Binding was not answered */
#define RELEASING 3 /* to be revoked */
#define HARMLESS 4  /* to be removed, or handed over */
#define HANDED 5
#define TAKING 6 /* the take was not answered */

#define NOT_ASKED 0
#define PROVEN 1
#define NOT_BOUND 2
#define REVOKED 3
#define WAITS 4

typedef Replica {
    bit known;
    Pair view; /* the pair as last seen */
    unsigned view_version : 5;
    unsigned verdict : 3; /* about the view's owner */
    unsigned judged : 2;  /* who that is, by name */
    unsigned waiter : 2;  /* whose turn it is */
    bit fit;              /* it was looked at */
    unsigned fit_version : 3;
    bit fit_new; /* by a read begun after the pair was seen */
    unsigned grant : 3;
    unsigned grant_pod : 2;
    unsigned grant_fence : 5;
    unsigned grant_version : 3;
    bit grant_attempt;
    bit shared; /* the grant was handed off by another share */
    bit left;   /* the grant stands for a record that another replica left behind */
    bit attempt;
    unsigned seen : 5; /* the highest fence seen */
    unsigned id : 3
}
Replica replica[2];

#define ME replica[r]
/* Of a record that was left behind the fence alone tells: no two grants have the same. */
#define VIEW_IS_OURS                                                                     \
    (ME.view.lock == VALUE_OF(ME.grant_pod) && ME.view.kind == LEASE &&                  \
     ME.view.fence == ME.grant_fence && ME.view.uid == ME.grant_pod &&                   \
     (ME.left || ME.view.holder == ME.id && ME.view.attempt == ME.grant_attempt))

#ifdef VERSION
#define NODE_CHANGED node_version++
#else
#define NODE_CHANGED skip
#endif

/* ---- invariants ---- */

/* Always 0: so that a failed assertion says by name what is broken. */
hidden byte property_exclusion;
hidden byte property_own_lock;
hidden byte property_lost_lock;
hidden byte property_fence;
hidden byte property_devices;
hidden byte property_innocent;
hidden byte property_stuck;
hidden byte property_left;
hidden byte property_served;

/* No lost lock: the lock of a bound, unserved owner is about to go to `to` (0 = nobody). */
inline check_not_lost(to)
{
    assert(node.lock == 0 || owner == (to) || !WINDOW(owner) || property_lost_lock)
}

inline bind_here(p)
{
#ifndef ROBBED
    /* Mutual exclusion, and never without its lock. */
    assert((p == POD_A || !WINDOW(POD_A)) && (p == POD_B || !WINDOW(POD_B)) &&
           (p == POD_C || !WINDOW(POD_C)) || property_exclusion);
    assert((node.lock != 0 && owner == p) || property_own_lock);
#endif
    pod[p].node = HERE;
    pod[p].success = 0
}

/* ---- what the store does with a request ---- */

#define BINDS_BY_UID(p) (pod[p].life == LIVE && pod[p].node == UNBOUND)
#ifdef MUTANT_BINDING_WITHOUT_VERSION
#define BINDS(p, v) BINDS_BY_UID(p)
#else
#define BINDS(p, v) (BINDS_BY_UID(p) && pod[p].version == (v))
#endif

/* A take lands. */
inline write_lock(p, fence_given, holder_id, attempt_bit)
{
    check_not_lost(p);
    assert(fence_given > last_fence || property_fence); /* it grows with each grant */
    last_fence = fence_given;
    node.lock = VALUE_OF(p);
    node.kind = LEASE;
    node.fence = fence_given;
    node.uid = p;
    node.holder = holder_id;
    node.attempt = attempt_bit;
    owner = p;
    NODE_CHANGED
}

/* The lock is removed; with_memory: the lease keeps its fence alone. */
inline erase_lock(with_memory)
{
    check_not_lost(0);
    node.lock = 0;
    owner = 0;
    if
    :: with_memory && node.kind == LEASE -> node.kind = MEMORY; node.uid = 0;
       node.holder = 0; node.attempt = 0
    :: else
    fi;
    NODE_CHANGED
}

/* ---- replica: small things ---- */

/* After any change of grant or view: what is no longer ours is over; a record of ours that
 * no grant stands for is undone. */
inline settle()
{
    if
    :: ME.grant >= RELEASING && ME.grant <= HANDED && !VIEW_IS_OURS -> ME.grant = IDLE
    :: else
    fi;
    if
    :: ME.grant == IDLE ->
       ME.grant_pod = 0; ME.grant_fence = 0; ME.grant_version = 0; ME.grant_attempt = 0;
       ME.shared = 0; ME.left = 0;
       if
       :: ME.known && HAS_LEASE(ME.view) && ME.view.holder == ME.id ->
          ME.grant = RELEASING; ME.grant_pod = ME.view.uid;
          ME.grant_fence = ME.view.fence; ME.grant_attempt = ME.view.attempt
       :: else
       fi
    :: else
    fi
}

inline forget_waiter()
{
    ME.waiter = 0;
    ME.fit = 0;
    ME.fit_version = 0;
    ME.fit_new = 0
}

inline see_pair()
{
#ifdef MUTANT_OLD_PROOF
    if
    :: NAME_IN(ME.view.lock) != NAME_IN(node.lock) -> ME.verdict = NOT_ASKED; ME.judged = 0
    :: else
    fi;
#else
    ME.verdict = NOT_ASKED;
    ME.judged = 0;
#endif
    ME.fit_new = 0;
    ME.known = 1;
    COPY(node, ME.view);
#ifdef VERSION
    ME.view_version = node_version;
    if
    :: node.fence > ME.seen -> ME.seen = node.fence
    :: else
    fi
#endif
}

#ifdef MUTANT_UNDO_WITHOUT_REVOCATION
#define UNDOING HARMLESS
#else
#define UNDOING RELEASING
#endif

/* The take is in the store. */
inline granted()
{
    if
    :: ME.waiter == ME.grant_pod -> ME.grant = HELD; forget_waiter()
    :: else -> ME.grant = UNDOING /* its waiter has left */
    fi
}

/* ---- replica: judging the view's owner, by a read of its pod ---- */

#define IS_OTHER(q) (HAS_LEASE(ME.view) && ME.view.uid != (q))
#define IS_SERVED(q, f)                                                                  \
    ((f) != 0 && pod[q].done == (f) && pod[q].success && !pod[q].left)
#ifdef MUTANT_SUCCESS_BELIEVED
#define PROOF_DONE(q) (!IS_OTHER(q) && pod[q].success && !pod[q].left)
#else
#ifdef MUTANT_DONE_OF_ANY_FENCE
#define PROOF_DONE(q) (!IS_OTHER(q) && pod[q].success && !pod[q].left && pod[q].done != 0)
#else
#define PROOF_DONE(q)                                                                    \
    (!IS_OTHER(q) && HAS_LEASE(ME.view) && IS_SERVED(q, ME.view.fence))
#endif
#endif

#ifdef MUTANT_STARTED_NOT_BELIEVED
#define PROOF_STARTED(q) false
#else
#define PROOF_STARTED(q) (pod[q].stage == RUNNING)
#endif
#ifdef MUTANT_DELETING_BELIEVED
#define PROOF_DELETING(q) (pod[q].life == DELETING)
#else
#define PROOF_DELETING(q) (pod[q].life == DELETING && pod[q].node == UNBOUND)
#endif
#ifdef MUTANT_SUCCESS_BEFORE_BOUND
#define PROOF_FIRST(q) (pod[q].success && !pod[q].left)
#else
#define PROOF_FIRST(q) false
#endif
#ifdef MUTANT_BOUND_OWNER_AGES
#define OVERDUE PROVEN
#else
#define OVERDUE WAITS
#endif

/* The pod that the lock's owner is looked up by. */
#define JUDGED NAMED(NAME_IN(ME.view.lock))
/* The truth table, in its order. */
#define JUDGEMENT(q)                                                                     \
    ((!EXISTS(q) || PROOF_FIRST(q) ||                                                    \
      (IS_OTHER(q) && !(pod[q].node == HERE && pod[q].stage == PENDING)) ||                \
      pod[q].stage == FINISHED || pod[q].node == AWAY || PROOF_DELETING(q)) -> PROVEN :    \
     (pod[q].node == UNBOUND -> NOT_BOUND :                                              \
      (PROOF_STARTED(q) || PROOF_DONE(q) -> PROVEN : OVERDUE)))

#define SOMEBODY_WAITS (ME.waiter != 0 || sweep)
#define IS_OWN_BY_NAME                                                                   \
    (ME.waiter != 0 && ME.view.lock != 0 && !HAS_LEASE(ME.view) &&                       \
     NAME_IN(ME.view.lock) == NAME_OF(ME.waiter))
#define IS_OWN                                                                           \
    (IS_OWN_BY_NAME ||                                                                   \
     (ME.waiter != 0 && HAS_LEASE(ME.view) && ME.view.uid == ME.waiter))
/* A lock without a lease is adopted by name, so the name must be this pod's by now. */
#ifdef MUTANT_ADOPTED_BY_OLD_FACTS
#define IS_KNOWN_TO_FIT (ME.fit)
#else
#define IS_KNOWN_TO_FIT (ME.fit && (!IS_OWN_BY_NAME || ME.fit_new))
#endif
#define IN_THE_WAY                                                                       \
    (ME.known && ME.view.lock != 0 && SOMEBODY_WAITS &&                                  \
     (ME.grant == IDLE && !IS_OWN ||                                                     \
      ME.grant == HANDED && ME.waiter != ME.grant_pod))

/* An owner without a lease of its own is judged by age, and 5 minutes are long enough for
 * a HAMi scheduler that lives. */
#ifdef HAMI
#define IS_OLD !hami_binds
#else
#define IS_OLD true
#endif
#ifdef MUTANT_NO_AGEING
#define LIMIT_IS_OVER HAS_LEASE(ME.view)
#else
#define LIMIT_IS_OVER (HAS_LEASE(ME.view) || IS_OLD)
#endif

inline inspect_owner()
{
    ME.judged = JUDGED;
    ME.verdict = JUDGEMENT(ME.judged);
    printf("R%d judges the lock of pod %d: %d\n", r, ME.judged, ME.verdict)
}

#ifdef MUTANT_REVOCATION_WITHOUT_TEST
#define REVOCABLE(q) EXISTS(q)
#else
#define REVOCABLE(q) (EXISTS(q) && pod[q].node == UNBOUND)
#endif
#ifdef MUTANT_REVOCATION_UNCHANGED
/* The same text again changes nothing, and the version stays. */
#define NEW_VERSION(q) 1
#else
#define NEW_VERSION(q) (pod[q].version + 1)
#endif

#define REVOKED_POD (HAS_LEASE(ME.view) -> ME.view.uid : ME.judged)

inline revoke_owner()
{
#ifdef MUTANT_TAKER_DOES_NOT_REVOKE
    ME.verdict = REVOKED
#else
    if
    :: REVOCABLE(REVOKED_POD) ->
       pod[REVOKED_POD].version =
           NEW_VERSION(REVOKED_POD);
       ME.verdict = REVOKED;
       printf("R%d revokes the owner, pod %d\n", r, ME.judged)
    :: else -> ME.verdict = NOT_ASKED
    fi
#endif
}

/* ---- replica: taking ---- */

#define MAY_SWEEP (sweep && ME.waiter == 0 && ME.view.lock != 0 && ME.grant != HARMLESS)
#define IS_FREE_TO_TAKE                                                                  \
    (ME.known && ((ME.waiter != 0 && IS_KNOWN_TO_FIT) || MAY_SWEEP) &&                             \
     ((ME.grant == IDLE && (ME.view.lock == 0 || IS_OWN || ME.verdict == PROVEN ||       \
                            ME.verdict == REVOKED)) ||                                   \
      (ME.grant == HANDED && ME.waiter != ME.grant_pod &&                                \
       (ME.verdict == PROVEN || ME.verdict == REVOKED)) ||                               \
      (ME.grant == HARMLESS)))

#define MAX2(x, y) ((x) > (y) -> (x) : (y))
#ifdef VERSION
#define NEW_FENCE (MAX2(MAX2(ME.view.fence, ME.seen), ME.view_version) + 1)
#else
#define NEW_FENCE (ME.view.fence + 1)
#endif

/* Do a patch's tests hold, whose expectations are in x? */
#ifdef VERSION
#ifdef MUTANT_SEED_WITHOUT_VERSION
#define VERSION_HOLDS(x, v) true
#else
#define VERSION_HOLDS(x, v) (x.kind != NO_LEASE || (v) == node_version)
#endif
#else
#define VERSION_HOLDS(x, v) true
#endif
#ifdef MUTANT_TAKE_TESTS_LOCK_ONLY
#define TAKE_HOLDS(x, v)                                                                 \
    (x.lock == node.lock && (x.lock == 0 || SAME(x, node)) && VERSION_HOLDS(x, v))
#else
#ifdef MUTANT_HAND_OVER_TESTS_LOCK_ONLY
#define TAKE_HOLDS(x, v)                                                                 \
    (x.lock == node.lock && (x.lock != 0 || SAME(x, node)) && VERSION_HOLDS(x, v))
#else
#define TAKE_HOLDS(x, v) (SAME(x, node) && VERSION_HOLDS(x, v))
#endif
#endif

inline set_grant()
{
    ME.grant_pod = ME.waiter;
    ME.grant_fence = NEW_FENCE;
    ME.grant_version = ME.fit_version;
    ME.grant_attempt = ME.attempt;
    ME.shared = 0;
    ME.left = 0
}

inline take()
{
    if
    :: ME.waiter == 0 -> /* the sweep: taken, and released at once */
       if
       :: TAKE_HOLDS(ME.view, ME.view_version) -> erase_lock(true);
          if
          :: node.kind == NO_LEASE -> skip
          :: else -> node.kind = MEMORY; node.uid = 0; node.holder = 0; node.attempt = 0
          fi;
          printf("R%d frees the node\n", r)
       :: else
       fi;
       see_pair();
       ME.grant = IDLE;
       settle()
    :: ME.waiter != 0 && TAKE_HOLDS(ME.view, ME.view_version) ->
       set_grant();
       printf("R%d takes for pod %d, fence %d\n", r, ME.waiter, ME.grant_fence);
       write_lock(ME.grant_pod, ME.grant_fence, ME.id, ME.grant_attempt);
       if
       :: true -> see_pair(); granted()
       :: late > 0 -> late--; ME.grant = TAKING; printf("   no answer\n")
       fi
    :: ME.waiter != 0 && !TAKE_HOLDS(ME.view, ME.view_version) ->
       see_pair();
       ME.grant = (ME.grant == HARMLESS || ME.grant == HANDED -> ME.grant : IDLE);
       settle()
    :: ME.waiter != 0 && late > 0 && message == NO_MESSAGE -> /* it may land later */
       late--;
       set_grant();
       printf("R%d takes for pod %d, fence %d: on its way\n", r, ME.waiter,
              ME.grant_fence);
       message = TAKE;
       message_pod = ME.grant_pod;
       message_number = ME.grant_fence;
       message_holder = ME.id;
       message_attempt = ME.grant_attempt;
       COPY(ME.view, message_pair);
       message_version = ME.view_version;
       ME.attempt = 1 - ME.attempt;
       ME.grant = TAKING
    fi
}

/* ---- replica: binding, releasing ---- */

/* What the holder does when its Binding was refused. */
inline refused()
{
    if
    :: ME.shared -> ME.grant = HANDED
    :: else ->
#ifdef MUTANT_NO_REVOCATION_AFTER_REFUSAL
       ME.grant = HARMLESS
#else
       ME.grant = RELEASING
#endif
    fi
}

inline post_binding()
{
    if
    :: BINDS(ME.grant_pod, ME.grant_version) ->
       printf("R%d binds pod %d\n", r, ME.grant_pod);
       bind_here(ME.grant_pod);
       if
       :: true -> ME.grant = HANDED
       :: late > 0 -> late--; ME.grant = DOUBT; printf("   no answer\n")
       fi
    :: !BINDS(ME.grant_pod, ME.grant_version) ->
       if
       :: EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == HERE -> ME.grant = HANDED
#ifdef MUTANT_BINDING_SENT_AGAIN
       :: pod[ME.grant_pod].life == LIVE && pod[ME.grant_pod].node == UNBOUND ->
          ME.grant_version = pod[ME.grant_pod].version
#endif
       :: !(EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == HERE) ->
          printf("R%d: the Binding of pod %d is refused\n", r, ME.grant_pod);
          refused()
       fi
    :: refuse > 0 ->
       refuse--;
       printf("R%d: the Binding of pod %d is refused for good\n", r, ME.grant_pod);
       if
       :: true
       :: late > 0 && message == NO_MESSAGE -> /* another copy is on its way */
          late--;
          message = BINDING;
          message_pod = ME.grant_pod;
          message_number = ME.grant_version;
          printf("   and a copy is on its way\n")
       fi;
       refused()
    :: late > 0 && message == NO_MESSAGE ->
       late--;
       message = BINDING;
       message_pod = ME.grant_pod;
       message_number = ME.grant_version;
       printf("R%d: the Binding of pod %d is on its way\n", r, ME.grant_pod);
       ME.grant = DOUBT
    fi;
    settle()
}

/* The read of the pod after a Binding without an answer. */
inline resolve_binding()
{
    if
    :: ME.shared || (EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == HERE) ->
       ME.grant = HANDED
    :: !ME.shared && EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == UNBOUND ->
       ME.grant = HANDED /* still in doubt: the daemon */
    :: !ME.shared && !(EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == HERE) ->
#ifdef MUTANT_NO_REVOCATION_AFTER_DOUBT
       ME.grant = HARMLESS;
#else
       ME.grant = RELEASING; /* an embedder that gives up, or a pod that is lost */
#endif
       printf("R%d gives up pod %d\n", r, ME.grant_pod)
    fi;
    settle()
}

/* The holder's own revocation, before it removes its lock. */
inline revoke_own()
{
    if
    :: EXISTS(ME.grant_pod) && pod[ME.grant_pod].node == UNBOUND ->
       pod[ME.grant_pod].version = NEW_VERSION(ME.grant_pod);
       printf("R%d revokes its own pod %d\n", r, ME.grant_pod);
       ME.grant = HARMLESS;
       if
       :: ME.waiter == ME.grant_pod -> ME.fit = 0; ME.fit_version = 0; ME.fit_new = 0
       :: else
       fi
    :: else ->
#ifdef MUTANT_BOUND_NOT_HANDED_OFF
       ME.grant = HARMLESS
#else
       if
       :: EXISTS(NAMED(NAME_OF(ME.grant_pod))) &&
          pod[NAMED(NAME_OF(ME.grant_pod))].node == HERE &&
          pod[NAMED(NAME_OF(ME.grant_pod))].stage == PENDING &&
          !(pod[ME.grant_pod].life != GONE && IS_SERVED(ME.grant_pod, ME.grant_fence)) ->
          ME.grant = HANDED
       :: else -> ME.grant = HARMLESS
       fi
#endif
    fi;
    settle()
}

#ifdef MUTANT_RELEASE_WITHOUT_TEST
#define REMOVAL_HOLDS (node.lock != 0 && NAME_IN(node.lock) == NAME_OF(ME.grant_pod))
#else
#define REMOVAL_HOLDS                                                                    \
    (node.lock == VALUE_OF(ME.grant_pod) && node.kind == LEASE &&                        \
     node.fence == ME.grant_fence && node.uid == ME.grant_pod &&                         \
     (ME.left || node.holder == ME.id && node.attempt == ME.grant_attempt))
#endif

/* ---- replica: a record that another one left behind ---- */

/* What stays true of a pod whatever comes: it has no Allocate to come under this lock. */
#define IS_FINAL(q, f)                                                                   \
    (EXISTS(q) && (pod[q].stage == FINISHED || pod[q].stage == RUNNING ||                \
                   pod[q].node == AWAY || (pod[q].life == DELETING &&                    \
                                           pod[q].node == UNBOUND) ||                    \
                   IS_SERVED(q, f)))
#ifdef MUTANT_LEFT_BEHIND_WHILE_BINDING
#define IS_PAST(q, f) (IS_FINAL(q, f) || EXISTS(q) && pod[q].node == UNBOUND)
#else
#ifdef MUTANT_LEFT_BEHIND_WHILE_ALLOCATING
#define IS_PAST(q, f) (IS_FINAL(q, f) || pod[q].node == HERE)
#else
#define IS_PAST(q, f) IS_FINAL(q, f)
#endif
#endif
#ifdef MUTANT_LEFT_BEHIND_STAYS
#define IS_LEFT_BEHIND false
#else
/* Nobody waits who would take it over. */
#define IS_LEFT_BEHIND                                                                   \
    (ME.known && ME.grant == IDLE && ME.waiter == 0 && !sweep && HAS_LEASE(ME.view) &&   \
     ME.view.holder != ME.id && IS_PAST(ME.view.uid, ME.view.fence))
#endif

/* No Binding of its owner can succeed any more, so that nothing has to be revoked. */
inline adopt_left_behind()
{
    ME.left = 1;
    ME.grant_pod = ME.view.uid;
    ME.grant_fence = ME.view.fence;
    ME.grant = HARMLESS;
    printf("R%d finds the lock of pod %d left behind\n", r, ME.grant_pod)
}

inline remove_own()
{
    if
    :: REMOVAL_HOLDS ->
       printf("R%d removes its lock of pod %d\n", r, ME.grant_pod);
       erase_lock(true)
    :: else
    fi;
    see_pair();
    settle()
}

/* ---- replica ---- */

inline start_again()
{
    crash--;
    ME.known = 0;
    ME.view.lock = 0; ME.view.kind = 0; ME.view.fence = 0; ME.view.uid = 0;
    ME.view.holder = 0; ME.view.attempt = 0; ME.view_version = 0;
    ME.verdict = 0; ME.judged = 0; ME.seen = 0; ME.attempt = 0;
    forget_waiter();
    ME.grant = IDLE;
    ME.id = ME.id + 2;
    settle();
    printf("R%d dies and starts again\n", r)
}

#ifdef LEFT
#define LOOKS true /* a watch needs nobody who waits */
#else
#define LOOKS SOMEBODY_WAITS
#endif

proctype Scheduler(bit r)
{
    do
    /* It looks at the node: by a watch or a read, whenever that comes. */
    :: atomic { !is_over && LOOKS && (!ME.known || !SAME(ME.view, node)
#ifdef VERSION
                || (ME.view.kind == NO_LEASE && ME.view_version != node_version)
#endif
               ) && ME.grant != TAKING -> see_pair(); settle() }
    :: atomic { ME.grant >= HELD && ME.grant <= HANDED && ME.known &&
                !SAME(ME.view, node) -> see_pair(); settle() }
    /* A take without an answer is settled by a read of the whole record. */
    :: atomic { ME.grant == TAKING -> see_pair();
        if
        :: VIEW_IS_OURS -> granted()
        :: else -> ME.grant = IDLE
        fi;
        settle() }
    /* Its waiter's pod is looked at. */
    :: atomic { ME.waiter != 0 && !IS_KNOWN_TO_FIT && ME.grant != TAKING ->
        if
        :: pod[ME.waiter].life == LIVE && pod[ME.waiter].node == UNBOUND ->
           ME.fit = 1; ME.fit_version = pod[ME.waiter].version;
           ME.fit_new = ME.known && IS_OWN_BY_NAME
        :: else -> forget_waiter()
        fi }
    /* The same pod asks again: a share of the grant that was handed off. */
    :: atomic { ME.waiter != 0 && ME.grant == HANDED && ME.waiter == ME.grant_pod ->
        forget_waiter(); ME.grant = HELD; ME.shared = 1 }
    :: atomic { IN_THE_WAY && ME.verdict != PROVEN && ME.verdict != REVOKED &&
                (JUDGEMENT(JUDGED) != ME.verdict || ME.judged != JUDGED) ->
        inspect_owner() }
    :: atomic { IN_THE_WAY && ME.verdict == NOT_BOUND && LIMIT_IS_OVER -> revoke_owner() }
    :: atomic { IS_FREE_TO_TAKE -> take() }
    :: atomic { ME.grant == HELD -> post_binding() }
    :: atomic { ME.grant == DOUBT -> resolve_binding() }
    :: atomic { ME.grant == RELEASING -> revoke_own() }
    :: atomic { ME.grant == HARMLESS -> remove_own() }
#ifdef LEFT
    :: atomic { IS_LEFT_BEHIND -> adopt_left_behind() }
#endif
    :: atomic { crash > 0 && (ME.grant != IDLE || ME.waiter != 0) -> start_again() }
    :: atomic { is_over -> break }
    od
}

/* ---- kubelet and device plugin: one Allocate at a time ---- */

#define MAY_BE_ADMITTED(p)                                                               \
    (EXISTS(p) && pod[p].node == HERE && pod[p].stage == PENDING && !pod[p].listed)

#ifdef MUTANT_SERVED_NOT_COUNTED
#define MAY_CALL(p) (MAY_BE_ADMITTED(p) && pod[p].left)
#else
/* Also one that was served and that the kubelet does not list as having devices. */
#ifdef MUTANT_REFUSED_IS_NO_CALLER
#define MAY_CALL(p) (MAY_BE_ADMITTED(p) && !pod[p].failed)
#else
#define MAY_CALL(p) MAY_BE_ADMITTED(p)
#endif
#endif

#if FAIL > 0
#ifdef MUTANT_REFUSED_IS_SERVED
#define IS_BEING_REFUSED(p) false
#else
#define IS_BEING_REFUSED(p) (refused_pod == (p))
#endif
#else
#define IS_BEING_REFUSED(p) false
#endif
/* A refusal that ended while the call was reading may have begun before it: read again. */
#if FAIL > 0
#define START_OF_READS refusal_ended = 0
#ifdef MUTANT_REFUSAL_ENDS_UNSEEN
#define READS_ARE_OLD false
#else
#define READS_ARE_OLD refusal_ended
#endif
#else
#define START_OF_READS skip
#define READS_ARE_OLD false
#endif
#define CALLERS (MAY_CALL(POD_A) + MAY_CALL(POD_B) + MAY_CALL(POD_C))
#define ANY_CALLER (MAY_CALL(POD_A) -> POD_A : (MAY_CALL(POD_B) -> POD_B : POD_C))

inline admission_fails()
{
    /* Nobody who did all right is refused. */
#ifndef ROBBED
    assert(died || !pod[caller].left || pod[caller].failed || FAIL > fail ||
           property_innocent);
#endif
    printf("kubelet: pod %d fails\n", caller);
    pod[caller].stage = FINISHED;
    caller = 0
}

inline give_devices(p)
{
    assert(p == caller || property_devices); /* no pod gets another's devices */
    printf("plugin: devices of pod %d for pod %d\n", p, caller)
}

#if PLUGIN == OURS
inline plugin_release()
{
    if
#ifdef MUTANT_PLUGIN_RELEASE_WITHOUT_TEST
    :: node.lock != 0 -> erase_lock(HAS_LEASE(node))
#endif
    :: SAME(pair, node) && node.lock != 0 -> erase_lock(HAS_LEASE(node))
    :: !SAME(pair, node) && node.lock != 0 && HAS_LEASE(node) && node.uid == served ->
       erase_lock(true)
    :: !SAME(pair, node) && node.lock != 0 && !HAS_LEASE(node) &&
       NAME_IN(node.lock) == NAME_OF(served) && NAMED(NAME_OF(served)) == served ->
       erase_lock(false)
    :: else
    fi
}

/* Success is written under the very lock that was read. */
inline check_served()
{
#ifdef SERVED_IS_CHECKED
    assert(!HAS_LEASE(pair) || (node.lock != 0 && owner == served) || property_served)
#else
    skip
#endif
}

#if FAIL > 0
/*
 * The plugin is told that the end could not be written. It may ask again, as one does whose
 * agent is away; phase failed and the release go on behind, in the process Refusal. The
 * success that was sent may land as late as it likes.
 */
inline refuse_behind()
{
    fail--;
    refused_pod = served;
    COPY(pair, refused_pair);
    printf("plugin: pod %d is to be refused\n", served);
    if
    :: true
    :: true -> late_pod = served; late_done = (HAS_LEASE(pair) -> pair.fence : 0)
    fi;
    if
    :: true -> caller = 0 /* asks again */
    :: true -> admission_fails()
    fi
}

inline land_late_success()
{
    printf("the late success of pod %d lands\n", late_pod);
    if
#ifdef MUTANT_LATE_SUCCESS
    :: EXISTS(late_pod) && pod[late_pod].left ->
#else
    :: EXISTS(late_pod) && pod[late_pod].left && !pod[late_pod].failed ->
#endif
       assert(node.lock != 0 && owner == late_pod || pod[late_pod].stage == FINISHED ||
              property_served);
       pod[late_pod].left = 0;
       pod[late_pod].success = 1;
       pod[late_pod].failed = 0;
       pod[late_pod].served = 1;
       pod[late_pod].done = late_done
    :: else
    fi;
    late_pod = 0;
    late_done = 0
}

proctype Refusal()
{
    unsigned freed : 2; /* of which the lock is gone */

    do
    :: atomic { refused_pod != 0 && freed == 0 && !pod[refused_pod].failed &&
                EXISTS(refused_pod) ->
        pod[refused_pod].failed = 1; pod[refused_pod].success = 0;
        printf("plugin: phase failed on pod %d\n", refused_pod) }
#ifdef MUTANT_FREED_BEFORE_FAILED
    :: atomic { refused_pod != 0 && freed == 0 ->
#else
    :: atomic { refused_pod != 0 && freed == 0 &&
                (pod[refused_pod].failed || !EXISTS(refused_pod)) ->
#endif
        if
        :: SAME(refused_pair, node) && node.lock != 0 && EXISTS(refused_pod) ->
           printf("plugin: the lock of pod %d goes\n", refused_pod);
           node.lock = 0; owner = 0; node.kind = MEMORY; node.uid = 0; node.holder = 0;
           node.attempt = 0; NODE_CHANGED
        :: else
        fi;
        freed = refused_pod }
    :: atomic { late_pod != 0 -> land_late_success() }
    :: atomic { freed != 0 -> freed = 0; refused_pod = 0; refusal_ended = 1;
        refused_pair.lock = 0; refused_pair.kind = 0; refused_pair.fence = 0;
        refused_pair.uid = 0; refused_pair.holder = 0; refused_pair.attempt = 0 }
    :: atomic { is_over -> break }
    od
}
#endif

/* One that was refused may be the caller as well, but is not served. */
inline read_callers()
{
    callers = CALLERS;
    served = ANY_CALLER;
    if
    :: callers == 1 && pod[served].failed -> callers = 0
    :: else
    fi
}

inline plugin_allocate()
{
    /* Two reads, begun after the call. */
    if
    :: atomic { true -> START_OF_READS; read_callers() };
       atomic { true -> COPY(node, pair) }
    :: atomic { true -> START_OF_READS; COPY(node, pair) };
       atomic { true -> read_callers() }
    fi;
    atomic {
#ifdef MUTANT_LOCK_ALONE
        if
        :: pair.lock != 0 -> served = NAMED(NAME_IN(pair.lock)); callers = 1
        :: else
        fi;
#endif
        if
        :: READS_ARE_OLD -> goto reads
        :: !READS_ARE_OLD &&
           (callers != 1 || IS_BEING_REFUSED(served) ||
            (HAS_LEASE(pair) && pair.uid != served) ||
            (pair.lock != 0 && NAME_IN(pair.lock) != NAME_OF(served))) ->
           admission_fails();
           goto next
        :: else -> give_devices(served)
        fi
    };
#ifdef MUTANT_FREED_BEFORE_WRITTEN
    atomic { true -> plugin_release() };
#endif
    atomic {
        if
        :: EXISTS(served) ->
           check_served();
           pod[served].left = 0;
           pod[served].success = 1;
           pod[served].failed = 0;
           pod[served].served = 1;
           pod[served].done = (HAS_LEASE(pair) -> pair.fence : 0)
#if FAIL > 0
        :: EXISTS(served) && fail > 0 && refused_pod == 0 -> refuse_behind(); goto next
#endif
        :: !EXISTS(served) -> admission_fails(); goto next
        fi
    };
    atomic {
        if
        :: true -> plugin_release()
        :: forget > 0 -> forget--; printf("plugin: the lock is not released\n")
        :: late > 0 && message == NO_MESSAGE && pair.lock != 0 ->
           late--;
           message = REMOVAL;
           COPY(pair, message_pair)
        fi
    }
}
#else
inline plugin_allocate()
{
    atomic {
        if
        :: node.lock != 0 && EXISTS(NAMED(NAME_IN(node.lock))) ->
           served = NAMED(NAME_IN(node.lock))
        :: node.lock == 0 && CALLERS > 0 -> served = ANY_CALLER
        :: else -> admission_fails(); goto next
        fi;
        give_devices(served)
    };
    atomic { true -> pod[served].left = 0; pod[served].served = 1 };
    atomic { true -> pod[served].success = 1 };
    atomic {
        if
        :: forget > 0 -> forget--; pair.lock = 0; printf("plugin: the lock is not released\n")
        :: true -> pair.lock = (NAME_IN(node.lock) == NAME_OF(served) -> node.lock : 0)
        fi
    };
#if PLUGIN == GUARDED
    /* The try that succeeds looked at the version that it changed. */
    atomic { true ->
        if
        :: pair.lock != 0 && node.lock != 0 && NAME_IN(node.lock) == NAME_OF(served) ->
           erase_lock(false)
        :: else
        fi }
#else
    atomic { true ->
        if
        :: pair.lock != 0 && node.lock != 0 -> erase_lock(false)
        :: else
        fi }
#endif
}
#endif

proctype Kubelet()
{
    Pair pair;
    unsigned callers : 2;
    unsigned served : 2;

next:
    atomic { pair.lock = 0; pair.kind = 0; pair.fence = 0; pair.uid = 0; pair.holder = 0;
             pair.attempt = 0; callers = 0; served = 0 };
    do
    :: atomic {
        if
        :: MAY_BE_ADMITTED(POD_A) -> caller = POD_A
        :: MAY_BE_ADMITTED(POD_B) -> caller = POD_B
        :: MAY_BE_ADMITTED(POD_C) -> caller = POD_C
        fi;
        printf("kubelet: Allocate of pod %d\n", caller) };
reads: plugin_allocate();
       atomic {
        if
        :: true -> pod[caller].listed = 1
        :: death > 0 -> death--; died = 1; printf("kubelet dies\n")
        fi;
        caller = 0;
        goto next }
    :: atomic { pod[POD_A].listed && pod[POD_A].stage == PENDING -> pod[POD_A].stage = RUNNING }
    :: atomic { pod[POD_B].listed && pod[POD_B].stage == PENDING -> pod[POD_B].stage = RUNNING }
    :: atomic { pod[POD_C].listed && pod[POD_C].stage == PENDING -> pod[POD_C].stage = RUNNING }
    :: atomic { is_over -> break }
    od
}

/* ---- the world ---- */

inline deliver()
{
    if
    :: message == BINDING && BINDS(message_pod, message_number) ->
       printf("the late Binding of pod %d lands\n", message_pod);
       bind_here(message_pod)
    :: message == TAKE && TAKE_HOLDS(message_pair, message_version) ->
       printf("the late take for pod %d lands\n", message_pod);
       write_lock(message_pod, message_number, message_holder, message_attempt)
    :: message == REMOVAL && SAME(message_pair, node) && node.lock != 0 ->
       erase_lock(HAS_LEASE(node))
    :: else
    fi;
    message = NO_MESSAGE;
    message_pod = 0; message_number = 0; message_holder = 0; message_attempt = 0;
    message_version = 0;
    message_pair.lock = 0; message_pair.kind = 0; message_pair.fence = 0;
    message_pair.uid = 0; message_pair.holder = 0; message_pair.attempt = 0
}

#ifdef HAMI
#define IS_OURS(p) ((p) != HAMI)
#else
#define IS_OURS(p) true
#endif
/* Somebody asks replica n to bind p; whoever waited there has left. */
#define MAY_ASK(n, p)                                                                    \
    (asks > 0 && IS_OURS(p) && pod[p].life == LIVE && pod[p].node == UNBOUND &&          \
     replica[n].waiter != (p))

inline ask(n, p)
{
    asks--;
    replica[n].waiter = p;
    replica[n].fit = 0;
    replica[n].fit_version = 0;
    replica[n].fit_new = 0;
    printf("R%d is asked to bind pod %d\n", n, p)
}

inline delete_pod(p)
{
    delete--;
    printf("pod %d is deleted\n", p);
    pod[p].life = DELETING
}

inline pod_goes(p)
{
    printf("pod %d is gone\n", p);
    pod[p].life = GONE
}

#define HAS_GONE_ON(p) (pod[p].life == DELETING && caller != (p))

proctype World()
{
    do
    :: atomic { MAY_ASK(0, POD_A) -> ask(0, POD_A) }
    :: atomic { MAY_ASK(1, POD_A) && asks < ASKS -> ask(1, POD_A) }
    :: atomic { MAY_ASK(0, POD_B) -> ask(0, POD_B) }
    :: atomic { MAY_ASK(1, POD_B) && asks < ASKS -> ask(1, POD_B) }
#if DELETE > 0
    :: atomic { MAY_ASK(0, POD_C) -> ask(0, POD_C) }
    :: atomic { MAY_ASK(1, POD_C) -> ask(1, POD_C) }
    :: atomic { delete > 0 && pod[POD_A].life == LIVE -> delete_pod(POD_A) }
    :: atomic { delete > 0 && pod[POD_B].life == LIVE -> delete_pod(POD_B) }
    :: atomic { HAS_GONE_ON(POD_A) -> pod_goes(POD_A) }
    :: atomic { HAS_GONE_ON(POD_B) -> pod_goes(POD_B) }
    :: atomic { pod[POD_A].life == GONE && pod[POD_C].life == ABSENT ->
        pod[POD_C].life = LIVE; printf("pod 3 is created, by the name of pod 1\n") }
#endif
    :: atomic { message != NO_MESSAGE -> deliver() }
#if ELSEWHERE > 0
    :: atomic { elsewhere > 0 && pod[POD_A].life == LIVE && pod[POD_A].node == UNBOUND ->
        elsewhere--; pod[POD_A].node = AWAY; printf("pod 1 is bound to another node\n") }
#endif
#if STRIP > 0
    :: atomic { strip > 0 && node.kind != NO_LEASE ->
        strip--; node.kind = NO_LEASE; node.fence = 0; node.uid = 0; node.holder = 0;
        node.attempt = 0; NODE_CHANGED; printf("somebody removes the lease\n") }
#endif
    /* Nothing can move: whoever asks now must get the node. */
    :: timeout ->
        if
        :: atomic { !sweep ->
#ifdef LEFT
            /* Nobody waits: what was left behind is gone all the same. */
            assert(!HAS_LEASE(node) || !IS_FINAL(node.uid, node.fence) || property_left);
#endif
            sweep = 1 }
        :: atomic { sweep -> /* No lock is left for ever, and nobody waits for ever. */
            assert(node.lock == 0 && replica[0].waiter == 0 && replica[1].waiter == 0 ||
                   property_stuck);
            is_over = 1; break }
        fi
    od
}

#ifdef HAMI
#ifdef HAMI_SETS_ONCE
#define HAMI_MAY_SET true /* up to v2.9: the retry does not look again */
#else
#define HAMI_MAY_SET (node.lock == 0)
#endif

/* A HAMi scheduler that binds the pod HAMI, and no other. */
proctype HamiScheduler()
{
    unsigned old : 4;
    unsigned tries : 2 = 2; /* binds; each in another second */
again:
    do
    :: atomic { tries > 0 && pod[HAMI].life == LIVE && pod[HAMI].node == UNBOUND ->
        tries--;
        if
        :: node.lock == 0 -> goto set
        :: node.lock != 0 && !EXISTS(NAMED(NAME_IN(node.lock))) ->
           old = node.lock; goto dangling
        :: else /* contention */
        fi }
    :: atomic { is_over -> goto finish }
    od;
dangling:
    /* The owner's pod was not found: its lock is removed if it is still that value. */
    atomic { true ->
        if
        :: node.lock == old -> erase_lock(false); printf("HAMi removes a dangling lock\n")
        :: else
        fi;
        old = 0 };
set:
    atomic { true ->
        if
        :: HAMI_MAY_SET ->
           node.lock = HAMI_VALUE(HAMI, tries);
           owner = HAMI;
           hami_binds = 1;
           NODE_CHANGED;
           printf("HAMi locks for pod %d\n", HAMI)
        :: else -> goto again
        fi };
    atomic { true ->
        if
        :: BINDS_BY_UID(HAMI) -> printf("HAMi binds pod %d\n", HAMI); bind_here(HAMI)
        :: crash > 0 -> crash--; tries = 0; printf("HAMi dies\n")
        :: refuse > 0 -> refuse--; goto failed
        :: !BINDS_BY_UID(HAMI) -> goto failed
        fi;
        hami_binds = 0;
        goto again };
failed:
    /* Released by name. */
    atomic { true ->
        if
        :: node.lock != 0 && NAME_IN(node.lock) == NAME_OF(HAMI) -> erase_lock(false)
        :: else
        fi;
        hami_binds = 0;
        goto again };
finish:
    skip
}
#endif

init
{
    atomic {
        pod[POD_A].life = LIVE; pod[POD_A].left = 1;
        pod[POD_B].life = LIVE; pod[POD_B].left = 1;
        pod[POD_C].left = 1;
#ifdef COPIED
        /* Its annotations were copied from a pod that was served. */
        pod[POD_A].left = 0; pod[POD_A].success = 1; pod[POD_A].done = 1;
#endif
#ifdef VERSION
        node_version = 1;
#else
        node.kind = MEMORY; node.fence = 1; last_fence = 1;
#endif
        replica[0].id = 1;
        replica[1].id = 2;
        /* Budgets smaller than the greatest are part of each configuration: so what is
         * stuck shows although a fault is left. */
        select(late : 0 .. LATE);
        select(refuse : 0 .. REFUSE);
        select(crash : 0 .. CRASH);
        select(delete : 0 .. DELETE);
        select(elsewhere : 0 .. ELSEWHERE);
        select(strip : 0 .. STRIP);
        select(death : 0 .. DEATH);
        select(forget : 0 .. FORGET);
        select(fail : 0 .. FAIL);
        run Scheduler(0);
        run Scheduler(1);
        run Kubelet();
        run World();
#if FAIL > 0
        run Refusal();
#endif
#ifdef HAMI
        run HamiScheduler();
#endif
    }
}
