/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See memory_transport.h: compare-and-set under the store's mutex. A value is written
 * over in its place where that can be seen by nobody; what a write needs beyond is
 * allocated with the mutex free, and what it replaces is freed after. Calls are completed
 * inside submit, with no lock held.
 */
#include "memory_transport.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "pen.h"

#define EDITS_MAX 128
/* No codes of the library: what has to be made first. */
enum { NEEDS_NODE = 1, NEEDS_TEXTS };

/* One edit: where it writes; texts made beforehand, replaced ones to be let go
 * afterwards. */
struct write_texts {
    struct hami_internal_store_value *seat; /* NULL = none yet; with the mutex only */
    size_t bytes;                           /* of the new value; 0 = there is none */
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
    bool has_texts;              /* some were made */
    bool is_blind;               /* whatever stands there is what is expected */
    bool tells;                  /* somebody else watches */
    bool wants_values;           /* as they are now */
    const hami_nodelock *writer; /* is not told; NULL = everybody is */
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
    write->changed = write->has_texts = write->is_blind = write->tells = false;
    write->wants_values = true;
    write->writer = NULL;
    memset(write->texts, 0, count * sizeof(write->texts[0]));
    for (size_t i = 0; i < count; i++) {
        bool puts = edits[i].action == HAMI_EDIT_PUT && edits[i].value;
        write->texts[i].bytes = puts ? strlen(edits[i].value) + 1 : 0;
    }
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

static int make_texts(struct write *write)
{
    write->has_texts = true;
    for (size_t i = 0; i < write->count; i++) {
        const struct hami_transport_edit *edit = &write->edits[i];
        struct write_texts *texts = &write->texts[i];
        if (texts->bytes == 0) {
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
        struct write_texts *texts = &write->texts[i];
        if (write->has_texts) {
            hami_internal_store_text_unref(texts->key);
            hami_internal_store_text_unref(texts->value);
            hami_internal_store_text_unref(texts->old_key);
            hami_internal_store_text_unref(texts->old_value);
        }
        if (write->wants_values) {
            hami_internal_store_text_unref(texts->now);
        }
    }
    free(write->made);
}

static bool is_expected(const struct hami_transport_edit *edit,
                        const struct hami_internal_store_value *seat)
{
    bool present = seat && !seat->absent;

    return edit->expect ? present && strcmp(seat->value->text, edit->expect) == 0
                        : !present;
}

/* Finds where each edit writes. */
static bool are_expected(struct write *write, struct hami_internal_store_node *node)
{
    if (write->version) {
        char version[24];
        hami_internal_store_version(version, node ? node->version : 0);
        if (strcmp(write->version, version) != 0) {
            return false;
        }
    }
    for (size_t i = 0; i < write->count; i++) {
        const struct hami_transport_edit *edit = &write->edits[i];
        write->texts[i].seat = hami_internal_store_seat(node, edit->key);
        if (!write->is_blind && edit->action != HAMI_EDIT_READ &&
            !is_expected(edit, write->texts[i].seat)) {
            return false;
        }
    }
    return true;
}

/* Its text can be written over: nobody else refers to it, and it is large enough. */
static bool has_room(const struct hami_internal_store_value *seat, size_t bytes)
{
    return seat && seat->value->capacity >= bytes &&
           atomic_load(&seat->value->references) == 1;
}

static bool needs_texts(const struct write *write)
{
    for (size_t i = 0; i < write->count; i++) {
        const struct write_texts *texts = &write->texts[i];
        if (texts->bytes > 0 && !texts->value && !has_room(texts->seat, texts->bytes)) {
            return true;
        }
    }
    return false;
}

/* Values that are to come to the node; one that is replaced or removed is there. */
static size_t count_new(const struct write *write)
{
    size_t count = 0;

    for (size_t i = 0; i < write->count; i++) {
        const struct write_texts *texts = &write->texts[i];
        count += texts->bytes > 0 && (!texts->seat || texts->seat->absent);
    }
    return count;
}

/* A seat for a key that has none; there is one, it was counted before. */
static struct hami_internal_store_value *take_seat(struct hami_internal_store_node *node,
                                                   struct write_texts *texts)
{
    struct hami_internal_store_value *seat = node->values;

    if (node->value_count < STORE_VALUES_MAX) {
        seat = &node->values[node->value_count++];
        *seat = (struct hami_internal_store_value){.absent = true};
        node->absent_count++;
    } else {
        while (!seat->absent) {
            seat++;
        }
        texts->old_key = seat->key;
    }
    seat->key = texts->key;
    texts->key = NULL;
    return seat;
}

static void put_value(struct write *write, struct hami_internal_store_node *node,
                      size_t i)
{
    const char *value = write->edits[i].value;
    struct write_texts *texts = &write->texts[i];
    struct hami_internal_store_value *seat = texts->seat;

    write->changed = true;
    /* An edit before may have put the same key, or taken the seat of an absent one. */
    if (!seat || strcmp(seat->key->text, write->edits[i].key) != 0) {
        seat = hami_internal_store_seat(node, write->edits[i].key);
    }
    if (!value) {
        node->absent_count += seat && !seat->absent;
        if (seat) {
            seat->absent = true;
        }
        return;
    }
    if (!seat) {
        seat = take_seat(node, texts);
    }
    if (texts->value) {
        texts->old_value = seat->value;
        seat->value = texts->value;
        texts->value = NULL;
    } else {
        memcpy(seat->value->text, value, texts->bytes);
    }
    node->absent_count -= seat->absent;
    seat->absent = false;
}

static void hold_values(struct write *write, struct hami_internal_store_node *node)
{
    for (size_t i = 0; i < write->count; i++) {
        struct hami_internal_store_value *value =
            hami_internal_store_value(node, write->edits[i].key);
        write->texts[i].now = hami_internal_store_text_ref(value ? value->value : NULL);
    }
}

/* With the store's mutex. Returns 0, HAMI_E_HELD, HAMI_E_NOMEM (too many values), or what
 * has to be made first. */
static int apply(hami_memory *memory, struct write *write, bool is_write)
{
    struct hami_internal_store_node *node = hami_internal_store_node(memory, write->node);

    if (!are_expected(write, node)) {
        return HAMI_E_HELD;
    }
    if (is_write && !node && !write->made) {
        return NEEDS_NODE;
    }
    if (is_write && needs_texts(write)) {
        return NEEDS_TEXTS;
    }
    if (is_write && !node) {
        node = write->made;
        write->made = NULL;
        list_insert(hami_internal_store_bucket(memory->nodes, node->name), &node->link);
    }
    if (is_write &&
        node->value_count - node->absent_count + count_new(write) > STORE_VALUES_MAX) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < write->count; i++) {
        if (write->edits[i].action == HAMI_EDIT_PUT) {
            put_value(write, node, i);
        }
    }
    if (write->changed) {
        node->version = ++memory->version;
        write->tells = hami_internal_store_is_watched(memory, write->writer);
    }
    if (write->wants_values) {
        hold_values(write, node);
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
        hami_internal_store_version(version, write->version_now);
        result.version = version;
    }
    if (code == 0 && write->wants_values) {
        for (size_t i = 0; i < write->count; i++) {
            values[i] = write->texts[i].now ? write->texts[i].now->text : NULL;
        }
        result.values = values;
        result.value_count = write->count;
    }
    hami_call_done(call, &result);
}

static int carry_out(hami_memory *memory, struct write *write, bool is_write)
{
    int code;

    do {
        (void)pthread_mutex_lock(&memory->mutex);
        code = apply(memory, write, is_write);
        (void)pthread_mutex_unlock(&memory->mutex);
        int needs = code;
        if (needs == NEEDS_NODE || needs == NEEDS_TEXTS) {
            int made = needs == NEEDS_NODE ? make_node(write) : make_texts(write);
            code = made < 0 ? made : needs;
        }
    } while (code > 0);
    return code;
}

static int submit(struct hami_transport *transport, hami_call *call)
{
    hami_memory *memory = (hami_memory *)transport;
    char node[HAMI_NODELOCK_NODE_MAX + 1];
    struct write write;
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    bool is_write = hami_call_is_write(call);

    if (count > EDITS_MAX) {
        return HAMI_E_TRANSPORT;
    }
    start(&write, hami_call_node(call), edits, count, hami_call_version(call));
    write.writer = call->lock;
    write.wants_values = !is_write || !call->lock; /* a manager knows what it wrote */
    int code = carry_out(memory, &write, is_write);
    if (write.tells) {
        pen_copy(node, sizeof(node), write.node); /* it outlives the call */
    }
    complete(call, &write, code);
    if (write.tells) {
        hami_internal_store_tell_node(memory, node, write.writer);
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
    if (write.tells) {
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
