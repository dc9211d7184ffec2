/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of a transport without a manager: for tools and for the contract suite. The
 * call is counted: who waits and the transport hold one reference each, so that an answer
 * that comes too late finds the memory still there. single.mutex guards `ended`.
 */
#include "single_call.h"

#include <string.h>
#include <time.h>

#include "call.h"
#include "config.h"
#include "errors.h"
#include "memory.h"
#include "moment.h"
#include "names.h"

#define EDITS_MAX 32

struct single {
    hami_call *call;
    char *texts; /* copies: a transport that is late may look at them after the caller
                    went on */
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    atomic_uint references;
    bool ended;
};

static uint64_t monotonic_ns(void *data)
{
    struct timespec now;

    (void)data;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void unref(struct single *single)
{
    if (atomic_fetch_sub(&single->references, 1) == 1) {
        hami_internal_call_free(single->call);
        hami_internal_memory_free(&hami_internal_memory_default, single->texts);
        (void)pthread_cond_destroy(&single->condition);
        (void)pthread_mutex_destroy(&single->mutex);
        hami_internal_memory_free(&hami_internal_memory_default, single);
    }
}

static void completed(hami_call *call)
{
    struct single *single = call->completed_data;

    (void)pthread_mutex_lock(&single->mutex);
    single->ended = true;
    (void)pthread_cond_signal(&single->condition);
    (void)pthread_mutex_unlock(&single->mutex);
    unref(single);
}

static size_t text_bytes(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static const char *copy_text(char **at, const char *text)
{
    char *start = *at;

    if (!text) {
        return NULL;
    }
    memcpy(start, text, strlen(text) + 1);
    *at += strlen(text) + 1;
    return start;
}

/* Copies the node's name and the edits into the call. */
static int copy_edits(struct single *single, const char *node,
                      const struct hami_transport_edit *edits, size_t count)
{
    size_t bytes = text_bytes(node);

    for (size_t i = 0; i < count; i++) {
        bytes += text_bytes(edits[i].key) + text_bytes(edits[i].expect) +
                 text_bytes(edits[i].value);
    }
    char *at = single->texts =
        hami_internal_memory_zero(&hami_internal_memory_default, bytes);
    if (!at) {
        return HAMI_E_NOMEM;
    }
    single->call->node = copy_text(&at, node);
    for (size_t i = 0; i < count; i++) {
        const char *key = copy_text(&at, edits[i].key);
        const char *expect = copy_text(&at, edits[i].expect);
        hami_internal_call_add(single->call, edits[i].action, key, expect,
                               copy_text(&at, edits[i].value));
    }
    return 0;
}

static struct single *make(const char *node, const struct hami_transport_edit *edits,
                           size_t count, uint64_t timeout_ms)
{
    struct single *single =
        hami_internal_memory_zero(&hami_internal_memory_default, sizeof(*single));

    if (!single) {
        return NULL;
    }
    single->call = hami_internal_call_new(&hami_internal_memory_default, count);
    if (!single->call) {
        hami_internal_memory_free(&hami_internal_memory_default, single);
        return NULL;
    }
    if (copy_edits(single, node, edits, count) < 0) {
        hami_internal_call_free(single->call);
        hami_internal_memory_free(&hami_internal_memory_default, single);
        return NULL;
    }
    atomic_init(&single->references, 2);
    (void)pthread_mutex_init(&single->mutex, NULL);
    (void)moment_condition(&single->condition);
    single->call->completed = completed;
    single->call->completed_data = single;
    single->call->now = monotonic_ns;
    single->call->deadline_ns = monotonic_ns(NULL) + timeout_ms * NS_PER_MS;
    return single;
}

/* Waits for the end, at most one second past the deadline. */
static bool await(struct single *single)
{
    uint64_t until_ns = single->call->deadline_ns + HAMI_INTERNAL_CALL_GRACE_NS;
    struct timespec until = moment_timespec(until_ns);
    int failed = 0;

    (void)pthread_mutex_lock(&single->mutex);
    while (!single->ended && !failed) {
        failed = pthread_cond_timedwait(&single->condition, &single->mutex, &until);
    }
    bool ended = single->ended;
    (void)pthread_mutex_unlock(&single->mutex);
    return ended;
}

/* Submits and waits. Returns true if there is an answer; else *code says how it went. */
static bool carry_out(struct hami_transport *transport,
                      int (*function)(struct hami_transport *, hami_call *),
                      struct single *single, int *code)
{
    *code = function(transport, single->call);
    if (*code < 0) {
        unref(single); /* the transport's reference */
        return false;
    }
    *code = HAMI_E_IN_DOUBT;
    return await(single);
}

int hami_transport_call(struct hami_transport *transport, const char *node,
                        const struct hami_transport_edit *edits, size_t edit_count,
                        const char *version, uint64_t timeout_ms,
                        void (*receive)(void *data,
                                        const struct hami_transport_result *result),
                        void *data)
{
    int code;

    if (!hami_internal_config_is_transport(transport) ||
        !hami_internal_names_is_subdomain(node) || !edits || edit_count == 0 ||
        edit_count > EDITS_MAX || timeout_ms == 0 || timeout_ms > 600000 ||
        (version && strlen(version) >= 64)) {
        return HAMI_E_INVAL;
    }
    struct single *single = make(node, edits, edit_count, timeout_ms);
    if (!single) {
        return HAMI_E_NOMEM;
    }
    hami_call *call = single->call;
    if (version) {
        memcpy(call->version, version, strlen(version) + 1);
    }
    if (carry_out(transport, transport->submit, single, &code)) {
        const struct hami_internal_answer *answer = &call->answer;
        struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
        result.code = code = answer->code;
        result.values = answer->has_values ? answer->values : NULL;
        result.value_count = answer->has_values ? answer->value_count : 0;
        result.version = answer->version[0] ? answer->version : NULL;
        result.server_time_us = answer->server_time_us;
        result.status = answer->status;
        result.text = answer->text;
        if (receive) {
            receive(data, &result);
        }
    }
    unref(single);
    return code;
}

int hami_internal_single_owner(struct hami_transport *transport,
                               const struct hami_internal_question *question,
                               void (*receive)(void *data, int code,
                                               const struct hami_owner_facts *facts,
                                               const char *text),
                               void *data)
{
    const struct hami_owner *owner = question->owner;
    const char *revocation = question->revocation;
    uint64_t timeout_ms = question->timeout_ms;
    int code;

    if (!hami_internal_config_is_transport(transport) ||
        !hami_internal_names_is_subdomain(question->node) || !owner ||
        !hami_internal_names_is_label(owner->namespace_name) ||
        !hami_internal_names_is_subdomain(owner->name) ||
        (revocation && !hami_internal_names_is_uid(owner->uid)) || timeout_ms == 0 ||
        timeout_ms > 600000) {
        return HAMI_E_INVAL;
    }
    int (*function)(struct hami_transport *, hami_call *) =
        revocation ? transport->revoke : transport->inspect;
    if (!function) {
        return HAMI_E_NOTSUP;
    }
    struct single *single = make(question->node, NULL, 0, timeout_ms);
    if (!single) {
        return HAMI_E_NOMEM;
    }
    hami_call *call = single->call;
    if (revocation && strlen(revocation) >= sizeof(call->revocation)) {
        atomic_store(&single->references, 1);
        unref(single);
        return HAMI_E_INVAL;
    }
    if (revocation) {
        memcpy(call->revocation, revocation, strlen(revocation) + 1);
    }
    call->wants_read = true;
    hami_internal_call_set_owner(call, owner->namespace_name, owner->name, owner->uid);
    if (carry_out(transport, function, single, &code)) {
        code = call->answer.code;
        receive(data, code, call->answer.facts ? &call->answer.facts->facts : NULL,
                call->answer.text);
    }
    unref(single);
    return code;
}

struct receiver {
    void (*receive)(void *data, int code, const struct hami_owner_facts *facts);
    void *data;
};

static void pass_on(void *data, int code, const struct hami_owner_facts *facts,
                    const char *text)
{
    const struct receiver *receiver = data;

    (void)text;
    if (receiver->receive) {
        receiver->receive(receiver->data, code, facts);
    }
}

int hami_transport_call_owner(struct hami_transport *transport, const char *node,
                              const struct hami_owner *owner, const char *revocation,
                              uint64_t timeout_ms,
                              void (*receive)(void *data, int code,
                                              const struct hami_owner_facts *facts),
                              void *data)
{
    struct receiver receiver = {receive, data};
    const struct hami_internal_question question = {node, owner, revocation, timeout_ms};

    return hami_internal_single_owner(transport, &question, pass_on, &receiver);
}
