/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store behind the memory transport: nodes with named values, owners, one version for
 * all. Texts are counted: whoever needs one longer than the mutex is held takes a
 * reference. One that somebody else refers to never changes; one that is the store's
 * alone is written over in its place, so that a value which changes often costs no memory
 * each time.
 */
#ifndef HAMI_LIB_MEMORY_STORE_H
#define HAMI_LIB_MEMORY_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <hami/memory.h>

#include "list.h"

#define STORE_VALUES_MAX 256  /* values of one node */
#define STORE_WATCHERS_MAX 64 /* managers that watch */
#define STORE_BUCKETS 1024

struct hami_internal_store_text {
    atomic_uint references;
    uint32_t capacity; /* bytes of text */
    char text[];
};

struct hami_internal_store_value {
    struct hami_internal_store_text *key, *value;
    bool absent; /* it was removed: its seat and its memory are kept for the next */
};

struct hami_internal_store_node {
    struct hami_internal_list link;
    uint64_t version;
    size_t value_count, absent_count;
    struct hami_internal_store_value values[STORE_VALUES_MAX];
    char name[HAMI_NODELOCK_NODE_MAX + 1];
};

struct hami_internal_store_owner {
    struct hami_internal_list link;
    struct hami_owner_facts facts; /* texts below */
    struct hami_internal_store_text *uid, *node, *assigned_node, *revoked;
    uint64_t version;
    char namespace_name[64];
    char name[254];
};

struct hami_memory {
    struct hami_transport transport; /* first: the transport is the store */
    pthread_mutex_t mutex;           /* guards all below */
    pthread_cond_t told;
    uint64_t version;
    struct hami_internal_list nodes[STORE_BUCKETS];
    struct hami_internal_list owners[STORE_BUCKETS];
    hami_nodelock *watchers[STORE_WATCHERS_MAX];
    size_t watchers_end;                  /* no watcher stands from here on */
    uint32_t telling[STORE_WATCHERS_MAX]; /* threads that tell this watcher now */
};

struct hami_internal_store_text *hami_internal_store_text_new(const char *text);
struct hami_internal_store_text *
hami_internal_store_text_ref(struct hami_internal_store_text *text);
void hami_internal_store_text_unref(struct hami_internal_store_text *text);

/* With the mutex: NULL = none. */
struct hami_internal_store_node *hami_internal_store_node(hami_memory *memory,
                                                          const char *name);
struct hami_internal_store_value *
hami_internal_store_value(struct hami_internal_store_node *node, const char *key);
/* Likewise, but one that is absent is found as well. */
struct hami_internal_store_value *
hami_internal_store_seat(struct hami_internal_store_node *node, const char *key);
struct hami_internal_store_owner *
hami_internal_store_owner(hami_memory *memory, const struct hami_owner *owner);
struct hami_internal_list *hami_internal_store_bucket(struct hami_internal_list *buckets,
                                                      const char *name);

/* With the mutex: the facts as they are now; version is written into `buffer` (24 bytes).
 * Texts are borrowed until the mutex is let go. */
struct hami_owner_facts
hami_internal_store_facts(const struct hami_internal_store_owner *owner, char *buffer);

/* A version as text; 24 bytes. */
void hami_internal_store_version(char *buffer, uint64_t version);

/* With the mutex: true if somebody watches who is not the writer. */
bool hami_internal_store_is_watched(const hami_memory *memory,
                                    const hami_nodelock *writer);

/* Without the mutex: tell all that watch how a node, or an owner, is now.
 * @writer  knows it from its answer and is not told; NULL = everybody is */
void hami_internal_store_tell_node(hami_memory *memory, const char *name,
                                   const hami_nodelock *writer);
void hami_internal_store_tell_owner(hami_memory *memory, const struct hami_owner *owner);

#endif
