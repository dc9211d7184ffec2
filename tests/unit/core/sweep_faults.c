/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sweep.h: carries the calls out in their order, but for those that the fault is for.
 * Calls are counted as they are submitted.
 */
#include "sweep.h"

#include <string.h>

#define NUMBERS_MAX 1024
#define COPIES_MAX 64
#define DEAF_MAX 64
#define STEPS_MAX 100000 /* of one wait: more is a loop that does not end */

const char *const sweep_way_names[SWEEP_WAYS] = {
    "no fault",
    "not sent",
    "no memory",
    "no answer, not applied",
    "no answer, applied",
    "no answer, applied late",
    "doubled, second refused",
    "doubled, first answered",
    "doubled after the answer",
    "doubled a second later",
    "refused without values",
    "senseless answer",
    "senseless answer, applied",
    "no access",
    "node gone",
    "submit refuses",
    "silent until aborted",
    "silent until aborted, applied",
    "silent for ever",
};

char sweep_run[128];

static struct sweep_fault fault;
static unsigned submitted, armed_calls;
static bool hit;
static struct {
    hami_call *call;
    unsigned number;
} numbers[NUMBERS_MAX];
static struct {
    struct scripted_copy *copy;
    uint64_t due_ns;
} copies[COPIES_MAX];
static size_t copy_count;
static hami_call *deaf[DEAF_MAX];
static size_t deaf_count;
static hami_call *silent; /* waits in the transport's list */

/* ---- which calls ---- */

static bool is_owner_call(enum scripted_kind kind)
{
    return kind == SCRIPTED_INSPECT || kind == SCRIPTED_REVOKE;
}

/* Can a call of this kind fail in this way at all? */
static bool is_possible(enum scripted_kind kind)
{
    switch (fault.way) {
    case SWEEP_NO_FAULT:
    case SWEEP_WAYS:
        return false;
    case SWEEP_DOUBT_NOT_APPLIED:
    case SWEEP_DOUBT_APPLIED:
    case SWEEP_PROTO_APPLIED:
    case SWEEP_SILENT_APPLIED:
        /* Where no revocation is ever answered, none is ever known to stand. */
        return kind == SCRIPTED_WRITE ||
               (kind == SCRIPTED_REVOKE && fault.length < SWEEP_EVERY_CALL);
    case SWEEP_DOUBT_LATE:
    case SWEEP_DOUBLED_REFUSED:
    case SWEEP_DOUBLED_FIRST:
    case SWEEP_DOUBLED_AFTER:
    case SWEEP_DOUBLED_LATE:
    case SWEEP_HELD:
        return kind == SCRIPTED_WRITE;
    case SWEEP_NODE_GONE:
        return !is_owner_call(kind);
    default:
        return true;
    }
}

static bool is_meant(unsigned number)
{
    return number >= fault.first && number - fault.first < fault.length;
}

static int count_call(hami_call *call, enum scripted_kind kind)
{
    submitted++;
    numbers[submitted % NUMBERS_MAX].call = call;
    numbers[submitted % NUMBERS_MAX].number = submitted;
    if (fault.way == SWEEP_REFUSED && is_meant(submitted)) {
        hit = true;
        (void)kind;
        return HAMI_E_TRANSPORT;
    }
    return 0;
}

static unsigned number_of(const hami_call *call)
{
    for (unsigned i = submitted; i > 0; i--) {
        if (numbers[i % NUMBERS_MAX].call == call) {
            return numbers[i % NUMBERS_MAX].number;
        }
    }
    ck_abort_msg("a call that was never submitted");
    return 0;
}

/* ---- late copies ---- */

static void keep_copy(hami_call *call, uint64_t delay_ns)
{
    ck_assert_uint_lt(copy_count, COPIES_MAX);
    copies[copy_count].copy = scripted_copy(call);
    copies[copy_count++].due_ns = scripted_now_ns + delay_ns;
}

static void land_due(void)
{
    for (size_t i = 0; i < copy_count;) {
        if (copies[i].due_ns > scripted_now_ns) {
            i++;
            continue;
        }
        struct scripted_copy *copy = copies[i].copy;
        copy_count--;
        memmove(&copies[i], &copies[i + 1], (copy_count - i) * sizeof(copies[0]));
        (void)scripted_land(copy);
        sweep_check_step();
    }
}

static uint64_t next_landing(void)
{
    uint64_t next = UINT64_MAX;

    for (size_t i = 0; i < copy_count; i++) {
        next = copies[i].due_ns < next ? copies[i].due_ns : next;
    }
    return next;
}

/* ---- faults ---- */

static void pass(void *data, const struct hami_transport_result *result)
{
    hami_call_done(data, result);
}

/* Both copies are delivered; the answer is the first one's: what it wrote. */
static void answer_as_first(hami_call *call)
{
    struct hami_transport_edit reads[32];
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    struct scripted_copy *first = scripted_copy(call), *second = scripted_copy(call);

    ck_assert_uint_le(count, 32);
    if (!scripted_land(first)) {
        (void)scripted_land(second);
        scripted_answer(call); /* refused, as its first copy */
        return;
    }
    (void)scripted_land(second);
    for (size_t i = 0; i < count; i++) {
        reads[i] = (struct hami_transport_edit){HAMI_EDIT_READ, edits[i].key, NULL, NULL};
    }
    (void)scripted_swallow(call);
    ck_assert_int_eq(hami_transport_call(hami_memory_transport(scripted_store),
                                         hami_call_node(call), reads, count, NULL, 1000,
                                         pass, call),
                     0);
}

static void fail_with_copies(hami_call *call)
{
    switch (fault.way) {
    case SWEEP_DOUBT_LATE:
        keep_copy(call, 2000 * MS);
        scripted_answer_code(call, 0, HAMI_E_IN_DOUBT);
        break;
    case SWEEP_DOUBLED_FIRST:
        answer_as_first(call);
        break;
    case SWEEP_DOUBLED_AFTER:
        keep_copy(call, 0);
        scripted_answer(call);
        break;
    case SWEEP_DOUBLED_LATE:
        keep_copy(call, 1000 * MS);
        scripted_answer(call);
        break;
    default:
        ck_abort_msg("not a way with copies");
    }
}

static void fail_silently(hami_call *call)
{
    if (fault.way == SWEEP_DEAF) {
        ck_assert_uint_lt(deaf_count, DEAF_MAX);
        deaf[deaf_count++] = scripted_swallow(call);
        return;
    }
    silent = call;
    if (fault.way == SWEEP_SILENT_APPLIED) {
        scripted_apply(call);
    }
}

static void fail_call(hami_call *call)
{
    switch (fault.way) {
    case SWEEP_TRANSPORT:
        scripted_answer_code(call, 0, HAMI_E_TRANSPORT);
        break;
    case SWEEP_NOMEM:
        scripted_answer_code(call, 0, HAMI_E_NOMEM);
        break;
    case SWEEP_DOUBT_NOT_APPLIED:
        scripted_answer_code(call, 0, HAMI_E_IN_DOUBT);
        break;
    case SWEEP_DOUBT_APPLIED:
        scripted_answer_code(call, 1, HAMI_E_IN_DOUBT);
        break;
    case SWEEP_DOUBLED_REFUSED:
        scripted_answer_code(call, 2, HAMI_E_HELD);
        break;
    case SWEEP_HELD:
        scripted_answer_code(call, 0, HAMI_E_HELD);
        break;
    case SWEEP_PROTO:
        scripted_answer_code(call, 0, HAMI_E_PROTO);
        break;
    case SWEEP_PROTO_APPLIED:
        scripted_answer_code(call, 1, HAMI_E_PROTO);
        break;
    case SWEEP_ACCESS:
        scripted_answer_code(call, 0, HAMI_E_ACCESS);
        break;
    case SWEEP_NODE_GONE:
        scripted_answer_code(call, 0, HAMI_E_NODE);
        break;
    case SWEEP_SILENT:
    case SWEEP_SILENT_APPLIED:
    case SWEEP_DEAF:
        fail_silently(call);
        break;
    default:
        fail_with_copies(call);
        break;
    }
}

/* Carries out the oldest call that is not held back; false if there is none. */
static bool serve_one(void)
{
    enum scripted_kind kind;

    for (size_t i = 0; i < scripted_waiting(); i++) {
        hami_call *call = scripted_waiting_call(i, &kind);
        if (call == silent) {
            continue;
        }
        if (is_meant(number_of(call)) && is_possible(kind)) {
            hit = true;
            fail_call(call);
        } else {
            scripted_answer(call);
        }
        return true;
    }
    return false;
}

/* ---- time ---- */

static void forget_aborted(void)
{
    enum scripted_kind kind;
    bool waits = false;

    for (size_t i = 0; i < scripted_waiting(); i++) {
        waits = waits || scripted_waiting_call(i, &kind) == silent;
    }
    silent = waits ? silent : NULL;
}

/* All that happens at this moment. */
static void settle(unsigned *steps)
{
    bool more = true;

    while (more) {
        SWEEP_CHECK(++*steps < STEPS_MAX, "it goes round and round");
        scripted_dispatch();
        forget_aborted();
        more = serve_one();
        land_due();
        scripted_dispatch();
        sweep_check_step();
    }
}

void sweep_serve_calls(unsigned count)
{
    bool more = true;

    scripted_dispatch();
    for (unsigned i = 0; i < count && more; i++) {
        more = serve_one();
        land_due();
        scripted_dispatch();
        sweep_check_step();
    }
}

bool sweep_until(bool (*is_so)(void *data), void *data, uint64_t ms)
{
    uint64_t end = scripted_now_ns + ms * MS;
    unsigned steps = 0;

    for (;;) {
        settle(&steps);
        if (is_so(data)) {
            return true;
        }
        uint64_t next = hami_nodelock_next_deadline(scripted_lock);
        next = next_landing() < next ? next_landing() : next;
        if (next > end) {
            scripted_now_ns = end;
            settle(&steps);
            return is_so(data);
        }
        scripted_now_ns = next > scripted_now_ns ? next : scripted_now_ns;
    }
}

static bool nothing_is_on_its_way(void *data)
{
    (void)data;
    return copy_count == 0;
}

void sweep_let_land(void)
{
    ck_assert(sweep_until(nothing_is_on_its_way, NULL, 10000));
}

void sweep_let_speak(void)
{
    for (size_t i = 0; i < deaf_count; i++) {
        hami_call *call = deaf[i];
        if (hami_call_owner(call)->name && hami_call_owner(call)->name[0]) {
            hami_call_done_owner(call, HAMI_E_TRANSPORT, NULL, "at last");
        } else {
            struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
            result.code = hami_call_is_write(call) ? HAMI_E_IN_DOUBT : HAMI_E_TRANSPORT;
            hami_call_done(call, &result);
        }
    }
    deaf_count = 0;
    scripted_dispatch();
}

void sweep_arm(struct sweep_fault armed)
{
    fault = armed;
    submitted = 0;
    hit = false;
    copy_count = deaf_count = 0;
    silent = NULL;
    scripted_submitted = count_call;
    scripted_set_manual(true);
}

void sweep_disarm(void)
{
    fault = (struct sweep_fault){0};
    armed_calls = submitted;
}

bool sweep_was_hit(void)
{
    return hit;
}

unsigned sweep_calls(void)
{
    return armed_calls;
}
