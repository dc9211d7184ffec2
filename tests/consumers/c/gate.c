/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport that stands before another one and holds its writes up on demand. Its mutex
 * guards `shut` and `held`; nothing is called with it held.
 */
#include "consumer.h"

#include <stdlib.h>
#include <time.h>

struct gate {
    struct hami_transport
        base; /* first: the library's pointer to it is one to the gate */
    struct hami_transport *inner;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool shut;
    hami_call *held;
};

static struct gate *gate_of(struct hami_transport *transport)
{
    return (struct gate *)(void *)transport;
}

static int gate_submit(struct hami_transport *transport, hami_call *call)
{
    struct gate *gate = gate_of(transport);

    pthread_mutex_lock(&gate->mutex);
    bool keep = gate->shut && hami_call_is_write(call);
    if (keep) {
        gate->held = call;
        pthread_cond_broadcast(&gate->changed);
    }
    pthread_mutex_unlock(&gate->mutex);
    return keep ? 0 : gate->inner->submit(gate->inner, call);
}

static int gate_inspect(struct hami_transport *transport, hami_call *call)
{
    return gate_of(transport)->inner->inspect(gate_of(transport)->inner, call);
}

static int gate_revoke(struct hami_transport *transport, hami_call *call)
{
    return gate_of(transport)->inner->revoke(gate_of(transport)->inner, call);
}

static int gate_watch(struct hami_transport *transport, hami_nodelock *lock)
{
    return gate_of(transport)->inner->watch(gate_of(transport)->inner, lock);
}

static void gate_unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    gate_of(transport)->inner->unwatch(gate_of(transport)->inner, lock);
}

struct gate *gate_new(struct hami_transport *inner)
{
    struct gate *gate = (struct gate *)calloc(1, sizeof(*gate));

    if (!gate) {
        abort();
    }
    (void)pthread_mutex_init(&gate->mutex, NULL);
    (void)pthread_cond_init(&gate->changed, NULL);
    gate->inner = inner;
    gate->base.size = sizeof(gate->base);
    gate->base.name = "gate";
    gate->base.flags = inner->flags;
    gate->base.submit = gate_submit;
    gate->base.inspect = inner->inspect ? gate_inspect : NULL;
    gate->base.revoke = inner->revoke ? gate_revoke : NULL;
    gate->base.watch = inner->watch ? gate_watch : NULL;
    gate->base.unwatch = inner->watch ? gate_unwatch : NULL;
    return gate;
}

void gate_free(struct gate *gate)
{
    free(gate);
}

struct hami_transport *gate_transport(struct gate *gate)
{
    return &gate->base;
}

void gate_shut(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    gate->shut = true;
    pthread_mutex_unlock(&gate->mutex);
}

bool gate_await_held(struct gate *gate)
{
    struct timespec until;
    int waited = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&gate->mutex);
    while (!gate->held && waited == 0) {
        waited = pthread_cond_timedwait(&gate->changed, &gate->mutex, &until);
    }
    bool held = gate->held != NULL;
    pthread_mutex_unlock(&gate->mutex);
    return held;
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->mutex);
    hami_call *call = gate->held;
    gate->held = NULL;
    gate->shut = false;
    pthread_mutex_unlock(&gate->mutex);
    if (call) {
        struct hami_transport_result result = HAMI_TRANSPORT_RESULT_INIT;
        result.code = gate->inner->submit(gate->inner, call);
        if (result.code != 0) {
            hami_call_done(call, &result);
        }
    }
}
