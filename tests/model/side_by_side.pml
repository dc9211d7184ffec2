/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods beside each other on one node: docs/protocol.md section 11, for exhaustive search by
 * spin. What lock.pml has shown of one lock (Bindings that come late, names that are used
 * again, HAMi's plugins) is not shown again.
 *
 * Parties: two managers, a kubelet with the node side, the world (late messages, deletions,
 * the mark that goes and comes) and, optionally, a HAMi scheduler that knows the cover alone
 * or a node side that goes by the lock's name.
 *
 * A manager looks at the node once for each write, and plans it from that. What it knows of
 * the owners comes from later looks, and the write lands at any later time: so a view that
 * lags, a paused process and a slow request are all one thing here, the time between plan and
 * landing. There is no clock: any limit may be over at any moment.
 *
 * The calls of a pod are a set of bits; bounds, pods and mutants (-D ...) are listed in
 * configurations.tsv and mutants.tsv. Invariants are the assertions named in README.md.
 */

/* ---- bounds ---- */
#ifndef PERMITS
#define PERMITS 2
#endif
#ifndef LATE
#define LATE 0 /* writes that land after their sender gave up, or whose waiter has left */
#endif
#ifndef CRASH
#define CRASH 0 /* deaths of a manager */
#endif
#ifndef DELETE
#define DELETE 0 /* deletions of a pod */
#endif
#ifndef MARK
#define MARK 0 /* how often the node's mark goes or comes */
#endif
/* Pods 1 to 4: their calls, and which of them can come beside nobody. */
#ifdef DISTINCT
#define CALLS(p) ((p) == 3 -> 4 : ((p) == 4 -> 7 : (p))) /* three distinct ones, and all */
#else
#define CALLS(p) ((p) == 3 -> 2 : ((p) == 4 -> 3 : 1)) /* two equal, a distinct one, and all */
#endif
#ifndef EXCLUSIVE
#define EXCLUSIVE 8 /* bits of pods */
#endif
/* Which pods each manager is asked to bind; the first of them is the oldest waiter, or the
 * last one is. */
#ifndef ASKED0
#define ASKED0 7
#endif
#ifndef ASKED1
#define ASKED1 10
#endif
/* Pod that a HAMi scheduler binds, and nobody else; 0 = there is none. */
#ifndef HAMI
#define HAMI 0
#endif

#define PODS 4
#define BIT(p) (1 << ((p) - 1))

/* ---- the store: pods ---- */
#define PENDING 0
#define RUNNING 1
#define FINISHED 2

typedef Pod {
    bit gone;
    bit bound;
    unsigned stage : 2;
    unsigned version : 3; /* changes with each revocation */
    unsigned done : 4;    /* hami.io/mutex.done */
    unsigned left : 3;    /* calls that were not answered yet */
    bit alone             /* not in the store: bound under a lock without calls */
}
Pod pod[5];

#define IN_FLIGHT(p)                                                                     \
    (!pod[p].gone && pod[p].bound && pod[p].stage == PENDING && pod[p].left != 0)
#define IS_EXCLUSIVE(p) ((EXCLUSIVE & BIT(p)) != 0)
#define MEETS(p, q) ((CALLS(p) & CALLS(q)) != 0)

/* ---- the store: the node ---- */
#define NO_LEASE 0
#define MEMORY 1 /* a fence and no more */
#define ALONE 2  /* a lease without calls */
#define BESIDE 3 /* a lease with calls */

#define FOREIGN 7 /* the lock value that HAMi writes for its pod */

typedef Pair {
    unsigned lock : 3; /* the pod that the lock value names; 0 = none */
    unsigned kind : 2; /* of the lease */
    unsigned pod : 3;
    unsigned fence : 4;
    unsigned holder : 3
}
typedef Node {
    Pair r[5]; /* 0 is the cover, then the permits */
    bit mark
}
Node node;
bit is_ours = 1; /* the node side finds its pods as section 9 says */
unsigned last_fence : 4; /* not in the store: the last one granted beside others */
bit robbed;      /* HAMi has taken the cover of a pod that is gone */

#define SAME(x, y)                                                                       \
    (x.lock == y.lock && x.kind == y.kind && x.pod == y.pod && x.fence == y.fence &&      \
     x.holder == y.holder)
#define COPY(from, to)                                                                   \
    to.lock = from.lock;                                                                 \
    to.kind = from.kind;                                                                 \
    to.pod = from.pod;                                                                   \
    to.fence = from.fence;                                                               \
    to.holder = from.holder
#define IS_HELD(x) (x.lock != 0)
/* A lease beside another lock value than its own says nothing. */
#define HAS_LEASE(x) (x.kind >= ALONE && x.lock != 0 && x.lock == x.pod)
#define HAS_CALLS(x) (x.kind == BESIDE && x.lock != 0 && x.lock == x.pod)
#define OWNER(x) (x.lock == FOREIGN -> HAMI : x.lock)

/* ---- one write under way ---- */
#define NOTHING 0
#define TAKE 1
#define RELEASE 2

#define KEPT 0
#define CLEARED 1
#define COPIED 2

typedef Plan {
    unsigned kind : 2;
    bit sent;
    unsigned pod : 3;
    unsigned index : 3; /* the permit that it writes; 0 = the cover alone */
    unsigned fence : 4;
    unsigned version : 3; /* of the pod, read before the lock is written */
    unsigned cover : 2;   /* what a release does to it */
    unsigned other : 3;   /* the permit whose pair is copied to it */
    Node view
}

/* ---- managers ---- */
#define IDLE 0
#define HELD 1     /* granted; its Binding is not posted */
#define HANDED 2   /* bound, or in doubt */
#define REVOKING 3 /* to be revoked */
#define HARMLESS 4 /* to be released */

typedef Grant {
    unsigned state : 3;
    unsigned fence : 4;
    unsigned version : 3
}
typedef Manager {
    Grant grant[5];
    Plan plan;
    unsigned waiting : 4; /* bits of pods */
    bit reversed;         /* the last of them came first */
    unsigned id : 3
}
Manager manager[2];
Plan ghost; /* a write whose sender gave up on it */
unsigned ghost_id : 3;
unsigned binding : 3; /* the pod of such a Binding */
unsigned binding_version : 3;

#define ME manager[m]

/* ---- budgets ---- */
unsigned late : 2;
unsigned crash : 2;
unsigned delete : 2;
unsigned marks : 2;
bit node_frees; /* the node side removes what stands after its 2 s */
bit is_over;
unsigned caller : 3; /* whose Allocate is running */

/* Scratch of single steps, 0 between them. Not hidden: the search would not put the old value
 * back before it undoes a step that used it. */
byte j;
byte spot;
byte best;
byte other;

/* ---- invariants ---- */

/* Always 0: so that a failed assertion says by name what is broken. */
hidden byte property_exclusion;
hidden byte property_own_lock;
hidden byte property_lost_lock;
hidden byte property_covered;
hidden byte property_copy;
hidden byte property_fence;
hidden byte property_devices;
hidden byte property_innocent;
hidden byte property_order;
hidden byte property_stuck;
hidden byte property_left;

#define OWNS(p)                                                                          \
    (node.r[0].lock == (p) || node.r[1].lock == (p) || node.r[2].lock == (p) ||           \
     node.r[3].lock == (p) || node.r[4].lock == (p))
#define IS_COPY                                                                          \
    (SAME(node.r[0], node.r[1]) || SAME(node.r[0], node.r[2]) ||                         \
     SAME(node.r[0], node.r[3]) || SAME(node.r[0], node.r[4]))
#define ANY_PERMIT_HELD                                                                  \
    (node.r[1].lock != 0 || node.r[2].lock != 0 || node.r[3].lock != 0 ||                 \
     node.r[4].lock != 0)
#define NOBODYS(p) (!IN_FLIGHT(p) || (p) == HAMI)

/* After each write to the node. */
inline check_node()
{
    assert(property_lost_lock || (NOBODYS(1) || OWNS(1)) && (NOBODYS(2) || OWNS(2)) &&
           (NOBODYS(3) || OWNS(3)) && (NOBODYS(4) || OWNS(4)));
    assert(property_covered || node.r[0].lock != 0 || robbed ||
           NOBODYS(1) && NOBODYS(2) && NOBODYS(3) && NOBODYS(4));
    assert(property_copy || !HAS_CALLS(node.r[0]) || robbed || IS_COPY)
}

#define MAY_BE_BESIDE(p, q)                                                              \
    ((p) == (q) || !IN_FLIGHT(q) || (q) == HAMI && robbed ||                             \
     !MEETS(p, q) && !pod[p].alone && !pod[q].alone)

inline bind_here(p)
{
    pod[p].alone = !((node.r[1].lock == p && node.r[1].kind == BESIDE) ||
                     (node.r[2].lock == p && node.r[2].kind == BESIDE) ||
                     (node.r[3].lock == p && node.r[3].kind == BESIDE) ||
                     (node.r[4].lock == p && node.r[4].kind == BESIDE));
    assert(property_exclusion || p == HAMI && robbed ||
           MAY_BE_BESIDE(p, 1) && MAY_BE_BESIDE(p, 2) && MAY_BE_BESIDE(p, 3) &&
               MAY_BE_BESIDE(p, 4));
    assert(property_own_lock || p == HAMI || OWNS(p));
    assert(property_covered || p == HAMI || node.r[0].lock != 0 || robbed);
    pod[p].bound = 1
}

/* ---- what is planned ---- */

inline look(it)
{
    j = 0;
    do
    :: j <= PERMITS -> COPY(node.r[j], it.view.r[j]); j++
    :: else -> break
    od;
    j = 0;
    it.view.mark = node.mark
}

inline forget(it)
{
    it.kind = NOTHING; it.sent = 0; it.pod = 0; it.index = 0; it.fence = 0;
    it.version = 0; it.cover = 0; it.other = 0; it.view.mark = 0;
    j = 0;
    do
    :: j <= PERMITS ->
       it.view.r[j].lock = 0; it.view.r[j].kind = 0; it.view.r[j].pod = 0;
       it.view.r[j].fence = 0; it.view.r[j].holder = 0; j++
    :: else -> break
    od;
    j = 0
}

/* The permit, but for `i`, whose pair a release copies. */
inline find_other(i)
{
    other = 0;
    best = 0;
    j = 1;
    do
    :: j <= PERMITS ->
       if
#ifdef MUTANT_LOWEST_IS_COPIED
       :: j != i && IS_HELD(node.r[j]) && (other == 0 || node.r[j].fence < best) ->
#else
       :: j != i && IS_HELD(node.r[j]) && (other == 0 || node.r[j].fence > best) ->
#endif
          other = j; best = node.r[j].fence
       :: else
       fi;
       j++
    :: else -> break
    od
}

/* The table's three last rows, for the record `i` (0: it is the cover's alone). */
inline plan_release(it, where)
{
    d_step {
        spot = where;
        it.kind = RELEASE;
        it.sent = 1;
        it.index = spot;
        find_other(spot);
        if
        :: spot == 0 || SAME(node.r[0], node.r[spot]) ->
#ifdef MUTANT_COVER_REMOVED
           it.cover = CLEARED
#else
           it.cover = (other != 0 -> COPIED : CLEARED);
           it.other = other
#endif
        :: spot != 0 && !SAME(node.r[0], node.r[spot]) && HAS_CALLS(node.r[0]) && other == 0 ->
           it.cover = CLEARED
        :: else -> it.cover = KEPT
        fi;
        look(it);
        spot = 0;
        best = 0;
        other = 0
    }
}

#define MAX2(x, y) ((x) > (y) -> (x) : (y))
#ifdef MUTANT_FENCE_OF_ONE_PERMIT
#define NEW_FENCE(i) (node.r[i].fence + 1)
#else
#define NEW_FENCE(i)                                                                     \
    (MAX2(MAX2(MAX2(node.r[0].fence, node.r[1].fence),                                   \
               MAX2(node.r[2].fence, node.r[3].fence)),                                  \
          node.r[4].fence) + 1)
#endif

/* ---- what the store does with a write ---- */

#define ON_TIME(it, i) SAME(it.view.r[i], node.r[i])
#ifdef TAKE_TESTS_NO_MARK
#define MARK_HOLDS(it) true
#else
#define MARK_HOLDS(it) (it.index == 0 || node.mark)
#endif
#ifdef MUTANT_TAKE_TESTS_NO_COVER
#define COVER_HOLDS(it) (it.kind == TAKE && it.index != 0 || ON_TIME(it, 0))
#else
#ifdef MUTANT_EXCLUSIVE_TESTS_NO_COVER
#define COVER_HOLDS(it) (it.kind == TAKE && it.index == 0 || ON_TIME(it, 0))
#else
#ifdef MUTANT_RELEASE_TESTS_NO_COVER
#define COVER_HOLDS(it) (it.kind == RELEASE || ON_TIME(it, 0))
#else
#define COVER_HOLDS(it) ON_TIME(it, 0)
#endif
#endif
#endif
#ifdef MUTANT_TAKE_TESTS_NO_PERMIT
#define TAKES_FREELY(it) (it.kind == TAKE)
#else
#define TAKES_FREELY(it) false
#endif
#ifdef RELEASE_TESTS_NO_OWN
#define RELEASES_FREELY(it) (it.kind == RELEASE)
#else
#define RELEASES_FREELY(it) false
#endif
#define PERMIT_HOLDS(it)                                                                 \
    (it.index == 0 || TAKES_FREELY(it) || RELEASES_FREELY(it) || ON_TIME(it, it.index))
/* Beside a cover with calls a take tests the leases of all other permits. */
#define SAME_LEASE(it, i)                                                                \
    (it.index == (i) || it.view.r[i].kind == node.r[i].kind &&                           \
                            it.view.r[i].fence == node.r[i].fence)
#ifdef MUTANT_TAKE_TESTS_NO_OTHERS
#define OTHERS_HOLD(it) true
#else
#define OTHERS_HOLD(it)                                                                  \
    (!HAS_CALLS(it.view.r[0]) ||                                                         \
     SAME_LEASE(it, 1) && SAME_LEASE(it, 2) && SAME_LEASE(it, 3) && SAME_LEASE(it, 4))
#endif
#ifdef MUTANT_RELEASE_TESTS_NO_COPIED
#define OTHER_HOLDS(it) true
#else
#define OTHER_HOLDS(it) (it.cover != COPIED || ON_TIME(it, it.other))
#endif
#define HOLDS(it)                                                                        \
    ((it.kind != TAKE || MARK_HOLDS(it) && OTHERS_HOLD(it)) && COVER_HOLDS(it) &&         \
     PERMIT_HOLDS(it) && OTHER_HOLDS(it))

#define REMEMBER(x, number)                                                              \
    x.lock = 0; x.kind = MEMORY; x.pod = 0; x.fence = number; x.holder = 0
#define WRITE(x, p, what, number, who)                                                   \
    x.lock = p; x.kind = what; x.pod = p; x.fence = number; x.holder = who

inline land(it, who)
{
    if
    :: it.kind == TAKE ->
       /* It grows with each grant. An exclusive one's own may be forgotten. */
       assert(property_fence || it.fence > last_fence);
       last_fence = (it.index == 0 -> last_fence : it.fence);
       printf("M%d takes permit %d for pod %d, fence %d\n", who, it.index, it.pod,
              it.fence);
       WRITE(node.r[0], it.pod, (it.index == 0 -> ALONE : BESIDE), it.fence, who);
       if
       :: it.index != 0 ->
          WRITE(node.r[it.index], it.pod, BESIDE, it.fence, who)
       :: else
       fi
    :: it.kind == RELEASE ->
       printf("M%d releases permit %d, cover: %d %d\n", who, it.index, it.cover,
              it.other);
       best = it.view.r[it.index].fence;
       if
       :: it.cover == CLEARED -> other = MAX2(it.view.r[0].fence, best);
          REMEMBER(node.r[0], other)
       :: it.cover == COPIED -> COPY(it.view.r[it.other], node.r[0])
       :: else
       fi;
       if
       :: it.index != 0 -> REMEMBER(node.r[it.index], best)
       :: else
       fi;
       best = 0;
       other = 0
    fi;
    check_node()
}

/* ---- a manager: what it knows of an owner ---- */

/* No Allocate of its can come any more. */
#define IS_FINAL(q, f)                                                                   \
    (pod[q].gone || pod[q].stage != PENDING ||                                           \
     pod[q].bound && pod[q].left == 0 && pod[q].done == (f))
#ifdef MUTANT_BOUND_OWNER_IS_TAKEN
#define IS_TAKEABLE(x) (x.lock != FOREIGN || IS_FINAL(HAMI, 0))
#else
#define IS_TAKEABLE(x)                                                                   \
    ((x.lock == FOREIGN || !HAS_LEASE(x)) -> IS_FINAL(OWNER(x), 15) :                     \
     IS_FINAL(x.pod, x.fence) || !pod[x.pod].bound)
#endif

/* ---- a manager: a take ---- */

#define COMES_BESIDE(p) (node.mark && !IS_EXCLUSIVE(p))

/* Is the record `i` of the plan's view in the way, until its owner is judged? */
#ifdef MUTANT_HELD_CALLS_IGNORED
#define IS_IN_THE_WAY(i) (ME.plan.index == 0 || ME.plan.index == (i))
#else
#ifdef MUTANT_EXCLUSIVE_IGNORES_PERMITS
#define IS_IN_THE_WAY(i)                                                                 \
    (ME.plan.index != 0 &&                                                               \
     (ME.plan.index == (i) || MEETS(ME.plan.pod, ME.plan.view.r[i].pod)))
#else
#define IS_IN_THE_WAY(i)                                                                 \
    (ME.plan.index == 0 || ME.plan.index == (i) ||                                       \
     MEETS(ME.plan.pod, ME.plan.view.r[i].pod))
#endif
#endif
#ifdef MUTANT_COVER_WITHOUT_CALLS_IGNORED
#define COVER_IS_IN_THE_WAY (ME.plan.index == 0 && !HAS_CALLS(ME.plan.view.r[0]))
#else
#define COVER_IS_IN_THE_WAY (!HAS_CALLS(ME.plan.view.r[0]))
#endif
#define IS_ASKED_ABOUT(i)                                                                \
    (IS_HELD(ME.plan.view.r[i]) && ME.plan.view.r[i].lock != ME.plan.pod &&              \
     ((i) == 0 -> COVER_IS_IN_THE_WAY : IS_IN_THE_WAY(i)))
#define IS_SETTLED(i) (!IS_ASKED_ABOUT(i) || IS_TAKEABLE(ME.plan.view.r[i]))
#define ALL_ARE_SETTLED                                                                  \
    (IS_SETTLED(0) && IS_SETTLED(1) && IS_SETTLED(2) && IS_SETTLED(3) && IS_SETTLED(4))
#define NOBODY_IS_ASKED_ABOUT                                                            \
    (!IS_ASKED_ABOUT(0) && !IS_ASKED_ABOUT(1) && !IS_ASKED_ABOUT(2) &&                   \
     !IS_ASKED_ABOUT(3) && !IS_ASKED_ABOUT(4))

inline revoke(q)
{
    pod[q].version++;
    printf("pod %d is revoked\n", q)
}

inline revoke_owners()
{
#ifndef MUTANT_PERMIT_OWNER_NOT_REVOKED
    j = 0;
    do
    :: j <= PERMITS ->
       if
       :: IS_ASKED_ABOUT(j) && !IS_FINAL(OWNER(ME.plan.view.r[j]), ME.plan.view.r[j].fence)
          -> revoke(OWNER(ME.plan.view.r[j]))
       :: else
       fi;
       j++
    :: else -> break
    od;
    j = 0;
#endif
    skip
}

/* The waiters that came before: none of them may be passed by whoever meets it. */
#define CAME_BEFORE(q, p) (ME.reversed -> (q) > (p) : (q) < (p))
#define IS_PASSED(q, p)                                                                  \
    ((ME.waiting & BIT(q)) != 0 && (q) != (p) && CAME_BEFORE(q, p) && !pod[q].bound &&    \
     !pod[q].gone && (!COMES_BESIDE(p) || !COMES_BESIDE(q) || MEETS(p, q)))
#define PASSES_NOBODY(p)                                                                 \
    (!IS_PASSED(1, p) && !IS_PASSED(2, p) && !IS_PASSED(3, p) && !IS_PASSED(4, p))
#ifdef MUTANT_WAITERS_CALLS_IGNORED
#define IS_ITS_TURN(p) true
#else
#define IS_ITS_TURN(p) PASSES_NOBODY(p)
#endif
#define MAY_PLAN(p)                                                                      \
    (ME.plan.kind == NOTHING && (ME.waiting & BIT(p)) != 0 &&                            \
     ME.grant[p].state == IDLE && !pod[p].bound && !pod[p].gone && IS_ITS_TURN(p))

/* The permit that names the pod already, an empty one, or one that can be taken over. */
#define NAMES(i, p) (node.r[i].lock == (p))
#define IS_USABLE(i, p)                                                                  \
    ((i) <= PERMITS &&                                                                   \
     (NAMES(i, p) ||                                                                     \
      !NAMES(1, p) && !NAMES(2, p) && !NAMES(3, p) && !NAMES(4, p) &&                     \
      (node.r[i].lock == 0 || MEETS(p, node.r[i].pod) ||                                  \
       IS_FINAL(node.r[i].pod, node.r[i].fence))))

inline plan_take(p)
{
    assert(property_order || PASSES_NOBODY(p));
    if
    :: COMES_BESIDE(p) && IS_USABLE(1, p) -> ME.plan.index = 1
    :: COMES_BESIDE(p) && IS_USABLE(2, p) -> ME.plan.index = 2
    :: COMES_BESIDE(p) && IS_USABLE(3, p) -> ME.plan.index = 3
    :: COMES_BESIDE(p) && IS_USABLE(4, p) -> ME.plan.index = 4
    :: !COMES_BESIDE(p) -> ME.plan.index = 0
    fi;
    ME.plan.kind = TAKE;
    ME.plan.pod = p;
    ME.plan.fence = NEW_FENCE(ME.plan.index);
    ME.plan.version = pod[p].version;
    look(ME.plan);
    ME.plan.sent = NOBODY_IS_ASKED_ABOUT
}

#define ANY_USABLE(p) (!COMES_BESIDE(p) || IS_USABLE(1, p) || IS_USABLE(2, p) ||          \
                       IS_USABLE(3, p) || IS_USABLE(4, p))
#define IS_TOO_LATE                                                                      \
    (!OTHERS_HOLD(ME.plan) || !ON_TIME(ME.plan, 0) ||                                    \
     !ON_TIME(ME.plan, ME.plan.index) ||                                                 \
     pod[ME.plan.pod].bound || pod[ME.plan.pod].gone || ME.plan.index != 0 && !node.mark)

inline taken()
{
    ME.grant[ME.plan.pod].fence = ME.plan.fence;
    ME.grant[ME.plan.pod].version = ME.plan.version;
    if
    :: true -> ME.grant[ME.plan.pod].state = HELD
    :: late > 0 -> late--; ME.grant[ME.plan.pod].state = REVOKING /* nobody waits any more */
    fi;
    ME.waiting = ME.waiting & (15 - BIT(ME.plan.pod))
}

inline drop_grant(p)
{
    ME.grant[p].state = IDLE; ME.grant[p].fence = 0; ME.grant[p].version = 0
}

inline copy_plan(from, to)
{
    to.kind = from.kind; to.sent = 1; to.pod = from.pod; to.index = from.index;
    to.fence = from.fence; to.version = from.version; to.cover = from.cover;
    to.other = from.other; to.view.mark = from.view.mark;
    j = 0;
    do
    :: j <= PERMITS -> COPY(from.view.r[j], to.view.r[j]); j++
    :: else -> break
    od;
    j = 0
}

inline carry_out()
{
    if
    :: HOLDS(ME.plan) ->
       land(ME.plan, ME.id);
       if
       :: ME.plan.kind == TAKE -> taken()
       :: ME.plan.kind == RELEASE && ME.plan.pod != 0 -> spot = ME.plan.pod; drop_grant(spot);
          spot = 0
       :: else
       fi
    :: !HOLDS(ME.plan)
    :: late > 0 && ghost.kind == NOTHING ->
       late--;
       printf("M%d gives up on a write\n", ME.id);
       copy_plan(ME.plan, ghost);
       ghost_id = ME.id
    fi;
    forget(ME.plan)
}

/* ---- a manager: Binding and release ---- */

#define IS_RECORD_OF(i, p)                                                               \
    (node.r[i].lock == (p) && node.r[i].pod == (p) && node.r[i].kind >= ALONE &&          \
     node.r[i].fence == ME.grant[p].fence && node.r[i].holder == ME.id)
#define RECORD_STANDS(p)                                                                 \
    (IS_RECORD_OF(0, p) || IS_RECORD_OF(1, p) || IS_RECORD_OF(2, p) ||                    \
     IS_RECORD_OF(3, p) || IS_RECORD_OF(4, p))

#define BINDS(p, v) (!pod[p].gone && !pod[p].bound && pod[p].version == (v))

inline post_binding(p)
{
    if
    :: BINDS(p, ME.grant[p].version) ->
       printf("M%d binds pod %d\n", ME.id, p);
       bind_here(p);
       ME.grant[p].state = HANDED
    :: !BINDS(p, ME.grant[p].version) ->
       ME.grant[p].state = (pod[p].bound && !pod[p].gone -> HANDED : REVOKING)
    :: late > 0 && binding == 0 ->
       late--;
       binding = p;
       binding_version = ME.grant[p].version;
       printf("M%d gives up on the Binding of pod %d\n", ME.id, p);
       ME.grant[p].state = REVOKING
    fi
}

inline revoke_own(p)
{
    if
    :: pod[p].gone -> ME.grant[p].state = HARMLESS
    :: !pod[p].gone && pod[p].bound -> ME.grant[p].state = HANDED
    :: !pod[p].gone && !pod[p].bound -> revoke(p); ME.grant[p].state = HARMLESS
    fi
}

#define IS_TO_RELEASE(p)                                                                 \
    (ME.grant[p].state == HARMLESS ||                                                    \
     ME.grant[p].state == HANDED && IS_FINAL(p, ME.grant[p].fence))
/* A permit before the cover that is its copy. */
#define RECORD_INDEX(p)                                                                  \
    (IS_RECORD_OF(1, p) -> 1 : (IS_RECORD_OF(2, p) -> 2 :                                 \
     (IS_RECORD_OF(3, p) -> 3 : (IS_RECORD_OF(4, p) -> 4 : 0))))

/* A record of ours that no grant stands for. */
#define IS_UNKNOWN(i)                                                                    \
    (node.r[i].lock != 0 && HAS_LEASE(node.r[i]) && node.r[i].holder == ME.id &&          \
     ME.grant[node.r[i].pod].state == IDLE &&                                            \
     ((i) != 0 || node.r[0].kind == ALONE))

inline undo(i)
{
    ME.grant[node.r[i].pod].state = REVOKING;
    ME.grant[node.r[i].pod].fence = node.r[i].fence;
    printf("M%d undoes a take for pod %d\n", ME.id, node.r[i].pod)
}

/* Somebody else's, whose owner is past its Allocates. */
#define IS_LEFT_BEHIND(i)                                                                \
    (HAS_LEASE(node.r[i]) && node.r[i].holder != ME.id &&                                 \
     IS_FINAL(node.r[i].pod, node.r[i].fence) && ((i) != 0 || node.r[0].kind == ALONE))
/* A cover of a permit that is no more. */
#define IS_EMPTY_COVER (HAS_CALLS(node.r[0]) && !ANY_PERMIT_HELD)

inline start_again()
{
    crash--;
    printf("M%d dies and starts again\n", ME.id);
    if
    :: ME.plan.sent && ghost.kind == NOTHING ->
       copy_plan(ME.plan, ghost);
       ghost_id = ME.id
    :: true
    fi;
    forget(ME.plan);
    drop_grant(1); drop_grant(2); drop_grant(3); drop_grant(4);
    ME.waiting = 0;
    ME.id = ME.id + 2
}

#define HAS_NOTHING_TO_DO (ME.plan.kind == NOTHING)
#define STEPS_OF(p)                                                                      \
    :: atomic { MAY_PLAN(p) && ANY_USABLE(p) -> plan_take(p) }                           \
    :: atomic { ME.grant[p].state == HELD -> post_binding(p) }                           \
    :: atomic { ME.grant[p].state == REVOKING -> revoke_own(p) }                         \
    :: atomic { HAS_NOTHING_TO_DO && IS_TO_RELEASE(p) && RECORD_STANDS(p) ->             \
        ME.plan.pod = p; plan_release(ME.plan, RECORD_INDEX(p)) }                        \
    :: atomic { ME.grant[p].state >= HANDED && !RECORD_STANDS(p) -> drop_grant(p) }      \
    :: atomic { (ME.waiting & BIT(p)) != 0 && ME.grant[p].state == IDLE &&               \
                (pod[p].bound || pod[p].gone) ->                                         \
        ME.waiting = ME.waiting & (15 - BIT(p)) }
#define STEPS_ON(i)                                                                      \
    :: atomic { IS_UNKNOWN(i) && (ME.plan.kind != TAKE ||                                \
                                  ME.plan.pod != node.r[i].pod) -> undo(i) }             \
    :: atomic { HAS_NOTHING_TO_DO && IS_LEFT_BEHIND(i) -> plan_release(ME.plan, i) }

proctype Scheduler(bit m)
{
    do
    STEPS_OF(1)
    STEPS_OF(2)
    STEPS_OF(3)
    STEPS_OF(4)
    STEPS_ON(0)
    STEPS_ON(1)
    STEPS_ON(2)
#if PERMITS > 2
    STEPS_ON(3)
    STEPS_ON(4)
#endif
    :: atomic { ME.plan.kind == TAKE && !ME.plan.sent && ALL_ARE_SETTLED ->
        revoke_owners(); ME.plan.sent = 1 }
    :: atomic { ME.plan.kind == TAKE && !ME.plan.sent && IS_TOO_LATE -> forget(ME.plan) }
    :: atomic { ME.plan.sent -> carry_out() }
    :: atomic { HAS_NOTHING_TO_DO && IS_EMPTY_COVER -> plan_release(ME.plan, 0) }
#if CRASH > 0
    :: atomic { crash > 0 && ME.id <= 2 -> start_again() }
#endif
    :: atomic { is_over -> break }
    od
}

/* ---- kubelet and node side: one Allocate at a time ---- */

#define MAY_CALL(p, c)                                                                   \
    (!pod[p].gone && pod[p].bound && pod[p].stage == PENDING && (pod[p].left & (c)) != 0)
#define CALLERS(c)                                                                       \
    (MAY_CALL(1, c) + MAY_CALL(2, c) + MAY_CALL(3, c) + MAY_CALL(4, c))
#define ANY_CALLER(c)                                                                    \
    (MAY_CALL(1, c) -> 1 : (MAY_CALL(2, c) -> 2 : (MAY_CALL(3, c) -> 3 : 4)))

/* The fence of the lock that lets the node side serve p, or 15: none does. */
#define IN_COVER(p)                                                                      \
    (HAS_CALLS(node.r[0]) -> 15 :                                                        \
     (HAS_LEASE(node.r[0]) -> (node.r[0].pod == (p) -> node.r[0].fence : 15) :            \
      (node.r[0].lock == 0 || OWNER(node.r[0]) == (p) -> 0 : 15)))
#define FENCE_IN(i, p) (HAS_LEASE(node.r[i]) && node.r[i].pod == (p) -> node.r[i].fence : 0)
#define HIGHEST_IN(p)                                                                    \
    MAX2(MAX2(MAX2(FENCE_IN(0, p), FENCE_IN(1, p)),                                      \
              MAX2(FENCE_IN(2, p), FENCE_IN(3, p))),                                     \
         FENCE_IN(4, p))
#ifdef MUTANT_NODE_SIDE_GOES_BY_THE_COVER
#define ALLOWED(p)                                                                       \
    (HAS_LEASE(node.r[0]) -> (node.r[0].pod == (p) -> node.r[0].fence : 15) : IN_COVER(p))
#else
#ifdef MUTANT_NODE_SIDE_ASKS_THE_COVER_FIRST
#define ALLOWED(p)                                                                       \
    (node.r[0].lock != 0 && !HAS_CALLS(node.r[0]) -> IN_COVER(p) :                       \
     (HIGHEST_IN(p) != 0 -> HIGHEST_IN(p) : IN_COVER(p)))
#else
#define ALLOWED(p) (HIGHEST_IN(p) != 0 -> HIGHEST_IN(p) : IN_COVER(p))
#endif
#endif

/* Whose devices can't be told from each other's where HAMi took the cover. */
#define HAMI_MAY_DISTURB (HAMI != 0 && (MEETS(HAMI, caller) || caller == HAMI))

inline refuse()
{
    /* Nobody who did all right is refused. */
    assert(property_innocent || robbed && HAMI_MAY_DISTURB);
    printf("kubelet: pod %d fails\n", caller);
    pod[caller].stage = FINISHED;
    caller = 0
}

inline answer()
{
    assert(property_devices || served == caller); /* no pod gets another's devices */
    printf("plugin: call %d of pod %d\n", call, served);
    pod[served].left = pod[served].left & (7 - call);
    if
    :: pod[served].left == 0 -> pod[served].done = (fence == 15 -> 0 : fence)
    :: else
    fi;
    caller = 0
}

/* Told only where it says more than the success did. */
#define IS_OTHERS_FENCE(i, p) (node.r[i].lock == (p) && node.r[i].fence != pod[p].done)
#define STARTS(p)                                                                        \
    (pod[p].stage == PENDING && pod[p].bound && pod[p].left == 0 &&                      \
     (IS_OTHERS_FENCE(0, p) || IS_OTHERS_FENCE(1, p) || IS_OTHERS_FENCE(2, p) ||          \
      IS_OTHERS_FENCE(3, p) || IS_OTHERS_FENCE(4, p) || (p) == HAMI || late < LATE))

proctype Kubelet()
{
    unsigned call : 3;
    unsigned served : 3;
    unsigned callers : 3;
    unsigned fence : 4;
#ifdef BOTH_ORDERS
    unsigned read1 : 4; /* the node, read before the pods: by pod */
    unsigned read2 : 4;
    unsigned read3 : 4;
    unsigned read4 : 4;
#endif

next:
    atomic {
#ifdef BOTH_ORDERS
        read1 = 0; read2 = 0; read3 = 0; read4 = 0;
#endif
        call = 0; served = 0; callers = 0; fence = 0
    };
    do
    :: atomic {
        if
        :: IN_FLIGHT(1) -> caller = 1
        :: IN_FLIGHT(2) -> caller = 2
        :: IN_FLIGHT(3) -> caller = 3
        :: IN_FLIGHT(4) -> caller = 4
        fi;
        if
        :: (pod[caller].left & 1) != 0 -> call = 1
        :: (pod[caller].left & 2) != 0 -> call = 2
        :: (pod[caller].left & 4) != 0 -> call = 4
        fi;
        printf("kubelet: call %d of pod %d\n", call, caller);
#ifndef BOTH_ORDERS
        callers = CALLERS(call);
        served = ANY_CALLER(call);
#endif
        if
        :: is_ours -> goto reads
        :: !is_ours -> goto by_name
        fi }
    :: atomic { STARTS(1) -> pod[1].stage = RUNNING }
    :: atomic { STARTS(2) -> pod[2].stage = RUNNING }
    :: atomic { STARTS(3) -> pod[3].stage = RUNNING }
    :: atomic { STARTS(4) -> pod[4].stage = RUNNING }
    :: atomic { is_over -> goto end }
    od;
reads:
    /* Two reads, begun after the call, in any order. */
#ifdef BOTH_ORDERS
    if
    :: atomic { true -> callers = CALLERS(call); served = ANY_CALLER(call) };
       atomic { true -> fence = ALLOWED(served) }
    :: atomic { true -> read1 = ALLOWED(1); read2 = ALLOWED(2); read3 = ALLOWED(3);
                read4 = ALLOWED(4) };
       atomic { true -> callers = CALLERS(call); served = ANY_CALLER(call);
                fence = (served == 1 -> read1 : (served == 2 -> read2 :
                         (served == 3 -> read3 : read4))) }
    fi;
#endif
    atomic {
#ifndef BOTH_ORDERS
        fence = ALLOWED(served);
#endif
        if
        :: callers == 1 && fence != 15 -> answer()
        :: else -> refuse()
        fi;
        goto next
    };
by_name:
    /* A plugin that looks for its pod by the lock's name, and removes it. */
    atomic {
        served = (node.r[0].lock != 0 -> OWNER(node.r[0]) : ANY_CALLER(call));
        fence = 15;
        answer();
        if
        :: pod[served].left == 0 && node.r[0].lock == served -> node.r[0].lock = 0
        :: else
        fi;
        goto next
    };
end:
    skip
}

/* The node side frees what stands 2 s after the success, and a lock of HAMi's at once. */
#define IS_SERVED(i)                                                                     \
    (node.r[i].lock != 0 && ((i) != 0 || !HAS_CALLS(node.r[0])) &&                        \
     (OWNER(node.r[i]) == HAMI || node_frees && HAS_LEASE(node.r[i])) &&                  \
     pod[OWNER(node.r[i])].bound && pod[OWNER(node.r[i])].left == 0)

proctype NodeSide()
{
    Plan plan;

    do
    :: atomic { plan.kind == NOTHING && IS_SERVED(0) -> plan_release(plan, 0) }
    :: atomic { plan.kind == NOTHING && IS_SERVED(1) -> plan_release(plan, 1) }
    :: atomic { plan.kind == NOTHING && IS_SERVED(2) -> plan_release(plan, 2) }
    :: atomic { plan.kind == NOTHING && IS_SERVED(3) -> plan_release(plan, 3) }
    :: atomic { plan.kind == NOTHING && IS_SERVED(4) -> plan_release(plan, 4) }
    :: atomic { plan.kind != NOTHING ->
        if
        :: HOLDS(plan) -> land(plan, 0)
        :: else
        fi;
        forget(plan) }
    :: atomic { is_over -> break }
    od
}

/* ---- the world ---- */

/* One of HAMi's is its own matter, where nobody wants the node. */
#define RECORD_IS_LEFT(i)                                                                \
    (HAS_LEASE(node.r[i]) && IS_FINAL(node.r[i].pod, node.r[i].fence))

proctype World()
{
    do
    :: atomic { ghost.kind != NOTHING ->
        if
        :: HOLDS(ghost) -> printf("late: "); land(ghost, ghost_id)
        :: else
        fi;
        forget(ghost); ghost_id = 0 }
    :: atomic { binding != 0 ->
        if
        :: BINDS(binding, binding_version) -> printf("late: bound is pod %d\n", binding);
           bind_here(binding)
        :: else
        fi;
        binding = 0; binding_version = 0 }
#if DELETE > 0
    :: atomic { delete > 0 && !pod[1].gone && caller != 1 -> delete--; pod[1].gone = 1;
        printf("pod 1 is gone\n") }
    :: atomic { delete > 0 && !pod[2].gone && caller != 2 -> delete--; pod[2].gone = 1;
        printf("pod 2 is gone\n") }
#endif
#if MARK > 0
    :: atomic { marks > 0 && is_ours -> marks--; node.mark = 1 - node.mark;
        printf("mark: %d\n", node.mark) }
#endif
#ifdef CHANGE
#ifdef MUTANT_CHANGED_BEFORE_FREE
    :: atomic { is_ours && !node.mark -> is_ours = 0; printf("a plugin by name comes\n") }
#else
    :: atomic { is_ours && !node.mark && !ANY_PERMIT_HELD -> is_ours = 0;
        printf("a plugin by name comes\n") }
#endif
#endif
    :: timeout ->
        /* Nothing can move: nobody waits, and no lock is left of whom none is expected. */
        assert(property_stuck || manager[0].waiting == 0 && manager[1].waiting == 0);
        assert(property_left || !RECORD_IS_LEFT(0) && !RECORD_IS_LEFT(1) &&
               !RECORD_IS_LEFT(2) && !RECORD_IS_LEFT(3) && !RECORD_IS_LEFT(4) &&
               !(HAS_CALLS(node.r[0]) && !ANY_PERMIT_HELD));
        is_over = 1;
        break
    od
}

#if HAMI > 0
/* A HAMi scheduler that binds the pod HAMI, and no other. */
proctype HamiScheduler()
{
    unsigned old : 3;

    do
    :: atomic { node.r[0].lock == 0 -> goto set }
#ifdef DANGLING
    :: atomic { node.r[0].lock != 0 && pod[OWNER(node.r[0])].gone ->
        old = node.r[0].lock; goto dangling }
#endif
    :: atomic { is_over -> goto end }
    od;
dangling:
    atomic { true ->
        if
        :: node.r[0].lock == old -> robbed = 1; node.r[0].lock = 0;
           printf("HAMi removes a dangling lock\n")
        :: else
        fi;
        old = 0 };
set:
    atomic {
        if
        :: node.r[0].lock == 0 -> node.r[0].lock = FOREIGN; printf("HAMi locks\n");
           check_node()
        :: else -> goto end
        fi };
    atomic { true -> printf("HAMi binds pod %d\n", HAMI); bind_here(HAMI) };
end:
    skip
}
#endif

init
{
    atomic {
        j = 1;
        do
        :: j <= PODS -> pod[j].left = CALLS(j); j++
        :: else -> break
        od;
        node.mark = 1;
        manager[0].id = 1;
        manager[1].id = 2;
        manager[0].waiting = ASKED0;
        manager[1].waiting = ASKED1;
#ifdef ORDERS
        select(j : 0 .. 1); manager[0].reversed = j;
        select(j : 0 .. 1); manager[1].reversed = j;
#endif
#ifdef NODE_FREES
        node_frees = 1;
#endif
        late = LATE;
        select(crash : 0 .. CRASH);
        select(delete : 0 .. DELETE);
        select(marks : 0 .. MARK);
        j = 0;
        run Scheduler(0);
        run Scheduler(1);
        run Kubelet();
        run NodeSide();
        run World();
#if HAMI > 0
        run HamiScheduler();
#endif
    }
}
