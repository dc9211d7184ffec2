/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See grant.h. One block a grant: owner, value, lease text and calls stand behind the
 * struct. */
#include "grant.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "record.h"

enum { TEXTS = 6 }; /* namespace, name, uid, value, lease, calls */

static size_t sum(const size_t *sizes)
{
    size_t bytes = 0;

    for (size_t i = 0; i < TEXTS; i++) {
        bytes += sizes[i];
    }
    return bytes;
}

static void lay_out(struct hami_internal_grant *grant, const size_t *sizes, char **texts)
{
    char *at = (char *)(grant + 1);

    for (size_t i = 0; i < TEXTS; i++) {
        texts[i] = at;
        at += sizes[i];
    }
    grant->owner.namespace_name = texts[0];
    grant->owner.name = texts[1];
    grant->owner.uid = texts[2];
    grant->value = texts[3];
    grant->lease = texts[4];
    grant->lease_size = sizes[4];
    grant->calls = sizes[5] > 0 ? texts[5] : NULL;
}

/* @calls  NULL = none */
static void measure(const struct hami_nodelock *lock, const struct hami_owner *owner,
                    const char *calls, size_t *sizes)
{
    sizes[0] = strlen(owner->namespace_name) + 1;
    sizes[1] = strlen(owner->name) + 1;
    sizes[2] = strlen(owner->uid) + 1;
    sizes[3] = sizeof("0000-00-00T00:00:00Z,,") + sizes[0] + sizes[1];
    sizes[5] = calls ? strlen(calls) + 1 : 0;
    sizes[4] = hami_internal_record_lease_size(sizes[3], sizes[2], lock->holder_length,
                                               sizes[5]);
}

struct hami_internal_grant *hami_internal_grant_new(const struct hami_nodelock *lock,
                                                    size_t room)
{
    struct hami_internal_grant *grant =
        hami_internal_memory_zero(hami_internal_allocator(lock), sizeof(*grant) + room);

    if (grant) {
        list_init(&grant->link);
        grant->room = room;
    }
    return grant;
}

void hami_internal_grant_clear(struct hami_internal_grant *grant)
{
    size_t room = grant->room;

    memset(grant, 0, sizeof(*grant));
    list_init(&grant->link);
    grant->room = room;
}

bool hami_internal_grant_name(const struct hami_nodelock *lock,
                              struct hami_internal_grant *grant,
                              const struct hami_owner *owner, const char *calls,
                              size_t *room)
{
    size_t sizes[TEXTS];
    char *texts[TEXTS];

    measure(lock, owner, calls, sizes);
    *room = sum(sizes);
    if (!grant || grant->room < *room) {
        return false;
    }
    lay_out(grant, sizes, texts);
    memcpy(texts[0], owner->namespace_name, sizes[0]);
    memcpy(texts[1], owner->name, sizes[1]);
    memcpy(texts[2], owner->uid, sizes[2]);
    if (calls) {
        memcpy(texts[5], calls, sizes[5]);
    }
    return true;
}

struct hami_internal_grant *
hami_internal_grant_new_spare(const struct hami_nodelock *lock)
{
    const size_t sizes[TEXTS] = {
        64, 254, HAMI_NODELOCK_UID_MAX + 1, HAMI_LOCK_VALUE_MAX, HAMI_LEASE_TEXT_MAX, 0};
    char *texts[TEXTS];
    struct hami_internal_grant *grant = hami_internal_grant_new(lock, sum(sizes));

    if (grant) {
        lay_out(grant, sizes, texts);
    }
    return grant;
}

struct hami_internal_grant *hami_internal_grant_free(const struct hami_nodelock *lock,
                                                     struct hami_internal_grant *grant)
{
    if (grant) {
        hami_internal_memory_free(hami_internal_allocator(lock), grant->judged);
        hami_internal_memory_free(hami_internal_allocator(lock), grant);
    }
    return NULL;
}

struct hami_internal_lease_text
hami_internal_grant_lease_text(const struct hami_nodelock *lock,
                               const struct hami_internal_grant *grant)
{
    return (struct hami_internal_lease_text){.value = grant->value,
                                             .uid = grant->owner.uid,
                                             .holder = lock->holder,
                                             .fence = grant->fence,
                                             .attempt = grant->attempt,
                                             .hold_ms = lock->config.hold_limit_ms,
                                             .free_by_scheduler = grant->by_scheduler,
                                             .calls =
                                                 grant->is_beside ? grant->calls : NULL};
}

void hami_internal_grant_adopt(struct hami_internal_grant *spare,
                               struct hami_internal_slot *slot)
{
    const struct hami_lock_record *record = &slot->record;

    (void)snprintf((char *)spare->owner.namespace_name, 64, "%s", record->namespace_name);
    (void)snprintf((char *)spare->owner.name, 254, "%s", record->name);
    (void)snprintf((char *)spare->owner.uid, HAMI_NODELOCK_UID_MAX + 1, "%s",
                   record->uid);
    (void)snprintf(spare->value, HAMI_LOCK_VALUE_MAX, "%s", slot->pair.lock);
    (void)snprintf(spare->lease, HAMI_LEASE_TEXT_MAX, "%s", slot->pair.lease);
    spare->fence = record->fence;
    spare->attempt = record->attempt;
    spare->slots[0] = slot;
    spare->slot_count = 1;
    spare->state = GRANT_RELEASING;
    slot->grant = spare;
}
