/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See grant.h. One block a grant: owner, value and lease text stand behind the struct. */
#include "grant.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"
#include "record.h"

static struct hami_internal_grant *allocate(const struct hami_nodelock *lock,
                                            const size_t *sizes, char **texts)
{
    size_t bytes = sizeof(struct hami_internal_grant);

    for (size_t i = 0; i < 5; i++) {
        bytes += sizes[i];
    }
    struct hami_internal_grant *grant =
        hami_internal_memory_zero(hami_internal_allocator(lock), bytes);
    if (grant) {
        char *at = (char *)(grant + 1);
        for (size_t i = 0; i < 5; i++) {
            texts[i] = at;
            at += sizes[i];
        }
        list_init(&grant->link);
        grant->owner.namespace_name = texts[0];
        grant->owner.name = texts[1];
        grant->owner.uid = texts[2];
        grant->value = texts[3];
        grant->lease = texts[4];
        grant->lease_size = sizes[4];
    }
    return grant;
}

struct hami_internal_grant *hami_internal_grant_new(const struct hami_nodelock *lock,
                                                    const struct hami_owner *owner)
{
    const size_t value = sizeof("0000-00-00T00:00:00Z,,") +
                         strlen(owner->namespace_name) + strlen(owner->name);
    const size_t sizes[] = {
        strlen(owner->namespace_name) + 1, strlen(owner->name) + 1,
        strlen(owner->uid) + 1, value,
        hami_internal_record_lease_size(value, strlen(owner->uid), strlen(lock->holder))};
    char *texts[5];
    struct hami_internal_grant *grant = allocate(lock, sizes, texts);

    if (grant) {
        memcpy(texts[0], owner->namespace_name, sizes[0]);
        memcpy(texts[1], owner->name, sizes[1]);
        memcpy(texts[2], owner->uid, sizes[2]);
    }
    return grant;
}

struct hami_internal_grant *
hami_internal_grant_new_spare(const struct hami_nodelock *lock)
{
    const size_t sizes[] = {64, 254, HAMI_NODELOCK_UID_MAX + 1, HAMI_LOCK_VALUE_MAX,
                            HAMI_LEASE_TEXT_MAX};
    char *texts[5];

    return allocate(lock, sizes, texts);
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
                                             .hold_ms = lock->config.hold_limit_ms};
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
