/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all groups of the contract suite share: the fixture, names, one call with its
 * answer copied, and the assembly of the suite. Used by the test thread alone, but for
 * contract_call_on().
 */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_MS 20000
#define NODES_MAX 64

struct contract contract_now;
static const struct contract_backend *running;
static char node_names[NODES_MAX][CONTRACT_NAME];
static bool node_made[NODES_MAX];

uint64_t contract_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- fixture ---- */

void contract_further(struct contract_shim *shim)
{
    struct hami_transport *inner = contract_now.backend->transport_new(&contract_now);
    ck_assert_ptr_nonnull(inner);
    contract_shim_init(shim, inner);
}

void contract_further_done(struct contract_shim *shim)
{
    contract_now.backend->transport_free(&contract_now, shim->inner);
    contract_shim_done(shim);
}

static void set_up(void)
{
    memset(&contract_now, 0, sizeof(contract_now));
    contract_now.backend = running;
    if (running->open) {
        running->open(&contract_now);
    }
    contract_further(&contract_now.shim);
    contract_now.transport = &contract_now.shim.transport;
}

static void tear_down(void)
{
    ck_assert_msg(contract_stray_completions() == 0, "a call was completed twice");
    for (unsigned i = 0; i < contract_now.node_count; i++) {
        if (node_made[i]) {
            running->node_delete(&contract_now, node_names[i]);
        }
    }
    contract_further_done(&contract_now.shim);
    if (running->close) {
        running->close(&contract_now);
    }
}

const char *contract_node_name(void)
{
    ck_assert_uint_lt(contract_now.node_count, NODES_MAX);
    unsigned index = contract_now.node_count++;
    snprintf(node_names[index], CONTRACT_NAME, "node-%u.contract-%d-%llx", index,
             (int)getpid(), (unsigned long long)contract_clock());
    node_made[index] = false;
    return node_names[index];
}

const char *contract_node(void)
{
    const char *node = contract_node_name();
    contract_now.backend->node_make(&contract_now, node);
    node_made[contract_now.node_count - 1] = true;
    return node;
}

void contract_owner(struct contract_owner *owner)
{
    memset(owner, 0, sizeof(*owner));
    snprintf(owner->namespace_name, sizeof(owner->namespace_name), "default");
    snprintf(owner->name, sizeof(owner->name), "pod-%u.contract-%d-%llx",
             contract_now.owner_count++, (int)getpid(),
             (unsigned long long)contract_clock());
    owner->owner.namespace_name = owner->namespace_name;
    owner->owner.name = owner->name;
    owner->owner.uid = owner->uid;
    if (contract_now.backend->owner_make) {
        contract_now.backend->owner_make(&contract_now, owner);
    } else {
        snprintf(owner->uid, sizeof(owner->uid), "uid-of-%.100s", owner->name);
    }
    ck_assert_str_ne(owner->uid, "");
}

/* ---- one call ---- */

static char *copy(const char *text)
{
    char *to = text ? strdup(text) : NULL;
    if (text && !to) {
        abort();
    }
    return to;
}

void contract_answer_done(struct contract_answer *answer)
{
    for (size_t i = 0; i < answer->value_count; i++) {
        free(answer->values[i]);
    }
    memset(answer, 0, sizeof(*answer));
}

static void receive(void *data, const struct hami_transport_result *result)
{
    struct contract_answer *answer = data;
    answer->received++;
    answer->code = result->code;
    answer->has_values = result->values != NULL;
    answer->server_time_us = result->server_time_us;
    snprintf(answer->version, sizeof(answer->version), "%s",
             result->version ? result->version : "");
    if (!result->values) {
        return;
    }
    answer->value_count =
        result->value_count < CONTRACT_VALUES ? result->value_count : CONTRACT_VALUES;
    for (size_t i = 0; i < answer->value_count; i++) {
        answer->values[i] = copy(result->values[i]);
    }
}

int contract_call_on(struct hami_transport *transport, const char *node,
                     const struct hami_transport_edit *edits, size_t count,
                     const char *version, uint64_t timeout_ms,
                     struct contract_answer *answer)
{
    contract_answer_done(answer);
    uint64_t begun = contract_clock();
    int code = hami_transport_call(transport, node, edits, count, version, timeout_ms,
                                   receive, answer);
    answer->elapsed_ns = contract_clock() - begun;
    answer->code = code;
    return code;
}

int contract_call(const char *node, const struct hami_transport_edit *edits, size_t count,
                  const char *version, struct contract_answer *answer)
{
    int code = contract_call_on(contract_now.transport, node, edits, count, version,
                                PATIENCE_MS, answer);
    if (code == 0) {
        ck_assert_msg(answer->has_values, "an answer of 0 brings the values");
        ck_assert_uint_eq(answer->value_count, count);
    } else if (answer->has_values) {
        ck_assert_uint_eq(answer->value_count, count);
    }
    ck_assert_uint_le(answer->received, 1);
    return code;
}

static void assert_same(const char *have, const char *expect, const char *where)
{
    if (!expect) {
        ck_assert_msg(!have, "%s: wanted nothing, found '%s'", where, have);
    } else {
        ck_assert_msg(have && strcmp(have, expect) == 0, "%s: wanted '%s', found '%s'",
                      where, expect, have ? have : "(nothing)");
    }
}

void contract_assert_value(const struct contract_answer *answer, size_t index,
                           const char *expect)
{
    ck_assert(answer->has_values);
    ck_assert_uint_lt(index, answer->value_count);
    assert_same(answer->values[index], expect, "answer");
}

void contract_assert_stored(const char *node, const char *key, const char *expect)
{
    char *have = contract_now.backend->get(&contract_now, node, key);
    assert_same(have, expect, key);
    free(have);
}

bool contract_wait_stored(const char *node, const char *key, const char *expect)
{
    uint64_t until = contract_clock() + UINT64_C(10000000000);
    bool found = false;
    while (!found && contract_clock() < until) {
        char *have = contract_now.backend->get(&contract_now, node, key);
        found = expect ? have && strcmp(have, expect) == 0 : !have;
        free(have);
    }
    return found;
}

void contract_put(const char *node, const char *key, const char *value)
{
    contract_now.backend->put(&contract_now, node, key, value);
}

/* ---- owners ---- */

static const char *keep(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "");
    return text ? to : NULL;
}

static void receive_owner(void *data, int code, const struct hami_owner_facts *facts)
{
    struct contract_facts *to = data;
    to->received++;
    to->code = code;
    to->has_facts = facts != NULL;
    if (!facts) {
        return;
    }
    to->facts = *facts;
    to->facts.uid = keep(to->uid, sizeof(to->uid), facts->uid);
    to->facts.node = keep(to->node, sizeof(to->node), facts->node);
    to->facts.assigned_node =
        keep(to->assigned, sizeof(to->assigned), facts->assigned_node);
    to->facts.version = keep(to->version, sizeof(to->version), facts->version);
    to->facts.revoked = keep(to->revoked, sizeof(to->revoked), facts->revoked);
}

int contract_inspect(const char *node, const struct contract_owner *owner,
                     struct contract_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    int code = hami_transport_call_owner(contract_now.transport, node, &owner->owner,
                                         NULL, PATIENCE_MS, receive_owner, facts);
    if (code == 0) {
        ck_assert_uint_eq(facts->received, 1);
        ck_assert(facts->has_facts);
        ck_assert(facts->facts.known);
    }
    return code;
}

int contract_revoke(const char *node, const struct contract_owner *owner,
                    const char *text, struct contract_facts *facts)
{
    memset(facts, 0, sizeof(*facts));
    int code = hami_transport_call_owner(contract_now.transport, node, &owner->owner,
                                         text, PATIENCE_MS, receive_owner, facts);
    if (code == 0 || code == HAMI_E_HELD) {
        ck_assert_uint_eq(facts->received, 1);
        ck_assert_msg(facts->has_facts, "a revocation's answer brings the facts");
    }
    return code;
}

/* ---- the suite ---- */

TCase *contract_case(Suite *suite, const char *name)
{
    TCase *tests = tcase_create(name);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_set_timeout(tests, 60);
    suite_add_tcase(suite, tests);
    return tests;
}

int contract_run(const struct contract_backend *backend)
{
    const char *reason = NULL;
    running = backend;
    int code = backend->start ? backend->start(&reason) : 0;
    if (code == CONTRACT_SKIP) {
        printf("1..0 # SKIP %s\n", reason);
        return 0;
    }
    if (code != 0) {
        fprintf(stderr, "%s: %s\n", backend->name, reason);
        return 99;
    }
    Suite *suite = suite_create(backend->name);
    contract_add_edits(suite, backend);
    contract_add_beside(suite, backend);
    contract_add_versions(suite, backend);
    contract_add_answers(suite, backend);
    contract_add_rivals(suite, backend);
    if (backend->capabilities & CONTRACT_WATCH) {
        contract_add_watch(suite, backend);
    }
    if (backend->capabilities & CONTRACT_OWNERS) {
        contract_add_owners(suite, backend);
    }
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (backend->stop) {
        backend->stop();
    }
    return failed != 0;
}
