/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which of a node's locks is a pod's: the cover, which is the lock's key itself, or one of
 * the permits behind it (docs/protocol.md, "Side by side"). Pure: from a Node object as
 * read to pairs, and from pairs to the edits of a patch. No clock, no thread, no I/O.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_HANDSHAKE_LOCK_H
#define HAMI_INTERNAL_KUBERNETES_HANDSHAKE_LOCK_H

#include <hami/kubernetes.h>
#include <hami/transport.h>

#include <jansson.h>

/* Locks of one key on a node: the cover (0, the key itself), and the permits 1 to 8. */
#define HAMI_INTERNAL_HANDSHAKE_LOCKS (HAMI_NODELOCK_SIDE_BY_SIDE_MAX + 1)

/* No lock of the node is the pod's. */
#define HAMI_INTERNAL_HANDSHAKE_NO_LOCK HAMI_INTERNAL_HANDSHAKE_LOCKS

/* A patch changes at most the cover and a permit, and tests one more. */
#define HAMI_INTERNAL_HANDSHAKE_EDITS_MAX 6

/* Names of a lock's two annotations. */
struct hami_internal_handshake_names {
    char lock[HAMI_NODELOCK_KEY_MAX + 4];
    char lease[HAMI_NODELOCK_KEY_MAX + 11];
};

/* A lock with its lease, as read. Zero = none. */
struct hami_internal_handshake_pair {
    char *lock;  /* NULL = absent */
    char *lease; /* NULL = absent */
    size_t permit;
    struct hami_lock_record record;
};

/* A pod's lock with what its release has to know besides. Zero = none. */
struct hami_internal_handshake_lock {
    struct hami_internal_handshake_pair own;   /* the cover, or a permit */
    struct hami_internal_handshake_pair cover; /* if own is a permit; else none */
    struct hami_internal_handshake_pair heir;  /* of the other permits that are held, the
                                                  one with the highest fence; or none */
};

/* Fills the names of all. `key` fits HAMI_NODELOCK_KEY_MAX. Returns 0, or LIMIT. */
int hami_internal_handshake_lock_names(
    const char *key,
    struct hami_internal_handshake_names ret[HAMI_INTERNAL_HANDSHAKE_LOCKS]);

/* Reads one pair from a Node object. Returns 0, or NOMEM. */
int hami_internal_handshake_pair_read(const struct hami_internal_handshake_names *names,
                                      const json_t *node, size_t permit,
                                      struct hami_internal_handshake_pair *ret);
void hami_internal_handshake_pair_done(struct hami_internal_handshake_pair *pair);

/* True where other pods may be beside this one: its lease says what it calls for. */
bool hami_internal_handshake_pair_is_beside(
    const struct hami_internal_handshake_pair *pair);

/*
 * Finds the lock of the pod with this uid: of all whose lease has it the one with the
 * highest fence, a permit before the cover that is its copy. Where none has, the cover, if
 * nobody is beside it.
 * @ret      to be given to _done on 0. Without any: all zero but own.permit, which is
 *           HAMI_INTERNAL_HANDSHAKE_NO_LOCK
 * Returns   0, or NOMEM
 */
int hami_internal_handshake_lock_find(const struct hami_internal_handshake_names *names,
                                      const json_t *node, const char *uid,
                                      struct hami_internal_handshake_lock *ret);

/* Reads a certain one. Returns 0, or NOMEM. */
int hami_internal_handshake_lock_read(const struct hami_internal_handshake_names *names,
                                      const json_t *node, size_t permit,
                                      struct hami_internal_handshake_lock *ret);
void hami_internal_handshake_lock_done(struct hami_internal_handshake_lock *lock);

/* Texts that edits of a release borrow. */
struct hami_internal_handshake_memories {
    char own[64];
    char cover[64];
};

/*
 * The edits that free a lock: its lease keeps the fence's memory. The cover is tested at
 * least; it becomes a copy of the heir's pair if it was this pod's, and is freed as well
 * where nobody holds a permit any more.
 * @memories borrowed by the edits
 * @ret_count 2, 4 or 6
 * Returns   0, or INVAL
 */
int hami_internal_handshake_lock_free_edits(
    const struct hami_internal_handshake_names *names,
    const struct hami_internal_handshake_lock *lock,
    struct hami_internal_handshake_memories *memories,
    struct hami_transport_edit ret[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX], size_t *ret_count);

/* The edits that put the pair of a cover back, onto what stands now. Returns how many. */
size_t hami_internal_handshake_lock_restore_edits(
    const struct hami_internal_handshake_names *names,
    const struct hami_internal_handshake_pair *pair,
    const struct hami_internal_handshake_pair *now,
    struct hami_transport_edit ret[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX]);

/* Equal, or both absent. */
bool hami_internal_handshake_same_text(const char *one, const char *other);

#endif
