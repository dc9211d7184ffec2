/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches of the simulated server: a list of one kind of object, then its changes in
 * their order, each stream at its own pace. Faults: a stream breaks off, its version is
 * too old (410), its list is slow to arrive.
 */
#ifndef TESTS_SIMULATION_STREAM_H
#define TESTS_SIMULATION_STREAM_H

#include "world.h"

enum stream_news {
    STREAM_OPENED,  /* object NULL */
    STREAM_CHANGED, /* of a list, too */
    STREAM_GONE,
    STREAM_LISTED,  /* the list is complete; object NULL */
    STREAM_EXPIRED, /* 410; the end */
    STREAM_REFUSED, /* 400: this server does not stream lists; the end */
    STREAM_BROKEN   /* the connection was lost; the end */
};

typedef void (*stream_fn)(void *data, enum stream_news news, struct object *object,
                          uint64_t version);

struct stream {
    struct stream *next;
    struct world *world;
    int replica;
    bool pods; /* else nodes */
    bool listing;
    bool ended;
    uint64_t cursor;  /* number of the first change that was not told */
    uint64_t last_ns; /* of the last event that is on its way */
    unsigned pending; /* events on their way */
    struct object **list;
    size_t list_count;
    uint64_t list_version;
    stream_fn tell;
    void *data;
};

/* Opens a stream from a version; 0 = with a list first, where the replica's server does
 * that. */
struct stream *stream_open(struct world *world, int replica, bool pods, uint64_t version,
                           stream_fn tell, void *data);
/* Nothing is told from now on, not even an end. */
void stream_close(struct stream *stream);

/* The store has a new change. */
void stream_changed(struct world *world, bool of_pod);

/* All streams of a replica break off. */
void stream_cut(struct world *world, int replica);
void stream_done(struct world *world);

#endif
