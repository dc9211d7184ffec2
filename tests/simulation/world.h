/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One world: a simulated API server with nodes and pods, replicas of the scheduler side
 * (each with a manager of the shipped core), a kubelet with a plugin on each node, those
 * who make and delete pods, and faults. One thread drives it, event by event.
 *
 *   engine   virtual time and random numbers       object   values of the server
 *   store    the server's state and its history    stream   its watches
 *   network  requests, with faults on the way      fault    kinds of faults, their odds
 *   plain    transport that edits values directly  client   the Kubernetes client's place
 *   replica  a process: manager, crash, pause      binder   acquire, bind, hand off
 *   kubelet  admits pods, plays the plugin         foreign  a HAMi scheduler beside
 *   workload makes and deletes pods and nodes      checker  what must hold, seen from the
 *   vandal   spoils leases, leaves odd values               server's changes alone
 *   listing  pages of lists                        trace    the last events of each node
 *   asks     calls of a pod's containers           marks    what node sides say of themselves
 */
#ifndef TESTS_SIMULATION_WORLD_H
#define TESTS_SIMULATION_WORLD_H

#include <hami/nodelock.h>
#include <hami/transport.h>

#include "engine.h"
#include "fault.h"
#include "object.h"

#define REPLICAS_MAX 3
#define KEYS_MAX 2
#define PERMITS_MAX 3
#define BESIDE_MAX 8 /* permits of a key beside its cover */
#define SLOTS_MAX (1 + BESIDE_MAX)
#define CALLS_MAX 3 /* containers of a pod */
#define HISTORY_SIZE 16384

/* A world whose rules are broken on purpose, to see that it is noticed. */
enum broken {
    BROKEN_NOTHING = 0,
    BROKEN_LEASE_TEST, /* the transport drops the test of the lease */
    BROKEN_LOCK_TEST,  /* the transport drops every test */
    BROKEN_REVOCATION, /* the transport says "revoked" and writes nothing */
    BROKEN_BINDING,    /* Bindings carry no version */
    BROKEN_RELEASE,    /* the binder releases an unanswered Binding by itself */
    BROKEN_PLUGIN,     /* our plugin removes whatever lock there is */
    BROKEN_COUNT
};

/* What a world is made from; the same plan gives the same story. */
struct plan {
    uint64_t seed;
    uint64_t acquires; /* pods are made until so many were started */
    uint32_t nodes, replicas;
    uint32_t burst;   /* most pods of one burst */
    uint32_t keys;    /* lock keys; a pod asks for one or more */
    uint32_t permits; /* owners a key; above 1 with the plain transport only */
    bool kubernetes;
    bool foreign;           /* a HAMi scheduler beside, for some of the pods */
    bool by_scheduler;      /* agents leave freeing to the scheduler side */
    uint32_t beside;        /* most pods side by side on a node; 0 = never; else one key,
                               one permit, and by_scheduler */
    uint32_t fault_percent; /* of the odds in fault.c */
    uint32_t faults;        /* bits: kinds that may happen */
    enum broken broken;
};

/* What it came to. */
struct result {
    uint64_t acquires, grants, bound, served, steps, requests;
    uint64_t touched; /* acquires that met a fault */
    uint64_t touched_by[FAULT_COUNT];
    uint64_t faults;                 /* injected */
    uint64_t queue_sum, queue_count; /* waiters of the node at each grant */
    uint64_t double_holds, lost_locks, stuck_nodes, fifo_violations;
    uint64_t fence_violations, wrong_devices, callback_violations, leaks;
    uint64_t cover_violations;
    uint64_t bound_beside;  /* while a distinct pod of the node was in flight */
    uint64_t in_flight_max; /* pods of a node between bind and success */
    uint64_t first_step;    /* of the first violation; 0 = none */
    char first[512];        /* what it was */
    uint64_t virtual_ns;
};

enum writer { WRITER_WORLD = 0, WRITER_OURS, WRITER_NODE_SIDE, WRITER_FOREIGN };

enum plugin_style { PLUGIN_OURS = 0, PLUGIN_HAMI_210, PLUGIN_HAMI_27, PLUGIN_COUNT };

struct acquire;
struct binding;
struct stream;
struct listing;
struct checker;
struct trace;

struct node {
    uint32_t index;
    char name[32];
    uint32_t generation;
    struct object *object; /* NULL = there is none now */
    struct acquire *first[REPLICAS_MAX], *last[REPLICAS_MAX]; /* waiting, by arrival */
    uint32_t waiting;
    struct {
        uint32_t group;
        int32_t lane;
    } served[REPLICAS_MAX]; /* the last one of each */
    /* kubelet */
    enum plugin_style style;
    struct kubelet *kubelet;
    uint32_t pods_open; /* made and not at their end */
    /* When a manager was first and last seen with a lock here that nobody asked for. */
    struct {
        uint64_t first_ns, last_ns;
    } unwanted[REPLICAS_MAX];
};

/* A place in a queue that is kept for a while. */
struct place {
    uint32_t generation, incarnation, node;
    uint64_t place, until_ns;
    unsigned overtaken, rivals;
};

/* One record of a node: the names of its two annotations. Side by side the first one is
 * the cover, and all others are permits of that key. */
struct slot {
    uint32_t key; /* 0 to plan.keys - 1 */
    char lock[40], lease[40];
};

/* A pod's name; the pod itself may be made anew under it. */
struct pod {
    uint32_t index;
    char name[32];
    uint32_t generation;
    struct object *object;    /* NULL = there is none now */
    struct node *node;        /* where it shall go */
    unsigned keys;            /* bits: lock keys that it needs */
    uint8_t calls[CALLS_MAX]; /* kind of each container's call */
    unsigned call_count;
    unsigned call_set; /* bits: kinds */
    bool alone;        /* its calls are told to nobody: it is exclusive */
    unsigned active;   /* acquires under way for it */
    struct acquire *latest;
    bool open;    /* not at its end yet */
    bool foreign; /* of the HAMi scheduler beside */
    bool retry_armed;
    bool refused; /* a request made for it failed, or was refused */
    unsigned attempts;
    struct place kept[REPLICAS_MAX]; /* that its next acquire gets */
    uint64_t sent_ns[REPLICAS_MAX];  /* when its last take was sent from there */
    char admitted[40];               /* uid that the kubelet has taken in */
    char booked_uid[40];             /* of whom the kubelet has on its books */
    unsigned booked;                 /* bits: these containers */
};

/* One acquire. Lives as long as the world. */
struct acquire {
    struct world *world;
    struct acquire *all_next, *all_previous; /* world.acquires, then world.finished */
    struct acquire *next, *previous;         /* of the node's waiting ones */
    struct pod *pod;
    struct node *node;
    uint32_t generation; /* of the pod */
    char uid[40];
    int replica;
    uint32_t incarnation;
    unsigned keys;     /* bits */
    unsigned call_set; /* bits: kinds of calls; 0 = exclusive */
    uint64_t place;    /* by arrival, or the one that was kept */
    bool place_sure, returned;
    unsigned overtaken; /* by younger ones of a higher priority, or of a group */
    uint64_t since_ns;  /* arrival */
    int32_t priority;
    uint32_t group;     /* 0 = none */
    unsigned rivals;    /* that came later and might overtake it, over all its tries */
    bool joins;         /* when it came its group waited, or was served */
    bool passes;        /* when it came nobody had been overtaken too often */
    uint64_t behind_ns; /* if it passes: but none of those that came until then */
    /* arrival of its group's last member then, or later where a higher priority keeps it
     * back; 0 = none */
    uint64_t fellow_ns;
    hami_wait *wait;
    hami_lease *lease;
    bool waiting, ended, leaving, releasing, over;
    struct binding *binding; /* of the plain backend */
    uint32_t met;            /* bits: kinds of faults */
};

/* A process of the scheduler side. */
struct replica {
    struct world *world;
    int index;
    uint32_t incarnation;
    hami_nodelock *lock; /* NULL = it is down */
    struct hami_transport *transport;
    bool woken, dead;
    bool pages;      /* its server does not stream lists */
    char who[24];    /* for traces */
    char holder[64]; /* that its manager's leases name; "" until the first grant */
    uint64_t paused_until_ns, partitioned_until_ns;
    int64_t clock_offset_s;
    uint64_t places;
    unsigned overtaken_max;
    uint64_t kept_ns[256]; /* when places were kept last, round about */
    size_t kept_at;
    size_t allocations;
};

struct change {
    uint64_t version;
    struct object *object;
    bool deleted, was_selected, is_selected;
};

struct world {
    struct plan plan;
    struct result result;
    struct engine engine;
    struct slot slots[SLOTS_MAX]; /* of each node: key by key, its permits */
    size_t slot_count;
    struct node *nodes;
    struct pod **pods;
    size_t pod_count, pod_capacity;
    uint64_t version;
    struct change *history;
    uint64_t history_end; /* number of changes so far; the last HISTORY_SIZE are kept */
    struct replica replicas[REPLICAS_MAX];
    struct stream *streams;
    struct listing *listings;
    uint64_t listing_number;
    struct acquire *acquires, *finished;
    struct checker *checker;
    struct trace *trace;
    uint64_t step;
    uint32_t pods_open;
    uint64_t age_least_ns; /* at which some replica takes what it can't judge */
    bool calm;             /* no faults any more */
    bool over;             /* nobody acts any more */
    bool tell;             /* to the terminal, as it happens */
    uint32_t uid_count;
};

static inline uint64_t world_now(const struct world *world)
{
    return world->engine.now_ns;
}

#endif
