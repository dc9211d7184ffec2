/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See keys.h. keys_mutex guards the array against other writers: entries are only added,
 * each before the count that covers it, and what they point to never changes. */
#include "keys.h"

#include <stdio.h>
#include <string.h>

#include "memory.h"

static struct hami_internal_key *make(struct hami_nodelock *lock, const char *name)
{
    size_t permits = lock->config.permits;
    /* Whatever is configured here: another manager may use them. */
    bool beside = permits == 1 && strcmp(name, lock->config.key) == 0;
    size_t records = beside ? 1 + HAMI_INTERNAL_BESIDE_MAX : permits;
    struct hami_internal_key *key = hami_internal_memory_zero(
        hami_internal_allocator(lock), sizeof(*key) + records * sizeof(key->records[0]));

    if (!key) {
        return NULL;
    }
    (void)snprintf(key->name, sizeof(key->name), "%s", name);
    key->permits = permits;
    key->beside = beside;
    for (size_t i = 0; i < records; i++) {
        struct hami_internal_record_key *record = &key->records[i];
        (void)snprintf(record->lock, sizeof(record->lock), "%s", name);
        (void)hami_lease_key(name, record->lease, sizeof(record->lease));
        if (i > 0) {
            size_t lock_length = strlen(record->lock),
                   lease_length = strlen(record->lease);
            (void)snprintf(record->lock + lock_length, sizeof(record->lock) - lock_length,
                           ".%zu", i);
            (void)snprintf(record->lease + lease_length,
                           sizeof(record->lease) - lease_length, ".%zu", i);
        }
    }
    return key;
}

static struct hami_internal_key *find(const struct hami_nodelock *lock, const char *name)
{
    size_t count = atomic_load_explicit(&lock->key_count, memory_order_acquire);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(lock->keys[i]->name, name) == 0) {
            return lock->keys[i];
        }
    }
    return NULL;
}

int hami_internal_keys_get(struct hami_nodelock *lock, const char *name,
                           const struct hami_internal_key **ret)
{
    int code = 0;

    struct hami_internal_key *key = find(lock, name);
    if (!key) {
        struct hami_internal_key *made = make(lock, name);
        (void)pthread_mutex_lock(&lock->keys_mutex);
        key = find(lock, name);
        size_t count = atomic_load(&lock->key_count);
        if (!key && made && count < HAMI_INTERNAL_KEYS_MAX) {
            lock->keys[count] = key = made;
            atomic_store_explicit(&lock->key_count, count + 1, memory_order_release);
            made = NULL;
        }
        code = key ? 0 : made ? HAMI_E_LIMIT : HAMI_E_NOMEM;
        (void)pthread_mutex_unlock(&lock->keys_mutex);
        hami_internal_memory_free(hami_internal_allocator(lock), made);
    }
    if (code == 0) {
        *ret = key;
    }
    return code;
}

void hami_internal_keys_done(struct hami_nodelock *lock)
{
    for (size_t i = 0; i < lock->key_count; i++) {
        hami_internal_memory_free(hami_internal_allocator(lock), lock->keys[i]);
    }
    lock->key_count = 0;
}
