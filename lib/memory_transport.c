/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_transport.h: compare-and-set under the store's mutex. What a write needs is
 * allocated before, what it replaces is freed after. Calls are completed inside submit,
 * with no lock held.
 */
#include "memory_transport.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EDITS_MAX 128

/* One write, prepared: texts made beforehand, texts to be let go afterwards. */
struct write {
    const struct hami_transport_edit *edits;
    size_t count;
    const char *version;
    struct hami_internal_store_text *keys[EDITS_MAX], *values[EDITS_MAX];
    struct hami_internal_store_text *freed[2 * EDITS_MAX];
    size_t freed_count;
    struct hami_internal_store_node *made; /* for a node that does not exist yet */
    struct hami_internal_store_text
        *now[EDITS_MAX]; /* values after the write; references */
    uint64_t version_now;
    bool changed;
};

static int prepare(struct write *write, const char *node)
{
    for (size_t i = 0; i < write->count; i++) {
        const struct hami_transport_edit *edit = &write->edits[i];
        if (edit->action != HAMI_EDIT_PUT || !edit->value) {
            continue;
        }
        write->keys[i] = hami_internal_store_text_new(edit->key);
        write->values[i] = hami_internal_store_text_new(edit->value);
        if (!write->keys[i] || !write->values[i]) {
            return HAMI_E_NOMEM;
        }
    }
    write->made = calloc(1, sizeof(*write->made));
    if (!write->made) {
        return HAMI_E_NOMEM;
    }
    (void)snprintf(write->made->name, sizeof(write->made->name), "%s", node);
    return 0;
}

static void finish(struct write *write)
{
    for (size_t i = 0; i < write->count; i++) {
        hami_internal_store_text_unref(write->keys[i]);
        hami_internal_store_text_unref(write->values[i]);
        hami_internal_store_text_unref(write->now[i]);
    }
    for (size_t i = 0; i < write->freed_count; i++) {
        hami_internal_store_text_unref(write->freed[i]);
    }
    free(write->made);
}

static bool is_expected(struct hami_internal_store_node *node,
                        const struct hami_transport_edit *edit)
{
    struct hami_internal_store_value *value = hami_internal_store_value(node, edit->key);

    return edit->expect ? value && strcmp(value->value->text, edit->expect) == 0 : !value;
}

static bool are_expected(const struct write *write, struct hami_internal_store_node *node)
{
    char version[24];

    (void)snprintf(version, sizeof(version), "%" PRIu64, node ? node->version : 0);
    if (write->version && strcmp(write->version, version) != 0) {
        return false;
    }
    for (size_t i = 0; i < write->count; i++) {
        if (write->edits[i].action != HAMI_EDIT_READ &&
            !is_expected(node, &write->edits[i])) {
            return false;
        }
    }
    return true;
}

static void remove_value(struct write *write, struct hami_internal_store_node *node,
                         struct hami_internal_store_value *value)
{
    write->freed[write->freed_count++] = value->key;
    write->freed[write->freed_count++] = value->value;
    *value = node->values[--node->value_count];
}

static void put_value(struct write *write, struct hami_internal_store_node *node,
                      size_t i)
{
    struct hami_internal_store_value *value =
        hami_internal_store_value(node, write->edits[i].key);

    write->changed = true;
    if (!write->edits[i].value) {
        if (value) {
            remove_value(write, node, value);
        }
        return;
    }
    if (!value) {
        value = &node->values[node->value_count++];
        value->key = write->keys[i];
        write->keys[i] = NULL;
        value->value = NULL;
    } else {
        write->freed[write->freed_count++] = value->value;
    }
    value->value = write->values[i];
    write->values[i] = NULL;
}

/* With the store's mutex. Returns 0, HAMI_E_HELD, HAMI_E_NOMEM (too many values). */
static int apply(hami_memory *memory, struct write *write, bool is_write)
{
    struct hami_internal_store_node *node =
        hami_internal_store_node(memory, write->made->name);

    if (!are_expected(write, node)) {
        return HAMI_E_HELD;
    }
    if (is_write && !node) {
        node = write->made;
        write->made = NULL;
        list_insert(hami_internal_store_bucket(memory->nodes, node->name), &node->link);
    }
    if (node && node->value_count + write->count > STORE_VALUES_MAX) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < write->count; i++) {
        if (write->edits[i].action == HAMI_EDIT_PUT) {
            put_value(write, node, i);
        }
    }
    if (write->changed) {
        node->version = ++memory->version;
    }
    for (size_t i = 0; i < write->count; i++) {
        struct hami_internal_store_value *value =
            hami_internal_store_value(node, write->edits[i].key);
        write->now[i] = hami_internal_store_text_ref(value ? value->value : NULL);
    }
    write->version_now = node ? node->version : 0;
    return 0;
}

static void complete(hami_call *call, const struct write *write, int code)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
    const char *values[EDITS_MAX];
    char version[24];

    result.code = code;
    if (code == 0) {
        for (size_t i = 0; i < write->count; i++) {
            values[i] = write->now[i] ? write->now[i]->text : NULL;
        }
        (void)snprintf(version, sizeof(version), "%" PRIu64, write->version_now);
        result.values = values;
        result.value_count = write->count;
        result.version = version;
    }
    hami_call_done(call, &result);
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    hami_memory *memory = (hami_memory *)transport;
    char node[HAMI_NODELOCK_NODE_MAX + 1];
    struct write write = {.version = hami_call_version(call)};

    write.edits = hami_call_edits(call, &write.count);
    if (write.count > EDITS_MAX) {
        return HAMI_E_TRANSPORT;
    }
    (void)snprintf(node, sizeof(node), "%s", hami_call_node(call));
    int code = prepare(&write, node);
    if (code == 0) {
        (void)pthread_mutex_lock(&memory->mutex);
        code = apply(memory, &write, hami_call_is_write(call));
        (void)pthread_mutex_unlock(&memory->mutex);
    }
    bool changed = write.changed;
    complete(call, &write, code);
    if (changed) {
        hami_internal_store_tell_node(memory, node);
    }
    finish(&write);
    return 0;
}

int hami_internal_memory_transport_put(hami_memory *memory, const char *node,
                                       const char *key, const char *value)
{
    struct hami_transport_edit edit = {HAMI_EDIT_PUT, key, NULL, value};
    struct write write = {.edits = &edit, .count = 1};
    int code = prepare(&write, node);

    if (code == 0) {
        (void)pthread_mutex_lock(&memory->mutex);
        /* Without looking: whatever stands there is what is expected. */
        struct hami_internal_store_value *stands =
            hami_internal_store_value(hami_internal_store_node(memory, node), key);
        edit.expect = stands ? stands->value->text : NULL;
        code = apply(memory, &write, true);
        (void)pthread_mutex_unlock(&memory->mutex);
    }
    finish(&write);
    if (code == 0) {
        hami_internal_store_tell_node(memory, node);
    }
    return code;
}

/* ---- owners ---- */

static void hold(struct hami_internal_store_owner *owner,
                 struct hami_internal_store_text **texts)
{
    texts[0] = hami_internal_store_text_ref(owner ? owner->uid : NULL);
    texts[1] = hami_internal_store_text_ref(owner ? owner->node : NULL);
    texts[2] = hami_internal_store_text_ref(owner ? owner->assigned_node : NULL);
    texts[3] = hami_internal_store_text_ref(owner ? owner->revoked : NULL);
}

static void let_go(struct hami_internal_store_text **texts)
{
    for (size_t i = 0; i < 4; i++) {
        hami_internal_store_text_unref(texts[i]);
    }
}

static int inspect(struct hami_transport *transport, hami_call *call)
{
    hami_memory *memory = (hami_memory *)transport;
    struct hami_internal_store_text *texts[4];
    char version[24];

    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_owner *owner =
        hami_internal_store_owner(memory, hami_call_owner(call));
    struct hami_owner_facts facts = hami_internal_store_facts(owner, version);
    hold(owner, texts);
    (void)pthread_mutex_unlock(&memory->mutex);
    hami_call_done_owner(call, 0, &facts, NULL);
    let_go(texts);
    return 0;
}

static int revoke(struct hami_transport *transport, hami_call *call)
{
    hami_memory *memory = (hami_memory *)transport;
    const struct hami_owner *wanted = hami_call_owner(call);
    struct hami_internal_store_text *texts[4], *old = NULL;
    struct hami_internal_store_text *text =
        hami_internal_store_text_new(hami_call_revocation(call));
    char version[24];
    int code = 0;

    if (!text) {
        return HAMI_E_NOMEM;
    }
    (void)pthread_mutex_lock(&memory->mutex);
    struct hami_internal_store_owner *owner = hami_internal_store_owner(memory, wanted);
    if (owner && !owner->node && owner->uid &&
        strcmp(owner->uid->text, wanted->uid) == 0) {
        old = owner->revoked;
        owner->revoked = text;
        text = NULL;
        owner->version = ++memory->version;
    } else if (owner) {
        code = HAMI_E_HELD;
    }
    struct hami_owner_facts facts = hami_internal_store_facts(owner, version);
    hold(owner, texts);
    (void)pthread_mutex_unlock(&memory->mutex);
    hami_call_done_owner(call, code, &facts, NULL);
    let_go(texts);
    hami_internal_store_text_unref(old);
    hami_internal_store_text_unref(text);
    return 0;
}

/* ---- watch ---- */

static int watch(struct hami_transport *transport, hami_nodelock *lock)
{
    hami_memory *memory = (hami_memory *)transport;
    int code = HAMI_E_NOMEM;

    (void)pthread_mutex_lock(&memory->mutex);
    for (size_t i = 0; i < STORE_WATCHERS_MAX && code < 0; i++) {
        if (!memory->watchers[i]) {
            memory->watchers[i] = lock;
            code = 0;
        }
    }
    (void)pthread_mutex_unlock(&memory->mutex);
    return code;
}

static void unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    hami_memory *memory = (hami_memory *)transport;

    (void)pthread_mutex_lock(&memory->mutex);
    for (size_t i = 0; i < STORE_WATCHERS_MAX; i++) {
        if (memory->watchers[i] == lock) {
            memory->watchers[i] = NULL;
            while (memory->telling[i] > 0) {
                (void)pthread_cond_wait(&memory->told, &memory->mutex);
            }
        }
    }
    (void)pthread_mutex_unlock(&memory->mutex);
}

void hami_internal_memory_transport_init(struct hami_transport *transport, bool owners)
{
    *transport = (struct hami_transport){.size = sizeof(*transport),
                                         .name = "memory",
                                         .submit = submit,
                                         .watch = watch,
                                         .unwatch = unwatch};
    if (owners) {
        transport->inspect = inspect;
        transport->revoke = revoke;
    }
}
