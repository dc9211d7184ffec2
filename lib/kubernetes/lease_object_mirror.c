/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lease and Node seen as one. Pure.
 *
 * A pair that stands on both is plain. Where they differ the fences tell why: the Node's
 * lease annotation shows how far the mirror has come, and a lock without a lease of its
 * own was written by somebody else. The table is in docs/protocol.md ("Lease objects").
 */
#include "lease_object.h"

#include <stdlib.h>
#include <string.h>

#include <hami/handshake.h>

#include "object.h"

enum standing {
    STANDING_AGREED,  /* the same on both, or nothing on either */
    STANDING_FREED,   /* the Lease's lock was on the Node, and was removed there */
    STANDING_LACKING, /* the Lease's lock has yet to be written to the Node */
    STANDING_STALE,   /* the Node still has a lock that the Lease has no more */
    STANDING_FOREIGN  /* the Node has somebody else's lock */
};

struct pair {
    const char *lock;
    const char *lease;
    struct hami_lock_record record;
};

static bool is_empty(const char *lock)
{
    return lock == NULL || lock[0] == '\0';
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void read_pair(const json_t *object, const struct hami_internal_lease_keys *keys,
                      struct pair *ret)
{
    const struct hami_lock_record nothing = HAMI_LOCK_RECORD_INIT;
    ret->lock = hami_internal_object_annotation(object, keys->lock);
    ret->lease = hami_internal_object_annotation(object, keys->lease);
    ret->record = nothing;
    (void)hami_lock_record_parse(ret->lock, ret->lease, &ret->record);
}

static enum standing judge_empty(const struct pair *node, const struct pair *lease)
{
    if (is_empty(lease->lock)) {
        return STANDING_AGREED;
    }
    bool was_there =
        lease->record.has_lease && node->record.last_fence >= lease->record.last_fence;
    return was_there ? STANDING_FREED : STANDING_LACKING;
}

static enum standing judge(const struct pair *node, const struct pair *lease)
{
    bool lease_empty = is_empty(lease->lock);
    if (is_empty(node->lock)) {
        return judge_empty(node, lease);
    }
    if (is_same(node->lock, lease->lock)) {
        return STANDING_AGREED;
    }
    uint64_t fence = node->record.has_lease ? node->record.fence : 0;
    bool is_older = fence > 0 && (lease_empty ? fence <= lease->record.last_fence
                                              : fence < lease->record.last_fence);
    if (!is_older) {
        return STANDING_FOREIGN;
    }
    return lease_empty ? STANDING_STALE : STANDING_LACKING;
}

static bool any_is(const struct hami_internal_lease *owner, const json_t *node,
                   const json_t *lease, enum standing wanted)
{
    for (size_t i = 0; i < owner->key_count; i++) {
        struct pair on_node;
        struct pair on_lease;
        read_pair(node, &owner->keys[i], &on_node);
        read_pair(lease, &owner->keys[i], &on_lease);
        if (judge(&on_node, &on_lease) == wanted) {
            return true;
        }
    }
    return false;
}

bool hami_internal_lease_lacks_mirror(const struct hami_internal_lease *owner,
                                      const json_t *node, const json_t *lease)
{
    return any_is(owner, node, lease, STANDING_LACKING);
}

bool hami_internal_lease_is_freed(const struct hami_internal_lease *owner,
                                  const json_t *node, const json_t *lease)
{
    return any_is(owner, node, lease, STANDING_FREED);
}

bool hami_internal_lease_is_foreign(const struct hami_internal_lease *owner,
                                    const json_t *node, const json_t *lease)
{
    return any_is(owner, node, lease, STANDING_FOREIGN);
}

bool hami_internal_lease_is_mirrored(const struct hami_internal_lease *owner,
                                     const char *key)
{
    for (size_t i = 0; i < owner->key_count; i++) {
        if (strcmp(key, owner->keys[i].lock) == 0 ||
            strcmp(key, owner->keys[i].lease) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- the view ---- */

/* NULL = absent. Returns false without memory, or where the text is not UTF-8. */
static bool set_text(json_t *annotations, const char *key, const char *value)
{
    if (value == NULL) {
        (void)json_object_del(annotations, key);
        return true;
    }
    return json_object_set_new(annotations, key, json_string(value)) == 0;
}

static bool correct(json_t *annotations, const struct hami_internal_lease_keys *keys,
                    const json_t *node, const json_t *lease)
{
    struct pair on_node;
    struct pair on_lease;
    read_pair(node, keys, &on_node);
    read_pair(lease, keys, &on_lease);
    const char *lock = on_lease.lock;
    switch (judge(&on_node, &on_lease)) {
    case STANDING_FREED:
    case STANDING_STALE:
        lock = NULL;
        break;
    case STANDING_FOREIGN:
        lock = on_node.lock;
        break;
    case STANDING_AGREED:
    case STANDING_LACKING:
        break;
    }
    /* A Lease that was lost takes its fence's memory along; the Node has it still. */
    return set_text(annotations, keys->lock, lock) &&
           set_text(annotations, keys->lease,
                    on_lease.lease != NULL ? on_lease.lease : on_node.lease);
}

json_t *hami_internal_lease_view(const struct hami_internal_lease *owner,
                                 const json_t *node, const json_t *lease)
{
    if (owner->key_count == 0 || node == NULL) {
        return json_incref((json_t *)lease);
    }
    const json_t *before =
        json_object_get(json_object_get(lease, "metadata"), "annotations");
    json_t *annotations =
        json_is_object(before) ? json_copy((json_t *)before) : json_object();
    bool sound = annotations != NULL;
    for (size_t i = 0; i < owner->key_count && sound; i++) {
        sound = correct(annotations, &owner->keys[i], node, lease);
    }
    if (!sound) {
        json_decref(annotations);
        return NULL;
    }
    return json_pack("{s:{s:o}}", "metadata", "annotations", annotations);
}

static uint64_t number_of(const char *version)
{
    char *end = NULL;
    if (version == NULL || version[0] < '0' || version[0] > '9') {
        return 0;
    }
    uint64_t number = strtoull(version, &end, 10);
    return *end == '\0' ? number : 0;
}

const char *hami_internal_lease_version(const struct hami_internal_lease *owner,
                                        const json_t *node, const json_t *lease)
{
    const char *of_lease = hami_internal_object_metadata(lease, "resourceVersion");
    const char *of_node = hami_internal_object_metadata(node, "resourceVersion");
    if (owner->key_count > 0 && number_of(of_node) > number_of(of_lease) &&
        (of_lease == NULL || number_of(of_lease) > 0)) {
        return of_node;
    }
    return of_lease != NULL ? of_lease : HAMI_INTERNAL_LEASE_ABSENT;
}

/* ---- what to write to the Node ---- */

static size_t add_edit(struct hami_transport_edit *edits, size_t count, const char *key,
                       const char *now, const char *then)
{
    edits[count].action = is_same(now, then) ? HAMI_EDIT_TEST : HAMI_EDIT_PUT;
    edits[count].key = key;
    edits[count].expect = now;
    edits[count].value = then;
    return count + 1;
}

static bool is_put(const struct hami_transport_edit *edits, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (edits[i].action == HAMI_EDIT_PUT && strcmp(edits[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

size_t hami_internal_lease_mirror_edits(const struct hami_internal_lease *owner,
                                        const json_t *node, const json_t *target,
                                        const struct hami_transport_edit *call,
                                        size_t call_count,
                                        struct hami_transport_edit *edits)
{
    size_t count = 0;
    for (size_t i = 0; i < owner->key_count; i++) {
        struct pair now;
        struct pair then;
        read_pair(node, &owner->keys[i], &now);
        read_pair(target, &owner->keys[i], &then);
        bool wanted = call != NULL ? is_put(call, call_count, owner->keys[i].lock)
                                   : judge(&now, &then) == STANDING_LACKING;
        if (wanted &&
            (!is_same(now.lock, then.lock) || !is_same(now.lease, then.lease))) {
            count = add_edit(edits, count, owner->keys[i].lock, now.lock, then.lock);
            count = add_edit(edits, count, owner->keys[i].lease, now.lease, then.lease);
        }
    }
    return count;
}
