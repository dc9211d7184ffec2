/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_store.h: making and freeing, the functions of hami/memory.h, and telling the
 * watchers. A watcher is told with no lock held; unwatch waits for those who are telling
 * it.
 */
#include "memory_store.h"

#include <stdlib.h>
#include <string.h>

#include "errors.h"
#include "hash.h"
#include "memory_transport.h"
#include "names.h"
#include "pen.h"

/* ---- texts and lookup ---- */

struct hami_internal_store_text *hami_internal_store_text_new(const char *text)
{
    size_t bytes = strlen(text) + 1;
    struct hami_internal_store_text *made = malloc(sizeof(*made) + bytes);

    if (made) {
        atomic_init(&made->references, 1);
        made->capacity = (uint32_t)bytes;
        memcpy(made->text, text, bytes);
    }
    return made;
}

struct hami_internal_store_text *
hami_internal_store_text_ref(struct hami_internal_store_text *text)
{
    if (text) {
        atomic_fetch_add(&text->references, 1);
    }
    return text;
}

void hami_internal_store_text_unref(struct hami_internal_store_text *text)
{
    if (text && atomic_fetch_sub(&text->references, 1) == 1) {
        free(text);
    }
}

struct hami_internal_list *hami_internal_store_bucket(struct hami_internal_list *buckets,
                                                      const char *name)
{
    uint64_t hash = hami_internal_hash_text(name, 0);

    return &buckets[(hash ^ (hash >> 32)) % STORE_BUCKETS];
}

struct hami_internal_store_node *hami_internal_store_node(hami_memory *memory,
                                                          const char *name)
{
    struct hami_internal_list *bucket = hami_internal_store_bucket(memory->nodes, name);

    LIST_EACH(link, bucket)
    {
        struct hami_internal_store_node *node =
            LIST_ENTRY(link, struct hami_internal_store_node, link);
        if (strcmp(node->name, name) == 0) {
            return node;
        }
    }
    return NULL;
}

struct hami_internal_store_value *
hami_internal_store_seat(struct hami_internal_store_node *node, const char *key)
{
    for (size_t i = 0; node && i < node->value_count; i++) {
        if (strcmp(node->values[i].key->text, key) == 0) {
            return &node->values[i];
        }
    }
    return NULL;
}

struct hami_internal_store_value *
hami_internal_store_value(struct hami_internal_store_node *node, const char *key)
{
    struct hami_internal_store_value *value = hami_internal_store_seat(node, key);

    return value && !value->absent ? value : NULL;
}

struct hami_internal_store_owner *
hami_internal_store_owner(hami_memory *memory, const struct hami_owner *owner)
{
    struct hami_internal_list *bucket =
        hami_internal_store_bucket(memory->owners, owner->name);

    LIST_EACH(link, bucket)
    {
        struct hami_internal_store_owner *one =
            LIST_ENTRY(link, struct hami_internal_store_owner, link);
        if (strcmp(one->name, owner->name) == 0 &&
            strcmp(one->namespace_name, owner->namespace_name) == 0) {
            return one;
        }
    }
    return NULL;
}

void hami_internal_store_version(char *buffer, uint64_t version)
{
    struct hami_internal_pen pen = pen_on(buffer, 24);

    pen_number(&pen, version);
}

struct hami_owner_facts
hami_internal_store_facts(const struct hami_internal_store_owner *owner, char *buffer)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    if (owner) {
        facts = owner->facts;
        facts.exists = true;
        facts.uid = owner->uid ? owner->uid->text : NULL;
        facts.node = owner->node ? owner->node->text : NULL;
        facts.assigned_node = owner->assigned_node ? owner->assigned_node->text : NULL;
        facts.revoked = owner->revoked ? owner->revoked->text : NULL;
        hami_internal_store_version(buffer, owner->version);
        facts.version = buffer;
    }
    facts.size = sizeof(facts);
    facts.known = true;
    facts.source = HAMI_FACTS_READ;
    return facts;
}

/* ---- life ---- */

int hami_memory_new(uint32_t flags, hami_memory **ret)
{
    if (!ret || (flags & ~HAMI_MEMORY_OWNERS)) {
        return HAMI_E_INVAL;
    }
    hami_memory *memory = calloc(1, sizeof(*memory));
    if (!memory) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < STORE_BUCKETS; i++) {
        list_init(&memory->nodes[i]);
        list_init(&memory->owners[i]);
    }
    (void)pthread_mutex_init(&memory->mutex, NULL);
    (void)pthread_cond_init(&memory->told, NULL);
    hami_internal_memory_transport_init(&memory->transport,
                                        (flags & HAMI_MEMORY_OWNERS) != 0);
    *ret = memory;
    return 0;
}

static void free_node(struct hami_internal_store_node *node)
{
    for (size_t i = 0; node && i < node->value_count; i++) {
        hami_internal_store_text_unref(node->values[i].key);
        hami_internal_store_text_unref(node->values[i].value);
    }
    free(node);
}

static void free_owner(struct hami_internal_store_owner *owner)
{
    if (owner) {
        hami_internal_store_text_unref(owner->uid);
        hami_internal_store_text_unref(owner->node);
        hami_internal_store_text_unref(owner->assigned_node);
        hami_internal_store_text_unref(owner->revoked);
        free(owner);
    }
}

hami_memory *hami_memory_free(hami_memory *memory)
{
    if (!memory) {
        return NULL;
    }
    for (size_t i = 0; i < STORE_BUCKETS; i++) {
        LIST_EACH_SAFE(link, next, &memory->nodes[i])
        {
            free_node(LIST_ENTRY(link, struct hami_internal_store_node, link));
        }
        LIST_EACH_SAFE(owner_link, owner_next, &memory->owners[i])
        {
            free_owner(LIST_ENTRY(owner_link, struct hami_internal_store_owner, link));
        }
    }
    (void)pthread_cond_destroy(&memory->told);
    (void)pthread_mutex_destroy(&memory->mutex);
    free(memory);
    return NULL;
}

struct hami_transport *hami_memory_transport(hami_memory *memory)
{
    return memory ? &memory->transport : NULL;
}

/* ---- telling ---- */

/* With the mutex: the first watcher from `at` on that is not the writer;
 * watchers_end = none. */
static size_t next_watcher(const hami_memory *memory, size_t at,
                           const hami_nodelock *writer)
{
    while (at < memory->watchers_end &&
           (!memory->watchers[at] || memory->watchers[at] == writer)) {
        at++;
    }
    return at;
}

bool hami_internal_store_is_watched(const hami_memory *memory,
                                    const hami_nodelock *writer)
{
    return next_watcher(memory, 0, writer) < memory->watchers_end;
}

/* Tells one watcher after the other; `tell` is called with no lock held. With the mutex
 * on entry and on return. */
static void tell_all(hami_memory *memory, const hami_nodelock *writer,
                     void (*tell)(hami_nodelock *lock, void *data), void *data)
{
    for (size_t i = next_watcher(memory, 0, writer); i < memory->watchers_end;
         i = next_watcher(memory, i + 1, writer)) {
        hami_nodelock *lock = memory->watchers[i];
        memory->telling[i]++;
        (void)pthread_mutex_unlock(&memory->mutex);
        tell(lock, data);
        (void)pthread_mutex_lock(&memory->mutex);
        memory->telling[i]--;
        (void)pthread_cond_broadcast(&memory->told);
    }
}

struct node_news {
    const char *name;
    bool exists;
    struct hami_node_record record;
    struct hami_annotation annotations[STORE_VALUES_MAX];
    struct hami_internal_store_text *texts[2 * STORE_VALUES_MAX];
    char version[24];
};

static void tell_node(hami_nodelock *lock, void *data)
{
    struct node_news *news = data;

    if (news->exists) {
        (void)hami_nodelock_observe(lock, news->name, &news->record);
    } else {
        (void)hami_nodelock_forget(lock, news->name);
    }
}

void hami_internal_store_tell_node(hami_memory *memory, const char *name,
                                   const hami_nodelock *writer)
{
    struct node_news news;

    (void)pthread_mutex_lock(&memory->mutex);
    if (next_watcher(memory, 0, writer) == memory->watchers_end) {
        (void)pthread_mutex_unlock(&memory->mutex);
        return;
    }
    news.name = name;
    news.record = (struct hami_node_record)HAMI_NODE_RECORD_INIT;
    struct hami_internal_store_node *node = hami_internal_store_node(memory, name);
    size_t count = 0;
    news.exists = node != NULL;
    for (size_t i = 0; node && i < node->value_count; i++) {
        const struct hami_internal_store_value *value = &node->values[i];
        if (!value->absent) {
            news.texts[2 * count] = hami_internal_store_text_ref(value->key);
            news.texts[2 * count + 1] = hami_internal_store_text_ref(value->value);
            news.annotations[count].key = value->key->text;
            news.annotations[count].value = value->value->text;
            count++;
        }
    }
    news.record.annotation_count = count;
    news.record.annotations = news.annotations;
    hami_internal_store_version(news.version, node ? node->version : 0);
    news.record.version = news.version;
    tell_all(memory, writer, tell_node, &news);
    (void)pthread_mutex_unlock(&memory->mutex);
    for (size_t i = 0; i < 2 * news.record.annotation_count; i++) {
        hami_internal_store_text_unref(news.texts[i]);
    }
}

struct owner_news {
    const struct hami_owner *owner;
    struct hami_owner_facts facts;
};

static void tell_owner(hami_nodelock *lock, void *data)
{
    struct owner_news *news = data;

    (void)hami_nodelock_observe_owner(lock, news->owner, &news->facts);
}

void hami_internal_store_tell_owner(hami_memory *memory, const struct hami_owner *owner)
{
    struct owner_news news = {.owner = owner};
    char version[24];

    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_owner *one = hami_internal_store_owner(memory, owner);
    news.facts = hami_internal_store_facts(one, version);
    struct hami_internal_store_text *texts[] = {
        hami_internal_store_text_ref(one ? one->uid : NULL),
        hami_internal_store_text_ref(one ? one->node : NULL),
        hami_internal_store_text_ref(one ? one->assigned_node : NULL),
        hami_internal_store_text_ref(one ? one->revoked : NULL)};
    tell_all(memory, NULL, tell_owner, &news);
    (void)pthread_mutex_unlock(&memory->mutex);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        hami_internal_store_text_unref(texts[i]);
    }
}

/* ---- other writers ---- */

int hami_memory_put(hami_memory *memory, const char *node, const char *key,
                    const char *value)
{
    if (!memory || !hami_internal_names_is_subdomain(node) ||
        !hami_internal_names_is_key(key)) {
        return HAMI_E_INVAL;
    }
    return hami_internal_memory_transport_put(memory, node, key, value);
}

int hami_memory_get(hami_memory *memory, const char *node_name, const char *key,
                    char *buffer, size_t size)
{
    int code = 0;

    if (!memory || !node_name || !key || !buffer || size == 0) {
        return HAMI_E_INVAL;
    }
    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_node *node = hami_internal_store_node(memory, node_name);
    struct hami_internal_store_value *value = hami_internal_store_value(node, key);
    if (!node || !value) {
        code = node ? HAMI_E_LOST : HAMI_E_NODE;
    } else if (strlen(value->value->text) >= size) {
        code = HAMI_E_LIMIT;
    } else {
        pen_copy(buffer, size, value->value->text);
    }
    (void)pthread_mutex_unlock(&memory->mutex);
    return code;
}

int hami_memory_delete(hami_memory *memory, const char *node_name)
{
    if (!memory || !node_name) {
        return HAMI_E_INVAL;
    }
    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_node *node = hami_internal_store_node(memory, node_name);
    if (node) {
        list_remove(&node->link);
        memory->version++;
    }
    (void)pthread_mutex_unlock(&memory->mutex);
    if (!node) {
        return HAMI_E_NODE;
    }
    free_node(node);
    hami_internal_store_tell_node(memory, node_name, NULL);
    return 0;
}

/* ---- owners ---- */

static int make_text(const char *text, struct hami_internal_store_text **ret)
{
    *ret = text && *text ? hami_internal_store_text_new(text) : NULL;
    return text && *text && !*ret ? HAMI_E_NOMEM : 0;
}

static struct hami_internal_store_owner *make_owner(const struct hami_owner *owner,
                                                    const struct hami_owner_facts *facts)
{
    struct hami_internal_store_owner *made = calloc(1, sizeof(*made));

    if (!made) {
        return NULL;
    }
    made->facts = *facts;
    pen_copy(made->namespace_name, sizeof(made->namespace_name), owner->namespace_name);
    pen_copy(made->name, sizeof(made->name), owner->name);
    if (make_text(facts->uid, &made->uid) < 0 ||
        make_text(facts->node, &made->node) < 0 ||
        make_text(facts->assigned_node, &made->assigned_node) < 0 ||
        make_text(facts->revoked, &made->revoked) < 0) {
        free_owner(made);
        return NULL;
    }
    return made;
}

int hami_memory_put_owner(hami_memory *memory, const struct hami_owner *owner,
                          const struct hami_owner_facts *facts)
{
    struct hami_owner_facts known;

    if (!memory || !owner || !facts ||
        !hami_internal_names_is_label(owner->namespace_name) ||
        !hami_internal_names_is_subdomain(owner->name)) {
        return HAMI_E_INVAL;
    }
    if (!memory->transport.inspect) {
        return HAMI_E_NOTSUP;
    }
    int code = hami_internal_errors_read_struct(&known, sizeof(known), facts,
                                                offsetof(struct hami_owner_facts, uid));
    if (code < 0) {
        return code;
    }
    struct hami_internal_store_owner *made =
        known.exists ? make_owner(owner, &known) : NULL;
    if (known.exists && !made) {
        return HAMI_E_NOMEM;
    }
    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_owner *old = hami_internal_store_owner(memory, owner);
    memory->version++;
    if (made) {
        made->version = memory->version;
        if (!made->revoked && old) {
            made->revoked = hami_internal_store_text_ref(old->revoked);
        }
        list_insert(hami_internal_store_bucket(memory->owners, owner->name), &made->link);
    }
    if (old) {
        list_remove(&old->link);
    }
    (void)pthread_mutex_unlock(&memory->mutex);
    free_owner(old);
    hami_internal_store_tell_owner(memory, owner);
    return 0;
}

int hami_memory_bind_owner(hami_memory *memory, const struct hami_owner *owner,
                           const char *node, const char *version)
{
    char now[24];

    if (!memory || !owner || !owner->namespace_name || !owner->name || !owner->uid ||
        !hami_internal_names_is_subdomain(node)) {
        return HAMI_E_INVAL;
    }
    if (!memory->transport.inspect) {
        return HAMI_E_NOTSUP;
    }
    struct hami_internal_store_text *text = hami_internal_store_text_new(node);
    if (!text) {
        return HAMI_E_NOMEM;
    }
    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_owner *one = hami_internal_store_owner(memory, owner);
    hami_internal_store_version(now, one ? one->version : 0);
    bool fits = one && one->uid && strcmp(one->uid->text, owner->uid) == 0 &&
                !one->node && !one->facts.deleting && !one->facts.finished &&
                (!version || strcmp(version, now) == 0);
    if (fits) {
        one->node = text;
        text = NULL;
        one->version = ++memory->version;
    }
    (void)pthread_mutex_unlock(&memory->mutex);
    hami_internal_store_text_unref(text);
    if (!fits) {
        return HAMI_E_LOST;
    }
    hami_internal_store_tell_owner(memory, owner);
    return 0;
}
