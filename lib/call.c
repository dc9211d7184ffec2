/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See call.h; the functions that transports use are those of hami/transport.h. */
#include "call.h"

#include <stdio.h>
#include <string.h>

#include "errors.h"
#include "memory.h"
#include "pen.h"

hami_call *hami_internal_call_new(const struct hami_allocator *allocator, size_t edits)
{
    hami_call *call = hami_internal_memory_zero(
        allocator, sizeof(*call) + edits * sizeof(*call->edits));

    if (call) {
        call->allocator = allocator;
        call->edit_capacity = edits;
        atomic_init(&call->references, 1);
    }
    return call;
}

hami_call *hami_internal_call_free(hami_call *call)
{
    if (call && atomic_fetch_sub(&call->references, 1) == 1) {
        const struct hami_allocator *allocator = call->allocator;
        for (size_t i = 0; i < call->answer.value_capacity; i++) {
            hami_internal_memory_free(allocator, call->answer.texts[i].data);
        }
        hami_internal_memory_free(allocator, call->answer.texts);
        hami_internal_memory_free(allocator, call->answer.values);
        hami_internal_memory_free(allocator, call->answer.facts);
        hami_internal_memory_free(allocator, call->kept_grant);
        hami_internal_memory_free(allocator, call->kept_lease);
        hami_internal_memory_free(allocator, call);
    }
    return NULL;
}

void hami_internal_call_retire(struct hami_nodelock *lock, hami_call *call)
{
    hami_call *none = NULL;

    /* One that is being aborted is looked at by others yet; a large one is rare. */
    if (!call || call->edit_capacity != HAMI_INTERNAL_CALL_EDITS_FEW ||
        atomic_load(&call->references) != 1 ||
        !atomic_compare_exchange_strong(&lock->spare_call, &none, call)) {
        (void)hami_internal_call_free(call);
    }
}

hami_call *hami_internal_call_get(struct hami_nodelock *lock, size_t edits)
{
    hami_call *call = edits == HAMI_INTERNAL_CALL_EDITS_FEW
                          ? atomic_exchange(&lock->spare_call, NULL)
                          : NULL;

    return call ? call : hami_internal_call_new(hami_internal_allocator(lock), edits);
}

size_t hami_internal_call_edits(const struct hami_internal_node *node)
{
    /* A read may ask for the node's mark besides. */
    size_t edits = 2 * node->slot_count;

    return edits <= HAMI_INTERNAL_CALL_EDITS_FEW     ? HAMI_INTERNAL_CALL_EDITS_FEW
           : edits < HAMI_INTERNAL_CALL_EDITS_BESIDE ? HAMI_INTERNAL_CALL_EDITS_BESIDE
                                                     : HAMI_INTERNAL_CALL_EDITS_MAX;
}

void hami_internal_call_fetch(struct hami_internal_node *node)
{
    if (!node->spare_call &&
        hami_internal_call_edits(node) == HAMI_INTERNAL_CALL_EDITS_FEW) {
        node->spare_call = atomic_exchange(&node->lock->spare_call, NULL);
    }
    hami_call *call = node->spare_call;
    if (call && !node->next_grant) {
        node->next_grant = call->kept_grant;
        call->kept_grant = NULL;
    }
    if (call && !node->next_lease) {
        node->next_lease = call->kept_lease;
        call->kept_lease = NULL;
    }
}

void hami_internal_call_rest(struct hami_internal_node *node,
                             struct hami_internal_after *after)
{
    hami_call *call = node->spare_call;

    if (!call->kept_grant) {
        call->kept_grant = node->next_grant;
        node->next_grant = NULL;
    }
    if (!call->kept_lease) {
        call->kept_lease = node->next_lease;
        node->next_lease = NULL;
    }
    after->free_call = call;
    node->spare_call = NULL;
}

void hami_internal_call_reset(hami_call *call)
{
    atomic_store_explicit(&call->state, CALL_IDLE, memory_order_relaxed);
    call->edit_count = 0;
    call->version[0] = '\0';
    call->revocation[0] = '\0';
    call->cover_from = NULL;
    call->cover_fence = 0;
    call->wants_read = false;
    call->data = NULL;
    memset(&call->owner, 0, sizeof(call->owner));
    call->answer.code = 0;
    call->answer.has_values = false;
    call->answer.value_count = 0;
    call->answer.version[0] = '\0';
    call->answer.version_number = 0;
    call->answer.server_time_us = 0;
    call->answer.status = 0;
    call->answer.text[0] = '\0';
}

void hami_internal_call_set_owner(hami_call *call, const char *namespace_name,
                                  const char *name, const char *uid)
{
    char *at = call->owner_text, *end = at + sizeof(call->owner_text);
    const char *texts[] = {namespace_name, name, uid ? uid : ""};
    const char **members[] = {&call->owner.namespace_name, &call->owner.name,
                              &call->owner.uid};

    for (size_t i = 0; i < 3; i++) {
        *members[i] = at;
        at += snprintf(at, (size_t)(end - at), "%s", texts[i]) + 1;
    }
}

void hami_internal_call_add(hami_call *call, enum hami_edit_action action,
                            const char *key, const char *expect, const char *value)
{
    struct hami_transport_edit *edit = &call->edits[call->edit_count++];

    edit->action = action;
    edit->key = key;
    edit->expect = expect;
    edit->value = value;
}

int hami_internal_call_keep(const struct hami_allocator *allocator,
                            struct hami_internal_text *buffer, const char *text,
                            const char **ret)
{
    size_t bytes = text ? strlen(text) + 1 : 0;

    if (bytes > buffer->capacity) {
        char *larger = hami_internal_memory_grow(allocator, buffer->data, bytes);
        if (!larger) {
            return HAMI_E_NOMEM;
        }
        buffer->data = larger;
        buffer->capacity = bytes;
    }
    if (text) {
        memcpy(buffer->data, text, bytes);
    }
    *ret = text ? buffer->data : NULL;
    return 0;
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *put_text(char **at, const char *text)
{
    size_t bytes = text_bytes(text);
    char *start = *at;

    if (bytes == 0) {
        return NULL;
    }
    memcpy(start, text, bytes);
    *at += bytes;
    return start;
}

struct hami_internal_facts *
hami_internal_call_copy_facts(const struct hami_allocator *allocator,
                              const struct hami_owner_facts *facts)
{
    size_t bytes = text_bytes(facts->uid) + text_bytes(facts->node) +
                   text_bytes(facts->assigned_node) + text_bytes(facts->version) +
                   text_bytes(facts->revoked);
    struct hami_internal_facts *copy =
        hami_internal_memory_zero(allocator, sizeof(*copy) + bytes);

    if (copy) {
        char *at = copy->texts;
        copy->facts = *facts;
        copy->facts.uid = put_text(&at, facts->uid);
        copy->facts.node = put_text(&at, facts->node);
        copy->facts.assigned_node = put_text(&at, facts->assigned_node);
        copy->facts.version = put_text(&at, facts->version);
        copy->facts.revoked = put_text(&at, facts->revoked);
    }
    return copy;
}

/* ---- completion ---- */

static int reserve_values(hami_call *call, size_t count)
{
    struct hami_internal_answer *answer = &call->answer;

    if (count <= answer->value_capacity) {
        return 0;
    }
    struct hami_internal_text *texts =
        hami_internal_memory_grow(call->allocator, answer->texts, count * sizeof(*texts));
    if (!texts) {
        return HAMI_E_NOMEM;
    }
    answer->texts = texts;
    const char **values = hami_internal_memory_grow(
        call->allocator, (void *)answer->values, count * sizeof(*values));
    if (!values) {
        return HAMI_E_NOMEM;
    }
    answer->values = values;
    memset(texts + answer->value_capacity, 0,
           (count - answer->value_capacity) * sizeof(*texts));
    answer->value_capacity = count;
    return 0;
}

/* Returns 0, also without values; or HAMI_E_NOMEM. */
static int keep_values(hami_call *call, const struct hami_transport_result *result)
{
    struct hami_internal_answer *answer = &call->answer;

    if (!result->values || result->value_count != call->edit_count) {
        return 0;
    }
    if (reserve_values(call, result->value_count) < 0) {
        return HAMI_E_NOMEM;
    }
    for (size_t i = 0; i < result->value_count; i++) {
        if (hami_internal_call_keep(call->allocator, &answer->texts[i], result->values[i],
                                    &answer->values[i]) < 0) {
            return HAMI_E_NOMEM;
        }
    }
    answer->value_count = result->value_count;
    answer->has_values = true;
    return 0;
}

static void keep_text(char *buffer, size_t size, const char *text)
{
    if (text) {
        pen_copy(buffer, size, text);
    }
}

/* A transport's word that is none of the codes it may use makes no sense. */
static int known_code(int code)
{
    switch (code) {
    case 0:
    case HAMI_E_HELD:
    case HAMI_E_NODE:
    case HAMI_E_ACCESS:
    case HAMI_E_IN_DOUBT:
    case HAMI_E_TRANSPORT:
    case HAMI_E_NOMEM:
        return code;
    default:
        return HAMI_E_PROTO;
    }
}

void hami_call_done(hami_call *call, const struct hami_transport_result *result)
{
    struct hami_transport_result known;

    if (hami_internal_errors_read_struct(&known, sizeof(known), result,
                                         offsetof(struct hami_transport_result, values)) <
        0) {
        known = (struct hami_transport_result){.code = HAMI_E_PROTO};
    }
    call->answer.code = known_code(known.code);
    /* A write that went well is known without its values; a read is nothing without them.
     */
    if (keep_values(call, &known) < 0 && call->answer.code == 0 &&
        !hami_call_is_write(call)) {
        call->answer.code = HAMI_E_NOMEM;
    }
    /* A version that does not fit is as good as none: it can't be tested. */
    size_t bytes = known.version ? strlen(known.version) + 1 : 0;
    if (bytes > 0 && bytes <= sizeof(call->answer.version)) {
        memcpy(call->answer.version, known.version, bytes);
        call->answer.version_number =
            hami_internal_protocol_version_number(known.version);
    }
    keep_text(call->answer.text, sizeof(call->answer.text), known.text);
    call->answer.server_time_us = known.server_time_us;
    call->answer.status = known.status;
    call->completed(call);
}

void hami_call_done_owner(hami_call *call, int code, const struct hami_owner_facts *facts,
                          const char *text)
{
    struct hami_owner_facts known;

    call->answer.code = known_code(code);
    hami_internal_memory_free(call->allocator, call->answer.facts);
    call->answer.facts = NULL;
    if (facts && (code == 0 || code == HAMI_E_HELD)) {
        if (hami_internal_errors_read_struct(&known, sizeof(known), facts,
                                             offsetof(struct hami_owner_facts, uid)) ==
            0) {
            call->answer.facts = hami_internal_call_copy_facts(call->allocator, &known);
            /* A revocation may be written all the same. */
            call->answer.code = call->answer.facts           ? code
                                : hami_call_revocation(call) ? HAMI_E_IN_DOUBT
                                                             : HAMI_E_NOMEM;
        } else {
            call->answer.code = HAMI_E_PROTO;
        }
    } else if (code == 0 || code == HAMI_E_HELD) {
        call->answer.code = HAMI_E_PROTO;
    }
    keep_text(call->answer.text, sizeof(call->answer.text), text);
    call->completed(call);
}

/* ---- what a transport asks ---- */

const char *hami_call_node(const hami_call *call)
{
    return call ? call->node : NULL;
}

const struct hami_transport_edit *hami_call_edits(const hami_call *call,
                                                  size_t *ret_count)
{
    if (ret_count) {
        *ret_count = call ? call->edit_count : 0;
    }
    return call ? call->edits : NULL;
}

const char *hami_call_version(const hami_call *call)
{
    return call && call->version[0] ? call->version : NULL;
}

bool hami_call_is_write(const hami_call *call)
{
    for (size_t i = 0; call && i < call->edit_count; i++) {
        if (call->edits[i].action != HAMI_EDIT_READ) {
            return true;
        }
    }
    return false;
}

uint64_t hami_call_deadline(const hami_call *call)
{
    return call ? call->deadline_ns : 0;
}

uint64_t hami_call_remaining(const hami_call *call)
{
    if (!call) {
        return 0;
    }
    uint64_t now = call->now(call->now_data);
    return call->deadline_ns > now ? call->deadline_ns - now : 0;
}

const struct hami_owner *hami_call_owner(const hami_call *call)
{
    return call ? &call->owner : NULL;
}

bool hami_call_wants_read(const hami_call *call)
{
    return call && call->wants_read;
}

const char *hami_call_revocation(const hami_call *call)
{
    return call && call->revocation[0] ? call->revocation : NULL;
}

void hami_call_set_data(hami_call *call, void *data)
{
    if (call) {
        call->data = data;
    }
}

void *hami_call_data(const hami_call *call)
{
    return call ? call->data : NULL;
}
