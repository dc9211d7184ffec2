/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The contract suite for the memory transport: with owners, and without. */
#include "contract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hami/memory.h>

static void open_with(struct contract *contract, uint32_t flags)
{
    hami_memory *memory = NULL;
    ck_assert_int_eq(hami_memory_new(flags, &memory), 0);
    contract->data = memory;
}

static void open_plain(struct contract *contract)
{
    open_with(contract, 0);
}

static void open_owners(struct contract *contract)
{
    open_with(contract, HAMI_MEMORY_OWNERS);
}

static void close_store(struct contract *contract)
{
    contract->data = hami_memory_free(contract->data);
}

static struct hami_transport *transport_new(struct contract *contract)
{
    return hami_memory_transport(contract->data);
}

static void transport_free(struct contract *contract, struct hami_transport *transport)
{
    (void)contract;
    (void)transport; /* the store's own */
}

static void node_make(struct contract *contract, const char *node)
{
    (void)contract;
    (void)node; /* exists from its first value on */
}

static void node_delete(struct contract *contract, const char *node)
{
    int code = hami_memory_delete(contract->data, node);
    ck_assert(code == 0 || code == HAMI_E_NODE);
}

static void put(struct contract *contract, const char *node, const char *key,
                const char *value)
{
    if (hami_memory_put(contract->data, node, key, value) != 0) {
        abort();
    }
}

static char *get(struct contract *contract, const char *node, const char *key)
{
    char buffer[8192];
    int code = hami_memory_get(contract->data, node, key, buffer, sizeof(buffer));
    return code == 0 ? strdup(buffer) : NULL;
}

/* What is so of an owner that nothing has happened to. */
static void describe(const struct contract_owner *owner, struct hami_owner_facts *facts)
{
    struct hami_owner_facts plain = HAMI_OWNER_FACTS_INIT;
    *facts = plain;
    facts->known = true;
    facts->exists = true;
    facts->uid = owner->uid;
}

static void owner_make(struct contract *contract, struct contract_owner *owner)
{
    struct hami_owner_facts facts;
    snprintf(owner->uid, sizeof(owner->uid), "uid-of-%.100s", owner->name);
    describe(owner, &facts);
    ck_assert_int_eq(hami_memory_put_owner(contract->data, &owner->owner, &facts), 0);
}

struct read {
    struct hami_owner_facts facts;
    char node[CONTRACT_NAME];
    char revoked[1024];
};

static void receive(void *data, int code, const struct hami_owner_facts *facts)
{
    struct read *read = data;
    if (code == 0) {
        read->facts = *facts;
        snprintf(read->node, sizeof(read->node), "%s", facts->node ? facts->node : "");
        snprintf(read->revoked, sizeof(read->revoked), "%s",
                 facts->revoked ? facts->revoked : "");
    }
}

static void read_owner(struct contract *contract, const struct contract_owner *owner,
                       struct read *ret)
{
    memset(ret, 0, sizeof(*ret));
    ck_assert_int_eq(hami_transport_call_owner(contract->transport, "any", &owner->owner,
                                               NULL, 5000, receive, ret),
                     0);
}

static void owner_set(struct contract *contract, struct contract_owner *owner,
                      enum contract_state state)
{
    struct hami_owner_facts facts;
    struct read now;
    read_owner(contract, owner, &now);
    describe(owner, &facts);
    facts.node = now.node[0] ? now.node : NULL;
    switch (state) {
    case CONTRACT_STARTED:
        facts.started = true;
        break;
    case CONTRACT_FINISHED:
        facts.finished = true;
        break;
    case CONTRACT_DELETING:
        facts.deleting = true;
        break;
    case CONTRACT_GONE:
        facts.exists = false;
        break;
    case CONTRACT_REPLACED:
        facts.uid = "uid-of-another";
        facts.node = NULL;
        break;
    case CONTRACT_ANNOTATED:
        facts.fence = CONTRACT_FENCE;
        facts.done = CONTRACT_DONE;
        facts.devices_left = true;
        facts.bind_phase = HAMI_BIND_PHASE_SUCCESS;
        facts.assigned_node = CONTRACT_ASSIGNED;
        break;
    }
    ck_assert_int_eq(hami_memory_put_owner(contract->data, &owner->owner, &facts), 0);
}

static bool owner_bind(struct contract *contract, const struct contract_owner *owner,
                       const char *node, const char *version)
{
    int code = hami_memory_bind_owner(contract->data, &owner->owner, node, version);
    if (code != 0 && code != HAMI_E_LOST) {
        abort();
    }
    return code == 0;
}

static char *owner_revoked(struct contract *contract, const struct contract_owner *owner)
{
    struct read now;
    read_owner(contract, owner, &now);
    return now.revoked[0] ? strdup(now.revoked) : NULL;
}

#define MEMORY_COMMON                                                                    \
    .close = close_store, .transport_new = transport_new,                                \
    .transport_free = transport_free, .node_make = node_make,                            \
    .node_delete = node_delete, .put = put, .get = get

static const struct contract_backend plain = {
    .name = "memory",
    .capabilities = CONTRACT_WATCH,
    .open = open_plain,
    MEMORY_COMMON,
};

static const struct contract_backend owners = {
    .name = "memory with owners",
    .capabilities = CONTRACT_WATCH | CONTRACT_OWNERS,
    .open = open_owners,
    MEMORY_COMMON,
    .owner_make = owner_make,
    .owner_set = owner_set,
    .owner_bind = owner_bind,
    .owner_revoked = owner_revoked,
};

int main(int count, char **arguments)
{
    bool with_owners = count > 1 && strcmp(arguments[1], "owners") == 0;
    return contract_run(with_owners ? &owners : &plain);
}
