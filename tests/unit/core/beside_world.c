/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See beside_world.h. One thread. */
#include "beside_world.h"

#include <stdio.h>
#include <string.h>

#define PERMITS HAMI_NODELOCK_SIDE_BY_SIDE_MAX
#define FLAGS HAMI_NODELOCK_FREE_BY_SCHEDULER

static char uids[26][8];

static const char *uid_of(const char *name)
{
    char *uid = uids[(name[0] - 'a') % 26];

    (void)snprintf(uid, sizeof(uids[0]), "uid-%c", name[0]);
    return uid;
}

static struct hami_owner_facts facts_of(const char *name)
{
    struct hami_owner_facts facts = HAMI_OWNER_FACTS_INIT;

    facts.known = facts.exists = true;
    facts.uid = uid_of(name);
    return facts;
}

void beside_start_as(struct scripted_options options, const char *mark)
{
    char name[2] = "a";

    scripted_start(options);
    for (; name[0] <= 'z'; name[0]++) {
        scripted_pod(name, uid_of(name));
    }
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", HAMI_HANDSHAKE_AGENT_KEY, mark), 0);
}

void beside_start(uint32_t most)
{
    struct scripted_options options = {
        .watch = true, .owners = true, .config = HAMI_NODELOCK_CONFIG_INIT};

    options.config.flags = FLAGS;
    options.config.side_by_side = most;
    beside_start_as(options, MARK);
}

void beside_set_up(void)
{
    beside_start(PERMITS);
}

void beside_restart(struct hami_nodelock_config config, bool watch)
{
    struct scripted_options options = {.watch = watch, .owners = true, .config = config};

    scripted_stop();
    options.config.size = sizeof(config);
    options.config.flags |= FLAGS;
    beside_start_as(options, MARK);
}

void beside_take(struct scripted_wait *wait, const char *name, const char *calls)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", name);
    request.calls = calls;
    scripted_acquire_as(wait, &request, 600000);
}

void beside_hand_off(struct scripted_wait *wait, const char *name)
{
    beside_assert_granted(wait, name);
    ck_assert_int_eq(hami_lease_handoff(wait->lease), 0);
    scripted_dispatch();
}

void beside_release(struct scripted_wait *wait)
{
    static struct scripted_done done;

    scripted_release(&done, wait->lease, 1000);
    ck_assert_msg(done.ended && done.code == 0, "%d", done.code);
}

uint64_t beside_bind(struct scripted_wait *wait, const char *name)
{
    struct hami_owner_facts facts = facts_of(name);

    beside_assert_granted(wait, name);
    facts.fence = hami_lease_fence(wait->lease);
    facts.node = "n1";
    facts.devices_left = true;
    facts.bind_phase = HAMI_BIND_PHASE_ALLOCATING;
    scripted_pod_facts(name, &facts);
    beside_hand_off(wait, name);
    return facts.fence;
}

void beside_serve(const char *name, uint64_t fence)
{
    struct hami_owner_facts facts = facts_of(name);

    facts.fence = facts.done = fence;
    facts.node = "n1";
    facts.bind_phase = HAMI_BIND_PHASE_SUCCESS;
    scripted_pod_facts(name, &facts);
    scripted_dispatch();
}

void beside_bind_and_serve(struct scripted_wait *wait, const char *name)
{
    beside_serve(name, beside_bind(wait, name));
}

/* ---- the records ---- */

static const char *key_of(const char *base, unsigned permit)
{
    static char key[64];

    (void)snprintf(key, sizeof(key), permit > 0 ? "%s.%u" : "%s", base, permit);
    return key;
}

static const char *get(const char *key, char *buffer, size_t size)
{
    if (hami_memory_get(scripted_store, "n1", key, buffer, size) < 0) {
        buffer[0] = '\0';
    }
    return buffer;
}

const char *beside_value(unsigned permit)
{
    static char buffer[1 + PERMITS][4096];

    return get(key_of(HAMI_NODELOCK_KEY, permit), buffer[permit], sizeof(buffer[0]));
}

const char *beside_lease(unsigned permit)
{
    static char buffer[1 + PERMITS][4096];

    return get(key_of(HAMI_NODELOCK_LEASE_KEY, permit), buffer[permit],
               sizeof(buffer[0]));
}

void beside_put(unsigned permit, const char *lock, const char *lease)
{
    ck_assert_int_eq(hami_memory_put(scripted_store, "n1",
                                     key_of(HAMI_NODELOCK_LEASE_KEY, permit), lease),
                     0);
    ck_assert_int_eq(
        hami_memory_put(scripted_store, "n1", key_of(HAMI_NODELOCK_KEY, permit), lock),
        0);
}

struct hami_lock_record beside_record(unsigned permit)
{
    struct hami_lock_record record = HAMI_LOCK_RECORD_INIT;

    ck_assert_int_eq(
        hami_lock_record_parse(beside_value(permit), beside_lease(permit), &record), 0);
    return record;
}

unsigned beside_permit_of(const char *name)
{
    for (unsigned i = 1; i <= PERMITS; i++) {
        if (strcmp(beside_record(i).uid, uid_of(name)) == 0) {
            return i;
        }
    }
    return 0;
}

unsigned beside_held(void)
{
    unsigned held = 0;

    for (unsigned i = 1; i <= PERMITS; i++) {
        held += beside_record(i).kind != HAMI_LOCK_FREE;
    }
    return held;
}

static void assert_once(const char *calls, unsigned permit)
{
    char copy[HAMI_NODELOCK_CALLS_MAX + 1], *rest = copy;

    (void)snprintf(copy, sizeof(copy), "%s", calls);
    for (char *one = strtok_r(copy, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
        for (unsigned i = 1; i <= PERMITS; i++) {
            char list[HAMI_NODELOCK_CALLS_MAX + 3], wanted[HAMI_NODELOCK_CALLS_MAX + 3];
            (void)snprintf(list, sizeof(list), ",%s,", beside_record(i).calls);
            (void)snprintf(wanted, sizeof(wanted), ",%s,", one);
            ck_assert_msg(i == permit || !strstr(list, wanted),
                          "call %s stands in permits %u and %u", one, permit, i);
        }
    }
}

void beside_assert_sound(void)
{
    unsigned newest = 0;
    uint64_t fence = 0;

    for (unsigned i = 1; i <= PERMITS; i++) {
        struct hami_lock_record record = beside_record(i);
        if (record.kind != HAMI_LOCK_FREE && record.fence >= fence) {
            newest = i;
            fence = record.fence;
        }
        assert_once(record.calls, i);
    }
    if (beside_record(0).calls[0]) {
        ck_assert_msg(newest > 0, "the cover is a copy of nothing");
        ck_assert_str_eq(beside_value(0), beside_value(newest));
        ck_assert_str_eq(beside_lease(0), beside_lease(newest));
    }
}

void beside_assert_empty(void)
{
    for (unsigned i = 0; i <= PERMITS; i++) {
        ck_assert_msg(!*beside_value(i), "record %u: %s", i, beside_value(i));
        ck_assert_msg(!strstr(beside_lease(i), "\"uid\""), "record %u: %s", i,
                      beside_lease(i));
    }
}

void beside_assert_granted(const struct scripted_wait *wait, const char *name)
{
    ck_assert_msg(wait->ended && wait->code == 0, "%s: %d, %s", name, wait->code,
                  wait->text);
}

void beside_assert_waits(const struct scripted_wait *wait, const char *name)
{
    ck_assert_msg(!wait->ended, "%s has ended: %d, %s", name, wait->code, wait->text);
}

/* ---- another manager ---- */

static void wake(void *data)
{
    (void)data;
}

hami_nodelock *beside_other(uint32_t most)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_nodelock *lock = NULL;

    config.transport = hami_memory_transport(scripted_store);
    config.wakeup = wake;
    config.holder = "other-holder";
    config.clock = scripted_clock();
    config.random_seed = 43;
    config.flags = FLAGS;
    config.side_by_side = most;
    ck_assert_msg(hami_nodelock_new(&config, &lock, &error) == 0, "%s", error.text);
    return lock;
}

void beside_dispatch(hami_nodelock *lock)
{
    while (hami_nodelock_next_deadline(lock) <= scripted_now_ns) {
        ck_assert_int_eq(hami_nodelock_dispatch(lock), 0);
    }
}

void beside_take_by(hami_nodelock *lock, struct scripted_wait *wait, const char *name,
                    const char *calls)
{
    struct hami_nodelock_request request;

    scripted_request(&request, "n1", name);
    request.calls = calls;
    request.deadline_ns = scripted_now_ns + 600000 * MS;
    *wait = (struct scripted_wait){.code = 1};
    ck_assert_int_eq(
        hami_nodelock_acquire_start(lock, &request, scripted_acquired, wait, &wait->wait),
        0);
    beside_dispatch(lock);
}
