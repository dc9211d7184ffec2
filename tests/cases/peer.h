/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that locks nodes as HAMi does, by version: what it writes, whom it believes,
 * what it removes. Its faults are part of it. Each function runs from beginning to end on
 * the caller's thread; `before` is called ahead of each access to the store, so that a
 * test can let something happen between any two of them.
 */
#ifndef TESTS_CASES_PEER_H
#define TESTS_CASES_PEER_H

#include <stdbool.h>
#include <stdint.h>

#define PEER_VALUE_MAX 512
#define PEER_KEY "hami.io/mutex.lock"
#define PEER_EXPIRE_S 300

enum peer_version {
    PEER_V2_3, /* a bare time; PUT; anybody may release. Volcano's Ascend path is so today
                */
    PEER_V2_4, /* time, namespace, name; PUT; anybody may release */
    PEER_V2_5, /* to v2.6: whoever's name is a part of the value may release */
    PEER_V2_7_0, /* merge patch, blind when it is repeated; takes over from pods that are
                    gone */
    PEER_V2_7_1, /* to v2.9: the value must end with namespace and name to be released */
    PEER_V2_10,  /* looks again before it repeats; re-entry; legacy values are everybody's
                  */
    PEER_VERSIONS
};

enum peer_answer { PEER_DONE, PEER_CONTENTION, PEER_ERROR };

/* What its plugin learns from a lock about whom to serve. */
enum peer_owner { PEER_NO_LOCK, PEER_LEGACY, PEER_OWNED, PEER_UNREADABLE };

/* A node as read. `value` is empty where `has_value` is false. */
struct peer_node {
    bool has_value;
    char value[PEER_VALUE_MAX];
    char version[64];
};

/* Where the nodes are. */
struct peer_store {
    bool (*read)(void *data, const char *node, struct peer_node *ret);
    /* Writes, or removes if value is NULL, if the node still has this version; by a PUT
     * of the whole object if `whole`. */
    bool (*write)(void *data, const char *node, const char *version, const char *value,
                  bool whole);
    void *data;
};

enum peer_access { PEER_READ, PEER_WRITE };

struct peer {
    enum peer_version version;
    const struct peer_store *store;
    int64_t now_s;    /* its wall clock */
    const char *gone; /* name of the pod that the API server does not know; NULL: none */
    void (*before)(struct peer *peer, enum peer_access access, unsigned number);
    unsigned reads, writes; /* accesses so far */
};

/* Locks the node for a pod, as the scheduler does ahead of a bind. */
enum peer_answer peer_lock(struct peer *peer, const char *node,
                           const char *namespace_name, const char *name);

/* Releases it for a pod: after Allocate, or after a bind that failed. DONE also where
 * nothing was there to do. */
enum peer_answer peer_release(struct peer *peer, const char *node,
                              const char *namespace_name, const char *name);

/* Takes a value apart as this version does. Both buffers hold PEER_VALUE_MAX bytes. */
enum peer_owner peer_parse(const struct peer *peer, const char *value, int64_t *ret_time,
                           char *ret_namespace, char *ret_name);

/* The store of tests/unit/core/scripted.h. */
extern const struct peer_store peer_scripted_store;

#endif
