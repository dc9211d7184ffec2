/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_transport.h: compare-and-set under the store's mutex. What a write needs is
 * allocated before, what it replaces is freed after. Calls are completed inside submit,
 * with no lock held.
 */
#include "memory_transport.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "pen.h"

#define EDITS_MAX 128
#define NO_NODE 1 /* no code of the library */

/* The texts of one edit: made beforehand, replaced ones to be let go afterwards. */
struct write_texts {
    struct hami_internal_store_text *key, *value;
    struct hami_internal_store_text *old_key, *old_value;
    struct hami_internal_store_text *now; /* the value after the write; a reference */
};

/* One write, prepared. Of `texts` only `count` are in use, and only these are cleared. */
struct write {
    const char *node;
    const struct hami_transport_edit *edits;
    size_t count;
    const char *version;
    struct hami_internal_store_node *made; /* for a node that does not exist yet */
    uint64_t version_now;
    bool changed;
    bool is_blind; /* whatever stands there is what is expected */
    struct write_texts texts[EDITS_MAX];
};

static void start(struct write *write, const char *node,
                  const struct hami_transport_edit *edits, size_t count,
                  const char *version)
{
    write->node = node;
    write->edits = edits;
    write->count = count;
    write->version = version;
    write->made = NULL;
    write->version_now = 0;
    write->changed = write->is_blind = false;
    memset(write->texts, 0, count * sizeof(write->texts[0]));
}

static int make_node(struct write *write)
{
    write->made = calloc(1, sizeof(*write->made));
    if (!write->made) {
        return HAMI_E_NOMEM;
    }
    pen_copy(write->made->name, sizeof(write->made->name), write->node);
    return 0;
}

static int prepare(struct write *write)
{
    for (size_t i = 0; i < write->count; i++) {
        const struct hami_transport_edit *edit = &write->edits[i];
        struct write_texts *texts = &write->texts[i];
        if (edit->action != HAMI_EDIT_PUT || !edit->value) {
            continue;
        }
        texts->key = hami_internal_store_text_new(edit->key);
        texts->value = hami_internal_store_text_new(edit->value);
        if (!texts->key || !texts->value) {
            return HAMI_E_NOMEM;
        }
    }
    return 0;
}

static void finish(struct write *write)
{
    for (size_t i = 0; i < write->count; i++) {
        hami_internal_store_text_unref(write->texts[i].key);
        hami_internal_store_text_unref(write->texts[i].value);
        hami_internal_store_text_unref(write->texts[i].old_key);
        hami_internal_store_text_unref(write->texts[i].old_value);
        hami_internal_store_text_unref(write->texts[i].now);
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
    if (write->is_blind) {
        return true;
    }
    if (write->version) {
        char version[24];
        hami_internal_store_version(version, node ? node->version : 0);
        if (strcmp(write->version, version) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < write->count; i++) {
        if (write->edits[i].action != HAMI_EDIT_READ &&
            !is_expected(node, &write->edits[i])) {
            return false;
        }
    }
    return true;
}

static void remove_value(struct write_texts *texts, struct hami_internal_store_node *node,
                         struct hami_internal_store_value *value)
{
    texts->old_key = value->key;
    texts->old_value = value->value;
    *value = node->values[--node->value_count];
}

static void put_value(struct write *write, struct hami_internal_store_node *node,
                      size_t i)
{
    struct hami_internal_store_value *value =
        hami_internal_store_value(node, write->edits[i].key);
    struct write_texts *texts = &write->texts[i];

    write->changed = true;
    if (!write->edits[i].value) {
        if (value) {
            remove_value(texts, node, value);
        }
        return;
    }
    if (!value) {
        value = &node->values[node->value_count++];
        value->key = texts->key;
        texts->key = NULL;
    } else {
        texts->old_value = value->value;
    }
    value->value = texts->value;
    texts->value = NULL;
}

/* With the store's mutex. Returns 0, HAMI_E_HELD, HAMI_E_NOMEM (too many values), or
 * NO_NODE: one has to be made first. */
static int apply(hami_memory *memory, struct write *write, bool is_write)
{
    struct hami_internal_store_node *node = hami_internal_store_node(memory, write->node);

    if (!are_expected(write, node)) {
        return HAMI_E_HELD;
    }
    if (is_write && !node && !write->made) {
        return NO_NODE;
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
        write->texts[i].now = hami_internal_store_text_ref(value ? value->value : NULL);
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
            values[i] = write->texts[i].now ? write->texts[i].now->text : NULL;
        }
        hami_internal_store_version(version, write->version_now);
        result.values = values;
        result.value_count = write->count;
        result.version = version;
    }
    hami_call_done(call, &result);
}

static int carry_out(hami_memory *memory, struct write *write, bool is_write)
{
    int code = prepare(write);

    while (code == 0) {
        (void)pthread_mutex_lock(&memory->mutex);
        code = apply(memory, write, is_write);
        (void)pthread_mutex_unlock(&memory->mutex);
        if (code != NO_NODE) {
            return code;
        }
        code = make_node(write);
    }
    return code;
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    hami_memory *memory = (hami_memory *)transport;
    char node[HAMI_NODELOCK_NODE_MAX + 1];
    struct write write;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    const hami_nodelock *writer = call->lock;

    if (count > EDITS_MAX) {
        return HAMI_E_TRANSPORT;
    }
    pen_copy(node, sizeof(node), hami_call_node(call)); /* it outlives the call */
    start(&write, node, edits, count, hami_call_version(call));
    int code = carry_out(memory, &write, hami_call_is_write(call));
    complete(call, &write, code);
    if (write.changed) {
        hami_internal_store_tell_node(memory, node, writer);
    }
    finish(&write);
    return 0;
}

int hami_internal_memory_transport_put(hami_memory *memory, const char *node,
                                       const char *key, const char *value)
{
    struct hami_transport_edit edit = {HAMI_EDIT_PUT, key, NULL, value};
    struct write write;

    start(&write, node, &edit, 1, NULL);
    write.is_blind = true;
    int code = carry_out(memory, &write, true);
    finish(&write);
    if (code == 0) {
        hami_internal_store_tell_node(memory, node, NULL);
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
            memory->watchers_end =
                i < memory->watchers_end ? memory->watchers_end : i + 1;
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
