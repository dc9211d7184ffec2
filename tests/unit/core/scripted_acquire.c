/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* See scripted.h: acquires, releases and checks, and what became of them. */
#include "scripted.h"

#include <stdio.h>
#include <string.h>

static unsigned ends;
static char uids[64][64];
static size_t uid_count;

void scripted_acquired(void *data, int code, hami_lease *lease,
                       const struct hami_error *error)
{
    struct scripted_wait *wait = data;

    ck_assert_msg(!wait->ended, "the callback came twice");
    wait->ended = true;
    wait->code = code;
    wait->lease = lease;
    wait->order = ++ends;
    (void)snprintf(wait->text, sizeof(wait->text), "%s", error->text);
}

void scripted_request(struct hami_nodelock_request *request, const char *node,
                      const char *name)
{
    char *uid = uids[uid_count++ % 64];

    (void)snprintf(uid, sizeof(uids[0]), "uid-%s", name);
    *request = (struct hami_nodelock_request){
        .size = sizeof(*request), .node = node, .owner = {"default", name, uid}};
}

void scripted_acquire_as(struct scripted_wait *wait,
                         struct hami_nodelock_request *request, uint64_t ms)
{
    *wait = (struct scripted_wait){.code = 1};
    request->deadline_ns = scripted_now_ns + ms * MS;
    ck_assert_int_eq(hami_nodelock_acquire_start(scripted_lock, request,
                                                 scripted_acquired, wait, &wait->wait),
                     0);
    scripted_dispatch();
}

void scripted_acquire(struct scripted_wait *wait, const char *node, const char *name,
                      uint64_t ms)
{
    struct hami_nodelock_request request;

    scripted_request(&request, node, name);
    scripted_acquire_as(wait, &request, ms);
}

static void finished(void *data, int code, const struct hami_error *error)
{
    struct scripted_done *done = data;

    ck_assert_int_eq(error->code, code);
    ck_assert_msg(!done->ended, "the callback came twice");
    done->ended = true;
    done->code = code;
}

void scripted_release(struct scripted_done *done, hami_lease *lease, uint64_t ms)
{
    *done = (struct scripted_done){.code = 1};
    ck_assert_int_eq(
        hami_lease_release_start(lease, scripted_now_ns + ms * MS, finished, done), 0);
    scripted_dispatch();
}

void scripted_check(struct scripted_done *done, hami_lease *lease, uint64_t ms)
{
    *done = (struct scripted_done){.code = 1};
    ck_assert_int_eq(
        hami_lease_check_start(lease, scripted_now_ns + ms * MS, finished, done), 0);
    scripted_dispatch();
}

struct hami_nodelock_stats scripted_stats(void)
{
    struct hami_nodelock_stats stats = HAMI_NODELOCK_STATS_INIT;

    ck_assert_int_eq(hami_nodelock_stats(scripted_lock, &stats), 0);
    return stats;
}

void scripted_assert_free(void)
{
    static struct scripted_wait next;
    static struct scripted_done done;

    scripted_set_manual(false);
    while (scripted_waiting() > 0) {
        scripted_answer(scripted_call(SCRIPTED_READ));
    }
    scripted_dispatch();
    scripted_acquire(&next, "n1", "next", 10000);
    scripted_advance(1000);
    ck_assert_msg(next.ended && next.code == 0, "%s", next.text);
    scripted_release(&done, next.lease, 1000);
    ck_assert_int_eq(done.code, 0);
    ck_assert_str_eq(scripted_lock_value("n1"), "");
    ck_assert_uint_eq(scripted_stats().leases, 0);
    ck_assert_uint_eq(scripted_stats().waiters, 0);
}

int scripted_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
