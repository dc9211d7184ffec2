/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stands in for a manager towards a transport's watch: news meant for a watcher of ours
 * is written down instead of reaching the library, whose functions the linker renames
 * (--wrap).
 *
 * One mutex guards the list of watchers, one per watcher its notes; never both at a time.
 */
#include "contract.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOTES_MAX 4096
#define WATCHERS_MAX 4

int __real_hami_nodelock_observe(hami_nodelock *lock, const char *node,
                                 const struct hami_node_record *record);
int __real_hami_nodelock_observe_owner(hami_nodelock *lock,
                                       const struct hami_owner *owner,
                                       const struct hami_owner_facts *facts);
int __real_hami_nodelock_forget(hami_nodelock *lock, const char *node);

int __wrap_hami_nodelock_observe(hami_nodelock *lock, const char *node,
                                 const struct hami_node_record *record);
int __wrap_hami_nodelock_observe_owner(hami_nodelock *lock,
                                       const struct hami_owner *owner,
                                       const struct hami_owner_facts *facts);
int __wrap_hami_nodelock_forget(hami_nodelock *lock, const char *node);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

enum note_kind { NOTE_NODE, NOTE_FORGET, NOTE_OWNER };

struct note {
    enum note_kind kind;
    char *name; /* of node or owner */
    char *version;
    size_t count;
    char **keys;
    char **values;
    struct hami_owner_facts facts; /* texts: node, uid, revoked are copies, others NULL */
};

struct contract_watcher {
    pthread_mutex_t mutex;
    pthread_cond_t told;
    size_t count;
    struct note notes[NOTES_MAX];
};

static struct contract_watcher *watchers[WATCHERS_MAX];

static struct contract_watcher *watcher_of(const hami_nodelock *lock)
{
    struct contract_watcher *found = NULL;
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < WATCHERS_MAX; i++) {
        if (watchers[i] && (const void *)watchers[i] == (const void *)lock) {
            found = watchers[i];
        }
    }
    pthread_mutex_unlock(&mutex);
    return found;
}

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

static void add_note(struct contract_watcher *watcher, const struct note *note)
{
    pthread_mutex_lock(&watcher->mutex);
    if (watcher->count == NOTES_MAX) {
        abort();
    }
    watcher->notes[watcher->count++] = *note;
    pthread_cond_broadcast(&watcher->told);
    pthread_mutex_unlock(&watcher->mutex);
}

int __wrap_hami_nodelock_observe(hami_nodelock *lock, const char *node,
                                 const struct hami_node_record *record)
{
    struct contract_watcher *watcher = watcher_of(lock);
    if (!watcher) {
        return __real_hami_nodelock_observe(lock, node, record);
    }
    struct note note = {.kind = NOTE_NODE,
                        .name = copy(node),
                        .version = copy(record->version),
                        .count = record->annotation_count};
    note.keys = calloc(note.count + 1, sizeof(*note.keys));
    note.values = calloc(note.count + 1, sizeof(*note.values));
    for (size_t i = 0; i < note.count; i++) {
        note.keys[i] = copy(record->annotations[i].key);
        note.values[i] = copy(record->annotations[i].value);
    }
    add_note(watcher, &note);
    return 0;
}

int __wrap_hami_nodelock_observe_owner(hami_nodelock *lock,
                                       const struct hami_owner *owner,
                                       const struct hami_owner_facts *facts)
{
    struct contract_watcher *watcher = watcher_of(lock);
    if (!watcher) {
        return __real_hami_nodelock_observe_owner(lock, owner, facts);
    }
    struct note note = {.kind = NOTE_OWNER, .name = copy(owner->name), .facts = *facts};
    note.facts.node = copy(facts->node);
    note.facts.uid = copy(facts->uid);
    note.facts.revoked = copy(facts->revoked);
    note.facts.version = NULL;
    note.facts.assigned_node = NULL;
    add_note(watcher, &note);
    return 0;
}

int __wrap_hami_nodelock_forget(hami_nodelock *lock, const char *node)
{
    struct contract_watcher *watcher = watcher_of(lock);
    if (!watcher) {
        return __real_hami_nodelock_forget(lock, node);
    }
    struct note note = {.kind = NOTE_FORGET, .name = copy(node)};
    add_note(watcher, &note);
    return 0;
}

struct contract_watcher *contract_watcher_new(void)
{
    struct contract_watcher *watcher = calloc(1, sizeof(*watcher));
    if (!watcher) {
        return NULL;
    }
    pthread_mutex_init(&watcher->mutex, NULL);
    pthread_cond_init(&watcher->told, NULL);
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < WATCHERS_MAX; i++) {
        if (!watchers[i]) {
            watchers[i] = watcher;
            break;
        }
    }
    pthread_mutex_unlock(&mutex);
    return watcher;
}

struct contract_watcher *contract_watcher_free(struct contract_watcher *watcher)
{
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < WATCHERS_MAX; i++) {
        if (watchers[i] == watcher) {
            watchers[i] = NULL;
        }
    }
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; i < watcher->count; i++) {
        struct note *note = &watcher->notes[i];
        for (size_t k = 0; k < note->count; k++) {
            free(note->keys[k]);
            free(note->values[k]);
        }
        free(note->keys);
        free(note->values);
        free(note->name);
        free(note->version);
        free((char *)note->facts.node);
        free((char *)note->facts.uid);
        free((char *)note->facts.revoked);
    }
    pthread_cond_destroy(&watcher->told);
    pthread_mutex_destroy(&watcher->mutex);
    free(watcher);
    return NULL;
}

hami_nodelock *contract_watcher_lock(struct contract_watcher *watcher)
{
    return (hami_nodelock *)(void *)watcher;
}

/* What is waited for. */
struct wanted {
    enum note_kind kind;
    const char *name;
    const char *key;
    const char *value;
    const char *version; /* not NULL: a record with it, whatever its values */
    bool (*fits)(const struct hami_owner_facts *facts);
};

static bool note_has(const struct note *note, const struct wanted *wanted)
{
    const char *have = NULL;
    if (note->kind != wanted->kind || strcmp(note->name, wanted->name) != 0) {
        return false;
    }
    if (note->kind == NOTE_OWNER) {
        return !wanted->fits || wanted->fits(&note->facts);
    }
    if (wanted->version) {
        return note->version && strcmp(note->version, wanted->version) == 0;
    }
    for (size_t i = 0; i < note->count; i++) {
        if (strcmp(note->keys[i], wanted->key) == 0) {
            have = note->values[i];
        }
    }
    return wanted->value ? have && strcmp(have, wanted->value) == 0 : !have;
}

static bool wait_for(struct contract_watcher *watcher, const struct wanted *wanted)
{
    struct timespec until;
    contract_patience(&until);
    bool found = false;
    int code = 0;
    size_t looked = 0;
    pthread_mutex_lock(&watcher->mutex);
    while (!found && code == 0) {
        for (; looked < watcher->count && !found; looked++) {
            found = note_has(&watcher->notes[looked], wanted);
        }
        if (!found) {
            code = pthread_cond_timedwait(&watcher->told, &watcher->mutex, &until);
        }
    }
    pthread_mutex_unlock(&watcher->mutex);
    return found;
}

bool contract_watcher_saw(struct contract_watcher *watcher, const char *node,
                          const char *key, const char *value)
{
    struct wanted wanted = {.kind = NOTE_NODE, .name = node, .key = key, .value = value};
    return wait_for(watcher, &wanted);
}

bool contract_watcher_saw_forget(struct contract_watcher *watcher, const char *node)
{
    struct wanted wanted = {.kind = NOTE_FORGET, .name = node};
    return wait_for(watcher, &wanted);
}

bool contract_watcher_saw_owner(struct contract_watcher *watcher, const char *name,
                                bool (*fits)(const struct hami_owner_facts *facts))
{
    struct wanted wanted = {.kind = NOTE_OWNER, .name = name, .fits = fits};
    return wait_for(watcher, &wanted);
}

bool contract_watcher_saw_version(struct contract_watcher *watcher, const char *node,
                                  const char *version)
{
    struct wanted wanted = {.kind = NOTE_NODE, .name = node, .version = version};
    return wait_for(watcher, &wanted);
}

static bool has_key(const struct note *note, const char *key)
{
    for (size_t i = 0; i < note->count; i++) {
        if (strcmp(note->keys[i], key) == 0) {
            return note->values[i] != NULL;
        }
    }
    return false;
}

bool contract_watcher_saw_apart(struct contract_watcher *watcher, const char *node,
                                const char *first, const char *second)
{
    bool apart = false;
    pthread_mutex_lock(&watcher->mutex);
    for (size_t i = 0; i < watcher->count; i++) {
        const struct note *note = &watcher->notes[i];
        if (note->kind == NOTE_NODE && strcmp(note->name, node) == 0 &&
            has_key(note, first) && !has_key(note, second)) {
            apart = true;
        }
    }
    pthread_mutex_unlock(&watcher->mutex);
    return apart;
}

unsigned contract_watcher_news(struct contract_watcher *watcher)
{
    pthread_mutex_lock(&watcher->mutex);
    unsigned count = (unsigned)watcher->count;
    pthread_mutex_unlock(&watcher->mutex);
    return count;
}
