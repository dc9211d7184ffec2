/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See scripted.h. Everything happens on the test's thread. */
#include "scripted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 256
#define EDITS_MAX 32

hami_memory *scripted_store;
hami_nodelock *scripted_lock;
uint64_t scripted_now_ns;
int64_t scripted_realtime_s;
unsigned scripted_wakeups, scripted_aborts, scripted_lost, scripted_logs;
char scripted_last_log[512];
int (*scripted_submitted)(hami_call *call, enum scripted_kind kind);

static struct hami_transport transport;
static hami_call *waiting[CALLS_MAX];
static enum scripted_kind waiting_kinds[CALLS_MAX];
static size_t waiting_count, counts[4];
static bool manual;
static int refuse_next, answer_all, answer_kind[4];

/* ---- carrying out ---- */

struct copied_result {
    hami_call *call;
    int code;
};

static void pass_result(void *data, const struct hami_transport_result *result)
{
    struct copied_result *copied = data;
    struct hami_transport_result answer = *result;

    if (copied->code != 0) {
        answer.code = copied->code;
    }
    hami_call_done(copied->call, &answer);
}

static void pass_facts(void *data, int code, const struct hami_owner_facts *facts)
{
    struct copied_result *copied = data;

    hami_call_done_owner(copied->call, copied->code ? copied->code : code,
                         copied->code ? NULL : facts, NULL);
}

static enum scripted_kind kind_of(const hami_call *call)
{
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i] == call) {
            return waiting_kinds[i];
        }
    }
    ck_abort_msg("no such call");
    return SCRIPTED_READ;
}

static enum scripted_kind take_off(hami_call *call)
{
    enum scripted_kind kind = kind_of(call);
    size_t i = 0;

    while (waiting[i] != call) {
        i++;
    }
    waiting_count--;
    memmove(&waiting[i], &waiting[i + 1], (waiting_count - i) * sizeof(waiting[0]));
    memmove(&waiting_kinds[i], &waiting_kinds[i + 1],
            (waiting_count - i) * sizeof(waiting_kinds[0]));
    return kind;
}

static void carry_out(hami_call *call, enum scripted_kind kind, bool answer, int code)
{
    struct hami_transport *store = hami_memory_transport(scripted_store);
    struct copied_result copied = {call, code};
    size_t count;

    if (kind == SCRIPTED_INSPECT || kind == SCRIPTED_REVOKE) {
        (void)hami_transport_call_owner(store, hami_call_node(call),
                                        hami_call_owner(call), hami_call_revocation(call),
                                        1000, answer ? pass_facts : NULL, &copied);
        return;
    }
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    (void)hami_transport_call(store, hami_call_node(call), edits, count,
                              hami_call_version(call), 1000, answer ? pass_result : NULL,
                              &copied);
}

static void answer_bare(hami_call *call, enum scripted_kind kind, int code)
{
    struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;

    if (kind == SCRIPTED_INSPECT || kind == SCRIPTED_REVOKE) {
        hami_call_done_owner(call, code, NULL, "scripted");
        return;
    }
    result.code = code;
    result.text = "scripted";
    hami_call_done(call, &result);
}

void scripted_answer(hami_call *call)
{
    carry_out(call, take_off(call), true, 0);
}

void scripted_answer_code(hami_call *call, unsigned times, int code)
{
    enum scripted_kind kind = take_off(call);

    for (unsigned i = 0; i < times; i++) {
        carry_out(call, kind, false, 0);
    }
    answer_bare(call, kind, code);
}

void scripted_apply(hami_call *call)
{
    carry_out(call, kind_of(call), false, 0);
}

hami_call *scripted_swallow(hami_call *call)
{
    (void)take_off(call);
    return call;
}

struct scripted_copy {
    char node[256];
    size_t count;
    struct hami_transport_edit edits[EDITS_MAX];
    char version[64];
};

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

struct scripted_copy *scripted_copy(hami_call *call)
{
    struct scripted_copy *copy = calloc(1, sizeof(*copy));
    const struct hami_transport_edit *edits = hami_call_edits(call, &copy->count);

    ck_assert_uint_le(copy->count, EDITS_MAX);
    (void)snprintf(copy->node, sizeof(copy->node), "%s", hami_call_node(call));
    if (hami_call_version(call)) {
        (void)snprintf(copy->version, sizeof(copy->version), "%s",
                       hami_call_version(call));
    }
    for (size_t i = 0; i < copy->count; i++) {
        copy->edits[i].action = edits[i].action;
        copy->edits[i].key = copy_text(edits[i].key);
        copy->edits[i].expect = copy_text(edits[i].expect);
        copy->edits[i].value = copy_text(edits[i].value);
    }
    return copy;
}

bool scripted_land(struct scripted_copy *copy)
{
    int code = hami_transport_call(
        hami_memory_transport(scripted_store), copy->node, copy->edits, copy->count,
        copy->version[0] ? copy->version : NULL, 1000, NULL, NULL);
    for (size_t i = 0; i < copy->count; i++) {
        free((void *)copy->edits[i].key);
        free((void *)copy->edits[i].expect);
        free((void *)copy->edits[i].value);
    }
    free(copy);
    return code == 0;
}

/* ---- the transport ---- */

static int accept(hami_call *call, enum scripted_kind kind)
{
    int refused = refuse_next;

    counts[kind]++;
    if (!refused && scripted_submitted) {
        refused = scripted_submitted(call, kind);
    }
    refuse_next = 0;
    if (refused) {
        return refused;
    }
    ck_assert_uint_lt(waiting_count, CALLS_MAX);
    waiting[waiting_count] = call;
    waiting_kinds[waiting_count++] = kind;
    int code = answer_all ? answer_all : answer_kind[kind];
    if (!manual && code) {
        scripted_answer_code(call, 0, code);
    } else if (!manual) {
        scripted_answer(call);
    }
    return 0;
}

static int submit(struct hami_transport *self, hami_call *call)
{
    (void)self;
    return accept(call, hami_call_is_write(call) ? SCRIPTED_WRITE : SCRIPTED_READ);
}

static int inspect(struct hami_transport *self, hami_call *call)
{
    (void)self;
    return accept(call, SCRIPTED_INSPECT);
}

static int revoke(struct hami_transport *self, hami_call *call)
{
    (void)self;
    return accept(call, SCRIPTED_REVOKE);
}

static void abort_call(struct hami_transport *self, hami_call *call)
{
    (void)self;
    scripted_aborts++;
    for (size_t i = 0; i < waiting_count; i++) {
        if (waiting[i] == call) {
            scripted_answer_code(
                call, 0, hami_call_is_write(call) ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT);
            return;
        }
    }
}

static int watch(struct hami_transport *self, hami_nodelock *lock)
{
    struct hami_transport *store = hami_memory_transport(scripted_store);

    (void)self;
    return store->watch(store, lock);
}

static void unwatch(struct hami_transport *self, hami_nodelock *lock)
{
    struct hami_transport *store = hami_memory_transport(scripted_store);

    (void)self;
    store->unwatch(store, lock);
}

/* ---- the world ---- */

static uint64_t now(void *data)
{
    (void)data;
    return scripted_now_ns;
}

static int64_t realtime(void *data)
{
    (void)data;
    return scripted_realtime_s;
}

struct hami_clock scripted_clock(void)
{
    return (struct hami_clock){now, realtime, NULL};
}

static void wake(void *data)
{
    (void)data;
    scripted_wakeups++;
}

static void lost(void *data, hami_lease *lease, const struct hami_error *error)
{
    (void)data;
    ck_assert_ptr_nonnull(lease);
    ck_assert_int_lt(error->code, 0);
    scripted_lost++;
}

static void log_line(void *data, enum hami_log_level level, const char *line)
{
    (void)data;
    (void)level;
    scripted_logs++;
    (void)snprintf(scripted_last_log, sizeof(scripted_last_log), "%s", line);
}

static void reset(bool is_manual)
{
    waiting_count = 0;
    memset(counts, 0, sizeof(counts));
    manual = is_manual;
    refuse_next = answer_all = 0;
    scripted_submitted = NULL;
    memset(answer_kind, 0, sizeof(answer_kind));
    scripted_now_ns = 1000 * MS;
    /* 2026-01-02T03:04:05Z; it stands still, so attempts must tell takes apart */
    scripted_realtime_s = 1767323045;
    scripted_wakeups = scripted_aborts = scripted_lost = scripted_logs = 0;
    scripted_last_log[0] = '\0';
}

void scripted_start(struct scripted_options options)
{
    struct hami_error error = HAMI_ERROR_INIT;
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;

    reset(options.manual);
    ck_assert_int_eq(hami_memory_new(HAMI_MEMORY_OWNERS, &scripted_store), 0);
    transport = (struct hami_transport){.size = sizeof(transport),
                                        .name = "scripted",
                                        .submit = submit,
                                        .abort = options.no_abort ? NULL : abort_call,
                                        .inspect = options.owners ? inspect : NULL,
                                        .revoke = options.owners ? revoke : NULL,
                                        .watch = options.watch ? watch : NULL,
                                        .unwatch = unwatch};
    if (options.config.size) {
        config = options.config;
    }
    config.transport = &transport;
    config.wakeup = wake;
    config.owner_lost = lost;
    config.log = log_line;
    config.holder = "test-holder";
    config.clock = scripted_clock();
    config.random_seed = 42;
    ck_assert_msg(hami_nodelock_new(&config, &scripted_lock, &error) == 0, "%s",
                  error.text);
}

void scripted_stop(void)
{
    manual = false;
    while (waiting_count > 0) {
        scripted_answer_code(waiting[0], 0,
                             hami_call_is_write(waiting[0]) ? HAMI_E_IN_DOUBT
                                                            : HAMI_E_TRANSPORT);
    }
    hami_nodelock_free(scripted_lock);
    hami_memory_free(scripted_store);
}

void scripted_set_manual(bool is_manual)
{
    manual = is_manual;
}

void scripted_refuse_next(int code)
{
    refuse_next = code;
}

void scripted_answer_all(int code)
{
    answer_all = code;
}

void scripted_answer_kind(enum scripted_kind kind, int code)
{
    answer_kind[kind] = code;
}

void scripted_dispatch(void)
{
    while (hami_nodelock_next_deadline(scripted_lock) <= scripted_now_ns) {
        ck_assert_int_eq(hami_nodelock_dispatch(scripted_lock), 0);
    }
}

void scripted_advance(uint64_t ms)
{
    uint64_t end = scripted_now_ns + ms * MS;

    scripted_dispatch();
    while (hami_nodelock_next_deadline(scripted_lock) <= end) {
        uint64_t next = hami_nodelock_next_deadline(scripted_lock);
        scripted_now_ns = next > scripted_now_ns ? next : scripted_now_ns;
        scripted_dispatch();
    }
    scripted_now_ns = end;
    scripted_dispatch();
}

size_t scripted_waiting(void)
{
    return waiting_count;
}

hami_call *scripted_waiting_call(size_t index, enum scripted_kind *ret_kind)
{
    ck_assert_uint_lt(index, waiting_count);
    *ret_kind = waiting_kinds[index];
    return waiting[index];
}

size_t scripted_count(enum scripted_kind kind)
{
    return counts[kind];
}

hami_call *scripted_call(enum scripted_kind kind)
{
    ck_assert_msg(waiting_count > 0, "no call waits");
    ck_assert_msg(waiting_kinds[0] == kind, "a call of kind %d waits, not of kind %d",
                  (int)waiting_kinds[0], (int)kind);
    return waiting[0];
}

/* ---- the store ---- */

static const char *get(const char *node, const char *key, char *buffer, size_t size)
{
    if (hami_memory_get(scripted_store, node, key, buffer, size) < 0) {
        buffer[0] = '\0';
    }
    return buffer;
}

const char *scripted_lock_value(const char *node)
{
    static char buffer[70000];

    return get(node, HAMI_NODELOCK_KEY, buffer, sizeof(buffer));
}

const char *scripted_lease_value(const char *node)
{
    static char buffer[70000];

    return get(node, HAMI_NODELOCK_LEASE_KEY, buffer, sizeof(buffer));
}

struct hami_lock_record scripted_record(const char *node)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    ck_assert_int_eq(hami_lock_record_parse(scripted_lock_value(node),
                                            scripted_lease_value(node), &record),
                     0);
    return record;
}

void scripted_pod_facts(const char *name, const struct hami_owner_facts *facts)
{
    struct hami_owner owner = {"default", name, facts->uid};

    ck_assert_int_eq(hami_memory_put_owner(scripted_store, &owner, facts), 0);
}

void scripted_pod(const char *name, const char *uid)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.known = facts.exists = facts.devices_left = true;
    facts.uid = uid;
    scripted_pod_facts(name, &facts);
}

void scripted_pod_gone(const char *name)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    scripted_pod_facts(name, &facts);
}
