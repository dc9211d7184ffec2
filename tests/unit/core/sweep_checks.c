/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sweep.h: what is done to the manager, and what must hold meanwhile. The store is
 * the witness: who is told that he holds the lock is named there, and nobody who was
 * named before can still be bound under it.
 */
#include "sweep.h"

#include <stdio.h>
#include <string.h>

#define OTHER_KEY HAMI_NODELOCK_CAMBRICON_KEY
#define OTHER_LEASE_KEY "cambricon.com/dsmlu.lease"
#define END_MS 40000

struct sweep_holder sweep_holders[SWEEP_HOLDERS_MAX];

static size_t holder_count;
static enum sweep_way way;
static bool out_of_memory, with_owners;
static bool both_keys; /* of all holders of the scenario */
static bool beside;
static const char *rival_lock, *rival_lease; /* NULL = no rival waits */
static const char *const keys[] = {HAMI_NODELOCK_KEY, OTHER_KEY};
/* Records: of the two keys, then the permits of the first one. */
enum { RECORDS = 2 + HAMI_NODELOCK_SIDE_BY_SIDE_MAX };

void sweep_checks_start(enum sweep_way given, bool memory,
                        const struct sweep_scenario *scenario)
{
    memset(sweep_holders, 0, sizeof(sweep_holders));
    holder_count = 0;
    way = given;
    out_of_memory = memory;
    with_owners = scenario->owners;
    beside = scenario->beside;
    both_keys = false;
    rival_lock = rival_lease = NULL;
}

/* ---- the store ---- */

static struct hami_lock_record record_of(size_t index)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;
    char lock[HAMI_LOCK_VALUE_MAX] = "", lease[HAMI_LEASE_TEXT_MAX] = "";
    char lock_key[64], lease_key[64];

    (void)snprintf(lock_key, sizeof(lock_key), "%s", keys[index == 1]);
    (void)snprintf(lease_key, sizeof(lease_key), "%s",
                   index == 1 ? OTHER_LEASE_KEY : HAMI_NODELOCK_LEASE_KEY);
    if (index > 1) {
        (void)snprintf(lock_key, sizeof(lock_key), "%s.%zu", HAMI_NODELOCK_KEY,
                       index - 1);
        (void)snprintf(lease_key, sizeof(lease_key), "%s.%zu", HAMI_NODELOCK_LEASE_KEY,
                       index - 1);
    }
    (void)hami_memory_get(scripted_store, SWEEP_NODE, lock_key, lock, sizeof(lock));
    (void)hami_memory_get(scripted_store, SWEEP_NODE, lease_key, lease, sizeof(lease));
    ck_assert_int_eq(hami_lock_record_parse(lock, lease, &record), 0);
    return record;
}

static bool names(size_t index, const struct sweep_holder *holder)
{
    struct hami_lock_record record = record_of(index);

    return record.kind == HAMI_LOCK_OWNED && record.has_lease &&
           strcmp(record.name, holder->name) == 0 && record.fence >= holder->fence;
}

static bool is_named(const struct sweep_holder *holder)
{
    bool found = names(0, holder) && (!beside || !record_of(0).calls[0]);

    for (size_t i = 2; beside && !found && i < RECORDS; i++) {
        found = names(i, holder);
    }
    return found && (!both_keys || names(1, holder));
}

static bool is_free(void)
{
    bool is_so = true;

    for (size_t i = 0; i < RECORDS && is_so; i++) {
        is_so = record_of(i).kind == HAMI_LOCK_FREE;
    }
    return is_so;
}

static bool is_served(const char *name)
{
    bool served = false;

    for (size_t i = 0; i < SWEEP_HOLDERS_MAX; i++) {
        const struct sweep_holder *one = &sweep_holders[i];
        served = served || (one->served && strcmp(one->name, name) == 0);
    }
    return served;
}

/* While somebody is in flight beside others the cover is held, as far as others look. */
static void check_cover(void)
{
    bool held = false;

    for (size_t i = 2; i < RECORDS; i++) {
        struct hami_lock_record record = record_of(i);
        held = held || (record.kind != HAMI_LOCK_FREE && !is_served(record.name));
    }
    SWEEP_CHECK(!held || record_of(0).kind != HAMI_LOCK_FREE,
                "the cover is free while a permit is held");
}

static void keep_facts(void *data, int code, const struct hami_owner_facts *facts)
{
    struct hami_owner_facts *copy = data;

    ck_assert_int_eq(code, 0);
    copy->exists = facts->exists;
    copy->started = facts->started;
    copy->bind_phase = facts->bind_phase;
    copy->devices_left = facts->node != NULL; /* is bound */
}

/* exists, started, and in devices_left whether it is bound. */
static struct hami_owner_facts facts_of(const char *name)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[64];
    struct hami_owner owner = {"default", name, uid};

    (void)snprintf(uid, sizeof(uid), "uid-%s", name);
    ck_assert_int_eq(hami_transport_call_owner(hami_memory_transport(scripted_store),
                                               SWEEP_NODE, &owner, NULL, 1000, keep_facts,
                                               &facts),
                     0);
    return facts;
}

static int bind_pod(const struct sweep_holder *holder)
{
    char uid[64];
    struct hami_owner owner = {"default", holder->name, uid};

    (void)snprintf(uid, sizeof(uid), "uid-%s", holder->name);
    return hami_memory_bind_owner(scripted_store, &owner, SWEEP_NODE,
                                  holder->version[0] ? holder->version : NULL);
}

/* ---- after each step ---- */

static bool is_held(const struct sweep_holder *holder)
{
    return holder->wait.ended && holder->wait.code == 0 && !holder->releasing &&
           !holder->handed_off;
}

/* Another one is told that the lock is his: whoever had it before can do nothing more
 * under it. */
static void check_former(const struct sweep_holder *now,
                         const struct sweep_holder *former)
{
    bool are_distinct =
        former->calls && now->calls && strcmp(former->calls, now->calls) != 0;

    if (strcmp(former->name, now->name) == 0 || are_distinct) {
        return;
    }
    SWEEP_CHECK(now->fence > former->fence, "the fence went back");
    SWEEP_CHECK(!is_held(former), "%s and %s hold the lock at a time", former->name,
                now->name);
    if (with_owners) {
        struct hami_owner_facts facts = facts_of(former->name);
        bool is_bound = facts.devices_left;
        SWEEP_CHECK(!facts.exists || !is_bound || facts.started || former->served,
                    "%s was robbed while it waited for Allocate", former->name);
        SWEEP_CHECK(!facts.exists || is_bound || bind_pod(former) == HAMI_E_LOST,
                    "%s could still be bound under its former lock", former->name);
    }
}

static void check_grant(struct sweep_holder *holder)
{
    struct hami_lease_view view = HAMI_LEASE_VIEW_INIT;

    ck_assert_int_eq(hami_lease_facts(holder->wait.lease, &view), 0);
    holder->fence = view.fence;
    (void)snprintf(holder->version, sizeof(holder->version), "%s",
                   view.owner_version ? view.owner_version : "");
    SWEEP_CHECK(is_named(holder), "%s holds a lock that is not in the store",
                holder->name);
    for (size_t i = 0; i < holder_count; i++) {
        if (&sweep_holders[i] != holder && sweep_holders[i].fence != 0) {
            check_former(holder, &sweep_holders[i]);
        }
    }
}

static void rival_takes(void)
{
    if (rival_lock && is_free()) {
        const char *lock = rival_lock;
        rival_lock = NULL;
        ck_assert_int_eq(hami_memory_put(scripted_store, SWEEP_NODE,
                                         HAMI_NODELOCK_LEASE_KEY, rival_lease),
                         0);
        ck_assert_int_eq(
            hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_KEY, lock), 0);
    }
}

void sweep_check_step(void)
{
    rival_takes();
    if (beside) {
        check_cover();
    }
    for (size_t i = 0; i < holder_count; i++) {
        struct sweep_holder *holder = &sweep_holders[i];
        if (holder->wait.ended && holder->wait.code == 0 && holder->fence == 0) {
            check_grant(holder);
        }
        SWEEP_CHECK(!is_held(holder) || is_named(holder),
                    "the lock of %s vanished while it was held", holder->name);
    }
    SWEEP_CHECK(scripted_lost == 0 || way == SWEEP_NODE_GONE,
                "a holder was told that its lock is lost");
}

/* ---- what is done ---- */

static void acquired(void *data, int code, hami_lease *lease,
                     const struct hami_error *error)
{
    struct sweep_holder *holder = data;

    SWEEP_CHECK(!holder->wait.ended, "the callback came twice");
    ck_assert((code == 0) == (lease != NULL));
    holder->wait.ended = true;
    holder->wait.code = code;
    holder->wait.lease = lease;
    (void)snprintf(holder->wait.text, sizeof(holder->wait.text), "%s", error->text);
}

static const char *calls_of(const char *name)
{
    return !beside || name[0] == 'z' ? NULL
           : name[0] == 'b'          ? "nvidia.com/gpu=2"
                                     : "nvidia.com/gpu=1";
}

struct sweep_holder *sweep_acquire(const char *name, bool both, uint64_t ms)
{
    struct hami_nodelock_request request;
    struct sweep_holder *holder = &sweep_holders[holder_count];

    ck_assert_uint_lt(holder_count, SWEEP_HOLDERS_MAX);
    holder_count++;
    both_keys = both;
    *holder = (struct sweep_holder){.name = name, .calls = calls_of(name)};
    scripted_request(&request, SWEEP_NODE, name);
    request.calls = holder->calls;
    request.keys = both ? keys : NULL;
    request.key_count = both ? 2 : 0;
    request.deadline_ns = scripted_now_ns + ms * MS;
    int code = hami_nodelock_acquire_start(scripted_lock, &request, acquired, holder,
                                           &holder->wait.wait);
    if (code < 0) {
        SWEEP_CHECK(out_of_memory && code == HAMI_E_NOMEM, "%s", hami_errname(code));
        holder->wait.ended = true;
        holder->wait.code = code;
    }
    scripted_dispatch();
    return holder;
}

static void finished(void *data, int code, const struct hami_error *error)
{
    struct sweep_holder *holder = data;

    SWEEP_CHECK(!holder->done.ended, "the callback came twice");
    ck_assert_int_eq(error->code, code);
    holder->done.ended = true;
    holder->done.code = code;
}

void sweep_release(struct sweep_holder *holder)
{
    holder->releasing = true;
    holder->done = (struct scripted_done){.code = 1};
    uint64_t deadline_ns = scripted_now_ns + SWEEP_WAIT_MS * MS;
    int code =
        hami_lease_release_start(holder->wait.lease, deadline_ns, finished, holder);
    if (code == HAMI_E_NOMEM && out_of_memory) {
        /* Who must not fail does without the callback. */
        code = hami_lease_release_start(holder->wait.lease, deadline_ns, NULL, NULL);
        holder->done.ended = true;
        holder->done.code = 0;
    }
    ck_assert_int_eq(code, 0);
    scripted_dispatch();
}

void sweep_let_rival_take(const char *lock, const char *lease)
{
    rival_lock = lock;
    rival_lease = lease;
}

void sweep_bind_and_hand_off(struct sweep_holder *holder)
{
    SWEEP_CHECK(bind_pod(holder) == 0, "a holder could not be bound under its lock");
    holder->handed_off = true;
    ck_assert_int_eq(hami_lease_handoff(holder->wait.lease), 0);
    scripted_dispatch();
}

void sweep_remove(struct sweep_holder *holder)
{
    char memory[64];

    SWEEP_CHECK(is_named(holder), "the node side finds no lock of %s", holder->name);
    holder->served = true;
    ck_assert_int_eq(hami_lease_memory_format(record_of(0).fence, memory, sizeof(memory)),
                     0);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_LEASE_KEY, memory), 0);
    ck_assert_int_eq(hami_memory_put(scripted_store, SWEEP_NODE, HAMI_NODELOCK_KEY, NULL),
                     0);
    scripted_dispatch();
    sweep_check_step();
}

void sweep_serve(struct sweep_holder *holder)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[64];

    (void)snprintf(uid, sizeof(uid), "uid-%s", holder->name);
    facts.exists = facts.started = true;
    facts.uid = uid;
    facts.node = SWEEP_NODE;
    SWEEP_CHECK(is_named(holder), "the node side finds no lock of %s", holder->name);
    scripted_pod_facts(holder->name, &facts);
    sweep_remove(holder);
}

void sweep_succeed(struct sweep_holder *holder)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;
    char uid[64];

    (void)snprintf(uid, sizeof(uid), "uid-%s", holder->name);
    facts.exists = true;
    facts.uid = uid;
    facts.node = SWEEP_NODE;
    facts.bind_phase = HAMI_BIND_PHASE_SUCCESS;
    facts.fence = facts.done = holder->fence;
    SWEEP_CHECK(is_named(holder), "the node side finds no lock of %s", holder->name);
    holder->served = true;
    scripted_pod_facts(holder->name, &facts);
    scripted_dispatch();
    if (out_of_memory) {
        scripted_pod_facts(holder->name, &facts); /* a watch that failed tells it again */
        scripted_dispatch();
    }
    sweep_check_step();
}

static bool wait_ended(void *data)
{
    return ((struct sweep_holder *)data)->wait.ended;
}

bool sweep_granted(struct sweep_holder *holder)
{
    SWEEP_CHECK(sweep_until(wait_ended, holder, SWEEP_WAIT_MS + 1000),
                "%s was told nothing by its deadline", holder->name);
    int code = holder->wait.code;
    bool allowed = code == 0 || (out_of_memory && code == HAMI_E_NOMEM) ||
                   (way == SWEEP_ACCESS && code == HAMI_E_ACCESS) ||
                   (way == SWEEP_PROTO && code == HAMI_E_PROTO) ||
                   (way == SWEEP_PROTO_APPLIED && code == HAMI_E_PROTO) ||
                   (way == SWEEP_NODE_GONE && code == HAMI_E_NODE);
    SWEEP_CHECK(allowed, "the acquire of %s ended with %s: %.300s", holder->name,
                hami_errname(code), holder->wait.text);
    return code == 0;
}

static bool done_ended(void *data)
{
    return ((struct sweep_holder *)data)->done.ended;
}

bool sweep_released(struct sweep_holder *holder)
{
    SWEEP_CHECK(sweep_until(done_ended, holder, SWEEP_WAIT_MS + 1000),
                "%s was told nothing by the deadline of its release", holder->name);
    int code = holder->done.code;
    /* A store that refuses what it has applied can't be told from one that has lost it,
     * once a rival's lock stands there. */
    bool robbed = way == SWEEP_DOUBLED_REFUSED && rival_lease != NULL;
    SWEEP_CHECK(code == 0 || (way == SWEEP_NODE_GONE && code == HAMI_E_NODE) ||
                    (robbed && code == HAMI_E_LOST),
                "the release of %s ended with %s", holder->name, hami_errname(code));
    return code == 0;
}

void sweep_look(struct sweep_holder *holder)
{
    holder->done = (struct scripted_done){.code = 1};
    int code = hami_lease_check_start(
        holder->wait.lease, scripted_now_ns + SWEEP_WAIT_MS * MS, finished, holder);
    SWEEP_CHECK(code == 0 || (out_of_memory && code == HAMI_E_NOMEM), "%s",
                hami_errname(code));
    if (code == 0) {
        (void)sweep_released(holder);
    }
}

/* ---- at the end ---- */

/* Its owner waits for a node side that never comes, and nobody asks. */
static bool is_left_to_the_node(const struct hami_lock_record *record)
{
    for (size_t i = 0; i < holder_count; i++) {
        if (sweep_holders[i].handed_off && !sweep_holders[i].served &&
            sweep_holders[i].fence == record->fence) {
            return true;
        }
    }
    return false;
}

/* No lock, or one that another writer left and that nobody asked for. */
static bool is_none_of_ours(void)
{
    for (size_t i = 0; i < RECORDS; i++) {
        struct hami_lock_record record = record_of(i);
        if (record.kind != HAMI_LOCK_FREE && record.has_lease &&
            !is_left_to_the_node(&record) &&
            strncmp(record.holder, "test-holder", strlen("test-holder")) == 0) {
            return false;
        }
    }
    return true;
}

static bool all_is_over(void *data)
{
    struct hami_nodelock_stats stats = scripted_stats();

    (void)data;
    return stats.waiters == 0 && stats.leases == 0 && is_none_of_ours();
}

static void check_over(const char *when)
{
    struct hami_nodelock_stats stats = scripted_stats();

    SWEEP_CHECK(stats.waiters == 0 && stats.leases == 0,
                "%s: %u waiters, %u leases are left", when, stats.waiters, stats.leases);
    SWEEP_CHECK(is_none_of_ours(), "%s: the record \"%.200s\" is left", when,
                scripted_lock_value(SWEEP_NODE));
}

/* Another pod can have the lock, whatever happened before. */
static void check_next(void)
{
    holder_count = 0;
    struct sweep_holder *next = sweep_acquire("z", false, SWEEP_WAIT_MS);
    SWEEP_CHECK(sweep_granted(next), "another pod got %s", hami_errname(next->wait.code));
    sweep_release(next);
    (void)sweep_released(next);
}

void sweep_check_end(void)
{
    sweep_let_land();
    /* A node that was said to be gone is left alone: its record falls when somebody asks
     * for the lock, by the rules for owners whose process is gone. */
    if (way != SWEEP_NODE_GONE) {
        (void)sweep_until(all_is_over, NULL, END_MS);
        check_over("at the end");
    }
    sweep_disarm();
    /* The fault may have met a call of just now. */
    sweep_let_land();
    rival_lock = NULL;
    check_next();
    sweep_let_speak();
    (void)sweep_until(all_is_over, NULL, END_MS);
    check_over("after another pod");
    SWEEP_CHECK(is_free(), "the record \"%.200s\" is left",
                scripted_lock_value(SWEEP_NODE));
}
