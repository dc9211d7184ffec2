/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Release by hand, without a manager: for an operator's tool. In order: read the pair and
 * compare it with the token; look at the owner, by a read begun after that; revoke one
 * that is not bound; remove the pair, guarded by its bytes. What is in doubt at the end
 * is read once more. No state outlives the call, and no lock is taken.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include <hami/transport.h>

#include "config.h"
#include "errors.h"
#include "hash.h"
#include "memory.h"
#include "names.h"
#include "protocol.h"
#include "single_call.h"

#define TIMEOUT_MS 5000
#define TIMEOUT_MS_MAX 600000

/* The key's own record, and one for each pod beside others. */
#define RECORDS (HAMI_NODELOCK_SIDE_BY_SIDE_MAX + 1)

struct pair {
    char lock_key[HAMI_NODELOCK_KEY_MAX + 8];
    char lease_key[HAMI_NODELOCK_KEY_MAX + 8];
    char *lock, *lease; /* as read; NULL = absent */
};

struct clearing {
    struct hami_transport *transport;
    struct hami_clear asked;
    struct hami_error *error;
    struct pair pairs[RECORDS];
    struct pair *pair; /* what is to be cleared */
    struct hami_lock_record record;
    /* what was learned about the owner */
    enum hami_internal_release verdict;
    char uid[HAMI_NODELOCK_UID_MAX + 1];
    bool revoked, known;
    /* of the answer that is being received */
    bool no_memory;
    char text[400];
};

/* ---- tokens ---- */

static uint64_t hash_part(uint64_t hash, const char *text)
{
    /* Absent and empty differ, and no byte of one part can become the other's. */
    uint64_t mark = text ? 1 : 2;
    return hami_internal_hash_text(text ? text : "", hash * 31 + mark);
}

int hami_pair_token(const char *lock, const char *lease, char *buffer, size_t size)
{
    if (!buffer) {
        return HAMI_E_INVAL;
    }
    if (size < HAMI_PAIR_TOKEN_BYTES) {
        return HAMI_E_LIMIT;
    }
    (void)snprintf(buffer, size, "%016" PRIx64, hash_part(hash_part(0, lock), lease));
    return 0;
}

/* ---- the pair ---- */

static void forget_pairs(struct clearing *clearing)
{
    for (size_t i = 0; i < RECORDS; i++) {
        struct pair *pair = &clearing->pairs[i];
        hami_internal_memory_free(&hami_internal_memory_default, pair->lock);
        hami_internal_memory_free(&hami_internal_memory_default, pair->lease);
        pair->lock = pair->lease = NULL;
    }
}

static char *copy(struct clearing *clearing, const char *text)
{
    char *copied =
        text ? hami_internal_memory_text(&hami_internal_memory_default, text) : NULL;
    clearing->no_memory = clearing->no_memory || (text && !copied);
    return copied;
}

static void keep_pairs(void *data, const struct hami_transport_result *result)
{
    struct clearing *clearing = data;

    (void)snprintf(clearing->text, sizeof(clearing->text), "%s",
                   result->text ? result->text : "");
    for (size_t i = 0; i < RECORDS && result->code == 0 && result->values &&
                       result->value_count == 2 * RECORDS;
         i++) {
        clearing->pairs[i].lock = copy(clearing, result->values[2 * i]);
        clearing->pairs[i].lease = copy(clearing, result->values[2 * i + 1]);
    }
}

static int fail(struct clearing *clearing, int code, const char *what)
{
    return hami_internal_errors_set(clearing->error, code, "%s: %s", what,
                                    clearing->text[0] ? clearing->text
                                                      : hami_strerror(code));
}

/* Reads all records of the key as they stand now. */
static int read_pairs(struct clearing *clearing)
{
    struct hami_transport_edit edits[2 * RECORDS];

    for (size_t i = 0; i < RECORDS; i++) {
        const struct pair *pair = &clearing->pairs[i];
        edits[2 * i] = (struct hami_transport_edit){.key = pair->lock_key};
        edits[2 * i + 1] = (struct hami_transport_edit){.key = pair->lease_key};
    }
    forget_pairs(clearing);
    clearing->text[0] = '\0';
    int code =
        hami_transport_call(clearing->transport, clearing->asked.node, edits, 2 * RECORDS,
                            NULL, clearing->asked.timeout_ms, keep_pairs, clearing);
    if (code == HAMI_E_IN_DOUBT) {
        code = HAMI_E_TRANSPORT; /* a read leaves nothing in doubt */
    }
    if (code == 0 && clearing->no_memory) {
        code = HAMI_E_NOMEM;
    }
    return code == 0 ? 0 : fail(clearing, code, "the lock could not be read");
}

/* True if the pair that was read is the token's; else the error says what stands. */
static bool is_expected(struct clearing *clearing)
{
    char token[HAMI_PAIR_TOKEN_BYTES];

    if (!clearing->pair->lock || !clearing->pair->lock[0]) {
        (void)hami_internal_errors_set(
            clearing->error, HAMI_E_LOST,
            "node %s is not locked under this key: nothing was written",
            clearing->asked.node);
        return false;
    }
    (void)hami_pair_token(clearing->pair->lock, clearing->pair->lease, token,
                          sizeof(token));
    if (strcmp(token, clearing->asked.token) != 0) {
        (void)hami_internal_errors_set(
            clearing->error, HAMI_E_LOST,
            "node %s has another lock by now, '%.300s', its token is %s: nothing was "
            "written",
            clearing->asked.node, clearing->pair->lock, token);
        return false;
    }
    return true;
}

/* ---- the owner ---- */

static void judge(void *data, int code, const struct hami_owner_facts *facts,
                  const char *text)
{
    struct clearing *clearing = data;
    const struct hami_lock_record *record = &clearing->record;

    (void)snprintf(clearing->text, sizeof(clearing->text), "%s", text);
    if ((code != 0 && code != HAMI_E_HELD) || !facts || !facts->known) {
        return;
    }
    clearing->known = true;
    /* A lock without a lease is whose that has the name now. */
    const char *uid = record->uid[0] ? record->uid : facts->uid;
    (void)snprintf(clearing->uid, sizeof(clearing->uid), "%s", uid ? uid : "");
    clearing->verdict =
        hami_internal_protocol_release(facts, clearing->uid, clearing->asked.node,
                                       record->fence, clearing->revoked && code == 0);
}

/* Inspects the owner, or revokes its Bindings; 0 with the verdict of what was learned. */
static int ask(struct clearing *clearing, const char *revocation)
{
    struct hami_owner owner = {clearing->record.namespace_name, clearing->record.name,
                               clearing->uid[0] ? clearing->uid : clearing->record.uid};

    clearing->verdict = RELEASE_REVOKE;
    clearing->revoked = revocation != NULL;
    clearing->known = false;
    clearing->text[0] = '\0';
    const struct hami_internal_question question = {
        clearing->asked.node, &owner, revocation, clearing->asked.timeout_ms};
    int code =
        hami_internal_single_owner(clearing->transport, &question, judge, clearing);
    if (clearing->known && (code == 0 || (code == HAMI_E_HELD && revocation))) {
        return 0;
    }
    if (code == 0 || code == HAMI_E_HELD || (code == HAMI_E_IN_DOUBT && !revocation)) {
        code = HAMI_E_TRANSPORT;
    }
    return fail(clearing, code,
                revocation ? "the owner's binding could not be revoked"
                           : "the owner's pod could not be read");
}

static int revoke(struct clearing *clearing)
{
    char text[HAMI_NODELOCK_NODE_MAX + 400];
    uint64_t random = 0;

    /* A revocation differs from each one before: the same bytes would change nothing. */
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return hami_internal_errors_set(clearing->error, HAMI_E_NOMEM,
                                        "no random number: %s", strerror(errno));
    }
    (void)snprintf(text, sizeof(text), "%s,%" PRIu64 ",%s_%016" PRIx64 ",1",
                   clearing->asked.node, clearing->record.fence, clearing->asked.holder,
                   random);
    int code = ask(clearing, text);
    if (code == 0 && clearing->verdict == RELEASE_REVOKE) {
        return hami_internal_errors_set(
            clearing->error, HAMI_E_PROTO,
            "the owner's binding could not be revoked: its pod changed meanwhile");
    }
    return code;
}

/* 0 where the lock may be removed. */
static int settle_owner(struct clearing *clearing)
{
    const struct hami_lock_record *record = &clearing->record;
    int code;

    if (record->kind != HAMI_LOCK_OWNED || !clearing->transport->inspect ||
        !hami_internal_names_is_label(record->namespace_name) ||
        !hami_internal_names_is_subdomain(record->name)) {
        return 0; /* nobody to ask: the caller has judged it */
    }
    code = ask(clearing, NULL);
    if (code == 0 && clearing->verdict == RELEASE_REVOKE && clearing->transport->revoke) {
        code = revoke(clearing);
    }
    if (code == 0 && clearing->verdict == RELEASE_HAND_OFF &&
        !(clearing->asked.flags & HAMI_CLEAR_BOUND_OWNERS)) {
        return hami_internal_errors_set(
            clearing->error, HAMI_E_HELD,
            "pod %s/%s is bound to node %s and waits for Allocate under this lock: "
            "nothing was written",
            record->namespace_name, record->name, clearing->asked.node);
    }
    return code;
}

/* ---- the write ---- */

static void keep_text(void *data, const struct hami_transport_result *result)
{
    struct clearing *clearing = data;

    (void)snprintf(clearing->text, sizeof(clearing->text), "%s",
                   result->text ? result->text : "");
}

/* The write was refused, or not answered: what stands now? */
static int look_again(struct clearing *clearing, int code)
{
    if (read_pairs(clearing) < 0) {
        return code == HAMI_E_IN_DOUBT
                   ? hami_internal_errors_set(clearing->error, code,
                                              "the release was sent and not answered")
                   : hami_internal_errors_set(
                         clearing->error, HAMI_E_LOST,
                         "the lock was changed meanwhile: nothing was written");
    }
    if (!clearing->pair->lock || !clearing->pair->lock[0]) {
        return 0;
    }
    if (!is_expected(clearing)) {
        return HAMI_E_LOST;
    }
    return hami_internal_errors_set(
        clearing->error, code == HAMI_E_HELD ? HAMI_E_PROTO : code,
        "the release was %s, and the lock still stands: look again",
        code == HAMI_E_HELD ? "refused" : "sent and not answered");
}

/* ---- the records beside ---- */

static bool is_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool parse(const struct pair *pair, struct hami_lock_record *ret)
{
    *ret = (struct hami_lock_record)HAMI_LOCK_RECORD_INIT;
    return hami_lock_record_parse(pair->lock, pair->lease, ret) == 0 &&
           ret->kind != HAMI_LOCK_FREE;
}

/* Of the pods beside that hold a permit, but for the one that is cleared, the one of the
 * highest fence. (Permits without calls are those of config.permits, which have no cover.)
 */
static const struct pair *latest_beside(const struct clearing *clearing)
{
    const struct pair *latest = NULL;
    uint64_t fence = 0;

    for (size_t i = 1; i < RECORDS; i++) {
        const struct pair *pair = &clearing->pairs[i];
        struct hami_lock_record record;
        if (pair != clearing->pair && parse(pair, &record) && record.calls[0] &&
            (!latest || record.fence > fence)) {
            latest = pair;
            fence = record.fence;
        }
    }
    return latest;
}

/* A cover stands for pods that are in flight: it is not cleared without them. */
static int check_cover(struct clearing *clearing)
{
    const struct pair *beside = latest_beside(clearing);

    if (clearing->asked.permit > 0 || !clearing->record.calls[0] || !beside) {
        return 0;
    }
    return hami_internal_errors_set(
        clearing->error, HAMI_E_HELD,
        "this lock only says that pods are in flight side by side on node %s: release "
        "what each of them holds, such as %s ('%.300s'); nothing was written",
        clearing->asked.node, beside->lock_key, beside->lock);
}

/* ---- the removal ---- */

/* The edits of one write, and room for what they put. */
struct removal {
    struct hami_transport_edit edits[6];
    size_t count;
    char memories[2][64];
};

static void add_edits(struct removal *removal, enum hami_edit_action action,
                      const struct pair *pair, const char *lock, const char *lease)
{
    struct hami_transport_edit *edits = &removal->edits[removal->count];

    edits[0] = (struct hami_transport_edit){action, pair->lock_key, pair->lock, lock};
    edits[1] = (struct hami_transport_edit){action, pair->lease_key, pair->lease, lease};
    if (!pair->lease && !lease) {
        edits[1].action = HAMI_EDIT_TEST;
    }
    removal->count += 2;
}

/* The lock goes; what is left is the memory of the fence, if there was one. */
static void add_freed(struct removal *removal, const struct pair *pair, uint64_t fence,
                      char *memory)
{
    (void)hami_lease_memory_format(fence, memory, sizeof(removal->memories[0]));
    add_edits(removal, HAMI_EDIT_PUT, pair, NULL, fence != 0 ? memory : NULL);
}

/* What becomes of the cover when a permit goes. */
static void add_cover(struct removal *removal, const struct clearing *clearing,
                      const struct pair *beside)
{
    const struct pair *cover = &clearing->pairs[0];
    struct hami_lock_record record;
    bool is_held = parse(cover, &record);
    bool is_own = is_held && is_same(cover->lock, clearing->pair->lock) &&
                  is_same(cover->lease, clearing->pair->lease);
    uint64_t fence = record.last_fence > clearing->record.last_fence
                         ? record.last_fence
                         : clearing->record.last_fence;

    if (is_own && beside) {
        add_edits(removal, HAMI_EDIT_PUT, cover, beside->lock, beside->lease);
        add_edits(removal, HAMI_EDIT_TEST, beside, NULL, NULL);
    } else if (is_own || (is_held && record.calls[0] && !beside)) {
        add_freed(removal, cover, fence, removal->memories[0]);
    } else {
        add_edits(removal, HAMI_EDIT_TEST, cover, NULL, NULL);
    }
}

static int remove_pair(struct clearing *clearing)
{
    struct removal removal = {.count = 0};
    const struct pair *beside = latest_beside(clearing);

    if (clearing->asked.permit > 0) {
        add_cover(&removal, clearing, beside);
    }
    if (clearing->asked.permit == 0 && beside) {
        add_edits(&removal, HAMI_EDIT_PUT, clearing->pair, beside->lock, beside->lease);
        add_edits(&removal, HAMI_EDIT_TEST, beside, NULL, NULL);
    } else {
        add_freed(&removal, clearing->pair, clearing->record.last_fence,
                  removal.memories[1]);
    }
    clearing->text[0] = '\0';
    int code = hami_transport_call(clearing->transport, clearing->asked.node,
                                   removal.edits, removal.count, NULL,
                                   clearing->asked.timeout_ms, keep_text, clearing);
    if (code == HAMI_E_HELD || code == HAMI_E_IN_DOUBT) {
        return look_again(clearing, code);
    }
    return code == 0 ? 0 : fail(clearing, code, "the lock could not be removed");
}

/* ---- public ---- */

static int name_pairs(struct clearing *clearing)
{
    char lease_key[HAMI_NODELOCK_KEY_MAX + 7];
    int code = hami_lease_key(clearing->asked.key, lease_key, sizeof(lease_key));

    for (unsigned i = 0; i < RECORDS && code == 0; i++) {
        struct pair *pair = &clearing->pairs[i];
        char suffix[12] = "";
        if (i > 0) {
            (void)snprintf(suffix, sizeof(suffix), ".%u", i);
        }
        int lock = snprintf(pair->lock_key, sizeof(pair->lock_key), "%s%s",
                            clearing->asked.key, suffix);
        int lease =
            snprintf(pair->lease_key, sizeof(pair->lease_key), "%s%s", lease_key, suffix);
        if (lock < 0 || (size_t)lock >= sizeof(pair->lock_key) || lease < 0 ||
            (size_t)lease >= sizeof(pair->lease_key)) {
            code = HAMI_E_LIMIT;
        }
    }
    return code;
}

static int check(struct clearing *clearing)
{
    struct hami_clear *asked = &clearing->asked;

    asked->key = asked->key ? asked->key : HAMI_NODELOCK_KEY;
    asked->holder = asked->holder ? asked->holder : "by-hand";
    asked->timeout_ms = asked->timeout_ms ? asked->timeout_ms : TIMEOUT_MS;
    if (!hami_internal_config_is_transport(clearing->transport) || !asked->node ||
        !hami_internal_names_is_subdomain(asked->node) || !asked->token ||
        !hami_internal_names_is_key(asked->key) ||
        !hami_internal_names_is_subdomain(asked->holder) ||
        asked->timeout_ms > TIMEOUT_MS_MAX ||
        asked->permit > HAMI_NODELOCK_SIDE_BY_SIDE_MAX ||
        (asked->flags & ~(uint32_t)HAMI_CLEAR_BOUND_OWNERS)) {
        return hami_internal_errors_set(
            clearing->error, HAMI_E_INVAL,
            "a transport, a node's name, a lock key and a token are required");
    }
    clearing->pair = &clearing->pairs[asked->permit];
    return name_pairs(clearing);
}

int hami_transport_clear(struct hami_transport *transport, const struct hami_clear *clear,
                         struct hami_error *reterr)
{
    struct clearing clearing = {.transport = transport, .error = reterr};
    const struct hami_lock_record empty = HAMI_LOCK_RECORD_INIT;

    if (!clear) {
        return hami_internal_errors_set(reterr, HAMI_E_INVAL, "nothing is asked");
    }
    int code = hami_internal_errors_read_struct(&clearing.asked, sizeof(clearing.asked),
                                                clear, sizeof(size_t));
    if (code < 0) {
        return hami_internal_errors_set(reterr, code, "%s", hami_strerror(code));
    }
    code = check(&clearing);
    code = code < 0 ? code : read_pairs(&clearing);
    if (code == 0 && !is_expected(&clearing)) {
        code = HAMI_E_LOST;
    }
    if (code == 0) {
        clearing.record = empty;
        (void)hami_lock_record_parse(clearing.pair->lock, clearing.pair->lease,
                                     &clearing.record);
        code = check_cover(&clearing);
        code = code < 0 ? code : settle_owner(&clearing);
    }
    code = code < 0 ? code : remove_pair(&clearing);
    forget_pairs(&clearing);
    return code;
}
