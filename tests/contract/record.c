/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the suite puts between a transport and the library: completions are counted, each
 * against a call that is open. The linker renames the library's functions (--wrap), so
 * that any transport is seen, whatever thread it answers from.
 *
 * One mutex guards the open calls and the counts, one per shim its own. Neither is held
 * while the library or a transport is called.
 */
#include "contract.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPEN_MAX_CALLS 256

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const hami_call *open_calls[OPEN_MAX_CALLS];
static unsigned completions;
static unsigned strays;

void __real_hami_call_done(hami_call *call, const struct hami_transport_result *result);
void __real_hami_call_done_owner(hami_call *call, int code,
                                 const struct hami_owner_facts *facts, const char *text);

void __wrap_hami_call_done(hami_call *call, const struct hami_transport_result *result);
void __wrap_hami_call_done_owner(hami_call *call, int code,
                                 const struct hami_owner_facts *facts, const char *text);

/* ---- completions ---- */

static bool take_open(const hami_call *call)
{
    for (size_t i = 0; i < OPEN_MAX_CALLS; i++) {
        if (open_calls[i] == call) {
            open_calls[i] = NULL;
            return true;
        }
    }
    return false;
}

/* True if the library may be told. A second completion would touch freed memory: it is
 * counted and goes no further. */
static bool note_completion(const hami_call *call)
{
    pthread_mutex_lock(&mutex);
    completions++;
    bool known = take_open(call);
    if (!known) {
        strays++;
    }
    pthread_mutex_unlock(&mutex);
    return known;
}

void __wrap_hami_call_done(hami_call *call, const struct hami_transport_result *result)
{
    if (note_completion(call)) {
        __real_hami_call_done(call, result);
    }
}

void __wrap_hami_call_done_owner(hami_call *call, int code,
                                 const struct hami_owner_facts *facts, const char *text)
{
    if (note_completion(call)) {
        __real_hami_call_done_owner(call, code, facts, text);
    }
}

unsigned contract_completions(void)
{
    pthread_mutex_lock(&mutex);
    unsigned count = completions;
    pthread_mutex_unlock(&mutex);
    return count;
}

unsigned contract_stray_completions(void)
{
    pthread_mutex_lock(&mutex);
    unsigned count = strays;
    pthread_mutex_unlock(&mutex);
    return count;
}

/* ---- the shim ---- */

/* Ten seconds from now: longer than anything here takes on a busy machine. */
void contract_patience(struct timespec *until)
{
    clock_gettime(CLOCK_REALTIME, until);
    until->tv_sec += 10;
}

static void shim_note(struct contract_shim *shim, hami_call *call)
{
    pthread_mutex_lock(&mutex);
    size_t i = 0;
    while (i < OPEN_MAX_CALLS && open_calls[i]) {
        i++;
    }
    if (i == OPEN_MAX_CALLS) {
        abort();
    }
    open_calls[i] = call;
    pthread_mutex_unlock(&mutex);
    pthread_mutex_lock(&shim->mutex);
    shim->submits++;
    shim->last = call;
    pthread_cond_broadcast(&shim->submitted);
    pthread_mutex_unlock(&shim->mutex);
}

/* A call that was refused at once must not be completed any more. */
static int shim_result(hami_call *call, int code)
{
    if (code != 0) {
        pthread_mutex_lock(&mutex);
        take_open(call);
        pthread_mutex_unlock(&mutex);
    }
    return code;
}

static int shim_submit(struct hami_transport *transport, hami_call *call)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim_note(shim, call);
    uint64_t begun = contract_clock();
    int code = shim->inner->submit(shim->inner, call);
    uint64_t took = contract_clock() - begun;
    pthread_mutex_lock(&shim->mutex);
    if (took > shim->longest_submit_ns) {
        shim->longest_submit_ns = took;
    }
    pthread_mutex_unlock(&shim->mutex);
    return shim_result(call, code);
}

static int shim_inspect(struct hami_transport *transport, hami_call *call)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim_note(shim, call);
    return shim_result(call, shim->inner->inspect(shim->inner, call));
}

static int shim_revoke(struct hami_transport *transport, hami_call *call)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim_note(shim, call);
    return shim_result(call, shim->inner->revoke(shim->inner, call));
}

static void shim_abort(struct hami_transport *transport, hami_call *call)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim->inner->abort(shim->inner, call);
}

static int shim_watch(struct hami_transport *transport, hami_nodelock *lock)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    return shim->inner->watch(shim->inner, lock);
}

static void shim_unwatch(struct hami_transport *transport, hami_nodelock *lock)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim->inner->unwatch(shim->inner, lock);
}

static void shim_close(struct hami_transport *transport, hami_nodelock *lock)
{
    struct contract_shim *shim = (struct contract_shim *)transport;
    shim->inner->close(shim->inner, lock);
}

void contract_shim_init(struct contract_shim *shim, struct hami_transport *inner)
{
    memset(shim, 0, sizeof(*shim));
    shim->inner = inner;
    shim->transport.size = sizeof(shim->transport);
    shim->transport.name = inner->name;
    shim->transport.flags = inner->flags;
    shim->transport.submit = shim_submit;
    shim->transport.abort = inner->abort ? shim_abort : NULL;
    shim->transport.inspect = inner->inspect ? shim_inspect : NULL;
    shim->transport.revoke = inner->revoke ? shim_revoke : NULL;
    shim->transport.watch = inner->watch ? shim_watch : NULL;
    shim->transport.unwatch = inner->unwatch ? shim_unwatch : NULL;
    shim->transport.close = inner->close ? shim_close : NULL;
    pthread_mutex_init(&shim->mutex, NULL);
    pthread_cond_init(&shim->submitted, NULL);
}

void contract_shim_done(struct contract_shim *shim)
{
    pthread_cond_destroy(&shim->submitted);
    pthread_mutex_destroy(&shim->mutex);
}

hami_call *contract_shim_wait(struct contract_shim *shim, unsigned count)
{
    struct timespec until;
    contract_patience(&until);
    pthread_mutex_lock(&shim->mutex);
    int code = 0;
    while (shim->submits < count && code == 0) {
        code = pthread_cond_timedwait(&shim->submitted, &shim->mutex, &until);
    }
    hami_call *call = shim->submits >= count ? shim->last : NULL;
    pthread_mutex_unlock(&shim->mutex);
    return call;
}
