/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Pods side by side, for tests. */
#include "beside_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *lock_of(const char *pod)
{
    char *text;

    ck_assert_int_gt(asprintf(&text, WORLD_TIME ",ns,%s", pod), 0);
    return text;
}

/* @calls NULL: an exclusive lock */
static char *lease_of(const char *pod, const char *fence, const char *calls)
{
    char *lock = lock_of(pod), *uid = world_uid(&world, pod), *text;

    ck_assert_int_gt(
        asprintf(&text,
                 "{\"version\":1,\"lock\":\"%s\",\"uid\":\"%s\",\"fence\":\"%s\","
                 "\"holder\":\"h_1\",\"attempt\":\"1\",\"hold_ms\":15000,"
                 "\"free\":\"scheduler\"%s%s%s}",
                 lock, uid, fence, calls ? ",\"calls\":\"" : "", calls ? calls : "",
                 calls ? "\"" : ""),
        0);
    free(uid);
    free(lock);
    return text;
}

const char *key_of(const char *key, unsigned permit)
{
    static char names[4][64];
    static unsigned next;
    char *name = names[next++ % 4];

    (void)snprintf(name, sizeof(names[0]), permit > 0 ? "%s.%u" : "%s", key, permit);
    return name;
}

void set(const char *key, unsigned permit, const char *value)
{
    ck_assert_int_eq(kubesim_set_annotation(world.sim, "nodes", NULL, "n1",
                                            key_of(key, permit), value),
                     200);
}

void put(unsigned permit, const char *pod, const char *fence, const char *calls)
{
    char *lock = lock_of(pod), *lease = lease_of(pod, fence, calls);

    set(HAMI_NODELOCK_KEY, permit, lock);
    set(HAMI_NODELOCK_LEASE_KEY, permit, lease);
    free(lease);
    free(lock);
}

void take(unsigned permit, const char *pod, const char *fence, const char *calls)
{
    put(permit, pod, fence, calls);
    put(COVER, pod, fence, calls);
}

void expect_held(unsigned permit, const char *pod, const char *fence, const char *calls)
{
    char *lock = lock_of(pod), *lease = lease_of(pod, fence, calls);

    world_expect_node(&world, key_of(HAMI_NODELOCK_KEY, permit), lock);
    world_expect_node(&world, key_of(HAMI_NODELOCK_LEASE_KEY, permit), lease);
    free(lease);
    free(lock);
}

void expect_free(unsigned permit, const char *memory)
{
    world_expect_node(&world, key_of(HAMI_NODELOCK_KEY, permit), NULL);
    world_expect_node(&world, key_of(HAMI_NODELOCK_LEASE_KEY, permit), memory);
}

void pod_of(const char *name, unsigned count)
{
    const unsigned asks[] = {count, 0};
    char devices[256] = "";

    for (unsigned i = 0; i < count; i++) {
        size_t length = strlen(devices);

        (void)snprintf(devices + length, sizeof(devices) - length,
                       "GPU-%s%u,NVIDIA,1000,10:", name, i);
    }
    strcat(devices, ";");
    world_pod(&world, name, asks, devices);
}

void set_up_three(void)
{
    set_up();
    pod_of("a", 1);
    pod_of("b", 2);
    pod_of("c", 3);
    take(1, "a", "11", CALL("1"));
    take(2, "b", "12", CALL("2"));
    take(3, "c", "13", CALL("3"));
}

void serve(size_t count, const char *name, uint64_t fence)
{
    hami_handshake_job *job = begin_well(count);

    ck_assert_str_eq(hami_handshake_owner(job)->name, name);
    ck_assert_uint_eq(hami_handshake_fence(job), fence);
    ck_assert_uint_eq(hami_handshake_device_count(job), count);
    finish_well(job);
}

void expect_refusal(size_t count, int expected)
{
    hami_handshake_job *job = NULL;
    uint64_t version = kubesim_version(world.sim);
    int code = begin(count, &job);

    ck_assert_msg(code == expected, "%s, not %s: %s", hami_errname(code),
                  hami_errname(expected), error.text);
    ck_assert_uint_eq(kubesim_version(world.sim), version); /* nothing was written */
}

void fail_well(hami_handshake_job *job)
{
    ck_assert_int_eq(
        hami_handshake_fail(job, "broken", hami_kubernetes_in_ms(5000), &error), 0);
}

void restart(void)
{
    hami_handshake_free(handshake);
    handshake = world_handshake(&world, 0);
}

void recover(void)
{
    struct heard heard = HEARD_INIT;

    ck_assert_int_eq(hami_handshake_recover_start(handshake, hami_kubernetes_in_ms(5000),
                                                  heard_end, &heard),
                     0);
    heard_wait(&heard, 1);
    ck_assert_int_eq(heard.codes[0], 0);
}

TCase *beside_case(Suite *suite, const char *name, void (*start)(void))
{
    TCase *cases = tcase_create(name);

    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, start, tear_down);
    suite_add_tcase(suite, cases);
    return cases;
}
