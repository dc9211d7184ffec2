/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What watches tell, brought to the nodes that it concerns. Copies are made before the
 * node's mutex is taken; what they replace is freed after.
 */
#include <string.h>

#include "after.h"
#include "call.h"
#include "cover.h"
#include "errors.h"
#include "keys.h"
#include "manager.h"
#include "memory.h"
#include "names.h"
#include "node.h"
#include "outcome.h"
#include "run.h"
#include "nodes.h"

/* An owner is found on more nodes, or waits more often on one, only where names are made
 * up: then all are looked at. */
#define NODES_ROOM 16
#define WAITS_ROOM 16

static int check_entry(struct hami_nodelock *lock)
{
    if (hami_internal_manager_is_forked(lock)) {
        return HAMI_E_FORKED;
    }
    return atomic_load(&lock->freed) ? HAMI_E_CLOSED : 0;
}

static const char *find_annotation(const struct hami_node_record *record, const char *key)
{
    for (size_t i = 0; i < record->annotation_count; i++) {
        if (strcmp(record->annotations[i].key, key) == 0) {
            return record->annotations[i].value;
        }
    }
    return NULL;
}

static int copy_pair(const struct hami_nodelock *lock,
                     const struct hami_node_record *record,
                     const struct hami_internal_record_key *names,
                     struct hami_internal_pair *pair)
{
    const struct hami_allocator *allocator = hami_internal_allocator(lock);
    int code = hami_internal_call_keep(allocator, &pair->lock_text,
                                       find_annotation(record, names->lock), &pair->lock);

    return code < 0 ? code
                    : hami_internal_call_keep(allocator, &pair->lease_text,
                                              find_annotation(record, names->lease),
                                              &pair->lease);
}

static void free_pair(const struct hami_nodelock *lock, struct hami_internal_pair *pair)
{
    hami_internal_memory_free(hami_internal_allocator(lock), pair->lock_text.data);
    hami_internal_memory_free(hami_internal_allocator(lock), pair->lease_text.data);
}

/* Who frees is the node side's to say; a lease that was written keeps what it says. */
static void learn_mode(struct hami_internal_node *node,
                       const struct hami_node_record *record)
{
    hami_internal_cover_learn_mark(node,
                                   find_annotation(record, HAMI_HANDSHAKE_AGENT_KEY));
}

/* Slots are only ever added, so an index stays what it is while the mutex is let go. The
 * cover, which is before its permits, is told after them: see cover.c. */
static int tell_slots(struct hami_internal_node *node,
                      const struct hami_node_record *record)
{
    const char *version = record->version ? record->version : "";

    (void)pthread_mutex_lock(&node->mutex);
    learn_mode(node, record);
    size_t count = node->slot_count;
    (void)pthread_mutex_unlock(&node->mutex);
    for (size_t i = 0; i < count; i++) {
        struct hami_internal_after after;
        struct hami_internal_pair pair = {.lock = NULL};
        struct hami_internal_slot *slot = node->slots[count - 1 - i];
        int code =
            copy_pair(node->lock, record, &slot->key->records[slot->permit], &pair);
        if (code == 0) {
            (void)pthread_mutex_lock(&node->mutex);
            hami_internal_after_init(&after, node);
            hami_internal_outcome_news(node, slot, &pair, version, &after);
            if (i + 1 == count) {
                hami_internal_run(node, &after);
            } else {
                (void)pthread_mutex_unlock(&node->mutex);
                hami_internal_after_run(&after);
            }
        }
        free_pair(node->lock, &pair);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

static bool has_record(const struct hami_node_record *record,
                       const struct hami_internal_key *key, size_t permit)
{
    return find_annotation(record, key->records[permit].lock) ||
           find_annotation(record, key->records[permit].lease);
}

/* Something stands, or stood, in a record beside the cover. */
static bool has_permits(const struct hami_node_record *record,
                        const struct hami_internal_key *key)
{
    bool found = false;

    for (size_t i = 1; key->beside && i <= HAMI_INTERNAL_BESIDE_MAX && !found; i++) {
        found = has_record(record, key, i);
    }
    return found;
}

static bool is_bare(const struct hami_node_record *record,
                    const struct hami_internal_key *key)
{
    for (size_t permit = 0; permit < key->permits; permit++) {
        if (has_record(record, key, permit)) {
            return false;
        }
    }
    return !has_permits(record, key);
}

/*
 * Of thousands of nodes most have no lock and nobody who wants one: slots are made for a
 * node when there is something to keep in them. False if there is.
 */
static bool note_free(struct hami_internal_node *node,
                      const struct hami_internal_key *key,
                      const struct hami_node_record *record)
{
    uint64_t number = hami_internal_protocol_version_number(record->version);

    if (number == 0 || !is_bare(record, key)) {
        return false;
    }
    (void)pthread_mutex_lock(&node->mutex);
    bool has_none = node->slot_count == 0;
    if (has_none) {
        learn_mode(node, record);
        hami_internal_node_set_version(node, record->version, number);
        node->free_ns = node->free_key ? node->free_ns : hami_internal_now(node->lock);
        node->free_key = key;
        node->free_number = number > node->free_number ? number : node->free_number;
    }
    (void)pthread_mutex_unlock(&node->mutex);
    return has_none;
}

int hami_nodelock_observe(hami_nodelock *lock, const char *node_name,
                          const struct hami_node_record *record)
{
    struct hami_node_record known;
    struct hami_internal_node *node;
    const struct hami_internal_key *key;

    if (!lock || !record || !hami_internal_names_is_subdomain(node_name)) {
        return HAMI_E_INVAL;
    }
    int code = hami_internal_errors_read_struct(
        &known, sizeof(known), record,
        offsetof(struct hami_node_record, annotation_count));
    code = code < 0 ? code : check_entry(lock);
    code = code < 0 ? code : hami_internal_nodes_get(lock, node_name, true, &node);
    if (code < 0) {
        return code;
    }
    code = hami_internal_keys_get(lock, lock->config.key, &key);
    if (code == 0 && !note_free(node, key, &known)) {
        code = has_permits(&known, key) ? hami_internal_node_add_permits(node, key)
                                        : hami_internal_node_add_keys(node, &key, 1);
        code = code < 0 ? code : tell_slots(node, &known);
    }
    hami_internal_nodes_unpin(node);
    return code;
}

int hami_nodelock_forget(hami_nodelock *lock, const char *node_name)
{
    struct hami_internal_node *node;
    struct hami_internal_after after;

    if (!lock || !hami_internal_names_is_subdomain(node_name)) {
        return HAMI_E_INVAL;
    }
    int code = check_entry(lock);
    code = code < 0 ? code : hami_internal_nodes_get(lock, node_name, false, &node);
    if (code < 0) {
        return code == HAMI_E_NODE ? 0 : code;
    }
    (void)pthread_mutex_lock(&node->mutex);
    hami_internal_after_init(&after, node);
    hami_internal_node_end_all_waits(node, HAMI_E_NODE, &after, "the node is gone");
    hami_internal_cover_learn_mark(node, NULL);
    node->free_key = NULL;
    node->free_number = 0;
    for (size_t i = 0; i < node->slot_count; i++) {
        node->slots[i]->known = node->slots[i]->has_news = false;
        node->slots[i]->version_number = 0;
    }
    /* A watch may be wrong: what we hold is given up only if the store says so too. */
    node->want_read = !list_is_empty(&node->grants);
    hami_internal_run(node, &after);
    hami_internal_nodes_drop(node);
    return 0;
}

/* ---- owners ---- */

static bool is_owner(const char *namespace_name, const char *name,
                     const struct hami_owner *owner)
{
    return strcmp(namespace_name, owner->namespace_name) == 0 &&
           strcmp(name, owner->name) == 0;
}

static void suspect(struct hami_wait *wait, const struct hami_owner *owner,
                    const struct hami_owner_facts *facts)
{
    const struct hami_owner waiting = wait_owner(wait);

    if (wait->asker != ASKER_SUSPECT &&
        is_owner(waiting.namespace_name, waiting.name, owner) &&
        (!facts->known ||
         hami_internal_protocol_unfit(facts, waiting.uid, wait->node->name))) {
        wait->asker = ASKER_SUSPECT;
        wait->node->suspects++;
    }
}

/* With the node's mutex: a watch contradicts a waiter's fitness, which costs one read. */
static void suspect_waiters(struct hami_internal_node *node,
                            const struct hami_owner *owner,
                            const struct hami_owner_facts *facts)
{
    struct hami_wait *waits[WAITS_ROOM];
    size_t count = hami_internal_owners_waits(
        node, hami_internal_owners_hash(owner->namespace_name, owner->name), waits,
        WAITS_ROOM);

    for (size_t i = 0; i < count && count <= WAITS_ROOM; i++) {
        suspect(waits[i], owner, facts);
    }
    if (count > WAITS_ROOM) {
        for (struct hami_internal_waiter *one = node->queue.first; one;
             one = queue_next(one)) {
            suspect(LIST_ENTRY(one, struct hami_wait, queued), owner, facts);
        }
    }
}

static bool is_holder(const struct hami_internal_node *node,
                      const struct hami_internal_slot *slot,
                      const struct hami_owner *owner,
                      const struct hami_owner_facts *facts)
{
    return slot->known && slot->record.kind == HAMI_LOCK_OWNED &&
           slot->record.has_lease && !slot_is_copy(slot) &&
           is_owner(slot->record.namespace_name, slot->record.name, owner) &&
           hami_internal_protocol_is_final(facts, slot->record.uid, node->name,
                                           slot->record.fence);
}

/* With the node's mutex: final facts about the owner of a lock that is in the way; the
 * first from slot `at` on. Consumes *copy where there is one, and returns the slot behind
 * it, the facts' own copy for which is still to be made; else the number of slots. */
static size_t tell_holder(struct hami_internal_node *node, size_t at,
                          const struct hami_owner *owner,
                          struct hami_internal_facts **copy,
                          struct hami_internal_after *after)
{
    for (; at < node->slot_count; at++) {
        struct hami_internal_slot *slot = node->slots[at];
        if (is_holder(node, slot, owner, &(*copy)->facts)) {
            /* Who waits a little after it was told does so once, however often the pod
             * changes meanwhile. */
            bool is_old =
                slot->facts && is_holder(node, slot, owner, &slot->facts->facts);
            hami_internal_after_free_facts(after, slot->facts);
            slot->facts = *copy;
            slot->facts_ns = is_old ? slot->facts_ns : node->now_ns;
            slot->asked = true;
            *copy = NULL;
            return at + 1;
        }
    }
    return at;
}

static int tell_node(struct hami_internal_node *node, const struct hami_owner *owner,
                     const struct hami_owner_facts *facts)
{
    size_t at = 0;
    bool more = true;

    /* A grant of several keys has a slot for each. */
    while (more) {
        struct hami_internal_after after;
        struct hami_internal_facts *copy =
            hami_internal_call_copy_facts(hami_internal_allocator(node->lock), facts);
        if (!copy) {
            return HAMI_E_NOMEM;
        }
        (void)pthread_mutex_lock(&node->mutex);
        hami_internal_after_init(&after, node);
        if (at == 0) {
            suspect_waiters(node, owner, facts);
        }
        at = tell_holder(node, at, owner, &copy, &after);
        more = at < node->slot_count;
        hami_internal_after_free_facts(&after, copy);
        hami_internal_run(node, &after);
    }
    return 0;
}

int hami_nodelock_observe_owner(hami_nodelock *lock, const struct hami_owner *owner,
                                const struct hami_owner_facts *facts)
{
    struct hami_owner_facts known;
    struct hami_internal_node *nodes[NODES_ROOM], **all = NULL;

    if (!lock || !owner || !facts ||
        !hami_internal_names_is_label(owner->namespace_name) ||
        !hami_internal_names_is_subdomain(owner->name)) {
        return HAMI_E_INVAL;
    }
    int code = hami_internal_errors_read_struct(&known, sizeof(known), facts,
                                                offsetof(struct hami_owner_facts, uid));
    code = code < 0 ? code : check_entry(lock);
    /* Without inspect owners are judged by age alone, and no hint can be followed up. */
    if (code < 0 || !lock->transport->inspect) {
        return code;
    }
    size_t count = hami_internal_owners_nodes(
        lock, hami_internal_owners_hash(owner->namespace_name, owner->name), nodes,
        NODES_ROOM);
    if (count > NODES_ROOM) {
        code = hami_internal_nodes_all(lock, &all, &count);
        count = code < 0 ? 0 : count;
    }
    known.source = HAMI_FACTS_WATCH;
    for (size_t i = 0; i < count; i++) {
        struct hami_internal_node *node = all ? all[i] : nodes[i];
        int one = tell_node(node, owner, &known);
        code = one < 0 ? one : code;
        hami_internal_nodes_unpin(node);
    }
    hami_internal_memory_free(hami_internal_allocator(lock), all);
    return code;
}
