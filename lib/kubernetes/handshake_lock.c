/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See handshake_lock.h. Nothing is remembered between two reads: what is in flight stands
 * on the Node, so that a restart changes nothing.
 *
 * Invariants: a permit is freed only under a test of the cover as read, which each take
 * changes; so the cover never goes while somebody came beside, and never stays behind the
 * last one.
 */
#include "handshake_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "object.h"

bool hami_internal_handshake_same_text(const char *one, const char *other)
{
    return one == other || (one != NULL && other != NULL && strcmp(one, other) == 0);
}

/* ---- reading -------------------------------------------------------------------- */

int hami_internal_handshake_lock_names(
    const char *key,
    struct hami_internal_handshake_names ret[HAMI_INTERNAL_HANDSHAKE_LOCKS])
{
    char lease[sizeof(ret[0].lease)];
    int code = hami_lease_key(key, lease, sizeof(lease));

    for (size_t i = 0; i < HAMI_INTERNAL_HANDSHAKE_LOCKS && code == 0; i++) {
        char suffix[8] = "";
        int lock_length, lease_length;

        if (i > 0) {
            (void)snprintf(suffix, sizeof(suffix), ".%d", (int)(i % 10));
        }
        lock_length = snprintf(ret[i].lock, sizeof(ret[i].lock), "%s%s", key, suffix);
        lease_length =
            snprintf(ret[i].lease, sizeof(ret[i].lease), "%s%s", lease, suffix);
        if (lock_length < 0 || (size_t)lock_length >= sizeof(ret[i].lock) ||
            lease_length < 0 || (size_t)lease_length >= sizeof(ret[i].lease)) {
            code = HAMI_E_LIMIT;
        }
    }
    return code;
}

int hami_internal_handshake_pair_read(const struct hami_internal_handshake_names *names,
                                      const json_t *node, size_t permit,
                                      struct hami_internal_handshake_pair *ret)
{
    const char *lock = hami_internal_object_annotation(node, names[permit].lock);
    const char *lease = hami_internal_object_annotation(node, names[permit].lease);
    struct hami_internal_handshake_pair pair = {.permit = permit,
                                                .record = HAMI_LOCK_RECORD_INIT};
    int code = hami_lock_record_parse(lock, lease, &pair.record);

    pair.lock = lock != NULL ? strdup(lock) : NULL;
    pair.lease = lease != NULL ? strdup(lease) : NULL;
    if (code == 0 &&
        ((lock != NULL && pair.lock == NULL) || (lease != NULL && pair.lease == NULL))) {
        code = HAMI_E_NOMEM;
    }
    if (code < 0) {
        hami_internal_handshake_pair_done(&pair);
        return code;
    }
    *ret = pair;
    return 0;
}

void hami_internal_handshake_pair_done(struct hami_internal_handshake_pair *pair)
{
    free(pair->lock);
    free(pair->lease);
    memset(pair, 0, sizeof(*pair));
}

void hami_internal_handshake_lock_done(struct hami_internal_handshake_lock *lock)
{
    hami_internal_handshake_pair_done(&lock->own);
    hami_internal_handshake_pair_done(&lock->cover);
    hami_internal_handshake_pair_done(&lock->heir);
}

/* What a Node object says of one lock, without copies of its texts. */
static struct hami_lock_record
record_of(const struct hami_internal_handshake_names *names, const json_t *node,
          size_t permit)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    (void)hami_lock_record_parse(
        hami_internal_object_annotation(node, names[permit].lock),
        hami_internal_object_annotation(node, names[permit].lease), &record);
    return record;
}

static bool is_of(const struct hami_lock_record *record, const char *uid)
{
    return record->has_lease && strcmp(record->uid, uid) == 0;
}

static bool is_beside(const struct hami_lock_record *record)
{
    return record->has_lease && record->calls[0] != '\0';
}

/* The lock whose lease has this uid, or NO_LOCK. Permits come first, so that of a permit
 * and its copy the permit is it. */
static size_t lock_of(const struct hami_internal_handshake_names *names,
                      const json_t *node, const char *uid)
{
    size_t found = HAMI_INTERNAL_HANDSHAKE_NO_LOCK;
    uint64_t fence = 0;

    for (size_t i = 1; i <= HAMI_INTERNAL_HANDSHAKE_LOCKS; i++) {
        size_t permit = i % HAMI_INTERNAL_HANDSHAKE_LOCKS;
        struct hami_lock_record record = record_of(names, node, permit);

        if (is_of(&record, uid) &&
            (found == HAMI_INTERNAL_HANDSHAKE_NO_LOCK || record.fence > fence)) {
            found = permit;
            fence = record.fence;
        }
    }
    return found;
}

/* Of the permits that are held but for `own`, the one with the highest fence, or NO_LOCK.
 * One that says nothing of calls counts: it stands for all of them. */
static size_t heir_of(const struct hami_internal_handshake_names *names,
                      const json_t *node, size_t own)
{
    size_t found = HAMI_INTERNAL_HANDSHAKE_NO_LOCK;
    uint64_t fence = 0;

    for (size_t i = 1; i < HAMI_INTERNAL_HANDSHAKE_LOCKS; i++) {
        struct hami_lock_record record = record_of(names, node, i);

        if (i != own && record.kind != HAMI_LOCK_FREE &&
            (found == HAMI_INTERNAL_HANDSHAKE_NO_LOCK || record.fence > fence)) {
            found = i;
            fence = record.fence;
        }
    }
    return found;
}

int hami_internal_handshake_lock_read(const struct hami_internal_handshake_names *names,
                                      const json_t *node, size_t permit,
                                      struct hami_internal_handshake_lock *ret)
{
    struct hami_internal_handshake_lock lock = {.own = {.permit = permit}};
    size_t heir = HAMI_INTERNAL_HANDSHAKE_NO_LOCK;
    int code = 0;

    if (permit < HAMI_INTERNAL_HANDSHAKE_LOCKS) {
        heir = heir_of(names, node, permit);
        code = hami_internal_handshake_pair_read(names, node, permit, &lock.own);
    }
    if (code == 0 && permit > 0 && permit < HAMI_INTERNAL_HANDSHAKE_LOCKS) {
        code = hami_internal_handshake_pair_read(names, node, 0, &lock.cover);
    }
    if (code == 0 && heir != HAMI_INTERNAL_HANDSHAKE_NO_LOCK) {
        code = hami_internal_handshake_pair_read(names, node, heir, &lock.heir);
    }
    if (code < 0) {
        hami_internal_handshake_lock_done(&lock);
        return code;
    }
    *ret = lock;
    return 0;
}

int hami_internal_handshake_lock_find(const struct hami_internal_handshake_names *names,
                                      const json_t *node, const char *uid,
                                      struct hami_internal_handshake_lock *ret)
{
    struct hami_lock_record cover = record_of(names, node, 0);
    size_t permit = lock_of(names, node, uid);

    if (permit == HAMI_INTERNAL_HANDSHAKE_NO_LOCK && !is_beside(&cover)) {
        permit = 0;
    }
    return hami_internal_handshake_lock_read(names, node, permit, ret);
}

bool hami_internal_handshake_pair_is_beside(
    const struct hami_internal_handshake_pair *pair)
{
    return is_beside(&pair->record);
}

/* ---- edits ---------------------------------------------------------------------- */

/* Tests what stands, and changes it where something else is wanted. */
static struct hami_transport_edit edit(const char *key, const char *now,
                                       const char *wanted)
{
    bool is_same = hami_internal_handshake_same_text(now, wanted);

    return (struct hami_transport_edit){is_same ? HAMI_EDIT_TEST : HAMI_EDIT_PUT, key,
                                        now, is_same ? NULL : wanted};
}

static void add(const struct hami_internal_handshake_names *names,
                const struct hami_internal_handshake_pair *now, const char *lock,
                const char *lease, struct hami_transport_edit *ret, size_t *count)
{
    ret[(*count)++] = edit(names[now->permit].lock, now->lock, lock);
    ret[(*count)++] = edit(names[now->permit].lease, now->lease, lease);
}

/* What a lease becomes when its lock goes: its own keeps the fence's memory, and that of
 * a higher one. */
static int memory_of(const struct hami_internal_handshake_pair *pair, uint64_t at_least,
                     char *buffer, size_t size, const char **ret)
{
    uint64_t fence = pair->record.fence > at_least ? pair->record.fence : at_least;

    *ret = pair->lease;
    if (!pair->record.has_lease) {
        return 0;
    }
    *ret = buffer;
    return hami_lease_memory_format(fence, buffer, size);
}

/* The cover, and the heir where it is tested: @lease what the cover's becomes alone. */
static void add_cover(const struct hami_internal_handshake_names *names,
                      const struct hami_internal_handshake_lock *lock, const char *lease,
                      struct hami_transport_edit *ret, size_t *count)
{
    const struct hami_internal_handshake_pair *own = &lock->own, *heir = &lock->heir,
                                              *cover =
                                                  own->permit > 0 ? &lock->cover : own;
    bool is_own = own->permit == 0 || is_of(&cover->record, own->record.uid);

    if (is_own && heir->lock != NULL) {
        add(names, cover, heir->lock, heir->lease, ret, count);
        add(names, heir, heir->lock, heir->lease, ret, count);
    } else if (is_own || (heir->lock == NULL && is_beside(&cover->record))) {
        add(names, cover, NULL, lease, ret, count);
    } else {
        add(names, cover, cover->lock, cover->lease, ret, count);
    }
}

int hami_internal_handshake_lock_free_edits(
    const struct hami_internal_handshake_names *names,
    const struct hami_internal_handshake_lock *lock,
    struct hami_internal_handshake_memories *memories,
    struct hami_transport_edit ret[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX], size_t *ret_count)
{
    const struct hami_internal_handshake_pair *own = &lock->own, *cover = &lock->cover;
    const char *lease, *memory;
    int code = memory_of(own, 0, memories->own, sizeof(memories->own), &lease);

    *ret_count = 0;
    if (code < 0 || own->permit == 0) {
        add_cover(names, lock, lease, ret, ret_count);
        return code;
    }
    code = memory_of(cover, own->record.fence, memories->cover, sizeof(memories->cover),
                     &memory);
    add_cover(names, lock, memory, ret, ret_count);
    add(names, own, NULL, lease, ret, ret_count);
    return code;
}

size_t hami_internal_handshake_lock_restore_edits(
    const struct hami_internal_handshake_names *names,
    const struct hami_internal_handshake_pair *pair,
    const struct hami_internal_handshake_pair *now,
    struct hami_transport_edit ret[HAMI_INTERNAL_HANDSHAKE_EDITS_MAX])
{
    size_t count = 0;

    add(names, now, pair->lock, pair->lease != NULL ? pair->lease : now->lease, ret,
        &count);
    return count;
}
