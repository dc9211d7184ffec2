/* SPDX-FileCopyrightText: 2026 The libhaminodelock authors */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The direct calls about the server: credentials, watches, deliveries, faults, and the
 * waits. A wait reads `activity` before it looks, so that nothing between looking and
 * sleeping is missed; its deadline is absolute and monotonic.
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fault.h"
#include "tls.h"

unsigned kubesim_port(const struct kubesim *sim)
{
    return sim->port;
}

const char *kubesim_url(const struct kubesim *sim)
{
    return sim->url;
}

const char *kubesim_ca_pem(const struct kubesim *sim)
{
    return sim->tls->ca_pem;
}

const char *kubesim_client_certificate_pem(const struct kubesim *sim)
{
    return sim->tls->client_certificate_pem;
}

const char *kubesim_client_key_pem(const struct kubesim *sim)
{
    return sim->tls->client_key_pem;
}

const char *kubesim_token(const struct kubesim *sim, const char *user)
{
    for (char **known = sim->users; *known != NULL; known++) {
        if (strcmp(*known, user) == 0) {
            return *known; /* a user's token is the user's name */
        }
    }
    return NULL;
}

/* One struct for all small calls: what goes in and what comes out. */
struct small_call {
    struct kubesim *sim;
    const char *resource;
    const struct kubesim_match *match;
    const struct kubesim_fault *fault;
    int number;
    bool flag;
    unsigned count, second;
    json_t *value;
};

static void run_count_watches(void *data)
{
    struct small_call *call = data;
    call->count = sim_watch_count(call->sim, call->resource);
}

unsigned kubesim_watches(struct kubesim *sim, const char *resource)
{
    struct small_call call = {.sim = sim, .resource = resource};
    sim_server_call(sim, run_count_watches, &call);
    return call.count;
}

static void run_cut(void *data)
{
    struct small_call *call = data;
    sim_watch_cut(call->sim, call->resource);
}

void kubesim_cut_watches(struct kubesim *sim, const char *resource)
{
    struct small_call call = {.sim = sim, .resource = resource};
    sim_server_call(sim, run_cut, &call);
}

static void run_expire(void *data)
{
    struct small_call *call = data;
    sim_watch_expire(call->sim, call->resource);
}

void kubesim_expire_watches(struct kubesim *sim, const char *resource)
{
    struct small_call call = {.sim = sim, .resource = resource};
    sim_server_call(sim, run_expire, &call);
}

static void run_pause(void *data)
{
    struct small_call *call = data;
    call->sim->paused = call->flag;
    sim_watch_wake(call->sim);
}

void kubesim_pause_watches(struct kubesim *sim, bool pause)
{
    struct small_call call = {.sim = sim, .flag = pause};
    sim_server_call(sim, run_pause, &call);
}

static void run_bookmark(void *data)
{
    struct small_call *call = data;
    sim_watch_bookmark(call->sim);
}

void kubesim_bookmark_watches(struct kubesim *sim)
{
    struct small_call call = {.sim = sim};
    sim_server_call(sim, run_bookmark, &call);
}

static void run_compact(void *data)
{
    struct small_call *call = data;
    sim_store_compact(call->sim->store);
}

void kubesim_compact(struct kubesim *sim)
{
    struct small_call call = {.sim = sim};
    sim_server_call(sim, run_compact, &call);
}

static void run_count(void *data)
{
    struct small_call *call = data;
    call->count = sim_audit_count(call->sim, call->match);
}

unsigned kubesim_count(struct kubesim *sim, const struct kubesim_match *match)
{
    struct small_call call = {.sim = sim, .match = match};
    sim_server_call(sim, run_count, &call);
    return call.count;
}

static void run_log(void *data)
{
    struct small_call *call = data;
    call->value = sim_audit_select(call->sim, call->match);
}

json_t *kubesim_log(struct kubesim *sim, const struct kubesim_match *match)
{
    struct small_call call = {.sim = sim, .match = match};
    sim_server_call(sim, run_log, &call);
    return call.value;
}

static void run_forget(void *data)
{
    struct small_call *call = data;
    sim_audit_forget(call->sim);
}

void kubesim_forget_log(struct kubesim *sim)
{
    struct small_call call = {.sim = sim};
    sim_server_call(sim, run_forget, &call);
}

static void run_connections(void *data)
{
    struct small_call *call = data;
    call->count = call->sim->connection_count;
    call->second = call->sim->accepted_count;
}

unsigned kubesim_connections(struct kubesim *sim, unsigned *ret_accepted)
{
    struct small_call call = {.sim = sim};
    sim_server_call(sim, run_connections, &call);
    if (ret_accepted != NULL) {
        *ret_accepted = call.second;
    }
    return call.count;
}

static void run_skew(void *data)
{
    struct small_call *call = data;
    call->sim->date_skew = call->number;
}

void kubesim_set_date_skew(struct kubesim *sim, int seconds)
{
    struct small_call call = {.sim = sim, .number = seconds};
    sim_server_call(sim, run_skew, &call);
}

static void run_arm(void *data)
{
    struct small_call *call = data;
    call->number = sim_fault_arm(call->sim->faults, call->fault);
}

int kubesim_arm(struct kubesim *sim, const struct kubesim_fault *fault)
{
    struct small_call call = {.sim = sim, .fault = fault};
    sim_server_call(sim, run_arm, &call);
    return call.number;
}

static void run_disarm(void *data)
{
    struct small_call *call = data;
    sim_fault_disarm(call->sim->faults, call->number);
}

void kubesim_disarm(struct kubesim *sim, int id)
{
    struct small_call call = {.sim = sim, .number = id};
    sim_server_call(sim, run_disarm, &call);
}

static void run_hits(void *data)
{
    struct small_call *call = data;
    call->count = sim_fault_hits(call->sim->faults, call->number);
}

unsigned kubesim_hits(struct kubesim *sim, int id)
{
    struct small_call call = {.sim = sim, .number = id};
    sim_server_call(sim, run_hits, &call);
    return call.count;
}

/* What a wait waits for. */
struct wait {
    struct kubesim *sim;
    const struct kubesim_match *match;
    const char *resource, *namespace_name, *name, *pointer, *value;
    unsigned count;
};

static bool wait_for(struct wait *wait, bool (*reached)(const struct wait *wait),
                     unsigned timeout_ms)
{
    struct kubesim *sim = wait->sim;
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += timeout_ms / 1000;
    deadline.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    deadline.tv_sec += deadline.tv_nsec / 1000000000;
    deadline.tv_nsec %= 1000000000;
    for (bool late = false;;) {
        pthread_mutex_lock(&sim->lock);
        uint64_t before = sim->activity;
        pthread_mutex_unlock(&sim->lock);
        if (reached(wait)) {
            return true;
        }
        if (late) {
            return false;
        }
        pthread_mutex_lock(&sim->lock);
        while (!late && sim->activity == before) {
            late =
                pthread_cond_timedwait(&sim->changed, &sim->lock, &deadline) == ETIMEDOUT;
        }
        pthread_mutex_unlock(&sim->lock);
    }
}

static bool count_reached(const struct wait *wait)
{
    return kubesim_count(wait->sim, wait->match) >= wait->count;
}

bool kubesim_wait_count(struct kubesim *sim, const struct kubesim_match *match,
                        unsigned count, unsigned timeout_ms)
{
    struct wait wait = {.sim = sim, .match = match, .count = count};
    return wait_for(&wait, count_reached, timeout_ms);
}

static bool text_reached(const struct wait *wait)
{
    char *text = kubesim_text(wait->sim, wait->resource, wait->namespace_name, wait->name,
                              wait->pointer);
    bool equal = text == NULL || wait->value == NULL ? text == wait->value
                                                     : strcmp(text, wait->value) == 0;
    free(text);
    return equal;
}

bool kubesim_wait_text(struct kubesim *sim, const char *resource,
                       const char *namespace_name, const char *name, const char *pointer,
                       const char *value, unsigned timeout_ms)
{
    struct wait wait = {.sim = sim,
                        .resource = resource,
                        .namespace_name = namespace_name,
                        .name = name,
                        .pointer = pointer,
                        .value = value};
    return wait_for(&wait, text_reached, timeout_ms);
}

static bool watches_reached(const struct wait *wait)
{
    return kubesim_watches(wait->sim, wait->resource) >= wait->count;
}

bool kubesim_wait_watches(struct kubesim *sim, const char *resource, unsigned count,
                          unsigned timeout_ms)
{
    struct wait wait = {.sim = sim, .resource = resource, .count = count};
    return wait_for(&wait, watches_reached, timeout_ms);
}
