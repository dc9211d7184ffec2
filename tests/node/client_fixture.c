/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The fixture of the client's tests. */
#include "client_fixture.h"

#include <check.h>

struct world world;
hami_handshake *handshake;
struct hami_error error;

void set_up(void)
{
    world_start(&world);
    handshake = world_handshake(&world, 0);
    error = (struct hami_error)HAMI_ERROR_INIT;
}

void set_up_pod(void)
{
    set_up();
    world_simple_pod(&world, "a");
    world_lock(&world, "a");
}

void tear_down(void)
{
    hami_handshake_free(handshake);
    world_stop(&world);
}

void tear_down_faults(void)
{
    kubesim_disarm(world.sim, 0);
    tear_down();
}

const char *const device_ids[4] = {"d-0", "d-1", "d-2", "d-3"};

/* Asks for a container with that many devices. */
int begin(size_t count, hami_handshake_job **ret)
{
    return hami_handshake_begin(handshake, WORLD_GPU, device_ids, count,
                                hami_kubernetes_in_ms(5000), ret, &error);
}

hami_handshake_job *begin_well(size_t count)
{
    hami_handshake_job *job = NULL;
    int code = begin(count, &job);

    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
    return job;
}

void finish_well(hami_handshake_job *job)
{
    int code = hami_handshake_finish(job, hami_kubernetes_in_ms(5000), &error);

    ck_assert_msg(code == 0, "%s: %s", hami_errname(code), error.text);
}

struct hami_handshake_stats stats(void)
{
    struct hami_handshake_stats ret = HAMI_HANDSHAKE_STATS_INIT;

    ck_assert_int_eq(hami_handshake_stats(handshake, &ret), 0);
    return ret;
}

void heard_end(void *data, int code, const struct hami_error *ignored)
{
    struct heard *heard = data;

    (void)ignored;
    pthread_mutex_lock(&heard->mutex);
    heard->codes[heard->count++] = code;
    pthread_cond_signal(&heard->changed);
    pthread_mutex_unlock(&heard->mutex);
}

void heard_wait(struct heard *heard, unsigned count)
{
    pthread_mutex_lock(&heard->mutex);
    while (heard->count < count) {
        pthread_cond_wait(&heard->changed, &heard->mutex);
    }
    pthread_mutex_unlock(&heard->mutex);
}

void heard_job_begun(void *data, int code, hami_handshake_job *job,
                     const struct hami_error *reason)
{
    struct heard_job *answer = data;

    answer->job = job;
    heard_end(&answer->heard, code, reason);
}

int begin_with_books(struct hami_handshake_call *call, size_t count,
                     hami_handshake_job **ret)
{
    struct heard_job answer = {.heard = HEARD_INIT};
    struct hami_handshake_container container = {device_ids, count};

    call->flags = HAMI_HANDSHAKE_BOOKS;
    call->resource = WORLD_GPU;
    call->containers = &container;
    call->container_count = 1;
    call->deadline_ns = hami_kubernetes_in_ms(5000);
    ck_assert_int_eq(hami_handshake_call_start(handshake, call, heard_job_begun, &answer),
                     0);
    heard_wait(&answer.heard, 1);
    call->containers = NULL;
    *ret = answer.job;
    return answer.heard.codes[0];
}
