/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of waiters inside one replica, for one node and one lane: places.c, queue.c and
 * the callers that come, leave at their deadline and come again. A caller is given its
 * place before it is queued, in two steps, as threads do.
 *
 * Invariant: nobody is chosen for the next write while a waiter is present who has kept
 * its place and stood in line before the chosen one first asked.
 */
#define PODS 3

#define OUT 0
#define PLACED 1 /* its place is known, it is not queued yet */
#define QUEUED 2
#define DONE 3

hidden byte property_fifo;

typedef Caller {
    byte state;
    byte place;   /* 0 = none */
    bit returned; /* the place was kept from an earlier call */
    bit kept;
    byte older    /* bit q: q stood in line before this pod first asked */
}
Caller caller[PODS];
byte queue[PODS]; /* pod + 1; 0 = nobody */
byte places;
byte writing; /* pod + 1 whose take is under way */
bit left;     /* it has left meanwhile */
bit free = 1;
#ifndef LEAVES
#define LEAVES 4
#endif
byte leaves = LEAVES; /* how often somebody leaves */
hidden byte position;

#define BIT(q) (1 << (q))
#define IS_IN_LINE(q)                                                                    \
    (caller[q].state == QUEUED || (caller[q].state == OUT && caller[q].kept))

inline remove(p)
{
    if
    :: queue[0] == p + 1 -> queue[0] = queue[1]; queue[1] = queue[2]; queue[2] = 0
    :: queue[1] == p + 1 -> queue[1] = queue[2]; queue[2] = 0
    :: queue[2] == p + 1 -> queue[2] = 0
    fi
}

inline insert(p)
{
    if
    :: position == 0 -> queue[2] = queue[1]; queue[1] = queue[0]; queue[0] = p + 1
    :: position == 1 -> queue[2] = queue[1]; queue[1] = p + 1
    :: position == 2 -> queue[2] = p + 1
    fi
}

#define LENGTH ((queue[0] != 0) + (queue[1] != 0) + (queue[2] != 0))
#define IS_YOUNGER(i, p)                                                                 \
    (queue[i] != 0 && caller[(queue[i] == 0 -> 0 : queue[i] - 1)].place > caller[p].place)
#ifdef MUTANT_NEWCOMER_FIRST
#define POSITION(p) 0
#else
#ifdef MUTANT_RETURNED_LAST
#define POSITION(p) LENGTH
#else
#define POSITION(p)                                                                      \
    (!caller[p].returned -> LENGTH :                                                     \
     (IS_YOUNGER(0, p) -> 0 : (IS_YOUNGER(1, p) -> 1 : (IS_YOUNGER(2, p) -> 2 : LENGTH))))
#endif
#endif

#define PASSES(q, p)                                                                     \
    (caller[q].state == QUEUED && (caller[p].older & BIT(q)) != 0)

/* Whoever comes back while the write is under way was not there when it was decided. */
inline write(p)
{
    assert(!(PASSES(0, p) || PASSES(1, p) || PASSES(2, p)) || property_fifo);
    writing = p + 1
}

inline grant(p)
{
    remove(p);
    caller[p].state = DONE;
    caller[p].kept = 0;
    caller[p].older = 0;
    printf("pod %d is granted\n", p)
}

/* A place is no longer kept: nobody has to mind it. */
inline forget(p)
{
    caller[p].kept = 0;
    caller[p].place = 0;
    caller[0].older = caller[0].older & (255 - BIT(p));
    caller[1].older = caller[1].older & (255 - BIT(p));
    caller[2].older = caller[2].older & (255 - BIT(p));
    caller[p].older = 0
}

proctype Asker(byte p)
{
    do
    :: atomic { caller[p].state == OUT ->
        if
        :: caller[p].kept ->
           caller[p].kept = 0;
#ifdef MUTANT_PLACE_NOT_KEPT
           places++;
           caller[p].place = places
#else
           caller[p].returned = 1
#endif
        :: else ->
           places++;
           caller[p].place = places;
           caller[p].returned = 0;
           caller[p].older = (p != 0 && IS_IN_LINE(0) -> 1 : 0) +
                             (p != 1 && IS_IN_LINE(1) -> 2 : 0) +
                             (p != 2 && IS_IN_LINE(2) -> 4 : 0)
        fi;
        caller[p].state = PLACED }
    :: atomic { caller[p].state == PLACED ->
        position = POSITION(p); insert(p); caller[p].state = QUEUED }
    :: atomic { caller[p].state == QUEUED && leaves > 0 ->
        leaves--;
        remove(p);
        if
        :: writing == p + 1 -> left = 1
        :: else
        fi;
        caller[p].state = OUT;
        caller[p].kept = 1;
        printf("pod %d leaves\n", p) }
    :: atomic { caller[p].state == OUT && caller[p].kept && leaves == 0 -> forget(p) }
    :: atomic { caller[p].state == DONE -> break }
    od
}

#ifdef MUTANT_BARGING
#define MAY_WRITE(p) (caller[p].state == QUEUED)
#else
#define MAY_WRITE(p) (queue[0] == p + 1)
#endif

proctype Node()
{
    do
    :: atomic { free && writing == 0 && MAY_WRITE(0) -> write(0) }
    :: atomic { free && writing == 0 && MAY_WRITE(1) -> write(1) }
    :: atomic { free && writing == 0 && MAY_WRITE(2) -> write(2) }
    /* Its take is in the store. */
    :: atomic { writing != 0 ->
        if
        :: left -> skip /* undone */
        :: !left -> grant(writing - 1); free = 0
        fi;
        writing = 0;
        left = 0 }
    /* It is not: somebody else was quicker. */
    :: atomic { writing != 0 -> writing = 0; left = 0; free = 0 }
    :: atomic { !free -> free = 1 }
    :: atomic { caller[0].state == DONE && caller[1].state == DONE &&
                caller[2].state == DONE -> break }
    od
}

init
{
    atomic { run Asker(0); run Asker(1); run Asker(2); run Node() }
}
