/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the Lease transport share: one Lease object a node, whose annotations
 * are the values. docs/protocol.md has the exact rules ("Lease objects").
 *
 *   lease_object.c         life, and what was last seen of nodes and Leases
 *   lease_object_news.c    watches of Leases and nodes
 *   lease_object_patch.c   pure: bodies and patches of a Lease
 *   lease_object_submit.c  a call: which request is next, and what its answer means
 *   lease_object_mirror.c  pure: Lease and Node seen as one
 *   lease_object_make.c    makes and deletes a Lease
 *   lease_object_write.c   the writes of a call, on the Lease and on the Node
 *   lease_object_repair.c  a mirror that is missing, completed by a read
 *
 * A Lease counts only while its Node exists: its ownerReference names the Node's uid, and
 * each patch tests it. One that is left from an earlier Node of the name is as good as
 * absent, and is deleted before a new one is made: the garbage collector may remove it at
 * any time, with whatever is written to it.
 *
 * With a mirror the pair of each mirrored key stands on the Node as well. A take writes
 * the Lease first and a release the Node first, so that a lock always stands on the Lease
 * while it stands on the Node; what a crash leaves between the two is told apart by the
 * fences in both leases.
 *
 * Locks: the annotation transport's, and `known_mutex`, which is taken last and guards
 * the two tables.
 */
#ifndef HAMI_INTERNAL_KUBERNETES_LEASE_OBJECT_H
#define HAMI_INTERNAL_KUBERNETES_LEASE_OBJECT_H

#include "annotation.h"

/* Told as the version of a Lease that does not exist: no Lease ever has it. */
#define HAMI_INTERNAL_LEASE_ABSENT "absent"
#define HAMI_INTERNAL_LEASE_EDITS_MAX 32

/* Places in the list of sources. */
#define HAMI_INTERNAL_LEASE_SOURCE_NODES 0
#define HAMI_INTERNAL_LEASE_SOURCE_LEASES 1

struct hami_internal_lease_keys {
    char lock[HAMI_NODELOCK_KEY_MAX + 1];
    char lease[HAMI_NODELOCK_KEY_MAX + 8];
};

struct hami_internal_lease {
    struct hami_internal_annotation base; /* first */
    char namespace_name[64];
    struct hami_internal_lease_keys keys[HAMI_NODELOCK_KEYS_MAX]; /* those mirrored */
    size_t key_count;                                             /* 0 = no mirror */

    pthread_mutex_t known_mutex;
    /* By name: JSON text of what is needed of the object. */
    struct hami_internal_table nodes;  /* known_mutex; as the watch saw them */
    struct hami_internal_table leases; /* known_mutex; by a watch or an answer */

    /* The client's thread's: told of by Leases before the nodes were listed. */
    bool nodes_are_listed;
    struct hami_internal_table strangers;
};

/* A call under way. `node` and `lease` are what is known for it: fresh ones were read
 * after the call, or its last refusal, began. */
struct hami_internal_lease_operation {
    struct hami_internal_annotation_operation base; /* first */
    json_t *node;
    json_t *lease;  /* NULL = not known, or (fresh) there is none */
    json_t *former; /* the Lease before it was patched */
    bool node_fresh;
    bool lease_fresh;
    bool writes_lease; /* outstanding */
    bool writes_node;  /* outstanding */
    bool applied;      /* one of the two was written */
    int undone_code;   /* why the Lease is being put back */
    unsigned rounds;
};

static inline struct hami_internal_lease *
hami_internal_lease_owner_of(const struct hami_internal_lease_operation *operation)
{
    return (struct hami_internal_lease *)operation->base.owner;
}

/* ---- lease_object.c: what was last seen ---- */

/* Keep what is needed of an object, unless a newer one is known. */
void hami_internal_lease_learn_node(struct hami_internal_lease *owner, const char *name,
                                    const json_t *node);
void hami_internal_lease_learn(struct hami_internal_lease *owner, const char *name,
                               const json_t *lease);
void hami_internal_lease_unlearn_node(struct hami_internal_lease *owner,
                                      const char *name);
void hami_internal_lease_unlearn(struct hami_internal_lease *owner, const char *name);
void hami_internal_lease_unlearn_nodes(struct hami_internal_lease *owner);
void hami_internal_lease_unlearn_all(struct hami_internal_lease *owner); /* Leases */
/* New; NULL where nothing is known. */
json_t *hami_internal_lease_recall_node(struct hami_internal_lease *owner,
                                        const char *name);
json_t *hami_internal_lease_recall(struct hami_internal_lease *owner, const char *name);

/* ---- lease_object_patch.c ---- */

enum hami_internal_lease_ownership {
    HAMI_INTERNAL_LEASE_OWNED,    /* by the Node with this uid */
    HAMI_INTERNAL_LEASE_UNOWNED,  /* by no Node */
    HAMI_INTERNAL_LEASE_LEFT_OVER /* by a Node with another uid */
};
/* @ret_index  of the reference to the Node, where there is one; may be NULL */
enum hami_internal_lease_ownership
hami_internal_lease_ownership(const json_t *lease, const char *uid, size_t *ret_index);

/* Body of the POST that makes a Lease without values. New text; NULL without memory. */
char *hami_internal_lease_new_body(const char *namespace_name, const char *node,
                                   const char *uid);

/* Body of the DELETE of this very version of a Lease. New text; NULL without memory. */
char *hami_internal_lease_delete_body(const json_t *lease);

/* What is to become of a Lease. */
struct hami_internal_lease_change {
    const json_t
        *lease; /* as last seen: its reference to the Node and its spec are tested */
    const char *node;
    const char *uid; /* of the Node; a Lease that no Node owns is given to it */
    const struct hami_transport_edit *edits;
    size_t count;
    const char *version; /* that must stand, or NULL */
    enum hami_internal_jsonpatch_form form;
    bool touch; /* make a new version, whatever the edits are */
};

/* The patch for it. @ret new; free(). Returns as hami_internal_jsonpatch_edits(). */
int hami_internal_lease_patch(const struct hami_internal_lease_change *change,
                              char **ret);

/* ---- lease_object_mirror.c ---- */

/*
 * What Lease and Node say together: the Lease's annotations, those of the mirrored keys
 * corrected by what stands on the Node. Where there is no mirror, or no Node is given:
 * the Lease.
 * @lease    NULL = there is none
 * Returns   new; NULL without memory, and where there is nothing
 */
json_t *hami_internal_lease_view(const struct hami_internal_lease *owner,
                                 const json_t *node, const json_t *lease);

/* True if this is the lock key or the lease key of a mirrored lock. */
bool hami_internal_lease_is_mirrored(const struct hami_internal_lease *owner,
                                     const char *key);

/* The version of the two: the later one. Borrowed from them. */
const char *hami_internal_lease_version(const struct hami_internal_lease *owner,
                                        const json_t *node, const json_t *lease);

/* True if the Node lacks a lock that the Lease has and nobody has freed. */
bool hami_internal_lease_lacks_mirror(const struct hami_internal_lease *owner,
                                      const json_t *node, const json_t *lease);

/* True if a lock of the Lease was freed on the Node. */
bool hami_internal_lease_is_freed(const struct hami_internal_lease *owner,
                                  const json_t *node, const json_t *lease);

/* True if one of the mirrored locks on the Node is not ours, by this Lease. */
bool hami_internal_lease_is_foreign(const struct hami_internal_lease *owner,
                                    const json_t *node, const json_t *lease);

/*
 * The edits that make the Node's pairs those of the target, each expecting what is there
 * now. Only pairs that differ.
 * @target   the Lease as it is, or will be
 * @call     edits of a call: only locks that it sets or removes; NULL = only locks that
 *           the Node lacks
 * @edits    2 * HAMI_NODELOCK_KEYS_MAX places; texts borrowed from node and target
 * Returns   their number
 */
size_t hami_internal_lease_mirror_edits(const struct hami_internal_lease *owner,
                                        const json_t *node, const json_t *target,
                                        const struct hami_transport_edit *call,
                                        size_t call_count,
                                        struct hami_transport_edit *edits);

/* ---- lease_object_submit.c ---- */

int hami_internal_lease_submit(struct hami_transport *transport, hami_call *call);

/* Starts what is next for a call: a request, or its end. `answer` is the last one.
 * Returns 0, or a code of sending: nothing was started. */
int hami_internal_lease_advance(struct hami_internal_lease_operation *operation,
                                const struct hami_kubernetes_answer *answer);

/* The same from within an answer: on failure the call ends. */
void hami_internal_lease_go_on(struct hami_internal_lease_operation *operation,
                               const struct hami_kubernetes_answer *answer);

/* Ends a call with the values that Lease and Node show. */
void hami_internal_lease_finish(struct hami_internal_lease_operation *operation, int code,
                                const struct hami_kubernetes_answer *answer);
/* Ends a call without; IN_DOUBT where part of it was written. */
void hami_internal_lease_fail(struct hami_internal_lease_operation *operation, int code,
                              const struct hami_kubernetes_answer *answer);

/* Sends a GET of the call's Node. Returns as hami_internal_annotation_send(). */
int hami_internal_lease_read_node(struct hami_internal_lease_operation *operation,
                                  hami_internal_annotation_step_fn step);

/* Forget what was read: it is to be read again. */
void hami_internal_lease_drop_reads(struct hami_internal_lease_operation *operation);

/* ---- lease_object_write.c ---- */

/* Starts the outstanding writes of a call (`writes_lease`, `writes_node`) in their order.
 * The tests of the first are of what is known. Returns 0, or a code of sending. */
int hami_internal_lease_write(struct hami_internal_lease_operation *operation,
                              const struct hami_kubernetes_answer *answer);

/* Send a patch of the Lease or of the Node. `lease`, `node`, `uid` and `form` of the
 * change are filled in. Return as hami_internal_annotation_send(), or PROTO, LIMIT. */
int hami_internal_lease_send_lease(struct hami_internal_lease_operation *operation,
                                   struct hami_internal_lease_change *change,
                                   hami_internal_annotation_step_fn step);
int hami_internal_lease_send_node(struct hami_internal_lease_operation *operation,
                                  const struct hami_transport_edit *edits, size_t count,
                                  hami_internal_annotation_step_fn step);

/* ---- lease_object_repair.c ---- */

/* For a read: writes the locks onto the Node that it lacks; then the call goes on. */
int hami_internal_lease_repair(struct hami_internal_lease_operation *operation);

/* ---- lease_object_make.c ---- */

/* Makes the Lease, or deletes one that is left over; then the call goes on. */
int hami_internal_lease_create(struct hami_internal_lease_operation *operation);
int hami_internal_lease_delete(struct hami_internal_lease_operation *operation);

/* ---- lease_object_news.c ---- */

/* Names what is watched. */
void hami_internal_lease_follow(struct hami_internal_lease *owner);

#endif
