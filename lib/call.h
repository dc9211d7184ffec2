/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a transport, from preparation to its single completion.
 *
 * Whoever prepares a call owns it until it is submitted; then the transport does, until
 * it completes it; then `completed` gets it back. Nothing here takes a lock.
 */
#ifndef HAMI_LIB_CALL_H
#define HAMI_LIB_CALL_H

#include "internal.h"

#define HAMI_INTERNAL_CALL_EDITS_MAX (2 * HAMI_INTERNAL_KEYS_MAX)
/* Enough for nearly all nodes, of which thousands may have a call at a time. */
#define HAMI_INTERNAL_CALL_EDITS_FEW 4
/* For a node with permits: to read them all, and the node's mark. */
#define HAMI_INTERNAL_CALL_EDITS_BESIDE 20

/* Facts copied into one block with their texts. */
struct hami_internal_facts {
    struct hami_owner_facts facts;
    char texts[];
};

struct hami_internal_answer {
    int code;
    bool has_values;
    size_t value_count;
    struct hami_internal_text *texts; /* value_capacity of them, kept from call to call */
    const char **values;              /* into texts; NULL = absent */
    size_t value_capacity;
    char version[64];        /* "" = unknown */
    uint64_t version_number; /* 0 = it is no number */
    uint64_t server_time_us;
    int status;
    struct hami_internal_facts *facts; /* NULL = none */
    char text[256];
};

enum hami_internal_call_state {
    CALL_IDLE = 0,
    CALL_SUBMITTING, /* submit has not returned yet */
    CALL_PENDING,    /* the transport has it */
    CALL_DONE_EARLY, /* completed inside submit: the submitter goes on with it */
    CALL_ORPHANED    /* given up on; freed when the transport completes it */
};

struct hami_call {
    const struct hami_allocator *allocator;
    const struct hami_nodelock *lock;   /* whose it is; NULL = no manager's */
    void (*completed)(hami_call *call); /* on the completing thread */
    void *completed_data;
    atomic_int state;       /* enum hami_internal_call_state; see run.c */
    atomic_uint references; /* the owner's, and one while an abort is being asked for */
    uint64_t (*now)(void *data);
    void *now_data;
    const char *node;
    size_t edit_count, edit_capacity;
    char version[64];
    char memory[64]; /* text of a released lease */
    /* of a removal from a permit: what it makes of the cover; see cover.h */
    struct hami_internal_slot *cover_from; /* a copy of this permit's pair; NULL = none */
    uint64_t cover_fence; /* if it is freed: of its memory; 0 = it stays as it is */
    char cover_memory[64];
    uint64_t deadline_ns;
    struct hami_owner owner;
    char owner_text[64 + 254 + HAMI_NODELOCK_UID_MAX + 1]; /* what owner points to */
    bool wants_read;
    char revocation[HAMI_NODELOCK_NODE_MAX + 400];
    void *data;
    struct hami_internal_answer answer;
    /* what the node that had it last kept for its next grant; see
     * hami_internal_call_fetch() */
    struct hami_internal_grant *kept_grant;
    hami_lease *kept_lease;
    struct hami_transport_edit edits[]; /* edit_capacity of them */
};

/* A new call with one reference and room for so many edits, or NULL. */
hami_call *hami_internal_call_new(const struct hami_allocator *allocator, size_t edits);
/* Gives back a reference; the last one frees it. Takes NULL, returns NULL. */
hami_call *hami_internal_call_free(hami_call *call);

/* The manager keeps one call that nobody needs, with a grant and a lease: a node that
 * comes to rest gives its own back, and the next one that wakes takes it. Takes NULL. */
void hami_internal_call_retire(struct hami_nodelock *lock, hami_call *call);
/* That call, or a new one, with room for so many edits; NULL = out of memory. */
hami_call *hami_internal_call_get(struct hami_nodelock *lock, size_t edits);

/* Edits that a call of this node may need. */
size_t hami_internal_call_edits(const struct hami_internal_node *node);

/* With the node's mutex: takes the manager's call, if the node has none and there is one.
 */
void hami_internal_call_fetch(struct hami_internal_node *node);
/* With the node's mutex: the node's spare call goes back when the mutex is free. */
void hami_internal_call_rest(struct hami_internal_node *node,
                             struct hami_internal_after *after);

/* Makes it ready for its next use: no edits, no owner, no answer. */
void hami_internal_call_reset(hami_call *call);

/* Names the owner that an inspect or revoke is about; texts are copied, cut to what names
 * may hold. */
void hami_internal_call_set_owner(hami_call *call, const char *namespace_name,
                                  const char *name, const char *uid);

void hami_internal_call_add(hami_call *call, enum hami_edit_action action,
                            const char *key, const char *expect, const char *value);

/* Copies facts into one block; NULL = out of memory. */
struct hami_internal_facts *
hami_internal_call_copy_facts(const struct hami_allocator *allocator,
                              const struct hami_owner_facts *facts);

/* Copies a text into a growing buffer. Returns 0 or HAMI_E_NOMEM; *ret points into the
 * buffer. */
int hami_internal_call_keep(const struct hami_allocator *allocator,
                            struct hami_internal_text *buffer, const char *text,
                            const char **ret);

#endif
