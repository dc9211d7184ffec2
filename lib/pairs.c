/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See node.h: what is known of the pair, lock and lease, that stands in a slot: as a read
 * or a watch told it, or as we wrote it ourselves. Under the node's mutex.
 */
#include "node.h"

#include <string.h>

#include "after.h"
#include "grant.h"
#include "history.h"
#include "pen.h"
#include "record.h"

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void hami_internal_node_note_hand_over(struct hami_internal_node *node,
                                       const struct hami_internal_slot *slot,
                                       enum hami_hand_over how,
                                       enum hami_internal_reason reason)
{
    const struct hami_lock_record *record = &slot->record;
    struct hami_internal_hand_over entry = {
        .slot = slot,
        .how = how,
        .reason = reason,
        .at_ns = slot->first_seen_ns,
        .held_ns = slot->before.held_ns,
        .fence = record->fence,
        .from = {slot->before.namespace_name, slot->before.name, slot->before.uid},
        .to = {record->namespace_name, record->name, record->uid}};

    if (node->history) {
        hami_internal_history_add(node->history, &entry);
    }
}

/* The grant that the slot's record was of has ended: what is to be told of it. */
static void remember_hold(struct hami_internal_node *node,
                          struct hami_internal_slot *slot)
{
    const struct hami_lock_record *record = &slot->record;
    uint64_t now = node->now_ns;

    if (record->kind == HAMI_LOCK_FREE || slot_is_copy(slot)) {
        return;
    }
    slot->before.held_ns = now - slot->first_seen_ns;
    pen_copy(slot->before.namespace_name, sizeof(slot->before.namespace_name),
             record->namespace_name);
    pen_copy(slot->before.name, sizeof(slot->before.name), record->name);
    pen_copy(slot->before.uid, sizeof(slot->before.uid), record->uid);
    slot->before.fence = record->fence;
    slot->before.told = false;
    struct hami_internal_slot *first =
        slot->permit == 0 ? slot : hami_internal_node_slot(node, slot->key, 0);
    hami_internal_pace_add(&(first ? first : slot)->pace, slot->before.held_ns, now);
}

static bool is_same_grant(const struct hami_lock_record *a,
                          const struct hami_lock_record *b)
{
    return a->kind == b->kind && a->fence == b->fence && strcmp(a->uid, b->uid) == 0 &&
           strcmp(a->name, b->name) == 0 &&
           strcmp(a->namespace_name, b->namespace_name) == 0;
}

/* It is somebody's own lock. */
static bool is_held(const struct hami_internal_slot *slot)
{
    return slot->record.kind != HAMI_LOCK_FREE && !slot_is_copy(slot);
}

/* Owners are looked up by those who can ask about them. */
static void list_owner(struct hami_internal_node *node, struct hami_internal_slot *slot)
{
    const struct hami_lock_record *record = &slot->record;

    hami_internal_owners_remove(node, &slot->owner_link);
    if (record->kind == HAMI_LOCK_OWNED && node->lock->transport->inspect &&
        !slot_is_copy(slot)) {
        hami_internal_owners_add(
            node, &slot->owner_link,
            hami_internal_owners_hash(record->namespace_name, record->name),
            OWNER_OF_SLOT);
    }
}

/* A new pair stands in the slot: what was known of the old one's owner is void.
 * @is_ours  the lease says that we wrote it */
static void pair_changed(struct hami_internal_node *node, struct hami_internal_slot *slot,
                         bool is_ours, struct hami_internal_after *after)
{
    slot->first_seen_ns = node->now_ns;
    slot->sight++;
    list_owner(node, slot);
    if (slot->record.last_fence > slot->max_fence) {
        slot->max_fence = slot->record.last_fence;
    }
    if (slot->record.last_fence > node->max_fence) {
        node->max_fence = slot->record.last_fence;
    }
    if (slot->record.has_lease && !is_ours) {
        slot->rival_ns = slot->first_seen_ns;
    }
    hami_internal_after_free_facts(after, slot->facts);
    slot->facts = NULL;
    slot->asked = slot->revoked = slot->alarmed = false;
    slot->ask_next_ns = slot->first_seen_ns + HAMI_INTERNAL_ASK_FIRST_NS;
    slot->revoke_next_ns = 0;
    slot->reason = REASON_NONE;
}

/* The slot's pair is what a read or a watch told. */
static void learn_record(struct hami_internal_node *node, struct hami_internal_slot *slot,
                         struct hami_internal_after *after)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    (void)hami_lock_record_parse(slot->pair.lock, slot->pair.lease, &record);
    bool passed = !is_same_grant(&slot->record, &record);
    bool was_held = is_held(slot);
    bool is_ours = strcmp(record.holder, node->lock->holder) == 0;
    if (passed) {
        remember_hold(node, slot);
    }
    slot->record = record;
    pair_changed(node, slot, is_ours, after);
    if (passed && is_held(slot) && !is_ours) {
        hami_internal_node_note_hand_over(node, slot, HAMI_HAND_OVER_FOREIGN,
                                          REASON_NONE);
        hami_internal_after_change(after, slot, HAMI_HAND_OVER_FOREIGN, REASON_NONE);
    } else if (passed && was_held && !is_held(slot)) {
        hami_internal_after_change(after, slot, HAMI_HAND_OVER_NONE, REASON_NONE);
    }
}

static void put_text(struct hami_internal_text *buffer, const char *text, size_t bytes,
                     const char **ret)
{
    if (text && bytes <= buffer->capacity) {
        memcpy(buffer->data, text, bytes);
    }
    *ret = text ? buffer->data : NULL;
}

void hami_internal_node_taken(struct hami_internal_node *node,
                              struct hami_internal_slot *slot,
                              const struct hami_internal_grant *grant,
                              struct hami_internal_after *after)
{
    struct hami_internal_lease_text text =
        hami_internal_grant_lease_text(node->lock, grant);

    put_text(&slot->pair.lock_text, grant->value, grant->value_bytes, &slot->pair.lock);
    put_text(&slot->pair.lease_text, grant->lease, grant->lease_bytes, &slot->pair.lease);
    slot->known = true;
    remember_hold(node, slot);
    hami_internal_record_taken(&grant->owner, &text, &slot->record);
    pair_changed(node, slot, true, after);
}

void hami_internal_node_freed(struct hami_internal_node *node,
                              struct hami_internal_slot *slot, uint64_t fence,
                              const char *memory, struct hami_internal_after *after)
{
    bool was_held = is_held(slot);

    slot->pair.lock = NULL;
    put_text(&slot->pair.lease_text, memory, strlen(memory) + 1, &slot->pair.lease);
    slot->known = true;
    remember_hold(node, slot);
    hami_internal_record_freed(fence, &slot->record);
    pair_changed(node, slot, true, after);
    if (was_held) {
        hami_internal_after_change(after, slot, HAMI_HAND_OVER_NONE, REASON_NONE);
    }
}

static bool fits(const struct hami_internal_text *buffer, const char *text)
{
    return !text || strlen(text) < buffer->capacity;
}

void hami_internal_node_covered(struct hami_internal_node *node,
                                const struct hami_internal_slot *permit,
                                struct hami_internal_after *after)
{
    struct hami_internal_slot *cover = node->cover;
    const struct hami_internal_pair *from = &permit->pair;
    bool was_held = is_held(cover);

    if (!fits(&cover->pair.lock_text, from->lock) ||
        !fits(&cover->pair.lease_text, from->lease)) {
        cover->known = false; /* another writer's text of great length: it is read */
        node->want_read = true;
        return;
    }
    put_text(&cover->pair.lock_text, from->lock, from->lock ? strlen(from->lock) + 1 : 0,
             &cover->pair.lock);
    put_text(&cover->pair.lease_text, from->lease,
             from->lease ? strlen(from->lease) + 1 : 0, &cover->pair.lease);
    cover->known = true;
    remember_hold(node, cover);
    cover->record = permit->record;
    pair_changed(node, cover, strcmp(cover->record.holder, node->lock->holder) == 0,
                 after);
    if (was_held) {
        hami_internal_after_change(after, cover, HAMI_HAND_OVER_NONE, REASON_NONE);
    }
}

/* Our own writes must always fit: the larger buffer of each text stays with the slot. */
static void swap_text(struct hami_internal_text *a, struct hami_internal_text *b)
{
    struct hami_internal_text swap = *a;

    *a = *b;
    *b = swap;
}

static void move_text(struct hami_internal_text *slot, struct hami_internal_text *from,
                      const char *text, const char **ret)
{
    if (!text) {
        *ret = NULL;
    } else if (strlen(text) < slot->capacity) {
        put_text(slot, text, strlen(text) + 1, ret);
    } else {
        swap_text(slot, from);
        *ret = slot->data;
    }
}

void hami_internal_node_swap_pair(struct hami_internal_node *node,
                                  struct hami_internal_slot *slot,
                                  struct hami_internal_pair *pair, uint64_t number,
                                  struct hami_internal_after *after)
{
    bool changed = !slot->known || !is_same_text(slot->pair.lock, pair->lock) ||
                   !is_same_text(slot->pair.lease, pair->lease);

    slot->known = true;
    if (changed) {
        move_text(&slot->pair.lock_text, &pair->lock_text, pair->lock, &slot->pair.lock);
        move_text(&slot->pair.lease_text, &pair->lease_text, pair->lease,
                  &slot->pair.lease);
        slot->pair_version = number;
        learn_record(node, slot, after);
    }
    slot->version_number = number;
}

void hami_internal_node_set_version(struct hami_internal_node *node, const char *version,
                                    uint64_t number)
{
    size_t bytes = version ? strlen(version) + 1 : 0;

    if (bytes <= 1 || bytes > sizeof(node->version) ||
        (number != 0 && number < node->version_number)) {
        return;
    }
    memcpy(node->version, version, bytes);
    node->version_number = number;
}
