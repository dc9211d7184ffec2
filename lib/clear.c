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

struct clearing {
    struct hami_transport *transport;
    struct hami_clear asked;
    struct hami_error *error;
    char lease_key[HAMI_NODELOCK_KEY_MAX + 8];
    char *lock, *lease; /* the pair as read; NULL = absent */
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

static void forget_pair(struct clearing *clearing)
{
    hami_internal_memory_free(&hami_internal_memory_default, clearing->lock);
    hami_internal_memory_free(&hami_internal_memory_default, clearing->lease);
    clearing->lock = clearing->lease = NULL;
}

static char *copy(struct clearing *clearing, const char *text)
{
    char *copied =
        text ? hami_internal_memory_text(&hami_internal_memory_default, text) : NULL;
    clearing->no_memory = clearing->no_memory || (text && !copied);
    return copied;
}

static void keep_pair(void *data, const struct hami_transport_result *result)
{
    struct clearing *clearing = data;

    (void)snprintf(clearing->text, sizeof(clearing->text), "%s",
                   result->text ? result->text : "");
    if (result->code == 0 && result->values && result->value_count == 2) {
        clearing->lock = copy(clearing, result->values[0]);
        clearing->lease = copy(clearing, result->values[1]);
    }
}

static int fail(struct clearing *clearing, int code, const char *what)
{
    return hami_internal_errors_set(clearing->error, code, "%s: %s", what,
                                    clearing->text[0] ? clearing->text
                                                      : hami_strerror(code));
}

/* Reads the pair as it stands now. */
static int read_pair(struct clearing *clearing)
{
    const struct hami_transport_edit edits[] = {
        {.action = HAMI_EDIT_READ, .key = clearing->asked.key},
        {.action = HAMI_EDIT_READ, .key = clearing->lease_key},
    };
    forget_pair(clearing);
    clearing->text[0] = '\0';
    int code = hami_transport_call(clearing->transport, clearing->asked.node, edits, 2,
                                   NULL, clearing->asked.timeout_ms, keep_pair, clearing);
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

    if (!clearing->lock || !clearing->lock[0]) {
        (void)hami_internal_errors_set(
            clearing->error, HAMI_E_LOST,
            "node %s is not locked under this key: nothing was written",
            clearing->asked.node);
        return false;
    }
    (void)hami_pair_token(clearing->lock, clearing->lease, token, sizeof(token));
    if (strcmp(token, clearing->asked.token) != 0) {
        (void)hami_internal_errors_set(
            clearing->error, HAMI_E_LOST,
            "node %s has another lock by now, '%.300s', its token is %s: nothing was "
            "written",
            clearing->asked.node, clearing->lock, token);
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
    if (read_pair(clearing) < 0) {
        return code == HAMI_E_IN_DOUBT
                   ? hami_internal_errors_set(clearing->error, code,
                                              "the release was sent and not answered")
                   : hami_internal_errors_set(
                         clearing->error, HAMI_E_LOST,
                         "the lock was changed meanwhile: nothing was written");
    }
    if (!clearing->lock || !clearing->lock[0]) {
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

static int remove_pair(struct clearing *clearing)
{
    char memory[64];
    bool remembers = clearing->record.last_fence != 0;

    (void)hami_lease_memory_format(clearing->record.last_fence, memory, sizeof(memory));
    const struct hami_transport_edit edits[] = {
        {HAMI_EDIT_PUT, clearing->asked.key, clearing->lock, NULL},
        {clearing->lease || remembers ? HAMI_EDIT_PUT : HAMI_EDIT_TEST,
         clearing->lease_key, clearing->lease, remembers ? memory : NULL},
    };
    clearing->text[0] = '\0';
    int code = hami_transport_call(clearing->transport, clearing->asked.node, edits, 2,
                                   NULL, clearing->asked.timeout_ms, keep_text, clearing);
    if (code == HAMI_E_HELD || code == HAMI_E_IN_DOUBT) {
        return look_again(clearing, code);
    }
    return code == 0 ? 0 : fail(clearing, code, "the lock could not be removed");
}

/* ---- public ---- */

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
        (asked->flags & ~(uint32_t)HAMI_CLEAR_BOUND_OWNERS)) {
        return hami_internal_errors_set(
            clearing->error, HAMI_E_INVAL,
            "a transport, a node's name, a lock key and a token are required");
    }
    return hami_lease_key(asked->key, clearing->lease_key, sizeof(clearing->lease_key));
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
    code = code < 0 ? code : read_pair(&clearing);
    if (code == 0 && !is_expected(&clearing)) {
        code = HAMI_E_LOST;
    }
    if (code == 0) {
        clearing.record = empty;
        (void)hami_lock_record_parse(clearing.lock, clearing.lease, &clearing.record);
        code = settle_owner(&clearing);
    }
    code = code < 0 ? code : remove_pair(&clearing);
    forget_pair(&clearing);
    return code;
}
