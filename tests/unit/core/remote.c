/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See remote.h. `remote_mutex` guards the calls that wait to be served, and is held over
 * nothing else.
 */
#include "remote.h"

#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

enum { PENDING_MAX = 64 };

hami_memory *remote_store;
static struct hami_transport remote;
static pthread_t remote_thread;
static pthread_mutex_t remote_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t remote_condition = PTHREAD_COND_INITIALIZER;
static hami_call *pending[PENDING_MAX];
static size_t pending_count;
static bool is_over;
unsigned remote_lose_each;

static void pass(void *data, const struct hami_transport_result *result)
{
    hami_call_done(data, result);
}

static void serve(hami_call *call, unsigned number)
{
    size_t count;
    const struct hami_transport_edit *edits = hami_call_edits(call, &count);
    struct hami_transport *memory = hami_memory_transport(remote_store);
    const char *version = hami_call_version(call);

    if (remote_lose_each != 0 && hami_call_is_write(call) &&
        number % remote_lose_each == 0) {
        struct hami_transport_result lost = HAMI_TRANSPORT_RESULT_INIT;
        lost.code = HAMI_E_IN_DOUBT;
        if (number % (2 * remote_lose_each) == 0) {
            (void)hami_transport_call(memory, hami_call_node(call), edits, count, version,
                                      1000, NULL, NULL);
        }
        hami_call_done(call, &lost);
        return;
    }
    (void)hami_transport_call(memory, hami_call_node(call), edits, count, version, 1000,
                              pass, call);
}

static void *remote_main(void *data)
{
    (void)data;
    for (unsigned number = 1;; number++) {
        (void)pthread_mutex_lock(&remote_mutex);
        while (pending_count == 0 && !is_over) {
            (void)pthread_cond_wait(&remote_condition, &remote_mutex);
        }
        hami_call *call = pending_count > 0 ? pending[0] : NULL;
        if (call) {
            pending_count--;
            memmove(pending, pending + 1, pending_count * sizeof(pending[0]));
        }
        (void)pthread_mutex_unlock(&remote_mutex);
        if (!call) {
            return NULL;
        }
        for (unsigned i = number % 5; i > 0; i--) {
            (void)sched_yield();
        }
        serve(call, number);
    }
}

static int remote_submit(struct hami_transport *self, hami_call *call)
{
    (void)self;
    (void)pthread_mutex_lock(&remote_mutex);
    bool room = pending_count < PENDING_MAX;
    if (room) {
        pending[pending_count++] = call;
        (void)pthread_cond_signal(&remote_condition);
    }
    (void)pthread_mutex_unlock(&remote_mutex);
    return room ? 0 : HAMI_E_TRANSPORT;
}

static int remote_watch(struct hami_transport *self, hami_nodelock *lock)
{
    struct hami_transport *memory = hami_memory_transport(remote_store);

    (void)self;
    return memory->watch(memory, lock);
}

static void remote_unwatch(struct hami_transport *self, hami_nodelock *lock)
{
    struct hami_transport *memory = hami_memory_transport(remote_store);

    (void)self;
    memory->unwatch(memory, lock);
}

void remote_start(void)
{
    ck_assert_int_eq(hami_memory_new(0, &remote_store), 0);
    remote = (struct hami_transport){.size = sizeof(remote),
                                     .name = "remote",
                                     .submit = remote_submit,
                                     .watch = remote_watch,
                                     .unwatch = remote_unwatch};
    pending_count = 0;
    is_over = false;
    remote_lose_each = 0;
    ck_assert_int_eq(pthread_create(&remote_thread, NULL, remote_main, NULL), 0);
}

void remote_stop(void)
{
    (void)pthread_mutex_lock(&remote_mutex);
    is_over = true;
    (void)pthread_cond_signal(&remote_condition);
    (void)pthread_mutex_unlock(&remote_mutex);
    (void)pthread_join(remote_thread, NULL);
    hami_memory_free(remote_store);
}

hami_nodelock *remote_manager(void)
{
    struct hami_nodelock_config config = HAMI_NODELOCK_CONFIG_INIT;
    struct hami_error error = HAMI_ERROR_INIT;
    hami_nodelock *lock = NULL;

    config.transport = &remote;
    ck_assert_msg(hami_nodelock_new(&config, &lock, &error) == 0, "%s", error.text);
    return lock;
}
